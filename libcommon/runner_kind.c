/* runner_kind.c - the kinds of runners, and what each can do */
#include "libcommon/runner_kind.h"

/* clang-format off */
#define TRAITS_NONE       { .shares_gpus = true, .binds = true }
#define TRAITS_LOCAL      { .runs = true, .is_here = true, .binds = true, \
                            .shares_gpus = true, .can_freeze = true }
#define TRAITS_KUBERNETES { .runs = true, .has_api = true, \
                            .has_labels = true, .has_images = true }
/* clang-format on */

const struct runner_traits *runner_traits(enum runner_kind kind)
{
	static const struct runner_traits traits[] = {
#define X(sym, name) [RUNNER_##sym] = TRAITS_##sym,
		RUNNER_KINDS(X)
#undef X
	};

	return &traits[kind];
}

#include <assert.h>
#include <string.h>

#include "libcommon/spec/spec_opt.h"
#include "tests/fuzz/fuzz.h"

/* The input is a script with directives. Reading it must give a spec, or an
 * error that names a line; each warning must be a whole line. Resolving the
 * spec may fail, but must not crash. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *arena = arena_new();
	struct buf warnings = { 0 };
	struct submit submit;
	struct request req;
	struct err err;

	submit_init(&submit, arena, &warnings, 1000000000);
	if (submit_from_script(&submit, "script", (const char *)data, size,
	                       &err) < 0)
		assert((err.code == EINVAL || err.code == ERANGE) &&
		       !strncmp(err.text, "script:", strlen("script:")));
	else if (spec_resolve(&submit.spec, 1, &req, &err) == 0)
		assert(req.tasks && req.mem_mib > 0);
	if (warnings.len)
		assert(warnings.data[warnings.len - 1] == '\n');
	buf_free(&warnings);
	arena_free(arena);
	return 0;
}

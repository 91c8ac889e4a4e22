/* choose.c - choose the shape of a job, if its request allows several */
#include "libcommon/client/choose.h"

#include <stdlib.h>

#include "libcommon/constraint.h"
#include "libcommon/mem.h"

int64_t choose_start(const json_t *answer)
{
	const json_t *test =
	    json_array_get(json_object_get(answer, "tests"), 0);
	const json_t *expected = json_object_get(test, "expected_start");

	if (json_is_true(json_object_get(test, "starts")))
		return 0;
	return json_is_integer(expected) ? json_integer_value(expected)
	                                 : INT64_MAX;
}

/* Whether the constraint has alternatives, as in [a|b], and the job may
 * have several nodes. On one node [a|b] is the same as (a|b), so nothing
 * need be chosen. */
static bool has_alternatives(const struct submit *submit)
{
	const struct spec *spec = &submit->spec;

	return spec->constraint && constraint_alternatives(spec->constraint) &&
	       (submit->max_nodes != SPEC_UNSET || spec_may_spread(spec));
}

bool choose_needed(const struct submit *submit)
{
	return submit->max_nodes != SPEC_UNSET || has_alternatives(submit);
}

struct choice {
	choose_try_fn *try;
	void *arg;
	bool found;
	int64_t start, nodes;
	const char *constraint;
};

/* Test the choice in submit, and make it the best if it is better. Callers test
 * choices with more nodes first. */
static void consider(struct choice *best, struct submit *submit,
                     struct err *err)
{
	json_t *answer = best->try(submit, best->arg, err);
	int64_t start = answer ? choose_start(answer) : 0;

	if (answer && (!best->found || start < best->start ||
	               (start == INT64_MAX && best->start == INT64_MAX &&
	                submit->spec.nodes < best->nodes))) {
		best->found = true;
		best->start = start;
		best->nodes = submit->spec.nodes;
		best->constraint = submit->spec.constraint;
	}
	json_decref(answer);
}

/* Test numbers of nodes from the maximum down to the minimum. In a wide
 * range not every number is tested: after the first ones the distance
 * between them doubles. */
static void consider_nodes(struct choice *best, struct submit *submit,
                           struct err *err)
{
	int64_t least = submit->spec.nodes, most = submit->max_nodes, n;

	if (most == SPEC_UNSET) {
		consider(best, submit, err);
		return;
	}
	if (submit->spec.tasks != SPEC_UNSET && submit->spec.tasks < most)
		most = submit->spec.tasks;
	for (int64_t less = 0, step = 1; (n = most - less) > least;
	     less += step, step *= less > 8 ? 2 : 1) {
		submit->spec.nodes = n;
		consider(best, submit, err);
	}
	submit->spec.nodes = least;
	consider(best, submit, err);
}

int choose_shape(struct submit *submit, choose_try_fn *try, void *arg,
                 struct err *err)
{
	const char *constraint = submit->spec.constraint;
	struct choice best = { .try = try, .arg = arg };
	bool several = has_alternatives(submit);
	size_t n = several ? constraint_alternatives(constraint) : 1;
	int64_t least = submit->spec.nodes;

	for (size_t i = 0; i < n; i++) {
		char *one = several ? constraint_choose(constraint, i) : NULL;

		if (one)
			submit->spec.constraint =
			    arena_strdup(submit->arena, one);
		free(one);
		submit->spec.nodes = least;
		consider_nodes(&best, submit, err);
	}
	if (!best.found)
		return -1;
	submit->spec.nodes = best.nodes;
	submit->spec.constraint = best.constraint;
	submit->max_nodes = SPEC_UNSET;
	return 0;
}

/*
 * what_if.h - plans for requests that were not submitted
 */
#ifndef AISCHEDD_STATE_PASS_WHAT_IF_H
#define AISCHEDD_STATE_PASS_WHAT_IF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aischedd/state/life/submit.h"
#include "libcommon/buf.h"
#include "libcommon/err.h"
#include "libcommon/names.h"

/* The answer to --test-only. */
struct what_if {
	bool starts; /* at once */
	enum reason why;
	int64_t expected;  /* unix seconds or NO_TIME */
	uint32_t position; /* 0: none */
	struct buf nodes;  /* "n0*2,n1" */
	uint64_t *evict;   /* jobs that would be evicted */
	size_t nevicts;
};

struct arena;
struct state_test;

/*
 * Find out what the plan would decide if the request were submitted now
 * (--test-only), in three steps; the state does not change. state_test_take()
 * takes a snapshot. state_test_plan() makes the plan, and may be called on
 * another thread.
 */
struct state_test *state_test_take(struct state *state, const struct spec *spec,
                                   const struct submitter *who, uint32_t queue,
                                   int64_t now);
void state_test_plan(struct state_test *test);

/* The third step: returns the answer, and its sentence in *ret_text. Both are
 * borrowed from the test. */
const struct what_if *state_test_tell(const struct state *state,
                                      struct state_test *test,
                                      const char **ret_text);
void state_test_free(struct state *state,
                     struct state_test *test); /* NULL is allowed */

/* Free all of the test but the snapshot. Returns the arena of the snapshot,
 * which any thread may free; NULL if none was taken. */
struct arena *state_test_end(struct state *state, struct state_test *test);

/* Returns how much work state_test_plan() is: see snapshot_size(). */
size_t state_test_size(const struct state_test *test);

/* Check that the job would fit if nothing ran. It passes as long as the nodes
 * of its pools are not known. Fails with EINVAL. */
int state_check_fit(struct state *state, const struct job *job,
                    struct err *err);

#endif

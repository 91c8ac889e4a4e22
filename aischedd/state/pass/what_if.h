/*
 * what_if.h - what a plan would decide about requests that are only tested
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

/* The answer to `aisub --test-only`. */
struct what_if {
	bool starts; /* the job would start at once */
	enum reason why;
	int64_t expected;        /* expected start, unix seconds, or NO_TIME */
	uint32_t position;       /* position in its queue; 0: none */
	struct buf nodes;        /* where its tasks would run: "n0*2,n1" */
	struct placement *place; /* what they would have; NULL: it would wait */
	uint64_t *evict; /* ids of jobs that would be evicted or suspended */
	size_t nevicts;
};

struct arena;
struct placement;
struct state_test;

/*
 * Find out what a plan would decide if the request were submitted now
 * (--test-only), in three steps that do not change the state. state_test_take()
 * takes a snapshot. state_test_plan() makes the plan; it may run on another
 * thread.
 */
struct state_test *state_test_take(struct state *state, const struct spec *spec,
                                   const struct submitter *who, uint32_t queue,
                                   int64_t now);
void state_test_plan(struct state_test *test);

/* The third step: returns the answer, and in *ret_text a sentence about it.
 * Both are borrowed from the test. */
const struct what_if *state_test_tell(const struct state *state,
                                      struct state_test *test,
                                      const char **ret_text);
void state_test_free(struct state *state,
                     struct state_test *test); /* NULL is allowed */

/* Free the test except its snapshot. Returns the arena of the snapshot, which
 * any thread may free; NULL if no snapshot was taken. */
struct arena *state_test_end(struct state *state, struct state_test *test);

/* Returns a measure of the work of state_test_plan(): see snapshot_size(). */
size_t state_test_size(const struct state_test *test);

/* Check that the job would fit if no other job held anything. Passes as long as
 * the nodes of the job's pools are not known yet. Fails with EINVAL. */
int state_check_fit(struct state *state, const struct job *job,
                    struct err *err);

#endif

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

struct what_if {
	bool starts;
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
 * (--test-only); the state does not change. In steps, as a snapshot is taken:
 * the second may be done by another thread meanwhile.
 */
struct state_test *state_test_take(struct state *state, const struct spec *spec,
                                   const struct submitter *who, uint32_t queue,
                                   int64_t now);
void state_test_plan(struct state_test *test);

/* Returns what it decided and sets the sentence, both of the test. */
const struct what_if *state_test_tell(const struct state *state,
                                      struct state_test *test,
                                      const char **ret_text);
void state_test_free(struct state *state,
                     struct state_test *test); /* NULL is allowed */

/* Free all of it but the snapshot, which is in the arena returned: any thread
 * may free that. */
struct arena *state_test_end(struct state *state, struct state_test *test);

/* Returns how many rows and nodes are to be planned. */
size_t state_test_size(const struct state_test *test);

/* Check that the job would fit if nothing ran. Passes as long as the nodes of
 * its pools are not known. */
int state_check_fit(struct state *state, const struct job *job,
                    struct err *err);

#endif

/*
 * ended.h - queries about ended jobs, and their removal
 */
#ifndef AISCHEDD_STORE_ENDED_H
#define AISCHEDD_STORE_ENDED_H

#include "aischedd/store/store.h"

/* Look up an ended job or array (task is NO_TASK), or an ended task of an
 * array. Returns 0, or -1 if the database has none. A past_fn, with which the
 * state checks dependencies; arg is the store. */
int store_past(uint64_t job, uint32_t task, struct past *ret, void *arg);

/* How an ended job ended. For an array: how its worst task ended, the one with
 * the highest exit status or 128 + signal. */
struct ended {
	bool found;
	enum job_state state;
	int exit_code, signal;
	uint32_t from; /* first task that store_ended() has not looked at */
};

/*
 * Find out how an ended job or array ended. Call it until it returns true: one
 * call looks at up to 5000 tasks. tasks: the tasks of the array to look at; an
 * empty set stands for all. *e must be zero before the first call.
 */
bool store_ended(struct store *store, uint64_t job, const struct idset *tasks,
                 struct ended *e);

/* Whether a task of the array, other than the one with the id `job`, ended in a
 * state other than COMPLETED. */
bool store_others_failed(struct store *store, uint64_t array, uint64_t job);

/* Lifetime totals of a user's ended jobs in a queue. */
struct total {
	const char *user, *queue;
	/* time for which the jobs held CPUs and GPUs, used or not */
	int64_t cpu_ms, gpu_ms;
	int64_t jobs;
};

/* Call fn for at most `limit` totals, ordered by user and queue, beginning
 * after after_user and after_queue; if both are NULL, with the first. */
int store_totals(struct store *store, const char *after_user,
                 const char *after_queue, size_t limit,
                 void (*fn)(const struct total *total, void *arg), void *arg,
                 struct err *err);

/* Call fn with the ids of the jobs that store_purge() would remove with the
 * same `before` and `limit`. */
int store_old(struct store *store, int64_t before, size_t limit,
              void (*fn)(uint64_t job, void *arg), void *arg, struct err *err);

/* Set *ret to the number of jobs that ended before `before`. */
int store_count_old(struct store *store, int64_t before, int64_t *ret,
                    struct err *err);

/* Remove at most `limit` of the jobs that ended before `before`, the oldest
 * first, with their attempts and steps; *ret_gone: how many. Removes all of
 * them or, if it fails, none. Sums of use that include them can no longer be
 * checked (rollup_check.h). */
int store_purge(struct store *store, int64_t before, size_t limit,
                size_t *ret_gone, struct err *err);

/* Store `now` (unix seconds) as the time at which ended jobs were
 * last archived. */
int store_note_archive(struct store *store, int64_t now, struct err *err);
/* Set `archived` of the store's statistics to the time that
 * store_note_archive() stored last. Called when the store is opened. */
int store_load_archive(struct store *store, struct err *err);

#endif

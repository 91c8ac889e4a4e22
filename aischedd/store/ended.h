/*
 * ended.h - queries about ended jobs, and their removal
 */
#ifndef AISCHEDD_STORE_ENDED_H
#define AISCHEDD_STORE_ENDED_H

#include "aischedd/store/store.h"

/* A past_fn for the state; arg is the store. */
int store_past(uint64_t job, uint32_t task, struct past *ret, void *arg);

/* How an ended job ended, or the worst of an array's tasks: the one with the
 * highest exit status or 128 + signal. */
struct ended {
	bool found;
	enum job_state state;
	int exit_code, signal;
	uint32_t from; /* tasks below this one are already looked at */
};

/*
 * Look at some more tasks of an array (those of the set; all if it is empty),
 * or at a plain job. *e must be zero before the first call. Returns whether
 * nothing is left to look at.
 */
bool store_ended(struct store *store, uint64_t job, const struct idset *tasks,
                 struct ended *e);

/* Whether another job of the array ended in a state other than COMPLETED. */
bool store_others_failed(struct store *store, uint64_t array, uint64_t job);

/* Lifetime totals of a user's ended jobs in a queue. */
struct total {
	const char *user, *queue;
	int64_t cpu_ms, gpu_ms; /* allocated, not consumed */
	int64_t jobs;
};

/* List at most `limit` of them, in order of users and queues, after this user
 * and queue; both may be NULL. */
int store_totals(struct store *store, const char *after_user,
                 const char *after_queue, size_t limit,
                 void (*fn)(const struct total *total, void *arg), void *arg,
                 struct err *err);

/* List the jobs that store_purge() would forget. */
int store_old(struct store *store, int64_t before, size_t limit,
              void (*fn)(uint64_t job, void *arg), void *arg, struct err *err);

/* Count the jobs that ended before then. */
int store_count_old(struct store *store, int64_t before, int64_t *ret,
                    struct err *err);

/* Forget at most `limit` jobs that ended before then; *ret_gone: how many.
 * Forgets all of them or none; sums of use that include them can no longer be
 * checked. */
int store_purge(struct store *store, int64_t before, size_t limit,
                size_t *ret_gone, struct err *err);

/* Note that jobs that have ended were archived now; in unix seconds. */
int store_note_archive(struct store *store, int64_t now, struct err *err);
/* Read what was noted last into the statistics of the store, when it opens. */
int store_load_archive(struct store *store, struct err *err);

#endif

/*
 * depend_watch.h - which dependencies to judge when a job starts or ends
 *
 * Each condition of a waiting job is on a list: the list of the job or array
 * task that it waits for. When that job starts or ends, its lists are put in a
 * queue. Each turn of the daemon works on a limited part of the queue, because
 * a list may have as many entries as there are jobs. None of this is stored:
 * after a restart all conditions are judged again.
 */
#ifndef AISCHEDD_STATE_LIFE_DEPEND_WATCH_H
#define AISCHEDD_STATE_LIFE_DEPEND_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aischedd/state/job.h"
#include "libcommon/dependency.h"
#include "libcommon/map.h"

struct past;
struct state;

/* An item of the queue, of one of two kinds. If map is set: judge the jobs on
 * the list `key` of that map, because the job they wait for has started or
 * ended. If map is NULL: look at the unstarted tasks of job `key` that follow
 * task `after`. Split off each task whose aftercorr condition can be decided,
 * because the task of the same index in the other array has ended. */
struct dep_tell {
	struct map *map;
	uint64_t key;
	int64_t after;
	uint32_t task; /* the array task that started or ended, or NO_TASK */
	bool begun;    /* dep_lists.next is an entry of this list */
};

struct dep_lists {
	/* lists of struct dep_watch; corr has the aftercorr conditions */
	struct map jobs, tasks, corr;
	struct dep_tell *tell; /* the queue; its first item is at index `at` */
	size_t at, n, cap;
	/* next entry to judge, on the list of the queue's first item */
	struct dep_watch *next;
	int64_t left;     /* steps of work left in this turn */
	bool busy;        /* deps_go_on() is running */
	struct map *memo; /* ended jobs that were looked up in the store */
};

void deps_init(struct dep_lists *lists);
void deps_fini(struct dep_lists *lists);

/* dep_watch(): have `job` judged again whenever the job that dep names starts
 * or ends. dep_unwatch(): no longer. */
void dep_watch(struct state *state, struct dep *dep, uint64_t job);
void dep_unwatch(struct state *state, struct dep *dep);

/* Call it when the job has started or ended. Judges again the jobs that depend
 * on this job: as many as this turn's share of work allows, the rest in later
 * turns. */
void deps_happened(struct state *state, const struct job *job, int64_t now);

/* Call deps_divide() for all tasks of the record, as many as this turn's share
 * of work allows, the rest in later turns. */
void deps_divide_later(struct state *state, const struct job *job, int64_t now);

/* Work on the queue until it is empty or this turn's share of work is
 * used up. */
void deps_go_on(struct state *state, int64_t now);
/* Begin a new turn: allow a full share of work, and forget the answers of
 * the store. */
void deps_refill(struct state *state);
/* Whether the queue is empty. */
bool deps_are_told(const struct state *state);

/* Look up an ended job in the store, with the arguments and result of a past_fn
 * (state.h). Answers are remembered until the next deps_refill(). */
int deps_past(const struct state *state, uint64_t job, uint32_t task,
              struct past *ret);

#endif

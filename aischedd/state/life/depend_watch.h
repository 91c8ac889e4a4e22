/*
 * depend_watch.h - which jobs to judge again when a job starts or ends
 *
 * Each condition is on a list that belongs to the job, or the task of an array,
 * that the condition names. When a job starts or ends, its lists are put in a
 * queue. Each turn of the daemon judges a limited part of the queue, because a
 * list may have as many entries as there are jobs. None of this is stored:
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

/* An item of the queue. If map is set: judge the jobs on its list `key`,
 * because a job has started or ended. If map is NULL: split off the tasks of
 * job `key`, from the one after `after` on, for which aftercorr waits no
 * longer, because the task of the same index in the other array has ended. */
struct dep_tell {
	struct map *map;
	uint64_t key;
	int64_t after;
	uint32_t task; /* task of an array that started or ended, or NO_TASK */
	bool begun;    /* the list has been looked up */
};

struct dep_lists {
	struct map jobs, tasks,
	    corr; /* lists of struct dep_watch; corr: aftercorr conditions */
	struct dep_tell *tell; /* queue; the oldest is at index `at` */
	size_t at, n, cap;
	/* the next entry to judge on the oldest list */
	struct dep_watch *next;
	int64_t left;     /* steps left in this turn */
	bool busy;        /* deps_go_on() is running */
	struct map *memo; /* ended jobs that were looked up in the store */
};

void deps_init(struct dep_lists *lists);
void deps_fini(struct dep_lists *lists);

/* From now on have `job` judged again whenever the job that dep names starts or
 * ends. */
void dep_watch(struct state *state, struct dep *dep, uint64_t job);
void dep_unwatch(struct state *state, struct dep *dep);

/* Judge the jobs that depend on this one, because it has started or ended: as
 * many as this turn's share allows at once, the rest in later turns. */
void deps_happened(struct state *state, const struct job *job, int64_t now);

/* Call deps_divide() for all tasks of an array record, likewise. */
void deps_divide_later(struct state *state, const struct job *job, int64_t now);

/* Work on the queue until it is empty or the turn's share is used up. */
void deps_go_on(struct state *state, int64_t now);
/* Begin the share of a new turn, and forget answers of the store. */
void deps_refill(struct state *state);
/* Whether the queue is empty. */
bool deps_are_told(const struct state *state);

/* Look up an ended job in the store, as a past_fn does. Answers are remembered
 * until the next deps_refill(). */
int deps_past(const struct state *state, uint64_t job, uint32_t task,
              struct past *ret);

#endif

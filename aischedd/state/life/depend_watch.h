/*
 * depend_watch.h - which jobs to judge again when a job starts or ends
 *
 * Each condition is on a list of the job that it names, or of that task of an
 * array. A job that starts or ends is put in a queue, and its list is judged a
 * slice a turn, because it may have as many entries as there are jobs. None of
 * this is stored: after a restart all conditions are judged again.
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

/* A job started or ended: tell the jobs on this list. Or, if map is NULL: split
 * off the tasks of job `key`, from `after` on, whose aftercorr tasks have
 * ended. */
struct dep_tell {
	struct map *map;
	uint64_t key;
	int64_t after;
	uint32_t task; /* the task of an array it happened to, or NO_TASK */
	bool begun;
};

struct dep_lists {
	struct map jobs, tasks,
	    corr; /* lists of struct dep_watch; corr: of aftercorr */
	struct dep_tell *tell; /* queue; the oldest is at index `at` */
	size_t at, n, cap;
	/* the next entry to judge on the oldest list */
	struct dep_watch *next;
	int64_t left; /* steps left in this turn */
	bool busy;
	struct map *memo; /* remembered answers of the store */
};

void deps_init(struct dep_lists *lists);
void deps_fini(struct dep_lists *lists);

/* From now on judge the job whenever something happens to the job that dep
 * names. */
void dep_watch(struct state *state, struct dep *dep, uint64_t job);
void dep_unwatch(struct state *state, struct dep *dep);

/* A job started or ended: judge the jobs that wait for it, at once if they are
 * few, the rest in later turns. */
void deps_happened(struct state *state, const struct job *job, int64_t now);

/* Split off the tasks of an array whose aftercorr tasks have ended, in
 * slices. */
void deps_divide_later(struct state *state, const struct job *job, int64_t now);

/* Work on the queue for a slice; deps_refill() begins the next slice. */
void deps_go_on(struct state *state, int64_t now);
void deps_refill(struct state *state);
bool deps_are_told(const struct state *state);

/* A past_fn that remembers what was found since the last deps_refill(). */
int deps_past(const struct state *state, uint64_t job, uint32_t task,
              struct past *ret);

#endif

/*
 * depend_watch.h - who is told when a job starts or ends
 *
 * Each condition on a job is on a list of that job, or of that task of an
 * array.  What happened to a job goes into a queue, and the list is gone
 * through a slice each turn, because it may be as long as all jobs.  Nothing
 * of this is in the store: after a restart all conditions are judged anew.
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

/* Something happened to a job that others wait for: tell those on this list.
 * Or, without a map: find the tasks of job key, from `after` on, whose
 * counterparts have ended. */
struct dep_tell {
	struct map *map;
	uint64_t key;
	int64_t after;
	uint32_t task; /* of the array it happened to, or NO_TASK */
	bool begun;
};

struct dep_lists {
	struct map jobs, tasks, corr; /* struct dep_watch; corr: aftercorr */
	struct dep_tell *tell;        /* the oldest is at `at` */
	size_t at, n, cap;
	struct dep_watch *next; /* of the oldest, once it has begun */
	int64_t left;           /* steps in this turn */
	bool busy;
	struct map *memo; /* answers of the store */
};

void deps_init(struct dep_lists *lists);
void deps_fini(struct dep_lists *lists);

/* Tell the job from now on what happens to the one that dep names. */
void dep_watch(struct state *state, struct dep *dep, uint64_t job);
void dep_unwatch(struct state *state, struct dep *dep);

/* A job started or ended: judge those who wait for it, at once as long as
 * they are few, the others in later turns. */
void deps_happened(struct state *state, const struct job *job, int64_t now);

/* Split off the tasks of an array whose counterparts have ended. */
void deps_divide_later(struct state *state, const struct job *job, int64_t now);

/* Do a slice of what is in the queue; deps_refill() begins the next slice. */
void deps_go_on(struct state *state, int64_t now);
void deps_refill(struct state *state);
bool deps_are_told(const struct state *state);

/* As past_fn; remembers what was found since the last deps_refill(). */
int deps_past(const struct state *state, uint64_t job, uint32_t task,
              struct past *ret);

#endif

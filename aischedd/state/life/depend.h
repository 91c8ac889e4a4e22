/*
 * depend.h - dependencies: jobs that wait for other jobs
 */
#ifndef AISCHEDD_STATE_LIFE_DEPEND_H
#define AISCHEDD_STATE_LIFE_DEPEND_H

#include <stdbool.h>
#include <stdint.h>

#include "aischedd/state/job.h"
#include "libcommon/err.h"
#include "libcommon/map.h"

struct state;

struct dep_index {
	/* lists of jobs with the same user and name, by name_key */
	struct map names;
	uint64_t nsingletons; /* number of pending "singleton" conditions */
	/* While names_tell() judges the jobs with this name_key: the id of the
	 * oldest one (or of its array). telling: whether it does. */
	bool telling;
	uint64_t told, oldest;
};

/*
 * Parse the text of --dependency. state NULL: do not check that the named jobs
 * exist. Fails with EINVAL, or ENOENT if a job does not exist. The caller owns
 * *ret and frees it with free().
 */
int deps_parse(const struct state *state, const char *text, struct deps **ret,
               struct err *err);

/* Have the job's conditions judged again whenever a job that it depends on
 * starts or ends: adds each condition to a list of depend_watch.c. */
void deps_watch(struct state *state, struct job *job);

/* Judge the job's conditions: drop those that are met by now, and mark those
 * that can never be met. If deps_end_job() is true then, state_tick() ends the
 * job. */
void deps_judge(struct state *state, struct job *job, int64_t now);

/* Call deps_watch() and deps_judge() for a job that is new in the state, then
 * put it in its row. If the job is an array, tasks may be split off, and the
 * record freed. */
void deps_begin(struct state *state, struct job *job, int64_t now);

/* Judge the conditions of a job that is not in the state. If the job may start
 * now, drop all of them. */
void deps_try(struct state *state, struct job *job, int64_t now);

/* Free the job's conditions and stop watching the jobs that they name. */
void deps_forget(struct state *state, struct job *job);

/* Judge the conditions of the job `id` again, because a job that it depends on
 * has started or ended. task: the array task that did, or NO_TASK. */
void deps_hear(struct state *state, uint64_t id, uint32_t task, int64_t now);

/* For aftercorr: split this task off `job`, the record of an array's unstarted
 * tasks, if the task of the same index in the other array has ended. May free
 * the record. */
void deps_divide(struct state *state, struct job *job, uint32_t task,
                 int64_t now);

/* Returns the pending reason of a job that has conditions: Dependency, or
 * DependencyNeverSatisfied if they can never be met. */
enum reason deps_reason(const struct job *job);

/* Whether the job ends because its conditions can never be met: it has
 * --kill-on-invalid-dep, and is not held. */
bool deps_end_job(const struct job *job);

/* Add the job to the list of jobs with the same user and name, or remove it
 * from that list. */
void names_add(struct state *state, struct job *job);
void names_del(struct state *state, struct job *job);

/* Judge the conditions of all jobs with this name_key, because a job of that
 * user and name has ended: some may be "singleton". */
void names_tell(struct state *state, uint64_t name_key, int64_t now);

#endif

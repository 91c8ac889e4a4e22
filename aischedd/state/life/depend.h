/*
 * depend.h - jobs that wait for jobs
 */
#ifndef AISCHEDD_STATE_LIFE_DEPEND_H
#define AISCHEDD_STATE_LIFE_DEPEND_H

#include <stdint.h>

#include "aischedd/state/job.h"
#include "libcommon/err.h"
#include "libcommon/map.h"

struct state;

struct dep_index {
	struct map names;     /* lists of jobs of one user and name */
	uint64_t nsingletons; /* pending conditions "singleton" */
};

/*
 * Parse the text of --dependency. state NULL: do not check that the jobs it
 * names exist. Fails with EINVAL, or ENOENT if a job does not exist. Owns: the
 * caller, free().
 */
int deps_parse(const struct state *state, const char *text, struct deps **ret,
               struct err *err);

/* Have the job judged again whenever a job that it depends on starts or ends:
 * adds each of its conditions to a list in depend_watch.c. */
void deps_watch(struct state *state, struct job *job);

/* Judge the job: drop its conditions that are met by now, and mark those that
 * can never be met. */
void deps_judge(struct state *state, struct job *job, int64_t now);

/* Watch and judge a job that is new in the state, then put it in its row. May
 * split an array record, and free it. */
void deps_begin(struct state *state, struct job *job, int64_t now);

/* Judge a job that is not in the state; drop its conditions if it could start
 * now. */
void deps_try(struct state *state, struct job *job, int64_t now);

/* Free the job's conditions and stop watching the jobs that they name. */
void deps_forget(struct state *state, struct job *job);

/* Judge the job `id` again, because a job that it depends on has started or
 * ended. task: the task of an array that has, or NO_TASK. */
void deps_hear(struct state *state, uint64_t id, uint32_t task, int64_t now);

/* For aftercorr: split this task off the array record `job` if the task of the
 * same index in the other array has ended. May free the record. */
void deps_divide(struct state *state, struct job *job, uint32_t task,
                 int64_t now);

/* Returns the reason for which a job with conditions waits. */
enum reason deps_reason(const struct job *job);

/* Add the job to the list of jobs of the same user and name, or remove it. */
void names_add(struct state *state, struct job *job);
void names_del(struct state *state, struct job *job);

/* Judge the jobs of this user and name that have conditions, because a job of
 * that name has ended: one of them may be "singleton". */
void names_tell(struct state *state, uint64_t name_key, int64_t now);

#endif

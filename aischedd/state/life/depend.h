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
	struct map names;     /* jobs by user and name */
	uint64_t nsingletons; /* pending conditions "singleton" */
};

/*
 * Parse a --dependency; state NULL: do not look up its jobs. Fails with EINVAL,
 * or ENOENT if a job does not exist. Owns: the caller, free().
 */
int deps_parse(const struct state *state, const char *text, struct deps **ret,
               struct err *err);

/* Register the job with the jobs that it waits for. */
void deps_watch(struct state *state, struct job *job);

/* Drop the conditions that are met by now; may split an array record. */
void deps_judge(struct state *state, struct job *job, int64_t now);

/* Watch and judge a job that is new in the state, then put it in its row. */
void deps_begin(struct state *state, struct job *job, int64_t now);

/* Judge a job that is not in the state as if it were. */
void deps_try(struct state *state, struct job *job, int64_t now);

/* Free the job's conditions and stop watching for them. */
void deps_forget(struct state *state, struct job *job);

/* Judge the job again, because something happened to a job that it waits for:
 * to this task of an array, or (NO_TASK) to the job itself. */
void deps_hear(struct state *state, uint64_t id, uint32_t task, int64_t now);

/* Split this task off if the task that it waits for, of the same index, has
 * ended. May remove the record. */
void deps_divide(struct state *state, struct job *job, uint32_t task,
                 int64_t now);

enum reason deps_reason(const struct job *job);

/* Add the job to those of the same user and name, or remove it. */
void names_add(struct state *state, struct job *job);
void names_del(struct state *state, struct job *job);

/* Judge the jobs that wait for this name, after one of that name ended. */
void names_tell(struct state *state, uint64_t name_key, int64_t now);

#endif

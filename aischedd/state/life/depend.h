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
	uint64_t nsingletons; /* jobs that wait for their name alone */
};

/*
 * dependency_parse(); state NULL: do not look up the jobs that it names.
 * Fails: EINVAL, ENOENT no such job.  Owns: the caller, free().
 */
int deps_parse(const struct state *state, const char *text, struct deps **ret,
               struct err *err);

/* Register the job with the jobs it waits for. */
void deps_watch(struct state *state, struct job *job);

/* Drop the conditions that are met by now; may split an array record. */
void deps_judge(struct state *state, struct job *job, int64_t now);

/* Watch and judge a job that is new in the state, then put it in its row. */
void deps_begin(struct state *state, struct job *job, int64_t now);

/* Judge a job that is not in the state, as if it were new. */
void deps_try(struct state *state, struct job *job, int64_t now);

/* Free the job's conditions, and no longer watch for them. */
void deps_forget(struct state *state, struct job *job);

/* Judge the job, as something happened to one that it waits for: to this task
 * of an array, or task is NO_TASK. */
void deps_hear(struct state *state, uint64_t id, uint32_t task, int64_t now);

/* Split this task off if its counterpart has ended; the record may dissolve. */
void deps_divide(struct state *state, struct job *job, uint32_t task,
                 int64_t now);

enum reason deps_reason(const struct job *job);

/* The jobs of the same user and name, for singleton. */
void names_add(struct state *state, struct job *job);
void names_del(struct state *state, struct job *job);

/* Judge the jobs that wait for this name, of which one has ended. */
void names_tell(struct state *state, uint64_t name_key, int64_t now);

#endif

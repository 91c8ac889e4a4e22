/*
 * submit.h - make the record of a new job
 */
#ifndef AISCHEDD_STATE_LIFE_SUBMIT_H
#define AISCHEDD_STATE_LIFE_SUBMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "libcommon/conf/conf.h"
#include "libcommon/spec/spec.h"

struct job;
struct state;

struct submitter {
	uint32_t uid, gid;
	const char *user;
	/* the submitter is an admin, or an operator of the queue, and
	 * may raise priorities */
	bool operator_;
	/* Returns whether the submitter operates this queue, to which a job is
	 * to be moved. NULL: the submitter operates none. */
	bool (*operates)(uint32_t queue, const void *arg);
	const void *operates_arg;
	/* Whether the submitter is a member of this group. */
	bool (*in_group)(const char *group, const void *arg);
	const void *arg;
};

/* Add the job or array that the request asks for. Call it after
 * state_check_submit() has succeeded. script, env: ids of blobs in
 * the store. */
void state_submit(struct state *state, const struct spec *spec,
                  const struct submitter *who, uint32_t queue, int64_t script,
                  int64_t env, uint64_t id, int64_t now);

/* The two steps of state_submit(): state_make_job() returns a record that is
 * not in the state yet, and state_admit() adds it and takes it over. In between
 * the caller owns the record, and may change how the job can be preempted. */
struct job *state_make_job(struct state *state, const struct spec *spec,
                           const struct submitter *who, uint32_t queue,
                           uint64_t id, int64_t now);
void state_admit(struct state *state, struct job *job, const struct spec *spec,
                 int64_t now);

/* Returns the name of the class that a request names, or else that of
 * the queue. */
const char *state_class(const struct state *state, const struct spec *spec,
                        uint32_t queue);

/* --- for this folder ---------------------------------------------------- */

enum { GRACE_DEFAULT_S = 30 };

/* As spec_pack(), with the gpu_part of a job in this queue. */
char *submit_pack(struct state *state, const struct spec *spec, uint32_t queue);

/* Add to the state a struct array for the array tasks that `spec` asks for. The
 * request must have been checked. */
struct array *submit_new_array(struct state *state, uint64_t id,
                               const struct spec *spec);

/* Returns the class of a request; an empty struct if the class is not in
 * the configuration. */
const struct conf_class *submit_class(const struct state *state,
                                      const struct spec *spec, uint32_t queue);
void job_set_priority(const struct state *state, struct job *job,
                      const struct spec *spec);
void job_set_grace(const struct state *state, struct job *job,
                   const struct spec *spec);

/* Set whether the job can be preempted, as its class says, and how, as its
 * queue says. */
void job_set_manners(const struct state *state, struct job *job,
                     const struct spec *spec);

#endif

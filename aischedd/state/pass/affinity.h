/*
 * affinity.h - jobs that are to run near other jobs, or apart from them
 *
 * --near and --apart name jobs that the same user submitted earlier. If any job
 * that --near names has nodes, the new job may start only in a domain where
 * such a job has a task. If none has nodes, but one still waits, the new job
 * waits, too, and is in no row. If job A names job B with --apart, A may not
 * start in a domain where B has a task or a claim; nor may B start in a domain
 * where A has one, if A started first. Jobs that have ended do not count, and
 * running jobs are never moved.
 *
 * A snapshot lists the nodes that each request shuns because of these options.
 * Jobs may start or end while the plan is made, so each start is checked again
 * when it is applied.
 */
#ifndef AISCHEDD_STATE_PASS_AFFINITY_H
#define AISCHEDD_STATE_PASS_AFFINITY_H

#include <stdbool.h>
#include <stdint.h>

#include "aischedd/state/job.h"
#include "libcommon/buf.h"
#include "libcommon/err.h"
#include "libcommon/map.h"

struct arena;
struct row_key;
struct shun;
struct shun_domains;
struct state;

/* Limits of the number of pending and running jobs that name other jobs,
 * because each plan looks at all of them: AFFINITY_NAMERS jobs may name the
 * same job, AFFINITY_USER jobs of one user and AFFINITY_MOST jobs of all users
 * may name others. */
enum { AFFINITY_NAMERS = 1000, AFFINITY_USER = 2000, AFFINITY_MOST = 10000 };

struct affinity_index {
	struct map by_job; /* id of a job or array -> struct namers */
	size_t njobs;      /* how many jobs name others */
};

void affinity_free(struct affinity_index *index);

/* Whether the request names other jobs. */
bool affinity_is_asked(const struct spec *spec);

/* Check that the jobs that the request names may be named: they have not ended,
 * are of this user, and were submitted before the job `before` (0: before a new
 * job). Fails with EINVAL, EAGAIN (too many jobs name others), or ENOENT, which
 * does not say whether the job does not exist or is another user's. */
int affinity_check(const struct state *state, const struct spec *spec,
                   uint32_t uid, uint64_t before, struct err *err);

/* Add the job to the lists of the jobs that it names, or remove it from them.
 * Does nothing for a job that names no other job. */
void affinity_add(struct state *state, struct job *job);
void affinity_del(struct state *state, struct job *job);

/* Update the rows of jobs that name this one, because it has got nodes, lost
 * them, or ended. */
void affinity_moved(struct state *state, const struct job *job, int64_t now);

/* Whether the job waits until a job that its --near names starts. If so, append
 * the reason to text, unless that is NULL. */
bool affinity_hinders(const struct state *state, const struct job *job,
                      struct buf *text);

/* Append to a row's key what affinity_shun() needs; nothing if the job names no
 * job and none names it. If a level that it names is no longer configured, the
 * key allows no pool. */
void affinity_key(const struct state *state, const struct job *job,
                  const struct spec *spec, struct row_key *key,
                  struct buf *out);

/* Note in *ret, which is zeroed, where jobs with this text in their keys may
 * not start now. */
void affinity_shun(const struct state *state, const char *text,
                   struct shun_domains *domains, struct arena *arena,
                   struct shun *ret);

/* For jobs with this text in their keys: call fn with the id of each job that
 * their --near names and that has nodes, in ascending order. */
void affinity_beside(const struct state *state, const char *text,
                     void (*fn)(uint64_t job, void *arg), void *arg);

/* Whether the job may start on the nodes of these tasks now. */
bool affinity_still_fits(const struct state *state, const struct job *job,
                         const struct snap_task *task, uint32_t ntasks);

#endif

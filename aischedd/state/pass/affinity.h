/*
 * affinity.h - jobs that are to run near other jobs, or apart from them
 *
 * --near and --apart name jobs of the same user that were submitted before.
 * While one of the jobs that --near names has nodes, a job may start only in a
 * domain where one of these has a task; while they all wait, it waits, too, and
 * is in no row. It may start in no domain where a job that --apart names has a
 * task or a claim, and such a job may not start where it runs, either: this
 * matters if the other job starts later, or again. A job that has ended does
 * not count. Nothing here moves a job that runs.
 *
 * A snapshot has the nodes that a request shuns because of this. They can
 * change while a plan is made, so each start is checked against the present,
 * too.
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

/* At most AFFINITY_NAMERS pending or running jobs may name one job, at most
 * AFFINITY_USER of a user may name any, so that nobody uses up what others can,
 * and at most AFFINITY_MOST of all users; submitting more is refused, because
 * each is looked at for each plan. */
enum { AFFINITY_NAMERS = 1000, AFFINITY_USER = 2000, AFFINITY_MOST = 10000 };

struct affinity_index {
	struct map by_job; /* id of a job or array -> struct namers */
	size_t njobs;      /* how many jobs name others */
};

void affinity_free(struct affinity_index *index);

/* Whether the request names other jobs. */
bool affinity_is_asked(const struct spec *spec);

/* Check that the jobs that the request names may be named: they have not ended,
 * are of this user, and were submitted before the job `before` (0: any were).
 * Fails with EINVAL or ENOENT; the error does not tell jobs of others from jobs
 * that do not exist. */
int affinity_check(const struct state *state, const struct spec *spec,
                   uint32_t uid, uint64_t before, struct err *err);

/* Record that the job names others, or no longer. Does nothing for a job that
 * names none. */
void affinity_add(struct state *state, struct job *job);
void affinity_del(struct state *state, struct job *job);

/* Update the rows of jobs that name this one, because it has got nodes, lost
 * them, or ended. */
void affinity_moved(struct state *state, const struct job *job, int64_t now);

/* Whether the job waits for a job that --near names to start. If so, append
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

/* Call fn with the id of each job that has nodes and near which jobs with this
 * text in their keys are to run, in ascending order. */
void affinity_beside(const struct state *state, const char *text,
                     void (*fn)(uint64_t job, void *arg), void *arg);

/* Whether the job may start on the nodes of these tasks now. */
bool affinity_still_fits(const struct state *state, const struct job *job,
                         const struct snap_task *task, uint32_t ntasks);

#endif

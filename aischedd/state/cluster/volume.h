/*
 * volume.h - the volume claims of pools, and where jobs that mount them may run
 *
 * A runner reports for each claim (PersistentVolumeClaim) whether it can be
 * mounted, on which nodes, and whether one pod, the pods of one node or all
 * pods may mount it. Which claims jobs of aisched mount is known from the jobs,
 * even before their pods exist. A job mounts claims of the namespace of its
 * queue. Lists of names have "NAMESPACE/CLAIM" if the configuration of the
 * queue names a namespace; otherwise "CLAIM", which means the first namespace
 * of each pool.
 */
#ifndef AISCHEDD_STATE_CLUSTER_VOLUME_H
#define AISCHEDD_STATE_CLUSTER_VOLUME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aischedd/run/runner.h"
#include "aischedd/sched/snap.h"
#include "libcommon/buf.h"
#include "libcommon/limits.h"
#include "libcommon/map.h"

struct job;
struct state;

struct volume_table {
	struct map claims; /* struct volume, by pool, namespace and name */
	struct map spaces; /* struct volume_space, by pool and namespace */
};

/* Store a runner's report about a claim. A report without a name says that all
 * claims of the namespace have been reported, or why the runner cannot list
 * them. */
void state_volume_seen(struct state *state, uint32_t pool,
                       const struct volume_info *info, int64_t now);

/* --- for this folder ---------------------------------------------------- */

/* Whether the text of --mount names a volume claim. */
bool volume_is_named(const char *mount);

/* Append the names of the volume claims in the text of --mount, each followed
 * by a comma. */
void volume_names(const struct state *state, uint32_t queue, const char *mount,
                  struct buf *out);

/* Whether the job can mount its claims in none of the pools that it may
 * use. If so, append to text (unless that is NULL) the reason for the first
 * of these pools. */
bool volume_hinders(const struct state *state, const struct job *job,
                    struct buf *text);

/* Whether one of the named claims can be mounted on one node only, in one of
 * these pools (one bit each). */
bool volume_wants_one_node(const struct state *state, const char *names,
                           uint64_t pools);

/* Whether all named claims can be mounted on the node. now: return false
 * also if a job on another node mounts a claim that can be mounted on one
 * node only. */
bool volume_reaches(const struct state *state, const char *names, uint32_t node,
                    bool now);

/* Whether the job can still mount its claims on the nodes of these tasks. Since
 * the plan was made, another job may have started that mounts the same claim.
 */
bool volume_still_fits(const struct state *state, const struct job *job,
                       const struct snap_task *task, uint32_t ntasks);

/* Update the rows of jobs that mount claims, because this job has got or lost
 * its nodes. */
void volume_moved(struct state *state, const struct job *job, int64_t now);
void volumes_free(struct volume_table *volumes);

#endif

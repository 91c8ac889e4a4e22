/*
 * volume.h - the volume claims of pools, and where jobs that mount them may run
 *
 * A runner reports for each claim whether it can be mounted, by how many, and
 * on which nodes. Use by our own jobs is known here at once, before their pods
 * exist.
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
	struct map claims;        /* by pool and name */
	bool listed[LIMIT_POOLS]; /* the runner has reported all claims */
	char *blind[LIMIT_POOLS]; /* why it cannot report them, or NULL */
};

/* Take over a runner's report about a claim; or, without a name, whether it has
 * reported all claims of the pool. */
void state_volume_seen(struct state *state, uint32_t pool,
                       const struct volume_info *info, int64_t now);

/* --- for this folder ---------------------------------------------------- */

/* Whether --mount names a claim. */
bool volume_is_named(const char *mount);

/* Append the claims of --mount, each ended by a comma. */
void volume_names(const char *mount, struct buf *out);

/* Whether no pool of the job can mount its claims now; text, unless NULL, gets
 * the reason of the first one that cannot. */
bool volume_hinders(const struct state *state, const struct job *job,
                    struct buf *text);

/* Whether one of these claims, in one of these pools, is for one node only. */
bool volume_wants_one_node(const struct state *state, const char *names,
                           uint64_t pools);

/* Whether the volumes of all these claims reach the node; with now: and no job
 * has one of them on another node exclusively. */
bool volume_reaches(const struct state *state, const char *names, uint32_t node,
                    bool now);

/* Whether the job may start on the nodes of these tasks: a job started since
 * the plan was made may have the volume. */
bool volume_still_fits(const struct state *state, const struct job *job,
                       const struct snap_task *task, uint32_t ntasks);

/* Note that the job has got nodes, or lost them. */
void volume_moved(struct state *state, const struct job *job, int64_t now);
void volumes_free(struct volume_table *volumes);

#endif

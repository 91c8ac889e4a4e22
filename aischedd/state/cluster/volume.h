/*
 * volume.h - the volume claims of pools, and where jobs that mount them may run
 *
 * A runner tells of each claim whether it can be mounted, by how many, and on
 * which nodes. The use by our own jobs is known here at once, before their pods
 * are there.
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
	bool listed[LIMIT_POOLS]; /* the runner has told of all */
	char *blind[LIMIT_POOLS]; /* why it cannot, or NULL */
};

/* Take over what a runner tells of a claim; or, without a name, whether it has
 * told of all claims of the pool. */
void state_volume_seen(struct state *state, uint32_t pool,
                       const struct volume_info *info, int64_t now);

/* --- for this folder ---------------------------------------------------- */

/* Whether --mount names a claim. */
bool volume_is_named(const char *mount);

/* Append the claims of --mount, each ended by a comma. */
void volume_names(const char *mount, struct buf *out);

/* Whether no pool of the job can mount its claims now; text, which may be NULL,
 * gets why the first one cannot. */
bool volume_hinders(const struct state *state, const struct job *job,
                    struct buf *text);

/* Whether one of these claims, in one of these pools, is for one node only. */
bool volume_wants_one_node(const struct state *state, const char *names,
                           uint64_t pools);

/* Whether the volumes of all these claims reach the node; now: and jobs have
 * none of them on another node only. */
bool volume_reaches(const struct state *state, const char *names, uint32_t node,
                    bool now);

/* Whether the job may start there: others that were started since it was
 * planned may have the volume. */
bool volume_still_fits(const struct state *state, const struct job *job,
                       const struct snap_task *task, uint32_t ntasks);

/* Note that the job has got nodes, or lost them. */
void volume_moved(struct state *state, const struct job *job, int64_t now);
void volumes_free(struct volume_table *volumes);

#endif

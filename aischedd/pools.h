/*
 * pools.h - pools of clusters that are taken out of the configuration
 *
 * Jobs that run in such a pool go on until they end, and what the daemon made
 * there is deleted, as if the pool were still configured; but no job starts
 * there. `state_dir/pools/NAME` has the section of the pool, with which the
 * next daemon reaches the cluster, until nothing of ours is left there.
 */
#ifndef AISCHEDD_POOLS_H
#define AISCHEDD_POOLS_H

#include "libcommon/conf/conf.h"

struct daemon;

/* Add the pools to conf that an earlier daemon had and conf lacks. Call it when
 * the daemon starts, before anything looks at conf's pools. */
void daemon_recall_pools(struct daemon *d, struct conf *conf);

/* Check that pools with running jobs still lead to the cluster in which these
 * run. Fails with EBUSY, before anything has changed, if a pool has its name
 * from one of another cluster: its jobs would be lost. */
int daemon_check_pools(const struct daemon *d, struct err *err);

/* Add them to a configuration that is loaded again. Fails if there are too many
 * pools. */
int daemon_keep_pools(const struct daemon *d, struct conf *conf,
                      struct err *err);

/* Write the files of the pools of clusters. */
void daemon_note_pools(const struct daemon *d);

/* Remove the file of a pool that is leaving: nothing is left there. */
void daemon_forget_pool(const struct daemon *d, const struct conf_pool *pool);

#endif

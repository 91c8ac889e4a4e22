/*
 * spread.h - read topologySpreadConstraints of a Job's pods as --spread
 *
 * Pure. --spread can express a constraint that counts the pods of this Job and
 * no others, allows a skew of 1, and has as topologyKey the label of a level of
 * the topology, or the node's name. A preference (ScheduleAnyway) that --spread
 * cannot express is ignored.
 */
#ifndef AISCHEDD_RUN_KUBE_OBJECT_SPREAD_H
#define AISCHEDD_RUN_KUBE_OBJECT_SPREAD_H

#include <jansson.h>

#include "libcommon/buf.h"
#include "libcommon/conf/conf.h"
#include "libcommon/err.h"

/* Returns the level of the topology to which a topologyKey belongs, or NULL. As
 * for labels of nodes, the level's key is either the whole key or the part
 * behind its slash. */
const char *kube_spread_level(const struct conf_topology *topology,
                              const char *key);

/*
 * Append to *ret the value of --spread for a pod template (metadata and spec),
 * or nothing. name: name of the Job, or NULL for a pod that no Job made, whose
 * constraint always counts pods of other jobs. Fails with EINVAL if --spread
 * cannot express a constraint that is not a preference; the error is meant for
 * the Job's owner.
 */
int kube_spread(const json_t *template, const char *name,
                const struct conf_topology *topology, struct buf *ret,
                struct err *err);

#endif

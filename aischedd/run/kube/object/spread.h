/*
 * spread.h - spread constraints of pods that are a Job's, as --spread
 *
 * Pure. A constraint says what --spread does if it counts the pods of this Job
 * and no others, allows a skew of 1, and its topologyKey is the label of a
 * level of the topology or the name of the node. A constraint with
 * ScheduleAnyway is a wish, which is ignored if it says something else.
 */
#ifndef AISCHEDD_RUN_KUBE_OBJECT_SPREAD_H
#define AISCHEDD_RUN_KUBE_OBJECT_SPREAD_H

#include <jansson.h>

#include "libcommon/buf.h"
#include "libcommon/conf/conf.h"
#include "libcommon/err.h"

/*
 * Append to *ret what --spread would say of a template of pods (metadata and
 * spec), or nothing. name: of the Job. Fails with EINVAL if a constraint must
 * hold and says what --spread cannot; the sentence is for the owner.
 */
int kube_spread(const json_t *template, const char *name,
                const struct conf_topology *topology, struct buf *ret,
                struct err *err);

#endif

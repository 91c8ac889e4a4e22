/*
 * standin.h - make the Job whose pods stand in for nodes to be added
 *
 * Pure. Each pod requests what a node of the template has, so an autoscaler
 * that finds the pod unschedulable adds a node for it. The pods name our
 * scheduler, which never binds them. So they do not run, and take nothing from
 * jobs. If no daemon is there to remove the Job, the cluster does that after
 * its deadline.
 */
#ifndef AISCHEDD_RUN_KUBE_OBJECT_STANDIN_H
#define AISCHEDD_RUN_KUBE_OBJECT_STANDIN_H

#include <jansson.h>
#include <stdbool.h>

#include "aischedd/run/kube/object/object.h"
#include "aischedd/run/kube/object/pod.h"
#include "aischedd/run/runner.h"

/* Get the name of the Job of a template. */
void kube_standin_name(char ret[KUBE_NAME_SIZE], const char *cluster,
                       const char *scale);

/* Returns the Job, for no pods yet, with its KUBE_NOTE_SHAPE. */
json_t *kube_standin_job(const struct kube_home *home,
                         const struct run_standin *what);

/* Returns what each pod of this Job requests. */
struct kube_amount kube_standin_size(const json_t *job,
                                     const struct conf_pool *pool);

/* Returns the template of a Job of stand-ins, or of a pod of such a Job, if it
 * is of this store and pool; "" if it is of another; NULL if the object is no
 * stand-in. */
const char *kube_standin_is(const json_t *obj, const struct kube_home *home);

/* Whether the pod has the condition by which autoscalers know pods for which
 * there is no node. */
bool kube_standin_is_told(const json_t *pod);

/* PATCH of the status of a pod: set that condition. */
json_t *kube_standin_tell(const char *uid);

/* PATCH of the Job: set how many pods it has. */
json_t *kube_standin_count(const char *uid, uint32_t n);

#endif

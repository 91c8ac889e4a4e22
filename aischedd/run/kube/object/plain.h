/*
 * plain.h - read pods that wait in a queue by themselves, without a Job
 *
 * Pure. A pod with our schedulerName, a queue in its label aisched.io/queue and
 * the scheduling gate KUBE_GATE becomes a job of one task. Deployments,
 * StatefulSets and users make such pods. A pod is read like a Job that would
 * make it (foreign.h): the gate stands for spec.suspend.
 */
#ifndef AISCHEDD_RUN_KUBE_OBJECT_PLAIN_H
#define AISCHEDD_RUN_KUBE_OBJECT_PLAIN_H

#include <jansson.h>
#include <stdbool.h>

#define KUBE_GATE "aisched.io/queue"

/* Whether the pod waits in a queue by itself, or a daemon has taken it out of
 * one. False while it has gates of others, and if a Job made it. */
bool kube_plain_is(const json_t *pod);

/* Returns the Job as which foreign.h and peers.h read the pod. The caller frees
 * it. */
json_t *kube_plain_job(const json_t *pod);

/* PATCH: remove the gate. The pod can be bound after that. */
json_t *kube_plain_open(const char *uid);

#endif

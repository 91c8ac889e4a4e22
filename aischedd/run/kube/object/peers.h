/*
 * peers.h - required affinity between the pods of Jobs, as --near and --apart
 *
 * Pure. A term of podAffinity or podAntiAffinity selects pods by their labels.
 * Here it becomes an option that names the jobs of these pods; pods that belong
 * to no job cannot be named. As in Kubernetes, a term of podAntiAffinity also
 * keeps Jobs that are made later apart from the Job that has the term.
 */
#ifndef AISCHEDD_RUN_KUBE_OBJECT_PEERS_H
#define AISCHEDD_RUN_KUBE_OBJECT_PEERS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libcommon/conf/conf.h"
#include "libcommon/err.h"
#include "libcommon/mem.h"
#include "libcommon/spec/spec.h"

/* A Job that has become a job: the labels of its pods, and its required terms
 * of podAntiAffinity (NULL: none). */
struct kube_peer {
	uint64_t job;
	const json_t *labels, *apart;
};

/* Returns the labels of the pods of a Job, and its required terms of
 * podAntiAffinity; NULL if there are none. */
json_t *kube_peers_labels(const json_t *obj);
json_t *kube_peers_apart(const json_t *obj);

/* Whether the Job has required terms of either kind. */
bool kube_peers_asked(const json_t *obj);

/* Returns which affinity to pods the Job only prefers: "podAffinity",
 * "podAntiAffinity", both, or NULL. Such preferences are ignored. */
const char *kube_peers_ignored(const json_t *obj);

/*
 * Add to the request of a Job what its terms, and those of the n peers, demand.
 * Strings are in the arena. Fails with EINVAL if a term says something that
 * --near or --apart cannot, or if there are too many terms, or with ENOENT if
 * podAffinity selects no peer; the error is meant for the Job's owner.
 */
int kube_peers_read(const json_t *obj, const struct conf_topology *topology,
                    const struct kube_peer *peer, size_t n, struct arena *arena,
                    struct spec *spec, struct err *err);

#endif

/*
 * kube.h - the runner of a cluster
 *
 * kube.c watches nodes, pods, Jobs and other objects, and passes on what the
 * watches report: to nodes.c, pods.c, jobs.c and others. Then life.c makes the
 * calls that each attempt needs; life.h describes the life of an attempt. Our
 * view of the cluster changes only when a watch or an answer reports a change,
 * not when a call is sent. Only the daemon that holds the Lease makes calls
 * that change something. README.md lists the files.
 */
#ifndef AISCHEDD_RUN_KUBE_KUBE_H
#define AISCHEDD_RUN_KUBE_KUBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/queue.h>

#include "aischedd/run/kube/adopt/adopt.h"
#include "aischedd/run/kube/ask.h"
#include "aischedd/run/kube/claim/claims.h"
#include "aischedd/run/kube/client/http.h"
#include "aischedd/run/kube/client/watch.h"
#include "aischedd/run/kube/device/devices.h"
#include "aischedd/run/kube/device/kinds.h"
#include "aischedd/run/kube/device/numa.h"
#include "aischedd/run/kube/drain.h"
#include "aischedd/run/kube/exec/command.h"
#include "aischedd/run/kube/exec/forward.h"
#include "aischedd/run/kube/exec/signal.h"
#include "aischedd/run/kube/keep.h"
#include "aischedd/run/kube/lease.h"
#include "aischedd/run/kube/log.h"
#include "aischedd/run/kube/nodes.h"
#include "aischedd/run/kube/note.h"
#include "aischedd/run/kube/object/object.h"
#include "aischedd/run/kube/pods.h"
#include "aischedd/run/kube/recover.h"
#include "aischedd/run/kube/scale/standin.h"
#include "aischedd/run/kube/space/space.h"
#include "aischedd/run/kube/trouble.h"
#include "aischedd/run/kube/use/use.h"
#include "aischedd/run/kube/version.h"
#include "aischedd/run/runner.h"
#include "libcommon/map.h"

struct event;
struct event_base;

/* The runner. Each part is changed only by the file that declares its type. */
struct kube {
	struct runner runner;
	struct event_base *base;
	struct event *tick, *soon;
	const struct conf *conf;
	const struct conf_pool *pool;
	struct kube_home home;
	char *store, *lease_name;
	run_event_fn *fn;
	void *arg;

	struct kube_http *http;
	struct kube_lease *lease;
	/* kube.c: watches of the whole cluster; those of Jobs and volume claims
	 * are in struct kube_space */
	struct kube_sight sight;
	struct kube_spaces spaces;
	bool left; /* RUN_LEFT was sent */
	struct kube_version version;
	struct kube_recovery recovery;
	struct kube_told told; /* trouble.c */

	struct kube_nodes *nodes;
	struct kube_pods pods;
	struct kube_claims claims;
	struct kube_devices devices;
	struct kube_kinds kinds;
	struct kube_numa numa;
	struct map jobs;                    /* by kube_space_key() */
	struct map shared;                  /* by kube_space_key() */
	struct map ports;                   /* by kube_space_key() */
	struct map attempts;                /* by kube_attempt_key() */
	TAILQ_HEAD(, kube_attempt) touched; /* see kube_attempt_touch() */
	struct kube_asks asks;

	struct kube_adoption adopt;
	struct kube_notes notes;
	struct kube_drains drain;
	struct kube_logs log;
	struct kube_keeps keep;
	struct kube_signals signals;
	struct kube_commands commands;
	struct kube_forwards forwards;
	struct kube_use use;
	struct kube_standins standins;
};

static inline struct kube *kube_of(struct runner *r)
{
	return (struct kube *)(void *)((char *)r -
	                               offsetof(struct kube, runner));
}

/* The key of a text, such as a name or uid, in a struct map. */
static inline uint64_t kube_text_key(const char *text)
{
	return hash_bytes(0, text, strlen(text));
}

#endif

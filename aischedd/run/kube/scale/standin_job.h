/*
 * standin_job.h - the Job of stand-ins, or of a ProvisioningRequest, of a
 * template
 *
 * For this folder: standin.c owns these; provide.c makes and reads the request.
 */
#ifndef AISCHEDD_RUN_KUBE_SCALE_STANDIN_JOB_H
#define AISCHEDD_RUN_KUBE_SCALE_STANDIN_JOB_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "aischedd/run/kube/object/pod.h"
#include "libcommon/conf/conf.h"

struct kube;

/* The ProvisioningRequest that asks in place of pods. */
struct standin_request {
	const struct conf_scale *conf; /* NULL: pods ask */
	bool templated, made; /* the PodTemplate, the request is there */
	bool refused;         /* the daemon was told that no nodes come */
	int64_t look_ms;      /* when to read the request again */
};

/* The Job of a template: what the daemon wants, and what the watch shows. */
struct standin_job {
	char *scale;
	json_t *want; /* NULL: the template is not, or no longer, configured */
	uint32_t nodes; /* to be added */
	struct kube_amount size;
	char *uid, *shape; /* NULL: there is none */
	uint32_t count;    /* how many pods it has */
	bool deleting;
	bool marked;  /* the list being read has not shown it yet */
	bool existed; /* the last call to make it found its name taken */
	bool asking;
	int64_t rest_ms; /* no other call before this time */
	struct standin_request request;
};

enum standin_kind {
	/* about a Job */
	STANDIN_MAKE,
	STANDIN_COUNT, /* set how many pods it has */
	STANDIN_DELETE,
	/* about its ProvisioningRequest */
	STANDIN_TEMPLATE, /* make the PodTemplate */
	STANDIN_REQUEST,  /* make the request */
	STANDIN_LOOK,     /* read it */
	/* about a pod */
	STANDIN_TELL, /* set that it is unschedulable */
	STANDIN_UNBIND
};

/* Make a call about a Job or its request; takes body. name: of the object,
 * NULL: make one. */
void kube_standin_ask(struct kube *kube, struct standin_job *j,
                      enum standin_kind kind, const char *name, json_t *body);

#endif

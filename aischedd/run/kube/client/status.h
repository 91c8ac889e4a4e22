/*
 * status.h - what an API server means by an answer that is no success
 *
 * Pure.  The sentence names what was tried and, where the server may not be
 * asked for it, the rule that would allow it.
 */
#ifndef AISCHEDD_RUN_KUBE_CLIENT_STATUS_H
#define AISCHEDD_RUN_KUBE_CLIENT_STATUS_H

#include <jansson.h>
#include <stdint.h>

#include "libcommon/err.h"

enum kube_method {
	KUBE_GET,
	KUBE_POST,
	KUBE_PUT,
	KUBE_DELETE,
	KUBE_MERGE,     /* PATCH: replaces lists whole */
	KUBE_STRATEGIC, /* PATCH: lists by key; only built-in types */
	KUBE_JSON_PATCH /* PATCH: operations on paths */
};

/* What to do about it. */
enum kube_refusal {
	KUBE_FINAL,    /* the same again would get the same answer */
	KUBE_AGAIN,    /* this one, a little later */
	KUBE_BUSY,     /* the server cannot take requests now */
	KUBE_STRANGER, /* it does not accept the credentials */
};

struct kube_status {
	enum kube_refusal refusal;
	char reason[48]; /* "AlreadyExists", "NotFound"; "": none given */
	int64_t wait_ms; /* what the body says; -1: nothing */
};

/* The path of a request, taken apart; texts are cut to what they may be. */
struct kube_target {
	const char *verb; /* of RBAC: "list", "create", "patch" */
	char group[128];  /* "" is the core group */
	char resource[80];
	char sub[32]; /* "status"; "": none */
	char namespace[64], name[256];
};

void kube_target_parse(struct kube_target *ret, enum kube_method method,
                       const char *path);

/*
 * code is of HTTP, not 2xx; body is the Status, or whatever came, or NULL.
 * err->code: ENOENT 404, EEXIST AlreadyExists, ESTALE other 409 and 410,
 * EPERM 403, EDQUOT 403 for a quota, EACCES 401, EINVAL 400 and 422, EMSGSIZE
 * 413, EAGAIN 429, ETIMEDOUT 504, EIO else.
 */
void kube_status_read(int code, const json_t *body, enum kube_method method,
                      const char *path, struct kube_status *ret,
                      struct err *err);

#endif

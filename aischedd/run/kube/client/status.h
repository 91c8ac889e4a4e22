/*
 * status.h - explain a refusal of an API server
 *
 * Pure. The error text names what was requested and, for a missing permission,
 * the rule that would grant it.
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
	KUBE_MERGE,     /* PATCH: replaces whole lists */
	KUBE_STRATEGIC, /* PATCH: merges lists by key; built-in types only */
	KUBE_JSON_PATCH /* PATCH: operations on paths */
};
enum { KUBE_METHODS = KUBE_JSON_PATCH + 1 };

/* Kinds of refusals, by what can be done about them. */
enum kube_refusal {
	KUBE_FINAL,    /* a second try would get the same answer */
	KUBE_AGAIN,    /* try this request again a little later */
	KUBE_BUSY,     /* the server takes no requests now */
	KUBE_STRANGER, /* the server rejects the credentials */
};

struct kube_status {
	enum kube_refusal refusal;
	char reason[48]; /* "AlreadyExists", "NotFound"; "": not given */
	int64_t wait_ms; /* pause that the body asks for; -1: none */
};

/* The parts of a request's path, truncated to the sizes here. */
struct kube_target {
	const char *verb; /* as in RBAC: "list", "create", "patch" */
	char group[128];  /* "" is the core group */
	char resource[80];
	char sub[32]; /* "status"; "": none */
	char namespace[64], name[256];
};

void kube_target_parse(struct kube_target *ret, enum kube_method method,
                       const char *path);

/*
 * Explain a refusal in *ret and *err. code: HTTP status, not 2xx; body: the
 * Status, any other JSON, or NULL. Sets err->code:
 *
 *	400, 422	EINVAL
 *	401		EACCES
 *	403		EDQUOT for a quota, else EPERM
 *	404		ENOENT
 *	409		EEXIST if AlreadyExists, else ESTALE
 *	410		ESTALE
 *	413		EMSGSIZE
 *	429		EAGAIN
 *	504		ETIMEDOUT
 *	others		EIO
 */
void kube_status_read(int code, const json_t *body, enum kube_method method,
                      const char *path, struct kube_status *ret,
                      struct err *err);

#endif

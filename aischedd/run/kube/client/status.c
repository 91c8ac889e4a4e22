/* status.c - explain a refusal of an API server */
#include "aischedd/run/kube/client/status.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "aischedd/run/kube/client/json.h"
#include "libcommon/buf.h"

/* --- describe the request --- */

/* Copy the next part of a path to ret and advance *path behind it. Returns
 * false at the end of the path. */
static bool take_part(const char **path, char *ret, size_t size)
{
	const char *p = *path + (**path == '/');
	size_t len = strcspn(p, "/?");

	snprintf(ret, size, "%.*s", (int)len, p);
	*path = p + len;
	return len > 0;
}

static const char *verb_of(enum kube_method method, const char *query,
                           bool named)
{
	switch (method) {
	case KUBE_GET:
		if (strstr(query, "watch=1"))
			return "watch";
		return named ? "get" : "list";
	case KUBE_POST:
		return "create";
	case KUBE_PUT:
		return "update";
	case KUBE_DELETE:
		return named ? "delete" : "deletecollection";
	case KUBE_MERGE:
	case KUBE_STRATEGIC:
	case KUBE_JSON_PATCH:
		break;
	}
	return "patch";
}

/* Parse a path: /api/v1/… or /apis/GROUP/v1/…, then
 * [namespaces/NS/]RESOURCE[/NAME[/SUB]]. */
void kube_target_parse(struct kube_target *ret, enum kube_method method,
                       const char *path)
{
	char word[8], version[32];
	const char *ahead;

	*ret = (struct kube_target){ .verb = "" };
	take_part(&path, word, sizeof(word));
	if (!strcmp(word, "apis"))
		take_part(&path, ret->group, sizeof(ret->group));
	take_part(&path, version, sizeof(version));
	take_part(&path, ret->resource, sizeof(ret->resource));
	ahead = path;
	/* /api/v1/namespaces/NS alone is the namespace itself. */
	if (!strcmp(ret->resource, "namespaces") &&
	    take_part(&ahead, ret->namespace, sizeof(ret->namespace)) &&
	    *ahead == '/') {
		path = ahead;
		take_part(&path, ret->resource, sizeof(ret->resource));
	} else {
		ret->namespace[0] = '\0';
	}
	take_part(&path, ret->name, sizeof(ret->name));
	take_part(&path, ret->sub, sizeof(ret->sub));
	ret->verb = verb_of(method, path, ret->name[0]);
	/* The request opens a WebSocket by GET. From Kubernetes 1.35 on, this
	 * needs the verb create in addition to the verb get. */
	if (!strcmp(ret->sub, "exec") || !strcmp(ret->sub, "portforward"))
		ret->verb = "get, create";
}

/* Append "create jobs 'x' in namespace 'ns'". */
static void describe(const struct kube_target *t, struct buf *out)
{
	buf_printf(out, "%s %s%s%s", t->verb, t->resource, t->sub[0] ? "/" : "",
	           t->sub);
	if (t->name[0])
		buf_printf(out, " '%s'", t->name);
	if (t->namespace[0])
		buf_printf(out, " in namespace '%s'", t->namespace);
}

/* --- explain the answer --- */

/* Find the user's name in the server's message, 'User "NAME" cannot …'; "?" if
 * it is not there. */
static void find_user(const char *message, const char **ret, int *ret_len)
{
	static const char before[] = "User \"";
	const char *at = strstr(message, before);

	*ret = "?";
	*ret_len = 1;
	if (!at)
		return;
	at += strlen(before);
	*ret = at;
	*ret_len = (int)strcspn(at, "\"");
}

static void tell_forbidden(const struct kube_target *t, const char *message,
                           struct err *err)
{
	struct buf what = { 0 };
	const char *user;
	int len;

	find_user(message, &user, &len);
	describe(t, &what);
	err_set(err, EPERM,
	        "user '%.*s' may not %s; allow it with the rule {apiGroups: "
	        "[\"%s\"], resources: [%s%s%s], verbs: [%s]}",
	        len, user, what.data, t->group, t->resource,
	        t->sub[0] ? "/" : "", t->sub, t->verb);
	buf_free(&what);
}

static void tell(const struct kube_target *t, int code, int errnum,
                 const char *reason, const char *message, struct err *err)
{
	struct buf what = { 0 };

	describe(t, &what);
	if (*message)
		err_set(err, errnum, "cannot %s: %s", what.data, message);
	else
		err_set(err, errnum, "cannot %s: HTTP status %d%s%s", what.data,
		        code, *reason ? " " : "", reason);
	buf_free(&what);
}

static int errno_of(int code, const char *reason, const char *message)
{
	switch (code) {
	case 400:
	case 422:
		return EINVAL;
	case 401:
		return EACCES;
	case 403:
		return strstr(message, "exceeded quota") ? EDQUOT : EPERM;
	case 404:
		return ENOENT;
	case 409:
		return strcmp(reason, "AlreadyExists") ? ESTALE : EEXIST;
	case 410:
		return ESTALE;
	case 413:
		return EMSGSIZE;
	case 429:
		return EAGAIN;
	case 504:
		return ETIMEDOUT;
	}
	return EIO;
}

/* Whether a 429 says that a PodDisruptionBudget forbids an eviction, not that
 * the server is busy. */
static bool is_about_budget(struct kube_reader *r)
{
	const json_t *cause;
	size_t i;

	json_array_foreach(kube_list(r, "details.causes"), i, cause) {
		struct kube_reader c = { .obj = cause };
		const char *reason = kube_text(&c, "reason");

		if (reason && !strcmp(reason, "DisruptionBudget"))
			return true;
	}
	return false;
}

static enum kube_refusal refusal_of(int code, struct kube_reader *r)
{
	switch (code) {
	case 401:
		return KUBE_STRANGER;
	case 429:
		return is_about_budget(r) ? KUBE_FINAL : KUBE_BUSY;
	case 502:
	case 503:
		return KUBE_BUSY;
	}
	return code >= 500 ? KUBE_AGAIN : KUBE_FINAL;
}

void kube_status_read(int code, const json_t *body, enum kube_method method,
                      const char *path, struct kube_status *ret,
                      struct err *err)
{
	struct kube_reader r = { .obj = body };
	const char *message = kube_text(&r, "message");
	const char *reason = kube_text(&r, "reason");
	int64_t wait_s = kube_int(&r, "details.retryAfterSeconds", -1);
	struct kube_target target;

	message = message ? message : "";
	reason = reason ? reason : "";
	kube_target_parse(&target, method, path);
	snprintf(ret->reason, sizeof(ret->reason), "%s", reason);
	ret->wait_ms = wait_s > 0 && wait_s < 86400 ? wait_s * 1000 : -1;
	ret->refusal = refusal_of(code, &r);
	/* Only a 403 for a missing permission says "cannot"; those for quotas
	 * and admission policies do not. */
	if (code == 403 && strstr(message, "\" cannot "))
		tell_forbidden(&target, message, err);
	else
		tell(&target, code, errno_of(code, reason, message), reason,
		     message, err);
}

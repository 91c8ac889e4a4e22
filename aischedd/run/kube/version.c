/* version.c - whether the cluster is new enough */
#include "aischedd/run/kube/version.h"

#include <stdlib.h>

#include "aischedd/run/kube/client/json.h"
#include "aischedd/run/kube/kube.h"
#include "libcommon/clock.h"

enum {
	/* The oldest version that works. Older servers drop
	 * backoffLimitPerIndex from Jobs, so the first failed task would end
	 * all tasks. */
	MAJOR = 1,
	MINOR = 29,
	AGAIN_MS = 5000 /* pause before an old server is asked again */
};

static void judge(struct kube *kube, const json_t *body)
{
	struct kube_reader r = { .obj = body };
	const char *major = kube_text(&r, "major");
	const char *minor = kube_text(&r, "minor"); /* may be "29+" */
	long n = major ? strtol(major, NULL, 10) : 0;

	kube->version.old.code = 0;
	kube->version.minor = minor && n == MAJOR ? strtol(minor, NULL, 10) : 0;
	if (!minor || n > MAJOR ||
	    (n == MAJOR && strtol(minor, NULL, 10) >= MINOR))
		return;
	err_set(&kube->version.old, EPROTONOSUPPORT,
	        "the cluster is Kubernetes %s.%s, which is too old: %d.%d or "
	        "newer is needed",
	        major, minor, MAJOR, MINOR);
}

static void on_version(const struct kube_answer *answer, void *arg)
{
	struct kube *kube = arg;

	/* If the version cannot be read, assume that the cluster is new
	 * enough. */
	if (!answer->err)
		judge(kube, answer->body);
	kube->version.known = true;
	kube->version.asking = false;
	kube_trouble_tell(kube);
	kube_recover_try(kube);
}

void kube_version_ask(struct kube *kube)
{
	int64_t now = clock_boot_ms();

	if (kube->version.asking || now < kube->version.again_ms ||
	    (kube->version.known && !kube->version.old.code))
		return;
	kube->version.asking = true;
	kube->version.again_ms = now + AGAIN_MS;
	kube_http_send(kube->http, &(struct kube_request){ .method = KUBE_GET,
	                                                   .rank = KUBE_READ,
	                                                   .path = "/version",
	                                                   .done = on_version,
	                                                   .arg = kube });
}

bool kube_version_is_from(const struct kube *kube, long minor)
{
	return !kube->version.minor || kube->version.minor >= minor;
}

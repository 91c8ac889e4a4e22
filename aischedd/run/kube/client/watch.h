/*
 * watch.h - list and watch all objects of one kind
 *
 * Lists all objects in pages, then watches for changes, for ever: if the watch
 * ends, breaks, falls silent or begins at a version that is too old, it is
 * continued, or the objects are listed again. Objects are passed on one at a
 * time and not stored.
 *
 * The receiver should mark all its objects at KUBE_RESET; replace or add the
 * object and remove its mark at KUBE_ADDED and KUBE_MODIFIED (the same object
 * may come again); remove the object at KUBE_DELETED; and remove all objects
 * that are still marked at KUBE_SYNCED. Between KUBE_RESET and KUBE_SYNCED it
 * does not know all objects of the server. An object differs by its uid from an
 * earlier one with the same name.
 */
#ifndef AISCHEDD_RUN_KUBE_CLIENT_WATCH_H
#define AISCHEDD_RUN_KUBE_CLIENT_WATCH_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "aischedd/run/kube/client/http.h"
#include "libcommon/err.h"

enum kube_news {
	KUBE_RESET,
	KUBE_ADDED,
	KUBE_MODIFIED,
	KUBE_DELETED, /* obj: its last state */
	KUBE_SYNCED,
	/* err: why there is no news now; the watch continues by itself */
	KUBE_TROUBLE,
};

/* Called from the loop for each news. obj, borrowed: the object of KUBE_ADDED,
 * KUBE_MODIFIED and KUBE_DELETED, else NULL. err: for KUBE_TROUBLE. May call
 * kube_watch_free(). */
typedef void kube_watch_fn(enum kube_news news, json_t *obj,
                           const struct err *err, void *arg);

struct kube_watch_spec {
	const char *path; /* "/api/v1/pods", perhaps with a query */
	unsigned page;    /* most objects in one page of a list */
	size_t max;       /* most bytes of one object */
	int64_t silence_ms;
	/* a watch is renewed after renew_s to 2 * renew_s seconds */
	int64_t renew_s;
	/* if the server does not have the kind of objects, or forbids them, a
	 * list is tried again after this time; 0: as after other failures */
	int64_t absent_ms;
	kube_watch_fn *fn;
	void *arg;
};

/* Values for a real API server; the caller sets path, fn and arg. */
extern const struct kube_watch_spec kube_watch_default;

struct kube_watch;

/* Begin to list and watch. http must outlive the watch; spec is copied. Does
 * not fail. */
struct kube_watch *kube_watch_new(struct kube_http *http,
                                  const struct kube_watch_spec *spec);
/* Returns for how many ms the server has sent nothing, not even a bookmark; -1:
 * it has never sent anything. */
int64_t kube_watch_silent_ms(const struct kube_watch *watch);
void kube_watch_free(struct kube_watch *watch); /* NULL is allowed */

#endif

/*
 * split.h - cut objects out of a stream of JSON, however it is chunked
 *
 * In the stream of a watch every document is an object; in that of a list every
 * item is one, and the list without its items remains. Holds one object in
 * memory at a time. Objects come without their managedFields.
 */
#ifndef AISCHEDD_RUN_KUBE_CLIENT_SPLIT_H
#define AISCHEDD_RUN_KUBE_CLIENT_SPLIT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "libcommon/buf.h"
#include "libcommon/err.h"

enum kube_split_in { IN_REST, IN_BETWEEN, IN_OBJECT };

struct kube_split {
	bool list;
	size_t max;
	enum kube_split_in in;
	struct buf object, rest;
	int depth; /* open braces and brackets of the object, or of the rest */
	bool in_text, escaped;
};

/* list: cut out items, else documents. max: most bytes of one object,
 * and of everything in a list besides its items. */
void kube_split_init(struct kube_split *split, bool list, size_t max);
void kube_split_fini(struct kube_split *split);

/* obj is borrowed; returning -1 with *err set stops the feed. */
typedef int kube_split_fn(json_t *obj, void *arg, struct err *err);

/* Fails with EMSGSIZE if an object is larger than max; EPROTO if this is no
 * JSON, or no object where one must be; or as fn. */
int kube_split_feed(struct kube_split *split, const void *data, size_t len,
                    kube_split_fn *fn, void *arg, struct err *err);

/* Whether the stream may end here: the list is complete, or no document is
 * open. */
bool kube_split_is_whole(const struct kube_split *split);

/* Returns the list without its items; owns: the caller. Fails with EPROTO. */
json_t *kube_split_rest(const struct kube_split *split, struct err *err);

/* Parse what an API server sends: strings may have zero bytes. */
json_t *kube_parse(const char *text, size_t len, struct err *err);

#endif

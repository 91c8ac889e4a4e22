/*
 * split.h - cut objects out of a stream of JSON that arrives in pieces
 *
 * The stream of a watch is a sequence of JSON documents, each of them an
 * object. The stream of a list is one document, whose items are the objects.
 * Only one object at a time is in memory; of a list, also all fields other than
 * `items`. Objects are passed on without their managedFields.
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
	int depth; /* braces and brackets that are open at this point */
	bool in_text, escaped;
};

/* list: cut the items out of a list; else cut out whole documents. max: most
 * bytes of one object, and of everything in a list besides its items. */
void kube_split_init(struct kube_split *split, bool list, size_t max);
void kube_split_fini(struct kube_split *split);

/* Called for each object, which is borrowed. Returning -1 with *err set stops
 * kube_split_feed(). */
typedef int kube_split_fn(json_t *obj, void *arg, struct err *err);

/* Read the next piece of the stream. Fails with EMSGSIZE if an object is larger
 * than max, with EPROTO if the text is not a sequence of JSON objects, or with
 * the error of fn. */
int kube_split_feed(struct kube_split *split, const void *data, size_t len,
                    kube_split_fn *fn, void *arg, struct err *err);

/* Whether the stream may end here: the list, or each document so far, is
 * complete. */
bool kube_split_is_whole(const struct kube_split *split);

/* Returns the list without its items; owns: the caller. Fails with EPROTO. */
json_t *kube_split_rest(const struct kube_split *split, struct err *err);

/* Parse an answer of the API server; its strings may have zero bytes. Returns
 * NULL with EPROTO if it is not JSON; err may be NULL. */
json_t *kube_parse(const char *text, size_t len, struct err *err);

#endif

/*
 * yaml.h - YAML as a kubeconfig needs it, as a tree of jansson's
 *
 * Maps, lists and scalars; every scalar is a string, except for null, so that
 * a token of digits stays what it is.  JSON is YAML, too.  Refused, with
 * `line N: what`: aliases, keys given twice, several documents, and what is
 * too large, too deep or too many.
 */
#ifndef AISCHEDD_RUN_KUBE_CLIENT_YAML_H
#define AISCHEDD_RUN_KUBE_CLIENT_YAML_H

#include <jansson.h>
#include <stddef.h>

#include "libcommon/err.h"

enum {
	KUBE_YAML_BYTES = 4 << 20,
	KUBE_YAML_DEPTH = 32,
	KUBE_YAML_NODES = 100000
};

/* The caller's; json_null() for a document that is empty.  Fails: EINVAL. */
json_t *kube_yaml_parse(const char *text, size_t len, struct err *err);

#endif

/*
 * yaml.h - parse the YAML of a kubeconfig into a tree of jansson
 *
 * Maps, lists and scalars; every scalar but null is a string, so that a token
 * made of digits stays a string. JSON is YAML, too. Refused with `line N:
 * what`: aliases, duplicate keys, several documents, and files that are too
 * large, too deep or have too many values.
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

/* Returns the tree, owned by the caller; json_null() for an empty document.
 * Fails with EINVAL. */
json_t *kube_yaml_parse(const char *text, size_t len, struct err *err);

#endif

/*
 * labels.h - labels that users give to jobs: `run=3,team=nlp`
 *
 * A key and a value have the syntax of a Kubernetes label without prefix: up to
 * 63 letters, digits, '-', '_' and '.', with a letter or digit at both ends; a
 * value may be empty. The text of labels is sorted by key.
 */
#ifndef LIBCOMMON_LABELS_H
#define LIBCOMMON_LABELS_H

#include <stdbool.h>
#include <stddef.h>

#include "libcommon/buf.h"
#include "libcommon/err.h"

enum { LABELS_MAX = 16, LABEL_PART_MAX = 63 /* bytes of a key or value */ };

/* A label within a text. */
struct label {
	const char *key, *value;
	size_t key_len, value_len;
};

/* Returns the next label of a checked text, and moves *at, which may be NULL,
 * behind it; false at the end. */
bool labels_next(const char **at, struct label *ret);

/* Write the labels of a text (or NULL) with these added; one with the same key
 * is replaced. Fails with EINVAL. */
int labels_add(struct buf *ret, const char *labels, const char *more,
               struct err *err);

/* Check a text; its order does not matter. Fails with EINVAL. */
int labels_check(const char *labels, struct err *err);

/* Check what can be passed to labels_have(): `team=nlp` or `team`. Fails with
 * EINVAL. */
int labels_check_wanted(const char *wanted, struct err *err);

/* Whether the labels include this one; if it is given without a value, with any
 * value. */
bool labels_have(const char *labels, const char *wanted);

#endif

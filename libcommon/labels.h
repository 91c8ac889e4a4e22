/*
 * labels.h - labels that users give to jobs: `run=3,team=nlp`
 *
 * Keys and values have the syntax of Kubernetes labels without a prefix: up to
 * 63 letters, digits, '-', '_' and '.', with a letter or digit at both ends; a
 * value may be empty. labels_add() writes labels sorted by key.
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

/* Get the label at *at, in a checked text, and move *at behind it. Returns
 * false at the end, or if *at is NULL. */
bool labels_next(const char **at, struct label *ret);

/* Append the labels of the text `labels`, which may be NULL, together
 * with those of `more`, which replace labels with the same key. Fails
 * with EINVAL. */
int labels_add(struct buf *ret, const char *labels, const char *more,
               struct err *err);

/* Check a list of labels, in any order. Fails with EINVAL. */
int labels_check(const char *labels, struct err *err);

/* Check what can be passed to labels_have(): `team=nlp` or `team`. Fails with
 * EINVAL. */
int labels_check_wanted(const char *wanted, struct err *err);

/* Whether the list `labels` includes the label `wanted`; if that has no '=',
 * any value will do. */
bool labels_have(const char *labels, const char *wanted);

#endif

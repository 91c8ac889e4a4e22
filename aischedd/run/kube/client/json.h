/*
 * json.h - read fields of Kubernetes objects, with strict types and defaults
 *
 * A reader holds one object. An absent (or null) field has a default. A field
 * whose type differs from that of the API is an error, and the first error is
 * kept: so callers read all fields, then look at err.code once. Paths are names
 * joined by dots ("spec.nodeName"). Keys of labels and annotations may have
 * dots themselves: read their map, and call kube_text_at(). Values are borrowed
 * from the object.
 */
#ifndef AISCHEDD_RUN_KUBE_CLIENT_JSON_H
#define AISCHEDD_RUN_KUBE_CLIENT_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "libcommon/err.h"

struct kube_reader {
	const json_t *obj; /* NULL: everything is absent */
	struct err err;    /* code 0: no error so far */
};

const char *kube_text(struct kube_reader *r, const char *path); /* or NULL */
int64_t kube_int(struct kube_reader *r, const char *path, int64_t absent);
bool kube_bool(struct kube_reader *r, const char *path, bool absent);
json_t *kube_list(struct kube_reader *r, const char *path); /* or NULL */
json_t *kube_map(struct kube_reader *r, const char *path);  /* or NULL */

/* Returns a time in microseconds since 1970; 0: absent. */
int64_t kube_time(struct kube_reader *r, const char *path);

/*
 * Read a quantity ("500m", "1.5Gi", "2e3", or a bare number): kube_milli_of()
 * in thousandths, kube_whole_of() in whole units. Both round away from zero, as
 * Kubernetes does, and set INT64_MAX if the quantity is larger. They fail with
 * EINVAL; the error quotes the value.
 */
int kube_milli_of(const json_t *value, int64_t *ret, struct err *err);
int kube_whole_of(const json_t *value, int64_t *ret, struct err *err);

/* Returns the text at a key, which may have dots; NULL if there is none, or
 * something other than a text. */
static inline const char *kube_text_at(const json_t *map, const char *key)
{
	return json_string_value(json_object_get(map, key));
}

/* The same, and the text at a path, with "" in place of NULL. */
static inline const char *kube_word_at(const json_t *map, const char *key)
{
	const char *s = kube_text_at(map, key);

	return s ? s : "";
}

static inline const char *kube_word(const json_t *obj, const char *path)
{
	struct kube_reader r = { .obj = obj };
	const char *s = kube_text(&r, path);

	return s ? s : "";
}

/* Whether a list has this text. word may be NULL, which no list has. */
bool kube_list_has(const json_t *list, const char *word);

/* Convert bytes to MiB, rounded up for requests, down for capacities. */
static inline int64_t kube_mib_up(int64_t bytes)
{
	return (bytes >> 20) + ((bytes & ((1 << 20) - 1)) != 0);
}

static inline int64_t kube_mib_down(int64_t bytes)
{
	return bytes >> 20;
}

#endif

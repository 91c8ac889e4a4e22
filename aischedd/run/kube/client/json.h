/*
 * json.h - fields of Kubernetes objects: strict types, nothing required
 *
 * A reader holds one object.  What is absent (or null) has a default; what has
 * another type than the API says is an error, and the first error stays: read
 * all fields, then look at err.code once.  Paths are names joined by dots
 * ("spec.nodeName"); keys of labels and annotations hold dots themselves, so
 * take their map and ask kube_text_at().  Values are borrowed from the object.
 */
#ifndef AISCHEDD_RUN_KUBE_CLIENT_JSON_H
#define AISCHEDD_RUN_KUBE_CLIENT_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "libcommon/err.h"

struct kube_reader {
	const json_t *obj; /* NULL: everything is absent */
	struct err err;    /* code 0: all fields so far were right */
};

const char *kube_text(struct kube_reader *r, const char *path); /* or NULL */
int64_t kube_int(struct kube_reader *r, const char *path, int64_t absent);
bool kube_bool(struct kube_reader *r, const char *path, bool absent);
json_t *kube_list(struct kube_reader *r, const char *path); /* or NULL */
json_t *kube_map(struct kube_reader *r, const char *path);  /* or NULL */

/* Microseconds since 1970; 0: absent. */
int64_t kube_time(struct kube_reader *r, const char *path);

/*
 * Quantities ("500m", "1.5Gi", "2e3"; a bare number, too), rounded as
 * Kubernetes does: away from zero to thousandths, or to whole units.  What is
 * larger than an int64_t is INT64_MAX.
 */
int64_t kube_milli(struct kube_reader *r, const char *path, int64_t absent);
int64_t kube_whole(struct kube_reader *r, const char *path, int64_t absent);

/* The same of a value, as of a map of resources.  Fails: EINVAL, quotes it. */
int kube_milli_of(const json_t *value, int64_t *ret, struct err *err);
int kube_whole_of(const json_t *value, int64_t *ret, struct err *err);

/* The text of a key, which may have dots; NULL: there is none, or it is none.
 */
static inline const char *kube_text_at(const json_t *map, const char *key)
{
	return json_string_value(json_object_get(map, key));
}

/* Bytes as MiB: of what is asked for, and of what there is. */
static inline int64_t kube_mib_up(int64_t bytes)
{
	return (bytes >> 20) + ((bytes & ((1 << 20) - 1)) != 0);
}

static inline int64_t kube_mib_down(int64_t bytes)
{
	return bytes >> 20;
}

#endif

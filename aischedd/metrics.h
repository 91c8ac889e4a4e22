/*
 * metrics.h - what the daemon counts and measures
 *
 * One table: `aictl status`, as text and as JSON, and every other output come
 * from it.
 */
#ifndef AISCHEDD_METRICS_H
#define AISCHEDD_METRICS_H

#include <jansson.h>
#include <stddef.h>

struct daemon;
struct metrics_seen;

enum metric_type {
	METRIC_INFO,   /* a text, a boolean, or a list of texts */
	METRIC_GAUGE,  /* a number that rises and falls */
	METRIC_COUNTER /* a number that only rises while the daemon lives */
};

struct metric {
	/* Its key in JSON; "store.bytes" is a member of "store". Its ending is
	 * the unit: _s, _ms, bytes. */
	const char *name;
	const char *help;
	enum metric_type type;
	/* Returns a new value; with labels, an object that has a value for
	 * each. */
	json_t *(*get)(const struct metrics_seen *seen);
};

extern const struct metric metrics[];
extern const size_t nmetrics;

/* Returns all metrics as one object, in the order of the table. */
json_t *metrics_json(const struct daemon *d);

#endif

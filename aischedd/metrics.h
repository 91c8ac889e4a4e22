/*
 * metrics.h - what the daemon counts and measures
 *
 * All metrics are in one table, from which `aictl status`, as text and as JSON,
 * and all other outputs are made.
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
	/* The metric's key in JSON; "store.bytes" is the member "bytes" of the
	 * object "store". The end of the key tells the unit: _s, _ms, bytes. */
	const char *name;
	const char *help;
	enum metric_type type;
	/* Returns the present value; for a metric with labels, an object that
	 * has a value for each label. */
	json_t *(*get)(const struct metrics_seen *seen);
};

extern const struct metric metrics[];
extern const size_t nmetrics;

/* Returns all metrics as one object, in the order of the table. */
json_t *metrics_json(const struct daemon *d);

#endif

/*
 * histogram.h - count values in buckets
 *
 * Histograms for Prometheus: buckets are printed cumulatively, with a sum and a
 * count of all values.
 */
#ifndef LIBCOMMON_HISTOGRAM_H
#define LIBCOMMON_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>

enum { HISTOGRAM_MOST = 16 }; /* bounds of a histogram, at most */

/* Upper bounds of buckets, in seconds, ascending; 0 ends a list that is shorter
 * than HISTOGRAM_MOST. */
/* For the times that jobs wait and run. */
extern const double histogram_jobs[HISTOGRAM_MOST];
/* For turns of the daemon's loop, and their parts. */
extern const double histogram_steps[HISTOGRAM_MOST];

struct histogram {
	/* Bucket i counts the values up to bound i; one more bucket counts the
	 * values above all bounds. */
	uint64_t bucket[HISTOGRAM_MOST + 1];
	uint64_t n;
	double sum;
};

/* Count x in the first bucket whose bound is at least x. */
void histogram_add(struct histogram *h, const double *bounds, double x);

/* Add everything that `from` has counted with the same bounds. */
void histogram_merge(struct histogram *h, const struct histogram *from);

size_t histogram_nbounds(const double *bounds);

#endif

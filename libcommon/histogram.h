/*
 * histogram.h - count values in buckets
 *
 * As for Prometheus: buckets are cumulative when they are printed, with a sum
 * and a count.
 */
#ifndef LIBCOMMON_HISTOGRAM_H
#define LIBCOMMON_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>

enum { HISTOGRAM_MOST = 16 }; /* bounds */

/* Ascending; 0 ends a list that is shorter than HISTOGRAM_MOST. */
extern const double histogram_jobs[HISTOGRAM_MOST];  /* s; waits and runs */
extern const double histogram_steps[HISTOGRAM_MOST]; /* s; of the loop */

struct histogram {
	uint64_t bucket[HISTOGRAM_MOST + 1]; /* the last: above all bounds */
	uint64_t n;
	double sum;
};

/* Count x, which is compared with these bounds. */
void histogram_add(struct histogram *h, const double *bounds, double x);

/* Add everything that `from` has counted with the same bounds. */
void histogram_merge(struct histogram *h, const struct histogram *from);

size_t histogram_nbounds(const double *bounds);

#endif

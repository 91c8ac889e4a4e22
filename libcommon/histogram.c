/* histogram.c - count values in buckets */
#include "libcommon/histogram.h"

const double histogram_jobs[HISTOGRAM_MOST] = {
	1, 10, 60, 300, 1800, 3600, 14400, 43200, 86400, 604800,
};

const double histogram_steps[HISTOGRAM_MOST] = {
	0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10,
};

size_t histogram_nbounds(const double *bounds)
{
	size_t n = 0;

	while (n < HISTOGRAM_MOST && bounds[n] > 0)
		n++;
	return n;
}

void histogram_add(struct histogram *h, const double *bounds, double x)
{
	size_t n = histogram_nbounds(bounds), i = 0;

	while (i < n && x > bounds[i])
		i++;
	h->bucket[i]++;
	h->n++;
	h->sum += x;
}

void histogram_merge(struct histogram *h, const struct histogram *from)
{
	for (size_t i = 0; i <= HISTOGRAM_MOST; i++)
		h->bucket[i] += from->bucket[i];
	h->n += from->n;
	h->sum += from->sum;
}

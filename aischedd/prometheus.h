/*
 * prometheus.h - the metrics, in the format of Prometheus
 *
 * Text format 0.0.4:
 * https://prometheus.io/docs/instrumenting/exposition_formats
 *
 * Metrics and labels are never renamed, and metrics get no further labels. No
 * label is a job, a node or a command, and metrics_users limits how many users
 * are named: so the number of series depends only on queues and pools (see
 * metrics_max_series). Jobs are counted when something happens to them, so that
 * printing looks at no waiting job.
 */
#ifndef AISCHEDD_PROMETHEUS_H
#define AISCHEDD_PROMETHEUS_H

#include "libcommon/buf.h"

struct daemon;

/* Append all metrics to out. */
void prometheus_text(struct daemon *d, struct buf *out);

#endif

/*
 * prometheus.h - the metrics as Prometheus reads them
 *
 * Text format 0.0.4:
 * https://prometheus.io/docs/instrumenting/exposition_formats Names and labels
 * are a contract: none is renamed and no label is added.  No label is a job, a
 * user, a node or a command, so the number of series depends on queues and
 * pools only; see metrics_max_series.  Everything was counted as it happened:
 * no waiting job is looked at.
 */
#ifndef AISCHEDD_PROMETHEUS_H
#define AISCHEDD_PROMETHEUS_H

#include "libcommon/buf.h"

struct daemon;

/* Append all of it. */
void prometheus_text(const struct daemon *d, struct buf *out);

#endif

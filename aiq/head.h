/*
 * head.h - the lines above a live view: the cluster, jobs, bars of pools
 */
#ifndef AIQ_HEAD_H
#define AIQ_HEAD_H

#include <jansson.h>
#include <stddef.h>

#include "libcommon/buf.h"

/* States in which the metrics count the CPUs and GPUs of a pool. */
enum head_part {
	PART_ALLOCATED,
	PART_HELD,
	PART_RESERVED,
	PART_IDLE,
	PART_DRAINED,
	PART_DOWN,
	PART_N
};

struct head_pool {
	char *name;
	double gpus[PART_N], cpus[PART_N];
};

struct live_head {
	char *cluster; /* NULL: no status was received yet */
	char *jobs;    /* "3 pending, 2 running" */
	struct head_pool *pool;
	size_t npools, cap;
};

/* Store the answer to the request `status`, and the text of `metrics`. */
void head_take_status(struct live_head *head, const json_t *status);
void head_take_metrics(struct live_head *head, const char *text, size_t len);
void head_free(struct live_head *head);

/* Append a pool as "gpu gpus [####--|xx] 4/8 50 %": name, unit (gpus if the
 * pool has any, else cpus), bar, allocated/total, percentage. */
void head_bar(const struct head_pool *pool, struct buf *out);

#endif

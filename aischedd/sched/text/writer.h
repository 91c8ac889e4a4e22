/*
 * writer.h - what the writers of snapshots and plans share
 */
#ifndef AISCHEDD_SCHED_TEXT_WRITER_H
#define AISCHEDD_SCHED_TEXT_WRITER_H

#include "aischedd/sched/text/text.h"

/* Write a task with its devices: "n0:g0-3+5/500:c0-7+8/250". */
void snap_put_task(struct buf *out, const struct snap *s,
                   const struct snap_task *t, const struct snap_cpu_use *use,
                   uint64_t held);

/* Write "n0,n1*4" after `before`; nothing if n is 0. */
void snap_put_nodes(const struct snap *s, const char *before,
                    const uint32_t *node, uint32_t n, struct buf *out);

#endif

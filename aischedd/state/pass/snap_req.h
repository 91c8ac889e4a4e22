/*
 * snap_req.h - copy the requests of jobs into a snapshot
 */
#ifndef AISCHEDD_STATE_PASS_SNAP_REQ_H
#define AISCHEDD_STATE_PASS_SNAP_REQ_H

#include <stdint.h>

#include "aischedd/state/pass/snap_build.h"

/* Make room for about as many requests, before the first is added. */
void snapshot_expect_reqs(struct build *b, size_t n);

/* Returns the index in the snapshot of the request in a row's key; equal
 * requests share one index. hash: row_req_hash() of the key. The key must stay
 * unchanged until the snapshot is finished. Once b->state is NULL, only keys
 * that do not ask the state may be added (row_key_asks()). */
uint32_t snapshot_req(struct build *b, const char *key, uint64_t hash);
/* snapshot_req() for a job that is in no row and holds no nodes. */
uint32_t snapshot_req_of_other(struct build *b, const struct job *job);

/* Copy the refusals that have not ended (life/refuse.h). */
void snapshot_take_refusals(struct build *b);

/* Write the columns of requests into the snapshot, after all requests
 * were added. */
void snapshot_reqs(struct build *b);

#endif

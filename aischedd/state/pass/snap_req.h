/*
 * snap_req.h - requests in a snapshot
 */
#ifndef AISCHEDD_STATE_PASS_SNAP_REQ_H
#define AISCHEDD_STATE_PASS_SNAP_REQ_H

#include <stdint.h>

#include "aischedd/state/pass/snap_build.h"

/* Returns the index of the request in a row's key; equal requests share one.
 * hash: row_req_hash() of the key. The key is borrowed until the snapshot is
 * finished. When b->state is NULL, only keys without volume claims may be added
 * (row_key_mounts()). */
uint32_t snapshot_req(struct build *b, const char *key, uint64_t hash);
/* The same for a placed job. */
uint32_t snapshot_req_of_placed(struct build *b, struct job *job);
/* The same for a job that is in no row. */
uint32_t snapshot_req_of_other(struct build *b, const struct job *job);

/* Write the columns, after all requests were added. */
void snapshot_reqs(struct build *b);

#endif

/*
 * snap_req.h - requests in a snapshot
 */
#ifndef AISCHEDD_STATE_PASS_SNAP_REQ_H
#define AISCHEDD_STATE_PASS_SNAP_REQ_H

#include <stdint.h>

#include "aischedd/state/pass/snap_build.h"

/* Returns the index of the request in a row's key; equal requests share one.
 * The key is borrowed until the snapshot is built. Once the state is released,
 * only keys that mount no claims may be added (row_key_mounts()). */
uint32_t snapshot_req(struct build *b, const char *key, uint64_t hash);
uint32_t snapshot_req_of_placed(struct build *b, struct job *job);
uint32_t snapshot_req_of_other(struct build *b, const struct job *job);

/* Write the columns once all requests are known. */
void snapshot_reqs(struct build *b);

#endif

/*
 * blob.h - scripts and environments by content, submissions by token
 */
#ifndef AISCHEDD_STORE_BLOB_H
#define AISCHEDD_STORE_BLOB_H

#include <stdint.h>

#include "aischedd/store/store.h"
#include "libcommon/buf.h"

/* Returns the id of these bytes; they are copied unless they are already known.
 */
int64_t store_blob(struct store *store, const void *data, size_t len,
                   struct err *err);

/* Note that the submission with this token has these ids. */
void store_token(struct store *store, const char *token, uint32_t uid,
                 uint64_t first_id, uint32_t count, int64_t now);

/* Fails with ENOENT. */
int store_blob_get(struct store *store, int64_t id, struct buf *ret,
                   struct err *err);

/* Whether there was a submission with this token, committed or not. */
bool store_token_find(struct store *store, const char *token, uint32_t uid,
                      uint64_t *ret_first, uint32_t *ret_count);

/* Write new blobs and tokens in the commit; forget them once that is done. */
int blob_put_new(struct store *store, struct err *err);
void blob_forget_new(struct store *store);

#endif

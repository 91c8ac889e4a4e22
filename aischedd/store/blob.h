/*
 * blob.h - store scripts and environments, and the tokens of submissions
 */
#ifndef AISCHEDD_STORE_BLOB_H
#define AISCHEDD_STORE_BLOB_H

#include <stdint.h>

#include "aischedd/store/store.h"
#include "libcommon/buf.h"

/* Returns the id of the blob with these bytes. If there is none yet, copies
 * them, and the next commit writes them. Returns -1 on failure. */
int64_t store_blob(struct store *store, const void *data, size_t len,
                   struct err *err);

/* Record, with the next commit, that the submission with this token got `count`
 * ids, of which the first is first_id. */
void store_token(struct store *store, const char *token, uint32_t uid,
                 uint64_t first_id, uint32_t count, int64_t now);

/* Append the bytes of a committed blob to *ret. Fails with ENOENT if there is
 * no such blob. */
int store_blob_get(struct store *store, int64_t id, struct buf *ret,
                   struct err *err);

/* Whether this user has made a submission with this token, committed or not; if
 * so, set *ret_first to its first id and *ret_count to its number of ids. */
bool store_token_find(struct store *store, const char *token, uint32_t uid,
                      uint64_t *ret_first, uint32_t *ret_count);

/* Called by commits: blob_put_new() writes new blobs and tokens in the
 * transaction; blob_forget_new() frees them after the transaction succeeded. */
int blob_put_new(struct store *store, struct err *err);
void blob_forget_new(struct store *store);

#endif

/*
 * ident.h - the user behind a uid: name and groups
 *
 * Blocks, so call it from worker threads: the name service may be a directory
 * on another machine. Answers are cached for a minute. Thread safe.
 */
#ifndef AISCHEDD_RPC_IDENT_H
#define AISCHEDD_RPC_IDENT_H

#include "aischedd/rpc/rpc.h"

struct idents;

struct idents *idents_new(void);
void idents_free(struct idents *idents);

/* Copy a peer and all it points to into one block; owns: the caller, free(). */
struct peer *ident_copy(const struct peer *peer);

/* Returns one block of memory; owns: the caller, free(). Does not fail: a uid
 * without a name is called by its number and has one group. */
struct peer *ident_get(struct idents *idents, uid_t uid, gid_t gid);

/* Check that there is such a user, or, after "@", such a group. Fails with
 * ENOENT (there is not), EIO (the name service does not say). */
int ident_check(const char *name, struct err *err);

/*
 * Returns the user with this uid as they are now, if that is still their name:
 * one block, as above. Their group is gid if they are still in it, else their
 * primary one. Not cached. Fails with ENOENT (no such user, or another one),
 * EIO (the name service does not say).
 */
struct peer *ident_owner(uid_t uid, gid_t gid, const char *name,
                         struct err *err);

/* Returns the user of this name, likewise. */
struct peer *ident_named(const char *name, struct err *err);

#endif

/*
 * ident.h - the user behind a uid: name and groups
 *
 * The functions block, as the name service may be a directory on another
 * machine: so call them from worker threads. Answers are cached for a minute.
 * Thread safe.
 */
#ifndef AISCHEDD_RPC_IDENT_H
#define AISCHEDD_RPC_IDENT_H

#include "aischedd/rpc/rpc.h"

struct idents;

struct idents *idents_new(void);
void idents_free(struct idents *idents);

/* Returns a copy of the peer and of all it points to, in one block of memory
 * that the caller frees. */
struct peer *ident_copy(const struct peer *peer);

/* Returns the user's name, gid and groups in one block of memory that the
 * caller frees. Does not fail: a uid that has no name is named by its number
 * and has one group. */
struct peer *ident_get(struct idents *idents, uid_t uid, gid_t gid);

/* Check that there is a user of this name or, if the name begins with "@", a
 * group. Fails with ENOENT if there is none, EIO if the name service fails. */
int ident_check(const char *name, struct err *err);

/*
 * Looks up the user with this uid, who must still have this name. Returns their
 * name and present groups in one block of memory that the caller frees; their
 * gid is `gid` if they are still in that group, else their primary group. Not
 * cached. Fails with ENOENT if the uid has no name or another one, EIO if the
 * name service fails.
 */
struct peer *ident_owner(uid_t uid, gid_t gid, const char *name,
                         struct err *err);

/* Looks up the user of this name, with their primary group; returns and fails
 * as ident_owner(). */
struct peer *ident_named(const char *name, struct err *err);

/* Returns the name of this user's primary group, which the caller frees; NULL
 * if there is no such user or group, or the name service fails. Not cached. */
char *ident_group(const char *name);

#endif

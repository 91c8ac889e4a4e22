/*
 * ident.h - the person behind a uid: name and groups
 *
 * Blocking, for the worker threads: the name service may be a directory on
 * another machine.  Answers are kept for a minute.  Thread safe.
 */
#ifndef AISCHEDD_RPC_IDENT_H
#define AISCHEDD_RPC_IDENT_H

#include "aischedd/rpc/rpc.h"

struct idents;

struct idents *idents_new(void);
void idents_free(struct idents *idents);

/* One block of memory, the caller's to free().  Cannot fail: a uid without
 * a name is called by its number and has the one group. */
struct peer *ident_get(struct idents *idents, uid_t uid, gid_t gid);

#endif

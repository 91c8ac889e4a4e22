/*
 * auth.h - MUNGE credentials
 *
 * These functions block: if munged hangs, they take some seconds, so the daemon
 * calls them only from its worker threads. They are thread safe.
 */
#ifndef LIBCOMMON_AUTH_H
#define LIBCOMMON_AUTH_H

#include <sys/types.h>

#include "libcommon/err.h"
#include "libcommon/wire.h"

/*
 * Returns a credential with the digest as payload, which the caller frees.
 * socket is that of munged; if it is NULL or "", $AISCHED_MUNGE_SOCKET, or else
 * munge's default. Fails with EAGAIN if munged cannot be reached, otherwise
 * with EPERM.
 */
char *auth_encode(const char *socket, const unsigned char digest[WIRE_DIGEST],
                  struct err *err);

/*
 * Check a credential, and get the user and group that made it and the digest in
 * it. Fails with EAGAIN if munged cannot be reached; with EACCES if the
 * credential is forged, expired or replayed, or its payload is not a digest.
 */
int auth_decode(const char *socket, const char *cred, uid_t *ret_uid,
                gid_t *ret_gid, unsigned char ret_digest[WIRE_DIGEST],
                struct err *err);

#endif

/*
 * auth.h - MUNGE credentials
 *
 * Blocking: a munged that hangs blocks the caller for some seconds, so the
 * daemon calls these from its worker threads only. Thread safe.
 */
#ifndef LIBCOMMON_AUTH_H
#define LIBCOMMON_AUTH_H

#include <sys/types.h>

#include "libcommon/err.h"
#include "libcommon/wire.h"

/* Returns a credential on the heap; socket NULL or "":
 * $AISCHED_MUNGE_SOCKET, else the system's. Fails with EAGAIN if munged
 * cannot be reached, or EPERM. */
char *auth_encode(const char *socket, const unsigned char digest[WIRE_DIGEST],
                  struct err *err);

/*
 * Get who made a credential, and over which digest. Fails with EAGAIN if munged
 * cannot be reached; EACCES if it is forged, expired, replayed, or its payload
 * is not ours.
 */
int auth_decode(const char *socket, const char *cred, uid_t *ret_uid,
                gid_t *ret_gid, unsigned char ret_digest[WIRE_DIGEST],
                struct err *err);

#endif

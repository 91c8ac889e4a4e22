/*
 * auth.h - MUNGE credentials
 *
 * Blocking: a munged that hangs holds the caller for some seconds, so the
 * daemon calls these from its worker threads only.  Thread safe.
 */
#ifndef LIBCOMMON_AUTH_H
#define LIBCOMMON_AUTH_H

#include <sys/types.h>

#include "libcommon/err.h"
#include "libcommon/wire.h"

/* The credential, a heap string; socket NULL or "": $AISCHED_MUNGE_SOCKET,
 * else the system's.  Fails: EAGAIN munged cannot be reached, EPERM. */
char *auth_encode(const char *socket, const unsigned char digest[WIRE_DIGEST],
                  struct err *err);

/*
 * Who made it, and over which digest.
 * Fails: EAGAIN munged cannot be reached; EACCES forged, expired, replayed,
 * or a payload that is not ours.
 */
int auth_decode(const char *socket, const char *cred, uid_t *ret_uid,
                gid_t *ret_gid, unsigned char ret_digest[WIRE_DIGEST],
                struct err *err);

#endif

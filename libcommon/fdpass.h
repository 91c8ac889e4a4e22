/*
 * fdpass.h - pass descriptors over Unix sockets, with SCM_RIGHTS of unix(7)
 */
#ifndef LIBCOMMON_FDPASS_H
#define LIBCOMMON_FDPASS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define FDPASS_MAX 8

/* Send data with n descriptors, at most FDPASS_MAX; the caller still has to
 * close its own. Returns what sendmsg(2) returns; flags are its flags, to which
 * MSG_NOSIGNAL is added. */
ssize_t fdpass_send(int sock, const void *data, size_t len, const int *fd,
                    int n, int flags);

/*
 * Let the kernel refuse, with EPERM, descriptors that peers send to this socket
 * or to those accepted from it. Without this, a process that reads a message
 * closes the descriptors for which it has no room, and a user can send one
 * whose close(2) never returns, such as a socket that lingers. Returns false if
 * the kernel has no SO_PASSRIGHTS (it came with Linux 6.16): in that case
 * receive with fdpass_read(), and call fdpass_drain() before the socket is
 * closed.
 */
bool fdpass_refuse(int sock);

/* Receive bytes from a stream socket, as recv(2) does. If the peer has sent a
 * descriptor with one of these bytes or with the next one, this call and all
 * later calls fail with EPERM: the bytes and the descriptor stay in the socket,
 * so the descriptor is not closed. */
ssize_t fdpass_read(int sock, void *data, size_t size);

/* Discard what has arrived at a stream socket, which can receive nothing more
 * from now on. Returns false if a descriptor is left: then close(2) of the
 * socket, which closes this descriptor, too, may never return. */
bool fdpass_drain(int sock);

/* Behave as with a kernel before Linux 6.16. Only tests set this. */
extern bool fdpass_old_kernel;

/* Receive data with at most `max` descriptors, which the caller closes. If the
 * kernel has dropped some, because more than max were sent or this process may
 * not have more, keeps none and sets *ret_n to -1. Returns what recvmsg(2)
 * returns; flags are its flags. */
ssize_t fdpass_recv(int sock, void *data, size_t size, int *fd, int max,
                    int *ret_n, int flags);

#endif

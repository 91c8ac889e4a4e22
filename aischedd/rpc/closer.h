/*
 * closer.h - close sockets whose close(2) may never return
 *
 * The last close of a TCP socket that lingers waits until its peer has read
 * everything. A user can send such a socket to the daemon in a message, which
 * the kernel drops, with that socket, when the daemon closes its end of the
 * connection. Only a thread that exits does not wait. So each time there is
 * something to close, a thread with a table of descriptors of its own keeps
 * the sockets open until this process has closed them, and then exits.
 */
#ifndef AISCHEDD_RPC_CLOSER_H
#define AISCHEDD_RPC_CLOSER_H

struct closer;

struct closer *closer_new(void);

/* Close what is left, without waiting for it, and free. */
void closer_free(struct closer *closer);

/* Close fd soon. Does not block. */
void closer_close(struct closer *closer, int fd);

#endif

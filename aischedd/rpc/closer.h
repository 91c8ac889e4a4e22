/*
 * closer.h - close sockets whose close(2) may never return
 *
 * The last close of a TCP socket that lingers waits until the other end has
 * read everything. A user can send such a socket to the daemon in a message. If
 * nobody reads the message, the kernel also closes this socket when the daemon
 * closes the connection, and that close waits. But the kernel does not wait for
 * sockets that it closes because a thread exits. Therefore a thread with a
 * descriptor table of its own keeps all sockets open until the daemon has
 * closed them, and then exits. Where a thread cannot have such a table, a child
 * process does this.
 */
#ifndef AISCHEDD_RPC_CLOSER_H
#define AISCHEDD_RPC_CLOSER_H

#include <stdbool.h>

struct closer;

struct closer *closer_new(void);

/* Close what is left, without waiting for it, and free. */
void closer_free(struct closer *closer);

/* Close fd soon. Does not block. */
void closer_close(struct closer *closer, int fd);

/* Behave as if a thread could not have a descriptor table of its own. Only
 * tests set this. */
extern bool closer_forks;

#endif

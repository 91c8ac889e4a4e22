/*
 * port.h - connect to a port at which a process of a job listens
 *
 * Other processes of this machine may listen at any port. So port_connect()
 * first finds a socket of the job that listens at the port, and checks after
 * connecting that this socket still listens. Meanwhile no other user can listen
 * there: the kernel lets only sockets of one user share an address.
 */
#ifndef AISCHEDD_RUN_PORT_H
#define AISCHEDD_RUN_PORT_H

#include <stdint.h>
#include <sys/types.h>

#include "libcommon/err.h"

typedef void port_fn(pid_t pid, void *arg);
/* Calls fn with fn_arg for each process of the job. */
typedef void port_each_fn(port_fn *fn, void *fn_arg, void *arg);

/*
 * Returns a connection of the job's user to the port, which the caller owns.
 * Fails with ECONNREFUSED if no process of the job listens there, or if none
 * accepts the connection within a fifth of a second. Looks at all descriptors
 * of the job's processes, which may be millions.
 */
int port_connect(uint16_t port, uid_t uid, port_each_fn *each, void *arg,
                 struct err *err);

#endif

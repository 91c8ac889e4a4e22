/*
 * port_seek.h - connect a client to a port of a job, in a process of its own
 *
 * The job's user decides how many descriptors must be looked at, so the
 * shepherd cannot do this itself: it would handle no messages meanwhile.
 */
#ifndef AISCHEDD_RUN_PORT_SEEK_H
#define AISCHEDD_RUN_PORT_SEEK_H

#include "aischedd/run/port.h"

/* Fork a process that calls port_connect() and answers the client over this
 * socket as step_msg.h says. Returns its pid; it exits with status 0 unless it
 * took too long and was killed. It ends if the caller does. */
pid_t port_seek(int client, uint16_t port, uid_t uid, port_each_fn *each,
                void *arg, struct err *err);

#endif

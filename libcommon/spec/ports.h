/*
 * ports.h - ports of a job that have names: `jupyter=8888,board=6006`
 *
 * A name is a DNS label that begins with a letter, so that it is not taken for
 * a number; in a cluster it is also the name of a port of a Service.
 */
#ifndef LIBCOMMON_SPEC_PORTS_H
#define LIBCOMMON_SPEC_PORTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libcommon/buf.h"
#include "libcommon/err.h"

enum { PORTS_MAX = 8, PORT_NAME_MAX = 63 /* bytes */ };

/* A port within a text. */
struct port {
	const char *name; /* not terminated */
	size_t name_len;
	uint16_t number;
};

/* Get the port at *at, in a checked text, and move *at behind it. Returns false
 * at the end, or if *at is NULL. */
bool ports_next(const char **at, struct port *ret);

/* Check a list of ports: their syntax, that there are not too many, and that no
 * two have the same name or number. Fails with EINVAL. */
int ports_check(const char *ports, struct err *err);

/* Returns the number of the port with this name; 0: there is none. `ports` may
 * be NULL. */
uint16_t ports_find(const char *ports, const char *name);

/* Append the name of the Service that leads to the ports of a job. */
void ports_service(const char *cluster, uint64_t job, struct buf *out);

#endif

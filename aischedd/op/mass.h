/*
 * mass.h - requests that cancel, hold or change many jobs
 */
#ifndef AISCHEDD_OP_MASS_H
#define AISCHEDD_OP_MASS_H

#include "aischedd/daemon.h"

/* Continue the requests in progress: do a slice of each, in turn. */
void daemon_slice_masses(struct daemon *d);
void daemon_free_masses(struct daemon *d);

#endif

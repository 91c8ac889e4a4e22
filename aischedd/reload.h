/*
 * reload.h - read the configuration again
 */
#ifndef AISCHEDD_RELOAD_H
#define AISCHEDD_RELOAD_H

#include "aischedd/daemon.h"

/* Read the configuration again. Either all of it takes effect or, on failure,
 * nothing. Warnings are appended. */
int daemon_reload(struct daemon *d, struct buf *warnings, struct err *err);

#endif

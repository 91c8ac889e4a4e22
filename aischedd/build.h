/*
 * build.h - make the parts of the daemon, and free them
 */
#ifndef AISCHEDD_BUILD_H
#define AISCHEDD_BUILD_H

#include "aischedd/daemon.h"

/* Make the daemon with all its parts. Takes over *conf, but not on failure;
 * accept_loss as in store_open(). */
struct daemon *daemon_new(struct conf **conf, const char *conf_path,
                          bool accept_loss, struct err *err);
void daemon_free(struct daemon *d);

#endif

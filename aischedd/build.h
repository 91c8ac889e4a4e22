/*
 * build.h - make the parts of the daemon, and free them
 */
#ifndef AISCHEDD_BUILD_H
#define AISCHEDD_BUILD_H

#include "aischedd/daemon.h"

/* Takes the configuration; accept_loss as in store_open(). If it fails, *conf
 * is the caller's again. */
struct daemon *daemon_new(struct conf **conf, const char *conf_path,
                          bool accept_loss, struct err *err);
void daemon_free(struct daemon *d);

#endif

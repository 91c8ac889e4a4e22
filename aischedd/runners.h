/*
 * runners.h - effects to runners, events from runners
 */
#ifndef AISCHEDD_RUNNERS_H
#define AISCHEDD_RUNNERS_H

#include "aischedd/daemon.h"

/* Make a runner for each pool that has one. */
int daemon_new_runners(struct daemon *d, struct err *err);

/* Carry out one effect of the state; it may be repeated. */
void daemon_do_effect(struct daemon *d, const struct effect *e);

#endif

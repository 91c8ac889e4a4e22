/*
 * health.h - run the admin's program that checks this machine
 *
 * The loop never waits for the program. It is a child in a process group of its
 * own, and is killed when it is late. The next run begins only after the last
 * one has ended, so a program that cannot be killed is not started twice.
 */
#ifndef AISCHEDD_RUN_LOCAL_HEALTH_H
#define AISCHEDD_RUN_LOCAL_HEALTH_H

#include "libcommon/conf/conf.h"

struct event_base;
struct health;

/* why: what is wrong, borrowed for the call; NULL: the machine is well. */
typedef void health_fn(const char *why, void *arg);

/* Never calls fn before health_conf() returns; NULL is not returned. */
struct health *health_new(struct event_base *base, health_fn *fn, void *arg);

/*
 * Run this program from now on; the configuration is borrowed for the call.
 * Returns whether its first result is still to come: a new program is started
 * at once. Without a program the machine counts as well, and fn is not called.
 */
bool health_conf(struct health *health, const struct conf_health *conf);
void health_free(struct health *health); /* NULL is allowed */

#endif

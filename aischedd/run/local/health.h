/*
 * health.h - run the admin's program that checks this machine
 *
 * The daemon's loop never waits for the program, which runs as a child in a
 * process group of its own and is killed when its time is over. The next run
 * begins only after the last one has ended, so a program that cannot be killed
 * is not started twice.
 */
#ifndef AISCHEDD_RUN_LOCAL_HEALTH_H
#define AISCHEDD_RUN_LOCAL_HEALTH_H

#include "libcommon/conf/conf.h"

struct event_base;
struct health;

/* why: what is wrong, borrowed for the call; NULL: the machine is well. */
typedef void health_fn(const char *why, void *arg);

/* fn gets the results; it is not called before health_conf() has returned. Does
 * not fail. */
struct health *health_new(struct event_base *base, health_fn *fn, void *arg);

/*
 * Run the program of this configuration, borrowed for the call, from now on. A
 * new program is started at once; then returns true, and fn will get its first
 * result. If no program is configured, the machine counts as healthy, and fn is
 * not called.
 */
bool health_conf(struct health *health, const struct conf_health *conf);
void health_free(struct health *health); /* NULL is allowed */

#endif

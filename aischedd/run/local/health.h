/*
 * health.h - run the admin's program that checks this machine
 *
 * The daemon's loop never waits for the program. It runs as a child in a
 * process group of its own, and is killed when its time is over. The next run
 * begins only after the previous one has ended, so a program that cannot be
 * killed does not run twice.
 */
#ifndef AISCHEDD_RUN_LOCAL_HEALTH_H
#define AISCHEDD_RUN_LOCAL_HEALTH_H

#include "libcommon/conf/conf.h"

struct event_base;
struct health;

/* Gets a result of the program. why: what is wrong, borrowed for the call;
 * NULL: the machine is well. */
typedef void health_fn(const char *why, void *arg);

/* Make a checker whose results fn gets. fn is not called before health_conf()
 * has returned. Does not fail. */
struct health *health_new(struct event_base *base, health_fn *fn, void *arg);

/*
 * From now on, run the program that conf names; conf is borrowed for the call.
 * If the program differs from that of the last call, starts it at once and
 * returns true: fn will get its first result. If no program is configured, fn
 * is not called.
 */
bool health_conf(struct health *health, const struct conf_health *conf);
void health_free(struct health *health); /* NULL is allowed */

#endif

/*
 * nursery.h - send attempts to the nursery, the process that forks shepherds
 */
#ifndef AISCHEDD_RUN_LOCAL_NURSERY_H
#define AISCHEDD_RUN_LOCAL_NURSERY_H

#include "aischedd/run/local/local.h"

/* Start the nursery, and find the cgroups that can be used. Returns -1
 * on failure. */
int nursery_open(struct local *l, struct err *err);
void nursery_close(struct local *l);
/* Send child_fd and order_fd of the attempt to the nursery. Returns 1 on
 * success, 0 if the nursery's socket is full, -1 on failure. */
int nursery_send(struct local *l, const struct attempt *a, struct err *err);

#endif

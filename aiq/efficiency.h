/*
 * efficiency.h - compare what jobs used with what they held and requested
 */
#ifndef AIQ_EFFICIENCY_H
#define AIQ_EFFICIENCY_H

#include "aiq/aiq.h"

/* Check the options that go with --efficiency. Fails with EINVAL. */
int efficiency_check(const struct aiq *aiq, struct err *err);

/* Request the jobs and print their efficiency. Fails like client_call(), or if
 * a job that the command line names does not exist. */
int efficiency_print(const struct aiq *aiq, struct client *client,
                     struct err *err);

#endif

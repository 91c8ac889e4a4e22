/*
 * efficiency.h - compare what jobs used with what they held and asked for
 */
#ifndef AIQ_EFFICIENCY_H
#define AIQ_EFFICIENCY_H

#include "aiq/aiq.h"

/* Check --efficiency and its other options. Fails with EINVAL. */
int efficiency_check(const struct aiq *aiq, struct err *err);

/* Get the jobs and print them.  Fails as client_call(), or if a named job is
 * not known. */
int efficiency_print(const struct aiq *aiq, struct client *client,
                     struct err *err);

#endif

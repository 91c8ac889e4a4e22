/*
 * report.h - resource usage by user, queue, month ... as a table, CSV or JSON
 */
#ifndef AIQ_REPORT_H
#define AIQ_REPORT_H

#include "aiq/aiq.h"

/* Check --by, -o and --sort of a report.  Fails with EINVAL. */
int report_check(const struct aiq *aiq, struct err *err);

/* Request the report and print it. Fails like client_call(). */
int report_print(const struct aiq *aiq, struct client *client, struct err *err);

#endif

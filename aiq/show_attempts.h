/*
 * show_attempts.h - the earlier attempts of one job, a line for each
 */
#ifndef AIQ_SHOW_ATTEMPTS_H
#define AIQ_SHOW_ATTEMPTS_H

#include "aiq/show.h"

/*
 * Print when and where each ended attempt of the job ran, how it ended, and
 * which shares it used of what it held. Prints nothing for a job that has
 * started at most once, whose other lines tell all of this, and only the last
 * ten of a job with more. Requests the attempts from the daemon.
 */
int attempts_show(struct client *client, const json_t *job, struct err *err);

#endif

/*
 * replay.h - all that a simulation needs to repeat the past, as JSON lines
 *
 * The first line identifies the file, and the last one shows that it is
 * complete. Between them is a line for each node, each event of a node, each
 * job and each attempt. aisim reads such files.
 */
#ifndef AIQ_REPLAY_H
#define AIQ_REPLAY_H

#include "aiq/aiq.h"

/* Check the options that go with --replay. Fails with EINVAL. */
int replay_check(const struct aiq *aiq, struct err *err);

/* Write the file to out, and a warning about anything that it lacks
 * to stderr. */
int replay_print(const struct aiq *aiq, struct client *client, FILE *out,
                 struct err *err);

#endif

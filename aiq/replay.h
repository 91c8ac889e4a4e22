/*
 * replay.h - all that a simulation needs to repeat the past, as JSON lines
 *
 * The first line says what the file is, the last one that nothing is missing;
 * between them a line for each node, each thing that happened to nodes, each
 * job and each attempt. aisim reads it.
 */
#ifndef AIQ_REPLAY_H
#define AIQ_REPLAY_H

#include "aiq/aiq.h"

/* Check which options go with --replay. */
int replay_check(const struct aiq *aiq, struct err *err);

/* Write the lines to out, and what they lack, in words, to standard error. */
int replay_print(const struct aiq *aiq, struct client *client, FILE *out,
                 struct err *err);

#endif

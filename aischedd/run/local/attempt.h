/*
 * attempt.h - one attempt: messages from and to its shepherd, and its removal
 */
#ifndef AISCHEDD_RUN_LOCAL_ATTEMPT_H
#define AISCHEDD_RUN_LOCAL_ATTEMPT_H

#include "aischedd/run/local/local.h"

void local_name(char ret[48], uint64_t job, uint32_t attempt);
struct attempt *attempt_find(struct local *l, uint64_t job, uint32_t attempt);
struct attempt *attempt_new(struct local *l, uint64_t job, uint32_t attempt);
void attempt_free(struct attempt *a);
/* Exchange messages with the shepherd over the connection fd, until
 * attempt_hang_up() closes it. */
void attempt_connect(struct attempt *a, int fd);
void attempt_hang_up(struct attempt *a);
void attempt_send(struct attempt *a, json_t *msg);
/* Send msg to the shepherd or, if it is not connected, keep msg in *kept until
 * attempt_connect(). Takes over msg. */
void attempt_insist(struct attempt *a, json_t **kept, json_t *msg);
/* Put the attempt on the list of those that the next tick handles. */
void attempt_queue(struct attempt *a);
/* Fill in the event's job and attempt, and pass the event to the daemon. If
 * recover() waits for an answer about this attempt, the event is the answer. */
void attempt_tell(struct attempt *a, struct run_event *ev);
/* Note that the daemon has been told the last event of the attempt. Removes the
 * attempt if the daemon has called forget(), or did not know the attempt. */
void attempt_done(struct attempt *a);
/* Remove some of the attempt's files. Call this again until it returns true:
 * then all files are removed and the attempt is freed. */
bool attempt_remove(struct attempt *a);

#endif

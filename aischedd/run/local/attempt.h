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
/* Begin or stop talking over fd. */
void attempt_connect(struct attempt *a, int fd);
void attempt_hang_up(struct attempt *a);
void attempt_send(struct attempt *a, json_t *msg);
/* Send msg, or keep it in *kept until its shepherd is found again. */
void attempt_insist(struct attempt *a, json_t **kept, json_t *msg);
/* Handle it at the next tick. */
void attempt_queue(struct attempt *a);
/* Fill in job and attempt, and deliver the event; counts the answers of
 * recover(). */
void attempt_tell(struct attempt *a, struct run_event *ev);
/* Note that the last event of the attempt was told; remove the attempt if it is
 * stray or forgotten. */
void attempt_done(struct attempt *a);
/* Do one step of the removal. Returns true once the attempt is freed. */
bool attempt_remove(struct attempt *a);

#endif

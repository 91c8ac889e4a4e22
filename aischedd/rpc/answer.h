/*
 * answer.h - send the frames of answers
 */
#ifndef AISCHEDD_RPC_ANSWER_H
#define AISCHEDD_RPC_ANSWER_H

#include "aischedd/rpc/conn.h"

void answer_drained(struct conn *conn); /* continue the next answer if
                                           little is left to send */
void answer_free(struct ask *ask);      /* free the frames of the answer */
/* returns the refusal as JSON; the caller frees it */
char *answer_refusal(const struct err *err);

#endif

/*
 * overdue.h - end attempts whose shepherd does not end them
 *
 * A shepherd may hang: somebody has stopped it, or a system call waits for a
 * server or a peer that never answers. Then neither a stop nor a time limit
 * reaches the job, and a daemon that was restarted waits for the shepherd's
 * answer. These functions act when a shepherd has been silent for deaf_ms
 * (struct local).
 */
#ifndef AISCHEDD_RUN_LOCAL_OVERDUE_H
#define AISCHEDD_RUN_LOCAL_OVERDUE_H

#include "aischedd/run/local/local.h"

#define OVERDUE_DEAF_MS 15000

/*
 * The shepherd was told to end the attempt within `grace` seconds. If the
 * attempt still runs deaf_ms after that, and the shepherd has not read its
 * messages, kill the shepherd and all processes of the job; the daemon then
 * gets RUN_LOST. A shepherd that reads its messages may take any time:
 * processes of its job may be unable to die.
 */
void overdue_watch(struct attempt *a, int64_t grace);
/* The shepherd was sent a message after which the daemon frees or uses other
 * CPUs. If the shepherd does not read it within deaf_ms, kill the shepherd and
 * all processes of the job, as overdue_watch() does. */
void overdue_must_read(struct attempt *a);
/* Call this before each message is sent to the shepherd. */
void overdue_sends(struct attempt *a);
/* If the shepherd does not answer recover() within deaf_ms, answer in
 * its place. */
void overdue_await(struct attempt *a);
void overdue_free(struct attempt *a);

#endif

/*
 * mailer.h - send the mails of the outbox
 *
 * A mail is given to the command of `mail` as its standard input, two at a
 * time, and is removed from the outbox once the command has taken it. A daemon
 * that is killed before that sends it again, with the same Message-ID. A
 * command that fails or hangs is tried again for a day, at growing intervals.
 */
#ifndef AISCHEDD_MAILER_H
#define AISCHEDD_MAILER_H

#include <stdint.h>

struct daemon;
struct mailer;

/* Counts since the daemon started. */
struct mailer_counts {
	uint64_t sent;   /* mails; a digest is one */
	uint64_t failed; /* runs of the command that did not send their mail */
	/* mails given up after a day, and mails that did not fit into
	 * the outbox */
	uint64_t dropped;
};

struct mailer *mailer_new(struct daemon *d);
void mailer_free(struct mailer *m); /* NULL is allowed */

/* Send the new mails of the outbox. Call it after commits. */
void mailer_check(struct mailer *m);

struct mailer_counts mailer_counts(const struct mailer *m);

/* Look at the outbox soon, as the configuration has changed. */
void mailer_wake(struct mailer *m);

#endif

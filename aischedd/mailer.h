/*
 * mailer.h - send the mails of the outbox
 *
 * For each mail the configured mail command is run, with the mail as its
 * standard input; at most two commands run at a time. A mail is removed from
 * the outbox after its command has succeeded. If the daemon is killed before
 * that, the next one sends the mail again, with the same Message-ID. If the
 * command fails or hangs, it is run again for a day, at growing intervals.
 */
#ifndef AISCHEDD_MAILER_H
#define AISCHEDD_MAILER_H

#include <stdint.h>

struct daemon;
struct mailer;

/* Counts since the daemon started. */
struct mailer_counts {
	uint64_t sent;   /* mails; a digest counts as one */
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

/* Look at the outbox soon. Call it after the configuration has changed. */
void mailer_wake(struct mailer *m);

#endif

/*
 * letter.h - mails about jobs and cron entries
 *
 * A mail is made and committed together with the change that it reports; the
 * daemon sends it afterwards. Without a command that sends mail none is made.
 * An array has one mail when its first task starts and one at its end, unless
 * its user wants those of each task.
 */
#ifndef AISCHEDD_STATE_LIFE_LETTER_H
#define AISCHEDD_STATE_LIFE_LETTER_H

#include <stdint.h>

#include "libcommon/err.h"
#include "libcommon/spec/spec.h"

struct array;
struct cron_entry;
struct job;
struct state;
struct unwritten;

/* Owns its texts. */
struct letter {
	int64_t made; /* unix seconds */
	uint32_t uid;
	char *to;      /* a checked address */
	char *event;   /* "12.1.END": no other letter has the same */
	char *subject; /* one line */
	char *body;
};

/* Write the letter of a job that runs. first: no task of its array has run
 * before. */
void letter_began(struct state *state, const struct job *job, bool first,
                  int64_t now);

/* Write the letter of a job that has ended. */
void letter_ended(struct state *state, const struct job *job, int64_t now);

/* Write the letter of an array whose tasks have all ended, this one the
 * last. */
void letter_array_ended(struct state *state, const struct array *array,
                        const struct job *last, int64_t now);

/* Write the mail about an attempt that has ended while its job is requeued. */
void letter_requeued(struct state *state, const struct job *job, int64_t now);

/* Write the letter of a dependency that can no longer be met; once. */
void letter_invalid(struct state *state, struct job *job, int64_t now);

/* Report once for each attempt that the GPUs of a running job are idle. */
void letter_idle(struct state *state, struct job *job, int64_t now);

/* Write the letter about one or several times of a cron entry that had no run;
 * the entry says why. */
void letter_cron_skipped(struct state *state, const struct cron_entry *entry,
                         int64_t now);

/* Report which part of a running job's time limit is over, and set alarms for
 * the next ones; limit_at: when all of it is over. */
void letter_limit(struct state *state, struct job *job, int64_t limit_at,
                  int64_t now);
void letter_arm(struct state *state, const struct job *job, int64_t limit_at);

/* Check that mails may go to the job's address; user: its owner. */
int letter_check(const struct state *state, const struct spec *spec,
                 const char *user, struct err *err);

/* Forget the letters, which the store has written. */
void letters_forget(struct unwritten *unwritten);

#endif

/*
 * letter.h - mails about jobs and cron entries
 *
 * A mail is made and committed together with the change that it reports; the
 * daemon sends it afterwards. If the configuration has no command that sends
 * mail, no mail is made. For an array there is one mail when its first task
 * starts and one when its last task ends, unless the user asked for mails about
 * each task. The functions below make a mail only if the user asked for mails
 * of that type.
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

/* A mail; it owns its texts. */
struct letter {
	int64_t made; /* unix seconds */
	uint32_t uid;
	char *to; /* the address, already checked */
	/* unique name of the event, such as "12.1.END.1700000000" */
	char *event;
	char *subject; /* one line */
	char *body;
};

/* Make the mail about the start of a job. first: the job is the first task of
 * its array that runs. */
void letter_began(struct state *state, const struct job *job, bool first,
                  int64_t now);

/* Make the mail about the end of a job. */
void letter_ended(struct state *state, const struct job *job, int64_t now);

/* Make the mail about the end of an array. last: the task that ended last. */
void letter_array_ended(struct state *state, const struct array *array,
                        const struct job *last, int64_t now);

/* Make the mail about a job that is requeued after its attempt has ended. */
void letter_requeued(struct state *state, const struct job *job, int64_t now);

/* Make the mail about a dependency that can no longer be met, once for each
 * job. */
void letter_invalid(struct state *state, struct job *job, int64_t now);

/* Make the mail about idle GPUs of a running job, once for each attempt. */
void letter_idle(struct state *state, struct job *job, int64_t now);

/* Make the mail about times of a cron entry that had no run; entry->reason says
 * why. */
void letter_cron_skipped(struct state *state, const struct cron_entry *entry,
                         int64_t now);

/* letter_limit() makes the mail that a running job has used 50, 80, 90 or 100 %
 * of its time limit; letter_arm() sets the alarms at which it is called.
 * limit_at: the time at which the limit ends. */
void letter_limit(struct state *state, struct job *job, int64_t limit_at,
                  int64_t now);
void letter_arm(struct state *state, const struct job *job, int64_t limit_at);

/* Check that the configuration allows mails to the domain of the address that
 * the request names. user: the job's owner, to whose name mails go if the
 * request has no address. Fails with EACCES. */
int letter_check(const struct state *state, const struct spec *spec,
                 const char *user, struct err *err);

/* Free the letters, after the store has written them. */
void letters_forget(struct unwritten *unwritten);

#endif

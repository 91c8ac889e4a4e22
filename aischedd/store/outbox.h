/*
 * outbox.h - mails that have yet to be sent
 *
 * A mail is written in the commit of the change that it reports, and removed
 * after it was sent. Mails beyond a user's budget for an hour are held, and
 * sent later as one mail.
 */
#ifndef AISCHEDD_STORE_OUTBOX_H
#define AISCHEDD_STORE_OUTBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libcommon/err.h"

struct changes;
struct state;
struct store;

struct outbox_letter {
	int64_t id, made, tries;
	uint32_t uid;
	bool held;
	char *to, *event, *subject, *body;
};
void outbox_letter_fini(struct outbox_letter *letter);

/* Get the mail that has been due for longest. Mails to the two recipients in
 * `busy` are passed over; either may be NULL. Returns 1, 0 if no mail is due,
 * or -1 on failure. */
int outbox_first(struct store *store, int64_t now, const char *const busy[2],
                 struct outbox_letter *ret, struct err *err);

/* Returns the time at which the next mail is due (perhaps in the past), or
 * INT64_MAX if there is no mail. */
int64_t outbox_next(struct store *store);

/* Call fn with each held mail to the recipient of `letter`, oldest first, at
 * most `most` of them. letter->id becomes the id of the last one listed. */
typedef void outbox_fn(int64_t made, const char *subject, void *arg);
int outbox_held(struct store *store, struct outbox_letter *letter, size_t most,
                outbox_fn *fn, void *arg, struct err *err);

/* Hold all letters of this user that are due before `until`, and make them due
 * at `until`. */
int outbox_hold(struct store *store, uint32_t uid, int64_t until,
                struct err *err);

/* outbox_sent() removes a letter that was sent; outbox_retry() makes a letter
 * due again at `due`, because it could not be sent. If the letter is held, both
 * do the same to all earlier held letters to the same recipient. */
int outbox_sent(struct store *store, const struct outbox_letter *letter,
                struct err *err);
int outbox_retry(struct store *store, const struct outbox_letter *letter,
                 int64_t due, struct err *err);

/* Returns the number of mails, or -1 if the database cannot be read. */
int64_t outbox_size(struct store *store);

/* outbox_has_news(): whether letters were added since the last call.
 * outbox_lost(): how many letters were dropped because the outbox was full,
 * since the daemon was started. */
bool outbox_has_news(struct store *store);
uint64_t outbox_lost(const struct store *store);

/* --- called by commits ------------------------------------------------- */

int outbox_put(struct store *store, const struct state *state,
               const struct changes *changes, struct err *err);

#endif

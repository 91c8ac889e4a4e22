/*
 * outbox.h - mails that have yet to be sent
 *
 * A mail is written in the commit of the change that it reports, and removed
 * once it was sent. Mails beyond a user's budget for an hour are held, and sent
 * later as one mail.
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

/* Find the first mail that is due, not addressed to either of these two (or
 * NULL). Returns 1, 0 if there is none, or -1. */
int outbox_first(struct store *store, int64_t now, const char *const busy[2],
                 struct outbox_letter *ret, struct err *err);

/* Returns when the next mail is due, or INT64_MAX if there is none. */
int64_t outbox_next(struct store *store);

/* Call fn with the held mails to the recipient of this letter, at most `most`
 * of them. letter->id becomes that of the last one. */
typedef void outbox_fn(int64_t made, const char *subject, void *arg);
int outbox_held(struct store *store, struct outbox_letter *letter, size_t most,
                outbox_fn *fn, void *arg, struct err *err);

/* Hold all letters of this user until `until`. */
int outbox_hold(struct store *store, uint32_t uid, int64_t until,
                struct err *err);

/* Remove a letter that was sent, or have it tried again at `due`. If the letter
 * is held, the same is done to all earlier ones to the same recipient. */
int outbox_sent(struct store *store, const struct outbox_letter *letter,
                struct err *err);
int outbox_retry(struct store *store, const struct outbox_letter *letter,
                 int64_t due, struct err *err);

/* Returns the number of mails, or -1 if the database cannot be read. */
int64_t outbox_size(struct store *store);

/* Whether letters were committed since the last call; and how many were dropped
 * for lack of room, in all. */
bool outbox_has_news(struct store *store);
uint64_t outbox_lost(const struct store *store);

/* --- called by commits ------------------------------------------------- */

int outbox_put(struct store *store, const struct state *state,
               const struct changes *changes, struct err *err);

#endif

/* outbox.c - mails that have yet to be sent */
#include "aischedd/store/outbox.h"

#include <stdlib.h>

#include "aischedd/state/life/letter.h"
#include "aischedd/store/own.h"
#include "libcommon/mem.h"

enum { USER_PART = 4 }; /* a user may fill a quarter of the outbox */

static int count(struct store *store, struct err *err)
{
	if (store->outbox_known)
		return 0;
	if (db_get_i64(&store->db, store->db.text[COUNT_LETTERS],
	               &store->letters, err) < 0)
		return -1;
	store->outbox_known = true;
	return 0;
}

static int put_letter(struct store *store, const struct letter *letter,
                      struct err *err)
{
	struct stmt s = db_use(&store->db, PUT_LETTER);

	db_i64(&s, 1, letter->made);
	db_i64(&s, 2, letter->uid);
	db_text(&s, 3, letter->to);
	db_text(&s, 4, letter->event);
	db_text(&s, 5, letter->subject);
	db_text(&s, 6, letter->body);
	return db_run(&store->db, &s, err);
}

/* The number of one user's letters in the outbox. It is kept only for the last
 * user, as letters of the same user often follow each other. */
struct user_letters {
	uint32_t uid;
	int64_t n; /* -1: not counted yet */
};

static int count_user(struct store *store, uint32_t uid, struct user_letters *u,
                      struct err *err)
{
	struct stmt s = db_use(&store->db, COUNT_USER_LETTERS);

	if (u->n >= 0 && u->uid == uid)
		return 0;
	db_i64(&s, 1, uid);
	if (db_step(&store->db, &s, err) < 1)
		return -1;
	*u = (struct user_letters){ uid, db_col_i64(&s, 0, 0) };
	sqlite3_reset(s.s);
	return 0;
}

/* Whether the outbox has space for another letter of this user. most: how many
 * letters the outbox may hold; each user may fill a quarter of it. */
static bool has_room(const struct store *store, const struct user_letters *u,
                     int64_t most)
{
	return store->letters < most &&
	       u->n < (most + USER_PART - 1) / USER_PART;
}

int outbox_put(struct store *store, const struct state *state,
               const struct changes *changes, struct err *err)
{
	int64_t most = state_conf(state)->mail.queue;
	struct user_letters user = { .n = -1 };

	if (!changes->nletters)
		return 0;
	if (count(store, err) < 0)
		return -1;
	for (size_t i = 0; i < changes->nletters; i++) {
		const struct letter *letter = &changes->letter[i];

		if (count_user(store, letter->uid, &user, err) < 0)
			return -1;
		if (!has_room(store, &user, most)) {
			store->letters_lost++;
			continue;
		}
		if (put_letter(store, letter, err) < 0)
			return -1;
		store->letters++;
		user.n++;
	}
	store->outbox_news = true;
	return 0;
}

int64_t outbox_size(struct store *store)
{
	return count(store, NULL) < 0 ? -1 : store->letters;
}

bool outbox_has_news(struct store *store)
{
	bool news = store->outbox_news;

	store->outbox_news = false;
	return news;
}

uint64_t outbox_lost(const struct store *store)
{
	return store->letters_lost;
}

/* --- reading ------------------------------------------------------------ */

void outbox_letter_fini(struct outbox_letter *letter)
{
	free(letter->to);
	free(letter->event);
	free(letter->subject);
	free(letter->body);
	*letter = (struct outbox_letter){ 0 };
}

static char *copy(const struct stmt *s, int column)
{
	const char *text = db_col_text(s, column);

	return xstrdup(text ? text : "");
}

int outbox_first(struct store *store, int64_t now, const char *const busy[2],
                 struct outbox_letter *ret, struct err *err)
{
	struct stmt s = db_use(&store->db, DUE_LETTERS);
	int more;

	db_i64(&s, 1, now);
	db_text(&s, 2, busy[0] ? busy[0] : "");
	db_text(&s, 3, busy[1] ? busy[1] : "");
	more = db_step(&store->db, &s, err);
	if (more < 1)
		return more;
	*ret = (struct outbox_letter){
		.id = db_col_i64(&s, 0, 0),
		.made = db_col_i64(&s, 1, 0),
		.tries = db_col_i64(&s, 2, 0),
		.held = db_col_i64(&s, 3, 0) != 0,
		.uid = (uint32_t)db_col_i64(&s, 4, 0),
		.to = copy(&s, 5),
		.event = copy(&s, 6),
		.subject = copy(&s, 7),
		.body = copy(&s, 8),
	};
	sqlite3_reset(s.s);
	return 1;
}

int64_t outbox_next(struct store *store)
{
	struct stmt s = db_use(&store->db, WHEN_LETTERS);
	int64_t at = INT64_MAX;

	if (db_step(&store->db, &s, NULL) > 0) {
		at = db_col_i64(&s, 0, INT64_MAX);
		sqlite3_reset(s.s);
	}
	return at;
}

int outbox_held(struct store *store, struct outbox_letter *letter, size_t most,
                outbox_fn *fn, void *arg, struct err *err)
{
	struct stmt s = db_use(&store->db, GET_LETTERS);
	int more;

	db_i64(&s, 1, letter->uid);
	db_text(&s, 2, letter->to);
	db_i64(&s, 3, (int64_t)most);
	while ((more = db_step(&store->db, &s, err)) > 0) {
		const char *subject = db_col_text(&s, 2);

		letter->id = db_col_i64(&s, 0, 0);
		fn(db_col_i64(&s, 1, 0), subject ? subject : "", arg);
	}
	return more;
}

/* --- holding, removing and retrying -------------------------------------- */

int outbox_hold(struct store *store, uint32_t uid, int64_t until,
                struct err *err)
{
	struct stmt s = db_use(&store->db, HOLD_LETTERS);

	db_i64(&s, 1, uid);
	db_i64(&s, 2, until);
	return db_run(&store->db, &s, err);
}

static void bind_set(struct stmt *s, const struct outbox_letter *letter)
{
	db_i64(s, 1, letter->uid);
	db_text(s, 2, letter->to);
	db_i64(s, 3, letter->id);
	db_i64(s, 4, letter->held);
}

int outbox_sent(struct store *store, const struct outbox_letter *letter,
                struct err *err)
{
	struct stmt s = db_use(&store->db, DEL_LETTERS);

	bind_set(&s, letter);
	if (db_run(&store->db, &s, err) < 0)
		return -1;
	store->letters -= sqlite3_changes64(store->db.sql);
	return 0;
}

int outbox_retry(struct store *store, const struct outbox_letter *letter,
                 int64_t due, struct err *err)
{
	struct stmt s = db_use(&store->db, RETRY_LETTERS);

	bind_set(&s, letter);
	db_i64(&s, 5, due);
	return db_run(&store->db, &s, err);
}

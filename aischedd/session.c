/* session.c - who has logged in to the page */
#include "aischedd/session.h"

#include <sha2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/random.h>

#include "aischedd/rpc/ident.h"
#include "libcommon/mem.h"
#include "libcommon/steps.h"

struct session {
	TAILQ_ENTRY(session) next;
	unsigned char hash[SHA256_DIGEST_LENGTH];
	struct peer *peer;
	int64_t began_ms, until_ms;
};

TAILQ_HEAD(session_list_head, session);

/* Lists that begin with the oldest entry. Each entry has a hash: in `links` of
 * the token, in `open` (the sessions) of the cookie, in `named` (users that the
 * proxy named) of the name. */
struct sessions {
	struct session_list_head links, open, named;
};

struct sessions *sessions_new(void)
{
	struct sessions *s = xcalloc(1, sizeof(*s));

	TAILQ_INIT(&s->links);
	TAILQ_INIT(&s->open);
	TAILQ_INIT(&s->named);
	return s;
}

static void drop(struct session_list_head *list, struct session *one)
{
	TAILQ_REMOVE(list, one, next);
	free(one->peer);
	free(one);
}

void sessions_free(struct sessions *s)
{
	if (!s)
		return;
	while (!TAILQ_EMPTY(&s->links))
		drop(&s->links, TAILQ_FIRST(&s->links));
	while (!TAILQ_EMPTY(&s->open))
		drop(&s->open, TAILQ_FIRST(&s->open));
	while (!TAILQ_EMPTY(&s->named))
		drop(&s->named, TAILQ_FIRST(&s->named));
	free(s);
}

static void drop_old(struct session_list_head *list, int64_t now_ms)
{
	struct session *one, *next;

	for (one = TAILQ_FIRST(list); one; one = next) {
		next = TAILQ_NEXT(one, next);
		steps_add(1);
		if (one->until_ms <= now_ms)
			drop(list, one);
	}
}

/* If the user has SESSIONS_USER entries in the list, drop the oldest of these.
 * Otherwise, if the list has SESSIONS_MAX entries of all users, drop its
 * oldest entry. */
static void make_room(struct session_list_head *list, uid_t uid)
{
	struct session *one, *oldest = NULL;
	size_t n = 0, all = 0;

	TAILQ_FOREACH(one, list, next) {
		all++;
		if (one->peer->uid != uid)
			continue;
		n++;
		if (!oldest)
			oldest = one;
	}
	if (n >= SESSIONS_USER)
		drop(list, oldest);
	else if (all >= SESSIONS_MAX)
		drop(list, TAILQ_FIRST(list));
}

static void hash_of(const char *text, size_t len,
                    unsigned char ret[SHA256_DIGEST_LENGTH])
{
	SHA2_CTX sha;

	SHA256Init(&sha);
	SHA256Update(&sha, (const uint8_t *)text, len);
	SHA256Final(ret, &sha);
}

static void make_secret(char ret[SESSION_TEXT + 1])
{
	static const char digit[] = "0123456789abcdef";
	unsigned char bytes[SESSION_TEXT / 2];

	/* getrandom() returns 32 bytes completely or not at all. */
	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		abort();
	for (size_t i = 0; i < sizeof(bytes); i++) {
		ret[2 * i] = digit[bytes[i] >> 4];
		ret[2 * i + 1] = digit[bytes[i] & 15];
	}
	ret[SESSION_TEXT] = '\0';
}

static void add(struct session_list_head *list, struct peer *peer,
                int64_t now_ms, int64_t life_ms, const char *text)
{
	struct session *one = xcalloc(1, sizeof(*one));

	drop_old(list, now_ms);
	make_room(list, peer->uid);
	hash_of(text, strlen(text), one->hash);
	one->peer = peer;
	one->began_ms = now_ms;
	one->until_ms = now_ms + life_ms;
	TAILQ_INSERT_TAIL(list, one, next);
}

/* Returns the entry of the list for this token or cookie, or NULL if there is
 * none or it has expired. Hashes are compared, so that the time taken tells
 * nothing about the text. */
static struct session *find(struct session_list_head *list, const char *text,
                            size_t len, int64_t now_ms)
{
	unsigned char hash[SHA256_DIGEST_LENGTH];
	struct session *one;

	hash_of(text, len, hash);
	TAILQ_FOREACH(one, list, next) {
		steps_add(1);
		if (!memcmp(one->hash, hash, sizeof(hash)))
			return one->until_ms > now_ms ? one : NULL;
	}
	return NULL;
}

void session_link(struct sessions *s, const struct peer *peer, int64_t now_ms,
                  char ret[SESSION_TEXT + 1])
{
	make_secret(ret);
	add(&s->links, ident_copy(peer), now_ms, LINK_MS, ret);
}

const struct peer *session_begin(struct sessions *s, const char *token,
                                 int64_t now_ms, int64_t life_ms,
                                 char ret[SESSION_TEXT + 1])
{
	struct session *link = find(&s->links, token, strlen(token), now_ms);
	struct peer *peer;

	if (!link)
		return NULL;
	peer = link->peer;
	link->peer = NULL;
	drop(&s->links, link);
	make_secret(ret);
	add(&s->open, peer, now_ms, life_ms, ret);
	return peer;
}

static size_t end_of(struct session_list_head *list, uid_t uid)
{
	struct session *one, *next;
	size_t n = 0;

	for (one = TAILQ_FIRST(list); one; one = next) {
		next = TAILQ_NEXT(one, next);
		if (one->peer->uid != uid)
			continue;
		drop(list, one);
		n++;
	}
	return n;
}

void session_name(struct sessions *s, struct peer *peer, int64_t now_ms)
{
	end_of(&s->named, peer->uid);
	add(&s->named, peer, now_ms, NAMED_MS, peer->user);
}

struct peer *session_find(struct sessions *s, const char *cookie, size_t len,
                          int64_t now_ms)
{
	struct session *one = len && *cookie == '='
	                          ? find(&s->named, cookie + 1, len - 1, now_ms)
	                          : find(&s->open, cookie, len, now_ms);

	return one ? ident_copy(one->peer) : NULL;
}

struct peer *session_copy(const struct peer *peer)
{
	return ident_copy(peer);
}

void session_end(struct sessions *s, const char *cookie)
{
	struct session *one = find(&s->open, cookie, strlen(cookie), INT64_MIN);

	if (one)
		drop(&s->open, one);
}

size_t session_end_all(struct sessions *s, uid_t uid)
{
	end_of(&s->links, uid);
	return end_of(&s->open, uid);
}

size_t session_count(struct sessions *s, uid_t uid, int64_t now_ms)
{
	const struct session *one;
	size_t n = 0;

	drop_old(&s->open, now_ms);
	TAILQ_FOREACH(one, &s->open, next)
		n += uid == (uid_t)-1 || one->peer->uid == uid;
	return n;
}

json_t *session_list(struct sessions *s, uid_t uid, int64_t now_ms,
                     int64_t wall_s)
{
	json_t *list = json_array();
	const struct session *one;

	drop_old(&s->open, now_ms);
	TAILQ_FOREACH(one, &s->open, next)
		if (one->peer->uid == uid)
			json_array_append_new(
			    list,
			    json_pack(
				"{s:I, s:I}", "began",
				(json_int_t)(wall_s +
			                     (one->began_ms - now_ms) / 1000),
				"until",
				(json_int_t)(wall_s +
			                     (one->until_ms - now_ms) / 1000)));
	return list;
}

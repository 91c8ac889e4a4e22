/* test_session.c - log-in links and sessions, and when they expire */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aischedd/rpc/ident.h"
#include "aischedd/session.h"
#include "tests/unit/check.h"

enum { DAY = 86400000, NOW = 1000 };

static struct sessions *sessions;
static char token[SESSION_TEXT + 1], cookie[SESSION_TEXT + 1];
static const struct peer alice = { .known = true, .uid = 1, .user = "alice" };
static const struct peer bob = { .known = true, .uid = 2, .user = "bob" };

static void set_up(void)
{
	sessions = sessions_new();
}

static void tear_down(void)
{
	sessions_free(sessions);
}

static const struct peer *begin(const char *with, int64_t now)
{
	return session_begin(sessions, with, now, DAY, cookie);
}

/* Returns the uid of the session with this text, or 0 if there is none. */
static uid_t uid_at(const char *with, int64_t now)
{
	struct peer *peer = session_find(sessions, with, strlen(with), now);
	uid_t uid = peer ? peer->uid : 0;

	free(peer);
	return uid;
}

START_TEST(link_holds_for_a_minute)
{
	session_link(sessions, &alice, NOW, token);
	ck_assert_ptr_nonnull(begin(token, NOW + 59999));
	session_link(sessions, &alice, NOW, token);
	ck_assert_ptr_null(begin(token, NOW + 60000));
}
END_TEST

START_TEST(link_works_once)
{
	session_link(sessions, &alice, NOW, token);
	ck_assert_uint_eq(begin(token, NOW)->uid, 1);
	ck_assert_ptr_null(begin(token, NOW));
	ck_assert_uint_eq(uid_at(cookie, NOW), 1);
}
END_TEST

START_TEST(link_is_no_cookie_and_cookie_no_link)
{
	session_link(sessions, &alice, NOW, token);
	ck_assert_uint_eq(uid_at(token, NOW), 0);
	begin(token, NOW);
	ck_assert_uint_eq(uid_at(token, NOW), 0);
	ck_assert_ptr_null(begin(cookie, NOW));
	cookie[SESSION_TEXT - 1] ^= 1;
	ck_assert_uint_eq(uid_at(cookie, NOW), 0);
}
END_TEST

START_TEST(session_ends)
{
	session_link(sessions, &alice, NOW, token);
	begin(token, NOW);
	ck_assert_uint_eq(uid_at(cookie, NOW + DAY - 1), 1);
	ck_assert_uint_eq(uid_at(cookie, NOW + DAY), 0);
}
END_TEST

/* A user who opens too many sessions loses the oldest; other users lose
 * none. */
START_TEST(oldest_of_the_same_user_goes)
{
	char first[SESSION_TEXT + 1], of_bob[SESSION_TEXT + 1];

	session_link(sessions, &bob, NOW, token);
	begin(token, NOW);
	memcpy(of_bob, cookie, sizeof(of_bob));
	for (int i = 0; i <= SESSIONS_USER; i++) {
		session_link(sessions, &alice, NOW, token);
		begin(token, NOW);
		if (i == 0)
			memcpy(first, cookie, sizeof(first));
	}
	ck_assert_uint_eq(uid_at(first, NOW), 0);
	ck_assert_uint_eq(uid_at(cookie, NOW), 1);
	ck_assert_uint_eq(uid_at(of_bob, NOW), 2);
	ck_assert_uint_eq(session_count(sessions, 1, NOW), SESSIONS_USER);
	ck_assert_uint_eq(session_end_all(sessions, 1), SESSIONS_USER);
	ck_assert_uint_eq(uid_at(of_bob, NOW), 2);
}
END_TEST

static void name(const struct peer *peer, int64_t now)
{
	session_name(sessions, ident_copy(peer), now);
}

START_TEST(name_of_the_proxy_holds_for_five_minutes)
{
	ck_assert_uint_eq(uid_at("=alice", NOW), 0);
	name(&alice, NOW);
	name(&bob, NOW);
	ck_assert_uint_eq(uid_at("=alice", NOW + NAMED_MS - 1), 1);
	ck_assert_uint_eq(uid_at("=bob", NOW), 2);
	ck_assert_uint_eq(uid_at("alice", NOW), 0);
	ck_assert_uint_eq(uid_at("=alic", NOW), 0);
	ck_assert_uint_eq(uid_at("=", NOW), 0);
	ck_assert_uint_eq(uid_at("=alice", NOW + NAMED_MS), 0);
	name(&alice, NOW + NAMED_MS);
	ck_assert_uint_eq(uid_at("=alice", NOW + NAMED_MS), 1);
}
END_TEST

START_TEST(names_of_the_proxy_are_bounded_and_end_no_session)
{
	char text[16];
	struct peer peer = { .known = true, .user = text };

	session_link(sessions, &alice, NOW, token);
	begin(token, NOW);
	name(&alice, NOW);
	for (int i = 0; i < SESSIONS_MAX; i++) {
		snprintf(text, sizeof(text), "u%d", i);
		peer.uid = (uid_t)(1000 + i);
		name(&peer, NOW);
		name(&peer, NOW);
	}
	ck_assert_uint_eq(uid_at("=alice", NOW), 0);
	ck_assert_uint_eq(uid_at("=u0", NOW), 1000);
	ck_assert_uint_eq(uid_at("=u999", NOW), 1999);
	ck_assert_uint_eq(uid_at(cookie, NOW), 1);
	ck_assert_uint_eq(session_count(sessions, 1, NOW), 1);
}
END_TEST

SUITE(session)
{
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, link_holds_for_a_minute);
	tcase_add_test(tc, link_works_once);
	tcase_add_test(tc, link_is_no_cookie_and_cookie_no_link);
	tcase_add_test(tc, session_ends);
	tcase_add_test(tc, oldest_of_the_same_user_goes);
	tcase_add_test(tc, name_of_the_proxy_holds_for_five_minutes);
	tcase_add_test(tc, names_of_the_proxy_are_bounded_and_end_no_session);
}

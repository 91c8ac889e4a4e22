/* test_link.c - requests of many visitors over one connection to the daemon */
#include <event2/event.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "aischedd/rpc/rpc.h"
#include "libcommon/mem.h"
#include "libcommon/wire.h"
#include "tests/unit/check.h"
#include "web/link.h"

enum { HELD_MAX = 512, PIECE = 100000 };

/* Both ends of the connection run on one event loop. The daemon's end keeps
 * each "wait" until the test answers it, answers "jobs" in pieces and "ping" at
 * once. */
static struct event_base *base;
static struct rpc *rpc;
static struct web_link *web;
static struct ask *held[HELD_MAX];
static int nheld;
static bool gone;

static struct long_listing {
	int64_t left, n;
} listing[4];
static int nlistings;

static void list_more(struct ask *ask, void *arg)
{
	static char piece[PIECE];
	struct long_listing *l = arg;
	size_t n = l->left < PIECE ? (size_t)l->left : PIECE;

	for (size_t i = 0; i < n; i++)
		piece[i] = (char)(l->n++ % 251);
	l->left -= (int64_t)n;
	rpc_part(ask, piece, n);
	if (l->left)
		rpc_when_drained(ask, list_more, l);
	else
		rpc_reply(ask, json_object());
}

static void handle(struct ask *ask, const struct request_in *in, void *arg)
{
	struct long_listing *l = &listing[nlistings];

	(void)arg;
	ck_assert(in->from_web);
	if (in->op == OP_wait) {
		held[nheld++] = ask;
	} else if (in->op == OP_jobs) {
		nlistings++;
		l->left =
		    json_integer_value(json_object_get(in->body, "bytes"));
		list_more(ask, l);
	} else {
		rpc_reply(ask, json_object());
	}
}

static void forget(struct ask *ask, void *arg)
{
	(void)ask;
	(void)arg;
}

static bool is_admin(const struct peer *peer, void *arg)
{
	(void)peer;
	(void)arg;
	return false;
}

static struct peer *find_session(const char *cookie, size_t len, void *arg)
{
	struct peer *peer = xcalloc(1, sizeof(*peer));

	(void)cookie;
	(void)len;
	(void)arg;
	peer->known = true;
	peer->user = "alice";
	return peer;
}

static void on_gone(void)
{
	gone = true;
}

static void set_up(void)
{
	const struct rpc_calls calls = { .handler = handle,
		                         .gone = forget,
		                         .is_admin = is_admin,
		                         .session = find_session };
	const struct conf conf = { .cluster = "demo",
		                   .munge_socket = "/nonexistent" };
	struct err err;
	int pair[2];

	nheld = nlistings = 0;
	memset(listing, 0, sizeof(listing));
	gone = false;
	base = event_base_new();
	rpc = rpc_new(base, &conf, &calls, &err);
	ck_assert_msg(rpc != NULL, "%s", err.text);
	ck_assert_int_eq(
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
	rpc_add_web(rpc, pair[0]);
	web = web_link_new(base, pair[1], on_gone);
}

static void tear_down(void)
{
	rpc_free(rpc);
	web_link_free(web);
	event_base_free(base);
}

/* --- a visitor's requests ------------------------------------------------- */

/* The answer to a request. */
struct got {
	int nth; /* its position among all answers, from 1; 0: none yet */
	int code;
	size_t len;
	bool whole;
};

static int ngot;

static void on_answer(const struct web_answer *answer, void *arg)
{
	struct got *got = arg;

	got->nth = ++ngot;
	got->code = answer->err.code;
	got->len = answer->parts.len;
	got->whole = true;
	for (size_t i = 0; i < got->len; i++)
		got->whole &= answer->parts.data[i] == (char)(i % 251);
}

static struct web_query *ask(const char *op, int bytes, uint64_t visitor,
                             struct got *got)
{
	*got = (struct got){ 0 };
	return web_link_ask(web,
	                    json_pack("{s:s, s:i}", "op", op, "bytes", bytes),
	                    "cookie", visitor, on_answer, got);
}

static void wait_for(const struct got *got)
{
	while (!got->nth)
		event_base_loop(base, EVLOOP_ONCE);
}

/* Wait until the daemon has received everything that was sent, and its answers
 * have arrived. */
static void settle(void)
{
	struct got got;

	ask("ping", 0, 1000, &got);
	wait_for(&got);
}

START_TEST(what_takes_long_delays_no_other)
{
	struct got slow, quick;

	ask("wait", 0, 1, &slow);
	ask("ping", 0, 2, &quick);
	wait_for(&quick);
	ask("ping", 0, 1, &quick);
	wait_for(&quick);
	ck_assert_int_eq(slow.nth, 0);
	rpc_reply(held[0], json_object());
	wait_for(&slow);
	ck_assert_int_eq(slow.code, 0);
}
END_TEST

START_TEST(each_gets_its_own_answer)
{
	struct got got[3];
	struct err err;

	for (int i = 0; i < 3; i++)
		ask("wait", 0, 1, &got[i]);
	settle();
	for (int i = 2; i >= 0; i--) {
		err_set(&err, i + 1, "refused");
		rpc_refuse(held[i], &err);
		wait_for(&got[i]);
		ck_assert_int_eq(got[i].code, i + 1);
	}
}
END_TEST

START_TEST(daemon_has_few_of_a_visitor)
{
	struct got got[10];

	for (int i = 0; i < 10; i++)
		ask("wait", 0, 1, &got[i]);
	settle();
	ck_assert_int_eq(nheld, 4);
	for (int i = 0; i < 10; i++) {
		rpc_reply(held[i], json_object());
		wait_for(&got[i]);
		settle();
		ck_assert_int_eq(nheld, i < 6 ? 5 + i : 10);
	}
}
END_TEST

/* The web program may have more unanswered requests than other connections,
 * which may have 16. */
START_TEST(many_slow_visitors_delay_no_other)
{
	static struct got got[200];

	for (int i = 0; i < 200; i++)
		ask("wait", 0, (uint64_t)i / 4, &got[i]);
	settle();
	ck_assert_int_eq(nheld, 200);
	for (int i = 199; i >= 0; i--)
		rpc_reply(held[i], json_object());
	for (int i = 0; i < 200; i++)
		wait_for(&got[i]);
}
END_TEST

START_TEST(forgotten_is_not_asked_nor_answered)
{
	struct web_query *query[6];
	struct got got[6];

	for (int i = 0; i < 6; i++)
		query[i] = ask("wait", 0, 1, &got[i]);
	settle();
	web_query_forget(query[0]);
	web_query_forget(query[4]);
	settle();
	ck_assert_int_eq(nheld, 4);
	rpc_reply(held[0], json_object());
	settle();
	settle();
	ck_assert_int_eq(got[0].nth, 0);
	ck_assert_int_eq(nheld, 5);
	rpc_reply(held[4], json_object());
	wait_for(&got[5]);
	for (int i = 1; i < 4; i++)
		rpc_reply(held[i], json_object());
	for (int i = 1; i < 4; i++)
		wait_for(&got[i]);
	ck_assert_int_eq(got[4].nth, 0);
}
END_TEST

START_TEST(long_answers_take_turns)
{
	struct got long_one, other, short_one;

	ask("jobs", 4 << 20, 1, &long_one);
	ask("jobs", 3000000, 2, &other);
	ask("jobs", 200001, 3, &short_one);
	wait_for(&long_one);
	wait_for(&other);
	wait_for(&short_one);
	ck_assert_int_lt(short_one.nth, other.nth);
	ck_assert_int_lt(other.nth, long_one.nth);
	ck_assert_uint_eq(long_one.len, 4 << 20);
	ck_assert_uint_eq(other.len, 3000000);
	ck_assert_uint_eq(short_one.len, 200001);
	ck_assert(long_one.whole && other.whole && short_one.whole);
}
END_TEST

START_TEST(too_long_answer_is_refused_alone)
{
	struct got got, other;

	ask("jobs", (4 << 20) + 1, 1, &got);
	ask("jobs", 1000000, 1, &other);
	wait_for(&got);
	wait_for(&other);
	ck_assert_int_eq(got.code, EMSGSIZE);
	ck_assert_int_eq(other.code, 0);
	ck_assert(other.whole && other.len == 1000000);
}
END_TEST

/* An answer to which no request belongs ends the connection. */
START_TEST(answer_to_nothing_ends_the_link)
{
	const struct frame_head head = { .kind = FRAME_REPLY,
		                         .seq = 7,
		                         .json_len = 2 };
	unsigned char bytes[WIRE_HEAD + 2] = { 0 };
	int pair[2];

	ck_assert_int_eq(
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
	web_link_free(web);
	web = web_link_new(base, pair[1], on_gone);
	frame_head_put(bytes, &head);
	memcpy(bytes + WIRE_HEAD, "{}", 2);
	ck_assert_int_eq(write(pair[0], bytes, sizeof(bytes)), sizeof(bytes));
	while (!gone)
		event_base_loop(base, EVLOOP_ONCE);
	close(pair[0]);
}
END_TEST

SUITE(link)
{
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, what_takes_long_delays_no_other);
	tcase_add_test(tc, each_gets_its_own_answer);
	tcase_add_test(tc, daemon_has_few_of_a_visitor);
	tcase_add_test(tc, many_slow_visitors_delay_no_other);
	tcase_add_test(tc, forgotten_is_not_asked_nor_answered);
	tcase_add_test(tc, long_answers_take_turns);
	tcase_add_test(tc, too_long_answer_is_refused_alone);
	tcase_add_test(tc, answer_to_nothing_ends_the_link);
}

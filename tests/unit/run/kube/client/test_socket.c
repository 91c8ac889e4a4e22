/* test_socket.c - WebSockets, and servers that violate the protocol */
#include "aischedd/run/kube/client/socket.h"

#include <errno.h>
#include <string.h>

#include "aischedd/run/kube/client/frame.h"
#include "libcommon/clock.h"
#include "libcommon/mem.h"
#include "tests/unit/check.h"
#include "tests/unit/run/kube/object/world.h"

#define PATH  "/api/v1/namespaces/n/pods/p/exec?command=a"
#define START "GET " PATH " "
#define BOTH  "v5.channel.k8s.io, v4.channel.k8s.io"
#define V5    "v5.channel.k8s.io"

static struct kube_world w;
static struct kube_socket *the_socket;
static struct buf heard; /* the messages received, each followed by '|' */
static struct buf told;  /* how the socket ended */
static size_t most;      /* the largest part of a message, in bytes */
static bool over, leaves;

static void on_open(const char *protocol, void *arg)
{
	(void)arg;
	buf_printf(&told, "open %s ", protocol);
	if (!leaves)
		return;
	kube_socket_close(the_socket);
	over = true;
}

static int on_data(const void *data, size_t len, bool first, bool last,
                   void *arg, struct err *err)
{
	(void)arg, (void)err;
	ck_assert(first == (!heard.len || heard.data[heard.len - 1] == '|'));
	buf_add(&heard, data, len);
	if (last)
		buf_addc(&heard, '|');
	most = len > most ? len : most;
	return 0;
}

static void on_drained(void *arg)
{
	(void)arg;
}

static void on_end(const struct err *err, void *arg)
{
	(void)arg;
	buf_printf(&told, "end %s", err ? err->text : "well");
	over = true;
}

static void set_up(void)
{
	world_begin(&w, false);
	world_conf(&w, "", "");
	world_http(&w);
	over = leaves = false;
	most = 0;
}

static void tear_down(void)
{
	buf_free(&heard);
	buf_free(&told);
	world_end(&w);
}

static void begin(void)
{
	static const struct kube_socket_ops ops = { on_open, on_data,
		                                    on_drained, on_end };

	the_socket = kube_socket_open(w.http, PATH, BOTH, &ops, NULL);
}

/* Serve a WebSocket with these frames, and then close the connection. */
static void serve(const void *frames, size_t len)
{
	server_socket(w.server, START, V5, frames, len, THEN_CLOSE);
	begin();
	world_run(&w, &over);
}

/* --- valid frames -------------------------------------------------------- */

#define FRAMES(text) text, sizeof(text) - 1

START_TEST(messages_arrive_in_order)
{
	serve(FRAMES("\x82\x03\x01"
	             "ab" /* a message in one frame */
	             "\x89\x02"
	             "hi" /* a ping */
	             "\x02\x02\x01"
	             "c" /* one in three frames, */
	             "\x00\x00"
	             "\x8a\x00" /* a pong between them */
	             "\x80\x7e\x00\x02"
	             "de"
	             "\x82\x00" /* an empty message */
	             "\x88\x02\x03\xe8"));
	ck_assert_str_eq(told.data, "open " V5 " end well");
	ck_assert_str_eq(heard.data, "\x01"
	                             "ab|\x01"
	                             "cde||");
	ck_assert_ptr_nonnull(strstr(server_head(w.server),
	                             "Sec-WebSocket-Protocol: " BOTH "\r\n"));
}
END_TEST

START_TEST(a_large_message_is_passed_on_in_parts)
{
	enum { LEN = 5 << 20 };
	struct buf frames = { 0 };

	buf_add(&frames, "\x82\x7f\0\0\0\0\0\x50\0\0", 10);
	memset(buf_room(&frames, LEN), 'x', LEN);
	buf_grew(&frames, LEN);
	buf_add(&frames, "\x88\x00", 2);
	serve(frames.data, frames.len);
	buf_free(&frames);
	ck_assert_str_eq(told.data, "open " V5 " end well");
	ck_assert_uint_eq(heard.len, LEN + 1);
	ck_assert_uint_le(most, 16384);
}
END_TEST

START_TEST(what_is_sent_is_masked)
{
	static const uint8_t mask[] = { 1, 2, 3, 4 };
	char *large = xcalloc(1, 70000);
	struct buf out = { 0 };

	kube_frame_add(&out, FRAME_BINARY, mask, "abcde", 5);
	ck_assert_uint_eq(out.len, 2 + 4 + 5);
	ck_assert_mem_eq(out.data, "\x82\x85\x01\x02\x03\x04", 6);
	ck_assert_mem_eq(out.data + 6, "\x60\x60\x60\x60\x64", 5);
	buf_clear(&out);
	kube_frame_add(&out, FRAME_BINARY, mask, large, 200);
	ck_assert_mem_eq(out.data, "\x82\xfe\x00\xc8", 4);
	buf_clear(&out);
	kube_frame_add(&out, FRAME_BINARY, mask, large, 70000);
	ck_assert_mem_eq(out.data, "\x82\xff\0\0\0\0\0\x01\x11\x70", 10);
	buf_free(&out);
	free(large);
}
END_TEST

START_TEST(its_user_may_leave_at_once)
{
	leaves = true;
	serve(FRAMES("\x82\x03\x01"
	             "ab"));
	ck_assert_str_eq(told.data, "open " V5 " ");
	begin();
	kube_socket_close(the_socket);
}
END_TEST

/* --- invalid frames ------------------------------------------------------ */

static const struct {
	const char *frames;
	size_t len;
	const char *why; /* the end of the error */
} wrongs[] = {
	{ FRAMES("\x82\x05\x01"
	         "ab"),
	  "it was closed in the middle" },
	{ FRAMES("\x82"), "it was closed in the middle" },
	{ FRAMES("\x82\x02\x01"
	         "a"),
	  "it was closed in the middle" },
	{ FRAMES("\x82\xff\xff\xff\xff\xff\xff\xff\xff\xff"), "masked" },
	{ FRAMES("\x82\x7f\xff\xff\xff\xff\xff\xff\xff\xff"),
	  "negative length" },
	{ FRAMES("\xc2\x01\x01"), "extension" },
	{ FRAMES("\x83\x01\x01"), "unknown kind 3" },
	{ FRAMES("\x8b\x00"), "unknown kind 11" },
	{ FRAMES("\x09\x00"), "control frame in parts" },
	{ FRAMES("\x89\x7e\x01\x00"), "control frame in parts" },
	{ FRAMES("\x80\x01\x01"), "middle of a message" },
	{ FRAMES("\x02\x01\x01\x82\x01\x01"), "message within another" },
};

START_TEST(wrong_frames)
{
	serve(wrongs[_i].frames, wrongs[_i].len);
	ck_assert_msg(strstr(told.data, wrongs[_i].why), "%s", told.data);
	ck_assert_msg(!w.trouble.code, "others have trouble: %s",
	              w.trouble.text);
}
END_TEST

static const struct {
	const char *answer;
	enum reply_then then;
	const char *why;
} answers[] = {
	{ "HTTP/1.1 101 X\r\nUpgrade: websocket\r\n\r\n", THEN_SILENCE,
	  "no server of WebSockets" },
	{ "HTTP/1.1 101 X\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: no\r\n"
	  "Sec-WebSocket-Protocol: " V5 "\r\n\r\n",
	  THEN_SILENCE, "no server of WebSockets" },
	{ "HTTP/1.1 200 X\r\nContent-Length: 0\r\n\r\n", THEN_SILENCE,
	  "no server of WebSockets" },
	{ "SSH-2.0-x\r\n\r\n", THEN_SILENCE, "no server of WebSockets" },
	{ "HTTP/1.1 101 X\r\nUpg", THEN_CLOSE, "has no end" },
	{ "", THEN_CLOSE, "has no end" },
	{ "", THEN_RESET, "broke" },
	{ "HTTP/1.1 404 X\r\nContent-Length: 70\r\n\r\n"
	  "{\"kind\":\"Status\",\"reason\":\"NotFound\",\"message\":\"pods \\\"p"
	  "\\\" not found\"}    ",
	  THEN_SILENCE, "cannot get, create pods/exec 'p'" },
	{ "HTTP/1.1 500 X\r\n\r\n", THEN_CLOSE, "HTTP status 500" },
	{ "HTTP/1.1 400 X\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
	  THEN_SILENCE, "HTTP status 400" },
};

START_TEST(wrong_answers)
{
	server_raw(w.server, START, answers[_i].answer, answers[_i].then);
	begin();
	world_run(&w, &over);
	ck_assert_msg(strstr(told.data, answers[_i].why), "%s", told.data);
	ck_assert_ptr_null(strstr(told.data, "open"));
	ck_assert_uint_eq(server_requests(w.server), 1);
}
END_TEST

/* Refusals of a request for a WebSocket, by a node or by the API server. */
static const struct {
	const char *answer;
	unsigned n; /* number of such answers until the socket ends */
	const char *why;
} refusals[] = {
	{ "HTTP/1.1 429 X\r\nRetry-After: 100\r\nContent-Length: 0\r\n\r\n", 1,
	  "HTTP status 429" },
	{ "HTTP/1.1 429 X\r\nRetry-After: 9223372036854775807\r\n"
	  "Content-Length: 0\r\n\r\n",
	  1, "HTTP status 429" },
	{ "HTTP/1.1 503 X\r\nRetry-After: -9223372036854775807\r\n"
	  "Content-Length: 0\r\n\r\n",
	  1, "HTTP status 503" },
	{ "HTTP/1.1 401 X\r\nContent-Length: 0\r\n\r\n", 2, "HTTP status 401" },
};

START_TEST(a_node_cannot_hold_back_other_calls)
{
	int64_t since = clock_boot_ms();
	struct result r;

	for (unsigned i = 0; i < refusals[_i].n; i++)
		server_raw(w.server, START, refusals[_i].answer, THEN_SILENCE);
	begin();
	world_run(&w, &over);
	ck_assert_msg(strstr(told.data, refusals[_i].why), "%s", told.data);
	/* Credentials are renewed for the first refusal only. */
	over = false;
	server_raw(w.server, START, refusals[_i].answer, THEN_SILENCE);
	begin();
	world_run(&w, &over);
	server_json(w.server, "GET /x", 200, "", "{}");
	result_get(&w, &r, "/x");
	ck_assert_int_eq(r.err.code, 0);
	result_clear(&r);
	ck_assert_uint_eq(w.ntroubles, 0);
	ck_assert_uint_eq(server_requests(w.server), refusals[_i].n + 2);
	ck_assert_int_lt(clock_boot_ms() - since, 50000);
}
END_TEST

START_TEST(a_head_without_end_is_bounded)
{
	char *head = xcalloc(1, 70001);

	memset(head, 'x', 70000);
	server_raw(w.server, START, head, THEN_SILENCE);
	begin();
	world_run(&w, &over);
	ck_assert_msg(strstr(told.data, "has no end"), "%s", told.data);
	free(head);
}
END_TEST

SUITE(kube_socket)
{
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, messages_arrive_in_order);
	tcase_add_test(tc, a_large_message_is_passed_on_in_parts);
	tcase_add_test(tc, what_is_sent_is_masked);
	tcase_add_test(tc, its_user_may_leave_at_once);
	tcase_add_loop_test(tc, wrong_frames, 0, ARRAY_SIZE(wrongs));
	tcase_add_loop_test(tc, wrong_answers, 0, ARRAY_SIZE(answers));
	tcase_add_loop_test(tc, a_node_cannot_hold_back_other_calls, 0,
	                    ARRAY_SIZE(refusals));
	tcase_add_test(tc, a_head_without_end_is_bounded);
}

#include "aischedd/run/kube/client/http.h"

#include <netdb.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aischedd/run/kube/client/call.h"
#include "aischedd/run/kube/client/path.h"
#include "libcommon/clock.h"
#include "libcommon/mem.h"
#include "tests/unit/check.h"
#include "tests/unit/dead_mount.h"
#include "tests/unit/run/kube/object/world.h"

static struct kube_world w;

static void set_up(void)
{
	world_begin(&w, false);
	world_conf(&w, "", "");
}

static void tear_down(void)
{
	world_end(&w);
}

/* --- requests and answers --- */

START_TEST(connections_are_kept)
{
	struct result r;

	world_http(&w);
	for (int i = 0; i < 5; i++) {
		server_json(w.server, "GET /api/v1/nodes HTTP/1.1\r\n", 200, "",
		            "{\"kind\": \"NodeList\"}");
		result_get(&w, &r, "/api/v1/nodes");
		ck_assert_int_eq(r.err.code, 0);
		ck_assert_int_eq(r.code, 200);
		ck_assert_str_eq(
		    json_string_value(json_object_get(r.body, "kind")),
		    "NodeList");
		result_clear(&r);
	}
	ck_assert_uint_eq(server_connections(w.server), 1);
	ck_assert_uint_eq(kube_http_sent(w.http), 5);
	ck_assert_uint_eq(kube_http_answered(w.http, KUBE_GET, 2), 5);
	ck_assert_ptr_null(kube_http_trouble(w.http));
}
END_TEST

static const struct {
	enum kube_method method;
	const char *start, *type;
} writes[] = {
	{ KUBE_POST,
	  "POST /x?fieldManager=aischedd&fieldValidation=Strict HTTP/1.1\r\n",
	  "application/json" },
	{ KUBE_PUT, "PUT /x?fieldManager=aischedd ", "application/json" },
	{ KUBE_MERGE, "PATCH /x?fieldManager=aischedd ",
	  "application/merge-patch+json" },
	{ KUBE_STRATEGIC, "PATCH /x?fieldManager=aischedd ",
	  "application/strategic-merge-patch+json" },
	{ KUBE_JSON_PATCH, "PATCH /x?fieldManager=aischedd ",
	  "application/json-patch+json" },
	{ KUBE_DELETE, "DELETE /x HTTP/1.1\r\n", "application/json" },
};

START_TEST(write_case)
{
	json_t *body = json_pack("{s:s}", "a", "b");
	struct result r;
	char *type = xasprintf("Content-Type: %s\r\n", writes[_i].type);

	world_http(&w);
	server_json(w.server, writes[_i].start, 201, "", "");
	result_send(&w, &r,
	            (struct kube_request){ .method = writes[_i].method,
	                                   .path = "/x",
	                                   .body = body });
	json_decref(body);
	world_run(&w, &r.done);
	ck_assert_int_eq(r.code, 201);
	ck_assert_int_eq(r.err.code, 0);
	ck_assert_ptr_null(r.body);
	ck_assert_str_eq(server_body(w.server), "{\"a\":\"b\"}");
	ck_assert_ptr_nonnull(strstr(server_head(w.server), type));
	ck_assert_ptr_null(strstr(server_head(w.server), "Authorization"));
	free(type);
}
END_TEST

START_TEST(a_refusal_is_an_answer)
{
	struct result r;

	world_http(&w);
	server_json(w.server, "GET /api/v1/nodes/n", 404, "",
	            "{\"kind\": \"Status\", \"reason\": \"NotFound\", "
	            "\"message\": \"nodes \\\"n\\\" not found\"}");
	result_get(&w, &r, "/api/v1/nodes/n");
	ck_assert_int_eq(r.code, 404);
	ck_assert_int_eq(r.err.code, ENOENT);
	ck_assert_str_eq(r.reason, "NotFound");
	ck_assert_str_eq(r.err.text,
	                 "cannot get nodes 'n': nodes \"n\" not found");
	ck_assert_ptr_nonnull(r.body);
	result_clear(&r);
	ck_assert_uint_eq(w.ntroubles, 0);
}
END_TEST

START_TEST(paths_are_escaped)
{
	struct buf path = { 0 };

	buf_puts(&path, "/api/v1/namespaces");
	kube_path_name(&path, "a/../b");
	kube_path_query(&path, "labelSelector", "a=b,c");
	kube_path_query(&path, "x", "~_-.9");
	ck_assert_str_eq(path.data,
	                 "/api/v1/namespaces/a%2F..%2Fb?labelSelector="
	                 "a%3Db%2Cc&x=~_-.9");
	buf_free(&path);
}
END_TEST

/* --- limits on simultaneous calls  */

/* Send a request, and wait until the server has received it; it gets no
 * answer. */
static void occupy(struct result *r)
{
	unsigned had = server_requests(w.server);

	server_stream(w.server, "GET /occupied");
	result_send(
	    &w, r,
	    (struct kube_request){ .path = "/occupied", .rank = KUBE_READ });
	while (server_requests(w.server) == had)
		event_base_loop(w.base, EVLOOP_ONCE);
}

START_TEST(the_urgent_goes_first)
{
	static const struct {
		enum kube_rank rank;
		int order;
	} asks[] = {
		{ KUBE_NOTE, 6 }, { KUBE_CLEAN, 5 }, { KUBE_START, 4 },
		{ KUBE_STOP, 3 }, { KUBE_LEASE, 1 },
	};
	struct result first, r[ARRAY_SIZE(asks)];

	w.limits.inflight = 1;
	world_http(&w);
	occupy(&first);
	for (size_t i = 0; i < ARRAY_SIZE(asks); i++) {
		server_json(w.server, "GET /", 200, "", "{}");
		result_send(
		    &w, &r[i],
		    (struct kube_request){ .path = "/", .rank = asks[i].rank });
	}
	ck_assert_uint_eq(kube_http_backlog(w.http), 5);
	/* Calls about the Lease have a slot of their own. */
	world_run(&w, &r[4].done);
	ck_assert(!r[3].done);
	server_push(w.server, "{}");
	server_end(w.server, THEN_KEEP);
	world_run(&w, &r[0].done);
	ck_assert_int_eq(first.order, 2);
	for (size_t i = 0; i < ARRAY_SIZE(asks); i++) {
		ck_assert_int_eq(r[i].err.code, 0);
		ck_assert_int_eq(r[i].order, asks[i].order);
		result_clear(&r[i]);
	}
	result_clear(&first);
}
END_TEST

START_TEST(so_many_at_a_time)
{
	struct result r[6];

	world_http(&w);
	for (int i = 0; i < 6; i++) {
		server_stream(w.server, "GET /");
		result_send(&w, &r[i], (struct kube_request){ .path = "/" });
	}
	while (server_requests(w.server) < 4)
		event_base_loop(w.base, EVLOOP_ONCE);
	world_wait(&w, 50);
	ck_assert_uint_eq(server_requests(w.server), 4);
	ck_assert_uint_eq(kube_http_backlog(w.http), 2);
	/* Cancelling a call frees its slot. */
	kube_http_cancel(r[0].call);
	while (server_requests(w.server) < 5)
		event_base_loop(w.base, EVLOOP_ONCE);
	kube_http_cancel(r[5].call);
	ck_assert_uint_eq(kube_http_backlog(w.http), 0);
}
END_TEST

/* --- errors of the server -- */

START_TEST(all_wait_as_long_as_the_server_asks)
{
	int64_t begin;
	struct result one, other;

	world_http(&w);
	begin = clock_boot_ms();
	server_json(w.server, "GET /one", 429, "Retry-After: 1\r\n", "{}");
	server_json(w.server, "GET /one", 200, "", "{}");
	server_json(w.server, "GET /other", 200, "", "{}");
	begin = clock_boot_ms(); /* the time at which the server answers */
	result_send(&w, &one, (struct kube_request){ .path = "/one" });
	while (!server_requests(w.server))
		event_base_loop(w.base, EVLOOP_ONCE);
	world_wait(&w, 20);
	result_send(&w, &other, (struct kube_request){ .path = "/other" });
	world_run(&w, &other.done);
	ck_assert_int_ge(clock_boot_ms() - begin, 1000);
	world_run(&w, &one.done);
	ck_assert_int_eq(one.err.code, 0);
	ck_assert_uint_eq(server_requests(w.server), 3);
	ck_assert_uint_eq(w.ntroubles, 0);
	result_clear(&one);
	result_clear(&other);
}
END_TEST

/* The first answer is broken, the second one valid. */
static const struct {
	const char *name, *bytes;
	enum reply_then then;
	/* whether the server as a whole is reported as being in trouble */
	bool trouble;
} bads[] = {
	{ "503",
	  "HTTP/1.1 503 X\r\nContent-Length: 3\r\nRetry-After: 0\r\n\r\nbad",
	  THEN_KEEP, true },
	{ "502", "HTTP/1.1 502 X\r\nContent-Length: 0\r\n\r\n", THEN_KEEP,
	  true },
	{ "500", "HTTP/1.1 500 X\r\nContent-Length: 2\r\n\r\n{}", THEN_KEEP,
	  false },
	{ "504", "HTTP/1.1 504 X\r\nContent-Length: 0\r\n\r\n", THEN_CLOSE,
	  false },
	{ "reset", "", THEN_RESET, true },
	{ "closed", "", THEN_CLOSE, true },
	{ "silence", "", THEN_SILENCE, true },
	{ "headers that do not end", "HTTP/1.1 200 OK\r\nX: ", THEN_SILENCE,
	  true },
	{ "headers cut", "HTTP/1.1 200 OK\r\nX: ", THEN_CLOSE, true },
	{ "a body cut", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{\"a",
	  THEN_CLOSE, false },
	{ "a body that does not end",
	  "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{\"a", THEN_SILENCE,
	  false },
	{ "a chunk cut",
	  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"",
	  THEN_RESET, false },
	{ "no JSON", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n<a/>",
	  THEN_KEEP, false },
	{ "no HTTP", "220 mail ready\r\n", THEN_CLOSE, true },
};

START_TEST(bad_case)
{
	struct result r;

	if (bads[_i].then == THEN_SILENCE)
		w.limits.try_ms = 400;
	world_http(&w);
	server_raw(w.server, "GET /x", bads[_i].bytes, bads[_i].then);
	server_json(w.server, "GET /x", 200, "", "{}");
	result_get(&w, &r, "/x");
	ck_assert_msg(!r.err.code, "%s: %s", bads[_i].name, r.err.text);
	ck_assert_msg(server_requests(w.server) == 2, "%s", bads[_i].name);
	ck_assert_msg(w.ntroubles == bads[_i].trouble, "%s", bads[_i].name);
	ck_assert_int_eq(w.trouble.code, 0);
	result_clear(&r);
}
END_TEST

START_TEST(not_for_ever)
{
	struct result r;

	world_http(&w);
	for (int i = 0; i < 5; i++)
		server_json(w.server, "POST /api/v1/namespaces/ns/pods", 500,
		            "", "{\"message\": \"webhook is down\"}");
	result_send(&w, &r,
	            (struct kube_request){ .method = KUBE_POST,
	                                   .path = "/api/v1/namespaces/ns/"
	                                           "pods" });
	world_run(&w, &r.done);
	ck_assert_int_eq(r.err.code, EIO);
	ck_assert_str_eq(r.err.text, "cannot create pods in namespace 'ns': "
	                             "webhook is down");
	ck_assert_uint_eq(server_waiting(w.server), 0);
}
END_TEST

START_TEST(once_is_once)
{
	struct result r;

	world_http(&w);
	server_json(w.server, "PUT /x", 500, "", "{}");
	result_send(&w, &r,
	            (struct kube_request){ .method = KUBE_PUT,
	                                   .rank = KUBE_LEASE,
	                                   .path = "/x",
	                                   .once = true });
	world_run(&w, &r.done);
	ck_assert_int_eq(r.code, 500);
	ck_assert_uint_eq(server_requests(w.server), 1);
}
END_TEST

START_TEST(an_absent_server_is_told_and_found_again)
{
	int port = server_port(w.server);
	struct result r[5], late;
	unsigned sent;

	server_free(w.server);
	w.server = NULL;
	world_http(&w);
	for (int i = 0; i < 5; i++)
		result_send(&w, &r[i], (struct kube_request){ .path = "/x" });
	result_send(
	    &w, &late,
	    (struct kube_request){ .path = "/late", .deadline_ms = 400 });
	world_run(&w, &late.done);
	ck_assert_int_eq(late.err.code, ETIMEDOUT);
	ck_assert_msg(strstr(late.err.text, "no answer within 0.4 s: API "
	                                    "server 'http://127.0.0.1:") &&
	                  strstr(late.err.text, "' cannot be reached: "),
	              "%s", late.err.text);
	ck_assert_uint_eq(w.ntroubles, 1);
	ck_assert_ptr_eq(kube_http_trouble(w.http)->code ? w.http : NULL,
	                 w.http);
	/* All calls were tried once, and then one at a time. */
	sent = (unsigned)kube_http_sent(w.http);
	ck_assert_uint_lt(sent, 100);

	w.server = server_new(w.base, port, false);
	for (int i = 0; i < 5; i++)
		server_json(w.server, "GET /x", 200, "", "{}");
	for (int i = 0; i < 5; i++) {
		world_run(&w, &r[i].done);
		ck_assert_int_eq(r[i].err.code, 0);
		result_clear(&r[i]);
	}
	ck_assert_ptr_null(kube_http_trouble(w.http));
	ck_assert_int_eq(w.trouble.code, 0);
}
END_TEST

START_TEST(what_is_left_of_a_vanished_server_is_not_used)
{
	struct result one, other;

	w.limits.try_ms = 400;
	world_http(&w);
	server_json(w.server, "GET /x", 200, "", "{}");
	server_json(w.server, "GET /x", 200, "", "{}");
	result_send(&w, &one, (struct kube_request){ .path = "/x" });
	result_send(&w, &other, (struct kube_request){ .path = "/x" });
	world_run(&w, &one.done);
	world_run(&w, &other.done);
	result_clear(&one);
	result_clear(&other);
	ck_assert_uint_eq(server_connections(w.server), 2);

	server_raw(w.server, "GET /x", "", THEN_SILENCE);
	server_json(w.server, "GET /x", 200, "", "{}");
	result_get(&w, &one, "/x");
	ck_assert_int_eq(one.err.code, 0);
	ck_assert_uint_eq(server_connections(w.server), 3);
	result_clear(&one);
}
END_TEST

/* --- a proxy --- */

static void conf_with_proxy(const char *server)
{
	char *text =
	    xasprintf("current-context: a\n"
	              "contexts: [{name: a, context: {cluster: c, user: u}}]\n"
	              "clusters: [{name: c, cluster: {server: '%s', proxy-url: "
	              "'http://127.0.0.1:%d'}}]\n"
	              "users: [{name: u, user: {token: secret}}]\n",
	              server, server_port(w.server));

	world_file(&w, "conf", text);
	free(text);
}

START_TEST(a_proxy_is_asked)
{
	struct result r;

	conf_with_proxy("http://kube.example:8001");
	world_http(&w);
	server_json(w.server, "GET http://kube.example:8001/x HTTP/1.1\r\n",
	            200, "", "{}");
	result_get(&w, &r, "/x");
	ck_assert_int_eq(r.err.code, 0);
	result_clear(&r);
}
END_TEST

START_TEST(a_proxy_learns_no_secrets)
{
	struct result r;

	conf_with_proxy("https://kube.example");
	world_http(&w);
	server_raw(w.server, "CONNECT kube.example:443 HTTP/1.1\r\n",
	           "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n",
	           THEN_KEEP);
	result_send(&w, &r,
	            (struct kube_request){
			.rank = KUBE_LEASE, .once = true, .path = "/x" });
	world_run(&w, &r.done);
	ck_assert_int_eq(r.err.code, ECONNREFUSED);
	ck_assert_ptr_nonnull(strstr(r.err.text,
	                             "API server 'https://kube.example' cannot "
	                             "be reached: "));
	ck_assert_ptr_null(strstr(server_head(w.server), "secret"));
}
END_TEST

START_TEST(the_lease_does_not_wait_for_others)
{
	struct result other, lease;

	w.limits.backoff_ms = w.limits.backoff_max_ms = 10000;
	world_http(&w);
	server_raw(w.server, "GET /other", "", THEN_CLOSE);
	result_send(&w, &other, (struct kube_request){ .path = "/other" });
	while (!w.ntroubles)
		event_base_loop(w.base, EVLOOP_ONCE);
	server_json(w.server, "PUT /lease", 200, "", "{}");
	result_send(&w, &lease,
	            (struct kube_request){ .method = KUBE_PUT,
	                                   .rank = KUBE_LEASE,
	                                   .once = true,
	                                   .path = "/lease" });
	world_run(&w, &lease.done);
	ck_assert_int_eq(lease.err.code, 0);
	result_clear(&lease);
	/* If one call succeeds, all others may be sent again. */
	server_json(w.server, "GET /other", 200, "", "{}");
	world_run(&w, &other.done);
	result_clear(&other);
}
END_TEST

START_TEST(the_lease_leaves_an_absent_server_some_peace)
{
	struct result lease;

	server_free(w.server);
	w.server = NULL;
	w.limits.backoff_ms = w.limits.backoff_max_ms = 100;
	world_http(&w);
	result_send(&w, &lease,
	            (struct kube_request){ .method = KUBE_PUT,
	                                   .rank = KUBE_LEASE,
	                                   .path = "/lease",
	                                   .deadline_ms = 400 });
	world_run(&w, &lease.done);
	ck_assert_int_eq(lease.err.code, ETIMEDOUT);
	ck_assert_uint_gt(kube_http_sent(w.http), 0);
	ck_assert_uint_le(kube_http_sent(w.http), 5);
}
END_TEST

/* --- guarded calls --- */

static int64_t guard(void *arg)
{
	return *(const int64_t *)arg;
}

START_TEST(what_is_guarded_waits_while_it_may)
{
	struct result first, r;
	int64_t ms = 20;

	w.limits.inflight = 1;
	world_http(&w);
	kube_http_guard(w.http, guard, &ms);
	occupy(&first);
	result_send(&w, &r,
	            (struct kube_request){
			.method = KUBE_POST, .path = "/x", .guarded = true });
	world_wait(&w, 100);
	ck_assert_msg(!r.done, "%s", r.err.text);
	ms = 0;
	world_run(&w, &r.done);
	ck_assert_int_eq(r.err.code, ETIMEDOUT);
	ck_assert_str_eq(r.err.text,
	                 "no answer before this daemon's Lease expired");
	ck_assert_uint_eq(server_requests(w.server), 1);
	kube_http_cancel(first.call);
}
END_TEST

/* The process is stopped before a guarded call is sent, and goes on when the
 * Lease has expired, but before any timer has run: the call is not sent. */
START_TEST(what_may_not_go_out_does_not)
{
	struct result r;
	int64_t ms = 60000;

	world_http(&w);
	kube_http_guard(w.http, guard, &ms);
	result_send(&w, &r,
	            (struct kube_request){
			.method = KUBE_POST, .path = "/x", .guarded = true });
	ms = 0;
	world_run(&w, &r.done);
	ck_assert_int_eq(r.err.code, ETIMEDOUT);
	ck_assert_uint_eq(kube_http_sent(w.http), 0);
}
END_TEST

/* --- answers that are too long  */

static char *many(const char *before, char c, size_t n)
{
	size_t len = strlen(before);
	char *s = xmalloc(len + n + 1);

	memcpy(s, before, len);
	memset(s + len, c, n);
	s[len + n] = '\0';
	return s;
}

static const struct {
	const char *name, *before, *want;
	size_t n;
} floods[] = {
	{ "a large answer", "HTTP/1.1 200 OK\r\nContent-Length: 10000\r\n\r\n",
	  "the answer is larger than 4 KiB", 10000 },
	{ "an answer without end", "HTTP/1.1 200 OK\r\n\r\n",
	  "the answer is larger than 4 KiB", 100000 },
	{ "a large refusal", "HTTP/1.1 400 X\r\nContent-Length: 100000\r\n\r\n",
	  "the answer is larger than 4 KiB", 100000 },
};

START_TEST(flood_case)
{
	char *bytes = many(floods[_i].before, ' ', floods[_i].n);
	struct result r;

	world_http(&w);
	server_raw(w.server, "GET /x", bytes, THEN_SILENCE);
	result_get(&w, &r, "/x");
	ck_assert_msg(!strcmp(r.err.text, floods[_i].want), "%s: got %s",
	              floods[_i].name, r.err.text);
	ck_assert_int_eq(r.err.code, EMSGSIZE);
	ck_assert_uint_eq(server_requests(w.server), 1);
	free(bytes);
}
END_TEST

START_TEST(headers_without_end_are_refused)
{
	struct buf bytes = { 0 };
	struct result r;

	buf_puts(&bytes, "HTTP/1.1 200 OK\r\n");
	for (int i = 0; i < 10000; i++)
		buf_printf(&bytes, "X-%d: more\r\n", i);
	world_http(&w);
	server_raw(w.server, "GET /x", bytes.data, THEN_SILENCE);
	result_get(&w, &r, "/x");
	ck_assert_str_eq(r.err.text,
	                 "the headers of the answer are larger than 64 KiB");
	buf_free(&bytes);
}
END_TEST

/* --- streams --- */

struct stream {
	struct buf text;
	struct kube_call *cancel; /* call to cancel at the first bytes */
	bool refuse, got, pause;
};

static int on_data(const void *data, size_t len, void *arg, struct err *err)
{
	struct result *r = arg;
	struct stream *s = (struct stream *)(void *)(r + 1);

	buf_add(&s->text, data, len);
	s->got = true;
	if (s->cancel) {
		kube_http_cancel(s->cancel);
		r->call = s->cancel = NULL;
	}
	if (s->pause)
		kube_http_pause(r->call, true);
	if (s->refuse)
		return err_set(err, ECANCELED, "enough");
	return 0;
}

/* on_data() gets the result as its argument and finds the stream behind it in
 * memory. */
static struct {
	struct result r;
	struct stream s;
} st;

static void stream_begin(int64_t silence_ms)
{
	st.s = (struct stream){ 0 };
	server_stream(w.server, "GET /log");
	result_send(&w, &st.r,
	            (struct kube_request){ .path = "/log",
	                                   .silence_ms = silence_ms,
	                                   .data = on_data });
}

START_TEST(bytes_are_given_as_they_come)
{
	world_http(&w);
	stream_begin(5000);
	server_push(w.server, "one\n");
	world_run(&w, &st.s.got);
	ck_assert_str_eq(st.s.text.data, "one\n");
	st.s.got = false;
	server_push(w.server, "two\n");
	world_run(&w, &st.s.got);
	ck_assert_str_eq(st.s.text.data, "one\ntwo\n");
	ck_assert(!st.r.done);
	server_end(w.server, THEN_KEEP);
	world_run(&w, &st.r.done);
	ck_assert_int_eq(st.r.err.code, 0);
	ck_assert_ptr_null(st.r.body);
	buf_free(&st.s.text);
}
END_TEST

START_TEST(streams_do_not_take_the_places_of_others)
{
	struct result r;

	w.limits.inflight = 1;
	world_http(&w);
	stream_begin(5000);
	server_push(w.server, "one\n");
	world_run(&w, &st.s.got);
	server_json(w.server, "GET /x", 200, "", "{}");
	result_get(&w, &r, "/x");
	ck_assert_int_eq(r.err.code, 0);
	result_clear(&r);
	buf_free(&st.s.text);
}
END_TEST

START_TEST(a_silent_stream_is_dead)
{
	world_http(&w);
	stream_begin(400);
	server_push(w.server, "one\n");
	world_run(&w, &st.r.done);
	ck_assert_int_eq(st.r.err.code, ETIMEDOUT);
	ck_assert_ptr_nonnull(
	    strstr(st.r.err.text, "has said nothing for 0.4 s"));
	ck_assert_uint_eq(w.ntroubles, 0);
	buf_free(&st.s.text);
}
END_TEST

START_TEST(a_paused_stream_gives_nothing)
{
	struct result r;

	world_http(&w);
	stream_begin(400);
	st.s.pause = true;
	server_push(w.server, "one\n");
	world_run(&w, &st.s.got);
	st.s.got = false;
	server_push(w.server, "two\n");
	server_json(w.server, "GET /x", 200, "", "{}");
	result_get(&w, &r, "/x"); /* by now "two" could have been read */
	world_wait(&w, 500);      /* a paused stream may be silent */
	ck_assert_str_eq(st.s.text.data, "one\n");
	ck_assert(!st.r.done);
	st.s.pause = false;
	kube_http_pause(st.r.call, false);
	if (!st.s.got)
		world_run(&w, &st.s.got);
	ck_assert_str_eq(st.s.text.data, "one\ntwo\n");
	server_end(w.server, THEN_KEEP);
	world_run(&w, &st.r.done);
	ck_assert_int_eq(st.r.err.code, 0);
	result_clear(&r);
	buf_free(&st.s.text);
}
END_TEST

/* Errors of a node do not count as trouble of the API server, for instance when
 * a pod's log is read and its node is down. */
START_TEST(what_a_node_does_not_say_is_no_trouble_of_the_server)
{
	struct result r;

	w.limits.backoff_max_ms = 5;
	world_http(&w);
	for (int i = 0; i < 5; i++)
		if (i % 2)
			server_raw(w.server, "GET /log", "", THEN_SILENCE);
		else
			server_json(w.server, "GET /log", 503, "", "{}");
	result_send(&w, &r,
	            (struct kube_request){ .path = "/log",
	                                   .relayed = true,
	                                   .silence_ms = 400,
	                                   .data = on_data });
	world_run(&w, &r.done);
	ck_assert_int_eq(r.code, 503);
	ck_assert_uint_eq(w.ntroubles, 0);
	ck_assert_ptr_nonnull(strstr(server_head(w.server), "Accept: */*\r\n"));
}
END_TEST

START_TEST(a_relayed_call_alone_waits_as_long_as_a_node_asks)
{
	struct result log, other;
	int64_t begin = clock_boot_ms();

	world_http(&w);
	server_json(w.server, "GET /log", 429, "Retry-After: 1\r\n", "{}");
	server_json(w.server, "GET /log", 200, "", "{}");
	server_json(w.server, "GET /other", 200, "", "{}");
	result_send(&w, &log,
	            (struct kube_request){ .path = "/log", .relayed = true });
	while (!server_requests(w.server))
		event_base_loop(w.base, EVLOOP_ONCE);
	result_get(&w, &other, "/other");
	world_run(&w, &log.done);
	ck_assert_int_lt(other.order, log.order);
	ck_assert_int_ge(clock_boot_ms() - begin, 1000);
	ck_assert_int_eq(log.err.code, 0);
	ck_assert_uint_eq(w.ntroubles, 0);
	result_clear(&log);
	result_clear(&other);
}
END_TEST

START_TEST(a_stream_that_gave_nothing_is_tried_again)
{
	world_http(&w);
	server_raw(w.server, "GET /log", "", THEN_RESET);
	stream_begin(5000);
	server_push(w.server, "one\n");
	world_run(&w, &st.s.got);
	ck_assert_uint_eq(server_requests(w.server), 2);
	/* A call that has given output is not repeated, as its bytes would come
	 * twice. */
	server_end(w.server, THEN_RESET);
	world_run(&w, &st.r.done);
	ck_assert_int_eq(st.r.err.code, ECONNRESET);
	ck_assert_str_eq(st.s.text.data, "one\n");
	buf_free(&st.s.text);
}
END_TEST

START_TEST(the_receiver_may_stop_a_stream)
{
	world_http(&w);
	stream_begin(5000);
	st.s.refuse = true;
	server_push(w.server, "one\n");
	world_run(&w, &st.r.done);
	ck_assert_str_eq(st.r.err.text, "enough");
	buf_free(&st.s.text);
}
END_TEST

START_TEST(a_stream_may_be_cancelled_while_it_gives)
{
	struct result r;

	world_http(&w);
	stream_begin(5000);
	st.s.cancel = st.r.call;
	server_push(w.server, "one\n");
	world_run(&w, &st.s.got);
	server_json(w.server, "GET /x", 200, "", "{}");
	result_get(&w, &r, "/x");
	ck_assert(!st.r.done);
	result_clear(&r);
	buf_free(&st.s.text);
}
END_TEST

/* --- configuration --- */

START_TEST(a_kubeconfig_may_come_later)
{
	struct result r;

	unlink(w.conf);
	world_http(&w);
	server_json(w.server, "GET /x", 200, "", "{}");
	result_send(&w, &r, (struct kube_request){ .path = "/x" });
	while (!w.ntroubles)
		event_base_loop(w.base, EVLOOP_ONCE);
	ck_assert_ptr_nonnull(strstr(w.trouble.text, "No such file"));
	ck_assert_ptr_null(kube_http_config(w.http));
	world_conf(&w, "", "");
	world_run(&w, &r.done);
	ck_assert_int_eq(r.err.code, 0);
	ck_assert_int_eq(w.trouble.code, 0);
	ck_assert_ptr_nonnull(kube_http_config(w.http)->warning);
	result_clear(&r);
}
END_TEST

/* Make the kubeconfig a link into a file system that hangs. Returns the
 * descriptor of dead_mount(), or -1 if that is not possible. */
static int conf_dies(char dead[static 64])
{
	char target[80];
	int fuse;

	snprintf(dead, 64, "%s/dead", w.folder);
	snprintf(target, sizeof(target), "%s/conf", dead);
	fuse = dead_mount_may() ? dead_mount(dead) : -1;
	if (fuse < 0)
		return -1;
	unlink(w.conf);
	ck_assert_int_eq(symlink(target, w.conf), 0);
	return fuse;
}

static void bury(const char *dead)
{
	ck_assert_int_eq(umount2(dead, MNT_DETACH), 0);
	ck_assert_int_eq(rmdir(dead), 0);
}

START_TEST(a_kubeconfig_on_a_dead_disk_is_trouble_of_its_own)
{
	struct result r;
	char dead[64];
	int fuse = conf_dies(dead);

	if (fuse < 0)
		return;
	w.limits.file_ms = 40;
	world_http(&w);
	result_send(&w, &r, (struct kube_request){ .path = "/x" });
	while (!w.ntroubles)
		event_base_loop(w.base, EVLOOP_ONCE);
	ck_assert_ptr_nonnull(strstr(w.trouble.text, w.conf));
	ck_assert_ptr_nonnull(
	    strstr(w.trouble.text, "could not be read within 0.04 s"));
	world_wait(&w, 100);
	ck_assert_uint_eq(w.ntroubles, 1);
	/* The file system fails; then the kubeconfig is put on another file
	 * system. */
	ck_assert_int_eq(close(fuse), 0);
	while (w.ntroubles < 2)
		event_base_loop(w.base, EVLOOP_ONCE);
	ck_assert_ptr_null(strstr(w.trouble.text, "within"));
	unlink(w.conf);
	world_conf(&w, "", "");
	server_json(w.server, "GET /x", 200, "", "{}");
	world_run(&w, &r.done);
	ck_assert_int_eq(r.err.code, 0);
	ck_assert_int_eq(w.trouble.code, 0);
	result_clear(&r);
	bury(dead);
}
END_TEST

START_TEST(what_was_read_stays_in_force_when_its_disk_dies)
{
	struct result r;
	char dead[64];
	int fuse;

	w.limits.file_ms = 40;
	world_http(&w);
	server_json(w.server, "GET /x", 200, "", "{}");
	result_get(&w, &r, "/x");
	result_clear(&r);
	fuse = conf_dies(dead);
	if (fuse < 0)
		return;
	/* The server refuses the credential once, and the kubeconfig, which
	 * might have a new one, cannot be read. */
	server_json(w.server, "GET /x", 401, "", "{}");
	server_json(w.server, "GET /x", 200, "", "{}");
	result_get(&w, &r, "/x");
	ck_assert_int_eq(r.err.code, 0);
	result_clear(&r);
	/* Free the client while its thread is still reading. */
	kube_http_free(w.http);
	w.http = NULL;
	ck_assert_int_eq(close(fuse), 0);
	bury(dead);
}
END_TEST

/* --- name look-ups  */

/*
 * getaddrinfo() below replaces that of libc, also for libcurl. While a test
 * holds the gate, it blocks, like a look-up when no name server answers.
 */
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

int getaddrinfo(const char *node, const char *service,
                const struct addrinfo *hints, struct addrinfo **res)
{
	(void)node;
	(void)service;
	(void)hints;
	(void)res;
	pthread_mutex_lock(&gate);
	pthread_mutex_unlock(&gate);
	return EAI_NONAME;
}

START_TEST(looking_up_a_name_stops_nobody)
{
	struct result r, cancelled;
	int64_t begin = clock_boot_ms();

	world_file(&w, "conf",
	           "current-context: a\n"
	           "contexts: [{name: a, context: {cluster: c, user: u}}]\n"
	           "clusters: [{name: c, cluster: {server: 'http://kube'}}]\n"
	           "users: [{name: u, user: {}}]\n");
	w.limits.try_ms = 40;
	pthread_mutex_lock(&gate);
	world_http(&w);
	result_send(&w, &r,
	            (struct kube_request){ .path = "/x", .deadline_ms = 100 });
	result_send(&w, &cancelled, (struct kube_request){ .path = "/y" });
	world_wait(&w, 20);
	kube_http_cancel(cancelled.call);
	world_run(&w, &r.done);
	ck_assert_int_eq(r.err.code, ETIMEDOUT);
	ck_assert_int_lt(clock_boot_ms() - begin, 5000);
	kube_http_free(w.http);
	w.http = NULL;
	pthread_mutex_unlock(&gate);
}
END_TEST

SUITE(kube_http)
{
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, connections_are_kept);
	tcase_add_loop_test(tc, write_case, 0, ARRAY_SIZE(writes));
	tcase_add_test(tc, a_refusal_is_an_answer);
	tcase_add_test(tc, paths_are_escaped);
	tcase_add_test(tc, the_urgent_goes_first);
	tcase_add_test(tc, so_many_at_a_time);
	tcase_add_test(tc, all_wait_as_long_as_the_server_asks);
	tcase_add_loop_test(tc, bad_case, 0, ARRAY_SIZE(bads));
	tcase_add_test(tc, not_for_ever);
	tcase_add_test(tc, once_is_once);
	tcase_add_test(tc, an_absent_server_is_told_and_found_again);
	tcase_add_test(tc, what_is_left_of_a_vanished_server_is_not_used);
	tcase_add_test(tc, a_proxy_is_asked);
	tcase_add_test(tc, a_proxy_learns_no_secrets);
	tcase_add_test(tc, the_lease_does_not_wait_for_others);
	tcase_add_test(tc, the_lease_leaves_an_absent_server_some_peace);
	tcase_add_test(tc, what_is_guarded_waits_while_it_may);
	tcase_add_test(tc, what_may_not_go_out_does_not);
	tcase_add_loop_test(tc, flood_case, 0, ARRAY_SIZE(floods));
	tcase_add_test(tc, headers_without_end_are_refused);
	tcase_add_test(tc, bytes_are_given_as_they_come);
	tcase_add_test(tc, streams_do_not_take_the_places_of_others);
	tcase_add_test(tc, a_silent_stream_is_dead);
	tcase_add_test(tc, a_paused_stream_gives_nothing);
	tcase_add_test(tc,
	               what_a_node_does_not_say_is_no_trouble_of_the_server);
	tcase_add_test(tc, a_relayed_call_alone_waits_as_long_as_a_node_asks);
	tcase_add_test(tc, a_stream_that_gave_nothing_is_tried_again);
	tcase_add_test(tc, the_receiver_may_stop_a_stream);
	tcase_add_test(tc, a_stream_may_be_cancelled_while_it_gives);
	tcase_add_test(tc, a_kubeconfig_may_come_later);
	tcase_add_test(tc, a_kubeconfig_on_a_dead_disk_is_trouble_of_its_own);
	tcase_add_test(tc, what_was_read_stays_in_force_when_its_disk_dies);
	tcase_add_test(tc, looking_up_a_name_stops_nobody);
}

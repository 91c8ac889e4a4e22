#include "aischedd/run/kube/client/watch.h"

#include <stdlib.h>
#include <string.h>

#include "aischedd/run/kube/client/call.h"
#include "libcommon/clock.h"
#include "libcommon/mem.h"
#include "tests/unit/check.h"
#include "tests/unit/run/kube/object/world.h"

#define PODS  "/api/v1/pods"
#define LIST  "GET " PODS "?limit=2 "
#define WATCH "GET " PODS "?watch=1&allowWatchBookmarks=true&resourceVersion="

static struct kube_world w;
static struct kube_watch *watch;
static struct buf story;    /* the news received, a word for each */
static const char *free_at; /* free the watch when this news comes */

static void note(enum kube_news news, json_t *obj, const struct err *err,
                 void *arg)
{
	static const char *const names[] = {
		[KUBE_RESET] = "reset",   [KUBE_ADDED] = "+",
		[KUBE_MODIFIED] = "~",    [KUBE_DELETED] = "-",
		[KUBE_SYNCED] = "synced", [KUBE_TROUBLE] = "trouble: ",
	};
	const char *name = json_string_value(
	    json_object_get(json_object_get(obj, "metadata"), "name"));

	(void)arg;
	ck_assert((err != NULL) == (news == KUBE_TROUBLE));
	buf_printf(&story, "%s%s%s ", names[news], name ? name : "",
	           err ? err->text : "");
	if (free_at && strstr(story.data, free_at)) {
		kube_watch_free(watch);
		watch = NULL;
	}
}

/* Run the loop until the story ends with this text. */
static void until(const char *end)
{
	int64_t begin = clock_boot_ms();

	while (story.len < strlen(end) ||
	       strcmp(story.data + story.len - strlen(end), end)) {
		event_base_loop(w.base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
		ck_assert_msg(clock_boot_ms() - begin < 60000, "told: %s",
		              story.data ? story.data : "");
	}
}

static void set_up(void)
{
	world_begin(&w, false);
	world_conf(&w, "", "");
	world_http(&w);
	free_at = NULL;
}

static void tear_down(void)
{
	kube_watch_free(watch);
	buf_free(&story);
	world_end(&w);
}

static void begin(void)
{
	struct kube_watch_spec spec = kube_watch_default;

	spec.path = PODS;
	spec.page = 2;
	spec.max = 1000;
	spec.silence_ms = 60000;
	spec.fn = note;
	watch = kube_watch_new(w.http, &spec);
}

#define OBJ(name, version)                         \
	"{\"metadata\": {\"name\": \"" name "\", " \
	"\"resourceVersion\": \"" version "\"}}"
#define EVENT(type, name, version) \
	"{\"type\": \"" type "\", \"object\": " OBJ(name, version) "}\n"
#define ERROR(code)                                                 \
	"{\"type\": \"ERROR\", \"object\": {\"kind\": \"Status\", " \
	"\"code\": " code ", \"message\": \"no more\"}}\n"

/* Serve a list of one page with these items, then a watch. */
static void serve_list(const char *version, const char *items)
{
	char *json = xasprintf(
	    "{\"kind\": \"PodList\", \"metadata\": {\"resourceVersion\": "
	    "\"%s\"}, \"items\": [%s]}",
	    version, items);
	char *start = xasprintf(WATCH "%s&timeoutSeconds=", version);

	server_json(w.server, LIST, 200, "", json);
	server_stream(w.server, start);
	free(json);
	free(start);
}

START_TEST(first_what_is_then_what_happens)
{
	serve_list("7", OBJ("a", "1") "," OBJ("b", "2"));
	begin();
	until("reset +a +b synced ");
	server_push(w.server,
	            EVENT("ADDED", "c", "8") EVENT("MODIFIED", "a", "9"));
	server_push(w.server, EVENT("DELETED", "b", "10"));
	until("synced +c ~a -b ");
	ck_assert_uint_eq(server_requests(w.server), 2);
}
END_TEST

START_TEST(pages_are_put_together)
{
	server_json(
	    w.server, LIST, 200, "",
	    "{\"metadata\": {\"resourceVersion\": \"7\", \"continue\": "
	    "\"t=1\"}, \"items\": [" OBJ("a", "1") "," OBJ("b", "1") "]}");
	server_json(w.server, "GET " PODS "?limit=2&continue=t%3D1 ", 200, "",
	            "{\"metadata\": {\"resourceVersion\": \"7\"}, "
	            "\"items\": [" OBJ("c", "1") "]}");
	server_stream(w.server, WATCH "7&");
	begin();
	until("reset +a +b +c synced ");
}
END_TEST

START_TEST(an_event_may_come_in_pieces)
{
	serve_list("7", "");
	begin();
	until("reset synced ");
	for (const char *p = EVENT("ADDED", "a{\\\"", "8"); *p; p++) {
		char piece[2] = { *p, '\0' };

		server_push(w.server, piece);
		event_base_loop(w.base, EVLOOP_NONBLOCK);
	}
	until("+a{\" ");
}
END_TEST

START_TEST(a_watch_that_ends_goes_on_from_there)
{
	serve_list("7", "");
	begin();
	until("synced ");
	server_push(w.server, EVENT("ADDED", "a", "8"));
	server_push(w.server,
	            "{\"type\": \"BOOKMARK\", \"object\": {\"metadata\": "
	            "{\"resourceVersion\": \"20\"}}}\n");
	until("+a ");
	server_end(w.server, THEN_KEEP);
	server_stream(w.server, WATCH "20&");
	server_push(w.server, EVENT("ADDED", "b", "21"));
	until("reset synced +a +b ");
}
END_TEST

/* Ways to cut off a watch after an event of version 8. The next watch begins at
 * that version, and nothing is reported. */
static const struct {
	const char *name, *last;
	enum reply_then then;
} cuts[] = {
	{ "the connection is reset", NULL, THEN_RESET },
	{ "it is closed in a chunk", NULL, THEN_CLOSE },
	{ "cut in an object", "{\"type\": \"MODIFIED\", \"obj", THEN_RESET },
	{ "ends in an object", "{\"type\": \"MODIFIED\", \"obj", THEN_KEEP },
};

START_TEST(cut_case)
{
	serve_list("7", "");
	begin();
	until("synced ");
	server_push(w.server, EVENT("ADDED", "a", "8"));
	until("+a ");
	if (cuts[_i].last)
		server_push(w.server, cuts[_i].last);
	world_wait(&w, 5);
	server_end(w.server, cuts[_i].then);
	server_stream(w.server, WATCH "8&");
	server_push(w.server, EVENT("ADDED", "b", "9"));
	until("reset synced +a +b ");
}
END_TEST

START_TEST(a_version_that_is_too_old_begins_anew)
{
	serve_list("7", OBJ("a", "1"));
	begin();
	until("synced ");
	serve_list("50", OBJ("b", "2"));
	server_push(w.server, ERROR("410"));
	until("reset +a synced reset +b synced ");
}
END_TEST

START_TEST(a_watch_may_be_refused_as_too_old)
{
	server_json(w.server, LIST, 200, "",
	            "{\"metadata\": {\"resourceVersion\": \"7\"}, \"items\": "
	            "[]}");
	server_json(w.server, WATCH "7&", 410, "", "{\"reason\": \"Gone\"}");
	serve_list("50", OBJ("b", "2"));
	begin();
	until("reset synced reset +b synced ");
}
END_TEST

START_TEST(a_list_that_expires_on_the_way_is_taken_whole)
{
	server_json(w.server, LIST, 200, "",
	            "{\"metadata\": {\"resourceVersion\": \"7\", \"continue\": "
	            "\"t\"}, \"items\": [" OBJ("a", "1") "]}");
	server_json(w.server, "GET " PODS "?limit=2&continue=t", 410, "",
	            "{\"reason\": \"Expired\"}");
	server_json(w.server, "GET " PODS " ", 200, "",
	            "{\"metadata\": {\"resourceVersion\": \"9\"}, "
	            "\"items\": [" OBJ("b", "1") "]}");
	server_stream(w.server, WATCH "9&");
	begin();
	until("reset +a reset +b synced ");
	/* The next list is read in pages again. */
	serve_list("20", "");
	server_push(w.server, ERROR("410"));
	until("synced reset synced ");
}
END_TEST

/* Errors that end a watch and are reported; then another watch begins. */
static const struct {
	const char *name, *push, *want;
} wrongs[] = {
	{ "garbage", "<html>",
	  "trouble: the answer is not JSON: unexpected '<' " },
	{ "an event without a version", "{\"type\": \"ADDED\"}",
	  "trouble: watch of " PODS ": an event without type or version " },
	{ "an error of the server", ERROR("500"),
	  "trouble: watch of " PODS ": no more " },
};

START_TEST(wrong_case)
{
	serve_list("7", "");
	begin();
	until("synced ");
	server_push(w.server, EVENT("ADDED", "a", "8"));
	until("+a ");
	server_push(w.server, wrongs[_i].push);
	until(wrongs[_i].want);
	server_stream(w.server, WATCH "8&");
	server_push(w.server, EVENT("ADDED", "b", "9"));
	until("+b ");
}
END_TEST

START_TEST(an_object_that_is_too_large_is_refused)
{
	char *large = xcalloc(2000, 1);

	memset(large, 'x', 1999);
	memcpy(large, "{\"type\":\"", 9);
	serve_list("7", "");
	begin();
	until("synced ");
	server_push(w.server, large);
	until("trouble: an object is larger than 0 KiB ");
	free(large);
}
END_TEST

START_TEST(a_silent_watch_is_left)
{
	struct kube_watch_spec spec = kube_watch_default;

	spec.path = PODS;
	spec.page = 2;
	spec.silence_ms = 2000;
	spec.fn = note;
	serve_list("7", "");
	watch = kube_watch_new(w.http, &spec);
	until("synced ");
	server_push(w.server, EVENT("ADDED", "a", "8"));
	until("has said nothing for 2 s ");
	server_stream(w.server, WATCH "8&");
	server_push(w.server, EVENT("ADDED", "b", "9"));
	until("+b ");
}
END_TEST

START_TEST(a_list_that_is_forbidden_is_told_and_tried_again)
{
	server_json(w.server, LIST, 403, "",
	            "{\"message\": \"pods is forbidden: User \\\"u\\\" cannot "
	            "list resource \\\"pods\\\"\"}");
	begin();
	until("trouble: user 'u' may not list pods; allow it with the rule "
	      "{apiGroups: [\"\"], resources: [pods], verbs: [list]} ");
	serve_list("7", "");
	until("reset synced ");
}
END_TEST

START_TEST(a_list_that_is_cut_begins_anew)
{
	server_raw(w.server, LIST,
	           "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"
	           "{\"items\": [" OBJ("a", "1") ",{\"meta",
	           THEN_CLOSE);
	begin();
	until("broke: Transferred a partial file ");
	serve_list("7", OBJ("b", "1"));
	until("reset +b synced ");
	ck_assert(strstr(story.data, "reset +a trouble: "));
}
END_TEST

/* The news at which the receiver frees the watch. */
static const char *const ends[] = { "reset", "+a", "synced", "+b" };

START_TEST(the_receiver_may_leave_at_any_time)
{
	struct result r;

	free_at = ends[_i];
	serve_list("7", OBJ("a", "1"));
	server_push(w.server, EVENT("ADDED", "b", "8"));
	begin();
	while (watch)
		event_base_loop(w.base, EVLOOP_ONCE);
	/* Other requests still work. */
	server_json(w.server, "GET /x", 200, "", "{}");
	result_get(&w, &r, "/x");
	ck_assert_int_eq(r.err.code, 0);
	result_clear(&r);
}
END_TEST

SUITE(kube_watch)
{
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, first_what_is_then_what_happens);
	tcase_add_test(tc, pages_are_put_together);
	tcase_add_test(tc, an_event_may_come_in_pieces);
	tcase_add_test(tc, a_watch_that_ends_goes_on_from_there);
	tcase_add_loop_test(tc, cut_case, 0, ARRAY_SIZE(cuts));
	tcase_add_test(tc, a_version_that_is_too_old_begins_anew);
	tcase_add_test(tc, a_watch_may_be_refused_as_too_old);
	tcase_add_test(tc, a_list_that_expires_on_the_way_is_taken_whole);
	tcase_add_loop_test(tc, wrong_case, 0, ARRAY_SIZE(wrongs));
	tcase_add_test(tc, an_object_that_is_too_large_is_refused);
	tcase_add_test(tc, a_silent_watch_is_left);
	tcase_add_test(tc, a_list_that_is_forbidden_is_told_and_tried_again);
	tcase_add_test(tc, a_list_that_is_cut_begins_anew);
	tcase_add_loop_test(tc, the_receiver_may_leave_at_any_time, 0,
	                    ARRAY_SIZE(ends));
}

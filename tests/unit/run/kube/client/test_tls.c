#include <stdlib.h>
#include <string.h>

#include "aischedd/run/kube/client/http.h"
#include "libcommon/mem.h"
#include "tests/unit/check.h"
#include "tests/unit/run/kube/object/world.h"

#define NAMED ", tls-server-name: " SERVER_NAME

static struct kube_world w;

static void set_up(void)
{
	world_begin(&w, true);
}

static void tear_down(void)
{
	world_end(&w);
}

/* Send a request and wait until it has succeeded or failed. */
static void ask(struct result *r)
{
	result_send(&w, r,
	            (struct kube_request){ .path = "/x", .rank = KUBE_READ });
	world_run(&w, &r->done);
	result_clear(r);
}

static bool sent(const char *header)
{
	return strstr(server_head(w.server), header);
}

START_TEST(the_name_may_be_another_than_the_address)
{
	struct result r;
	char *host = xasprintf("Host: 127.0.0.1:%d\r\n", server_port(w.server));

	world_conf(&w, NAMED, "token: secret");
	world_http(&w);
	for (int i = 0; i < 2; i++) {
		server_json(w.server, "GET /x", 200, "", "{}");
		ask(&r);
		ck_assert_msg(!r.err.code, "%s", r.err.text);
	}
	ck_assert(sent("Authorization: Bearer secret\r\n"));
	ck_assert(sent(host));
	ck_assert_uint_eq(server_connections(w.server), 1);
	free(host);
}
END_TEST

/* Expect that a request fails with `why` before anything is sent. */
static void expect_refused(const char *why)
{
	struct result r;

	world_http(&w);
	result_send(&w, &r, (struct kube_request){ .path = "/x" });
	while (!w.ntroubles)
		event_base_loop(w.base, EVLOOP_ONCE);
	ck_assert_msg(strstr(w.trouble.text, "the certificate of API server") &&
	                  strstr(w.trouble.text, why) &&
	                  strstr(w.trouble.text, "of cluster 'c' in"),
	              "%s", w.trouble.text);
	ck_assert_uint_eq(server_requests(w.server), 0);

	world_conf(&w, NAMED, "token: t");
	server_json(w.server, "GET /x", 200, "", "{}");
	world_run(&w, &r.done);
	ck_assert_int_eq(r.err.code, 0);
	ck_assert_uint_eq(w.ntroubles, 1);
	result_clear(&r);
}

START_TEST(another_name_is_refused)
{
	world_conf(&w, "", "token: t");
	expect_refused("no alternative certificate subject name");
}
END_TEST

START_TEST(another_authority_is_refused)
{
	char *cert, *key, *text;

	make_client("stranger", &cert, &key);
	text = xasprintf("current-context: a\n"
	                 "contexts: [{name: a, context: {cluster: c, user: "
	                 "u}}]\n"
	                 "clusters: [{name: c, cluster: {server: "
	                 "'https://127.0.0.1:%d', certificate-authority-data: "
	                 "%s" NAMED "}}]\n"
	                 "users: [{name: u, user: {token: t}}]\n",
	                 server_port(w.server), cert);
	world_file(&w, "conf", text);
	free(text);
	free(cert);
	free(key);
	expect_refused("self");
}
END_TEST

START_TEST(the_system_has_other_authorities)
{
	char *text =
	    xasprintf("current-context: a\n"
	              "contexts: [{name: a, context: {cluster: c, user: u}}]\n"
	              "clusters: [{name: c, cluster: {server: "
	              "'https://127.0.0.1:%d'}}]\n"
	              "users: [{name: u, user: {token: t}}]\n",
	              server_port(w.server));

	world_file(&w, "conf", text);
	free(text);
	expect_refused("self");
}
END_TEST

START_TEST(verification_may_be_switched_off)
{
	struct result r;
	char *text =
	    xasprintf("current-context: a\n"
	              "contexts: [{name: a, context: {cluster: c, user: u}}]\n"
	              "clusters: [{name: c, cluster: {server: "
	              "'https://127.0.0.1:%d', insecure-skip-tls-verify: "
	              "true}}]\n"
	              "users: [{name: u, user: {token: t}}]\n",
	              server_port(w.server));

	world_file(&w, "conf", text);
	free(text);
	world_http(&w);
	server_json(w.server, "GET /x", 200, "", "{}");
	ask(&r);
	ck_assert_int_eq(r.err.code, 0);
	ck_assert_ptr_nonnull(strstr(kube_http_config(w.http)->warning,
	                             "insecure-skip-tls-verify"));
}
END_TEST

START_TEST(a_certificate_says_who_asks)
{
	struct result r;
	char *cert, *key, *user;

	make_client("alice", &cert, &key);
	user = xasprintf("client-certificate-data: %s, client-key-data: %s",
	                 cert, key);
	world_conf(&w, NAMED, user);
	world_http(&w);
	server_json(w.server, "GET /x", 200, "", "{}");
	ask(&r);
	ck_assert_msg(!r.err.code, "%s", r.err.text);
	ck_assert_str_eq(server_user(w.server), "alice");
	ck_assert(!sent("Authorization"));
	free(cert);
	free(key);
	free(user);
}
END_TEST

START_TEST(a_new_token_is_read_when_the_old_one_is_refused)
{
	struct result r;

	world_conf(&w, NAMED, "tokenFile: token");
	world_file(&w, "token", "old");
	world_http(&w);
	server_json(w.server, "GET /x", 200, "", "{}");
	ask(&r);
	ck_assert(sent("Bearer old\r\n"));

	world_file(&w, "token", "new");
	server_json(w.server, "GET /x", 401, "", "{}");
	server_json(w.server, "GET /x", 200, "", "{}");
	ask(&r);
	ck_assert_int_eq(r.err.code, 0);
	ck_assert(sent("Bearer new\r\n"));
	ck_assert_uint_eq(w.ntroubles, 0);
}
END_TEST

START_TEST(tokens_are_read_now_and_then)
{
	struct result r;

	w.limits.reload_ms = 50;
	world_conf(&w, NAMED, "tokenFile: token");
	world_file(&w, "token", "old");
	world_http(&w);
	server_json(w.server, "GET /x", 200, "", "{}");
	ask(&r);
	world_file(&w, "token", "new");
	world_wait(&w, w.limits.reload_ms);
	server_json(w.server, "GET /x", 200, "", "{}");
	ask(&r);
	ck_assert(sent("Bearer new\r\n"));
}
END_TEST

START_TEST(credentials_that_stay_refused_are_told)
{
	struct result r;

	world_conf(&w, NAMED, "token: old");
	world_http(&w);
	for (int i = 0; i < 4; i++)
		server_json(w.server, "GET /x", 401, "",
		            "{\"message\": \"Unauthorized\"}");
	result_send(&w, &r, (struct kube_request){ .path = "/x" });
	while (server_waiting(w.server))
		event_base_loop(w.base, EVLOOP_ONCE);
	ck_assert_msg(strstr(w.trouble.text,
	                     "does not accept the credentials of user "
	                     "'u' in kubeconfig '/tmp/test_kube."),
	              "%s", w.trouble.text);
	ck_assert_uint_eq(w.ntroubles, 1);

	world_conf(&w, NAMED, "token: new");
	server_json(w.server, "GET /x", 200, "", "{}");
	world_run(&w, &r.done);
	ck_assert(sent("Bearer new\r\n"));
	ck_assert_int_eq(w.trouble.code, 0);
	result_clear(&r);
}
END_TEST

START_TEST(who_asks_once_is_told_at_once)
{
	struct result r;

	world_conf(&w, NAMED, "token: old");
	world_http(&w);
	server_json(w.server, "PUT /lease", 401, "", "{}");
	server_json(w.server, "PUT /lease", 401, "", "{}");
	result_send(&w, &r,
	            (struct kube_request){ .method = KUBE_PUT,
	                                   .rank = KUBE_LEASE,
	                                   .once = true,
	                                   .path = "/lease" });
	world_run(&w, &r.done);
	ck_assert_int_eq(r.code, 401);
	ck_assert_int_eq(r.err.code, EACCES);
}
END_TEST

/* --- a credential plugin  */

/* Use a credential plugin that prints the token "T1", then "T2", and so on;
 * `more` is added to the status it prints. */
static void set_plugin(const char *more)
{
	char *script = xasprintf(
	    "echo >>%s/token\n"
	    "printf '{\"apiVersion\": \"client.authentication.k8s.io/v1\", "
	    "\"kind\": \"ExecCredential\", \"status\": {\"token\": "
	    "\"T%%d\"%s}}' \"$(grep -c '^$' %s/token)\"\n",
	    w.folder, more, w.folder);
	char *user = xasprintf(
	    "exec: {apiVersion: client.authentication.k8s.io/v1, command: sh, "
	    "args: [%s/token]}",
	    w.folder);

	world_file(&w, "token", script);
	world_conf(&w, NAMED, user);
	free(script);
	free(user);
}

START_TEST(a_program_is_asked_once_and_when_refused)
{
	struct result r[3];

	set_plugin("");
	world_http(&w);
	for (int i = 0; i < 3; i++) {
		server_json(w.server, "GET /x", 200, "", "{}");
		result_send(&w, &r[i], (struct kube_request){ .path = "/x" });
	}
	for (int i = 0; i < 3; i++) {
		world_run(&w, &r[i].done);
		ck_assert(sent("Bearer T1\r\n"));
		result_clear(&r[i]);
	}
	server_json(w.server, "GET /x", 401, "", "{}");
	server_json(w.server, "GET /x", 200, "", "{}");
	ask(&r[0]);
	ck_assert_int_eq(r[0].err.code, 0);
	ck_assert(sent("Bearer T2\r\n"));
}
END_TEST

START_TEST(what_expires_soon_is_asked_for_again)
{
	struct result r;

	set_plugin(", \"expirationTimestamp\": \"'\"$(date -u -d '4 seconds' "
	           "+%FT%TZ)\"'\"");
	world_http(&w);
	do {
		server_json(w.server, "GET /x", 200, "", "{}");
		ask(&r);
		ck_assert_int_eq(r.err.code, 0);
		world_wait(&w, 50);
	} while (sent("Bearer T1\r\n"));
	ck_assert(sent("Bearer T2\r\n"));
	ck_assert_uint_gt(server_requests(w.server), 2);
}
END_TEST

START_TEST(a_program_that_fails_is_trouble)
{
	struct result r;

	set_plugin("");
	world_file(&w, "token", "echo 'log in first' >&2; exit 1");
	world_http(&w);
	result_send(&w, &r, (struct kube_request){ .path = "/x" });
	while (!w.ntroubles)
		event_base_loop(w.base, EVLOOP_ONCE);
	ck_assert_msg(strstr(w.trouble.text,
	                     "exec 'sh': it ended with status 1: log in first"),
	              "%s", w.trouble.text);
	set_plugin("");
	server_json(w.server, "GET /x", 200, "", "{}");
	world_run(&w, &r.done);
	ck_assert_int_eq(r.err.code, 0);
	result_clear(&r);
}
END_TEST

SUITE(kube_tls)
{
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, the_name_may_be_another_than_the_address);
	tcase_add_test(tc, another_name_is_refused);
	tcase_add_test(tc, another_authority_is_refused);
	tcase_add_test(tc, the_system_has_other_authorities);
	tcase_add_test(tc, verification_may_be_switched_off);
	tcase_add_test(tc, a_certificate_says_who_asks);
	tcase_add_test(tc, a_new_token_is_read_when_the_old_one_is_refused);
	tcase_add_test(tc, tokens_are_read_now_and_then);
	tcase_add_test(tc, credentials_that_stay_refused_are_told);
	tcase_add_test(tc, who_asks_once_is_told_at_once);
	tcase_add_test(tc, a_program_is_asked_once_and_when_refused);
	tcase_add_test(tc, what_expires_soon_is_asked_for_again);
	tcase_add_test(tc, a_program_that_fails_is_trouble);
}

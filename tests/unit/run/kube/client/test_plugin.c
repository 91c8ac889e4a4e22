#include "aischedd/run/kube/client/plugin.h"

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "aischedd/run/kube/client/credential.h"
#include "libcommon/mem.h"
#include "tests/unit/check.h"

#define NOW 1795244400 /* 2026-11-21T07:00:00Z */
#define HEAD \
	"\"apiVersion\": \"" KUBE_PLUGIN_V1 "\", \"kind\": \"ExecCredential\""
#define CERT "-----BEGIN CERTIFICATE-----\\n"
#define KEY  "-----BEGIN PRIVATE KEY-----\\n"

static const struct {
	const char *name, *text,
	    *want; /* token, certificate, key and expiry, or the error */
} outputs[] = {
	{ "token", "{" HEAD ", \"status\": {\"token\": \"t\"}}", "t - - 0" },
	{ "token with a newline",
	  "{" HEAD ", \"status\": {\"token\": \"t\\n\"}}", "t - - 0" },
	{ "certificate",
	  "{" HEAD ", \"status\": {\"clientCertificateData\": \"" CERT "\", "
	  "\"clientKeyData\": \"" KEY "\"}}",
	  "- cert key 0" },
	{ "expiry",
	  "{" HEAD ", \"status\": {\"token\": \"t\", \"expirationTimestamp\": "
	  "\"2026-11-21T07:00:01Z\"}}",
	  "t - - 1795244401" },
	{ "expired",
	  "{" HEAD ", \"status\": {\"token\": \"t\", \"expirationTimestamp\": "
	  "\"2026-11-21T07:00:00Z\"}}",
	  "its credential has expired already; is this machine's clock "
	  "right?" },
	{ "nothing", "", "it printed no JSON" },
	{ "no JSON", "token", "it printed no JSON" },
	{ "no status", "{" HEAD "}",
	  "it printed neither a token nor a certificate" },
	{ "another kind",
	  "{\"apiVersion\": \"" KUBE_PLUGIN_V1 "\", \"kind\": \"Token\"}",
	  "it printed no ExecCredential of " KUBE_PLUGIN_V1 },
	{ "another version",
	  "{\"apiVersion\": \"" KUBE_PLUGIN_V1BETA1
	  "\", \"kind\": \"ExecCredential\"}",
	  "it printed no ExecCredential of " KUBE_PLUGIN_V1 },
	{ "half a certificate",
	  "{" HEAD ", \"status\": {\"clientKeyData\": \"x\", \"token\": "
	  "\"t\"}}",
	  "it printed only one of clientCertificateData and clientKeyData" },
	{ "a token of two lines",
	  "{" HEAD ", \"status\": {\"token\": \"a\\nb\"}}",
	  "its output: has no token in it" },
	{ "a token that is a number", "{" HEAD ", \"status\": {\"token\": 7}}",
	  "its output: status.token is not a text" },
	{ "a time that is none",
	  "{" HEAD ", \"status\": {\"token\": \"t\", \"expirationTimestamp\": "
	  "\"soon\"}}",
	  "its output: status.expirationTimestamp is not a time" },
};

START_TEST(output_case)
{
	struct kube_credential cred = { 0 };
	struct err err;
	char *got;

	if (kube_credential_parse(outputs[_i].text, strlen(outputs[_i].text),
	                          KUBE_PLUGIN_V1, NOW, &cred, &err) < 0)
		got = xstrdup(err.text);
	else
		got =
		    xasprintf("%s %s %s %lld", cred.token ? cred.token : "-",
		              cred.cert ? "cert" : "-", cred.key ? "key" : "-",
		              (long long)cred.expires);
	ck_assert_msg(!strcmp(got, outputs[_i].want), "%s: got %s",
	              outputs[_i].name, got);
	kube_credential_fini(&cred);
	free(got);
}
END_TEST

/* --- run a plugin ---- */

struct plugin_world {
	struct event_base *base;
	struct kube_credential cred;
	struct err err;
	int calls;
};

static void on_result(struct kube_credential *cred, const struct err *err,
                      void *arg)
{
	struct plugin_world *w = arg;

	w->calls++;
	if (cred)
		w->cred = *cred;
	else
		w->err = *err;
	event_base_loopbreak(w->base);
}

/* Returns a kubeconfig whose user has this script as credential plugin. */
static struct kube_config *config_of(const char *script)
{
	char *quoted = xasprintf(
	    "current-context: a\n"
	    "contexts: [{name: a, context: {cluster: c, user: u}}]\n"
	    "clusters: [{name: c, cluster: {server: 'https://h:6443'}}]\n"
	    "users:\n"
	    "- name: u\n"
	    "  user:\n"
	    "    exec:\n"
	    "      apiVersion: " KUBE_PLUGIN_V1 "\n"
	    "      command: sh\n"
	    "      provideClusterInfo: true\n"
	    "      env: [{name: GREETING, value: hello}]\n"
	    "      args:\n"
	    "      - -c\n"
	    "      - |\n"
	    "        %s\n",
	    script);
	struct err err;
	struct kube_config *c =
	    kube_config_parse(quoted, strlen(quoted), "/k", NULL, &err);

	ck_assert_msg(c != NULL, "%s", err.text);
	free(quoted);
	return c;
}

static void run_script(const char *script, int64_t deadline_ms,
                       struct plugin_world *w)
{
	struct kube_config *config = config_of(script);

	*w = (struct plugin_world){ .base = event_base_new() };
	if (kube_plugin_start(w->base, config, deadline_ms, on_result, w,
	                      &w->err))
		event_base_dispatch(w->base);
	/* Wait until a program that was killed is reaped. */
	while (event_base_loop(w->base, EVLOOP_ONCE) == 0)
		;
	event_base_free(w->base);
	kube_config_free(config);
	ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
}

#define PRINT(token) \
	"printf '{" HEAD ", \"status\": {\"token\": \"%s\"}}' " token

START_TEST(a_program_gives_a_token)
{
	struct plugin_world w;

	run_script(PRINT("\"$GREETING\""), 60000, &w);
	ck_assert_msg(w.cred.token != NULL, "%s", w.err.text);
	ck_assert_str_eq(w.cred.token, "hello");
	ck_assert_int_eq(w.calls, 1);
	kube_credential_fini(&w.cred);
}
END_TEST

START_TEST(it_is_told_about_the_cluster)
{
	struct plugin_world w;

	run_script("case $KUBERNETES_EXEC_INFO in *'\"interactive\":false'*"
	           "'\"server\":\"https://h:6443\"'*) " PRINT("yes") ";; esac",
	           60000, &w);
	ck_assert_msg(w.cred.token != NULL, "%s", w.err.text);
	kube_credential_fini(&w.cred);
}
END_TEST

START_TEST(what_it_prints_may_be_long)
{
	struct plugin_world w;

	run_script("head -c 200000 /dev/zero | tr '\\0' ' '; " PRINT("long"),
	           60000, &w);
	ck_assert_msg(w.cred.token != NULL, "%s", w.err.text);
	kube_credential_fini(&w.cred);
}
END_TEST

static const struct {
	const char *name, *script, *want;
	int64_t deadline_ms;
} failures[] = {
	{ "a status", "echo one >&2; printf 'log in\\nfirst\\n' >&2; exit 3",
	  "it ended with status 3: first", 60000 },
	{ "a signal", "kill -9 $$", "it was killed by signal 9", 60000 },
	{ "nothing printed", "exit 0", "it printed no JSON", 60000 },
	{ "a deadline", "sleep 60 & sleep 60",
	  "it did not end in time and was killed", 50 },
	{ "no end of output", "exec cat /dev/zero",
	  "it was killed by signal 13", 60000 },
};

START_TEST(failure_case)
{
	char *want = xasprintf("kubeconfig '/k': user 'u': exec 'sh': %s",
	                       failures[_i].want);
	struct plugin_world w;

	run_script(failures[_i].script, failures[_i].deadline_ms, &w);
	ck_assert_msg(!strcmp(w.err.text, want), "%s: got %s",
	              failures[_i].name, w.err.text);
	ck_assert_int_eq(w.err.code, EACCES);
	ck_assert_int_eq(w.calls, 1);
	free(want);
}
END_TEST

START_TEST(a_program_that_is_missing_is_named)
{
	const char *text =
	    "current-context: a\n"
	    "contexts: [{name: a, context: {cluster: c, user: u}}]\n"
	    "clusters: [{name: c, cluster: {server: 'https://h'}}]\n"
	    "users: [{name: u, user: {exec: {apiVersion: " KUBE_PLUGIN_V1
	    ", command: /none/x, installHint: get x}}}]\n";
	const char *want = "kubeconfig '/k': user 'u': exec '/none/x': it "
			   "ended with status 127: ";
	struct plugin_world w = { 0 };
	struct err err;
	struct kube_config *c =
	    kube_config_parse(text, strlen(text), "/k", NULL, &err);

	ck_assert_msg(c != NULL, "%s", err.text);
	w.base = event_base_new();
	ck_assert_ptr_nonnull(
	    kube_plugin_start(w.base, c, 60000, on_result, &w, &err));
	event_base_dispatch(w.base);
	/* Compare only the beginning and the end: the rest is the shell's. */
	ck_assert_ptr_eq(strstr(w.err.text, want), w.err.text);
	ck_assert_ptr_nonnull(strstr(w.err.text, "/none/x: not found; get x"));
	kube_config_free(c);
	event_base_free(w.base);
}
END_TEST

START_TEST(a_cancelled_program_says_nothing)
{
	struct plugin_world w = { .base = event_base_new() };
	struct kube_config *c = config_of("sleep 60");
	struct kube_plugin_run *run =
	    kube_plugin_start(w.base, c, 5000, on_result, &w, &w.err);

	ck_assert_ptr_nonnull(run);
	kube_config_free(c);
	kube_plugin_cancel(run);
	event_base_dispatch(w.base);
	ck_assert_int_eq(w.calls, 0);
	event_base_free(w.base);
}
END_TEST

SUITE(kube_plugin)
{
	tcase_add_loop_test(tc, output_case, 0, ARRAY_SIZE(outputs));
	tcase_add_test(tc, a_program_gives_a_token);
	tcase_add_test(tc, it_is_told_about_the_cluster);
	tcase_add_test(tc, what_it_prints_may_be_long);
	tcase_add_loop_test(tc, failure_case, 0, ARRAY_SIZE(failures));
	tcase_add_test(tc, a_program_that_is_missing_is_named);
	tcase_add_test(tc, a_cancelled_program_says_nothing);
}

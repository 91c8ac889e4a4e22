#include "aischedd/run/kube/client/kubeconfig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aischedd/run/kube/client/file.h"
#include "aischedd/run/kube/client/yaml.h"
#include "libcommon/buf.h"
#include "libcommon/mem.h"
#include "tests/unit/check.h"

/* Base64 of the first lines of PEM files. */
#define CERT   "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCg=="
#define KEY    "LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0tLS0tCg=="
#define LOCKED "LS0tLS1CRUdJTiBFTkNSWVBURUQgUFJJVkFURSBLRVktLS0tLQo="

static struct kube_config *parse(const char *text, const char *context,
                                 struct err *err)
{
	return kube_config_parse(text, strlen(text), "/k/conf", context, err);
}

/* Parse a kubeconfig with one context, whose cluster and user are these flow
 * mappings. */
static struct kube_config *parse_entry(const char *cluster, const char *user,
                                       struct err *err)
{
	char *text = xasprintf("current-context: a\n"
	                       "contexts: [{name: a, context: {cluster: c, "
	                       "user: u, namespace: ns}}]\n"
	                       "clusters: [{name: c, cluster: {%s}}]\n"
	                       "users: [{name: u, user: {%s}}]\n",
	                       cluster, user);
	struct kube_config *config = parse(text, NULL, err);

	free(text);
	return config;
}

static const struct {
	const char *name, *cluster,
	    *want; /* host, port, prefix and tls, or the error */
} servers[] = {
	{ "default port", "server: 'https://h'", "h 443  1" },
	{ "port", "server: 'https://h:6443/'", "h 6443  1" },
	{ "IPv6", "server: 'https://[::1]:6443'", "[::1] 6443  1" },
	{ "prefix", "server: 'https://h/k8s/c//'", "h 443 /k8s/c 1" },
	{ "plain", "server: 'http://h:80'", "h 80  0" },
	{ "no server", "proxy-url: 'http://p'", "it has no server" },
	{ "no scheme", "server: 'h:6443'",
	  "server 'h:6443' is not an address like https://HOST:6443" },
	{ "another scheme", "server: 'ftp://h'",
	  "server 'ftp://h' is not an address like https://HOST:6443" },
	{ "a password in it", "server: 'https://a:b@h'",
	  "server 'https://a:b@h' is not an address like https://HOST:6443" },
	{ "a query", "server: 'https://h/?x=1'",
	  "server 'https://h/?x=1' is not an address like https://HOST:6443" },
	{ "a name that is none",
	  "server: 'https://h', tls-server-name: 'x/../y'",
	  "tls-server-name 'x/../y' is not a host name" },
	{ "a CA that is not used",
	  "server: 'https://h', insecure-skip-tls-verify: true, "
	  "certificate-authority-data: " CERT,
	  "insecure-skip-tls-verify and a certificate-authority; remove one "
	  "of them" },
	{ "a CA file that is missing",
	  "server: 'https://h', certificate-authority: none.crt",
	  "certificate-authority: '/k/none.crt': No such file or directory" },
	{ "a CA file that is a folder",
	  "server: 'https://h', certificate-authority: /",
	  "certificate-authority: '/' is not a file" },
	{ "a CA that is no base64",
	  "server: 'https://h', certificate-authority-data: '%'",
	  "certificate-authority-data: is not base64" },
	{ "a CA that is no PEM",
	  "server: 'https://h', certificate-authority-data: aGFsbG8=",
	  "certificate-authority-data: has no PEM certificate" },
};

START_TEST(server_case)
{
	struct err err = { 0 };
	struct kube_config *c =
	    parse_entry(servers[_i].cluster, "token: t", &err);
	char *got =
	    c ? xasprintf("%s %s %s %d", c->host, c->port, c->prefix, c->tls)
	      : xstrdup(err.text);
	char *want = c ? xstrdup(servers[_i].want)
	               : xasprintf("kubeconfig '/k/conf': cluster 'c': %s",
	                           servers[_i].want);

	ck_assert_msg(!strcmp(got, want), "%s: got %s", servers[_i].name, got);
	free(got);
	free(want);
	kube_config_free(c);
}
END_TEST

#define EXEC "exec: {apiVersion: client.authentication.k8s.io/v1, command: x"

static const struct {
	const char *name, *user, *want; /* what was read, or the error */
} users[] = {
	{ "nothing", "", "" },
	{ "token", "token: abc", "token=abc " },
	{ "token of digits", "token: 0123", "token=0123 " },
	{ "token with blanks around", "token: ' abc\n'", "token=abc " },
	{ "certificate",
	  "client-certificate-data: " CERT ", client-key-data: " KEY,
	  "cert key " },
	{ "program", EXEC ", args: [a, b], env: [{name: N, value: v}]}",
	  "x a b N=v " },
	{ "program to look for", EXEC "}", "x " },
	{ "program near the file",
	  "exec: {apiVersion: client.authentication.k8s.io/v1beta1, "
	  "command: bin/x}",
	  "/k/bin/x " },
	{ "a token goes before a program", "token: t, " EXEC "}", "token=t " },
	{ "a token with a newline inside", "token: \"a\\nb\"",
	  "token: has no token in it" },
	{ "a token file that is missing", "tokenFile: none, token: t",
	  "tokenFile: '/k/none': No such file or directory" },
	{ "half a certificate", "client-certificate-data: " CERT,
	  "client-certificate and client-key go together" },
	{ "a key with a passphrase",
	  "client-certificate-data: " CERT ", client-key-data: " LOCKED,
	  "client-key-data: is encrypted; give a key without passphrase" },
	{ "another user's name", "token: t, as: bob",
	  "'as' is not supported; use a token, tokenFile, client certificate "
	  "or exec" },
	{ "an old plugin", "auth-provider: {name: gcp}",
	  "'auth-provider' is not supported; use a token, tokenFile, client "
	  "certificate or exec" },
	{ "a program without a name",
	  "exec: {apiVersion: client.authentication.k8s.io/v1}",
	  "exec: it has no command" },
	{ "a program of an old version",
	  "exec: {apiVersion: client.authentication.k8s.io/v1alpha1, command: "
	  "x}",
	  "exec: apiVersion 'client.authentication.k8s.io/v1alpha1' is not "
	  "supported; use client.authentication.k8s.io/v1" },
	{ "a program that asks", EXEC ", interactiveMode: Always}",
	  "exec: interactiveMode is Always, but the daemon cannot ask anybody" },
	{ "arguments that are none", EXEC ", args: [[a]]}",
	  "exec: args must be a list of texts, and env a list of name and value" },
	{ "variables that are none", EXEC ", env: [{name: N}]}",
	  "exec: args must be a list of texts, and env a list of name and value" },
};

static char *describe(const struct kube_config *c)
{
	struct buf out = { 0 };

	if (c->token)
		buf_printf(&out, "token=%s ", c->token);
	if (c->cert)
		buf_puts(&out, "cert ");
	if (c->key)
		buf_puts(&out, "key ");
	for (size_t i = 0; c->plugin && c->plugin->argv[i]; i++)
		buf_printf(&out, "%s ", c->plugin->argv[i]);
	for (size_t i = 0; c->plugin && c->plugin->env[i]; i++)
		buf_printf(&out, "%s ", c->plugin->env[i]);
	return buf_take(&out);
}

START_TEST(user_case)
{
	struct err err = { 0 };
	struct kube_config *c =
	    parse_entry("server: 'https://h'", users[_i].user, &err);
	char *got = c ? describe(c) : xstrdup(err.text);
	char *want =
	    c ? xstrdup(users[_i].want)
	      : xasprintf("kubeconfig '/k/conf': user 'u': %s", users[_i].want);

	ck_assert_msg(!strcmp(got, want), "%s: got %s", users[_i].name, got);
	free(got);
	free(want);
	kube_config_free(c);
}
END_TEST

static const struct {
	const char *name, *text, *context, *want;
} contexts[] = {
	{ "nothing in it", "", NULL,
	  "it has no current-context; name one of: none" },
	{ "no current one",
	  "contexts: [{name: a, context: {}}, {name: b, context: {}}]", NULL,
	  "it has no current-context; name one of: a, b" },
	{ "one that is not there", "contexts: [{name: a, context: {}}]", "x",
	  "there is no context 'x'; there are: a" },
	{ "one without a cluster", "contexts: [{name: a, context: {}}]", "a",
	  "context 'a': it names no cluster" },
	{ "a cluster that is not there",
	  "contexts: [{name: a, context: {cluster: c}}]", "a",
	  "context 'a': it names cluster 'c', which is not there" },
	{ "a user that is not there",
	  "contexts: [{name: a, context: {cluster: c, user: u}}]\n"
	  "clusters: [{name: c, cluster: {server: 'https://h'}}]",
	  "a", "context 'a': it names user 'u', which is not there" },
	{ "a list", "- a", NULL,
	  "it has no current-context; name one of: none" },
	{ "no YAML", "a: [", NULL,
	  "line 2: did not find expected node content" },
	{ "an alias", "a: &x 1\nb: *x", NULL,
	  "line 2: aliases are not supported; write the value out" },
	{ "a key twice", "a: 1\nb: 2\na: 3", NULL,
	  "line 3: a key is given twice" },
	{ "a key that is none", "? [a]\n: b", NULL,
	  "line 1: a key is not text" },
	{ "two documents", "a: 1\n---\nb: 1", NULL,
	  "line 2: a second document begins" },
	{ "a zero byte", "a: \"x\\0y\"", NULL,
	  "line 1: a zero byte in a text" },
	{ "bytes that are no text", "a: \xff", NULL,
	  "line 1: invalid leading UTF-8 octet" },
};

START_TEST(context_case)
{
	char *want = xasprintf("kubeconfig '/k/conf': %s", contexts[_i].want);
	struct err err = { 0 };

	ck_assert_ptr_null(
	    parse(contexts[_i].text, contexts[_i].context, &err));
	ck_assert_msg(!strcmp(err.text, want), "%s: got %s", contexts[_i].name,
	              err.text);
	ck_assert_int_ne(err.code, 0);
	free(want);
}
END_TEST

START_TEST(all_of_a_cluster_is_read)
{
	struct err err = { 0 };
	struct kube_config *c = parse_entry(
	    "server: 'https://h', proxy-url: 'http://p:1', tls-server-name: n, "
	    "disable-compression: true, certificate-authority-data: " CERT,
	    "token: t", &err);

	ck_assert_msg(c != NULL, "%s", err.text);
	ck_assert_str_eq(c->source, "kubeconfig '/k/conf'");
	ck_assert_str_eq(c->cluster, "c");
	ck_assert_str_eq(c->user, "u");
	ck_assert_str_eq(c->namespace, "ns");
	ck_assert_str_eq(c->proxy, "http://p:1");
	ck_assert_str_eq(c->tls_name, "n");
	ck_assert_str_eq(c->ca, "-----BEGIN CERTIFICATE-----\n");
	ck_assert(!c->compress && !c->insecure && !c->in_pod);
	ck_assert_ptr_null(c->warning);
	kube_config_free(c);
}
END_TEST

START_TEST(what_is_not_safe_is_told)
{
	struct err err = { 0 };
	struct kube_config *c = parse_entry(
	    "server: 'https://h', insecure-skip-tls-verify: true", "", &err);

	ck_assert_ptr_nonnull(c);
	ck_assert(c->insecure);
	ck_assert_str_eq(c->warning,
	                 "kubeconfig '/k/conf': cluster 'c': "
	                 "insecure-skip-tls-verify: whoever answers in place "
	                 "of the API server gets the credentials");
	kube_config_free(c);
	c = parse_entry("server: 'http://h'", "", &err);
	ck_assert_ptr_nonnull(c);
	ck_assert_str_eq(c->warning,
	                 "kubeconfig '/k/conf': cluster 'c': the server is "
	                 "http://: nothing is encrypted, and no credentials "
	                 "are sent");
	kube_config_free(c);
}
END_TEST

START_TEST(too_deep_or_too_large_is_refused)
{
	struct buf text = { 0 };
	struct err err = { 0 };

	buf_puts(&text, "a: ");
	for (int i = 0; i < KUBE_YAML_DEPTH + 1; i++)
		buf_addc(&text, '[');
	ck_assert_ptr_null(kube_yaml_parse(text.data, text.len, &err));
	ck_assert_str_eq(err.text, "line 1: values are nested too deep");

	buf_clear(&text);
	for (int i = 0; i <= KUBE_YAML_NODES; i++)
		buf_puts(&text, "- a\n");
	ck_assert_ptr_null(kube_yaml_parse(text.data, text.len, &err));
	ck_assert_str_eq(err.text, "line 100000: too many values");

	ck_assert_ptr_null(
	    kube_yaml_parse(text.data, KUBE_YAML_BYTES + 1, &err));
	ck_assert_str_eq(err.text, "it is larger than 4 MiB");
	buf_free(&text);
}
END_TEST

static const struct {
	const char *text, *want; /* NULL: refused */
} encoded[] = {
	{ "", "" },        { "YQ==", "a" },           { "YWI=", "ab" },
	{ "YWJj", "abc" }, { "YW Jj\nZA==", "abcd" }, { "YQ=", NULL },
	{ "YQ", NULL },    { "YQ==YQ==", NULL },      { "====", NULL },
	{ "Y?==", NULL },  { "AAAA", NULL },          { "/+8=", "\xff\xef" },
};

START_TEST(base64_case)
{
	struct arena *arena = arena_new();
	struct err err;
	char *got = kube_base64(encoded[_i].text, arena, &err);

	ck_assert_pstr_eq(got, encoded[_i].want);
	arena_free(arena);
}
END_TEST

/* --- files --- */

static char *folder;

static const char *const files[] = { "conf", "second", "token", "ca.crt",
	                             "namespace" };

static char *path_of(const char *name)
{
	return xasprintf("%s/%s", folder, name);
}

static void put_file(const char *name, const char *text)
{
	char *path = path_of(name);
	FILE *file = fopen(path, "w");

	ck_assert_ptr_nonnull(file);
	fputs(text, file);
	fclose(file);
	free(path);
}

static void set_up(void)
{
	folder = xstrdup("/tmp/test_kube.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	unsetenv("KUBERNETES_SERVICE_HOST");
	unsetenv("KUBECONFIG");
	setenv("HOME", "/nonexistent", 1);
}

static void tear_down(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		char *path = path_of(files[i]);

		unlink(path);
		free(path);
	}
	rmdir(folder);
	free(folder);
}

#define CONTEXT "contexts: [{name: a, context: {cluster: c, user: u}}]\n"
#define CLUSTER "clusters: [{name: c, cluster: {server: 'https://h'}}]\n"
#define USER    "users: [{name: u, user: {tokenFile: token}}]\n"

START_TEST(files_are_read_beside_the_kubeconfig)
{
	struct err err = { 0 };
	char *path = path_of("conf");
	struct kube_config *one, *other;

	put_file("conf", "current-context: a\n" CONTEXT CLUSTER USER);
	put_file("token", "first\n");
	one = kube_config_load(path, "", &err);
	ck_assert_msg(one != NULL, "%s", err.text);
	ck_assert_str_eq(one->token, "first");

	other = kube_config_load(path, NULL, &err);
	ck_assert(kube_config_same(one, other));
	kube_config_free(other);

	put_file("token", "second\n");
	other = kube_config_load(path, NULL, &err);
	ck_assert_str_eq(other->token, "second");
	ck_assert(!kube_config_same(one, other));
	kube_config_free(other);
	kube_config_free(one);
	free(path);
}
END_TEST

START_TEST(several_files_are_one)
{
	struct err err = { 0 };
	struct kube_config *c;
	char *list =
	    xasprintf("%s/none:%s/second:%s/conf", folder, folder, folder);

	setenv("KUBECONFIG", list, 1);
	put_file("second", "current-context: a\n" CONTEXT
	                   "users: [{name: u, user: {token: t2}}]\n");
	put_file("conf", "current-context: b\n" CONTEXT CLUSTER USER);
	c = kube_config_load(NULL, NULL, &err);
	ck_assert_msg(c != NULL, "%s", err.text);
	ck_assert_str_eq(c->token, "t2");
	ck_assert_str_eq(c->host, "h");
	kube_config_free(c);
	free(list);
}
END_TEST

START_TEST(a_file_that_is_not_there_is_named)
{
	struct err err = { 0 };

	ck_assert_ptr_null(kube_config_load("/none/conf", NULL, &err));
	ck_assert_str_eq(err.text, "kubeconfig: '/none/conf': No such file or "
	                           "directory; name the right file as "
	                           "'kubeconfig' of the pool");
	ck_assert_int_eq(err.code, ENOENT);
	ck_assert_ptr_null(kube_config_load(NULL, NULL, &err));
	ck_assert_ptr_nonnull(
	    strstr(err.text, "kubeconfig: '/nonexistent/.kube/config': No "));
}
END_TEST

START_TEST(a_pod_has_a_service_account)
{
	struct err err = { 0 };
	struct kube_config *c;

	put_file("token", "tok\n");
	put_file("ca.crt", "-----BEGIN CERTIFICATE-----\n");
	put_file("namespace", "batch");
	c = kube_config_pod(folder, "fd00::1", "443", &err);
	ck_assert_msg(c != NULL, "%s", err.text);
	ck_assert_str_eq(c->server, "https://[fd00::1]:443");
	ck_assert_str_eq(c->host, "[fd00::1]");
	ck_assert_str_eq(c->token, "tok");
	ck_assert_str_eq(c->namespace, "batch");
	ck_assert(c->in_pod && c->tls && c->ca);
	kube_config_free(c);

	put_file("token", "");
	ck_assert_ptr_null(kube_config_pod(folder, "h", "443", &err));
	ck_assert_ptr_nonnull(strstr(err.text, "/token': has no token in it"));
}
END_TEST

START_TEST(in_a_pod_there_must_be_one)
{
	struct err err = { 0 };

	setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1", 1);
	setenv("KUBERNETES_SERVICE_PORT", "443", 1);
	ck_assert_ptr_null(kube_config_load("", NULL, &err));
	ck_assert_str_eq(err.text,
	                 "service account: '" KUBE_SERVICE_ACCOUNT
	                 "/token': No such file or directory; let the pod "
	                 "mount it, or name a kubeconfig");
	unsetenv("KUBERNETES_SERVICE_HOST");
}
END_TEST

SUITE(kube_config)
{
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_loop_test(tc, server_case, 0, ARRAY_SIZE(servers));
	tcase_add_loop_test(tc, user_case, 0, ARRAY_SIZE(users));
	tcase_add_loop_test(tc, context_case, 0, ARRAY_SIZE(contexts));
	tcase_add_loop_test(tc, base64_case, 0, ARRAY_SIZE(encoded));
	tcase_add_test(tc, all_of_a_cluster_is_read);
	tcase_add_test(tc, what_is_not_safe_is_told);
	tcase_add_test(tc, too_deep_or_too_large_is_refused);
	tcase_add_test(tc, files_are_read_beside_the_kubeconfig);
	tcase_add_test(tc, several_files_are_one);
	tcase_add_test(tc, a_file_that_is_not_there_is_named);
	tcase_add_test(tc, a_pod_has_a_service_account);
	tcase_add_test(tc, in_a_pod_there_must_be_one);
}

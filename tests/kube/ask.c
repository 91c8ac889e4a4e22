/*
 * ask.c - make calls with aischedd's client of the Kubernetes API, for tests
 *
 *	ask KUBECONFIG METHOD PATH [BODY]	one request
 *	ask KUBECONFIG list PATH...	kind and phase of each item, a line each
 *	ask KUBECONFIG table PATH FIELD...	fields of each item, a line each
 *	ask KUBECONFIG watch PATH		until it is killed
 *	ask KUBECONFIG many COUNT PATH BODY	COUNT POSTs, with %d = 0, 1, ...
 *
 * METHOD is get, post, put, delete, merge, strategic or json. Prints the status
 * and the answer or error of a call, and the news of a watch, one a line.
 * "trouble: …" and "well" are about the server as a whole; on trouble, all
 * calls but watches give up.
 *
 * A FIELD is the keys that lead to it, KEY:KEY...; if lists are on the way, its
 * values are joined by commas; "-" stands for none.
 */
#include <err.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aischedd/run/kube/client/http.h"
#include "aischedd/run/kube/client/watch.h"
#include "libcommon/mem.h"

enum { DEADLINE_MS = 60000 };

static struct event_base *base;
static int pending, status;
static bool watching;
static char **fields; /* of a table, ends with NULL */

static void on_trouble(const struct err *trouble, void *arg)
{
	(void)arg;
	if (trouble)
		printf("trouble: %s\n", trouble->text);
	else
		printf("well\n");
	if (trouble && !watching) {
		status = EXIT_FAILURE;
		event_base_loopbreak(base);
	}
}

static void on_done(const struct kube_answer *answer, void *arg)
{
	char *body =
	    answer->body ? json_dumps(answer->body, JSON_COMPACT) : xstrdup("");
	bool quiet = arg != NULL;

	if (answer->err) {
		printf("%d %s: %s\n", answer->code, answer->reason,
		       answer->err->text);
		status = EXIT_FAILURE;
	} else if (!quiet) {
		printf("%d %s\n", answer->code, body);
	}
	free(body);
	if (--pending == 0)
		event_base_loopbreak(base);
}

static void on_list(const struct kube_answer *answer, void *arg)
{
	const char *kind =
	    json_string_value(json_object_get(answer->body, "kind"));
	size_t len = kind ? strlen(kind) : 0, i;
	json_t *item;

	(void)arg;
	if (answer->err || len < strlen("List")) {
		printf("%d %s\n", answer->code, answer->reason);
		status = EXIT_FAILURE;
	}
	json_array_foreach(json_object_get(answer->body, "items"), i, item) {
		const char *phase = json_string_value(
		    json_object_get(json_object_get(item, "status"), "phase"));

		printf("%.*s%s%s\n", (int)(len - strlen("List")), kind,
		       phase ? " " : "", phase ? phase : "");
	}
	if (--pending == 0)
		event_base_loopbreak(base);
}

/* Print the values of a field below this one, the first one after a comma if
 * some come before it. Returns whether some were printed by now. */
static bool print_values(json_t *value, const char *field, bool some)
{
	size_t len = strcspn(field, ":"), i;
	json_t *each;

	if (json_is_array(value)) {
		json_array_foreach(value, i, each)
			some = print_values(each, field, some);
		return some;
	}
	if (*field) {
		value = json_object_getn(value, field, len);
		field += len + (field[len] == ':');
		return print_values(value, field, some);
	}
	if (!value)
		return some;
	printf("%s", some ? "," : "");
	if (json_is_string(value))
		printf("%s", json_string_value(value));
	else
		json_dumpf(value, stdout, JSON_ENCODE_ANY | JSON_COMPACT);
	return true;
}

static void print_row(json_t *item)
{
	for (char **field = fields; *field; field++) {
		printf("%s", field == fields ? "" : " ");
		if (!print_values(item, *field, false))
			printf("-");
	}
	printf("\n");
}

static void on_table(const struct kube_answer *answer, void *arg)
{
	json_t *items = json_object_get(answer->body, "items"), *item;
	size_t i;

	(void)arg;
	if (answer->err)
		errx(EXIT_FAILURE, "%d %s", answer->code, answer->reason);
	if (!items)
		print_row(answer->body);
	json_array_foreach(items, i, item)
		print_row(item);
	event_base_loopbreak(base);
}

static void get(struct kube_http *http, const char *path, kube_done_fn *done)
{
	pending++;
	kube_http_send(http, &(struct kube_request){
				 .method = KUBE_GET,
				 .path = path,
				 .deadline_ms = DEADLINE_MS,
				 .done = done,
			     });
}

static void send_one(struct kube_http *http, enum kube_method method,
                     const char *path, const char *text, bool quiet)
{
	json_error_t why;
	json_t *body = NULL;

	if (text && !(body = json_loads(text, 0, &why)))
		errx(EXIT_FAILURE, "the body: %s", why.text);
	pending++;
	kube_http_send(http,
	               &(struct kube_request){ .method = method,
	                                       .path = path,
	                                       .body = body,
	                                       .deadline_ms = DEADLINE_MS,
	                                       .done = on_done,
	                                       .arg = quiet ? http : NULL });
	json_decref(body);
}

static void send_many(struct kube_http *http, int count, const char *path,
                      const char *text)
{
	const char *number = strstr(text, "%d");

	if (!number)
		errx(EXIT_FAILURE, "no %%d in the body");
	for (int i = 0; i < count; i++) {
		char *body = xasprintf("%.*s%d%s", (int)(number - text), text,
		                       i, number + 2);

		send_one(http, KUBE_POST, path, body, true);
		free(body);
	}
}

static void on_news(enum kube_news news, json_t *obj, const struct err *why,
                    void *arg)
{
	static const char *const names[] = {
		[KUBE_RESET] = "reset",       [KUBE_ADDED] = "added",
		[KUBE_MODIFIED] = "modified", [KUBE_DELETED] = "deleted",
		[KUBE_SYNCED] = "synced",     [KUBE_TROUBLE] = "slow:",
	};
	const char *name = json_string_value(
	    json_object_get(json_object_get(obj, "metadata"), "name"));

	(void)arg;
	printf("%s %s\n", names[news], name ? name : why ? why->text : "");
}

static enum kube_method method_of(const char *name)
{
	static const char *const names[] = {
		[KUBE_GET] = "get",         [KUBE_POST] = "post",
		[KUBE_PUT] = "put",         [KUBE_DELETE] = "delete",
		[KUBE_MERGE] = "merge",     [KUBE_STRATEGIC] = "strategic",
		[KUBE_JSON_PATCH] = "json",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(name, names[i]))
			return (enum kube_method)i;
	errx(EXIT_FAILURE, "no method '%s'", name);
}

int main(int argc, char **argv)
{
	struct kube_watch_spec spec = kube_watch_default;
	struct kube_watch *watch = NULL;
	struct kube_http *http;

	if (argc < 4)
		errx(EXIT_FAILURE, "usage: ask KUBECONFIG METHOD PATH [BODY]");
	setvbuf(stdout, NULL, _IOLBF, 0);
	base = event_base_new();
	http = kube_http_new(base, argv[1], NULL, NULL, on_trouble, NULL);
	if (!strcmp(argv[2], "watch")) {
		watching = true;
		spec.path = argv[3];
		spec.fn = on_news;
		watch = kube_watch_new(http, &spec);
	} else if (!strcmp(argv[2], "list")) {
		for (char **path = argv + 3; *path; path++)
			get(http, *path, on_list);
	} else if (!strcmp(argv[2], "table")) {
		fields = argv + 4;
		get(http, argv[3], on_table);
	} else if (!strcmp(argv[2], "many") && argc > 5) {
		send_many(http, (int)strtol(argv[3], NULL, 10), argv[4],
		          argv[5]);
	} else {
		send_one(http, method_of(argv[2]), argv[3],
		         argc > 4 ? argv[4] : NULL, false);
	}
	event_base_dispatch(base);
	kube_watch_free(watch);
	kube_http_free(http);
	event_base_free(base);
	return status;
}

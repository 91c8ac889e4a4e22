/* link.c - log in to the web page: links, sessions */
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aiq/aiq.h"
#include "libcommon/buf.h"
#include "libcommon/client/json_out.h"
#include "libcommon/mem.h"
#include "libcommon/parse.h"

extern char **environ;

static json_t *ask(struct client *client, const char *action, struct err *err)
{
	json_t *req = json_pack("{s:s, s:s}", "op", "web", "action", action);
	json_t *answer = client_call(client, req, NULL, 0, NULL, NULL, err);

	json_decref(req);
	return answer;
}

static int open_browser(const char *link, struct err *err)
{
	const char *const args[] = { "xdg-open", link, NULL };
	pid_t pid;
	int code = posix_spawnp(&pid, args[0], NULL, NULL,
	                        (char **)(uintptr_t)args, environ);

	errno = code;
	return code ? err_sys(err, "cannot start 'xdg-open'") : 0;
}

/* Print the link and, on a terminal, how to reach the page from another
 * machine: through ssh, because the daemon serves it only on a loopback
 * address. */
static void print_ways(const char *url, const char *link)
{
	char host[256] = "";
	const char *port = strrchr(url, ':');
	int len = port ? (int)strcspn(port + 1, "/") : 0;

	printf("%s\n", link);
	if (!isatty(STDOUT_FILENO) || !len ||
	    gethostname(host, sizeof(host) - 1))
		return;
	printf("It works once, within a minute. From another machine first:\n"
	       "  ssh -L %.*s:127.0.0.1:%.*s %s\n",
	       len, port + 1, len, port + 1, host);
}

static int make_link(const struct aiq *aiq, struct client *client,
                     struct err *err)
{
	json_t *answer = ask(client, "link", err);
	const char *url, *token;
	char *link;
	int rc = 0;

	if (!answer)
		return -1;
	url = json_string_value(json_object_get(answer, "url"));
	token = json_string_value(json_object_get(answer, "token"));
	link = xasprintf("%s#k=%s", url ? url : "", token ? token : "");
	if (aiq->json) {
		json_object_set_new(answer, "link", json_string(link));
		json_out(answer, JSON_COMPACT, stdout);
		putchar('\n');
	} else if (aiq->open) {
		rc = open_browser(link, err);
	} else {
		print_ways(url, link);
	}
	free(link);
	json_decref(answer);
	return rc;
}

static int list_sessions(const struct aiq *aiq, struct client *client,
                         struct err *err)
{
	json_t *answer = ask(client, "list", err), *one;
	size_t i;

	if (!answer)
		return -1;
	if (aiq->json) {
		json_out(answer, JSON_COMPACT, stdout);
		putchar('\n');
	}
	json_array_foreach(json_object_get(answer, "sessions"), i, one) {
		struct buf line = { 0 };

		if (aiq->json)
			break;
		buf_puts(&line, "since ");
		format_time(&line,
		            json_integer_value(json_object_get(one, "began")));
		buf_puts(&line, ", until ");
		format_time(&line,
		            json_integer_value(json_object_get(one, "until")));
		puts(line.data);
		buf_free(&line);
	}
	json_decref(answer);
	return 0;
}

int link_run(const struct aiq *aiq, struct client *client, struct err *err)
{
	json_t *answer;

	if (aiq->list)
		return list_sessions(aiq, client, err);
	if (!aiq->logout)
		return make_link(aiq, client, err);
	answer = ask(client, "logout", err);
	json_decref(answer);
	return answer ? 0 : -1;
}

/* accounting.c - check that the stored sums of resource usage agree with
 * the attempts */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aictl/aictl.h"
#include "aictl/command.h"
#include "libcommon/buf.h"
#include "libcommon/client/json_out.h"
#include "libcommon/parse.h"

enum { SAID_MOST = 100 }; /* lines of differences to print at most */

static json_int_t number(const json_t *answer, const char *key)
{
	return json_integer_value(json_object_get(answer, key));
}

/* Show the progress on a terminal, on a line that is overwritten. */
static void show_progress(const json_t *answer)
{
	json_int_t first = number(answer, "first");
	json_int_t all = number(answer, "last") - first + 1;
	json_int_t next = number(answer, "next");
	struct buf day = { 0 };

	if (!isatty(STDERR_FILENO))
		return;
	if (next) {
		format_time(&day, next);
		fprintf(stderr, "\rchecked up to %.10s (%lld %%) ", day.data,
		        (long long)(100 * (next - first) / all));
	} else {
		fprintf(stderr, "\r\033[K");
	}
	fflush(stderr);
	buf_free(&day);
}

struct totals {
	json_int_t attempts, sums, wrong;
	json_t *texts;
};

static void add(struct totals *t, const json_t *answer)
{
	t->attempts += number(answer, "attempts");
	t->sums += number(answer, "sums");
	t->wrong += number(answer, "wrong");
	if (json_array_size(t->texts) < SAID_MOST)
		json_array_extend(t->texts, json_object_get(answer, "texts"));
}

static void print(const struct ctl *ctl, const struct totals *t)
{
	size_t n = json_array_size(t->texts);
	json_t *all, *text;
	size_t i;

	if (ctl->json) {
		all = json_pack("{s:I, s:I, s:I, s:O}", "attempts", t->attempts,
		                "sums", t->sums, "wrong", t->wrong, "texts",
		                t->texts);
		json_out(all, JSON_COMPACT, stdout);
		putchar('\n');
		json_decref(all);
		return;
	}
	json_array_foreach(t->texts, i, text)
		ctl_warn(ctl, "%s", json_string_value(text));
	if (t->wrong > (json_int_t)n)
		ctl_warn(ctl, "... and %lld more",
		         (long long)(t->wrong - (json_int_t)n));
	printf("%lld sums of %lld attempts: %lld wrong\n", (long long)t->sums,
	       (long long)t->attempts, (long long)t->wrong);
}

int run_accounting(struct ctl *ctl, int argc, char **argv)
{
	struct totals t = { 0 };
	json_int_t from = 0;
	json_t *answer;
	struct err why;

	(void)argc;
	if (strcmp(argv[1], "check") != 0) {
		ctl_warn(ctl, "accounting takes 'check', not '%s'", argv[1]);
		return EXIT_USAGE;
	}
	t.texts = json_array();
	do {
		json_t *req =
		    json_pack("{s:s, s:I}", "op", "accounting", "from", from);

		answer = ctl_call(ctl, req, NULL, NULL, &why);
		json_decref(req);
		if (!answer) {
			ctl_warn(ctl, "%s", why.text);
			json_decref(t.texts);
			return EXIT_FAILURE;
		}
		add(&t, answer);
		show_progress(answer);
		from = number(answer, "next");
		json_decref(answer);
	} while (from);
	print(ctl, &t);
	json_decref(t.texts);
	return t.wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}

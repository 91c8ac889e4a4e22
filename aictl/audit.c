/* audit.c - list who did what */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "aictl/aictl.h"
#include "aictl/command.h"
#include "libcommon/buf.h"
#include "libcommon/client/table.h"
#include "libcommon/mem.h"
#include "libcommon/parse.h"

enum { MOST = 10000 };

#define AT(member) .offset = offsetof(struct ctl, audit.member)

/* clang-format off */
const struct opt audit_opts[] = {
	{ 'u', "user", "USER", "acts of this user", opt_set_text, AT(user) },
	{ 0, "act", "ACT", "acts of this kind: cancel, hold, drain ...", opt_set_text,
	  AT(act) },
	{ 'j', "job", "JOB", "acts on this job, or on all of this array",
	  opt_set_text, AT(job) },
	{ 0, "since", "TIME", "acts from TIME on", opt_set_text, AT(since) },
	{ 0, "until", "TIME", "acts up to TIME", opt_set_text, AT(until) },
	{ 'n', NULL, "COUNT", "the latest N acts (100)",
	  opt_set_text, AT(count) },
	OPT_END
};
/* clang-format on */

static void put_row(struct buf *out, const json_t *row)
{
	static const char *const keys[] = { "user", "act", "target", "owner",
		                            "text" };

	format_time(out,
	            (int64_t)json_number_value(json_object_get(row, "time")));
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		const char *s =
		    json_string_value(json_object_get(row, keys[i]));

		buf_addc(out, '\t');
		buf_puts(out, s ? s : "");
	}
	buf_addc(out, '\n');
}

/* Print the rows, the oldest first. */
static void print_rows(const json_t *list)
{
	static const char *const header[] = { "TIME",   "USER",  "ACT",
		                              "TARGET", "OWNER", "TEXT" };
	static const bool right[ARRAY_SIZE(header)];
	struct buf text = { 0 };

	for (size_t i = json_array_size(list); i-- > 0;)
		put_row(&text, json_array_get(list, i));
	table_show(ARRAY_SIZE(header), header, right, &text);
}

static int take_filters(const struct ctl *ctl, json_t *req, struct err *err)
{
	const struct {
		const char *key, *text;
	} times[] = { { "since", ctl->audit.since },
		      { "until", ctl->audit.until } };
	int64_t now = time(NULL), n;

	for (size_t i = 0; i < ARRAY_SIZE(times); i++) {
		if (!times[i].text)
			continue;
		if (parse_time(times[i].text, now, &n, err) < 0)
			return err_wrap(err, "--%s", times[i].key);
		json_object_set_new(req, times[i].key, json_integer(n));
	}
	if (ctl->audit.job) {
		if (parse_int(ctl->audit.job, 1, INT64_MAX / 2, &n, err) < 0)
			return err_wrap(err, "--job");
		json_object_set_new(req, "job", json_integer(n));
	}
	if (ctl->audit.count) {
		if (parse_int(ctl->audit.count, 1, MOST, &n, err) < 0)
			return err_wrap(err, "-n");
		json_object_set_new(req, "limit", json_integer(n));
	}
	if (ctl->audit.user)
		json_object_set_new(req, "user", json_string(ctl->audit.user));
	if (ctl->audit.act)
		json_object_set_new(req, "act", json_string(ctl->audit.act));
	return 0;
}

int run_audit(struct ctl *ctl, int argc, char **argv)
{
	json_t *req = json_pack("{s:s}", "op", "audit"), *answer;
	struct err why;

	(void)argc, (void)argv;
	if (take_filters(ctl, req, &why) < 0) {
		ctl_warn(ctl, "audit: %s", why.text);
		json_decref(req);
		return EXIT_USAGE;
	}
	answer = ctl_ask(ctl, req);
	if (answer && !ctl->json)
		print_rows(json_object_get(answer, "audit"));
	return ctl_finish(ctl, answer);
}

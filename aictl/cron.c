/* cron.c - the commands of recurring work; the times of a schedule */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "aictl/aictl.h"
#include "aictl/command.h"
#include "aictl/cron.h"
#include "libcommon/client/json_out.h"
#include "libcommon/cron/schedule.h"
#include "libcommon/cron/zone.h"
#include "libcommon/mem.h"
#include "libcommon/parse.h"

enum { COUNT = 5, COUNT_MAX = 100000 };

#define AT(member) .offset = offsetof(struct ctl, cron.member)

/* clang-format off */
const struct opt cron_opts[] = {
	{ 0, "tz", "ZONE", "time zone, like Europe/Berlin (this machine's)",
	  opt_set_text, AT(zone) },
	{ 0, "from", "TIME", "times after this one (now)", opt_set_text,
	  AT(from) },
	{ 'n', "count", "N", "how many (5)", opt_set_text, AT(count) },
	{ 'a', "all", NULL, "entries of everyone, not just mine", opt_set_true,
	  AT(all) },
	{ 'u', "user", "USER", "entries, or the file, of this user",
	  opt_set_text, AT(user) },
	{ 'q', "queue", "QUEUE", "entries of this queue", opt_set_text,
	  AT(queue) },
	{ 0, "cancel", NULL, "end its runs, too (delete)", opt_set_true,
	  AT(cancel) },
	{ 'e', "edit", NULL, "edit the file, as edit", opt_set_true, AT(edit) },
	{ 'l', "print", NULL, "print the file, as print", opt_set_true, AT(print) },
	{ 'r', "clear", NULL, "clear the file, as clear", opt_set_true, AT(clear) },
	OPT_END
};
/* clang-format on */

/* Cut "+02:00" or "Z" off the end of a time, and get it in seconds; returns
 * false if there is none. */
static bool take_offset(char *text, int64_t *ret)
{
	size_t len = strlen(text);
	const char *o = len > 6 ? text + len - 6 : text;
	int hours, minutes, end = 0;

	*ret = 0;
	if (len && text[len - 1] == 'Z') {
		text[len - 1] = '\0';
		return true;
	}
	if ((*o != '+' && *o != '-') || !strchr(text, 'T') ||
	    sscanf(o + 1, "%2d:%2d%n", &hours, &minutes, &end) != 2 || end != 5)
		return false;
	*ret = (hours * 60 + minutes) * (*o == '-' ? -60 : 60);
	text[len - 6] = '\0';
	return true;
}

/* Parse a time without a zone into a local time (zone.h): parse_time() returns
 * this while TZ is set to UTC. */
static int parse_local(const char *text, int64_t now, int64_t *ret,
                       struct err *err)
{
	char *was = getenv("TZ") ? xstrdup(getenv("TZ")) : NULL;
	int rc;

	setenv("TZ", "UTC0", 1);
	tzset();
	rc = parse_time(text, now, ret, err);
	if (was)
		setenv("TZ", was, 1);
	else
		unsetenv("TZ");
	tzset();
	free(was);
	return rc;
}

/* Parse --from. A time without an offset is on the clock of the zone; if the
 * clock skips that time, use the offset from before the gap. */
static int parse_from(const char *from, const struct zone *zone, int64_t now,
                      int64_t *ret, struct err *err)
{
	int64_t here = zone_offset(zone, now), offset, local;
	char *text = xstrdup(from);
	bool given = take_offset(text, &offset);
	int rc = parse_local(text, now + here, &local, err);

	free(text);
	if (rc < 0)
		return err_wrap(err, "--from");
	if (given)
		*ret = local - offset;
	else if (*from == '@')
		*ret = local;
	else if (!strncmp(from, "now", 3))
		*ret = local - here;
	else if (!zone_first(zone, local, ret))
		*ret = local - zone_offset(zone, local - 2 * 86400);
	return 0;
}

static int next(const struct ctl *ctl, const char *text,
                const struct schedule *schedule, json_t *times,
                const struct zone *zone, struct err *err)
{
	int64_t at = time(NULL), count = COUNT, from;
	char shown[ZONE_TEXT];

	if (ctl->cron.from &&
	    parse_from(ctl->cron.from, zone, at, &at, err) < 0)
		return -1;
	if (ctl->cron.count &&
	    parse_int(ctl->cron.count, 1, COUNT_MAX, &count, err) < 0)
		return err_wrap(err, "--count");
	from = at;
	for (; count > 0; count--) {
		at = schedule_next(schedule, zone, from, at);
		if (at == SCHEDULE_NEVER)
			break;
		zone_format(zone, at, shown);
		json_array_append_new(times,
		                      json_pack("{s:s, s:I}", "time", shown,
		                                "unix", (json_int_t)at));
	}
	if (!json_array_size(times))
		return err_set(err, EINVAL, "'%s' has no time within %d years",
		               text, SCHEDULE_YEARS);
	return 0;
}

static void print(const struct ctl *ctl, const json_t *times)
{
	const json_t *one;
	size_t i;

	if (ctl->json) {
		fputs("{\"next\":", stdout);
		json_out(times, JSON_COMPACT, stdout);
		puts("}");
		return;
	}
	json_array_foreach(times, i, one)
		puts(json_string_value(json_object_get(one, "time")));
}

/* Run `aictl cron next`: print the next times of a schedule. This needs
 * no daemon. */
static int run_next(struct ctl *ctl, int argc, char **argv)
{
	json_t *times = json_array();
	struct zone *zone = NULL;
	struct schedule schedule;
	int status = EXIT_USAGE;
	struct err why;

	(void)argc;
	if (schedule_parse(&schedule, argv[1], &why) == 0) {
		zone = zone_load(ctl->cron.zone, &why);
		if (!zone)
			status = EXIT_FAILURE;
		else if (next(ctl, argv[1], &schedule, times, zone, &why) == 0)
			status = EXIT_SUCCESS;
	}
	if (status == EXIT_SUCCESS)
		print(ctl, times);
	else
		ctl_warn(ctl, "cron: %s", why.text);
	zone_free(zone);
	json_decref(times);
	return status;
}

/* --- the command -------------------------------------------------------- */

enum { MANY = INT_MAX };

static const struct verb {
	const char *name, *args;
	cron_fn *run;
	int least, most;
} verbs[] = {
	{ "next", "SCHEDULE", run_next, 1, 1 },
	{ "list", "no words", cron_list, 0, 0 },
	{ "show", "ID", cron_show, 1, 1 },
	{ "pause", "ID...", cron_act, 1, MANY },
	{ "resume", "ID...", cron_act, 1, MANY },
	{ "delete", "ID...", cron_act, 1, MANY },
	{ "run", "ID...", cron_run, 1, MANY },
	{ "update", "ID... FIELD=VALUE...", cron_update, 2, MANY },
	{ "edit", "no words", cron_edit, 0, 0 },
	{ "print", "no words", cron_print, 0, 0 },
	{ "import", "FILE, or -", cron_import, 1, 1 },
	{ "clear", "no words", cron_clear, 0, 0 },
};

static const char *verb_of(const struct ctl *ctl, int argc, char **argv)
{
	if (argc > 1)
		return argv[1];
	return ctl->cron.edit    ? "edit"
	       : ctl->cron.print ? "print"
	       : ctl->cron.clear ? "clear"
	                         : NULL;
}

int run_cron(struct ctl *ctl, int argc, char **argv)
{
	const char *name = verb_of(ctl, argc, argv);
	int words = argc > 1 ? argc - 2 : 0;

	for (size_t i = 0; name && i < ARRAY_SIZE(verbs); i++) {
		const struct verb *verb = &verbs[i];

		if (strcmp(verb->name, name) != 0)
			continue;
		if (words >= verb->least && words <= verb->most)
			return verb->run(ctl, words + 1,
			                 argc > 1 ? argv + 1 : argv);
		ctl_warn(ctl, "cron %s takes %s", name, verb->args);
		return EXIT_USAGE;
	}
	ctl_warn(ctl,
	         "cron takes list, show, next, pause, resume, delete, run, "
	         "update, edit, print, import or clear%s%s%s",
	         name ? ", not '" : "", name ? name : "", name ? "'" : "");
	return EXIT_USAGE;
}

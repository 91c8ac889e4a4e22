/* cron.c - the times of a schedule, worked out without the daemon */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "aictl/aictl.h"
#include "libcommon/cron/schedule.h"
#include "libcommon/cron/zone.h"
#include "libcommon/parse.h"

enum { COUNT = 5, COUNT_MAX = 100000 };

#define AT(member) .offset = offsetof(struct ctl, cron.member)

/* clang-format off */
const struct opt cron_opts[] = {
	{ 0, "tz", "ZONE", "the time zone, as Europe/Berlin (this machine's)",
	  opt_set_text, AT(zone) },
	{ 0, "from", "TIME", "times after this one (now)", opt_set_text,
	  AT(from) },
	{ 'n', "count", "N", "how many (5)", opt_set_text, AT(count) },
	OPT_END
};
/* clang-format on */

static int next(const struct ctl *ctl, const char *text, json_t *times,
                const struct zone *zone, struct err *err)
{
	struct schedule schedule;
	int64_t at = time(NULL), count = COUNT, from;
	char shown[ZONE_TEXT];

	if (schedule_parse(&schedule, text, err) < 0)
		return -1;
	if (ctl->cron.from && parse_time(ctl->cron.from, at, &at, err) < 0)
		return err_wrap(err, "--from");
	if (ctl->cron.count &&
	    parse_int(ctl->cron.count, 1, COUNT_MAX, &count, err) < 0)
		return err_wrap(err, "--count");
	from = at;
	for (; count > 0; count--) {
		at = schedule_next(&schedule, zone, from, at);
		if (at == SCHEDULE_NEVER)
			break;
		zone_format(zone, at, shown);
		json_array_append_new(times,
		                      json_pack("{s:I, s:s}", "time",
		                                (json_int_t)at, "text", shown));
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
		json_dumpf(times, stdout, JSON_COMPACT);
		putchar('\n');
		return;
	}
	json_array_foreach(times, i, one)
		puts(json_string_value(json_object_get(one, "text")));
}

int run_cron(struct ctl *ctl, int argc, char **argv)
{
	json_t *times = json_array();
	struct zone *zone = NULL;
	int status = EXIT_SUCCESS;
	struct err why;

	(void)argc;
	if (strcmp(argv[1], "next"))
		err_set(&why, EINVAL, "takes 'next SCHEDULE', not '%s'",
		        argv[1]);
	else
		zone = zone_load(ctl->cron.zone, &why);
	if (zone && next(ctl, argv[2], times, zone, &why) == 0) {
		print(ctl, times);
	} else {
		ctl_warn(ctl, "cron: %s", why.text);
		status = EXIT_USAGE;
	}
	zone_free(zone);
	json_decref(times);
	return status;
}

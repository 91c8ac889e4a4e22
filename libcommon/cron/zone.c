/* zone.c - time zones by name, from the zone files of tzdata */
#include "libcommon/cron/zone.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libcommon/cron/civil.h"
#include "libcommon/cron/zone_rule.h"
#include "libcommon/mem.h"

#define FOLDER "/usr/share/zoneinfo/"

enum {
	/* Bytes of a file; the largest in tzdata has 4,000. */
	MAX_FILE = 1 << 20,
	MAX_TEXT = 255, /* bytes of the rule, and of a name */
	HEAD = 44,
	DAY_S = 24 * 60 * 60,
	/* Limit of offsets from UTC, and of gaps. */
	SPAN_S = 26 * 60 * 60
};

struct zone {
	size_t n;
	int64_t *at;     /* instants of n transitions, ascending */
	int32_t *offset; /* offset from each transition on */
	int32_t first;   /* offset before the first transition */
	bool has_rule;   /* `rule` applies after the last transition */
	struct zone_rule rule;
};

/* --- the file ---------------------------------------------------------- */

struct input {
	const unsigned char *p, *end;
};

static int64_t take_int(struct input *in, size_t bytes)
{
	uint64_t x = in->p[0] & 0x80 ? UINT64_MAX : 0;

	for (size_t i = 0; i < bytes; i++)
		x = x << 8 | *in->p++;
	return (int64_t)x;
}

struct counts {
	uint64_t isut, isstd, leap, time, type, chars;
};

/* Read a header, and check that the data block behind it is complete. */
static int take_head(struct input *in, size_t time_size, struct counts *ret,
                     struct err *err)
{
	uint64_t *const count[] = { &ret->isut, &ret->isstd, &ret->leap,
		                    &ret->time, &ret->type,  &ret->chars };
	uint64_t size;

	if (in->end - in->p < HEAD || memcmp(in->p, "TZif", 4))
		return err_set(err, EINVAL, "it is not a zone file");
	if (in->p[4] < '2')
		return err_set(err, EINVAL, "it has no 64-bit times");
	in->p += 20;
	for (size_t i = 0; i < ARRAY_SIZE(count); i++)
		*count[i] = (uint64_t)take_int(in, 4) & UINT32_MAX;
	size = ret->time * (time_size + 1) + ret->type * 6 + ret->chars +
	       ret->leap * (time_size + 4) + ret->isstd + ret->isut;
	if ((uint64_t)(in->end - in->p) < size)
		return err_set(err, EINVAL, "it is truncated");
	return 0;
}

static void skip_block(struct input *in, const struct counts *c, size_t size)
{
	in->p += c->time * (size + 1) + c->type * 6 + c->chars +
	         c->leap * (size + 4) + c->isstd + c->isut;
}

/* Read the transitions and their offsets from a block that has these counts. */
static int take_times(struct zone *zone, struct input *in,
                      const struct counts *c, struct err *err)
{
	const unsigned char *index = in->p + c->time * 8;
	const unsigned char *type = index + c->time;

	zone->n = c->time;
	zone->at = xcalloc(c->time + 1, sizeof(*zone->at));
	zone->offset = xcalloc(c->time + 1, sizeof(*zone->offset));
	for (size_t i = 0; i < c->type; i++) {
		struct input one = { type + i * 6, in->end };
		int64_t offset = take_int(&one, 4);

		if (offset < -SPAN_S || offset > SPAN_S)
			return err_set(err, EINVAL, "an offset is too large");
	}
	for (size_t i = 0; i < c->time; i++) {
		struct input one;

		zone->at[i] = take_int(in, 8);
		if (i && zone->at[i] <= zone->at[i - 1])
			return err_set(err, EINVAL, "its times do not ascend");
		if (index[i] >= c->type)
			return err_set(err, EINVAL, "it names no such offset");
		one = (struct input){ type + index[i] * 6, in->end };
		zone->offset[i] = (int32_t)take_int(&one, 4);
	}
	*in = (struct input){ type, in->end };
	zone->first = (int32_t)take_int(in, 4);
	return 0;
}

static int take_footer(struct zone *zone, struct input *in, struct err *err)
{
	char text[MAX_TEXT + 1];
	const unsigned char *end;

	if (in->p == in->end || *in->p++ != '\n' ||
	    !(end = memchr(in->p, '\n', (size_t)(in->end - in->p))))
		return err_set(err, EINVAL, "its last line is missing");
	if (end - in->p > MAX_TEXT)
		return err_set(err, EINVAL, "its last line is too long");
	memcpy(text, in->p, (size_t)(end - in->p));
	text[end - in->p] = '\0';
	zone->has_rule = *text;
	return *text ? zone_rule_parse(&zone->rule, text, err) : 0;
}

static int read_zone(struct zone *zone, struct input *in, struct err *err)
{
	struct input block;
	struct counts c;

	if (take_head(in, 4, &c, err) < 0)
		return -1;
	skip_block(in, &c, 4);
	if (take_head(in, 8, &c, err) < 0)
		return -1;
	if (c.leap)
		return err_set(err, EINVAL, "it counts leap seconds");
	if (!c.type)
		return err_set(err, EINVAL, "it has no offset");
	block = *in;
	skip_block(in, &c, 8);
	if (take_times(zone, &block, &c, err) < 0)
		return -1;
	return take_footer(zone, in, err);
}

struct zone *zone_parse(const void *data, size_t len, struct err *err)
{
	struct zone *zone = xcalloc(1, sizeof(*zone));
	struct input in = { data, (const unsigned char *)data + len };

	if (read_zone(zone, &in, err) == 0)
		return zone;
	zone_free(zone);
	return NULL;
}

void zone_free(struct zone *zone)
{
	if (!zone)
		return;
	free(zone->at);
	free(zone->offset);
	free(zone);
}

/* --- zones by name ----------------------------------------------------- */

static struct zone *load_file(const char *path, struct err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct zone *zone = NULL;
	size_t len = 0;
	ssize_t got;
	char *data;

	if (fd < 0) {
		err_sys(err, "cannot open time zone '%s'", path);
		return NULL;
	}
	data = xmalloc(MAX_FILE);
	while (len < MAX_FILE &&
	       (got = read(fd, data + len, MAX_FILE - len)) > 0)
		len += (size_t)got;
	if (len == MAX_FILE || got < 0)
		err_set(err, EINVAL, "it cannot be read, or is too large");
	else
		zone = zone_parse(data, len, err);
	if (!zone)
		err_wrap(err, "time zone '%s'", path);
	free(data);
	close(fd);
	return zone;
}

static bool is_name(const char *s)
{
	static const char good[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				   "abcdefghijklmnopqrstuvwxyz0123456789_+-/";

	return *s && *s != '/' && strlen(s) <= MAX_TEXT && !s[strspn(s, good)];
}

struct zone *zone_load(const char *name, struct err *err)
{
	char path[sizeof(FOLDER) + MAX_TEXT];

	if (!name) {
		name = getenv("TZ");
		name += name && *name == ':';
	}
	if (!name || !*name)
		return load_file("/etc/localtime", err);
	if (!is_name(name)) {
		err_set(err, EINVAL, "'%s' is not the name of a time zone",
		        name);
		return NULL;
	}
	snprintf(path, sizeof(path), FOLDER "%s", name);
	return load_file(path, err);
}

/* --- the clock --------------------------------------------------------- */

/* Returns how many transitions of the file are not later than `at`. */
static size_t passed(const struct zone *zone, int64_t at)
{
	size_t lo = 0, hi = zone->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (zone->at[mid] <= at)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static int64_t year_of(int64_t at)
{
	return civil_of_days(at / DAY_S - (at % DAY_S < 0)).year;
}

/* Returns the kind of the rule's last transition up to `at`: 0 for one to
 * summer time, 1 for one to standard time. In UTC, a transition may fall into
 * the year before or after its own. */
static int rule_state(const struct zone_rule *rule, int64_t at)
{
	int64_t best = INT64_MIN, when[2];
	int state = 1;

	for (int64_t year = year_of(at) - 1; year <= year_of(at) + 1; year++) {
		zone_rule_year(rule, year, when);
		for (int i = 0; i < 2; i++) {
			if (when[i] <= at && when[i] >= best) {
				best = when[i];
				state = i;
			}
		}
	}
	return state;
}

int32_t zone_offset(const struct zone *zone, int64_t at)
{
	size_t i = passed(zone, at);

	if (i < zone->n || !zone->has_rule)
		return i ? zone->offset[i - 1] : zone->first;
	if (!zone->rule.summer)
		return zone->rule.offset[0];
	return zone->rule.offset[rule_state(&zone->rule, at) == 0];
}

int64_t zone_next(const struct zone *zone, int64_t after)
{
	int64_t best = ZONE_NEVER, when[2];
	size_t i = passed(zone, after);

	if (i < zone->n)
		return zone->at[i];
	if (!zone->has_rule || !zone->rule.summer)
		return ZONE_NEVER;
	for (int64_t year = year_of(after) - 1; year <= year_of(after) + 2;
	     year++) {
		zone_rule_year(&zone->rule, year, when);
		for (i = 0; i < 2; i++)
			if (when[i] > after && when[i] < best)
				best = when[i];
	}
	return best;
}

bool zone_first(const struct zone *zone, int64_t local, int64_t *ret)
{
	int64_t at = local - SPAN_S;

	/* Between two transitions, the clock shows each local time at
	 * most once. */
	while (at <= local + SPAN_S) {
		int64_t next = zone_next(zone, at);

		*ret = local - zone_offset(zone, at);
		if (*ret >= at && *ret < next)
			return true;
		if (next == ZONE_NEVER)
			return false;
		at = next;
	}
	return false;
}

void zone_format(const struct zone *zone, int64_t at, char ret[ZONE_TEXT])
{
	int32_t offset = zone_offset(zone, at);
	int64_t local = at + offset;
	int64_t days = local / DAY_S - (local % DAY_S < 0);
	int s = (int)(local - days * DAY_S);
	struct civil c = civil_of_days(days);

	snprintf(
	    ret, ZONE_TEXT, "%04" PRId64 "-%02d-%02dT%02d:%02d:%02d%c%02d:%02d",
	    c.year, c.month, c.day, s / 3600, s / 60 % 60, s % 60,
	    offset < 0 ? '-' : '+', abs(offset) / 3600, abs(offset) / 60 % 60);
}

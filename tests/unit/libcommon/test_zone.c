/* test_zone.c - time zones against glibc, and malformed files */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "libcommon/cron/zone.h"
#include "libcommon/cron/zones.h"
#include "libcommon/mem.h"
#include "tests/unit/check.h"
#include "tests/unit/dead_mount.h"
#include "tests/unit/dice.h"

static const char *const names[] = {
	"Europe/Berlin",    "America/New_York",   "Australia/Lord_Howe",
	"America/Santiago", "Africa/Casablanca",  "Asia/Kathmandu",
	"Pacific/Apia",     "Pacific/Kiritimati", "America/St_Johns",
	"Antarctica/Troll", "Asia/Gaza",          "UTC",
	"Europe/Dublin",    "Asia/Tehran",        "America/Nuuk",
	"Pacific/Chatham",  "Etc/GMT+12",         "EST5EDT",
};

/* Compare offsets with those of glibc, which reads the same files. */
START_TEST(as_glibc_sees_it)
{
	struct dice dice = { 7 + (uint64_t)_i };
	struct err err;
	struct zone *zone = zone_load(names[_i], &err);

	ck_assert_msg(zone != NULL, "%s", err.text);
	setenv("TZ", names[_i], 1);
	tzset();
	for (int i = 0; i < 20000; i++) {
		/* A random instant from 1902 to 2170. */
		int64_t eights = roll(&dice, 1 << 30);
		int64_t at = -2145916800 + eights * 8 + roll(&dice, 8);
		time_t t = (time_t)at;
		struct tm tm;

		if (i % 2)
			t = at = zone_next(zone, at) == ZONE_NEVER
			             ? at
			             : zone_next(zone, at) - i / 2 % 2;
		localtime_r(&t, &tm);
		if (zone_offset(zone, at) != tm.tm_gmtoff)
			ck_abort_msg("%s at %lld: %d, glibc %ld", names[_i],
			             (long long)at, (int)zone_offset(zone, at),
			             tm.tm_gmtoff);
	}
	zone_free(zone);
}
END_TEST

START_TEST(transitions_change_the_clock)
{
	struct err err;
	struct zone *zone = zone_load("Europe/Berlin", &err);
	char text[ZONE_TEXT];

	/* In 2100, after the last transition in the file. */
	ck_assert_int_eq(zone_next(zone, 4102444800), 4109878800);
	zone_format(zone, 4109878800 - 1, text);
	ck_assert_str_eq(text, "2100-03-28T01:59:59+01:00");
	zone_format(zone, 4109878800, text);
	ck_assert_str_eq(text, "2100-03-28T03:00:00+02:00");
	zone_free(zone);
	zone = zone_load("UTC", &err);
	ck_assert_int_eq(zone_next(zone, 0), ZONE_NEVER);
	zone_free(zone);
}
END_TEST

static const struct {
	const char *name, *text;
} bad_names[] = {
	{ "Mars/Base",
	  "cannot open time zone '/usr/share/zoneinfo/Mars/Base'" },
	{ "../../../etc/passwd", "'../../../etc/passwd' is not the name" },
	{ "Europe/../UTC", "is not the name" },
	{ "/etc/localtime", "is not the name" },
	{ "Europe", "it cannot be read" },
	{ "tzdata.zi", "is not the name" },
	{ "zone1970.tab", "is not the name" },
	{ "leapseconds", "it is not a zone file" },
};

START_TEST(bad_name)
{
	struct err err;

	ck_assert_ptr_null(zone_load(bad_names[_i].name, &err));
	ck_assert_msg(strstr(err.text, bad_names[_i].text) != NULL, "%s",
	              err.text);
}
END_TEST

static size_t read_file(const char *path, char *data, size_t size)
{
	FILE *f = fopen(path, "re");
	size_t len;

	ck_assert_ptr_nonnull(f);
	len = fread(data, 1, size, f);
	fclose(f);
	return len;
}

START_TEST(cut_anywhere)
{
	char data[8192];
	size_t len =
	    read_file("/usr/share/zoneinfo/Europe/Berlin", data, sizeof(data));
	struct err err;

	for (size_t i = 0; i < len; i++)
		ck_assert_ptr_null(zone_parse(data, i, &err));
	zone_free(zone_parse(data, len, &err));
}
END_TEST

/* Make the content of a zone file: a version 1 block with one offset, a version
 * 2 block with these counts and this body, and the rule. */
static size_t make(char *data, const char *counts, const char *body,
                   size_t body_len, const char *rule)
{
	static const char none[24] = { [19] = 1, [23] = 1 };
	size_t len = 0;

	memcpy(data + len, "TZif2\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 20);
	memcpy(data + len + 20, none, 24);
	len += 44;
	memcpy(data + len, "\0\0\0\0\0\0\0", 7);
	len += 7;
	memcpy(data + len, "TZif2\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 20);
	for (int i = 0; i < 6; i++) {
		memcpy(data + len + 20 + i * 4, "\0\0\0", 3);
		data[len + 23 + i * 4] = (char)(counts[i] - '0');
	}
	len += 44;
	memcpy(data + len, body, body_len);
	len += body_len;
	return len + (size_t)snprintf(data + len, 512 - len, "\n%s\n", rule);
}

#define T2   "\0\0\0\0\0\0\0\x02"
#define T3   "\0\0\0\0\0\0\0\x03"
#define TYPE "\0\0\0\0\0\0"

/* Files whose second header has these counts: isut isstd leap time
 * type chars. */
static const struct {
	const char *counts, *body;
	size_t len;
	const char *rule, *error; /* NULL: good */
} files[] = {
	{ "000011", TYPE "\0", 7, "UTC0", NULL },
	{ "000011", TYPE "\0", 7, "", NULL },
	{ "000211", T2 T3 "\0\0" TYPE "\0", 25, "UTC0", NULL },
	{ "000211", T3 T2 "\0\0" TYPE "\0", 25, "UTC0", "do not ascend" },
	{ "000211", T2 T2 "\0\0" TYPE "\0", 25, "UTC0", "do not ascend" },
	{ "000211", T2 T3 "\0\1" TYPE "\0", 25, "UTC0", "no such offset" },
	{ "000011", "\0\x02\0\0\0\0\0", 7, "UTC0", "offset is too large" },
	{ "000001", "\0", 1, "UTC0", "it has no offset" },
	{ "001011", T2 "\0\0\0\1" TYPE "\0", 19, "UTC0", "leap seconds" },
	{ "000911", TYPE "\0", 7, "UTC0", "it is truncated" },
	{ "000011", TYPE "\0", 7, "UTC", "bad time zone rule 'UTC'" },
	{ "000011", TYPE "\0", 7, "U0", "bad time zone rule" },
	{ "000011", TYPE "\0", 7, "<+03-3", "bad time zone rule" },
	{ "000011", TYPE "\0", 7, "CET-1CEST", "bad time zone rule" },
	{ "000011", TYPE "\0", 7, "CET-1CEST,M3.5.0", "bad time zone rule" },
	{ "000011", TYPE "\0", 7, "CET-1CEST,M3.5.0,M13.5.0", "bad time" },
	{ "000011", TYPE "\0", 7, "CET-1CEST,M3.6.0,M10.5.0", "bad time" },
	{ "000011", TYPE "\0", 7, "CET-1CEST,M3.5.0,M10.5.0x", "bad time" },
	{ "000011", TYPE "\0", 7, "A5B,J60/168,J300", "bad time zone rule" },
	{ "000011", TYPE "\0", 7, "CET-1CEST,J0,J300", "bad time zone rule" },
	{ "000011", TYPE "\0", 7, "CET-25", "bad time zone rule" },
	{ "000011", TYPE "\0", 7, "EET-2EEST,59/-1,J300/167:59:59", NULL },
};

START_TEST(made_file)
{
	char data[512];
	size_t len = make(data, files[_i].counts, files[_i].body, files[_i].len,
	                  files[_i].rule);
	struct zone *zone;
	struct err err;

	zone = zone_parse(data, len, &err);
	if (!files[_i].error)
		ck_assert_msg(zone != NULL, "%s", err.text);
	else
		ck_assert_msg(!zone && strstr(err.text, files[_i].error), "%s",
		              zone ? "taken" : err.text);
	zone_free(zone);
}
END_TEST

/* A rule for summer time all year, as in RFC 9636. */
START_TEST(summer_for_ever)
{
	char data[512];
	size_t len = make(data, "000011", TYPE "\0", 7, "XXX3EDT4,0/0,J365/23");
	struct err err;
	struct zone *zone = zone_parse(data, len, &err);

	for (int64_t at = 1600000000; at < 1700000000; at += 3600 * 7)
		ck_assert_int_eq(zone_offset(zone, at), -4 * 3600);
	zone_free(zone);
}
END_TEST

#define FOLDER "/usr/share/zoneinfo"

/* Replace the file of the zone "Town" by one with this rule. */
static void make_town(const char *rule)
{
	char data[512];
	size_t len = make(data, "000011", TYPE "\0", 7, rule);
	FILE *file = fopen(FOLDER "/new", "we");

	ck_assert_ptr_nonnull(file);
	ck_assert_uint_eq(fwrite(data, 1, len, file), len);
	ck_assert_int_eq(fclose(file), 0);
	ck_assert_int_eq(rename(FOLDER "/new", FOLDER "/Town"), 0);
}

START_TEST(files_that_change_are_read_again)
{
	struct zones *zones = zones_new();
	const struct zone *zone;
	struct err err;

	if (!dead_mount_may() ||
	    mount("none", FOLDER, "tmpfs", 0, "size=64k") < 0) {
		zones_free(zones);
		return;
	}
	ck_assert_ptr_null(zones_get(zones, "Town", &err));
	ck_assert_int_eq(err.code, ENOENT);
	ck_assert(!zones_refresh(zones));
	make_town("XXX-1");
	ck_assert_ptr_null(zones_get(zones, "Town", &err));
	ck_assert(zones_refresh(zones));
	zone = zones_get(zones, "Town", &err);
	ck_assert_int_eq(zone_offset(zone, 1600000000), 3600);
	ck_assert(!zones_refresh(zones));
	ck_assert_ptr_eq(zones_get(zones, "Town", &err), zone);
	make_town("XXX-2");
	ck_assert(zones_refresh(zones));
	zone = zones_get(zones, "Town", &err);
	ck_assert_int_eq(zone_offset(zone, 1600000000), 7200);
	ck_assert_int_eq(unlink(FOLDER "/Town"), 0);
	ck_assert(zones_refresh(zones));
	ck_assert_ptr_null(zones_get(zones, "Town", &err));
	ck_assert_int_eq(umount2(FOLDER, MNT_DETACH), 0);
	zones_free(zones);
}
END_TEST

SUITE(zone)
{
	tcase_add_loop_test(tc, as_glibc_sees_it, 0, ARRAY_SIZE(names));
	tcase_add_test(tc, transitions_change_the_clock);
	tcase_add_loop_test(tc, bad_name, 0, ARRAY_SIZE(bad_names));
	tcase_add_test(tc, cut_anywhere);
	tcase_add_loop_test(tc, made_file, 0, ARRAY_SIZE(files));
	tcase_add_test(tc, summer_for_ever);
	tcase_add_test(tc, files_that_change_are_read_again);
}

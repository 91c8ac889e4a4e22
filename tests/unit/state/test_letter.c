/* test_letter.c - the mails about events of jobs */
#include "aischedd/state/life/letter.h"

#include <string.h>

#include "libcommon/mem.h"
#include "tests/unit/check.h"
#include "tests/unit/state/world.h"

#define MAIL_CONF WORLD_CONF "mail { command = \"/sbin/sendmail\" }\n"

/* Steps of world_play(), and the mails that they cause: "1.1.END to". */
static const struct {
	const char *name;
	const char *letters;
	const char *step[16];
} cases[] = {
	{ "nobody asked", "", { "submit", "run", "end 1 0" } },
	{ "all of a job",
	  "1.1.BEGIN ada, 1.1.END ada",
	  { "submit mail-type=ALL", "run", "end 1 0" } },
	{ "a failure is one mail",
	  "1.1.FAIL x@y",
	  { "submit mail-type=END,FAIL mail-user=x@y", "run", "end 1 1" } },
	{ "a cancelled job has ended",
	  "1.0.END ada",
	  { "submit mail-type=END,FAIL", "cancel" } },
	{ "only failures", "", { "submit mail-type=FAIL", "run", "end 1 0" } },
	{ "a requeue",
	  "1.1.REQUEUE ada",
	  { "submit mail-type=REQUEUE", "run", "requeue", "end 1 0", "run" } },
	{ "parts of the time limit",
	  "1.1.TIME_LIMIT_50 ada, 1.1.TIME_LIMIT_90 ada",
	  { "submit time=100s mail-type=TIME_LIMIT_50,TIME_LIMIT_90", "run",
	    "tell", "next => 51", "+50", "+1", "+30", "next => 10", "+9", "+1",
	    "+11" } },
	{ "only the last that is over is news",
	  "1.1.TIME_LIMIT_80 ada",
	  { "submit time=100s mail-type=TIME_LIMIT_50,TIME_LIMIT_80", "run",
	    "+85" } },
	{ "each attempt has them",
	  "1.1.TIME_LIMIT_50 ada, 1.2.TIME_LIMIT_50 ada",
	  { "submit time=100s mail-type=TIME_LIMIT_50", "run", "+60", "requeue",
	    "end 1 0", "run", "+60" } },
	{ "while it is suspended no time is over",
	  "",
	  { "submit time=100s mail-type=TIME_LIMIT_50", "run", "+10", "suspend",
	    "+80" } },
	{ "a job that runs may ask for them",
	  "1.1.TIME_LIMIT_50 x@y, 1.1.END x@y",
	  { "submit time=100s", "run", "+60",
	    "update 1 mail-type=END,TIME_LIMIT_50;mail-user=x@y", "+0",
	    "end 1 0" } },
	{ "or no longer",
	  "1.1.BEGIN ada",
	  { "submit mail-type=ALL", "run", "update 1 mail-type=NONE",
	    "end 1 0" } },
	{ "only for what is to come",
	  "1.1.TIME_LIMIT_50 ada",
	  { "submit time=100s mail-type=TIME_LIMIT_50", "run", "+60",
	    "update 1 mail-type=BEGIN,TIME_LIMIT_50", "+1", "end 1 0" } },
	{ "an array is one job",
	  "2.1.BEGIN ada, 3.1.ARRAY_END ada",
	  { "submit array=0-1 mail-type=BEGIN,END", "run", "end 2 0",
	    "end 3 0" } },
	{ "a dependency that cannot be met is told once",
	  "2.0.INVALID_DEPEND ada",
	  { "submit", "submit dependency=afternotok:1 mail-type=INVALID_DEPEND",
	    "run", "end 1 0", "+1", "hold 2", "release 2" } },
};

static const char *letters(const struct world *w, struct buf *out)
{
	struct changes changes;

	buf_clear(out);
	state_changes(w->state, &changes);
	buf_puts(out, "");
	for (size_t i = 0; i < changes.nletters; i++) {
		const struct letter *l = &changes.letter[i];
		int len = (int)(strrchr(l->event, '.') - l->event);

		buf_printf(out, "%s%.*s %s", i ? ", " : "", len, l->event,
		           l->to);
	}
	return out->data;
}

START_TEST(events)
{
	struct buf text = { 0 };
	struct world w;

	world_with_node(&w, MAIL_CONF);
	world_play(&w, cases[_i].name, cases[_i].step);
	ck_assert_msg(!strcmp(letters(&w, &text), cases[_i].letters),
	              "%s: '%s'", cases[_i].name, text.data);
	world_commit(&w);
	ck_assert_str_eq(letters(&w, &text), "");
	buf_free(&text);
	world_fini(&w);
}
END_TEST

/* In a mail, a long name and any characters that a user may put into it stay on
 * one line. */
START_TEST(long_names)
{
	char options[1200] = "mail-type=END job-name=";
	struct changes changes;
	struct world w;

	memset(options + strlen(options), 'n', 1000);
	world_with_node(&w, MAIL_CONF);
	ck_assert_uint_eq(world_submit(&w, options), 1);
	world_event(&w, 1, EV_cancel);
	state_changes(w.state, &changes);
	ck_assert_uint_eq(changes.nletters, 1);
	ck_assert_uint_lt(strlen(changes.letter[0].subject), 600);
	for (const char *at = changes.letter[0].body; *at;) {
		size_t len = strcspn(at, "\n");

		ck_assert_uint_lt(len, 900);
		at += len + (at[len] == '\n');
	}
	world_fini(&w);
}
END_TEST

START_TEST(nothing_is_sent_without_a_command)
{
	struct buf text = { 0 };
	struct world w;

	world_with_node(&w, NULL);
	ck_assert_uint_eq(world_submit(&w, "mail-type=ALL"), 1);
	world_event(&w, 1, EV_cancel);
	ck_assert_str_eq(letters(&w, &text), "");
	buf_free(&text);
	world_fini(&w);
}
END_TEST

SUITE(letter)
{
	tcase_add_loop_test(tc, events, 0, ARRAY_SIZE(cases));
	tcase_add_test(tc, long_names);
	tcase_add_test(tc, nothing_is_sent_without_a_command);
}

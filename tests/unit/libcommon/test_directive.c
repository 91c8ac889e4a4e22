/* test_directive.c - read #AISUB and #SBATCH lines of a script */
#include "libcommon/directive.h"

#include <string.h>

#include "libcommon/buf.h"
#include "libcommon/mem.h"
#include "tests/unit/check.h"

/* -t --time take a value, -k --nice may; -H --hold do not. */
static enum directive_takes takes(const char *option, bool slurm, void *arg)
{
	(void)slurm, (void)arg;
	if (!strcmp(option, "-t") || !strcmp(option, "--time"))
		return DIRECTIVE_VALUE;
	if (!strcmp(option, "-k") || !strcmp(option, "--nice"))
		return DIRECTIVE_OPTIONAL;
	if (!strcmp(option, "-H") || !strcmp(option, "--hold"))
		return DIRECTIVE_FLAG;
	return DIRECTIVE_UNKNOWN;
}

/* Record "2s:--time=10;": line, ours or Slurm's, option and value. */
static int option(const struct directive *d, void *arg, struct err *err)
{
	struct buf *out = arg;

	if (!strcmp(d->option, "--fail"))
		return err_set(err, EINVAL, "failed");
	buf_printf(out, "%d%c:%s", d->line, d->slurm ? 's' : 'a', d->option);
	if (d->value)
		buf_printf(out, "=%s", d->value);
	buf_addc(out, ';');
	return 0;
}

static void late(int line, void *arg)
{
	buf_printf(arg, "late %d;", line);
}

static const struct {
	const char *name, *script, *want;
} cases[] = {
	{ "both marks", "#!/bin/sh\n#AISUB --hold\n#SBATCH --hold\n",
	  "2a:--hold;3s:--hold;" },
	{ "a value is joined or follows",
	  "#AISUB --time=1 --time 2\n#AISUB -t3 -t 4\n",
	  "1a:--time=1;1a:--time=2;2a:-t=3;2a:-t=4;" },
	{ "letters stand together", "#AISUB -HHt5 -H\n",
	  "1a:-H;1a:-H;1a:-t=5;1a:-H;" },
	{ "a value may look like an option", "#AISUB --time -1 -t -1\n",
	  "1a:--time=-1;1a:-t=-1;" },
	{ "an optional value is only joined",
	  "#AISUB --nice --nice=5 -k -k5 --hold\n",
	  "1a:--nice;1a:--nice=5;1a:-k;1a:-k=5;1a:--hold;" },
	{ "an unknown option takes a word, not an option",
	  "#SBATCH --foo bar --foo --hold --foo=x -z 1 -z --hold\n",
	  "1s:--foo=bar;1s:--foo;1s:--hold;1s:--foo=x;1s:-z=1;1s:-z;"
	  "1s:--hold;" },
	{ "quotes and backslashes",
	  "#AISUB --time='a b' \"--time=c'd\\\"\" --time=e\\ f\n",
	  "1a:--time=a b;1a:--time=c'd\";1a:--time=e f;" },
	{ "an empty value is one", "#AISUB --time= --time ''\n",
	  "1a:--time=;1a:--time=;" },
	{ "a comment ends the line", "#AISUB --hold # -t 5\n#AISUB#\n",
	  "1a:--hold;" },
	{ "a # inside a word is none", "#AISUB --time=a#b\n",
	  "1a:--time=a#b;" },
	{ "comments and blank lines go on",
	  "#!/bin/sh\n\n # x\n\t\n#AISUB -H\n", "5a:-H;" },
	{ "the mark is a whole word at the start",
	  "##SBATCH -H\n #SBATCH -H\n#SBATCHX -H\n# SBATCH -H\n#sbatch -H\n",
	  "" },
	{ "nothing after the first command, said once",
	  "#AISUB -H\necho\n#AISUB -H\n#SBATCH -H\n", "1a:-H;late 3;" },
	{ "the last line may lack its end", "#AISUB -H", "1a:-H;" },
	{ "an empty script", "", "" },
	{ "a word", "\n#AISUB -H word\n", "s:2: 'word' is not an option" },
	{ "a dash", "#AISUB -\n", "s:1: '-' is not an option" },
	{ "two dashes", "#AISUB --\n", "s:1: '--' is not an option" },
	{ "a value is missing", "#AISUB --time\n",
	  "s:1: --time needs a value" },
	{ "a letter's value is missing", "#AISUB -t # 5\n",
	  "s:1: -t needs a value" },
	{ "a quote is open", "#AISUB -t 'x\n", "s:1: a quote without its end" },
	{ "the handler fails", "\n\n#AISUB --fail\n", "s:3: failed" },
};

START_TEST(directive_case)
{
	struct buf got = { 0 };
	const struct directive_handler handler = {
		.takes = takes, .option = option, .late = late, .arg = &got
	};
	struct err err;

	buf_puts(&got, "");
	if (directive_scan(cases[_i].script, strlen(cases[_i].script), "s",
	                   &handler, &err) < 0) {
		buf_clear(&got);
		buf_puts(&got, err.text);
		ck_assert_int_eq(err.code, EINVAL);
	}
	ck_assert_msg(!strcmp(got.data, cases[_i].want), "%s: got %s",
	              cases[_i].name, got.data);
	buf_free(&got);
}
END_TEST

START_TEST(zero_byte)
{
	static const char script[] = "#AISUB -t 1\0002\n";
	struct buf got = { 0 };
	const struct directive_handler handler = {
		.takes = takes, .option = option, .late = late, .arg = &got
	};
	struct err err;

	ck_assert_int_lt(
	    directive_scan(script, sizeof(script) - 1, "s", &handler, &err), 0);
	ck_assert_str_eq(err.text, "s:1: a zero byte in the line");
	ck_assert_uint_eq(got.len, 0);
}
END_TEST

SUITE(directive)
{
	tcase_add_loop_test(tc, directive_case, 0, ARRAY_SIZE(cases));
	tcase_add_test(tc, zero_byte);
}

#include "tests/unit/dice.h"

#include <err.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "libcommon/parse.h"

enum { TESTS_MAX = 8, SUMS_MAX = 4, LISTS_MAX = 16 };

static struct {
	const char *test, *suite;
} added[TESTS_MAX];
static size_t nadded;

/* Check forks a process for each world. All of them share this. */
struct shared {
	pid_t parent;
	const char *test; /* the one that runs, or failed; NULL: none */
	uint64_t seed;    /* its world */
	struct {
		const char *what;
		uint64_t n;
	} sum[SUMS_MAX];
};

static struct shared *shared;

static const char *suite_of(const char *test)
{
	size_t i = 0;

	while (strcmp(added[i].test, test) != 0)
		i++;
	return added[i].suite;
}

/* Check reports a failure without the number of the world. */
static void report_failure(void)
{
	if (!shared->test)
		return;
	fprintf(stderr,
	        "# %s failed; repeat it with:\n"
	        "# DICE_SEED=%" PRIu64 " CK_RUN_SUITE=%s %s\n",
	        shared->test, shared->seed, suite_of(shared->test),
	        program_invocation_name);
	shared->test = NULL;
}

static void report_end(void)
{
	if (getpid() != shared->parent)
		return;
	report_failure();
	for (int i = 0; i < SUMS_MAX && shared->sum[i].what; i++)
		fprintf(stderr, "# %" PRIu64 " %s\n", shared->sum[i].n,
		        shared->sum[i].what);
}

static void share(void)
{
	if (shared)
		return;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
	              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		err(EXIT_FAILURE, "cannot map memory");
	shared->parent = getpid();
	atexit(report_end);
}

/* Returns a number of the environment, from 0 to max. */
static int number(const char *name, int max, int unset)
{
	const char *text = getenv(name);
	struct err why;
	int64_t n;

	if (!text)
		return unset;
	if (parse_int(text, 0, max, &n, &why) < 0)
		errx(EXIT_FAILURE, "%s: %s", name, why.text);
	return (int)n;
}

void dice_add(TCase *tc, const TTest *test, int n)
{
	int first = number("DICE_SEED", INT_MAX / 2, 0);
	int times = number("DICE_TIMES", INT_MAX / 2 / n, 0);

	share();
	if (nadded == TESTS_MAX)
		abort();
	added[nadded].test = test->name;
	added[nadded++].suite = check_suite();
	if (times)
		n *= times;
	else if (getenv("DICE_SEED"))
		n = 1;
	tcase_add_loop_test(tc, test, first, first + n);
}

void dice_begin(const char *test, uint64_t seed)
{
	report_failure(); /* of the world before */
	shared->test = test;
	shared->seed = seed;
}

void dice_end(void)
{
	shared->test = NULL;
}

void dice_sum(const char *what, uint64_t n)
{
	int i = 0;

	while (shared->sum[i].what && shared->sum[i].what != what)
		if (++i == SUMS_MAX)
			abort();
	shared->sum[i].what = what;
	shared->sum[i].n += n;
}

void dice_puts(struct dice *d, struct buf *out, const char *format, ...)
{
	const char *word[LISTS_MAX], *const *list[LISTS_MAX];
	size_t n = 0;
	va_list ap;

	va_start(ap, format);
	for (const char *s = format; (s = strstr(s, "%s")); s += 2) {
		if (n == LISTS_MAX)
			abort();
		list[n++] = va_arg(ap, const char *const *);
	}
	va_end(ap);
	for (size_t i = n; i-- > 0;)
		word[i] =
		    list[i][0] && list[i][1] ? pick(d, list[i]) : list[i][0];
	n = 0;
	for (const char *end; (end = strstr(format, "%s")); format = end + 2) {
		buf_add(out, format, (size_t)(end - format));
		buf_puts(out, word[n++]);
	}
	buf_puts(out, format);
}

/* The input is a short string for all functions of parse.h, not only those for
 * durations. */
#include <assert.h>
#include <signal.h>
#include <stdlib.h>

#include "libcommon/mem.h"
#include "libcommon/parse.h"
#include "tests/fuzz/fuzz.h"

static void try_duration(const char *s)
{
	struct buf text = { 0 };
	struct err err;
	int64_t value, again;

	if (parse_duration(s, &value, &err) < 0)
		return;
	assert(value >= TIME_UNLIMITED && value < (int64_t)1 << 40);
	format_duration(&text, value);
	assert(!parse_duration(text.data, &again, &err) && again == value);
	buf_free(&text);
}

static void try_time(const char *s)
{
	struct buf text = { 0 };
	struct err err;
	int64_t value, again;

	if (parse_time(s, 1700000000, &value, &err) < 0)
		return;
	assert(value >= 0);
	format_time(&text, value);
	/* parse_time() can only read years of four digits. */
	if (value < 253402300800)
		assert(!parse_time(text.data, 0, &again, &err) &&
		       again == value);
	buf_free(&text);
}

static void try_numbers(const char *s)
{
	struct buf text = { 0 };
	struct err err;
	int64_t value, again;

	if (!parse_bytes(s, 0, &value, &err))
		assert(value >= 0);
	if (!parse_mib(s, 'M', &value, &err)) {
		assert(value >= 0);
		format_mib(&text, value);
		assert(!parse_mib(text.data, 0, &again, &err));
		assert(again <= value && again >= value - value / 10);
		buf_clear(&text);
	}
	if (!parse_int(s, -5, 1000, &value, &err))
		assert(value >= -5 && value <= 1000);
	if (!parse_milli(s, 64000, &value, &err)) {
		assert(value >= 0 && value <= 64000);
		format_milli(&text, value);
		assert(!parse_milli(text.data, value, &again, &err));
		assert(again == value);
	}
	buf_free(&text);
}

static void try_words(const char *s)
{
	struct err err;
	int64_t before;
	int signo, again;
	bool yes;

	parse_bool(s, &yes, &err);
	if (!parse_signal(s, &signo, &err)) {
		assert(signo > 0 && signo <= SIGRTMAX);
		assert(!parse_signal(signal_name(signo), &again, &err));
		assert(again == signo);
	}
	if (!parse_signal_spec(s, &signo, &before, &yes, &err))
		assert(signo > 0 && before >= 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *s = xstrndup((const char *)data, size);

	/* Use a time zone that does not depend on the machine and has no
	 * repeated hours. */
	setenv("TZ", "UTC0", 1);
	try_duration(s);
	try_time(s);
	try_numbers(s);
	try_words(s);
	free(s);
	return 0;
}

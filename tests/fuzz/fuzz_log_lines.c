#include <assert.h>
#include <string.h>

#include "aischedd/run/log_lines.h"
#include "tests/fuzz/fuzz.h"

/* Feed the sources of the input, which are separated by zero bytes, in chunks
 * of this size; 0: each at once. */
static int feed(const char *data, size_t size, size_t chunk, struct buf *out)
{
	struct log_lines lines = { 0 };
	const char *end = data + size;
	struct err err;

	while (data < end) {
		const char *stop = memchr(data, '\0', (size_t)(end - data));

		if (!stop)
			stop = end;
		log_lines_begin(&lines);
		while (data < stop) {
			size_t len = (size_t)(stop - data);

			if (chunk && chunk < len)
				len = chunk;
			if (log_lines_feed(&lines, data, len, out, &err) < 0)
				return -1;
			data += len;
		}
		data++;
	}
	return log_lines_end(&lines, &err);
}

/* The borders of chunks must make no difference, and the output must not have
 * text that the input lacks. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf once = { 0 };
	int rc = feed((const char *)data, size, 0, &once);

	assert(once.len <= size);
	for (size_t chunk = 1; chunk < 8; chunk += 3) {
		struct buf again = { 0 };

		assert(feed((const char *)data, size, chunk, &again) == rc);
		assert(rc < 0 || (again.len == once.len &&
		                  (!once.len ||
		                   !memcmp(again.data, once.data, once.len))));
		buf_free(&again);
	}
	buf_free(&once);
	return 0;
}

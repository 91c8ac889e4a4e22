#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "libcommon/hostlist.h"
#include "libcommon/limits.h"
#include "libcommon/mem.h"
#include "tests/fuzz/fuzz.h"

static void format(const struct hostlist *list, struct buf *out)
{
	hostlist_format((const char *const *)list->name, list->n, out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *s = xstrndup((const char *)data, size);
	struct buf once = { 0 }, twice = { 0 };
	struct hostlist list, again;
	struct err err;

	if (!hostlist_parse(&list, s, &err)) {
		assert(list.n > 0 && list.n <= LIMIT_HOSTS);
		format(&list, &once);
		assert(!hostlist_parse(&again, once.data, &err));
		assert(again.n <= list.n);
		format(&again, &twice);
		assert(!strcmp(once.data, twice.data));
		hostlist_free(&again);
		hostlist_free(&list);
		buf_free(&once);
		buf_free(&twice);
	}
	free(s);
	return 0;
}

#include <assert.h>
#include <stdlib.h>

#include "libcommon/idset.h"
#include "libcommon/limits.h"
#include "libcommon/mem.h"
#include "tests/fuzz/fuzz.h"

/* The printed set must parse to the same set: neither may have an id that the
 * other lacks. */
static void check_set(struct idset *set)
{
	struct buf text = { 0 };
	struct idset again, both;
	int64_t a = -1, b = -1;
	struct err err;

	idset_format(set, &text);
	assert(!idset_parse(&again, NULL, text.data, &err));
	do {
		a = idset_next(set, a);
		b = idset_next(&again, b);
		assert(a == b && a < LIMIT_ARRAY);
	} while (a >= 0);

	idset_take(&again, set, &both);
	assert(!again.n && idset_count(&both) == idset_count(set));
	idset_free(&both);
	buf_free(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *s = xstrndup((const char *)data, size);
	struct idset set;
	struct err err;
	uint32_t at_once;

	if (!idset_parse(&set, &at_once, s, &err)) {
		assert(set.n && idset_max(&set) < LIMIT_ARRAY);
		/* Skip sets with very many ids, which take long to walk. */
		if (idset_count(&set) < 10000)
			check_set(&set);
		idset_free(&set);
	}
	free(s);
	return 0;
}

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "libcommon/conf.h"
#include "libcommon/mem.h"
#include "tests/fuzz/fuzz.h"

/* Whatever is taken is printed such that it is taken again, as the same. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = xstrndup((const char *)data, size);
	struct buf once = { 0 }, twice = { 0 }, warnings = { 0 };
	struct conf *conf, *again;
	struct err err = { 0 };

	/* Other files are no part of the input. */
	if (strstr(text, "include")) {
		free(text);
		return 0;
	}
	conf = conf_parse(text, "f", &warnings, &err);
	if (conf) {
		conf_print(conf, &once);
		again = conf_parse(once.data, "f", NULL, &err);
		assert(again);
		conf_print(again, &twice);
		assert(!strcmp(once.data, twice.data));
		conf_free(again);
	} else {
		assert(err.code && !strncmp(err.text, "f:", 2));
	}
	conf_free(conf);
	buf_free(&once);
	buf_free(&twice);
	buf_free(&warnings);
	free(text);
	return 0;
}

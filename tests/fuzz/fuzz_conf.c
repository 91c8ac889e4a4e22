#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "libcommon/conf/conf.h"
#include "libcommon/mem.h"
#include "tests/fuzz/fuzz.h"

enum { MANY = 200 };

/* If a file is accepted, its configuration as printed must be accepted, too,
 * and give the same result. */
static void print_again(const struct conf *conf)
{
	struct buf once = { 0 }, twice = { 0 };
	struct conf *again;
	struct err err;

	conf_print(conf, &once);
	again = conf_parse(once.data, "f", NULL, &err);
	assert(again);
	conf_print(again, &twice);
	assert(!strcmp(once.data, twice.data));
	conf_free(again);
	buf_free(&once);
	buf_free(&twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = xstrndup((const char *)data, size);
	struct buf warnings = { 0 };
	struct err err = { 0 };
	struct conf *conf;

	/* Skip inputs that include other files. */
	if (strstr(text, "include")) {
		free(text);
		return 0;
	}
	conf = conf_parse(text, "f", &warnings, &err);
	if (!conf)
		assert(err.code && !strncmp(err.text, "f:", 2));
	else if (conf->nnodes < MANY) /* a short line can give 65,536 nodes */
		print_again(conf);
	conf_free(conf);
	buf_free(&warnings);
	free(text);
	return 0;
}

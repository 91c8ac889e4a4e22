/* replay.c - run a fuzz target over its committed corpus, as a TAP test */
#include <dirent.h>
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libcommon/mem.h"
#include "tests/fuzz/fuzz.h"

/* Returns the corpus folder of the program tests/fuzz/fuzz_NAME, which libtool
 * may run as .../lt-fuzz_NAME. */
static char *corpus_of(const char *program)
{
	const char *name = strstr(program, "fuzz_");
	const char *top = getenv("top_srcdir");

	for (const char *p = name; p; p = strstr(p + 1, "fuzz_"))
		name = p;
	if (!name)
		errx(EXIT_FAILURE, "'%s' is not named fuzz_NAME", program);
	return xasprintf("%s/tests/fuzz/corpus/%s", top ? top : ".",
	                 name + strlen("fuzz_"));
}

/* Run the target on a file, in a buffer of exactly its size, so that a
 * sanitizer notices a read beyond it. */
static void replay(const char *path)
{
	FILE *file = fopen(path, "rb");
	long size;
	void *data;

	if (!file || fseek(file, 0, SEEK_END) < 0 || (size = ftell(file)) < 0)
		err(EXIT_FAILURE, "%s", path);
	rewind(file);
	data = xmalloc((size_t)size);
	if (fread(data, 1, (size_t)size, file) != (size_t)size)
		err(EXIT_FAILURE, "%s", path);
	fclose(file);
	LLVMFuzzerTestOneInput(data, (size_t)size);
	free(data);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_seed(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

int main(int argc, char **argv)
{
	char *folder = argc > 1 ? xstrdup(argv[1]) : corpus_of(argv[0]);
	struct dirent **entry;
	int n = scandir(folder, &entry, is_seed, by_name);

	if (n <= 0)
		err(EXIT_FAILURE, "no corpus in %s", folder);
	printf("1..%d\n", n);
	for (int i = 0; i < n; i++) {
		char *path = xasprintf("%s/%s", folder, entry[i]->d_name);

		printf("# %s\n", entry[i]->d_name);
		fflush(stdout);
		replay(path);
		printf("ok %d - %s\n", i + 1, entry[i]->d_name);
		free(path);
		free(entry[i]);
	}
	free(entry);
	free(folder);
	return EXIT_SUCCESS;
}

/*
 * cuda.c - use a GPU, for tests on a machine that has one
 *
 *	cuda WORD...
 *
 * It carries out the words one after the other:
 *
 *	list       prints the UUID and the memory of each GPU that CUDA shows
 *	alloc MIB  allocates MIB of the first GPU and fills it
 *	busy MS    lets that GPU write to this memory for MS ms
 *	read       reads a line from standard input, for example from a gate
 *	check      ends with an error if the memory has changed
 *
 * It loads the library of the driver at run time, so it can be built without
 * CUDA. Exits with 1 and prints the name of the function if one fails.
 */
#include <dlfcn.h>
#include <err.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libcommon/clock.h"
#include "libcommon/parse.h"

#define PATTERN 0x5EED5EEDU

enum { NO_DEVICE = 100, MAX_MIB = 1 << 20, MAX_MS = 600000 };

typedef uint64_t address;

/* Each function returns 0 or an error code. */
#define FUNCTIONS(X)                                              \
	X(cuInit, (unsigned flags))                               \
	X(cuDeviceGetCount, (int *ret))                           \
	X(cuDeviceGet, (int *ret, int index))                     \
	X(cuDeviceGetUuid, (unsigned char ret[16], int device))   \
	X(cuDeviceTotalMem_v2, (size_t * ret, int device))        \
	X(cuDevicePrimaryCtxRetain, (void **ret, int device))     \
	X(cuCtxSetCurrent, (void *context))                       \
	X(cuMemAlloc_v2, (address * ret, size_t len))             \
	X(cuMemsetD32_v2, (address at, unsigned value, size_t n)) \
	X(cuMemcpyDtoH_v2, (void *to, address from, size_t len))  \
	X(cuCtxSynchronize, (void))

#define MEMBER(name, args) static int(*name) args;
FUNCTIONS(MEMBER)

#define TRY(call) try(#call, call)

static address memory;
static size_t words;

static void try(const char *call, int code)
{
	if (code)
		errx(EXIT_FAILURE, "%.*s: %d", (int)strcspn(call, "("), call,
		     code);
}

static void load(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW), *found;

	if (!library)
		errx(EXIT_FAILURE, "%s", dlerror());
#define FIND(name, args)                                            \
	found = dlsym(library, #name);                              \
	if (!found)                                                 \
		errx(EXIT_FAILURE, "the library has no %s", #name); \
	memcpy(&name, &found, sizeof(found));
	FUNCTIONS(FIND)
}

static void list(void)
{
	int n = 0, device;

	TRY(cuDeviceGetCount(&n));
	for (int i = 0; i < n; i++) {
		unsigned char id[16];
		size_t bytes;

		TRY(cuDeviceGet(&device, i));
		TRY(cuDeviceGetUuid(id, device));
		TRY(cuDeviceTotalMem_v2(&bytes, device));
		printf("GPU-");
		for (int k = 0; k < 16; k++)
			printf("%s%02x",
			       k >= 4 && k <= 10 && !(k % 2) ? "-" : "", id[k]);
		printf(" %zu\n", bytes >> 20);
	}
}

/* Use the first GPU from now on. */
static void begin(void)
{
	void *context;
	int device;

	TRY(cuDeviceGet(&device, 0));
	TRY(cuDevicePrimaryCtxRetain(&context, device));
	TRY(cuCtxSetCurrent(context));
}

static void alloc(int64_t mib)
{
	size_t bytes = (size_t)mib << 20;

	begin();
	TRY(cuMemAlloc_v2(&memory, bytes));
	words = bytes / sizeof(unsigned);
	TRY(cuMemsetD32_v2(memory, PATTERN, words));
	TRY(cuCtxSynchronize());
	printf("has %lld MiB\n", (long long)mib);
}

static void be_busy(int64_t ms)
{
	int64_t end = clock_ms() + ms;

	while (clock_ms() < end) {
		for (int i = 0; i < 20; i++)
			TRY(cuMemsetD32_v2(memory, PATTERN, words));
		TRY(cuCtxSynchronize());
	}
	printf("was busy\n");
}

/* Look at the first and the last word of each MiB. */
static void check(void)
{
	size_t step = ((size_t)1 << 20) / sizeof(unsigned);

	for (size_t i = 0; i < words; i += step)
		for (size_t at = i; at < i + step; at += step - 1) {
			unsigned value = 0;

			TRY(cuMemcpyDtoH_v2(&value, memory + at * sizeof(value),
			                    sizeof(value)));
			if (value != PATTERN)
				errx(EXIT_FAILURE, "the memory has changed");
		}
	printf("has its memory\n");
}

static void wait_line(void)
{
	char line[64];

	if (!fgets(line, sizeof(line), stdin))
		errx(EXIT_FAILURE, "no line to read");
}

static int64_t number(const char *text, int64_t most)
{
	int64_t n;
	struct err why;

	if (!text || parse_int(text, 1, most, &n, &why) < 0)
		errx(EXIT_FAILURE, "expected a number");
	return n;
}

int main(int argc, char **argv)
{
	int code;

	setvbuf(stdout, NULL, _IOLBF, 0);
	load();
	code = cuInit(0);
	if (code == NO_DEVICE) {
		printf("no GPU\n");
		return 0;
	}
	try("cuInit", code);
	for (int i = 1; i < argc; i++) {
		const char *word = argv[i];

		if (!strcmp(word, "list"))
			list();
		else if (!strcmp(word, "alloc"))
			alloc(number(argv[++i], MAX_MIB));
		else if (!strcmp(word, "busy"))
			be_busy(number(argv[++i], MAX_MS));
		else if (!strcmp(word, "read"))
			wait_line();
		else if (!strcmp(word, "check"))
			check();
		else
			errx(EXIT_FAILURE, "unknown word '%s'", word);
	}
	return 0;
}

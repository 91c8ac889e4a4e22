/* redump.c - read a snapshot from standard input and write it again */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "aischedd/sched/text/text.h"
#include "libcommon/buf.h"
#include "libcommon/mem.h"

int main(void)
{
	struct arena *arena = arena_new();
	struct buf text = { 0 }, again = { 0 };
	const struct snap *snap;
	char chunk[4096];
	struct err err;
	ssize_t n;

	while ((n = read(STDIN_FILENO, chunk, sizeof(chunk))) > 0)
		buf_add(&text, chunk, (size_t)n);
	buf_puts(&text, "");
	snap = snap_read(text.data, arena, &err);
	if (!snap) {
		fprintf(stderr, "redump: %s\n", err.text);
		return EXIT_FAILURE;
	}
	snap_write(snap, &again);
	fputs(again.data, stdout);
	buf_free(&text);
	buf_free(&again);
	arena_free(arena);
	return EXIT_SUCCESS;
}

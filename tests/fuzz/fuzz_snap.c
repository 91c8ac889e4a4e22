#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aischedd/sched/check/plan_check.h"
#include "aischedd/sched/text/text.h"
#include "tests/fuzz/fuzz.h"

/* Whether the snapshot is small enough: large plans are valid, too, but take
 * long. */
static bool is_small(const struct snap *s)
{
	uint64_t tasks = 0;

	if (s->gpu.n > 4096 || s->cpu.n > 4096 || s->node.n > 512)
		return false;
	for (uint32_t i = 0; i < s->pend.n; i++) {
		for (uint32_t m = s->pend.member_first[i];
		     m < s->pend.member_first[i + 1]; m++)
			tasks += (uint64_t)s->member[m].count *
			         s->req.tasks[s->pend.req[i]];
	}
	for (uint32_t i = 0; i < s->run.n; i++)
		tasks += s->run.task_first[i + 1] - s->run.task_first[i];
	return tasks < 20000;
}

/* Make a plan, check that it is valid and that every refusal has a text, and
 * return it as text. */
static char *plan_text(const struct snap *snap)
{
	struct arena *arena = arena_new();
	const struct plan *plan = sched_plan(snap, arena);
	struct buf text = { 0 };
	struct err why;

	if (plan_check(snap, plan, &why) < 0) {
		snap_write(snap, &text);
		fprintf(stderr, "%s in\n%s", why.text, text.data);
		abort();
	}
	plan_write(snap, plan, &text);
	for (uint32_t row = 0; row < snap->pend.n && row < 16; row++) {
		if (sched_could_fit(snap, row, &why) < 0)
			assert(*why.text);
	}
	arena_free(arena);
	return buf_take(&text);
}

/* A snapshot that is written and read again must give the same text and
 * plan. */
static void check(const struct snap *snap, struct arena *arena)
{
	struct buf once = { 0 }, twice = { 0 };
	const struct snap *copy;
	char *plan, *again;
	struct err err;

	snap_write(snap, &once);
	copy = snap_read(once.data, arena, &err);
	assert(copy);
	snap_write(copy, &twice);
	assert(!strcmp(once.data, twice.data));
	if (is_small(snap)) {
		plan = plan_text(snap);
		again = plan_text(copy);
		assert(!strcmp(plan, again));
		free(plan);
		free(again);
	}
	buf_free(&once);
	buf_free(&twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = xstrndup((const char *)data, size);
	char *plan = strstr(text, "\n---\n");
	struct arena *arena = arena_new();
	const struct snap *snap;
	struct err err;

	/* The files of the corpus are scenarios, which end with a plan: cut it
	 * off. */
	if (plan)
		plan[1] = 0;
	snap = snap_read(text, arena, &err);
	if (snap)
		check(snap, arena);
	arena_free(arena);
	free(text);
	return 0;
}

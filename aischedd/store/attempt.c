/* attempt.c - write ended attempts, and add them to totals */
#include "aischedd/store/own.h"

#include <stdlib.h>
#include <string.h>

#include "libcommon/mem.h"

void attempt_forget_names(struct store *store)
{
	for (int i = 0; i < NAMES; i++) {
		free(store->name[i].text);
		store->name[i].text = NULL;
	}
}

/* Set last->id to the id that table `name` has for this text; a new text is
 * added to the table. Nothing is looked up if the last attempt had the same
 * text, as is common. Returns 0, or -1 with *err. */
static int number_of(struct store *store, struct last_name *last,
                     const char *text, struct err *err)
{
	struct stmt s;

	if (last->text && !strcmp(last->text, text))
		return 0;
	s = db_use(&store->db, PUT_NAME);
	db_text(&s, 1, text);
	if (db_run(&store->db, &s, err) < 0)
		return -1;
	s = db_use(&store->db, FIND_NAME);
	db_text(&s, 1, text);
	if (db_step(&store->db, &s, err) < 1)
		return -1;
	last->id = db_col_i64(&s, 0, 0);
	free(last->text);
	last->text = xstrdup(text);
	sqlite3_reset(s.s);
	return 0;
}

static void put_i64(struct stmt *s, int column, int64_t value, int64_t null)
{
	if (value == null)
		db_null(s, column);
	else
		db_i64(s, column, value);
}

static int put_row(struct store *store, const int64_t number[NAMES],
                   const struct attempt_row *row, struct err *err)
{
	struct stmt s = db_use(&store->db, PUT_ATTEMPT);
	const struct gpu_use *gpu = &row->gpu;
	int c = 1;

	for (int i = 0; i < NAMES; i++)
		put_i64(&s, c++, number[i], 0);
	db_i64(&s, c++, (int64_t)row->job);
	db_i64(&s, c++, row->attempt);
	put_i64(&s, c++, (int64_t)row->array, 0);
	put_i64(&s, c++, row->array_task, NO_TASK);
	db_i64(&s, c++, row->uid);
	db_i64(&s, c++, row->tasks);
	db_text(&s, c++, row->nodes);
	db_i64(&s, c++, row->began_ms);
	db_i64(&s, c++, row->ended_ms);
	db_i64(&s, c++, row->sum.ran_ms);
	db_i64(&s, c++, row->state);
	db_i64(&s, c++, row->why);
	db_i64(&s, c++, row->cause);
	db_i64(&s, c++, row->evict);
	put_i64(&s, c++, (int64_t)row->evict_by, 0);
	put_i64(&s, c++, row->exit_code, -1);
	put_i64(&s, c++, row->signal, 0);
	db_i64(&s, c++, row->sum.held[RES_CPU]);
	db_i64(&s, c++, row->sum.held[RES_MEM]);
	db_i64(&s, c++, row->sum.held[RES_GPU]);
	put_i64(&s, c++, row->cpu_ms, SPEC_UNSET);
	put_i64(&s, c++, row->peak_kib, SPEC_UNSET);
	put_i64(&s, c++, gpu->known_ms ? gpu->busy_ms : -1, -1);
	put_i64(&s, c++, gpu->known_ms, 0);
	put_i64(&s, c++, gpu->mem_total_mib ? gpu->mem_mib : -1, -1);
	put_i64(&s, c++, gpu->mem_total_mib, 0);
	db_i64(&s, c++, row->cost);
	put_i64(&s, c++, row->wait_ms, SPEC_UNSET);
	db_text(&s, c++, row->pieces);
	return db_run(&store->db, &s, err);
}

static int add_total(struct store *store, const char *user,
                     const struct attempt_row *row, struct err *err)
{
	struct stmt s = db_use(&store->db, ADD_TOTAL);

	db_text(&s, 1, user);
	db_text(&s, 2, row->queue);
	db_i64(&s, 3, row->sum.held[RES_CPU]);
	db_i64(&s, 4, row->sum.held[RES_GPU]);
	db_i64(&s, 5, 0);
	return db_run(&store->db, &s, err);
}

int attempt_put(struct store *store, const struct state *state,
                const struct attempt_row *row, struct err *err)
{
	const char *user = state_user(state, row->user)->name;
	const char *const text[NAMES] = {
		[NAME_USER] = user,
		[NAME_QUEUE] = row->queue,
		[NAME_ACCOUNT] = row->account,
		[NAME_POOL] = row->pool,
		[NAME_CLASS] = row->class,
		[NAME_GPU] = row->gpu_type,
	};
	int64_t number[NAMES] = { 0 };

	for (int i = 0; i < NAMES; i++) {
		if (!text[i])
			continue;
		if (number_of(store, &store->name[i], text[i], err) < 0)
			return -1;
		number[i] = store->name[i].id;
	}
	if (put_row(store, number, row, err) < 0)
		return -1;
	return add_total(store, user, row, err);
}

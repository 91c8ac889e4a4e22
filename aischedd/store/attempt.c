/* attempt.c - write ended attempts, and add them to totals */
#include "aischedd/store/own.h"

#include <stdlib.h>
#include <string.h>

#include "libcommon/mem.h"

void attempt_forget_holder(struct store *store)
{
	for (int i = 0; i < HOLDER_TEXTS; i++) {
		free(store->holder.text[i]);
		store->holder.text[i] = NULL;
	}
}

static bool is_last(const struct attempt_holder *last, uint32_t uid,
                    const char *const text[HOLDER_TEXTS])
{
	for (int i = 0; i < HOLDER_TEXTS; i++)
		if (!last->text[i] || strcmp(last->text[i], text[i]))
			return false;
	return last->uid == uid;
}

static struct stmt use(struct store *store, enum sql which, uint32_t uid,
                       const char *const text[HOLDER_TEXTS])
{
	struct stmt s = db_use(&store->db, which);

	db_i64(&s, 1, uid);
	for (int i = 0; i < HOLDER_TEXTS; i++)
		db_text(&s, 2 + i, text[i]);
	return s;
}

/* Set store->holder to the row of table `holder` with these values, which is
 * added if there is none. Nothing is looked up if the last attempt had the same
 * holder, as is common. Returns 0, or -1 with *err. */
static int find_holder(struct store *store, uint32_t uid,
                       const char *const text[HOLDER_TEXTS], struct err *err)
{
	struct attempt_holder *last = &store->holder;
	struct stmt s;

	if (is_last(last, uid, text))
		return 0;
	s = use(store, PUT_HOLDER, uid, text);
	if (db_run(&store->db, &s, err) < 0)
		return -1;
	s = use(store, FIND_HOLDER, uid, text);
	if (db_step(&store->db, &s, err) < 1)
		return -1;
	last->id = db_col_i64(&s, 0, 0);
	sqlite3_reset(s.s);
	attempt_forget_holder(store);
	last->uid = uid;
	for (int i = 0; i < HOLDER_TEXTS; i++)
		last->text[i] = xstrdup(text[i]);
	return 0;
}

static void put_i64(struct stmt *s, int column, int64_t value, int64_t null)
{
	if (value == null)
		db_null(s, column);
	else
		db_i64(s, column, value);
}

static int put_row(struct store *store, const struct attempt_row *row,
                   struct err *err)
{
	struct stmt s = db_use(&store->db, PUT_ATTEMPT);
	const struct gpu_use *gpu = &row->gpu;
	int64_t held_ms = row->ended_ms - row->began_ms;
	int c = 1;

	db_i64(&s, c++, (int64_t)row->job);
	db_i64(&s, c++, row->attempt);
	db_i64(&s, c++, store->holder.id);
	db_i64(&s, c++, row->tasks);
	db_text(&s, c++, row->nodes);
	db_i64(&s, c++, row->ended_ms);
	db_i64(&s, c++, held_ms);
	db_i64(&s, c++, held_ms - row->sum.ran_ms);
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
	put_i64(&s, c++, row->wait_ms, SPEC_UNSET);
	db_blob(&s, c++, row->pieces.len ? row->pieces.data : "",
	        row->pieces.len);
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
	const char *text[HOLDER_TEXTS] = {
		[HOLDER_USER] = user,
		[HOLDER_QUEUE] = row->queue,
		[HOLDER_ACCOUNT] = row->account,
		[HOLDER_CLASS] = row->class,
		[HOLDER_POOL] = row->pool,
		[HOLDER_GPU] = row->gpu_type,
	};

	for (int i = 0; i < HOLDER_TEXTS; i++)
		text[i] = text[i] ? text[i] : "";
	if (find_holder(store, row->uid, text, err) < 0)
		return -1;
	if (put_row(store, row, err) < 0)
		return -1;
	return add_total(store, user, row, err);
}

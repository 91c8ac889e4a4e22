/* steps.c - store and read the records of job steps */
#include "aischedd/store/steps.h"

#include <stdlib.h>
#include <string.h>

#include "aischedd/store/own.h"
#include "libcommon/mem.h"

void store_steps(struct store *store, uint64_t job, uint32_t attempt,
                 const struct buf *text)
{
	struct new_steps *n;

	store->steps = GROW(store->steps, store->nsteps, &store->steps_cap);
	n = &store->steps[store->nsteps++];
	*n = (struct new_steps){ .job = job, .attempt = attempt };
	buf_add(&n->text, text->data, text->len);
}

void steps_forget_new(struct store *store)
{
	for (size_t i = 0; i < store->nsteps; i++)
		buf_free(&store->steps[i].text);
	store->nsteps = 0;
}

int steps_put_new(struct store *store, struct err *err)
{
	for (size_t i = 0; i < store->nsteps; i++) {
		const struct new_steps *n = &store->steps[i];
		struct stmt s = db_use(&store->db, PUT_STEPS);

		db_i64(&s, 1, (int64_t)n->job);
		db_i64(&s, 2, n->attempt);
		db_blob(&s, 3, n->text.data, n->text.len);
		if (db_run(&store->db, &s, err) < 0)
			return -1;
	}
	return 0;
}

int store_steps_get(struct store *store, uint64_t job, struct buf *out,
                    struct err *err)
{
	struct stmt s = db_use(&store->db, GET_STEPS);
	int more;

	db_i64(&s, 1, (int64_t)job);
	more = db_step(&store->db, &s, err);
	if (more > 0)
		buf_add(out, sqlite3_column_blob(s.s, 0),
		        (size_t)sqlite3_column_bytes(s.s, 0));
	sqlite3_reset(s.s);
	return more < 0 ? -1 : 0;
}

/* commit.c - write all changes of a turn, in one transaction */
#include "aischedd/state/cluster/node.h"
#include "aischedd/state/cluster/queue.h"
#include "aischedd/state/cluster/usage.h"
#include "aischedd/store/own.h"

#include <time.h>

#include "aischedd/state/cluster/reserve.h"
#include "aischedd/store/blob.h"
#include "aischedd/store/cron.h"
#include "aischedd/store/loss.h"
#include "aischedd/store/outbox.h"
#include "aischedd/store/row.h"
#include "libcommon/clock.h"
#include "libcommon/mem.h"

/* Add n to the number of ended jobs that the job's user has in the job's queue.
 * n is negative if an ended job was requeued, so that each job counts once. */
static int count_jobs(struct store *store, const struct state *state,
                      const struct job *job, int64_t n, struct err *err)
{
	struct stmt s = db_use(&store->db, ADD_TOTAL);

	if (!n)
		return 0;
	db_text(&s, 1, state_user(state, job->user)->name);
	db_text(&s, 2, state_conf(state)->queues[job->queue].name);
	db_i64(&s, 3, 0);
	db_i64(&s, 4, 0);
	db_i64(&s, 5, n);
	return db_run(&store->db, &s, err);
}

static int put_job(struct store *store, const struct state *state,
                   const struct job *job, struct buf *scratch, struct err *err)
{
	struct stmt s = db_use(&store->db, PUT_JOB);
	int64_t ended = job_state_is_final(job->state) ? job_count(job) : 0;

	row_bind(&s, state, job, scratch);
	if (db_run(&store->db, &s, err) < 0)
		return -1;
	return count_jobs(store, state, job, ended - job->came_back, err);
}

static int put_jobs(struct store *store, const struct state *state,
                    const struct changes *changes, struct err *err)
{
	struct buf scratch = { 0 };
	int result = 0;

	for (size_t i = 0; i < changes->ngone && result == 0; i++) {
		struct stmt s = db_use(&store->db, DEL_JOB);

		db_i64(&s, 1, (int64_t)changes->gone[i]);
		result = db_run(&store->db, &s, err);
	}
	for (size_t i = 0; i < changes->njobs && result == 0; i++)
		result = put_job(store, state, changes->job[i], &scratch, err);
	buf_free(&scratch);
	return result;
}

static int put_attempts(struct store *store, const struct state *state,
                        const struct changes *changes, struct err *err)
{
	for (size_t i = 0; i < changes->nattempts; i++)
		if (attempt_put(store, state, &changes->attempt[i], err) < 0)
			return -1;
	return 0;
}

static int put_rollups(struct store *store, const struct state *state,
                       const struct changes *changes, struct err *err)
{
	for (size_t i = 0; i < changes->nrollups; i++)
		if (rollup_put(store, state, changes->rollup[i], err) < 0)
			return -1;
	return changes->lags ? rollup_put_lags(store, changes, err) : 0;
}

static int put_arrays(struct store *store, const struct changes *changes,
                      struct err *err)
{
	for (size_t i = 0; i < changes->narrays; i++) {
		const struct array *a = changes->array[i];
		struct stmt s =
		    db_use(&store->db, a->unfinished ? PUT_ARRAY : DEL_ARRAY);

		db_i64(&s, 1, (int64_t)a->id);
		if (a->unfinished) {
			db_i64(&s, 2, a->limit);
			db_i64(&s, 3, a->count);
			db_i64(&s, 4, a->min);
			db_i64(&s, 5, a->max);
			db_i64(&s, 6, a->step);
			db_i64(&s, 7, a->unfinished);
			db_i64(&s, 8, a->failed);
			db_i64(&s, 9, a->started);
			db_i64(&s, 10, a->exit_low);
			db_i64(&s, 11, a->exit_high);
		}
		if (db_run(&store->db, &s, err) < 0)
			return -1;
	}
	return 0;
}

/* Delete the rows of forgotten nodes. A node that came back has a row under the
 * same name, which is written later. */
static int drop_nodes(struct store *store, const struct state *state,
                      struct err *err)
{
	for (uint32_t i = 0; i < state_nnodes(state); i++) {
		const struct node *node = state_node(state, i);
		struct stmt s;

		if (!node->dirty || !node->forgotten)
			continue;
		s = db_use(&store->db, DROP_NODE);
		db_text(&s, 1, node->name);
		db_text(&s, 2, state_conf(state)->pools[node->pool].name);
		if (db_run(&store->db, &s, err) < 0)
			return -1;
	}
	return 0;
}

static int put_nodes(struct store *store, const struct state *state,
                     struct err *err)
{
	if (drop_nodes(store, state, err) < 0)
		return -1;
	for (uint32_t i = 0; i < state_nnodes(state); i++) {
		const struct node *node = state_node(state, i);
		struct stmt s;

		if (!node->dirty || node->removed)
			continue;
		s = db_use(&store->db, DROP_EXPECTED);
		db_text(&s, 1, node->name);
		if (!node->expected && db_run(&store->db, &s, err) < 0)
			return -1;
		s = db_use(&store->db, PUT_NODE);
		db_text(&s, 1, node->name);
		db_text(&s, 2,
		        node->expected
		            ? ""
		            : state_conf(state)->pools[node->pool].name);
		db_i64(&s, 3, node->drained);
		db_text(&s, 4, node->drain_reason);
		db_i64(&s, 5, node->want);
		db_i64(&s, 6, node->want_at);
		if (db_run(&store->db, &s, err) < 0)
			return -1;
	}
	return 0;
}

static int put_queues(struct store *store, const struct state *state,
                      struct err *err)
{
	const struct conf *conf = state_conf(state);

	for (uint32_t i = 0; i < conf->nqueues; i++) {
		struct stmt s = db_use(&store->db, PUT_QUEUE);

		db_text(&s, 1, conf->queues[i].name);
		db_i64(&s, 2, state_queue_open(state, i));
		db_i64(&s, 3, !conf->queues[i].closed);
		if (db_run(&store->db, &s, err) < 0)
			return -1;
	}
	return 0;
}

static int put_usage(struct store *store, const struct state *state,
                     struct err *err)
{
	for (size_t i = 0; i < state_nusages(state); i++) {
		const struct usage *u = state_usage(state, i);
		const struct user *user = state_user(state, u->user);
		struct stmt s;

		if (!u->dirty)
			continue;
		s = db_use(&store->db, PUT_USAGE);
		db_text(&s, 1, user->name);
		db_text(&s, 2, state_conf(state)->queues[u->queue].name);
		db_i64(&s, 3, user->uid);
		db_i64(&s, 4, u->amount);
		db_i64(&s, 5, u->at);
		if (db_run(&store->db, &s, err) < 0)
			return -1;
	}
	return 0;
}

static int put_reservation(struct store *store, const struct state *state,
                           const struct reservation *r, struct err *err)
{
	struct stmt s = db_use(&store->db, PUT_RESERVATION);
	struct buf nodes = { 0 };
	int result;

	state_reservation_nodes(state, r, true, &nodes);
	db_text(&s, 1, r->name);
	db_i64(&s, 2, r->start);
	db_i64(&s, 3, r->end);
	db_i64(&s, 4, r->repeat);
	db_text(&s, 5, nodes.data);
	db_text(&s, 6, r->users);
	db_text(&s, 7, r->guests);
	result = db_run(&store->db, &s, err);
	buf_free(&nodes);
	return result;
}

/* Delete all stored reservations and write the present ones, as they are few.
 */
static int put_reservations(struct store *store, const struct state *state,
                            struct err *err)
{
	struct stmt s = db_use(&store->db, DEL_RESERVATIONS);

	if (db_run(&store->db, &s, err) < 0)
		return -1;
	for (size_t i = 0; i < state_nreservations(state); i++)
		if (put_reservation(store, state, state_reservation(state, i),
		                    err) < 0)
			return -1;
	return 0;
}

static int put_meta(struct store *store, const struct changes *changes,
                    struct err *err)
{
	const struct {
		const char *key;
		int64_t value;
	} rows[] = {
		{ "next_id", (int64_t)changes->next_id },
		{ "commits", store->commits + 1 },
		{ "clock_boot", store->clock.boot },
		{ "clock_ahead_ms", store->clock.ahead_ms },
		{ "clock_wall_ms", store->clock.wall_ms },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct stmt s = db_use(&store->db, PUT_META);

		db_text(&s, 1, rows[i].key);
		db_i64(&s, 2, rows[i].value);
		if (db_run(&store->db, &s, err) < 0)
			return -1;
	}
	return 0;
}

void store_set_clock(struct store *store, const struct store_clock *clock)
{
	store->clock = *clock;
}

static int put_all(struct store *store, const struct state *state,
                   struct err *err)
{
	struct changes changes;

	state_changes(state, &changes);
	if (blob_put_new(store, err) < 0 || audit_put_new(store, err) < 0 ||
	    steps_put_new(store, err) < 0 ||
	    put_jobs(store, state, &changes, err) < 0 ||
	    put_attempts(store, state, &changes, err) < 0 ||
	    put_rollups(store, state, &changes, err) < 0 ||
	    outbox_put(store, state, &changes, err) < 0 ||
	    put_arrays(store, &changes, err) < 0 ||
	    cron_put(store, state, err) < 0 ||
	    put_meta(store, &changes, err) < 0)
		return -1;
	if (changes.nodes && put_nodes(store, state, err) < 0)
		return -1;
	if (changes.queues && put_queues(store, state, err) < 0)
		return -1;
	if (changes.usages && put_usage(store, state, err) < 0)
		return -1;
	if (changes.reservations && put_reservations(store, state, err) < 0)
		return -1;
	return 0;
}

static int run(struct store *store, enum sql which, struct err *err)
{
	struct stmt s = db_use(&store->db, which);

	return db_run(&store->db, &s, err);
}

int store_commit(struct store *store, struct state *state, struct err *err)
{
	double began = clock_fine_ms(), took;

	if (!state_is_dirty(state) && !store->nblobs && !store->ntokens &&
	    !store->naudits && !store->nsteps)
		return 0;
	if (store_check_files(store, err) < 0 || run(store, BEGIN, err) < 0)
		return -1;
	if (put_all(store, state, err) < 0 || run(store, COMMIT, err) < 0) {
		/* After some errors SQLite has already rolled back. */
		if (!sqlite3_get_autocommit(store->db.sql))
			db_exec(&store->db, "ROLLBACK", NULL);
		store->outbox_known = false;
		attempt_forget_holder(store); /* its id was rolled back */
		return err_wrap(err, "database '%s'", store->path);
	}
	store->commits++;
	loss_note(store);
	blob_forget_new(store);
	audit_forget_new(store);
	steps_forget_new(store);
	state_committed(state);
	took = clock_fine_ms() - began;
	store->stats.commits++;
	store->stats.commit_ms_last = took;
	store->stats.commit_ms_sum += took;
	histogram_add(&store->stats.commit_s, histogram_steps, took / 1e3);
	if (took > store->stats.commit_ms_max)
		store->stats.commit_ms_max = took;
	return 0;
}

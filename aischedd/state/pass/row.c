/* row.c - rows of pending jobs, and why other pending jobs are in no row */
#include "aischedd/state/pass/row.h"
#include "aischedd/state/cluster/counts.h"

#include <stdlib.h>
#include <string.h>

#include "aischedd/sched/order_position.h"
#include "aischedd/sched/order_service.h"
#include "aischedd/state/cluster/pool.h"
#include "aischedd/state/cluster/queue.h"
#include "aischedd/state/cluster/reserve_use.h"
#include "aischedd/state/life/depend.h"
#include "aischedd/state/life/evict.h"
#include "aischedd/state/state_priv.h"
#include "libcommon/mem.h"
#include "libcommon/steps.h"
#include "libcommon/topology.h"

/* The most steps of a call of rows_free_some(). A step frees a row. */
enum { STEPS_FREE = STEPS_SLICE / 16 };

enum reason state_ineligible(const struct state *state, const struct job *job)
{
	if (job->hold)
		return job->hold == HOLD_USER ? WHY_JobHeldUser
		                              : WHY_JobHeldAdmin;
	if (job->deps)
		return deps_reason(job);
	if (job->begin != NO_TIME)
		return WHY_BeginTime;
	if (queue_closed_by(state, job->queue) >= 0)
		return WHY_QueueClosed;
	if (reserve_is_gone(state, job))
		return WHY_Reservation;
	if (volume_hinders(state, job, NULL))
		return WHY_Volume;
	if (affinity_hinders(state, job, NULL))
		return WHY_Affinity;
	if (job->runs->retry_at != NO_TIME)
		return WHY_StartFailed;
	return WHY_None;
}

static void add_text(struct buf *out, const char *s)
{
	buf_add(out, s ? s : "", s ? strlen(s) + 1 : 1);
}

/* Have the key ask for one node if the job mounts a volume claim that can be
 * mounted on one node only. */
static void key_volumes(const struct state *state, const char *names,
                        struct row_key *key)
{
	if (key->tasks > 1 && !key->nodes &&
	    volume_wants_one_node(state, names, key->pools))
		key->nodes = 1;
}

/* Set the key's topology levels and segment, from --topology. If it names a
 * level that is no longer configured, the key allows no pool. */
static void key_topology(const struct state *state, const struct spec *spec,
                         struct row_key *key)
{
	struct topology t = { -1, -1 };

	if (spec->topology &&
	    topology_parse(spec->topology, &state->conf->topology.levels, &t,
	                   NULL) < 0)
		key->pools = 0;
	key->need = t.need < 0 ? LEVEL_NONE : (uint8_t)t.need;
	key->like = t.like <= t.need ? LEVEL_NONE : (uint8_t)t.like;
	/* The key needs no segment if there is no level, all tasks are on one
	 * node, or all of them are one segment. */
	if (t.need < 0 || key->nodes == 1 || key->segment == key->tasks)
		key->segment = 0;
}

/* Set in the key, from --spread, the topology level over whose domains the
 * job's nodes or tasks are spread. If this level is no longer configured, the
 * key allows no pool. A job with one node or task has nothing to spread;
 * several nodes are spread over nodes anyway. */
static void key_spread(const struct state *state, const struct spec *spec,
                       struct row_key *key)
{
	uint32_t parts = key->nodes ? key->nodes : key->tasks;
	bool wish;
	int level;

	key->spread = key->spread_like = LEVEL_NONE;
	if (!spec->spread)
		return;
	if (spread_parse(spec->spread, &state->conf->topology.levels, &level,
	                 &wish, NULL) < 0) {
		key->pools = 0;
		return;
	}
	if (parts == 1 || (key->nodes && level == SPREAD_NODE))
		return;
	/* Ignore --spread if the nodes get unequal numbers of tasks, which is
	 * possible only if "node" became a level of the configuration after the
	 * job was submitted. */
	if (key->nodes &&
	    (uint64_t)key->nodes * key->tasks_per_node != key->tasks)
		return;
	*(wish ? &key->spread_like : &key->spread) =
	    level == SPREAD_NODE ? LEVEL_NODE : (uint8_t)level;
}

/* Set in the key how many devices each task has, and where, from --device. If
 * it names a kind that is no longer configured, the key allows no pool. */
static void key_devices(const struct state *state, const struct spec *spec,
                        struct row_key *key)
{
	const struct conf *conf = state->conf;
	struct device_need need = { { { 0 } }, 0, 0 };

	if (spec->device &&
	    devices_parse_need(conf->device_names, conf->ndevices, spec->device,
	                       &need, NULL) < 0)
		key->pools = 0;
	key->devs = need.counts;
	key->pcie = key->gpus ? need.pcie : 0;
	key->near = need.numa;
}

void row_key_build(const struct state *state, const struct job *job,
                   struct buf *out)
{
	struct row_key key;
	struct request req;
	struct spec spec;
	struct array *array = NULL;
	struct buf claims = { 0 }, affinity = { 0 };

	memset(&key, 0, sizeof(key)); /* keys are compared with their padding */
	spec_unpack(&spec, job->packed);
	spec_request(&spec, job->mem_default, &req);
	if (job->array)
		array = map_find(&state->records.arrays, job->array);
	key.tasks = req.tasks;
	key.min_tasks = req.min_tasks;
	key.nodes = req.nodes;
	key.tasks_per_node = req.tasks_per_node;
	key.segment = req.segment;
	key.cpus = req.cpus_milli;
	key.mem = req.mem_mib;
	key.tmp = req.tmp_mib;
	key.gpus = req.gpus_milli;
	key.gpu_mem = req.gpu_mem_mib;
	key.time_limit = job->time_limit;
	key.pools = spec_pools(state, &spec, job->queue);
	key.exclusive = spec_takes_nodes(&spec);
	key.one_process = spec.launch_script == 1;
	key.numa = (uint8_t)pool_numa(state, key.pools, &spec);
	key.links = (uint8_t)links_parse(spec.links);
	buf_puts(&claims, "");
	volume_names(state, job->queue, spec.mount, &claims);
	key_volumes(state, claims.data, &key);
	key_topology(state, &spec, &key);
	key_spread(state, &spec, &key);
	key_devices(state, &spec, &key);
	buf_puts(&affinity, "");
	affinity_key(state, job, &spec, &key, &affinity);
	key.queue = job->queue;
	key.user = job->user;
	key.priority = job->priority;
	if (order_rung_counts(state->conf->scheduling.order))
		key.served = job->runs->served;
	key.array = array && array->limit ? array->id : 0;
	key.claimer = job->claim ? job->id : 0;
	key.preemptible = job->preemptible;
	key.barred = job->runs->start_fails > 0;
	buf_add(out, &key, sizeof(key));
	add_text(out, spec.gpu_type);
	add_text(out, spec.constraint);
	add_text(out, spec.prefer);
	add_text(out, spec.nodelist);
	add_text(out, spec.exclude);
	add_text(out, spec.licenses);
	add_text(out, spec.reservation);
	add_text(out, claims.data);
	add_text(out, affinity.data);
	buf_free(&claims);
	buf_free(&affinity);
}

void row_key_texts(const char *key, const char *ret[KEY_TEXTS])
{
	const char *s = key + sizeof(struct row_key);

	for (int i = 0; i < KEY_TEXTS; i++) {
		ret[i] = s;
		/* Do not call strlen() for empty texts: most are empty. */
		s += (*s ? strlen(s) : 0) + 1;
	}
}

uint64_t row_req_hash(const char *key, size_t len)
{
	return hash_bytes(hash_bytes(0, key, offsetof(struct row_key, queue)),
	                  key + sizeof(struct row_key),
	                  len - sizeof(struct row_key));
}

const struct placed_key *placed_key(const struct state *state, struct job *job)
{
	struct buf key = { 0 };

	if (job->runs->key)
		return job->runs->key;
	row_key_build(state, job, &key);
	job_runs(job)->key = xmalloc(sizeof(*job->runs->key) + key.len);
	job->runs->key->req_hash = row_req_hash(key.data, key.len);
	memcpy(job->runs->key->text, key.data, key.len);
	buf_free(&key);
	return job->runs->key;
}

/* Free the block, or have it freed when no snapshot can read it any longer. */
static void drop(struct row_index *rows, struct dropped *block)
{
	struct drop_list *list = &rows->dropped;

	if (!rows->pins) {
		free(block);
		return;
	}
	block->next = list->first;
	list->first = block;
	if (!block->next)
		list->last = block;
}

/* Move all blocks of a list to the front of another one. */
static void move_list(struct drop_list *to, struct drop_list *from)
{
	if (!from->first)
		return;
	from->last->next = to->first;
	if (!to->first)
		to->last = from->last;
	to->first = from->first;
	*from = (struct drop_list){ 0 };
}

bool rows_are_left(const struct row_index *rows)
{
	return rows->unread.first;
}

static void free_some(struct drop_list *list, uint64_t n)
{
	struct dropped *block;

	while ((block = list->first) && n-- > 0) {
		list->first = block->next;
		free(block);
		steps_add(1);
	}
}

void rows_free_some(struct row_index *rows)
{
	free_some(&rows->unread, STEPS_FREE);
}

void placed_key_forget(struct state *state, struct job *job)
{
	if (job->runs->key) {
		drop(&state->rows, &job->runs->key->dropped);
		job_runs(job)->key = NULL;
	}
	placed_changed(state, job);
}

static struct row *row_find(const struct state *state, uint64_t hash,
                            const struct buf *key)
{
	struct row *row = map_find(&state->rows.by_hash, hash);

	while (row && (row->key_len != key->len ||
	               memcmp(row->key, key->data, key->len)))
		row = row->chain;
	return row;
}

bool row_key_asks(const char *key)
{
	const char *text[KEY_TEXTS];

	row_key_texts(key, text);
	return *text[KEY_CLAIMS] || *text[KEY_AFFINITY];
}

/* Give the row a number and a slot, and add it to the roster of all rows. */
static void index_row(struct row_index *rows, struct row *row)
{
	row->number = ++rows->made;
	row->slot = rows->nfree_slots ? rows->slot[--rows->nfree_slots]
	                              : ++rows->nslots;
	rows->nasking += row_key_asks(row->key);
	roster_put(&rows->all, &(struct row_entry){ row->number, row });
}

static struct row *row_new(struct state *state, uint64_t hash,
                           const struct buf *key)
{
	struct row *row = xcalloc(1, sizeof(*row) + key->len);

	row->req_hash = row_req_hash(key->data, key->len);
	row->key_len = (uint32_t)key->len;
	memcpy(row->key, key->data, key->len);
	row->chain = map_find(&state->rows.by_hash, hash);
	map_set(&state->rows.by_hash, hash, row);
	index_row(&state->rows, row);
	return row;
}

static void unindex_row(struct row_index *rows, struct row *row)
{
	roster_del(&rows->all, row->number);
	rows->nasking -= row_key_asks(row->key);
	rows->slot = GROW(rows->slot, rows->nfree_slots, &rows->slot_cap);
	rows->slot[rows->nfree_slots++] = row->slot;
}

void rows_pin(struct row_index *rows)
{
	rows->pins++;
}

void rows_unpin(struct row_index *rows)
{
	if (--rows->pins > 0)
		return;
	move_list(&rows->unread, &rows->dropped);
	rows_free_some(rows);
}

static void row_free(struct state *state, struct row *row)
{
	uint64_t hash = hash_bytes(0, row->key, row->key_len);
	struct row *first = map_find(&state->rows.by_hash, hash), *at = first;

	if (first != row) {
		while (at->chain != row)
			at = at->chain;
		at->chain = row->chain;
	} else if (row->chain) {
		map_set(&state->rows.by_hash, hash, row->chain);
	} else {
		map_del(&state->rows.by_hash, hash);
	}
	unindex_row(&state->rows, row);
	drop(&state->rows, &row->dropped);
}

static void note_waiting(struct state *state, const struct job *job)
{
	roster_put(&state->rows.waiting,
	           &(struct row_job){ .job = job->id,
	                              .since = job->eligible,
	                              .count = job_count(job),
	                              .slot = job->row->slot });
}

void row_count_again(struct state *state, const struct job *job)
{
	if (job->row)
		note_waiting(state, job);
}

void row_limit_array(struct state *state, const struct array *array)
{
	if (!array->limit)
		row_forget_array(state, array->id);
	else
		roster_put(&state->rows.limits,
		           &(struct array_limit){ array->id, array->running,
		                                  array->limit });
}

void row_array_runs(struct state *state, uint64_t id, int by)
{
	struct array *array = state_array(state, id);

	array->running += (uint32_t)by;
	if (array->limit)
		row_limit_array(state, array);
}

void row_forget_array(struct state *state, uint64_t array)
{
	roster_del(&state->rows.limits, array);
}

/* Insert the job into the row's list, which is in order of ids. Almost always
 * it belongs at the end, or next to the job that was inserted last. Requests
 * can name jobs in another order, so the search counts its steps. */
static void row_insert(struct state *state, struct row *row, struct job *job)
{
	struct job *after = row->tail;

	if (after && after->id > job->id && row->hint)
		after = row->hint;
	for (; after && after->row_next && after->row_next->id < job->id;
	     after = after->row_next)
		steps_add(1);
	for (; after && after->id > job->id; after = after->row_prev)
		steps_add(1);
	job->row = row;
	job->row_prev = after;
	job->row_next = after ? after->row_next : row->head;
	*(job->row_prev ? &job->row_prev->row_next : &row->head) = job;
	*(job->row_next ? &job->row_next->row_prev : &row->tail) = job;
	row->hint = job;
	row->njobs++;
	note_waiting(state, job);
}

void row_remove(struct state *state, struct job *job)
{
	struct row *row = job->row;

	if (!row)
		return;
	*(job->row_prev ? &job->row_prev->row_next : &row->head) =
	    job->row_next;
	*(job->row_next ? &job->row_next->row_prev : &row->tail) =
	    job->row_prev;
	if (row->hint == job)
		row->hint = job->row_prev ? job->row_prev : job->row_next;
	job->row = NULL;
	job->row_prev = job->row_next = NULL;
	roster_del(&state->rows.waiting, job->id);
	if (--row->njobs == 0)
		row_free(state, row);
}

uint32_t row_planned(const struct state *state, const struct row *row)
{
	const struct last_plan *last = &state->last_plan;

	return state->rows.taken.serial == last->serial
	           ? planned_index(&last->rows, row)
	           : SNAP_NONE;
}

const struct verdict *row_verdict(const struct state *state,
                                  const struct row *row)
{
	uint32_t at = row_planned(state, row);

	return at == SNAP_NONE ? NULL : &state->last_plan.verdict[at];
}

/* Whether a job can join the row without a new plan: the last plan says why the
 * row waits, and the row is so long that the job would get no position. */
static bool row_waits(const struct state *state, const struct row *row)
{
	const struct verdict *v = row_verdict(state, row);

	return v && row->njobs >= LINE_ROW && v->why != WHY_None &&
	       v->why != WHY_ArrayLimit;
}

const struct row *row_like(const struct state *state, const struct job *job)
{
	struct buf key = { 0 };
	const struct row *row;

	row_key_build(state, job, &key);
	row = row_find(state, hash_bytes(0, key.data, key.len), &key);
	buf_free(&key);
	return row;
}

static struct row *row_for(struct state *state, const struct job *job)
{
	struct buf key = { 0 };
	struct row *row;
	uint64_t hash;

	row_key_build(state, job, &key);
	hash = hash_bytes(0, key.data, key.len);
	row = row_find(state, hash, &key);
	if (!row)
		row = row_new(state, hash, &key);
	buf_free(&key);
	return row;
}

/* Set the reason why the job is in no row, and count the job under it in
 * the metrics. */
static void put_aside(struct state *state, struct job *job, enum reason why)
{
	if (job->aside == why)
		return;
	counts_jobs(state, job, 0 - (uint64_t)job_count(job));
	job->aside = (uint8_t)why;
	counts_jobs(state, job, job_count(job));
}

/* Returns whether the user has caused this reason, which keeps the job out of
 * all rows. The job's waiting time begins anew when the reason is gone:
 * otherwise a user could hold a job for a week, and then get ahead of others.
 */
static bool is_kept_back(enum reason why)
{
	switch (why) {
	case WHY_JobHeldUser:
	case WHY_BeginTime:
	case WHY_Dependency:
		return true;
	default:
		return false;
	}
}

/* Let the job's waiting time begin at `since`, unless it has begun already. If
 * `since` is NO_TIME, end the waiting time. */
static void age(struct state *state, struct job *job, int64_t since)
{
	if ((job->eligible == NO_TIME) == (since == NO_TIME))
		return;
	job->eligible = since;
	state_touch(state, job);
}

void state_reindex(struct state *state, struct job *job, int64_t now)
{
	struct row *row;

	if (job->state == JOB_PENDING)
		put_aside(state, job, state_ineligible(state, job));
	if (job->state != JOB_PENDING || job->aside != WHY_None) {
		if (job->state == JOB_PENDING && !job->place) {
			if (is_kept_back((enum reason)job->aside))
				age(state, job, NO_TIME);
			claim_drop(state, job);
			row_remove(state, job);
		}
		state_replan(state);
		return;
	}
	age(state, job, now);
	row = row_for(state, job);
	/* A job that joins a waiting row changes nothing for other jobs. */
	if (job->row || !row_waits(state, row))
		state_replan(state);
	if (row == job->row)
		return;
	row_remove(state, job);
	row_insert(state, row, job);
}

/* --- the highest priority of a queue ------------------------------------- */

static void top_add(struct row_top *top, int64_t priority, uint64_t number)
{
	if (priority > top->best || !top->number)
		*top = (struct row_top){ priority, top->best, number };
	else if (priority > top->next)
		top->next = priority;
}

static void find_tops(struct row_index *rows, size_t nqueues)
{
	struct roster_at at = { 0 };
	const struct row_entry *entry;

	free(rows->top);
	rows->top = xcalloc(nqueues, sizeof(*rows->top));
	rows->ntops = nqueues;
	for (size_t i = 0; i < nqueues; i++)
		rows->top[i] = (struct row_top){ INT64_MIN, INT64_MIN, 0 };
	while ((entry = roster_next(&rows->all, &at))) {
		const struct row *row = entry->row;
		const struct row_key *key = (const void *)row->key;

		/* Not key->queue: a sweep may be about to renumber it. */
		top_add(&rows->top[row->head->queue], key->priority,
		        entry->number);
		steps_add(1);
	}
	rows->top_made = rows->made;
	rows->top_n = rows->all.n;
}

int64_t row_highest_other(struct state *state, const struct job *job)
{
	struct row_index *rows = &state->rows;
	const struct row_top *top;

	if (rows->ntops != state->conf->nqueues ||
	    rows->top_made != rows->made || rows->top_n != rows->all.n)
		find_tops(rows, state->conf->nqueues);
	top = &rows->top[job->queue];
	return job->row && job->row->njobs == 1 &&
	               job->row->number == top->number
	           ? top->next
	           : top->best;
}

void row_is_highest(struct state *state, const struct job *job, int64_t next)
{
	struct row_index *rows = &state->rows;

	if (!job->row)
		return;
	rows->top[job->queue] =
	    (struct row_top){ job->priority, next, job->row->number };
	rows->top_made = rows->made;
	rows->top_n = rows->all.n;
}

void row_forget_tops(struct state *state)
{
	state->rows.ntops = 0;
}

void rows_init(struct row_index *rows)
{
	roster_init(&rows->all, sizeof(struct row_entry));
	roster_init(&rows->waiting, sizeof(struct row_job));
	roster_init(&rows->limits, sizeof(struct array_limit));
}

void rows_free(struct row_index *rows)
{
	struct roster_at at = { 0 };
	const struct row_entry *entry;

	while ((entry = roster_next(&rows->all, &at)))
		free(entry->row);
	move_list(&rows->unread, &rows->dropped);
	free_some(&rows->unread, UINT64_MAX);
	roster_free(&rows->all);
	roster_free(&rows->waiting);
	roster_free(&rows->limits);
	free(rows->slot);
	free(rows->top);
	map_free(&rows->by_hash);
}

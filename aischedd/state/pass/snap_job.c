/* snap_job.c - copy running and pending jobs into a snapshot */
#include "aischedd/state/pass/snap_job.h"

#include <stdlib.h>
#include <string.h>

#include "aischedd/state/cluster/usage.h"
#include "aischedd/state/pass/placed.h"
#include "aischedd/state/pass/row.h"
#include "aischedd/state/pass/snap_build.h"
#include "aischedd/state/pass/snap_req.h"

#include "aischedd/sched/order_service.h"

/* Returns a mask with one bit for each GPU of a node. */
static uint64_t gpus_of(const struct snap *snap, uint32_t node)
{
	uint32_t n = snap_node_ngpus(snap, node);

	return n < 64 ? ((uint64_t)1 << n) - 1 : UINT64_MAX;
}

/* Get the CPUs that a task uses and its node still has: the node may have fewer
 * than when the job started. Returns their number. */
static uint32_t cpus_held(const struct snap *snap, const struct placement *p,
                          uint32_t task, struct snap_cpu_use *ret)
{
	const struct snap_task *t = &p->task[task];
	const uint32_t *first = snap->node.cpu_first + t->node;
	uint32_t n = 0;

	for (uint32_t c = t->cpu_first; c < t[1].cpu_first; c++)
		if (p->cpu_use[c].cpu < first[1] - first[0])
			ret[n++] = p->cpu_use[c];
	return n;
}

/* Allocate a column without zeroing it, to save time on the loop's thread.
 * Every element is written later. */
#define RAW_COLUMN_IN(arena, type, n) arena_array_raw(arena, type, (n) + 1)
#define RAW_COLUMN(type, n)           RAW_COLUMN_IN(b->arena, type, n)

/* A request of running jobs, from placed_key(). */
struct run_req {
	const char *key;
	uint64_t hash;
};

/*
 * Columns of running jobs, which snapshots share until a job that holds nodes
 * changes, or the columns of nodes do. Other threads read the columns, which
 * are never written again; each snapshot keeps their arena. Only the loop's
 * thread reads the rest.
 */
struct run_frame {
	struct arena *arena;
	/* when it was made: placed.moves, nodes.frames, and the time if a
	 * column depends on that */
	uint64_t moves, frames;
	int64_t now;
	/* only the members about running jobs are set, without run.array */
	struct snap snap;
	const uint64_t *array; /* column: an array with a limit, or 0 */
	/* The first requests and claims of each snapshot, to which the columns
	 * refer by index. */
	struct arena_list reqs;   /* struct run_req */
	struct arena_list claims; /* indexes of nodes */
};

/* The columns of a frame while it is written. */
struct run_columns {
	struct run_frame *frame;
	struct map req_of; /* hash of a request -> index + 1 */
	uint32_t *req, *queue, *user, *first, *claim;
	int64_t *priority, *start, *end, *safe, *waited, *served, *ran;
	uint8_t *suspended, *preemptible, *ending, *freezable;
	uint64_t *id, *array;
	struct snap_task *task;
	struct snap_cpu_use *use;
	uint64_t *held; /* NULL: no node has particular devices */
	size_t n, ntasks, nuse;
};

/* Allocate the columns of struct snap_run for n rows. */
static struct run_columns run_columns(const struct build *b,
                                      struct run_frame *frame, size_t n,
                                      size_t ntasks, size_t nuse)
{
	struct arena *in = frame->arena;

	return (struct run_columns){
		.frame = frame,
		.id = RAW_COLUMN_IN(in, uint64_t, n),
		.req = RAW_COLUMN_IN(in, uint32_t, n),
		.queue = RAW_COLUMN_IN(in, uint32_t, n),
		.user = RAW_COLUMN_IN(in, uint32_t, n),
		.array = RAW_COLUMN_IN(in, uint64_t, n),
		.first = RAW_COLUMN_IN(in, uint32_t, n),
		.claim = RAW_COLUMN_IN(in, uint32_t, n),
		.priority = RAW_COLUMN_IN(in, int64_t, n),
		.start = RAW_COLUMN_IN(in, int64_t, n),
		.end = RAW_COLUMN_IN(in, int64_t, n),
		.safe = RAW_COLUMN_IN(in, int64_t, n),
		.waited = RAW_COLUMN_IN(in, int64_t, n),
		.served = RAW_COLUMN_IN(in, int64_t, n),
		.ran = RAW_COLUMN_IN(in, int64_t, n),
		.suspended = RAW_COLUMN_IN(in, uint8_t, n),
		.preemptible = RAW_COLUMN_IN(in, uint8_t, n),
		.ending = RAW_COLUMN_IN(in, uint8_t, n),
		.freezable = RAW_COLUMN_IN(in, uint8_t, n),
		.task = RAW_COLUMN_IN(in, struct snap_task, ntasks),
		.use = RAW_COLUMN_IN(in, struct snap_cpu_use, nuse),
		.held = b->snap->piece.n ? RAW_COLUMN_IN(in, uint64_t, ntasks)
		                         : NULL,
	};
}

static void push_claim(struct arena *arena, struct arena_list *claims,
                       const struct held *claim)
{
	for (uint32_t i = 0; claim && i < claim->n; i++)
		*(uint32_t *)arena_push(arena, claims, sizeof(uint32_t)) =
		    claim->node[i];
}

/* Correct the set of NUMA nodes in which a task has its memory. If the node's
 * NUMA nodes have changed since the job started, assume that the memory is in
 * those of the task's CPUs. task[1].cpu_first must be set. */
static void set_numas(const struct snap *snap, struct snap_task *task,
                      const struct snap_cpu_use *use)
{
	uint32_t n = snap_node_nnumas(snap, task->node);

	if (!n)
		task->numas = 0;
	else if (!task->numas || (n < SNAP_NUMAS && task->numas >> n))
		task->numas = snap_task_numas(snap, task, use);
}

/* Returns the devices that the node has now, as bits. */
static uint64_t pieces_of(const struct snap *snap, uint32_t node)
{
	uint32_t n = snap_node_npieces(snap, node);

	return n < 64 ? ((uint64_t)1 << n) - 1 : UINT64_MAX;
}

static void run_tasks(const struct build *b, struct run_columns *c,
                      const struct placement *p)
{
	for (uint32_t t = 0; t < p->ntasks; t++) {
		struct snap_task *task = &c->task[c->ntasks++];

		if (c->held)
			c->held[c->ntasks - 1] =
			    placement_devs(p, t) &
			    pieces_of(b->snap, p->task[t].node);
		*task = p->task[t];
		task->gpus &= gpus_of(b->snap, p->task[t].node);
		task->units = task->gpus ? task->units : 0;
		task->cpu_first = (uint32_t)c->nuse;
		c->nuse += cpus_held(b->snap, p, t, c->use + c->nuse);
		task[1].cpu_first = (uint32_t)c->nuse;
		set_numas(b->snap, task, c->use);
	}
}

/* Returns for how many seconds the job has run: in this attempt, and in evicted
 * ones. Returns 0 if the configured order of jobs does not use this number:
 * then the jobs of a row need not have the same number. */
static int64_t served(const struct build *b, const struct job *job)
{
	return order_rung_counts(b->state->conf->scheduling.order)
	           ? job->runs->served + job_elapsed(job, b->snap->now)
	           : 0;
}

/* Returns the index of an array in the snapshot, or SNAP_NONE. id: 0 if the
 * array has no limit. */
static uint32_t array_index(const struct build *b, uint64_t id)
{
	uintptr_t at = id ? (uintptr_t)map_find(&b->array_of, id) : 0;

	return at ? (uint32_t)(at - 1) : SNAP_NONE;
}

/* Returns the index of a job's request among those of the frame. */
static uint32_t run_req(struct run_columns *c, const struct placed_key *key)
{
	struct run_frame *f = c->frame;
	void **known = map_at(&c->req_of, key->req_hash);

	if (!*known) {
		*(struct run_req *)arena_push(f->arena, &f->reqs,
		                              sizeof(struct run_req)) =
		    (struct run_req){ key->text, key->req_hash };
		*known = (void *)(uintptr_t)f->reqs.n;
	}
	return (uint32_t)(uintptr_t)*known - 1;
}

/* Add a row for a running job. p: its placement, or h->leaving: then the row is
 * about its evicted tasks only. */
static void run_row(const struct build *b, struct run_columns *c,
                    const struct placed_run *h, const struct placement *p)
{
	const struct row_key *key = (const void *)h->key->text;
	size_t i = c->n++;

	c->id[i] = h->id;
	c->req[i] = run_req(c, h->key);
	c->queue[i] = h->queue;
	c->user[i] = h->user;
	c->array[i] = key->array;
	c->priority[i] = h->priority;
	c->start[i] = h->start;
	c->end[i] = h->end;
	c->suspended[i] = h->suspended;
	c->preemptible[i] = h->preemptible;
	c->ending[i] = p == h->leaving || h->ending;
	c->freezable[i] = h->freezable;
	c->safe[i] = h->safe;
	c->waited[i] = h->waited;
	c->served[i] = served(b, h->job);
	c->ran[i] = h->ran;
	c->first[i] = (uint32_t)c->ntasks;
	c->claim[i] = (uint32_t)c->frame->claims.n;
	/* The claim of a suspended job is added with its row in snap->pend. */
	if (h->claims && p == h->place && !h->suspended)
		push_claim(c->frame->arena, &c->frame->claims, h->job->claim);
	run_tasks(b, c, p);
}

/* Prefetch the placement and the key of a job some steps before they
 * are read. */
static void fetch_run_ahead(const struct build *b, size_t i)
{
	enum { STEPS = 8, LINE_BYTES = 64, KEY_BYTES = 3 * LINE_BYTES };
	const char *key, *place;

	if (i < STEPS)
		return;
	key = (const char *)b->held[i - STEPS].key;
	place = (const char *)b->held[i - STEPS].place;
	if (!b->held[i - STEPS].job)
		return;
	for (size_t at = 0; at < KEY_BYTES; at += LINE_BYTES)
		__builtin_prefetch(key + at);
	__builtin_prefetch(place);
	__builtin_prefetch(place + LINE_BYTES);
}

static void hand_over(struct run_columns *c)
{
	struct snap *snap = &c->frame->snap;

	c->first[c->n] = (uint32_t)c->ntasks;
	c->claim[c->n] = (uint32_t)c->frame->claims.n;
	c->task[c->ntasks].cpu_first = (uint32_t)c->nuse;
	c->frame->array = c->array;
	snap->run = (struct snap_run){
		.n = (uint32_t)c->n,
		.job = c->id,
		.req = c->req,
		.queue = c->queue,
		.user = c->user,
		.priority = c->priority,
		.start = c->start,
		.end = c->end,
		.suspended = c->suspended,
		.preemptible = c->preemptible,
		.ending = c->ending,
		.freezable = c->freezable,
		.safe_until = c->safe,
		.waited = c->waited,
		.served = c->served,
		.ran = c->ran,
		.task_first = c->first,
		.claim_first = c->claim,
	};
	snap->task = c->task;
	snap->held = c->held;
	snap->cpu_use = c->use;
	map_free(&c->req_of);
}

/* Write the columns of the jobs that hold nodes, from the last to the first. */
static struct run_frame *run_frame_new(const struct build *b,
                                       struct arena *arena)
{
	struct run_frame *frame = arena_array(arena, struct run_frame, 1);
	size_t n = 0, ntasks = 0, nuse = 0;
	struct run_columns c;

	frame->arena = arena;
	for (size_t i = 0; i < b->nheld; i++) {
		if (!b->held[i].job)
			continue;
		n += b->held[i].leaving ? 2 : 1;
		ntasks += b->held[i].ntasks;
		nuse += b->held[i].nuse;
	}
	c = run_columns(b, frame, n, ntasks, nuse);
	for (size_t i = b->nheld; i-- > 0;) {
		const struct placed_run *h = &b->held[i];

		fetch_run_ahead(b, i);
		if (!h->job)
			continue;
		run_row(b, &c, h, h->place);
		if (h->leaving)
			run_row(b, &c, h, h->leaving);
	}
	hand_over(&c);
	return frame;
}

void run_frame_drop(struct placed_list *placed)
{
	if (placed->frame)
		arena_free(placed->frame->arena);
	placed->frame = NULL;
}

/* Returns the frame of the jobs that hold nodes, made anew if something that it
 * depends on has changed. */
static const struct run_frame *run_frame(struct state *state,
                                         const struct build *b)
{
	struct placed_list *placed = &state->placed;
	const struct run_frame *f = placed->frame;
	int64_t now =
	    order_rung_counts(state->conf->scheduling.order) ? b->snap->now : 0;

	if (f && f->moves == placed->moves &&
	    f->frames == state->nodes.frames && f->now == now)
		return f;
	run_frame_drop(placed);
	placed->frame = run_frame_new(b, arena_new());
	placed->frame->moves = placed->moves;
	placed->frame->frames = state->nodes.frames;
	placed->frame->now = now;
	return placed->frame;
}

void snapshot_run(struct state *state, struct build *b)
{
	const struct run_frame *f =
	    b->only ? run_frame_new(b, b->arena) : run_frame(state, b);
	const struct run_req *req = f->reqs.p;
	const uint32_t *claim = f->claims.p;

	if (!b->only)
		arena_keep(b->arena, f->arena);
	b->snap->run = f->snap.run;
	b->snap->task = f->snap.task;
	b->snap->held = f->snap.held;
	b->snap->cpu_use = f->snap.cpu_use;
	b->run_array = f->array;
	snapshot_expect_reqs(b, f->reqs.n + 1);
	for (size_t i = 0; i < f->reqs.n; i++)
		snapshot_req(b, req[i].key, req[i].hash);
	for (size_t i = 0; i < f->claims.n; i++)
		*(uint32_t *)snapshot_push(b, &b->claims, sizeof(*claim)) =
		    claim[i];
}

/* Count for each array its waiting tasks that have claims. */
static void count_claims(struct build *b)
{
	for (size_t i = 0; i < b->state->claims.n; i++) {
		const struct job *job = b->state->claims.holder[i];
		void **n;

		if (job->state != JOB_PENDING || !job->array)
			continue;
		n = map_at(&b->array_claims, job->array);
		*n = (void *)((uintptr_t)*n + 1);
	}
}

/* Returns how many more tasks of the array may run within its limit. For a row
 * without a claim (has_claim false), the array's tasks with claims count as
 * running, so that those with claims start first. */
static uint32_t array_room(const struct build *b,
                           const struct array_limit *array, bool has_claim)
{
	uint32_t taken = array->running;

	if (b->array_claims.n && !has_claim)
		taken += (uint32_t)(uintptr_t)map_find(&b->array_claims,
		                                       array->array);
	return taken < array->limit ? array->limit - taken : 0;
}

static struct snap_member member_of(const struct build *b,
                                    const struct job *job)
{
	const struct array *array =
	    job->array ? state_array(b->state, job->array) : NULL;
	uint32_t count = job_count(job), room = count;

	if (array && array->limit)
		room = array_room(b,
		                  &(struct array_limit){
				      array->id, array->running, array->limit },
		                  job->claim);
	return (struct snap_member){ job->id, count,
		                     room < count ? room : count,
		                     job->eligible };
}

struct pend_columns {
	uint32_t *req, *queue, *user, *array, *first, *resumes, *claim;
	int64_t *priority, *served;
	uint8_t *preemptible, *barred;
	uint16_t *light;
	struct snap_member *member;
	size_t n, nmembers;
};

static struct pend_columns pend_columns(struct build *b, size_t rows,
                                        size_t members)
{
	struct pend_columns c = { 0 };

	c.req = RAW_COLUMN(uint32_t, rows);
	c.queue = RAW_COLUMN(uint32_t, rows);
	c.user = RAW_COLUMN(uint32_t, rows);
	c.array = RAW_COLUMN(uint32_t, rows);
	c.first = RAW_COLUMN(uint32_t, rows);
	c.resumes = RAW_COLUMN(uint32_t, rows);
	c.claim = RAW_COLUMN(uint32_t, rows);
	c.preemptible = RAW_COLUMN(uint8_t, rows);
	c.barred = RAW_COLUMN(uint8_t, rows);
	c.light = RAW_COLUMN(uint16_t, rows);
	c.priority = RAW_COLUMN(int64_t, rows);
	c.served = RAW_COLUMN(int64_t, rows);
	c.member = RAW_COLUMN(struct snap_member, members);
	return c;
}

/* Write row i of the columns. This uses only the key's members from
 * `queue` on. */
static void pend_row(struct pend_columns *c, size_t i,
                     const struct row_key *key, uint32_t req, uint16_t light)
{
	c->req[i] = req;
	c->queue[i] = key->queue;
	c->user[i] = key->user;
	c->priority[i] = key->priority;
	c->served[i] = key->served;
	c->array[i] = SNAP_NONE;
	c->resumes[i] = SNAP_NONE;
	c->preemptible[i] = key->preemptible;
	c->barred[i] = key->barred;
	c->light[i] = light;
}

/* Add a row for a job that is in no row of the state. */
static void pend_row_of(struct build *b, struct pend_columns *c,
                        const struct job *job, uint32_t req, uint32_t resumes,
                        struct snap_member member)
{
	const struct row_key key = { .queue = job->queue,
		                     .user = job->user,
		                     .priority = job->priority,
		                     .served = served(b, job),
		                     .preemptible = job->preemptible,
		                     .barred = job->runs->start_fails > 0 };

	const struct usage *usage = usage_find(b->state, job->queue, job->user);
	size_t i = c->n++;

	pend_row(c, i, &key, req, usage ? usage->light : LIGHT_MOST);
	c->resumes[i] = resumes;
	c->claim[i] = (uint32_t)b->claims.n;
	push_claim(b->arena, &b->claims, job->claim);
	c->first[i] = (uint32_t)c->nmembers;
	c->member[c->nmembers++] = member;
}

static int by_wait(const void *a, const void *b)
{
	const struct snap_member *x = a, *y = b;

	if (x->since != y->since)
		return x->since < y->since ? -1 : 1;
	return x->job < y->job ? -1 : x->job > y->job;
}

/* Sort the members of each row by the start of their waiting time. They
 * are already sorted by id, which is another order only if jobs were held
 * or requeued. */
static void sort_members(const struct pend_columns *c)
{
	for (size_t row = 0; row < c->n; row++) {
		size_t end = row + 1 < c->n ? c->first[row + 1] : c->nmembers;
		size_t m = c->first[row] + 1;

		while (m < end && c->member[m - 1].since <= c->member[m].since)
			m++;
		if (m < end)
			qsort(c->member + c->first[row], end - c->first[row],
			      sizeof(*c->member), by_wait);
	}
}

/* --- copy rows on the loop's thread ------------------------------------- */

/* A row whose job has a claim, and the end of its slice of the list
 * of claims. */
struct row_claim {
	uint64_t number; /* number of the row */
	const struct held *claim;
	uint32_t end;
};

static int by_row(const void *a, const void *b)
{
	const struct row_claim *x = a, *y = b;

	return x->number < y->number ? -1 : x->number > y->number;
}

/* Copy the nodes that are claimed by jobs in rows, in the order of the rows. */
static void take_claims(struct build *b)
{
	const struct claim_list *claims = &b->state->claims;
	struct taken_rows *rows = &b->rows;

	rows->first_claim = (uint32_t)b->claims.n;
	rows->claimant =
	    arena_array(b->scratch, struct row_claim, claims->n + 1);
	for (size_t i = 0; i < claims->n; i++) {
		const struct job *job = claims->holder[i];

		if (!job->row ||
		    !((const struct row_key *)(const void *)job->row->key)
		         ->claimer)
			continue;
		rows->claimant[rows->nclaimants++] =
		    (struct row_claim){ .number = job->row->number,
			                .claim = job->claim };
	}
	if (rows->nclaimants)
		qsort(rows->claimant, rows->nclaimants,
		      sizeof(struct row_claim), by_row);
	for (size_t i = 0; i < rows->nclaimants; i++) {
		push_claim(b->arena, &b->claims, rows->claimant[i].claim);
		rows->claimant[i].end = (uint32_t)b->claims.n;
		rows->claimant[i].claim = NULL;
	}
}

static uint64_t light_key(uint32_t queue, uint32_t user)
{
	return (uint64_t)queue << 32 | user;
}

/* Copy usage->light, a measure of how little a user has used of a queue, for
 * each queue and user with unfinished jobs. */
static void take_light(struct build *b)
{
	const struct usage_table *t = &b->state->usages;

	for (size_t i = 0; i < t->n; i++) {
		const struct usage *u = t->usage[i];

		if (u->jobs)
			map_set(&b->rows.light, light_key(u->queue, u->user),
			        (void *)((uintptr_t)u->light + 1));
	}
}

/* Add the requests of rows whose keys can be read only with the state
 * (row_key_asks()), because the state is not read later. */
static void take_asking(struct build *b)
{
	const struct row_index *rows = &b->state->rows;
	struct roster_at at = { 0 };
	const struct row_entry *e;

	while (rows->nasking && (e = roster_next(&rows->all, &at)))
		if (row_key_asks(e->row->key))
			snapshot_req(b, e->row->key, e->row->req_hash);
}

/* Copy from the state what is needed of all rows. like: the row to which the
 * extra job is added, because their keys are equal; or NULL. */
static void take_rows(struct build *b, struct pend_columns *c,
                      const struct job *extra, const struct row *like)
{
	const struct row_index *from = &b->state->rows;
	struct taken_rows *rows = &b->rows;

	roster_copy(&rows->all, &from->all);
	roster_copy(&rows->waiting, &from->waiting);
	roster_copy(&rows->limits, &from->limits);
	rows->n = c->n = from->all.n;
	rows->row =
	    arena_array_raw(b->scratch, const struct row *, rows->n + 1);
	rows->of_slot = arena_array_raw(b->arena, uint32_t, from->nslots + 1);
	c->nmembers = from->waiting.n;
	if (like) {
		rows->extra = member_of(b, extra);
		rows->extra_slot = like->slot;
		c->nmembers++;
	}
	take_asking(b);
	take_light(b);
	take_claims(b);
}

static void take_resuming(struct build *b, struct pend_columns *c)
{
	uint32_t run = 0;

	for (size_t i = b->nheld; i-- > 0;) {
		const struct job *job = b->held[i].job;

		if (!job)
			continue;
		if (b->held[i].resumes)
			pend_row_of(b, c, job, b->snap->run.req[run], run,
			            (struct snap_member){ job->id, 1, 1,
			                                  job->eligible });
		run += b->held[i].leaving ? 2 : 1;
	}
}

void snapshot_take_pend(struct build *b, const struct job *extra, bool only)
{
	const struct state *state = b->state;
	const struct row *like = extra && !only ? row_like(state, extra) : NULL;
	size_t rows = extra ? 1 : 0, members = rows;
	struct pend_columns *c =
	    arena_array(b->scratch, struct pend_columns, 1);

	rows += only ? 0 : state->rows.all.n + b->snap->run.n;
	members += only ? 0 : state->rows.waiting.n + b->snap->run.n;
	*c = pend_columns(b, rows, members);
	b->rows.to = c;
	if (!only) {
		count_claims(b);
		take_rows(b, c, extra, like);
		take_resuming(b, c);
	}
	if (extra && !like)
		pend_row_of(b, c, extra, snapshot_req_of_other(b, extra),
		            SNAP_NONE, member_of(b, extra));
	c->first[c->n] = (uint32_t)c->nmembers;
	c->claim[c->n] = (uint32_t)b->claims.n;
	b->snap->pend.n = (uint32_t)c->n;

	b->snap->claim = b->claims.n ? b->claims.p : COLUMN(uint32_t, 0);
	b->snap->member = c->member;
}

/* --- write rows from their keys, on any thread --------------------------- */

/* AHEAD: how many rows ahead to prefetch. LINE: bytes of a cache line.
 * ROW_BYTES: how many bytes of a row to prefetch. */
enum { AHEAD = 16, LINE = 64, ROW_BYTES = 4 * LINE };

/* Prefetch a row some steps before it is read, and the entry of its request in
 * req_of. With a million rows, each read would miss the cache otherwise. */
static void fetch_row_ahead(const struct build *b, size_t i)
{
	const struct taken_rows *rows = &b->rows;

	for (size_t at = 0; i + AHEAD < rows->n && at < ROW_BYTES; at += LINE)
		__builtin_prefetch((const char *)rows->row[i + AHEAD] + at);
	if (i + AHEAD / 2 < rows->n)
		map_prefetch(&b->req_of, rows->row[i + AHEAD / 2]->req_hash);
}

static uint16_t light_of(const struct build *b, const struct row_key *key)
{
	uintptr_t light = (uintptr_t)map_find(&b->rows.light,
	                                      light_key(key->queue, key->user));

	return light ? (uint16_t)(light - 1) : LIGHT_MOST;
}

static void list_rows(struct build *b)
{
	struct roster_at at = { 0 };
	const struct row_entry *e;
	size_t n = 0;

	while ((e = roster_next(&b->rows.all, &at)))
		b->rows.row[n++] = e->row;
}

static void note_limited(struct build *b, uint32_t row)
{
	*(uint32_t *)arena_push(b->scratch, &b->rows.limited,
	                        sizeof(uint32_t)) = row;
}

static void read_rows(struct build *b)
{
	const struct taken_rows *rows = &b->rows;
	uint32_t claims = rows->first_claim;
	size_t next = 0;

	list_rows(b);
	map_reserve(&b->req_of, b->req_of.n + rows->n);
	for (size_t i = 0; i < rows->n; i++) {
		const struct row *row = rows->row[i];
		const struct row_key *key = (const void *)row->key;

		fetch_row_ahead(b, i);
		pend_row(rows->to, i, key,
		         snapshot_req(b, row->key, row->req_hash),
		         light_of(b, key));
		rows->of_slot[row->slot] = (uint32_t)i;
		if (b->judged.was)
			b->judged.at[i] = planned_index(&b->judged.rows, row);
		rows->to->array[i] = array_index(b, key->array);
		if (key->array)
			note_limited(b, (uint32_t)i);
		rows->to->claim[i] = claims;
		if (next < rows->nclaimants &&
		    rows->claimant[next].number == row->number)
			claims = rows->claimant[next++].end;
	}
}

/* Compute at which index the members of each row begin. Returns a copy of these
 * indexes, which list_members() increments as it writes. */
static uint32_t *count_members(const struct build *b)
{
	const struct taken_rows *rows = &b->rows;
	uint32_t *next = arena_array(b->scratch, uint32_t, rows->n + 1);
	struct roster_at at = { 0 };
	const struct row_job *w;
	uint32_t sum = 0;

	while ((w = roster_next(&rows->waiting, &at)))
		next[rows->of_slot[w->slot]]++;
	if (rows->extra_slot)
		next[rows->of_slot[rows->extra_slot]]++;
	for (size_t i = 0; i < rows->n; i++) {
		uint32_t n = next[i];

		rows->to->first[i] = next[i] = sum;
		sum += n;
	}
	return next;
}

/* Write the members of all rows in one walk over all waiting jobs in order of
 * ids, so that the members of each row are in that order, too. */
static void list_members(const struct build *b)
{
	const struct taken_rows *rows = &b->rows;
	uint32_t *next = count_members(b);
	struct roster_at at = { 0 };
	const struct row_job *w;

	while ((w = roster_next(&rows->waiting, &at)))
		rows->to->member[next[rows->of_slot[w->slot]]++] =
		    (struct snap_member){ w->job, w->count, w->count,
			                  w->since };
	if (rows->extra_slot)
		rows->to->member[next[rows->of_slot[rows->extra_slot]]] =
		    rows->extra;
}

/* Limit how many tasks of the row's array may start, by the limit of
 * the array. */
static void limit_row(const struct build *b, size_t row)
{
	const struct pend_columns *c = b->rows.to;
	const struct row_key *key = (const void *)b->rows.row[row]->key;
	const struct array_limit *limit =
	    roster_find(&b->rows.limits, key->array);
	size_t end = row + 1 < c->n ? c->first[row + 1] : c->nmembers;
	uint32_t room = array_room(b, limit, key->claimer != 0);

	for (size_t m = c->first[row]; m < end; m++)
		if (c->member[m].room > room)
			c->member[m].room = room;
}

static void limit_rows(const struct build *b)
{
	const uint32_t *row = b->rows.limited.p;

	for (size_t i = 0; i < b->rows.limited.n; i++)
		limit_row(b, row[i]);
}

/* Write the column of running jobs' arrays: which arrays a snapshot lists
 * changes more often than the columns that are shared. */
static void list_run_arrays(struct build *b)
{
	uint32_t n = b->snap->run.n, *array = RAW_COLUMN(uint32_t, n);

	for (uint32_t i = 0; i < n; i++)
		array[i] = array_index(b, b->run_array[i]);
	b->snap->run.array = array;
}

/* List the arrays that have a limit. */
static void list_arrays(struct build *b)
{
	const struct roster *from = &b->rows.limits;
	const char **name = COLUMN(const char *, from->n);
	uint32_t *limit = COLUMN(uint32_t, from->n), n = 0;
	struct roster_at at = { 0 };
	const struct array_limit *it;
	char text[24];

	map_reserve(&b->array_of, from->n);
	while ((it = roster_next(from, &at))) {
		snprintf(text, sizeof(text), "%llu",
		         (unsigned long long)it->array);
		name[n] = arena_strdup(b->arena, text);
		limit[n++] = it->limit;
		map_set(&b->array_of, it->array, (void *)(uintptr_t)n);
	}
	b->snap->array = (struct snap_arrays){ n, name, limit };
}

void snapshot_let_go(struct build *b)
{
	roster_free(&b->rows.all);
	roster_free(&b->rows.waiting);
	roster_free(&b->rows.limits);
}

void snapshot_pend(struct build *b)
{
	const struct pend_columns *c = b->rows.to;

	list_arrays(b);
	list_run_arrays(b);
	read_rows(b);
	list_members(b);
	limit_rows(b);
	sort_members(c);
	map_free(&b->rows.light);
	b->snap->pend = (struct snap_pend){
		.n = b->snap->pend.n,

		.req = c->req,
		.queue = c->queue,
		.user = c->user,
		.array = c->array,
		.priority = c->priority,
		.member_first = c->first,
		.resumes = c->resumes,
		.preemptible = c->preemptible,
		.barred = c->barred,
		.light = c->light,
		.served = c->served,
		.claim_first = c->claim,
	};
}

/* work.c - the mutable side of a pass: what is free, what is used */
#include "aischedd/sched/work.h"

#include <assert.h>
#include <string.h>

#include "aischedd/sched/fit.h"
#include "aischedd/sched/fit_mig.h"

static struct work_change *change_at(const struct work *w, size_t i)
{
	return &w->trail[i / WORK_BLOCK][i % WORK_BLOCK];
}

static void add_block(struct work *w)
{
	size_t n = w->trail_cap / WORK_BLOCK;
	struct work_change **all = w->trail;

	/* The array of blocks is full whenever their number is a power of 2. */
	if (!(n & (n - 1))) {
		all = arena_array(w->arena, struct work_change *, 2 * n + 1);
		if (n)
			memcpy(all, w->trail, n * sizeof(*all));
	}
	all[n] = arena_array_raw(w->arena, struct work_change, WORK_BLOCK);
	w->trail = all;
	w->trail_cap += WORK_BLOCK;
}

void work_add(struct work *w, int64_t *at, int64_t amount)
{
	if (!amount)
		return;
	if (w->ntrail == w->trail_cap)
		add_block(w);
	*change_at(w, w->ntrail++) = (struct work_change){ at, *at };
	*at += amount;
}

void work_undo(struct work *w, size_t mark)
{
	assert(mark <= w->ntrail);
	while (w->ntrail > mark) {
		const struct work_change *c = change_at(w, --w->ntrail);

		*c->at = c->old;
	}
}

void work_commit(struct work *w)
{
	w->ntrail = 0;
}

void work_cpus(struct work *w, uint32_t req, uint32_t node,
               const struct snap_cpu_use *use, uint32_t nuse, int sign)
{
	int64_t *thread = w->thread + w->snap->node.cpu_first[node];
	int64_t idle = 0;

	work_add(w, &w->cpu[node], sign * w->snap->req.cpus[req]);
	for (uint32_t i = 0; i < nuse; i++) {
		int64_t *t = &thread[use[i].cpu];

		idle -= *t == 1000;
		work_add(w, t, sign * use[i].milli);
		idle += *t == 1000;
	}
	work_add(w, &w->idle[node], idle);
}

/* Subtract from the free devices of a node what a task has (sign -1), or add it
 * back (1). */
static void take_devs(struct work *w, uint32_t req, uint32_t node, int sign)
{
	uint32_t n = w->snap->dev.n;

	for (uint32_t i = 0; i < n; i++) {
		int need = w->snap->req.devs[req].n[i];

		if (need)
			work_add(w, &w->dev[node * n + i], sign * need);
	}
}

void work_pieces(struct work *w, uint32_t node, uint64_t pieces, int sign)
{
	for (; pieces; pieces &= pieces - 1)
		work_add(w,
		         &w->piece[w->snap->node.piece_first[node] +
		                   (uint32_t)__builtin_ctzll(pieces)],
		         sign);
}

void work_rest(struct work *w, uint32_t req, const struct snap_task *task,
               int sign)
{
	const struct snap *s = w->snap;
	uint32_t node = task->node;
	int64_t *device = w->device + s->node.gpu_first[node];
	int64_t gpu = 0, whole = 0;

	work_add(w, &w->mem[node], sign * s->req.mem[req]);
	work_add(w, &w->tmp[node], sign * s->req.tmp[req]);
	work_add(w, &w->slot[node], sign);
	take_devs(w, req, node, sign);
	work_add(w, &w->tasks[node], -sign);
	for (uint32_t left = task->numas; left; left &= left - 1) {
		uint32_t i = (uint32_t)__builtin_ctz(left);
		uint32_t at = s->node.numa_first[node] + i;
		int64_t mem = sign * snap_numa_share(s, node, task->numas,
		                                     s->req.mem[req], i);

		work_add(w, &w->numa_mem[at], mem);
		if (snap_binds(s, req))
			work_add(w, &w->numa_bound[at], mem);
	}
	for (uint64_t left = task->gpus; left; left &= left - 1) {
		int64_t *d = &device[__builtin_ctzll(left)];

		whole -= *d == 1000;
		work_add(w, d, sign * task->gpu_milli);
		whole += *d == 1000;
		gpu += sign * task->gpu_milli;
		if (task->units && w->slices)
			work_add(w, &w->slices[d - w->device],
			         -sign * fit_mig_spread(task->units));
	}
	work_add(w, &w->gpu[node], gpu);
	work_add(w, &w->whole[node], whole);
}

void work_run_task(struct work *w, uint32_t run, uint32_t t, int sign)
{
	const struct snap *s = w->snap;
	const struct snap_task *task = &s->task[t];
	uint32_t req = s->run.req[run];

	work_rest(w, req, task, sign);
	work_pieces(w, task->node, snap_held(s, t), sign);
	if (s->run.suspended[run])
		return;
	work_cpus(w, req, task->node, s->cpu_use + task->cpu_first,
	          task[1].cpu_first - task->cpu_first, sign);
	if (s->req.exclusive[req])
		work_add(w, &w->sealed[task->node], -sign);
}

bool work_is_sound(const struct work *w, const struct snap_task *task,
                   bool binds)
{
	const int64_t *device = w->device + w->snap->node.gpu_first[task->node];
	const int64_t *numa =
	    w->numa_mem + w->snap->node.numa_first[task->node];

	for (uint64_t left = task->gpus; left; left &= left - 1) {
		int64_t at = device - w->device + __builtin_ctzll(left);

		if (w->device[at] < 0 ||
		    (w->slices && !fit_mig_is_sound(w, task->node, at)))
			return false;
	}
	for (uint32_t left = binds ? task->numas : 0; left; left &= left - 1) {
		if (numa[__builtin_ctz(left)] < 0)
			return false;
	}
	for (uint32_t i = 0; i < w->snap->dev.n; i++) {
		if (w->dev[task->node * w->snap->dev.n + i] < 0)
			return false;
	}
	for (uint32_t i = 0; i < snap_node_npieces(w->snap, task->node); i++) {
		if (w->piece[w->snap->node.piece_first[task->node] + i] < 0)
			return false;
	}
	return w->mem[task->node] >= 0 && w->tmp[task->node] >= 0 &&
	       w->slot[task->node] >= 0;
}

void work_charge(struct work *w, uint32_t queue, const int64_t amount[RES_N],
                 bool firm, int sign)
{
	for (; queue != SNAP_NONE; queue = w->snap->queue.parent[queue]) {
		for (int r = 0; r < RES_N; r++) {
			if (!amount[r])
				continue;
			work_add(w, &w->used[queue][r], sign * amount[r]);
			if (firm)
				work_add(w, &w->firm[queue][r],
				         sign * amount[r]);
		}
	}
}

void work_charge_job(struct work *w, uint32_t queue, uint32_t user,
                     int64_t gpus, bool whole, int sign)
{
	for (; queue != SNAP_NONE; queue = w->snap->queue.parent[queue]) {
		work_add(w, &w->jobs[queue], whole * sign);
		if (snap_counts_users(w->snap, queue)) {
			int64_t *use = work_user(w, queue, user);

			work_add(w, &use[USER_JOBS], whole * sign);
			work_add(w, &use[USER_GPUS], sign * gpus);
		}
	}
}

void work_delay(struct work *w, uint32_t queue, uint32_t user,
                const int64_t amount[RES_N], bool whole, int sign)
{
	for (; queue != SNAP_NONE; queue = w->snap->queue.parent[queue]) {
		for (int r = 0; r < RES_N; r++) {
			if (amount[r])
				work_add(w, &w->late[queue][r],
				         sign * amount[r]);
		}
		work_add(w, &w->late_jobs[queue], whole * sign);
		if (snap_counts_users(w->snap, queue)) {
			int64_t *use = work_user(w, queue, user);

			work_add(w, &use[USER_LATE_JOBS], whole * sign);
			work_add(w, &use[USER_LATE_GPUS],
			         sign * amount[RES_GPU]);
		}
	}
}

void work_amount(const struct snap *s, uint32_t run, int64_t tasks,
                 int64_t ret[RES_N])
{
	uint32_t req = s->run.req[run];

	ret[RES_CPU] = s->run.suspended[run] ? 0 : tasks * s->req.cpus[req];
	ret[RES_MEM] = tasks * s->req.mem[req];
	ret[RES_GPU] = tasks * s->req.gpus[req];
}

int64_t *work_user(struct work *w, uint32_t queue, uint32_t user)
{
	uint64_t key = ((uint64_t)queue << 32 | user) + 1;
	size_t i = (key * 0x9e3779b97f4a7c15) >> 32 & w->user_mask;

	while (w->user_key[i] && w->user_key[i] != key)
		i = (i + 1) & w->user_mask;
	w->user_key[i] = key;
	return w->user_use[i];
}

static uint32_t count_user_queues(const struct snap *s, uint32_t queue)
{
	uint32_t n = 0;

	for (; queue != SNAP_NONE; queue = s->queue.parent[queue])
		n += snap_counts_users(s, queue);
	return n;
}

static void count_user(struct work *w, uint32_t run)
{
	const struct snap *s = w->snap;
	int64_t gpus = snap_run_ntasks(s, run) * s->req.gpus[s->run.req[run]];
	int late = s->run.ending[run] ? USER_LATE_JOBS : 0;

	for (uint32_t q = s->run.queue[run]; q != SNAP_NONE;
	     q = s->queue.parent[q]) {
		int64_t *use;

		if (!snap_counts_users(s, q))
			continue;
		use = work_user(w, q, s->run.user[run]);
		use[late + USER_JOBS] += !snap_is_part(s, run);
		use[late + USER_GPUS] += gpus;
	}
}

/* Allocate a hash table for all pairs of queue and user that can occur, at most
 * half full, and count the users' running jobs in it. */
static void count_users(struct work *w)
{
	const struct snap *s = w->snap;
	size_t n = 0, size = 1;
	bool any = false;

	w->nusers = arena_array(w->arena, uint32_t, s->queue.n);
	for (uint32_t q = 0; q < s->queue.n; q++) {
		w->nusers[q] = count_user_queues(s, q);
		any |= w->nusers[q];
	}
	for (uint32_t i = 0; any && i < s->run.n; i++)
		n += w->nusers[s->run.queue[i]];
	for (uint32_t i = 0; any && i < s->pend.n; i++)
		n += w->nusers[s->pend.queue[i]];
	while (size <= n * 2)
		size *= 2;
	w->user_key = arena_array(w->arena, uint64_t, size);
	w->user_use = arena_alloc(w->arena, size, sizeof(*w->user_use));
	w->user_mask = size - 1;
	for (uint32_t i = 0; any && i < s->run.n; i++)
		count_user(w, i);
}

/* Count the tasks on each node, and close the nodes of exclusive jobs. A
 * suspended exclusive job does not close its nodes, because its CPUs are free
 * for others. */
static void count_tasks(struct work *w)
{
	const struct snap *s = w->snap;
	uint32_t ntasks = s->run.n ? s->run.task_first[s->run.n] : 0;
	bool any = false;

	for (uint32_t t = 0; t < ntasks; t++)
		w->tasks[s->task[t].node]++;
	for (uint32_t req = 0; req < s->req.n; req++)
		any |= s->req.exclusive[req];
	for (uint32_t i = 0; any && i < s->run.n; i++) {
		if (!s->req.exclusive[s->run.req[i]] || s->run.suspended[i])
			continue;
		for (uint32_t t = s->run.task_first[i];
		     t < s->run.task_first[i + 1]; t++)
			w->sealed[s->task[t].node]++;
	}
}

/* Set what each queue uses, including all queues below it. */
static void charge_queues(struct work *w, const struct tally *tally)
{
	for (uint32_t q = 0; q < w->snap->queue.n; q++) {
		const struct tally_queue *t = &tally->queue[q];

		memcpy(w->used[q], t->used, sizeof(t->used));
		memcpy(w->firm[q], t->firm, sizeof(t->firm));
		w->jobs[q] = t->jobs;
		memcpy(w->late[q], t->late, sizeof(t->late));
		w->late_jobs[q] = t->late_jobs;
	}
	for (uint32_t q = w->snap->queue.n; q-- > 0;) {
		uint32_t parent = w->snap->queue.parent[q];

		if (parent == SNAP_NONE)
			continue;
		for (int r = 0; r < RES_N; r++) {
			w->used[parent][r] += w->used[q][r];
			w->firm[parent][r] += w->firm[q][r];
			w->late[parent][r] += w->late[q][r];
		}
		w->jobs[parent] += w->jobs[q];
		w->late_jobs[parent] += w->late_jobs[q];
	}
}

void work_fill(struct work *w, uint32_t i, enum work_kind kind)
{
	const struct snap_nodes *n = &w->snap->node;
	bool empty = kind == WORK_EMPTY;
	int64_t gpu = 0, whole = 0, idle = 0;

	for (uint32_t d = n->gpu_first[i]; d < n->gpu_first[i + 1]; d++) {
		int64_t have = empty           ? 1000
		               : w->device_now ? w->device_now[d]
		                               : w->snap->gpu.free[d];

		w->device[d] = have;
		if (w->slices)
			w->slices[d] = empty ? 0 : w->slices_now[d];
		gpu += have > 0 ? have : 0;
		whole += have == 1000;
	}
	for (uint32_t t = n->cpu_first[i]; t < n->cpu_first[i + 1]; t++) {
		w->thread[t] = empty ? 1000 : w->thread_now[t];
		idle += w->thread[t] == 1000;
	}
	for (uint32_t m = n->numa_first[i]; m < n->numa_first[i + 1]; m++) {
		int64_t all = w->snap->numa_mem[m];

		w->numa_mem[m] = empty ? all : w->numa_now[m];
		w->numa_bound[m] = empty ? all : w->bound_now[m];
	}
	for (uint32_t k = 0; k < snap_node_npieces(w->snap, i); k++) {
		uint32_t at = n->piece_first[i] + k;

		w->piece[at] = empty ? 1 : w->piece_now[at];
	}
	w->cpu[i] = empty ? n->cpu_total[i] : n->cpu_free[i];
	w->mem[i] = empty ? n->mem_total[i] : n->mem_free[i];
	w->tmp[i] = empty ? n->tmp_total[i] : n->tmp_free[i];
	w->slot[i] = empty ? n->slot_total[i] : n->slot_free[i];
	for (uint32_t k = 0; k < w->snap->dev.n; k++)
		w->dev[i * w->snap->dev.n + k] =
		    empty ? n->dev_total[i].n[k] : n->dev_free[i].n[k];
	w->gpu[i] = gpu;
	w->whole[i] = whole;
	w->idle[i] = idle;
	w->tasks[i] = w->sealed[i] = 0;
}

static uint32_t count_cores(const struct snap *s)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->cpu.n; i++) {
		if (s->cpu.core[i] >= n)
			n = s->cpu.core[i] + 1u;
	}
	return n;
}

static const int64_t *numas_now(const struct snap *s, bool bound,
                                struct arena *arena)
{
	int64_t *ret = arena_array(
	    arena, int64_t, s->node.n ? s->node.numa_first[s->node.n] : 0);

	snap_numas(s, bound, ret);
	return ret;
}

/* Returns for each GPU how often each of its slices is used, as counters of 8
 * bits each; NULL if no node can have partitions. */
static const int64_t *slices_now(const struct snap *s, struct arena *arena)
{
	uint32_t ntasks = s->run.n ? s->run.task_first[s->run.n] : 0;
	int64_t *ret;

	if (!fit_mig_any(s))
		return NULL;
	ret = arena_array(arena, int64_t, s->gpu.n);
	for (uint32_t i = 0; s->gpu.parts && i < s->gpu.n; i++)
		ret[i] = fit_mig_spread(mig_parts_held(s->gpu.parts[i]));
	for (uint32_t i = 0; i < ntasks; i++) {
		const struct snap_task *t = &s->task[i];

		if (t->units)
			ret[s->node.gpu_first[t->node] +
			    (uint32_t)__builtin_ctzll(t->gpus)] +=
			    fit_mig_spread(t->units);
	}
	return ret;
}

/* Returns for each GPU what is free of it: less than 0 if others hold units of
 * a GPU that a job uses otherwise, so that it is not whole once that job has
 * ended. The snapshot says 0. NULL: others hold no units. */
static const int64_t *devices_now(const struct snap *s, struct arena *arena)
{
	uint32_t ntasks = s->run.n ? s->run.task_first[s->run.n] : 0;
	int64_t *ret;

	if (!s->gpu.parts)
		return NULL;
	ret = arena_array(arena, int64_t, s->gpu.n);
	for (uint32_t i = 0; i < s->node.n; i++) {
		for (uint32_t d = s->node.gpu_first[i];
		     d < s->node.gpu_first[i + 1]; d++)
			ret[d] =
			    mig_parts_free(s->gpu.parts[d], s->node.mig[i]);
	}
	for (uint32_t i = 0; i < ntasks; i++) {
		const struct snap_task *t = &s->task[i];

		for (uint64_t left = t->gpus; left; left &= left - 1)
			ret[s->node.gpu_first[t->node] +
			    (uint32_t)__builtin_ctzll(left)] -= t->gpu_milli;
	}
	for (uint32_t d = 0; d < s->gpu.n; d++) {
		if (s->gpu.free[d] < ret[d])
			ret[d] = s->gpu.free[d];
	}
	return ret;
}

/* Returns for each piece 1 minus the tasks that have it. */
static const int64_t *pieces_now(const struct snap *s, struct arena *arena)
{
	uint32_t ntasks = s->run.n ? s->run.task_first[s->run.n] : 0;
	int64_t *ret;

	if (!s->piece.n)
		return NULL;
	ret = arena_array(arena, int64_t, s->piece.n);
	for (uint32_t i = 0; i < s->piece.n; i++)
		ret[i] = 1;
	for (uint32_t i = 0; i < ntasks; i++) {
		uint32_t first = s->node.piece_first[s->task[i].node];

		for (uint64_t left = snap_held(s, i); left; left &= left - 1)
			ret[first + (uint32_t)__builtin_ctzll(left)]--;
	}
	return ret;
}

static const int64_t *threads_now(const struct snap *s, struct arena *arena)
{
	int64_t *ret = arena_array(arena, int64_t, s->cpu.n);

	snap_threads(s, ret);
	return ret;
}

/* Make room for the CPUs of one task if devices are sought near these. */
static void init_use(struct work *w, const struct work *like)
{
	const struct snap *s = w->snap;

	if (like) {
		w->use = like->use;
		w->use_cap = like->use_cap;
		return;
	}
	for (uint32_t i = 0; i < s->req.n && s->dev.n; i++) {
		size_t n = fit_max_cpus(s, i);

		w->use_cap = n > w->use_cap ? n : w->use_cap;
	}
	w->use = arena_array(w->arena, struct snap_cpu_use, w->use_cap);
}

struct work *work_new_blank(const struct snap *snap, const struct work *like,
                            struct arena *arena)
{
	struct work *w = arena_array(arena, struct work, 1);
	size_t n = snap->node.n, nnumas = n ? snap->node.numa_first[n] : 0;
	size_t ndevs = n * snap->dev.n;

	w->snap = snap;
	w->arena = arena;
	/* Make one allocation, so that memory pages of nodes whose counters are
	 * never filled in are never touched. */
	w->cpu = arena_array_raw(arena, int64_t,
	                         9 * n + snap->gpu.n + snap->cpu.n +
	                             2 * nnumas + ndevs + snap->piece.n);
	w->mem = w->cpu + n;
	w->tmp = w->mem + n;
	w->slot = w->tmp + n;
	w->gpu = w->slot + n;
	w->whole = w->gpu + n;
	w->idle = w->whole + n;
	w->tasks = w->idle + n;
	w->sealed = w->tasks + n;
	w->device = w->sealed + n;
	w->thread = w->device + snap->gpu.n;
	w->numa_mem = w->thread + snap->cpu.n;
	w->numa_bound = w->numa_mem + nnumas;
	w->dev = w->numa_bound + nnumas;
	w->piece = w->dev + ndevs;
	w->piece_now = like ? like->piece_now : NULL;
	w->device_now = like ? like->device_now : NULL;
	w->thread_now = like ? like->thread_now : NULL;
	w->numa_now = like ? like->numa_now : NULL;
	w->bound_now = like ? like->bound_now : NULL;
	w->own_gpus = arena_array(arena, uint64_t, n);
	init_use(w, like);
	w->nnumas = like ? like->nnumas : arena_array(arena, uint16_t, n);
	w->nlinks = like ? like->nlinks : arena_array(arena, uint16_t, n);
	w->core = arena_array(arena, struct work_core, count_cores(snap));
	w->tried = arena_array(arena, uint64_t, 1);
	if (like ? like->slices != NULL : fit_mig_any(snap)) {
		w->slices = arena_array_raw(arena, int64_t, snap->gpu.n);
		w->slices_now = like ? like->slices_now : NULL;
		w->mig = like ? like->mig : fit_mig_rests(snap, arena);
	}
	return w;
}

struct work *work_new(const struct snap *snap, const struct tally *tally,
                      struct arena *arena)
{
	struct work *w = work_new_blank(snap, NULL, arena);

	w->thread_now = threads_now(snap, arena);
	w->slices_now = slices_now(snap, arena);
	w->piece_now = pieces_now(snap, arena);
	w->device_now = devices_now(snap, arena);
	w->numa_now = numas_now(snap, false, arena);
	w->bound_now = numas_now(snap, true, arena);
	for (uint32_t i = 0; i < snap->node.n; i++)
		work_fill(w, i, WORK_NOW);
	for (uint32_t i = 0; i < snap->gpu.n && !w->grouped; i++)
		w->grouped = snap->gpu.link[i] > 0;
	w->license = arena_array(arena, int64_t, snap->license.n);
	w->used = arena_alloc(arena, snap->queue.n, sizeof(*w->used));
	w->firm = arena_alloc(arena, snap->queue.n, sizeof(*w->firm));
	w->jobs = arena_array(arena, int64_t, snap->queue.n);
	w->late = arena_alloc(arena, snap->queue.n, sizeof(*w->late));
	w->late_jobs = arena_array(arena, int64_t, snap->queue.n);
	for (uint32_t i = 0; i < snap->license.n; i++)
		w->license[i] = snap->license.free[i];
	charge_queues(w, tally);
	count_users(w);
	count_tasks(w);
	return w;
}

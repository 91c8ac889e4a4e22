/* ledger.c - what a job held and how long it ran, in milliseconds */
#include "aischedd/state/cluster/ledger.h"
#include "aischedd/state/cluster/counts.h"

#include <stdlib.h>
#include <string.h>

#include "aischedd/state/life/submit.h"
#include "aischedd/state/state_priv.h"
#include "libcommon/hostlist.h"
#include "libcommon/mem.h"

typedef unsigned __int128 wide;

void state_clock(struct state *state, int64_t wall_ms)
{
	state->wall_ms = wall_ms;
}

/* Convert now to milliseconds, exactly if it is near the wall clock. */
static int64_t exact_ms(const struct state *state, int64_t now)
{
	int64_t off = state->wall_ms / 1000 - now;

	return off >= -1 && off <= 1 ? state->wall_ms : now * 1000;
}

static void add(struct ledger_sum *sum, const struct ledger *l, int64_t ms)
{
	if (l->runs)
		sum->ran_ms += ms;
	for (int r = 0; r < RES_N; r++)
		sum->held[r] +=
		    (int64_t)((wide)(uint64_t)l->rate[r] * (uint64_t)ms / 1000);
}

static void book_until(struct ledger *l, int64_t ms)
{
	if (ms <= l->booked_ms)
		return; /* the clock was set back */
	add(&l->now, l, ms - l->booked_ms);
	l->booked_ms = ms;
}

static struct ledger *begin(struct job *job, int64_t ms)
{
	struct ledger *l = job->ledger;

	if (!l)
		l = job->ledger = xcalloc(1, sizeof(*l));
	l->now = (struct ledger_sum){ 0 };
	l->began_ms = l->booked_ms = ms;
	l->runs = false;
	l->most_tasks = 0;
	l->cpu_ms = l->peak_kib = SPEC_UNSET;
	return l;
}

void ledger_book(struct state *state, struct job *job, int64_t now)
{
	struct ledger *l = job->ledger;
	int64_t ms = exact_ms(state, now);

	if (!job->place)
		return; /* not placed: ledger_close() has booked all */
	if (!l || !l->began_ms)
		l = begin(job, ms);
	book_until(l, ms);
	counts_release(job, ms);
	usage_held(state, job, l->rate);
	counts_hold(state, job, ms);
	l->runs = job->resumed != NO_TIME;
	if (job->place->ntasks > l->most_tasks)
		l->most_tasks = job->place->ntasks;
}

void ledger_begin(struct state *state, struct job *job)
{
	if (!job->ledger || !job->ledger->began_ms) {
		begin(job, job->start * 1000);
		usage_held(state, job, job->ledger->rate);
		job->ledger->runs = job->resumed != NO_TIME;
		job->ledger->most_tasks = job->place->ntasks;
	}
	counts_hold(state, job, state->wall_ms);
}

void ledger_used(struct job *job, int64_t cpu_ms, int64_t peak_kib)
{
	if (!job->ledger)
		return;
	job->ledger->cpu_ms = cpu_ms;
	job->ledger->peak_kib = peak_kib;
}

void ledger_total(const struct job *job, int64_t now_ms, struct ledger_sum *ret)
{
	const struct ledger *l = job->ledger;

	*ret = (struct ledger_sum){ 0 };
	if (!l)
		return;
	*ret = l->before;
	if (!l->began_ms)
		return;
	ret->ran_ms += l->now.ran_ms;
	for (int r = 0; r < RES_N; r++)
		ret->held[r] += l->now.held[r];
	if (now_ms > l->booked_ms)
		add(ret, l, now_ms - l->booked_ms);
}

/* --- the end of an attempt --------------------------------------------- */

/* Name the nodes, "n[0-3]", and the GPU type of the first one. */
static void put_nodes(const struct state *state, const struct job *job,
                      struct attempt_row *row)
{
	uint32_t n = job->place->ntasks;
	const char **name = xcalloc(n, sizeof(*name));
	const struct node *first = &state->nodes.node[job->place->task[0].node];
	struct buf text = { 0 };

	for (uint32_t i = 0; i < n; i++)
		name[i] = state->nodes.node[job->place->task[i].node].name;
	hostlist_format(name, n, &text);
	row->nodes = buf_take(&text);
	row->pool = xstrdup(state->conf->pools[first->pool].name);
	if (first->gpu_type && job->ledger->rate[RES_GPU])
		row->gpu_type = xstrdup(first->gpu_type);
	free(name);
}

static void put_row(struct state *state, const struct job *job,
                    enum job_state to, enum reason why)
{
	struct unwritten *u = &state->unwritten;
	const struct ledger *l = job->ledger;
	struct attempt_row *row;
	struct spec spec;

	u->attempt = GROW(u->attempt, u->nattempts, &u->attempt_cap);
	row = &u->attempt[u->nattempts++];
	*row = (struct attempt_row){
		.job = job->id,
		.array = job->array,
		.array_task = job->task,
		.attempt = job->attempt,
		.evict_by = job->evict_by,
		.uid = job->uid,
		.user = job->user,
		.queue = xstrdup(state->conf->queues[job->queue].name),
		.tasks = l->most_tasks,
		.began_ms = l->began_ms,
		.ended_ms = l->booked_ms,
		.sum = l->now,
		.cpu_ms = l->cpu_ms,
		.peak_kib = l->peak_kib,
		.exit_code = job->exit_code,
		.signal = job->signal,
		.state = to,
		.why = (uint8_t)why,
		.cause = job->cause,
		.evict = job->evict,
	};
	spec_unpack(&spec, job->packed);
	row->account = spec.account ? xstrdup(spec.account) : NULL;
	row->class = xstrdup(state_class(state, &spec, job->queue));
	put_nodes(state, job, row);
}

void ledger_close(struct state *state, struct job *job, enum job_state to,
                  enum reason why, int64_t now)
{
	struct ledger *l = job->ledger;

	if (!job->place || !l || !l->began_ms)
		return;
	book_until(l, exact_ms(state, now));
	counts_attempt(job, job->cause == CAUSE_PREEMPT || why == WHY_NodeFail);
	counts_release(job, l->booked_ms);
	put_row(state, job, to, why);
	l->before.ran_ms += l->now.ran_ms;
	for (int r = 0; r < RES_N; r++)
		l->before.held[r] += l->now.held[r];
	l->began_ms = 0;
}

void attempt_row_fini(struct attempt_row *row)
{
	free(row->queue);
	free(row->pool);
	free(row->account);
	free(row->class);
	free(row->nodes);
	free(row->gpu_type);
}

/* --- as text ----------------------------------------------------------- */

/* The numbers of a ledger in the order of the text, as pointers into *l. */
enum { NUMBERS = 13 };

static void numbers_of(struct ledger *l, int64_t *ret[NUMBERS])
{
	int64_t *const all[NUMBERS] = {
		&l->before.ran_ms,
		&l->before.held[RES_CPU],
		&l->before.held[RES_MEM],
		&l->before.held[RES_GPU],
		&l->began_ms,
		&l->booked_ms,
		&l->now.ran_ms,
		&l->now.held[RES_CPU],
		&l->now.held[RES_MEM],
		&l->now.held[RES_GPU],
		&l->rate[RES_CPU],
		&l->rate[RES_MEM],
		&l->rate[RES_GPU],
	};

	memcpy(ret, all, sizeof(all));
}

/* Without an attempt under way the first four are enough. */
void ledger_format(const struct ledger *ledger, struct buf *out)
{
	struct ledger copy = *ledger;
	int64_t *number[NUMBERS];
	int n = copy.began_ms ? NUMBERS : 4;

	numbers_of(&copy, number);
	for (int i = 0; i < n; i++)
		buf_printf(out, "%s%lld", i ? "," : "", (long long)*number[i]);
	if (copy.began_ms)
		buf_printf(out, ",%d,%u", copy.runs, copy.most_tasks);
}

struct ledger *ledger_parse(const char *text, struct err *err)
{
	struct ledger *l = xcalloc(1, sizeof(*l));
	int64_t extra[2] = { 0 }, *number[NUMBERS + 2];
	const char *s = text;
	int n = 0;

	numbers_of(l, number);
	number[NUMBERS] = &extra[0];
	number[NUMBERS + 1] = &extra[1];
	for (; *s && n < NUMBERS + 2; s += *s == ',') {
		char *end;

		*number[n] = strtoll(s, &end, 10);
		if (end == s || *number[n] < 0 || *number[n] > INT64_MAX / 4 ||
		    (*end && *end != ','))
			break;
		s = end;
		n++;
	}
	if (*s || (n != 4 && n != NUMBERS + 2)) {
		free(l);
		err_set(err, EINVAL, "bad ledger '%s'", text);
		return NULL;
	}
	l->runs = extra[0] != 0;
	l->most_tasks = (uint32_t)extra[1];
	l->cpu_ms = l->peak_kib = SPEC_UNSET;
	return l;
}

/* ledger.c - what a job held and how long it ran, in milliseconds */
#include "aischedd/state/cluster/ledger.h"
#include "aischedd/state/cluster/counts.h"
#include "aischedd/state/cluster/price.h"

#include <stdlib.h>
#include <string.h>

#include "aischedd/state/state_priv.h"
#include "libcommon/cron/period.h"
#include "libcommon/hostlist.h"
#include "libcommon/mem.h"

typedef unsigned __int128 wide;

enum {
	/* pieces are merged only if there are at least this many */
	PIECES_MERGED = 64,
	HOUR_MS = 3600000
};

void state_clock(struct state *state, int64_t wall_ms)
{
	state->wall_ms = wall_ms;
}

/* Returns `now` in milliseconds. Uses the more exact wall_ms, which
 * state_clock() set, if the two differ by at most a second. */
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
		return; /* the clock was set back: book nothing */
	add(&l->now, l, ms - l->booked_ms);
	l->booked_ms = ms;
}

/* --- pieces ------------------------------------------------------------ */

/* Merge successive pieces within the same hour into one, so that the number of
 * pieces stays limited. */
static void merge_pieces(const struct state *state, struct ledger *l)
{
	int64_t at = l->began_ms, hour[2] = { 0, 0 }, from = 0;
	size_t n = 0;

	for (size_t i = 0; i < l->npieces; i++) {
		struct ledger_piece *to = n ? &l->piece[n - 1] : NULL;
		struct ledger_piece p = l->piece[i];
		bool same =
		    to && from >= hour[0] * 1000 && at + p.ms <= hour[1] * 1000;

		if (same) {
			for (int r = 0; r < RATES; r++)
				to->of[r] =
				    to->of[r] * (to->mixed ? 1 : to->ms) +
				    p.of[r] * (p.mixed ? 1 : p.ms);
			to->ms += p.ms;
			to->mixed = true;
		} else {
			l->piece[n++] = p;
			from = at;
			period_of(state->rollups.zone, PERIOD_HOUR, at / 1000,
			          hour);
		}
		at += p.ms;
	}
	l->npieces = n;
}

static void end_piece(const struct state *state, struct ledger *l)
{
	struct ledger_piece *p;

	if (l->booked_ms <= l->piece_ms)
		return;
	if (l->npieces == l->piece_cap && l->npieces >= PIECES_MERGED)
		merge_pieces(state, l);
	l->piece = GROW(l->piece, l->npieces, &l->piece_cap);
	p = &l->piece[l->npieces++];
	p->ms = l->booked_ms - l->piece_ms;
	p->mixed = false;
	memcpy(p->of, l->rate, sizeof(p->of));
	l->piece_ms = l->booked_ms;
}

/* --- an attempt -------------------------------------------------------- */

static struct ledger *begin(struct job *job, int64_t ms)
{
	struct ledger *l = job->ledger;

	if (!l)
		l = job->ledger = xcalloc(1, sizeof(*l));
	l->now = (struct ledger_sum){ 0 };
	l->began_ms = l->booked_ms = l->piece_ms = ms;
	l->npieces = 0;
	l->rollup = NULL;
	l->wait_ms = SPEC_UNSET;
	memset(l->rate, 0, sizeof(l->rate));
	l->runs = false;
	l->most_tasks = 0;
	l->gpu = (struct gpu_use){ 0 };
	l->idle_ms = 0;
	l->cpu_ms = l->peak_kib = SPEC_UNSET;
	return l;
}

/* Record how long a job has waited before its first attempt. */
static void note_wait(struct state *state, const struct job *job)
{
	struct ledger *l = job->ledger;

	if (job->attempt || job->eligible == NO_TIME)
		return;
	l->wait_ms = l->began_ms - job->eligible * 1000;
	l->wait_ms = l->wait_ms > 0 ? l->wait_ms : 0;
	rollup_started(state, l->rollup, l->began_ms, l->wait_ms);
}

/* Set what the job holds from booked_ms on, in its ledger and in its rollup. */
static void hold(struct state *state, struct job *job,
                 const int64_t rate[RATES])
{
	struct ledger *l = job->ledger;

	memcpy(l->rate, rate, sizeof(l->rate));
	if (!l->rollup)
		l->rollup = rollup_of(state, job);
	rollup_change(state, l->rollup, l->rate, 1, l->booked_ms);
}

static void release(struct state *state, struct ledger *l)
{
	end_piece(state, l);
	if (l->rollup)
		rollup_change(state, l->rollup, l->rate, -1, l->booked_ms);
}

void ledger_book(struct state *state, struct job *job, int64_t now)
{
	struct ledger *l = job->ledger;
	int64_t ms = exact_ms(state, now), rate[RATES] = { 0 };
	bool first = !l || !l->began_ms;

	if (!job->place)
		return; /* ledger_close() has already booked everything */
	if (first)
		l = begin(job, ms);
	book_until(l, ms);
	counts_release(job, ms);
	usage_held(state, job, rate);
	rate[RATE_COST] = price_of(state, job, rate);
	if (first || memcmp(rate, l->rate, sizeof(rate)) != 0) {
		release(state, l);
		hold(state, job, rate);
		state_touch(state, job);
	}
	counts_hold(state, job, ms);
	if (first)
		note_wait(state, job);
	l->runs = job->runs->resumed != NO_TIME;
	if (job->place->ntasks > l->most_tasks)
		l->most_tasks = job->place->ntasks;
}

void ledger_pause(struct state *state, struct job *job, int64_t ms)
{
	if (!job->place || !job->ledger->began_ms)
		return;
	book_until(job->ledger, ms);
	counts_release(job, ms);
	release(state, job->ledger);
}

void ledger_go_on(struct state *state, struct job *job, int64_t ms)
{
	struct ledger *l = job->ledger;
	int64_t rate[RATES];

	if (!job->place || !l->began_ms)
		return;
	memcpy(rate, l->rate, sizeof(rate));
	memset(l->rate, 0, sizeof(l->rate));
	if (ms > l->booked_ms)
		l->booked_ms = ms;
	end_piece(state, l);
	hold(state, job, rate);
	counts_hold(state, job, ms);
	state_touch(state, job);
}

void ledger_join(struct state *state, struct job *job)
{
	struct ledger *l = job->ledger;
	int64_t rate[RATES];

	memcpy(rate, l->rate, sizeof(rate));
	memset(l->rate, 0, sizeof(l->rate));
	l->piece_ms = l->began_ms;
	end_piece(state, l);
	hold(state, job, rate);
}

void ledger_begin(struct state *state, struct job *job)
{
	struct ledger *l = job->ledger;

	if (!l || !l->began_ms) {
		l = begin(job, job->runs->start * 1000);
		usage_held(state, job, l->rate);
		l->rate[RATE_COST] = price_of(state, job, l->rate);
		l->runs = job->runs->resumed != NO_TIME;
		l->most_tasks = job->place->ntasks;
	}
	l->rollup = rollup_find(state, l->rollup_id);
	if (l->rollup)
		rollup_resume(l->rollup, l->rate);
	counts_hold(state, job, state->wall_ms);
}

void ledger_used(struct job *job, const struct outcome *out)
{
	if (!job->ledger)
		return;
	job->ledger->cpu_ms = out->cpu_ms;
	job->ledger->peak_kib = out->peak_mem_kib;
	job->ledger->gpu = out->gpu;
}

static int64_t larger(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static void add_gpu(struct gpu_use *to, const struct gpu_use *use)
{
	to->busy_ms += use->busy_ms;
	to->known_ms += use->known_ms;
	to->mem_mib = larger(to->mem_mib, use->mem_mib);
	to->mem_total_mib = larger(to->mem_total_mib, use->mem_total_mib);
}

void ledger_gpu(const struct job *job, struct gpu_use *ret)
{
	const struct ledger *l = job->ledger;

	*ret = (struct gpu_use){ 0 };
	if (!l)
		return;
	*ret = l->gpu_before;
	if (l->began_ms)
		add_gpu(ret, &l->gpu);
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

void ledger_piece_cost(const struct ledger_piece *piece, __int128 *sum)
{
	*sum += (__int128)piece->of[RATE_COST] * (piece->mixed ? 1 : piece->ms);
}

int64_t ledger_cost_of(__int128 sum)
{
	return (int64_t)(sum / HOUR_MS);
}

static __int128 pieces_cost(const struct ledger *l)
{
	__int128 cost = 0;

	for (size_t i = 0; i < l->npieces; i++)
		ledger_piece_cost(&l->piece[i], &cost);
	return cost;
}

int64_t ledger_cost(const struct job *job, int64_t now_ms)
{
	const struct ledger *l = job->ledger;
	__int128 cost;

	if (!l || !l->began_ms || l->cost_before == SPEC_UNSET)
		return l ? l->cost_before : 0;
	cost = pieces_cost(l);
	if (now_ms > l->piece_ms)
		cost += (__int128)l->rate[RATE_COST] * (now_ms - l->piece_ms);
	return l->cost_before + ledger_cost_of(cost);
}

const char *ledger_pool(const struct job *job)
{
	const struct ledger *l = job->ledger;

	if (!l)
		return NULL;
	return l->began_ms && l->rollup ? l->rollup->part[PART_POOL] : l->pool;
}

int64_t ledger_longest(const struct job *job, int64_t now_ms)
{
	const struct ledger *l = job->ledger;
	struct ledger_sum sum;
	int64_t now;

	if (!l)
		return 0;
	ledger_total(job, now_ms, &sum);
	now = l->began_ms ? sum.ran_ms - l->before.ran_ms : 0;
	return now > l->longest_ms ? now : l->longest_ms;
}

/* --- packed pieces ----------------------------------------------------- */

/* The first number of a packed piece: its length, the number of rates that
 * follow, less one, and whether it is mixed. */
enum { MIXED_BIT = 1, COUNT_SHIFT = 1, MS_SHIFT = 3 };
_Static_assert(RATES <= 1 << (MS_SHIFT - COUNT_SHIFT), "rates do not fit");

static void pack_number(struct buf *out, uint64_t n)
{
	for (; n > 0x7f; n >>= 7)
		buf_addc(out, (char)(0x80 | (n & 0x7f)));
	buf_addc(out, (char)n);
}

/* Read a number of at most 63 bits. */
static bool unpack_number(const unsigned char **data, size_t *left,
                          int64_t *ret)
{
	uint64_t n = 0;

	for (int shift = 0; shift < 63 && *left; shift += 7) {
		unsigned char byte = *(*data)++;

		--*left;
		n |= (uint64_t)(byte & 0x7f) << shift;
		if (byte & 0x80)
			continue;
		*ret = (int64_t)n;
		return true;
	}
	return false;
}

/* Returns how many rates to write: zeros at the end are left out. */
static int rates_of(const struct ledger_piece *piece)
{
	int n = RATES;

	while (n > 1 && !piece->of[n - 1])
		n--;
	return n;
}

void ledger_piece_pack(const struct ledger_piece *piece, struct buf *out)
{
	int n = rates_of(piece);

	pack_number(out, (uint64_t)piece->ms << MS_SHIFT |
	                     (uint64_t)(n - 1) << COUNT_SHIFT |
	                     (piece->mixed ? MIXED_BIT : 0));
	for (int i = 0; i < n; i++)
		pack_number(out, (uint64_t)piece->of[i]);
}

bool ledger_piece_unpack(const unsigned char **data, size_t *left,
                         struct ledger_piece *ret)
{
	int64_t head;
	int n;

	*ret = (struct ledger_piece){ 0 };
	if (!unpack_number(data, left, &head) || head >> MS_SHIFT == 0)
		return false;
	ret->ms = head >> MS_SHIFT;
	ret->mixed = head & MIXED_BIT;
	n = 1 +
	    (int)(head >> COUNT_SHIFT & ((1 << (MS_SHIFT - COUNT_SHIFT)) - 1));
	for (int i = 0; i < n; i++)
		if (!unpack_number(data, left, &ret->of[i]))
			return false;
	return true;
}

/* --- the end of an attempt --------------------------------------------- */

/* Returns the names of the job's nodes, as "n[0-3]"; the caller frees them. */
static char *nodes_of(const struct state *state, const struct job *job)
{
	uint32_t n = job->place->ntasks;
	const char **name = xcalloc(n, sizeof(*name));
	struct buf text = { 0 };

	for (uint32_t i = 0; i < n; i++)
		name[i] = state->nodes.node[job->place->task[i].node].name;
	hostlist_format(name, n, &text);
	free(name);
	return buf_take(&text);
}

static char *part_of(const struct rollup *r, enum rollup_part part)
{
	return *r->part[part] ? xstrdup(r->part[part]) : NULL;
}

/* Copy queue, account, class, pool and type of GPU from the rollup, which has
 * them as they were when the attempt began. */
static void put_parts(const struct ledger *l, struct attempt_row *row)
{
	row->queue = part_of(l->rollup, PART_QUEUE);
	row->account = part_of(l->rollup, PART_ACCOUNT);
	row->class = part_of(l->rollup, PART_CLASS);
	row->pool = part_of(l->rollup, PART_POOL);
	row->gpu_type = part_of(l->rollup, PART_GPU);
}

/* Write a piece as ledger_piece_parse() reads it. */
static void format_piece(const struct ledger_piece *piece, struct buf *out)
{
	int n = rates_of(piece);

	buf_i64(out, piece->ms);
	for (int i = 0; i < n; i++) {
		buf_addc(out, i ? ',' : piece->mixed ? '=' : '*');
		buf_i64(out, piece->of[i]);
	}
}

static void put_pieces(const struct ledger *l, struct attempt_row *row)
{
	for (size_t i = 0; i < l->npieces; i++)
		ledger_piece_pack(&l->piece[i], &row->pieces);
	row->cost = ledger_cost_of(pieces_cost(l));
}

static struct attempt_row *put_row(struct state *state, const struct job *job,
                                   enum job_state to, enum reason why)
{
	struct unwritten *u = &state->unwritten;
	const struct ledger *l = job->ledger;
	struct attempt_row *row;

	u->attempt = GROW(u->attempt, u->nattempts, &u->attempt_cap);
	row = &u->attempt[u->nattempts++];
	*row = (struct attempt_row){
		.job = job->id,
		.attempt = job->attempt,
		.evict_by = job->runs->evict_by,
		.uid = job->uid,
		.user = job->user,
		.nodes = nodes_of(state, job),
		.wait_ms = l->wait_ms,
		.tasks = l->most_tasks,
		.began_ms = l->began_ms,
		.ended_ms = l->booked_ms,
		.sum = l->now,
		.cpu_ms = l->cpu_ms,
		.peak_kib = l->peak_kib,
		.gpu = l->gpu,
		.exit_code = job->runs->exit_code,
		.signal = job->runs->signal,
		.state = to,
		.why = (uint8_t)why,
		.cause = job->cause,
		.evict = job->evict,
	};
	put_parts(l, row);
	put_pieces(l, row);
	return row;
}

void ledger_close(struct state *state, struct job *job, enum job_state to,
                  enum reason why, int64_t now)
{
	struct ledger *l = job->ledger;
	const struct attempt_row *row;

	if (!job->place || !l || !l->began_ms)
		return;
	book_until(l, exact_ms(state, now));
	release(state, l);
	counts_attempt(job, rollup_is_lost(job->cause, (int)why));
	counts_release(job, l->booked_ms);
	row = put_row(state, job, to, why);
	l->before.ran_ms += l->now.ran_ms;
	if (l->now.ran_ms > l->longest_ms)
		l->longest_ms = l->now.ran_ms;
	for (int r = 0; r < RES_N; r++)
		l->before.held[r] += l->now.held[r];
	add_gpu(&l->gpu_before, &l->gpu);
	if (l->cost_before != SPEC_UNSET)
		l->cost_before += row->cost;
	free(l->pool);
	l->pool = row->pool ? xstrdup(row->pool) : NULL;
	rollup_ended(state, l->rollup, row, l->before.held[RES_GPU]);
	l->began_ms = l->rollup_id = 0;
	l->rollup = NULL;
}

void ledger_free(struct ledger *ledger)
{
	if (!ledger)
		return;
	free(ledger->piece);
	free(ledger->pool);
	free(ledger);
}

void attempt_row_fini(struct attempt_row *row)
{
	free(row->queue);
	free(row->pool);
	free(row->account);
	free(row->class);
	free(row->nodes);
	free(row->gpu_type);
	buf_free(&row->pieces);
}

/* --- ledgers and pieces as text ---------------------------------------- */

bool ledger_piece_parse(const char **text, struct ledger_piece *ret)
{
	const char *s = *text;
	char *end;

	*ret = (struct ledger_piece){ .ms = strtoll(s, &end, 10) };
	if (end == s || ret->ms <= 0 || (*end != '*' && *end != '='))
		return false;
	ret->mixed = *end == '=';
	for (int i = 0; i < RATES && (!i || *end == ','); i++) {
		s = end + 1;
		ret->of[i] = strtoll(s, &end, 10);
		if (end == s || ret->of[i] < 0)
			return false;
	}
	if (*end && !strchr(";@$", *end))
		return false;
	*text = end + (*end == ';');
	return true;
}

/*
 * numbers_of() lists pointers to the numbers of a ledger, in the order in which
 * the numbers are written as text. Between attempts only the first BETWEEN
 * numbers are written, followed by the run time of the longest attempt if there
 * were several. Older versions wrote only the first NO_ROLLUP or NO_LONGEST
 * numbers.
 */
enum { BETWEEN = 4, NO_ROLLUP = 15, NO_LONGEST = 19, NUMBERS = 20 };

static void numbers_of(struct ledger *l, int64_t extra[2],
                       int64_t *ret[NUMBERS])
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
		&extra[0],
		&extra[1],
		&l->rollup_id,
		&l->rate[RATE_COST],
		&l->piece_ms,
		&l->wait_ms,
		&l->longest_ms,
	};

	memcpy(ret, all, sizeof(all));
}

static void format_gpu(const struct gpu_use *use, struct buf *out)
{
	if (use->known_ms)
		buf_printf(out, "@%lld,%lld,%lld,%lld", (long long)use->busy_ms,
		           (long long)use->known_ms, (long long)use->mem_mib,
		           (long long)use->mem_total_mib);
}

void ledger_format(const struct ledger *ledger, struct buf *out)
{
	struct ledger copy = *ledger;
	int64_t *number[NUMBERS];
	int64_t extra[2] = { copy.runs, copy.most_tasks };
	int n = copy.began_ms ? NUMBERS : BETWEEN;

	if (copy.rollup)
		copy.rollup_id = copy.rollup->id;
	copy.wait_ms = copy.wait_ms == SPEC_UNSET ? 0 : copy.wait_ms + 1;
	numbers_of(&copy, extra, number);
	for (int i = 0; i < n; i++) {
		if (i)
			buf_addc(out, ',');
		buf_i64(out, *number[i]);
	}
	if (!copy.began_ms && copy.longest_ms != copy.before.ran_ms)
		buf_printf(out, ",%lld", (long long)copy.longest_ms);
	for (size_t i = 0; copy.began_ms && i < copy.npieces; i++) {
		buf_addc(out, i ? ';' : '|');
		format_piece(&copy.piece[i], out);
	}
	format_gpu(&copy.gpu_before, out);
	if (copy.pool && copy.cost_before != SPEC_UNSET)
		buf_printf(out, "$%lld:%s", (long long)copy.cost_before,
		           copy.pool);
}

/* Parse the cost and the pool that follow '$'. */
static bool parse_cost(const char *text, struct ledger *l)
{
	char *end;

	l->cost_before = strtoll(text, &end, 10);
	if (end == text || l->cost_before < 0 ||
	    l->cost_before > INT64_MAX / 4 || *end != ':' || !end[1])
		return false;
	l->pool = xstrdup(end + 1);
	return true;
}

static bool parse_gpu(const char **text, struct gpu_use *ret)
{
	int64_t *const number[] = { &ret->busy_ms, &ret->known_ms,
		                    &ret->mem_mib, &ret->mem_total_mib };

	for (size_t i = 0; i < ARRAY_SIZE(number); i++) {
		char *end;

		*number[i] = strtoll(*text, &end, 10);
		if (end == *text || *number[i] < 0 ||
		    *number[i] > INT64_MAX / 4 ||
		    (i + 1 < ARRAY_SIZE(number) ? *end != ','
		                                : *end && *end != '$'))
			return false;
		*text = end + (*end == ',');
	}
	return true;
}

/* Parse what follows the numbers: pieces, GPU use, cost and pool. */
static bool parse_rest(const char *text, struct ledger *l)
{
	if (*text == '|')
		text++;
	else if (*text && *text != '@' && *text != '$')
		return false;
	while (*text && *text != '@' && *text != '$') {
		l->piece = GROW(l->piece, l->npieces, &l->piece_cap);
		if (!ledger_piece_parse(&text, &l->piece[l->npieces]))
			return false;
		l->npieces++;
	}
	if (*text == '@') {
		text++;
		if (!parse_gpu(&text, &l->gpu_before))
			return false;
	}
	if (!*text) {
		/* There is no '$' if there was no earlier attempt, or if a
		 * version without prices ran it: then its cost is not known. */
		l->cost_before = l->before.held[RES_MEM] ? SPEC_UNSET : 0;
		return true;
	}
	return parse_cost(text + 1, l);
}

/* Parse numbers separated by commas. Returns how many there are, and moves
 * *text behind them. */
static int parse_numbers(const char **text, int64_t *number[NUMBERS])
{
	const char *s = *text;
	int n = 0;

	while (n < NUMBERS) {
		char *end;

		*number[n] = strtoll(s, &end, 10);
		if (end == s || *number[n] < 0 || *number[n] > INT64_MAX / 4)
			break;
		n++;
		s = end;
		if (*s != ',')
			break;
		s++;
	}
	*text = s;
	return n;
}

struct ledger *ledger_parse(const char *text, struct err *err)
{
	struct ledger *l = xcalloc(1, sizeof(*l));
	int64_t extra[2] = { 0 }, *number[NUMBERS];
	const char *s = text;
	int n;

	numbers_of(l, extra, number);
	n = parse_numbers(&s, number);
	if ((n != BETWEEN && n != BETWEEN + 1 && n != NO_ROLLUP &&
	     n != NO_LONGEST && n != NUMBERS) ||
	    !parse_rest(s, l)) {
		ledger_free(l);
		err_set(err, EINVAL, "bad ledger '%s'", text);
		return NULL;
	}
	if (n == BETWEEN + 1) {
		l->longest_ms = l->began_ms;
		l->began_ms = 0;
	} else if (n != NUMBERS) {
		l->longest_ms = l->before.ran_ms;
	}
	l->wait_ms = l->wait_ms ? l->wait_ms - 1 : SPEC_UNSET;
	l->runs = extra[0] != 0;
	l->most_tasks = (uint32_t)extra[1];
	l->cpu_ms = l->peak_kib = SPEC_UNSET;
	return l;
}

/* advise.c - find which order of jobs would have been best for a history */
#include "aisim/advise.h"

#include <stdlib.h>

#include "libcommon/buf.h"
#include "libcommon/mem.h"
#include "libcommon/parse.h"

/* Longer than any history. */
static const int64_t NEVER_S = (int64_t)36500 * 86400;

#define X(sym, name) name,
static const char *const orders[] = { JOB_ORDERS(X) };
#undef X

static enum job_order order_of(int i)
{
	return (enum job_order)(i / ADVISE_HOLDS);
}

static int64_t hold_of(const struct conf *configured, int i)
{
	return i % ADVISE_HOLDS ? NEVER_S : configured->scheduling.hold_after;
}

static bool is_configured(const struct conf *configured, int i)
{
	return order_of(i) == configured->scheduling.order &&
	       i % ADVISE_HOLDS == 0;
}

void advise_prepare(struct conf *conf, const struct conf *configured, int i)
{
	conf->scheduling.order = order_of(i);
	conf->scheduling.hold_after = hold_of(configured, i);
}

void advise_sum(const struct sim *sim, struct advise_sums *ret)
{
	size_t all = sim->trace->njobs, n = 0;
	double *wait = xcalloc(all + 1, sizeof(*wait));
	double *slow = xcalloc(all + 1, sizeof(*slow));

	for (size_t i = 0; i < all; i++) {
		const struct job_stats *s = &sim->job[i].stats;

		if (s->was_running || s->first_start == NO_TIME ||
		    s->end == NO_TIME)
			continue;
		wait[n] = (double)(s->end - s->submit - s->ran);
		slow[n++] = stats_slowdown(s);
	}
	*ret = (struct advise_sums){ .jobs = all, .ended = n };
	ret->wait_mean = stats_mean(wait, n);
	ret->wait_p95 = stats_percentile(wait, n, 95);
	ret->slowdown_mean = stats_mean(slow, n);
	ret->slowdown_p95 = stats_percentile(slow, n, 95);
	free(wait);
	free(slow);
}

/* --- output --------------------------------------------------------------- */

/* Returns the index of the best replay: the more jobs ended, the better; then
 * the lower the mean slowdown; then the configured order. */
static int best_of(const struct conf *configured,
                   const struct advise_sums *sums)
{
	int best = 0;

	for (int i = 1; i < ADVISE_N; i++) {
		const struct advise_sums *a = &sums[i], *b = &sums[best];

		if (a->ended != b->ended) {
			if (a->ended > b->ended)
				best = i;
		} else if (a->slowdown_mean < b->slowdown_mean ||
		           (a->slowdown_mean <= b->slowdown_mean &&
		            is_configured(configured, i))) {
			best = i;
		}
	}
	return best;
}

static void put_hold(struct buf *out, const struct conf *configured, int i)
{
	if (hold_of(configured, i) == NEVER_S)
		buf_puts(out, "never");
	else
		format_duration(out, hold_of(configured, i));
}

static void print_text(const struct conf *configured,
                       const struct advise_sums *sums, int best, FILE *out)
{
	struct buf hold = { 0 };

	fprintf(out, "  %-12s %11s %8s %11s %11s %9s %9s\n", "ORDER",
	        "HOLD_AFTER", "ENDED", "WAIT_MEAN", "WAIT_P95", "SLOW_MEAN",
	        "SLOW_P95");
	for (int i = 0; i < ADVISE_N; i++) {
		const struct advise_sums *s = &sums[i];

		buf_clear(&hold);
		put_hold(&hold, configured, i);
		fprintf(out, "%s %-12s %11s %8zu %11.0f %11.0f %9.1f %9.1f\n",
		        is_configured(configured, i) ? ">" : " ",
		        orders[order_of(i)], hold.data, s->ended, s->wait_mean,
		        s->wait_p95, s->slowdown_mean, s->slowdown_p95);
	}
	buf_clear(&hold);
	put_hold(&hold, configured, best);
	if (is_configured(configured, best))
		fprintf(out, "No other order has a lower mean slowdown than "
		             "the configured one.\n");
	else
		fprintf(out,
		        "Lowest mean slowdown: order = %s  "
		        "hold_after = \"%s\"\n",
		        orders[order_of(best)],
		        best % ADVISE_HOLDS ? "36500d" : hold.data);
	buf_free(&hold);
}

static void print_one(const struct conf *configured,
                      const struct advise_sums *sums, int i, int best,
                      FILE *out)
{
	const struct advise_sums *s = &sums[i];

	fprintf(out, "%s{\"order\":\"%s\",\"hold_after\":", i ? "," : "",
	        orders[order_of(i)]);
	if (hold_of(configured, i) == NEVER_S)
		fputs("null", out);
	else
		fprintf(out, "%lld", (long long)hold_of(configured, i));
	fprintf(out,
	        ",\"configured\":%s,\"best\":%s,\"jobs\":%zu,\"ended\":%zu,"
	        "\"wait\":{\"mean\":%.4f,\"p95\":%.4f},"
	        "\"bounded_slowdown\":{\"mean\":%.4f,\"p95\":%.4f}}",
	        is_configured(configured, i) ? "true" : "false",
	        i == best ? "true" : "false", s->jobs, s->ended, s->wait_mean,
	        s->wait_p95, s->slowdown_mean, s->slowdown_p95);
}

void advise_print(const struct conf *configured, const struct advise_sums *sums,
                  bool json, FILE *out)
{
	int best = best_of(configured, sums);

	if (!json) {
		print_text(configured, sums, best, out);
		return;
	}
	fputs("{\"orders\":[", out);
	for (int i = 0; i < ADVISE_N; i++)
		print_one(configured, sums, i, best, out);
	fputs("]}\n", out);
}

/* prometheus.c - the metrics, in the format of Prometheus */
#include "aischedd/prometheus.h"

#include <dirent.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "aischedd/daemon.h"
#include "aischedd/log_size.h"
#include "aischedd/mailer.h"
#include "aischedd/session.h"
#include "aischedd/state/cluster/counts.h"
#include "aischedd/state/cluster/node.h"
#include "aischedd/state/cluster/pool.h"
#include "aischedd/state/cluster/queue.h"
#include "aischedd/state/cluster/reserve.h"
#include "aischedd/state/cluster/used.h"
#include "aischedd/state/life/cron.h"
#include "aischedd/store/outbox.h"
#include "aischedd/user_sums.h"
#include "aischedd/web.h"
#include "config.h"
#include "libcommon/clock.h"
#include "libcommon/mem.h"

/* States in which resources of a pool's nodes can be. */
enum part {
	PART_ALLOCATED,
	PART_RESERVED,
	PART_IDLE,
	/* used by processes or pods that belong to no job */
	PART_OTHERS,
	PART_DRAINED,
	PART_DOWN,
	POOL_PARTS
};

/*
 * Upper bounds of the numbers of series. SERIES_OF_QUEUE: 5 for jobs by state,
 * 9 for ended jobs by state, 3 for submissions and starts, 7 for requeues and
 * evictions, 13 for each of two histograms, 15 for amounts, and 4 others; a
 * queue also has one for each reason of its pending jobs. SERIES_OF_POOL: 12
 * for CPUs and memory, 5 for nodes, 7 others, and those for calls of the pool's
 * API server.
 */
enum {
	SERIES_OF_ALL =
	    /* series that belong to no queue or pool */
	134 + OP_N * ASK_RESULTS,
	SERIES_OF_QUEUE = 69,
	SERIES_OF_POOL = 23 + CALL_VERBS * CALL_CLASSES + 1,
	/* for each type of GPU in a pool */
	SERIES_OF_TYPE = POOL_PARTS,
	/* for each combination of queue, pool and type of GPU that jobs have
	 * had */
	SERIES_OF_HELD = 6
};

static const char *const part_name[POOL_PARTS] = { "allocated", "reserved",
	                                           "idle",      "others",
	                                           "drained",   "down" };

struct pool_parts {
	/* the type of GPU that this is about; NULL: this is about CPUs, memory,
	 * nodes, and GPUs of all types */
	const char *gpu_type;
	uint32_t pool;
	int64_t part[POOL_PARTS][RES_N];
	uint64_t nodes[POOL_PARTS];
	int64_t stranded; /* idle GPUs on nodes without idle CPUs */
};

enum sum_kind {
	SUM_CPU, /* from here to SUM_GPU in the order of enum resource */
	SUM_MEM = SUM_CPU + RES_MEM,
	SUM_GPU = SUM_CPU + RES_GPU,
	SUM_CPU_USED = SUM_CPU + RES_N,
	SUM_GPU_BUSY,
	SUM_GPU_KNOWN,
	SUM_GPU_EVICTED,
	SUM_COST,
	SUMS
};

/* Sums of what jobs of a queue have held in a pool so far, in seconds, byte
 * seconds and money. */
struct held_sum {
	uint32_t queue, pool;
	/* "": jobs that held no GPUs */
	const char *gpu_type;
	double s[SUMS];
};

/* Figures taken at one moment, from which all metrics are printed. */
struct prom {
	struct daemon *d;
	struct buf *out;
	/* name of the metric that is being printed */
	const char *name;
	int64_t now, now_ms;
	struct store_stats store;
	int64_t logs; /* bytes of kept output; -1: not known yet */
	/* shown[q]: q if queue q is shown, else its closest ancestor that is.
	 * queue[q]: counts of all queues i for which shown[i] is q. */
	struct queue_counts *queue;
	uint32_t *shown;
	bool folded;
	/* what pending jobs request and what jobs hold, in each queue and all
	 * queues below it */
	int64_t (*pending)[RES_N], (*held)[RES_N];
	/* sorted by queue, pool and type */
	struct held_sum *held_sum;
	size_t nheld_sums;
	struct pool_parts *parts;
	size_t nparts, parts_cap;
	struct user_sum *user; /* NULL if metrics_users is 0 */
	size_t nusers;
};

/* --- text format -------------------------------------------------------- */

static void put_escaped(struct buf *out, const char *s)
{
	for (; *s; s++) {
		if (*s == '\\' || *s == '"')
			buf_addc(out, '\\');
		if (*s == '\n')
			buf_puts(out, "\\n");
		else
			buf_addc(out, *s);
	}
}

static void put_labels(struct buf *out, va_list args)
{
	const char *label;
	char before = '{';

	while ((label = va_arg(args, const char *))) {
		buf_printf(out, "%c%s=\"", before, label);
		put_escaped(out, va_arg(args, const char *));
		buf_addc(out, '"');
		before = ',';
	}
	if (before == ',')
		buf_addc(out, '}');
}

/* Print one sample: value, then pairs of a label and its text; NULL ends
 * the list. */
static void put(struct prom *p, double value, ...)
{
	va_list args;

	buf_puts(p->out, p->name);
	va_start(args, value);
	put_labels(p->out, args);
	va_end(args);
	buf_printf(p->out, " %.15g\n", value);
}

/* Print a histogram, with the label "queue" unless queue is NULL. */
static void put_histogram(struct prom *p, const struct histogram *h,
                          const double *bounds, const char *queue)
{
	size_t n = histogram_nbounds(bounds);
	const char *name = p->name;
	char part[128], le[32];
	uint64_t sum = 0;

	snprintf(part, sizeof(part), "%s_bucket", name);
	p->name = part;
	for (size_t i = 0; i <= n; i++) {
		sum += h->bucket[i];
		if (i < n)
			snprintf(le, sizeof(le), "%.15g", bounds[i]);
		else
			snprintf(le, sizeof(le), "+Inf");
		if (queue)
			put(p, (double)sum, "queue", queue, "le", le, NULL);
		else
			put(p, (double)sum, "le", le, NULL);
	}
	snprintf(part, sizeof(part), "%s_sum", name);
	put(p, h->sum, queue ? "queue" : NULL, queue, NULL);
	snprintf(part, sizeof(part), "%s_count", name);
	put(p, (double)h->n, queue ? "queue" : NULL, queue, NULL);
	p->name = name;
}

static double in_unit(int r, double amount)
{
	return r == RES_MEM ? amount * 1048576 : amount / 1000;
}

/* --- the process -------------------------------------------------------- */

static void put_cpu(struct prom *p)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	put(p,
	    (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	        (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6,
	    NULL);
}

static void put_memory(struct prom *p)
{
	FILE *f = fopen("/proc/self/statm", "re");
	long total, resident;

	if (!f)
		return;
	if (fscanf(f, "%ld %ld", &total, &resident) == 2)
		put(p, (double)resident * (double)sysconf(_SC_PAGESIZE), NULL);
	fclose(f);
}

static void put_fds(struct prom *p)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = -3; /* do not count ".", ".." and dir itself */

	if (!dir)
		return;
	while (readdir(dir))
		n++;
	closedir(dir);
	put(p, n, NULL);
}

static void put_fds_most(struct prom *p)
{
	struct rlimit most;

	if (getrlimit(RLIMIT_NOFILE, &most) == 0)
		put(p, (double)most.rlim_cur, NULL);
}

/* --- the daemon --------------------------------------------------------- */

static void put_build(struct prom *p)
{
	put(p, 1, "version", PACKAGE_VERSION, "cluster", p->d->conf->cluster,
	    NULL);
}

static void put_turn(struct prom *p)
{
	put_histogram(p, &p->d->turn_s, histogram_steps, NULL);
}

static void put_pass(struct prom *p)
{
	put_histogram(p, &p->d->stats.pass_s, histogram_steps, NULL);
}

static void put_commit(struct prom *p)
{
	put_histogram(p, &p->store.commit_s, histogram_steps, NULL);
}

static void put_store(struct prom *p)
{
	put(p, (double)p->store.bytes, "file", "db", NULL);
	put(p, (double)p->store.wal_bytes, "file", "wal", NULL);
	if (p->logs >= 0)
		put(p, (double)p->logs, "file", "logs", NULL);
}

static void put_archived(struct prom *p)
{
	if (p->store.archived)
		put(p, (double)p->store.archived, NULL);
}

static void put_connections(struct prom *p)
{
	put(p, (double)rpc_connections_of(p->d->rpc, false), "kind", "socket",
	    NULL);
	put(p, (double)rpc_connections_of(p->d->rpc, true), "kind", "tcp",
	    NULL);
	if (p->d->web)
		put(p, (double)web_connections(p->d->web), "kind", "web", NULL);
}

static void put_web_sessions(struct prom *p)
{
	if (p->d->web)
		put(p,
		    (double)session_count(p->d->sessions, (uid_t)-1,
		                          clock_ms()),
		    NULL);
}

static void put_web_requests(struct prom *p)
{
	if (p->d->web)
		for (size_t i = 0; i < web_ncodes; i++)
			put(p, (double)web_answered(p->d->web, i), "code",
			    web_codes[i], NULL);
}

static void put_requests(struct prom *p)
{
	static const char *const result[ASK_RESULTS] = { "ok", "refused",
		                                         "failed" };

	for (int op = 0; op < OP_N; op++)
		for (int i = 0; i < ASK_RESULTS; i++)
			if (p->d->asked[op][i])
				put(p, (double)p->d->asked[op][i], "op",
				    op_name((enum op)op), "result", result[i],
				    NULL);
}

static void put_auth_failures(struct prom *p)
{
	put(p, (double)rpc_auth_failures(p->d->rpc), "way", "munge", NULL);
	put(p, (double)p->d->bad_links, "way", "link", NULL);
	if (p->d->web)
		put(p, (double)web_bad_proxies(p->d->web), "way", "proxy",
		    NULL);
}

static void put_mail_queue(struct prom *p)
{
	int64_t n = outbox_size(p->d->store);

	if (n >= 0)
		put(p, (double)n, NULL);
}

static void put_mails(struct prom *p)
{
	struct mailer_counts n = mailer_counts(p->d->mailer);

	put(p, (double)n.sent, "result", "sent", NULL);
	put(p, (double)n.failed, "result", "failed", NULL);
	put(p, (double)n.dropped, "result", "dropped", NULL);
}

/* --- queues ------------------------------------------------------------- */

/* Loops over the queues that are shown: q is the queue, c its counts. */
#define EACH_QUEUE(p, q, c)                                         \
	for (uint32_t q = 0; q < (p)->d->conf->nqueues; q++)        \
		for (const struct queue_counts *c = &(p)->queue[q]; \
		     c && (p)->shown[q] == q; c = NULL)

static const char *queue_name(const struct prom *p, uint32_t queue)
{
	return p->d->conf->queues[queue].name;
}

static void put_jobs(struct prom *p)
{
	EACH_QUEUE(p, q, c)
	for (int s = 0; s < JOB_NSTATES; s++)
		if (!job_state_is_final((enum job_state)s))
			put(p, (double)c->jobs[s], "queue", queue_name(p, q),
			    "state", job_state_name((enum job_state)s), NULL);
}

static void put_waiting(struct prom *p)
{
	EACH_QUEUE(p, q, c)
	for (int why = WHY_None + 1; why < WHY_NREASONS; why++)
		if (c->aside[why] + c->found.judged[why])
			put(p, (double)(c->aside[why] + c->found.judged[why]),
			    "queue", queue_name(p, q), "reason",
			    reason_name((enum reason)why), NULL);
}

static void put_submitted(struct prom *p)
{
	EACH_QUEUE(p, q, c)
	put(p, (double)c->submitted, "queue", queue_name(p, q), NULL);
}

static void put_started(struct prom *p)
{
	EACH_QUEUE(p, q, c)
	put(p, (double)c->started, "queue", queue_name(p, q), NULL);
}

static void put_backfilled(struct prom *p)
{
	EACH_QUEUE(p, q, c)
	put(p, (double)c->backfilled, "queue", queue_name(p, q), NULL);
}

static void put_ended(struct prom *p)
{
	EACH_QUEUE(p, q, c)
	for (int s = 0; s < JOB_NSTATES; s++)
		if (job_state_is_final((enum job_state)s))
			put(p, (double)c->ended[s], "queue", queue_name(p, q),
			    "state", job_state_name((enum job_state)s), NULL);
}

static void put_requeued(struct prom *p)
{
	static const char *const why[REQUEUE_KINDS] = { "user", "failure",
		                                        "node" };

	EACH_QUEUE(p, q, c)
	for (int i = 0; i < REQUEUE_KINDS; i++)
		put(p, (double)c->requeued[i], "queue", queue_name(p, q), "why",
		    why[i], NULL);
}

static void put_evictions(struct prom *p)
{
	static const char *const why[EVICT_KINDS] = {
		[EVICT_PREEMPT] = "preempt",
		[EVICT_RECLAIM] = "reclaim",
		[EVICT_CONSOLIDATE] = "consolidate",
		[EVICT_NODE_DOWN] = "node_down",
	};

	EACH_QUEUE(p, q, c)
	for (int i = EVICT_PREEMPT; i < EVICT_KINDS; i++)
		put(p, (double)c->evicted[i], "queue", queue_name(p, q), "why",
		    why[i], NULL);
}

static void put_wait(struct prom *p)
{
	EACH_QUEUE(p, q, c)
	if (c->wait.n)
		put_histogram(p, &c->wait, histogram_jobs, queue_name(p, q));
}

static void put_run(struct prom *p)
{
	EACH_QUEUE(p, q, c)
	if (c->run.n)
		put_histogram(p, &c->run, histogram_jobs, queue_name(p, q));
}

static void put_slip(struct prom *p)
{
	put_histogram(p, &state_count_table(p->d->state)->slip, histogram_jobs,
	              NULL);
}

static void put_oldest(struct prom *p)
{
	EACH_QUEUE(p, q, c)
	put(p,
	    c->found.oldest == NO_TIME || c->found.oldest > p->now
	        ? 0
	        : (double)(p->now - c->found.oldest),
	    "queue", queue_name(p, q), NULL);
}

static void put_overdue(struct prom *p)
{
	EACH_QUEUE(p, q, c)
	put(p, (double)c->found.overdue.n, "queue", queue_name(p, q), NULL);
}

static void put_idle_gpus(struct prom *p)
{
	EACH_QUEUE(p, q, c)
	put(p, (double)c->idle_gpus, "queue", queue_name(p, q), NULL);
}

static void put_crons(struct prom *p)
{
	const struct cron_entry *e = state_first_cron(p->d->state);
	uint64_t paused = 0, blocked = 0, active = 0;

	for (; e; e = e->next)
		*(e->paused ? &paused : e->blocked ? &blocked : &active) += 1;
	put(p, (double)active, "state", "active", NULL);
	put(p, (double)paused, "state", "paused", NULL);
	put(p, (double)blocked, "state", "blocked", NULL);
}

static void put_cron_runs(struct prom *p)
{
	put(p, (double)state_cron_table(p->d->state)->runs, NULL);
}

static void put_cron_skips(struct prom *p)
{
	static const char *const why[CRON_SKIPS] = { "overlap", "late",
		                                     "missed", "refused",
		                                     "limit" };

	for (int i = 0; i < CRON_SKIPS; i++)
		put(p, (double)state_cron_table(p->d->state)->skips[i], "why",
		    why[i], NULL);
}

static void put_open(struct prom *p)
{
	EACH_QUEUE(p, q, c)
	put(p, state_queue_open(p->d->state, q), "queue", queue_name(p, q),
	    NULL);
}

/* Returns the resource that a metric's name contains, as
 * in aisched_queue_quota_cpus. */
static int resource_of(const char *name)
{
	return strstr(name, "_cpus")   ? RES_CPU
	       : strstr(name, "_gpus") ? RES_GPU
	                               : RES_MEM;
}

static const int64_t *amounts_of(const struct prom *p, uint32_t q)
{
	const struct conf_queue *conf = &p->d->conf->queues[q];

	if (strstr(p->name, "_quota_"))
		return conf->quota;
	if (strstr(p->name, "_limit_"))
		return conf->limit;
	if (strstr(p->name, "_fair_share_"))
		return state_queue_share(p->d->state, q);
	if (strstr(p->name, "_pending_"))
		return p->pending[q];
	return p->held[q];
}

static void put_amount(struct prom *p)
{
	int r = resource_of(p->name);

	EACH_QUEUE(p, q, c)
	{
		const int64_t *amount = amounts_of(p, q);

		if (amount && amount[r] != CONF_NONE)
			put(p, in_unit(r, (double)amount[r]), "queue",
			    queue_name(p, q), NULL);
	}
}

/* --- resources that jobs have held -------------------------------------- */

static int by_labels(const void *a, const void *b)
{
	const struct held_sum *x = a, *y = b;

	if (x->queue != y->queue)
		return x->queue < y->queue ? -1 : 1;
	if (x->pool != y->pool)
		return x->pool < y->pool ? -1 : 1;
	return strcmp(x->gpu_type, y->gpu_type);
}

static void collect_held(struct prom *p)
{
	const struct count_table *t = state_count_table(p->d->state);

	p->held_sum = xcalloc(t->nheld + 1, sizeof(*p->held_sum));
	for (size_t i = 0; i < t->nheld; i++) {
		const struct held_counts *h = t->held[i];
		struct held_sum *sum = &p->held_sum[p->nheld_sums];

		if (h->queue == COUNTS_GONE)
			continue;
		p->nheld_sums++;
		sum->queue = p->shown[h->queue];
		sum->pool = h->pool;
		sum->gpu_type = h->gpu_type ? h->gpu_type : "";
		for (int r = 0; r < RES_N; r++)
			sum->s[SUM_CPU + r] =
			    in_unit(r, held_until(h, r, p->now_ms));
		sum->s[SUM_CPU_USED] = h->cpu_used_s;
		sum->s[SUM_GPU_BUSY] = h->gpu_busy_s;
		sum->s[SUM_GPU_KNOWN] = h->gpu_known_s;
		sum->s[SUM_GPU_EVICTED] = h->gpu_evicted_s;
		/* the rate is in millionths of the currency per hour */
		sum->s[SUM_COST] = held_until(h, RATE_COST, p->now_ms) / 3.6e9;
	}
	qsort(p->held_sum, p->nheld_sums, sizeof(*p->held_sum), by_labels);
}

/* Print one sum for each queue and pool and, if by_type is set, each type of
 * GPU: entries of held_sum with equal labels are added up. */
static void put_held(struct prom *p, enum sum_kind which, bool by_type)
{
	const struct held_sum *h = p->held_sum, *end = h + p->nheld_sums;

	while (h < end) {
		const struct held_sum *first = h;
		double sum = 0, known = 0;

		for (; h < end && h->queue == first->queue &&
		       h->pool == first->pool &&
		       (!by_type || !strcmp(h->gpu_type, first->gpu_type));
		     h++) {
			sum += h->s[which];
			known += h->s[SUM_GPU_KNOWN];
		}
		if ((by_type && !*first->gpu_type) ||
		    (which == SUM_GPU_BUSY && known <= 0))
			continue;
		put(p, sum, "queue", queue_name(p, first->queue), "pool",
		    p->d->conf->pools[first->pool].name,
		    by_type ? "gpu_type" : NULL, first->gpu_type, NULL);
	}
}

static void put_held_cpu(struct prom *p)
{
	put_held(p, SUM_CPU, false);
}

static void put_held_mem(struct prom *p)
{
	put_held(p, SUM_MEM, false);
}

static void put_held_gpu(struct prom *p)
{
	put_held(p, SUM_GPU, true);
}

static void put_cpu_used(struct prom *p)
{
	put_held(p, SUM_CPU_USED, false);
}

static void put_gpu_busy(struct prom *p)
{
	put_held(p, SUM_GPU_BUSY, true);
}

static void put_gpu_evicted(struct prom *p)
{
	put_held(p, SUM_GPU_EVICTED, true);
}

static void put_cost(struct prom *p)
{
	const struct held_sum *h = p->held_sum, *end = h + p->nheld_sums;

	while (h < end) {
		uint32_t queue = h->queue;
		double sum = 0;

		for (; h < end && h->queue == queue; h++)
			sum += h->s[SUM_COST];
		put(p, sum, "queue", queue_name(p, queue), "currency",
		    p->d->conf->accounting.currency, NULL);
	}
}

/* --- users -------------------------------------------------------------- */

/* Print a sample for each of the users who hold the most GPUs or have the most
 * pending jobs, at most metrics_users of them, and one with the label "other"
 * for the sum of all other users. A user named "other" gets no sample of their
 * own. */
static void put_users(struct prom *p, bool gpus)
{
	int64_t named = p->d->conf->metrics_users;
	double others = 0;

	if (!named)
		return;
	user_sums_sort(p->user, p->nusers, gpus);
	for (size_t i = 0; i < p->nusers; i++) {
		const struct user_sum *u = &p->user[i];
		double value = gpus ? in_unit(RES_GPU, (double)u->gpus)
		                    : (double)u->pending;

		if (named && value > 0 && strcmp(u->name, "other") != 0) {
			put(p, value, "user", u->name, NULL);
			named--;
		} else {
			others += value;
		}
	}
	put(p, others, "user", "other", NULL);
}

static void put_user_gpus(struct prom *p)
{
	put_users(p, true);
}

static void put_user_pending(struct prom *p)
{
	put_users(p, false);
}

/* --- pools -------------------------------------------------------------- */

static const char *pool_name(const struct prom *p, uint32_t pool)
{
	return p->d->conf->pools[pool].name;
}

static struct pool_parts *parts_of(struct prom *p, uint32_t pool,
                                   const char *gpu_type)
{
	struct pool_parts *parts;

	for (size_t i = 0; i < p->nparts; i++) {
		const char *type = p->parts[i].gpu_type;

		if (p->parts[i].pool == pool &&
		    (gpu_type && type ? !strcmp(type, gpu_type)
		                      : type == gpu_type))
			return &p->parts[i];
	}
	p->parts = GROW(p->parts, p->nparts, &p->parts_cap);
	parts = &p->parts[p->nparts++];
	*parts = (struct pool_parts){ .pool = pool, .gpu_type = gpu_type };
	return parts;
}

/* Returns the state of those resources of a node that are held by no job. */
static enum part rest_of(const struct prom *p, uint32_t i)
{
	const struct node *node = state_node(p->d->state, i);

	if (node->gone || node->down)
		return PART_DOWN;
	if (node->drained || node->cordoned)
		return PART_DRAINED;
	return state_node_reserved(p->d->state, i, p->now) ? PART_RESERVED
	                                                   : PART_IDLE;
}

static void add_node(struct prom *p, uint32_t i, const struct node_left *left)
{
	const struct node *node = state_node(p->d->state, i);
	const int64_t total[RES_N] = { [RES_CPU] = node->cpu_milli,
		                       [RES_MEM] = node->mem_mib,
		                       [RES_GPU] = 1000ll * node->ngpus };
	const int64_t others[RES_N] = { [RES_CPU] = node->cpu_others,
		                        [RES_MEM] = node->mem_others,
		                        [RES_GPU] = node->gpu_others };
	enum part rest = rest_of(p, i);
	struct pool_parts *parts = parts_of(p, node->pool, NULL);

	parts->nodes[left->jobs && rest != PART_DOWN && rest != PART_DRAINED
	                 ? PART_ALLOCATED
	                 : rest]++;
	if (rest == PART_IDLE && left->free[RES_CPU] < 1000)
		parts->stranded += left->free[RES_GPU];
	for (int r = 0; r < RES_N; r++) {
		if (r == RES_GPU && !total[r])
			continue;
		if (r == RES_GPU)
			parts = parts_of(p, node->pool,
			                 node->gpu_type ? node->gpu_type : "");
		parts->part[PART_ALLOCATED][r] +=
		    total[r] - others[r] - left->free[r];
		parts->part[PART_OTHERS][r] += others[r];
		parts->part[rest][r] += left->free[r];
	}
}

static void collect_pools(struct prom *p)
{
	size_t n = state_nnodes(p->d->state);
	struct node_left *left = xcalloc(n + 1, sizeof(*left));

	for (uint32_t i = 0; i < p->d->conf->npools; i++)
		parts_of(p, i, NULL);
	state_nodes_left(p->d->state, left);
	for (uint32_t i = 0; i < n; i++)
		if (!state_node(p->d->state, i)->gone || left[i].jobs)
			add_node(p, i, &left[i]);
	free(left);
}

static void put_parts(struct prom *p, int r)
{
	for (size_t i = 0; i < p->nparts; i++) {
		const struct pool_parts *parts = &p->parts[i];

		if ((r == RES_GPU) != (parts->gpu_type != NULL))
			continue;
		for (int k = 0; k < POOL_PARTS; k++)
			put(p, in_unit(r, (double)parts->part[k][r]), "pool",
			    pool_name(p, parts->pool), "state", part_name[k],
			    r == RES_GPU ? "gpu_type" : NULL, parts->gpu_type,
			    NULL);
	}
}

static void put_pool_cpus(struct prom *p)
{
	put_parts(p, RES_CPU);
}

static void put_pool_memory(struct prom *p)
{
	put_parts(p, RES_MEM);
}

static void put_pool_gpus(struct prom *p)
{
	put_parts(p, RES_GPU);
}

static void put_stranded(struct prom *p)
{
	for (size_t i = 0; i < p->nparts; i++)
		if (!p->parts[i].gpu_type)
			put(p, in_unit(RES_GPU, (double)p->parts[i].stranded),
			    "pool", pool_name(p, p->parts[i].pool), NULL);
}

/* Print the nodes by state. A node as a whole is never in the
 * state "others". */
static void put_nodes(struct prom *p)
{
	for (size_t i = 0; i < p->nparts; i++)
		for (int k = 0; k < POOL_PARTS && !p->parts[i].gpu_type; k++)
			if (k != PART_OTHERS)
				put(p, (double)p->parts[i].nodes[k], "pool",
				    pool_name(p, p->parts[i].pool), "state",
				    part_name[k], NULL);
}

static void put_start_failures(struct prom *p)
{
	static const char *const fault[FAULT_KINDS] = {
		[FAULT_SYSTEM] = "system",
		[FAULT_USER] = "user",
		[FAULT_POOL] = "pool",
		[FAULT_REFUSED] = "refused",
	};
	const struct count_table *t = state_count_table(p->d->state);

	for (uint32_t i = 0; i < p->d->conf->npools; i++)
		for (int k = 0; k < FAULT_KINDS; k++)
			put(p, (double)t->start_failures[i][k], "pool",
			    pool_name(p, i), "fault", fault[k], NULL);
}

static void put_runner_up(struct prom *p)
{
	for (uint32_t i = 0; i < p->d->conf->npools; i++)
		put(p,
		    state_pool_is_ready(p->d->state, i) &&
		        !state_pool_has_trouble(p->d->state, i),
		    "pool", pool_name(p, i), NULL);
}

/* --- API calls to clusters ---------------------------------------------- */

/* Get the counts of calls to the pool's server. Returns false if the pool's
 * runner calls none. */
static bool calls_of(const struct prom *p, uint32_t pool, struct run_calls *ret)
{
	struct runner *r = pool < p->d->npools ? p->d->pool[pool].runner : NULL;

	*ret = (struct run_calls){ .silent_ms = -1 };
	if (!r || !r->ops->calls)
		return false;
	r->ops->calls(r, ret);
	return true;
}

static void put_kube_requests(struct prom *p)
{
	static const char *const verb[CALL_VERBS] = { "GET", "POST", "PUT",
		                                      "PATCH", "DELETE" };
	static const char *const code[CALL_CLASSES] = { "none", "1xx", "2xx",
		                                        "3xx",  "4xx", "5xx" };
	struct run_calls calls;

	for (uint32_t i = 0; i < p->d->conf->npools; i++)
		for (int v = 0; calls_of(p, i, &calls) && v < CALL_VERBS; v++)
			for (int c = 0; c < CALL_CLASSES; c++)
				if (calls.n[v][c])
					put(p, (double)calls.n[v][c], "pool",
					    pool_name(p, i), "verb", verb[v],
					    "code", code[c], NULL);
}

static void put_kube_age(struct prom *p)
{
	struct run_calls calls;

	for (uint32_t i = 0; i < p->d->conf->npools; i++)
		if (calls_of(p, i, &calls) && calls.silent_ms >= 0)
			put(p, (double)calls.silent_ms / 1e3, "pool",
			    pool_name(p, i), NULL);
}

/* --- the table ---------------------------------------------------------- */

/* ONE(name, value): defines the function that prints a metric with one number.
 * value is an expression that may use d and store. */
#define ONE(name, value)                                     \
	static void put_##name(struct prom *p)               \
	{                                                    \
		const struct daemon *d = p->d;               \
		const struct store_stats *store = &p->store; \
                                                             \
		(void)d;                                     \
		(void)store;                                 \
		put(p, (double)(value), NULL);               \
	}

/* clang-format off */

ONE(started_at,  d->started)
ONE(passes,      d->stats.passes)
ONE(turns,       d->turns)
ONE(rows,        d->stats.rows)
ONE(writable,    !d->full)
ONE(reloaded,    !d->reload_failed)
ONE(reloaded_at, d->reloaded)
ONE(folded,      p->folded)

#define QUEUE_AMOUNT(M, what, help) \
M("aisched_queue_" what "_cpus",         gauge, amount, "CPUs: " help) \
M("aisched_queue_" what "_gpus",         gauge, amount, "GPUs: " help) \
M("aisched_queue_" what "_memory_bytes", gauge, amount, "memory: " help)

#define FAMILIES(M) \
M("aisched_build_info", gauge, build, "always 1; the labels say which version runs") \
M("process_cpu_seconds_total", counter, cpu, "CPU time of the daemon") \
M("process_resident_memory_bytes", gauge, memory, "memory of the daemon") \
M("process_start_time_seconds", gauge, started_at, "when the daemon started") \
M("process_open_fds", gauge, fds, "descriptors that are open") \
M("process_max_fds", gauge, fds_most, "descriptors that may be open") \
M("aisched_turn_duration_seconds", histogram, turn, "turns of the daemon's loop, without the time spent waiting") \
M("aisched_pass_duration_seconds", histogram, pass, "passes of the scheduler") \
M("aisched_commit_duration_seconds", histogram, commit, "transactions of the database") \
M("aisched_turns_total", counter, turns, "turns of the daemon's loop") \
M("aisched_passes_total", counter, passes, "passes of the scheduler") \
M("aisched_pass_rows", gauge, rows, "rows of pending jobs that the last pass looked at") \
M("aisched_store_bytes", gauge, store, "size of the database, of its write-ahead log, and of kept output") \
M("aisched_store_writable", gauge, writable, "0 if the disk is full or the database was removed: no job is accepted or started") \
M("aisched_config_last_reload_successful", gauge, reloaded, "0 if the last reload was refused") \
M("aisched_config_last_reload_success_timestamp_seconds", gauge, reloaded_at, "when the configuration in force was read") \
M("aisched_archive_last_timestamp_seconds", gauge, archived, "when ended jobs were archived last") \
M("aisched_web_sessions", gauge, web_sessions, "log-ins to the page that hold") \
M("aisched_web_requests_total", counter, web_requests, "requests to the page and to /metrics, by the status of the answer") \
M("aisched_connections", gauge, connections, "open connections") \
M("aisched_requests_total", counter, requests, "requests; failed: the peer left before the answer") \
M("aisched_authentication_failures_total", counter, auth_failures, "credentials that were refused") \
M("aisched_jobs", gauge, jobs, "jobs that have not ended; each task of an array is one") \
M("aisched_jobs_waiting", gauge, waiting, "pending jobs, by the reason that the last pass gave") \
M("aisched_jobs_submitted_total", counter, submitted, "jobs that were submitted") \
M("aisched_jobs_started_total", counter, started, "starts of jobs") \
M("aisched_jobs_backfilled_total", counter, backfilled, "starts of jobs while one before them waited for a promised start in that pool") \
M("aisched_jobs_ended_total", counter, ended, "jobs that have ended") \
M("aisched_jobs_requeued_total", counter, requeued, "jobs requeued after a start, without evictions") \
M("aisched_evictions_total", counter, evictions, "evictions of jobs from all or some of their nodes") \
M("aisched_start_failures_total", counter, start_failures, "starts that failed, by whose fault it is") \
M("aisched_job_wait_seconds", histogram, wait, "from eligible to the first start") \
M("aisched_job_run_seconds", histogram, run, "run time of jobs that have ended, all attempts") \
M("aisched_promise_slip_seconds", histogram, slip, "start less promised start; an earlier start counts as 0") \
M("aisched_oldest_wait_seconds", gauge, oldest, "how long the longest waiting job has been eligible") \
M("aisched_overdue_jobs", gauge, overdue, "pending jobs that have waited longer than max_wait or hold_after") \
M("aisched_idle_gpu_jobs", gauge, idle_gpus, "running jobs whose GPUs have been idle for as long as idle_gpu of the queue") \
M("aisched_queue_open", gauge, open, "whether the queue takes jobs") \
QUEUE_AMOUNT(M, "quota", "quota of the queue") \
QUEUE_AMOUNT(M, "limit", "limit of the queue") \
QUEUE_AMOUNT(M, "fair_share", "fair share of the queue in the last pass") \
QUEUE_AMOUNT(M, "allocated", "held by jobs of the queue and of those below it") \
QUEUE_AMOUNT(M, "pending", "asked for by jobs that could start, of the queue and of those below it") \
M("aisched_cpu_allocated_seconds_total", counter, held_cpu, "CPU time that jobs held") \
M("aisched_cpu_used_seconds_total", counter, cpu_used, "CPU time used by attempts that have ended") \
M("aisched_memory_allocated_byte_seconds_total", counter, held_mem, "memory that jobs held, times seconds") \
M("aisched_gpu_allocated_seconds_total", counter, held_gpu, "GPU time that jobs held") \
M("aisched_gpu_busy_seconds_total", counter, gpu_busy, "GPU time in which devices of attempts that have ended were busy, as far as it is known") \
M("aisched_gpu_evicted_seconds_total", counter, gpu_evicted, "GPU time held by attempts that were evicted, lost their node, or whose jobs an operator requeued") \
M("aisched_cost_total", counter, cost, "price of what jobs held") \
M("aisched_pool_cpus", gauge, pool_cpus, "CPUs of the nodes") \
M("aisched_pool_memory_bytes", gauge, pool_memory, "memory of the nodes") \
M("aisched_pool_gpus", gauge, pool_gpus, "GPUs of the nodes") \
M("aisched_pool_gpus_stranded", gauge, stranded, "idle GPUs on nodes without an idle CPU") \
M("aisched_nodes", gauge, nodes, "nodes; allocated if some job runs there") \
M("aisched_runner_up", gauge, runner_up, "whether the pool's runner answers") \
M("aisched_kube_requests_total", counter, kube_requests, "answers of the API server; none: no answer came") \
M("aisched_kube_watch_age_seconds", gauge, kube_age, "time since the pool's most silent watch has heard of the API server") \
M("aisched_cron_entries", gauge, crons, "entries of recurring work") \
M("aisched_cron_runs_total", counter, cron_runs, "runs of recurring work") \
M("aisched_cron_skipped_total", counter, cron_skips, "times of recurring work that had no run") \
M("aisched_mail_queue", gauge, mail_queue, "mails that have yet to be sent") \
M("aisched_mail_total", counter, mails, "mails; failed: tries that are repeated") \
M("aisched_user_gpus", gauge, user_gpus, "GPUs that jobs of the user hold; only with metrics_users") \
M("aisched_user_pending_jobs", gauge, user_pending, "pending jobs of the user; only with metrics_users") \
M("aisched_metrics_folded", gauge, folded, "1 if queues are counted in the queue above, for metrics_max_series")

#define M(name, type, get, help) { name, #type, help, put_##get },

static const struct family {
	const char *name, *type, *help;
	void (*put)(struct prom *p);
} families[] = { FAMILIES(M) };

/* clang-format on */

/* --- collecting and printing -------------------------------------------- */

static uint32_t depth_of(const struct conf *conf, uint32_t queue)
{
	uint32_t depth = 0;

	for (int q = conf->queues[queue].parent; q >= 0;
	     q = conf->queues[q].parent)
		depth++;
	return depth;
}

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* Returns an upper bound of the number of series if nqueues queues are shown.
 * nwaiting: result of count_waiting(). */
static int64_t series_with(const struct prom *p, int64_t nqueues,
                           int64_t nwaiting)
{
	const struct conf *conf = p->d->conf;
	int64_t npools = (int64_t)conf->npools, nparts = (int64_t)p->nparts;
	int64_t nheld = (int64_t)state_count_table(p->d->state)->nheld;

	return SERIES_OF_ALL + 2 * (conf->metrics_users + 1) +
	       npools * SERIES_OF_POOL + (nparts - npools) * SERIES_OF_TYPE +
	       nqueues * SERIES_OF_QUEUE +
	       least(nwaiting, nqueues * (WHY_NREASONS - 1)) +
	       least(nheld, nqueues * nparts) * SERIES_OF_HELD;
}

/* Returns for how many pairs of a queue and a reason there are pending jobs. */
static int64_t count_waiting(const struct prom *p)
{
	int64_t n = 0;

	for (uint32_t q = 0; q < p->d->conf->nqueues; q++) {
		const struct queue_counts *c =
		    state_queue_counts(p->d->state, q);

		for (int why = WHY_None + 1; why < WHY_NREASONS; why++)
			n += c->aside[why] + c->found.judged[why] > 0;
	}
	return n;
}

/* Decide which queues are shown: level by level, as deep as metrics_max_series
 * allows, but always those at the top. */
static void fold_queues(struct prom *p)
{
	const struct conf *conf = p->d->conf;
	size_t n = conf->nqueues, *level = xcalloc(n + 1, sizeof(*level));
	int64_t nwaiting = count_waiting(p);
	uint32_t deepest = 0;

	for (uint32_t q = 0; q < n; q++)
		level[depth_of(conf, q)]++;
	for (int64_t sum = (int64_t)level[0]; deepest + 1 < n; deepest++) {
		sum += (int64_t)level[deepest + 1];
		if (series_with(p, sum, nwaiting) > conf->metrics_max_series)
			break;
	}
	for (uint32_t q = 0; q < n; q++) {
		p->shown[q] = q;
		while (depth_of(conf, p->shown[q]) > deepest)
			p->shown[q] =
			    (uint32_t)conf->queues[p->shown[q]].parent;
		p->folded |= p->shown[q] != q;
	}
	free(level);
}

static void add_counts(struct queue_counts *to, const struct queue_counts *c,
                       int64_t now)
{
	for (int i = 0; i < JOB_NSTATES; i++) {
		to->jobs[i] += c->jobs[i];
		to->ended[i] += c->ended[i];
	}
	for (int i = 0; i < WHY_NREASONS; i++) {
		to->aside[i] += c->aside[i];
		to->found.judged[i] += c->found.judged[i];
	}
	for (int i = 0; i < REQUEUE_KINDS; i++)
		to->requeued[i] += c->requeued[i];
	for (int i = 0; i < EVICT_KINDS; i++)
		to->evicted[i] += c->evicted[i];
	to->submitted += c->submitted;
	to->started += c->started;
	to->backfilled += c->backfilled;
	to->found.overdue.n += counts_overdue(c, now);
	to->idle_gpus += c->idle_gpus;
	histogram_merge(&to->wait, &c->wait);
	histogram_merge(&to->run, &c->run);
	if (c->found.oldest != NO_TIME &&
	    (to->found.oldest == NO_TIME || c->found.oldest < to->found.oldest))
		to->found.oldest = c->found.oldest;
}

/* Add the amounts to the sums of the queue and of all queues above it. */
static void add_up(const struct conf *conf, uint32_t queue,
                   const int64_t amount[RES_N], int64_t (*sum)[RES_N])
{
	for (int q = (int)queue; q >= 0; q = conf->queues[q].parent)
		for (int r = 0; r < RES_N; r++)
			sum[q][r] += amount[r];
}

static void collect_queues(struct prom *p)
{
	const struct conf *conf = p->d->conf;
	const struct count_table *t = state_count_table(p->d->state);

	for (uint32_t q = 0; q < conf->nqueues; q++)
		p->queue[q].found.oldest = NO_TIME;
	for (uint32_t q = 0; q < conf->nqueues; q++) {
		const struct queue_counts *c =
		    state_queue_counts(p->d->state, q);

		add_counts(&p->queue[p->shown[q]], c, p->now);
		add_up(conf, q, c->found.pending, p->pending);
	}
	for (size_t i = 0; i < t->nheld; i++)
		if (t->held[i]->queue != COUNTS_GONE)
			add_up(conf, t->held[i]->queue, t->held[i]->rate,
			       p->held);
}

void prometheus_text(struct daemon *d, struct buf *out)
{
	size_t n = d->conf->nqueues;
	struct prom p = {
		.d = d,
		.out = out,
		.now = clock_wall_s(),
		.now_ms = clock_wall_us() / 1000,
		.queue = xcalloc(n, sizeof(*p.queue)),
		.shown = xcalloc(n, sizeof(*p.shown)),
		.pending = xcalloc(n, sizeof(*p.pending)),
		.held = xcalloc(n, sizeof(*p.held)),
	};

	store_stats(d->store, &p.store);
	p.logs = log_size(d);
	if (d->conf->metrics_users)
		p.nusers = user_sums(d->state, &p.user);
	collect_pools(&p);
	fold_queues(&p);
	collect_queues(&p);
	collect_held(&p);
	for (size_t i = 0; i < ARRAY_SIZE(families); i++) {
		p.name = families[i].name;
		buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", p.name,
		           families[i].help, p.name, families[i].type);
		families[i].put(&p);
	}
	free(p.queue);
	free(p.shown);
	free(p.pending);
	free(p.held);
	free(p.held_sum);
	free(p.parts);
	free(p.user);
}

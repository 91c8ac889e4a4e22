/*
 * test_soak.c - carry out plan after plan, until no job is evicted any longer
 *
 * Clusters, queues and jobs are random. Each plan is checked and carried out;
 * the result is written as a snapshot for the next plan. Evicted jobs end at
 * once or some rounds later, and claims are kept. Once no jobs arrive or end
 * any longer, plans must settle: in the end no job is evicted, each job with a
 * claim has started, and no claim was given up before.
 */
#include <stdio.h>
#include <string.h>

#include "aischedd/sched/check/plan_check.h"
#include "aischedd/sched/text/text.h"
#include "tests/unit/check.h"
#include "tests/unit/dice.h"

enum {
#ifdef __SANITIZE_ADDRESS__
	WORLDS = 128, /* sanitizers are ten times as slow */
#else
	WORLDS = 640,
#endif
	BUSY_ROUNDS = 14,
	REST_ROUNDS = 40,
	/* rounds at the end, in which no job may be evicted */
	QUIET_ROUNDS = 4,
	TWICE_WORLDS = 400,
	/* in TWICE_WORLDS clusters together, at most this many jobs may be
	 * evicted in the second of their start */
	TWICE_MOST = 80,
	JOBS_MAX = 160,
	TASKS_MAX = 16,
	NODES_MAX = 6,
	QUEUES_MAX = 7
};

enum phase { WAITS, RUNS, ENDS, IS_FROZEN, IS_OVER };

struct place_of {
	char text[128]; /* its node and devices, as in "on=" */
	bool leaves;
};

struct soak_job {
	enum phase phase;
	uint32_t batch; /* jobs of a batch are equal */
	int64_t since, start, served;
	int64_t resumed, ran; /* resumed: when it last started or resumed; ran:
	                         how long it ran before that */
	/* leave_in: rounds until the evicted job ends; evicted: how often it
	 * was evicted */
	uint32_t leave_in, evicted;
	struct place_of task[TASKS_MAX];
	uint32_t ntasks;
	uint32_t claim[TASKS_MAX], nclaims;
	bool gains; /* this plan starts it or adds tasks to it */
};

struct batch {
	struct buf shape; /* its request and queue, as in a snapshot */
	bool preemptible, freezable;
	int64_t lasts; /* how long its jobs run; 0: forever */
	/* seconds that its jobs had been served before they arrived */
	int64_t served;
};

struct soak {
	struct dice d;
	struct buf base; /* policy, queues, nodes */
	char leaf[QUEUES_MAX][8];
	uint32_t nleaves, nnodes, max_delay;
	int64_t now, cooldown;
	/* the time since which no job arrives or ends; 0: not yet */
	int64_t rest;
	bool time_passes; /* the clock advances after rest, too */
	bool parts;       /* GPUs have partitions */
	/* half of the jobs prefer some nodes; a third of all jobs are spread;
	 * half of the jobs request disk space */
	bool prefers, spreads, fills_disks;
	bool shuns;   /* half of the jobs shun some nodes */
	bool devices; /* most jobs ask for devices other than GPUs */
	bool places;  /* and say where these must be */
	bool arrays;  /* half of the jobs are tasks of two arrays */
	struct batch batch[JOBS_MAX];
	uint32_t nbatches;
	struct soak_job job[JOBS_MAX]; /* their ids are 1, 2, ... */
	uint32_t njobs;
	/* the job of each running entry of the snapshot */
	uint32_t run[2 * JOBS_MAX], nruns;
	/* how many jobs were evicted in the second of their start */
	uint32_t undone;
	struct buf text;
};

/* --- the world --------------------------------------------------------- */

static void add_queues(struct soak *w)
{
	uint32_t n = 1 + roll(&w->d, QUEUES_MAX - 1), parent[QUEUES_MAX];
	bool is_parent[QUEUES_MAX] = { false };

	for (uint32_t q = 0; q < n; q++) {
		parent[q] = q && roll(&w->d, 2) ? roll(&w->d, q) : n;
		if (parent[q] < n)
			is_parent[parent[q]] = true;
	}
	for (uint32_t q = 0; q < n; q++) {
		buf_printf(&w->base, "queue q%u", (unsigned)q);
		if (parent[q] < n)
			buf_printf(&w->base, " parent=q%u",
			           (unsigned)parent[q]);
		dice_puts(
		    &w->d, &w->base, "%s%s%s%s%s\n",
		    ANY("", " quota=gpus:0", " quota=gpus:2",
		        " quota=gpus:4,cpus:8", " quota=cpus:4",
		        " quota=cpus:10,mem:16G,gpus:1"),
		    ANY("", "", "", " limit=gpus:4", " limit=cpus:6",
		        " limit=mem:16G"),
		    ANY("", "", " weight=3", " weight=0"),
		    ANY("", "", " priority=1"),
		    ANY("", "", "", "", " max_jobs=4", " max_gpus_user=3"));
		if (!is_parent[q])
			snprintf(w->leaf[w->nleaves++], sizeof(w->leaf[0]),
			         "q%u", (unsigned)q);
	}
}

/* Returns a list of devices of a node. */
static const char *const *devices_of(const struct soak *w)
{
	static const char *const parts[] = {
		" gpus=2 mig=h100-80",
		" gpus=1 mig=a30",
		" gpus=1 mig=a100-80",
		" gpus=2",
		" gpus=2 parts=4g.40gb@0/3g.40gb@4,-",
		" gpus=1 parts=1g.10gb@0/1g.10gb@6/2g.20gb@4!",
		" gpus=2 mig=h100-80 parts=7g.80gb@0,-",
		" gpus=3 mig=h100-80 parts=@4!/@5!,whole,split",
		" gpus=1 mig=a30 parts=split/@0!",
		" gpus=2 gpu_mem=40G",
		" gpus=1 gpu_mem=80G",
		NULL
	};
	static const char *const places[] = {
		"",
		" gpus=2 gpu_root=1,2",
		" gpus=4 gpu_root=1*2,2*2",
		" gpus=4 gpu_type=x*2,y*2 gpu_root=1,2,3,2",
		" gpus=4 gpu_link=0*2,1*2 gpu_root=1,2,1,2",
		" gpus=4 gpu_numa=0*2,1*2 gpu_link=0*2,1*2 "
		"gpu_root=1*2,2*2",
		NULL
	};
	static const char *const others[] = {
		"",
		" gpus=2",
		" gpus=4",
		" gpus=4 gpu_type=x*2,y*2",
		" gpus=4 gpu_numa=0*2,1*2 gpu_link=0*2,1*2",
		NULL
	};

	return w->parts ? parts : w->places ? places : others;
}

/* Lists of particular devices of a node. Its GPUs have the roots that
 * devices_of() gives them. */
static const char *const pieces[] = {
	" devices=a:3,b:1 pieces=a@1/0,a@2/0,a@2/0,b@1/0",
	" devices=a:2,b:2 pieces=a@1/0,b@1/-,a@3/0,b@2/0",
	" devices=a:4,b:1 pieces=a@1/0,a@1/0,a@0/-,a@2/0",
	" devices=a:2",
	"",
	NULL
};

static void add_nodes(struct soak *w)
{
	w->nnodes = 1 + roll(&w->d, NODES_MAX);
	buf_puts(&w->base, "level rack\ndomain r0 level=rack\n"
	                   "domain r1 level=rack\nlicense lic total=2\n");
	for (uint32_t i = 0; i < w->nnodes; i++) {
		const char *feature = !w->prefers ? ""
		                      : i % 2     ? " features=f"
		                      : i % 4     ? " taints=s:PreferNoSchedule"
		                      : i % 8     ? " weight=2"
		                                  : "";

		buf_printf(&w->base, "node n%u domain=r%u", (unsigned)i,
		           (unsigned)i % 2);
		dice_puts(&w->d, &w->base, " cpus=%s mem=%s%s%s%s%s\n",
		          ANY("4", "8", "8 threads=8",
		              "6 threads=6 numa=0*3,1*3",
		              "8 threads=8 numa=0*4,1*4 numa_mem=4G,4G"),
		          ANY("8G", "64G"), ANY(feature), devices_of(w),
		          ANY(w->fills_disks && i % 3 != 2 ? " tmp=8G" : ""),
		          !w->devices ? ANY("")
		          : w->places ? pieces
		          : i % 3     ? ANY(" devices=a:4,b:1")
		                      : ANY(" devices=a:2"));
	}
}

static const char *const *gpus_of(const struct soak *w)
{
	static const char *const parts[] = { "0",
		                             "1",
		                             "0.5",
		                             "2",
		                             "0.5 profile=3g.40gb",
		                             "0.5 profile=4g.40gb",
		                             "0.125 profile=1g.10gb",
		                             "0.125 profile=1g.10gb",
		                             "0.25 profile=2g.20gb",
		                             "0.25 profile=1g.6gb",
		                             "0.5 profile=2g.12gb",
		                             "1 profile=7g.80gb",
		                             "0.5 gpu_mem=20G",
		                             "0.25 gpu_mem=10G",
		                             "0.999 gpu_mem=60G",
		                             "1 gpu_mem=60G",
		                             NULL };
	static const char *const others[] = { "0",   "0",   "1", "1", "2",
		                              "0.5", "0.3", "4", NULL };

	return w->parts ? parts : others;
}

/* Returns one more key of a job's request, or "". A job that requests a
 * partition of a GPU may not name a GPU type. */
static const char *rest_of(struct soak *w)
{
	struct dice *d = &w->d;

	return w->parts
	           ? PICK(d, "", "", "", "", "", " exclusive", " licenses=lic",
	                  " tasks_per_node=1", " need=rack", " like=rack")
	           : PICK(d, "", "", "", "", "", "", " exclusive",
	                  " licenses=lic", " tasks_per_node=1", " gpu_type=x",
	                  " need=rack", " like=rack");
}

static void add_batch(struct soak *w)
{
	struct batch *b = &w->batch[w->nbatches];
	struct dice *d = &w->d;
	struct buf rest = { 0 };

	b->preemptible = roll(d, 6);
	b->freezable = !roll(d, 3);
	b->lasts = roll(d, 3) ? 0 : 60 + 60 * roll(d, 8);
	b->served = roll(d, 2) ? 0 : 300 + 30000 * roll(d, 2);
	dice_puts(d, &rest, " user=%s priority=%s cpus=%s mem=%s gpus=%s%s%s",
	          ANY("u", "v"), ANY("0", "0", "5", "10"),
	          ANY("1", "2", "0.5", "4", "0", "1.5"), ANY("0", "1G", "6G"),
	          gpus_of(w),
	          ANY("", "", "", "", " numa=strict", " numa=tight",
	              " numa=prefer", " links=strict", " links=any",
	              " numa=strict links=strict"),
	          ANY(b->lasts && roll(d, 2) ? " time=600" : ""));
	buf_printf(&b->shape, " queue=%s%s", w->leaf[roll(d, w->nleaves)],
	           rest.data);
	buf_free(&rest);
	if (w->arrays)
		buf_puts(&b->shape, PICK(d, "", "", " array=a", " array=b"));
	if (w->fills_disks)
		buf_puts(&b->shape, PICK(d, "", "", " tmp=2G", " tmp=5G"));
	if (w->devices)
		buf_puts(&b->shape,
		         w->places
		             ? PICK(d, "", " devices=a:1 near=a",
		                    " devices=a:2 near=a", " devices=a:2,b:1",
		                    " devices=a:1,b:1 near=a,b")
		             : PICK(d, "", " devices=a:1", " devices=a:2",
		                    " devices=a:3", " devices=a:1,b:1"));
	if (w->places && !strstr(b->shape.data, "gpus=0 ") &&
	    strstr(b->shape.data, " devices=a") &&
	    !strstr(b->shape.data, " near=a"))
		buf_puts(&b->shape, " pcie=a");
	if (w->prefers)
		buf_puts(&b->shape,
		         PICK(d, "", "", " prefer=f", " prefer=f,!"));
	if (w->shuns)
		buf_puts(&b->shape, PICK(d, "", " shun=n0"));
	if (w->spreads && !roll(d, 3)) {
		buf_puts(&b->shape,
		         PICK(d, " tasks=2 spread=rack", " tasks=3 spread=rack",
		              " tasks=3 spread=node",
		              " tasks=4 spread_like=rack",
		              " tasks=4 spread_like=node",
		              " tasks=4 spread=rack nodes=2 "
		              "tasks_per_node=2"));
	} else if (roll(d, 12)) {
		buf_puts(&b->shape,
		         PICK(d, "", "", "", " tasks=2", " tasks=3",
		              " tasks=4 min_tasks=1", " tasks=6 min_tasks=2"));
		buf_puts(&b->shape, rest_of(w));
	} else {
		buf_puts(&b->shape, PICK(d, " tasks=4 segment=2 need=rack",
		                         " tasks=2 segment=1 need=rack",
		                         " tasks=4 segment=2 need=rack nodes=2 "
		                         "tasks_per_node=2"));
	}
	for (uint32_t n = 1 + roll(d, 5); n && w->njobs < JOBS_MAX; n--)
		w->job[w->njobs++] = (struct soak_job){ .batch = w->nbatches,
			                                .since = w->now,
			                                .served = b->served };
	w->nbatches++;
}

static void begin(struct soak *w, uint64_t seed)
{
	struct dice *d = &w->d;

	memset(w, 0, sizeof(*w));
	*d = dice_of(seed);
	w->now = 100000;
	w->cooldown = roll(d, 3) ? 0 : 120;
	w->time_passes = roll(d, 2);
	w->parts = seed % 3 == 2;
	w->prefers = seed % 5 == 3;
	w->spreads = seed % 4 == 1;
	w->shuns = seed % 7 == 2;
	w->fills_disks = seed % 7 == 4;
	w->devices = seed % 6 == 5;
	w->places = seed % 12 == 5;
	w->arrays = seed % 5 == 1;
	w->max_delay = roll(d, 4);
	if (w->devices)
		buf_puts(&w->base, "device a\ndevice b\n");
	if (w->arrays)
		buf_puts(&w->base, "array a limit=1\narray b limit=3\n");
	dice_puts(d, &w->base, "policy age=%s%s%s%s%s\n", ANY("0", "1", "9"),
	          ANY("", "", " order=least_served", " order=least_left"),
	          ANY("", "", " backfill=no"), ANY("", "", " consolidate=no"),
	          ANY("", " hold_after=300"));
	add_queues(w);
	add_nodes(w);
}

static void finish(struct soak *w)
{
	for (uint32_t i = 0; i < w->nbatches; i++)
		buf_free(&w->batch[i].shape);
	buf_free(&w->base);
	buf_free(&w->text);
}

/* --- snapshot ---------------------------------------------------------- */

/* Returns for how many seconds a job was served. Time after w->rest does not
 * count, because otherwise jobs would take turns forever, though rarely. */
static int64_t served(const struct soak *w, const struct soak_job *job)
{
	int64_t until = w->rest ? w->rest : w->now;

	return job->ntasks && until > job->start
	           ? job->served + until - job->start
	           : job->served;
}

static void write_claim(struct soak *w, const struct soak_job *job)
{
	for (uint32_t i = 0; i < job->nclaims; i++)
		buf_printf(&w->text, "%sn%u",
		           i ? "," : " claim=", (unsigned)job->claim[i]);
}

/* Write when the job's time limit ends or, for a suspended job, how much of the
 * limit has passed. */
static void write_limit(struct soak *w, const struct soak_job *job)
{
	if (job->phase == IS_FROZEN)
		buf_printf(&w->text, " ran=%lld", (long long)job->ran);
	else
		buf_printf(&w->text, " end=%lld",
		           (long long)(job->resumed + 600 - job->ran));
}

/* Write the "run" line for those tasks of a job that stay, or, if `leaves`, for
 * those that are ending. */
static void write_part(struct soak *w, uint32_t i, bool leaves)
{
	const struct soak_job *job = &w->job[i];
	const struct batch *b = &w->batch[job->batch];
	const char *before = " on=";

	for (uint32_t t = 0; t < job->ntasks; t++) {
		if (job->task[t].leaves != leaves)
			continue;
		if (before[0] == ' ') {
			w->run[w->nruns++] = i;
			buf_printf(
			    &w->text, "run %u%s start=%lld served=%lld%s%s%s%s",
			    (unsigned)i + 1, b->shape.data,
			    (long long)job->start, (long long)served(w, job),
			    b->preemptible ? " preemptible" : "",
			    b->freezable ? " freezable" : "",
			    job->phase == IS_FROZEN ? " suspended" : "",
			    leaves ? " ending" : "");
			if (job->evicted)
				buf_printf(
				    &w->text, " safe=%lld",
				    (long long)(job->start + w->cooldown));
			if (strstr(b->shape.data, "time="))
				write_limit(w, job);
			if (leaves == (job->phase == ENDS))
				write_claim(w, job);
		}
		buf_printf(&w->text, "%s%s", before, job->task[t].text);
		before = ",";
	}
	if (before[0] == ',')
		buf_addc(&w->text, '\n');
}

static void write_row(struct soak *w, uint32_t first, bool *done)
{
	const struct soak_job *job = &w->job[first];
	const struct batch *b = &w->batch[job->batch];

	buf_printf(&w->text, "pend %u", (unsigned)first + 1);
	for (uint32_t i = first + 1;
	     job->phase == WAITS && !job->nclaims && i < w->njobs; i++) {
		if (w->job[i].batch != job->batch || w->job[i].phase != WAITS ||
		    w->job[i].nclaims || w->job[i].served != job->served)
			continue;
		buf_printf(&w->text, ",%u", (unsigned)i + 1);
		done[i] = true;
	}
	buf_printf(&w->text, "%s since=%lld served=%lld%s%s", b->shape.data,
	           (long long)job->since, (long long)served(w, job),
	           b->preemptible ? "" : " nonpreemptible",
	           job->phase == IS_FROZEN ? " resumes" : "");
	if (job->phase == WAITS)
		write_claim(w, job);
	buf_addc(&w->text, '\n');
}

static void write_world(struct soak *w)
{
	bool done[JOBS_MAX] = { false };

	buf_clear(&w->text);
	w->nruns = 0;
	buf_printf(&w->text, "now %lld\n%s", (long long)w->now, w->base.data);
	for (uint32_t i = 0; i < w->njobs; i++) {
		write_part(w, i, false);
		write_part(w, i, true);
	}
	for (uint32_t i = 0; i < w->njobs; i++) {
		if (!done[i] &&
		    (w->job[i].phase == WAITS || w->job[i].phase == IS_FROZEN))
			write_row(w, i, done);
	}
}

/* --- plan -------------------------------------------------------------- */

static struct soak_job *job_of_run(struct soak *w, uint32_t run)
{
	return &w->job[w->run[run]];
}

static struct soak_job *job_of_member(struct soak *w, const struct snap *s,
                                      uint32_t member)
{
	return &w->job[s->member[member].job - 1];
}

static void add_tasks(struct soak_job *job, const struct snap *s,
                      const struct plan *plan, uint32_t first, uint32_t n)
{
	for (uint32_t i = first; i < first + n; i++) {
		const struct snap_task *t = &plan->task[i];
		char *text = job->task[job->ntasks++].text;
		struct buf b = { 0 };
		const char *before = ":g";

		buf_puts(&b, s->node.name[t->node]);
		for (uint32_t g = 0; g < 64; g++) {
			if (!(t->gpus >> g & 1))
				continue;
			buf_printf(&b, "%s%u", before, (unsigned)g);
			before = "+";
		}
		if (t->gpus && t->gpu_milli != 1000)
			buf_printf(&b, "/%u", (unsigned)t->gpu_milli);
		if (t->units)
			buf_printf(&b, ":u%d-%d", __builtin_ctz(t->units),
			           31 - __builtin_clz(t->units));
		before = ":d";
		for (uint64_t left = plan->held ? plan->held[i] : 0; left;
		     left &= left - 1, before = "+")
			buf_printf(&b, "%s%d", before, __builtin_ctzll(left));
		before = ":c";
		for (uint32_t k = t->cpu_first; k < t[1].cpu_first; k++) {
			const struct snap_cpu_use *use = &plan->cpu_use[k];

			buf_printf(&b, "%s%u", before, (unsigned)use->cpu);
			before = "+";
			if (use->milli != 1000)
				buf_printf(&b, "/%u", (unsigned)use->milli);
		}
		before = ":m";
		for (uint32_t left = t->numas; left; left &= left - 1) {
			buf_printf(&b, "%s%d", before, __builtin_ctz(left));
			before = "+";
		}
		snprintf(text, sizeof(job->task[0].text), "%s", b.data);
		job->task[job->ntasks - 1].leaves = false;
		buf_free(&b);
	}
}

static void do_evictions(struct soak *w, const struct snap *s,
                         const struct plan *plan)
{
	for (uint32_t i = 0; i < plan->nevictions; i++) {
		const struct eviction *e = &plan->eviction[i];
		struct soak_job *job = job_of_run(w, e->run);
		uint32_t n =
		    s->run.task_first[e->run + 1] - s->run.task_first[e->run];
		uint32_t at = 0;

		job->leave_in = roll(&w->d, w->max_delay + 1);
		if (e->suspend) {
			job->phase = IS_FROZEN;
			job->ran += w->now - job->resumed;
			continue;
		}
		if (e->nlosses == n) {
			job->phase = ENDS;
			job->evicted++;
			w->undone +=
			    e->why != EVICT_CONSOLIDATE && job->start == w->now;
		}
		/* A loss is the index of a task among those of the job that
		 * have not been evicted so far. */
		for (uint32_t t = 0, k = 0; t < job->ntasks; t++) {
			if (job->task[t].leaves)
				continue;
			if (k < e->nlosses &&
			    plan->loss[e->loss_first + k] == at) {
				job->task[t].leaves = true;
				k++;
			}
			at++;
		}
	}
}

static void do_starts(struct soak *w, const struct snap *s,
                      const struct plan *plan)
{
	for (uint32_t i = 0; i < w->njobs; i++)
		w->job[i].gains = false;
	for (uint32_t i = 0; i < plan->nstarts; i++) {
		const struct start *start = &plan->start[i];
		struct soak_job *job = job_of_member(w, s, start->member);

		if (s->pend.resumes[start->row] == SNAP_NONE) {
			job->start = w->now;
			job->ran = 0;
		}
		job->resumed = w->now;
		job->gains = true;
		job->ntasks = 0;
		job->phase = RUNS;
		add_tasks(job, s, plan, start->task_first, start->ntasks);
	}
	for (uint32_t i = 0; i < plan->ngrows; i++) {
		const struct grow *g = &plan->grow[i];
		struct soak_job *job = job_of_run(w, g->run);

		job->gains = true;
		add_tasks(job, s, plan, g->task_first, g->ntasks);
	}
}

/* Whether the plan starts a job of this row's array. */
static bool starts_sibling(const struct snap *s, const struct plan *plan,
                           uint32_t row)
{
	bool starts = false;

	for (uint32_t i = 0; i < plan->nstarts; i++)
		starts |=
		    s->pend.array[plan->start[i].row] == s->pend.array[row];
	return starts;
}

/* Whether the plan lets job i + 1 wait because it would be evicted at once for
 * another job, which starts, grows or has a claim; or because a task ahead of
 * it takes the last place of its array. */
static bool makes_way(const struct soak *w, const struct snap *s,
                      const struct plan *plan, uint32_t i)
{
	const struct soak_job *by;
	uint32_t row = 0;

	while (s->member[s->pend.member_first[row]].job != i + 1)
		row++;
	if (plan->verdict[row].why == WHY_ArrayLimit)
		return starts_sibling(s, plan, row);
	if (plan->verdict[row].why != WHY_Priority ||
	    plan->verdict[row].keep.whom != KEPT_ENTITLED)
		return false;
	by = &w->job[plan->verdict[row].job - 1];
	return by->nclaims || by->gains;
}

static bool holds_node(const struct soak_job *job, uint32_t node)
{
	uint32_t i = 0;

	while (i < job->nclaims && job->claim[i] != node)
		i++;
	return i < job->nclaims;
}

/* Whether this plan claims a node for another job that job i had claimed. That
 * job would have evicted job i at once, so job i may have claimed other nodes
 * instead. */
static bool is_displaced(const struct soak *w, const struct soak_job *before,
                         uint32_t i)
{
	bool displaced = false;

	for (uint32_t k = 0; k < before[i].nclaims; k++) {
		uint32_t node = before[i].claim[k];

		for (uint32_t j = 0; j < w->njobs; j++)
			displaced |= j != i && holds_node(&w->job[j], node) &&
			             !holds_node(&before[j], node);
	}
	return displaced;
}

static void do_claims(struct soak *w, const struct snap *s,
                      const struct plan *plan)
{
	struct soak_job before[JOBS_MAX];

	memcpy(before, w->job, sizeof(before));
	for (uint32_t i = 0; i < w->njobs; i++)
		w->job[i].nclaims = 0;
	for (uint32_t i = 0; i < plan->nclaims; i++) {
		const struct plan_claim *c = &plan->claim[i];
		struct soak_job *job = c->row == SNAP_NONE
		                           ? job_of_run(w, c->run)
		                           : job_of_member(w, s, c->member);

		for (uint32_t k = 0; k < c->n; k++)
			job->claim[job->nclaims++] =
			    plan->claim_node[c->node_first + k];
	}
	for (uint32_t i = 0; i < w->njobs; i++) {
		const struct soak_job *was = &before[i], *is = &w->job[i];

		check_long(is->phase != WAITS || !was->nclaims ||
		               (is->nclaims == was->nclaims &&
		                !memcmp(is->claim, was->claim,
		                        is->nclaims * sizeof(*is->claim))) ||
		               (is->nclaims && is_displaced(w, before, i)) ||
		               makes_way(w, s, plan, i),
		           w->text.data, "job %u gives up its claim",
		           (unsigned)i + 1);
	}
}

/* End a round. Evicted jobs and tasks end after `leave_in` rounds. While busy,
 * jobs also end after they have run for the time of their batch. */
static void pass_time(struct soak *w, bool busy)
{
	for (uint32_t i = 0; i < w->njobs; i++) {
		struct soak_job *job = &w->job[i];
		int64_t lasts = w->batch[job->batch].lasts;
		uint32_t n = 0;

		if (busy && job->phase == RUNS && lasts &&
		    w->now >= job->start + lasts) {
			job->phase = IS_OVER;
			job->ntasks = job->nclaims = 0;
		}
		if (job->leave_in && job->leave_in--)
			continue;
		for (uint32_t t = 0; t < job->ntasks; t++) {
			if (!job->task[t].leaves)
				job->task[n++] = job->task[t];
		}
		if (job->phase == ENDS) {
			job->served = served(w, job);
			job->phase = WAITS;
			job->since = w->now;
		}
		job->ntasks = n;
	}
}

/* Make a plan, check it and carry it out. Returns how many jobs it evicts. */
static uint32_t plan_once(struct soak *w)
{
	struct arena *arena = arena_new();
	const struct plan *plan;
	const struct snap *snap;
	uint32_t evictions;
	struct err why;

	write_world(w);
	snap = snap_read(w->text.data, arena, &why);
	check_long(snap != NULL, w->text.data, "%s", why.text);
	plan = sched_plan(snap, arena);
	check_long(plan_check(snap, plan, &why) == 0, w->text.data, "%s",
	           why.text);
	do_evictions(w, snap, plan);
	do_starts(w, snap, plan);
	do_claims(w, snap, plan);
	evictions = plan->nevictions;
	arena_free(arena);
	return evictions;
}

DICE_TEST(comes_to_rest, seed)
{
	static struct soak w;
	uint32_t evictions = 0, holders = 0;

	begin(&w, seed);
	for (int round = 0; round < BUSY_ROUNDS; round++) {
		while (roll(&w.d, 3) && w.njobs < JOBS_MAX)
			add_batch(&w);
		plan_once(&w);
		w.now += 60;
		pass_time(&w, true);
	}
	w.rest = w.now;
	for (int round = 0; round < REST_ROUNDS; round++) {
		uint32_t n = plan_once(&w);

		evictions += round >= REST_ROUNDS - QUIET_ROUNDS ? n : 0;
		if (w.time_passes || w.cooldown)
			w.now += 60;
		pass_time(&w, false);
	}
	for (uint32_t i = 0; i < w.njobs; i++)
		holders += w.job[i].nclaims > 0;
	check_long(!evictions, w.text.data, "evicts for ever");
	check_long(!holders, w.text.data, "claims for ever");
	finish(&w);
}

/* Returns how many jobs are evicted in the second in which they start, in a
 * random cluster. Each round makes two plans without any change in between. */
static uint32_t starts_undone(uint64_t seed)
{
	static struct soak w;
	uint32_t ret;

	begin(&w, seed);
	for (int round = 0; round < BUSY_ROUNDS; round++) {
		while (roll(&w.d, 3) && w.njobs < JOBS_MAX)
			add_batch(&w);
		plan_once(&w);
		plan_once(&w);
		w.now += 60;
		pass_time(&w, true);
	}
	ret = w.undone;
	finish(&w);
	return ret;
}

DICE_TEST(starts_last, seed)
{
	uint32_t n = 0;

	for (uint64_t i = 0; i < TWICE_WORLDS; i++)
		n += starts_undone(seed * TWICE_WORLDS + i);
	ck_assert_uint_le(n, TWICE_MOST);
}

SUITE(sched_soak)
{
	dice_add(tc, comes_to_rest, WORLDS);
}

SUITE(sched_starts)
{
	dice_add(tc, starts_last, 1);
}

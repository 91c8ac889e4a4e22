/*
 * room.c - check that claims fit once all evicted jobs have ended
 *
 * Check that each claim fits beside all other claims and beside the jobs that
 * start and grow now, and that no eviction could be left out.
 */
#include <stdlib.h>
#include <string.h>

#include "aischedd/sched/check/align.h"
#include "aischedd/sched/check/amounts.h"
#include "aischedd/sched/check/audit.h"
#include "aischedd/sched/check/lists.h"
#include "aischedd/sched/check/nodes.h"
#include "aischedd/sched/check/slices.h"

enum {
	TRIES = 4096,   /* most steps in packing tasks onto the devices of a
	                   node */
	VICTIMS_MAX = 8 /* if a plan has more evictions, it is not checked that
	                   all are needed */
};

/* The amounts that are free at some time. */
struct free_room {
	int64_t *cpu, *mem, *tmp, *slot; /* by node */
	int64_t *dev;                    /* by node and kind */
	int64_t *gpu, *thread;           /* by index in snap.gpu, snap.cpu */
	int64_t *numa_mem;               /* by NUMA node */
	int64_t *unbound; /* by NUMA node: its memory minus that of tasks bound
	                     to it */
	uint8_t *slices;  /* by GPU: its slices in use */
	int64_t *tasks, *sealed; /* by node: tasks; tasks of exclusive jobs */
};

static struct free_room room_copy(const struct audit *a,
                                  const struct free_room *from)
{
	const struct snap *s = a->s;
	struct check_amounts now = check_amounts_now(s, a->arena);
	struct free_room r = { .gpu = now.gpu,
		               .thread = now.thread,
		               .numa_mem = now.numa_mem,
		               .unbound = now.unbound,
		               .slices = now.slices };

	r.cpu = arena_array(a->arena, int64_t, s->node.n);
	r.mem = arena_array(a->arena, int64_t, s->node.n);
	r.tmp = arena_array(a->arena, int64_t, s->node.n);
	r.slot = arena_array(a->arena, int64_t, s->node.n);
	r.dev = check_amounts_devs(s, a->arena);
	for (uint32_t i = 0; from && i < s->node.n * s->dev.n; i++)
		r.dev[i] = from->dev[i];
	r.tasks = arena_array(a->arena, int64_t, s->node.n);
	r.sealed = arena_array(a->arena, int64_t, s->node.n);
	for (uint32_t i = 0; i < s->node.n; i++) {
		r.cpu[i] = from ? from->cpu[i] : s->node.cpu_free[i];
		r.mem[i] = from ? from->mem[i] : s->node.mem_free[i];
		r.tmp[i] = from ? from->tmp[i] : s->node.tmp_free[i];
		r.slot[i] = from ? from->slot[i] : s->node.slot_free[i];
		r.tasks[i] = from ? from->tasks[i] : 0;
		r.sealed[i] = from ? from->sealed[i] : 0;
	}
	if (!from)
		return r;
	for (uint32_t i = 0; i < s->gpu.n; i++) {
		r.gpu[i] = from->gpu[i];
		r.slices[i] = from->slices[i];
	}
	for (uint32_t i = 0; i < s->cpu.n; i++)
		r.thread[i] = from->thread[i];
	for (uint32_t i = 0; s->node.n && i < s->node.numa_first[s->node.n];
	     i++) {
		r.numa_mem[i] = from->numa_mem[i];
		r.unbound[i] = from->unbound[i];
	}
	return r;
}

/* give_cpus() adds the CPUs of a task to what is free, give_rest() all its
 * other resources; with sign -1 they subtract them. */
static void give_cpus(const struct snap *s, const struct free_room *r,
                      uint32_t req, const struct snap_task *t,
                      const struct snap_cpu_use *use, int sign)
{
	int64_t *thread = r->thread + s->node.cpu_first[t->node];

	r->cpu[t->node] += sign * s->req.cpus[req];
	r->sealed[t->node] -= sign * s->req.exclusive[req];
	for (uint32_t i = t->cpu_first; i < t[1].cpu_first; i++)
		thread[use[i].cpu] += sign * use[i].milli;
}

static void give_rest(const struct snap *s, const struct free_room *r,
                      uint32_t req, const struct snap_task *t, int sign)
{
	int64_t *gpu = r->gpu + s->node.gpu_first[t->node];
	uint8_t *slices = check_amounts_slices(s, t, r->slices);
	int64_t part[SNAP_NUMAS];

	r->mem[t->node] += sign * s->req.mem[req];
	r->tmp[t->node] += sign * s->req.tmp[req];
	r->slot[t->node] += sign;
	for (uint32_t i = 0; i < s->dev.n; i++)
		r->dev[t->node * s->dev.n + i] += sign * s->req.devs[req].n[i];
	r->tasks[t->node] -= sign;
	for (uint64_t left = t->gpus; left; left &= left - 1)
		gpu[__builtin_ctzll(left)] += sign * t->gpu_milli;
	if (slices)
		*slices = sign > 0 ? *slices & ~t->units : *slices | t->units;
	check_amounts_divide(s, t->node, t->numas, s->req.mem[req], part);
	for (uint32_t i = 0; i < snap_node_nnumas(s, t->node); i++) {
		uint32_t at = s->node.numa_first[t->node] + i;

		r->numa_mem[at] += sign * part[i];
		r->unbound[at] += snap_binds(s, req) ? sign * part[i] : 0;
	}
}

static void give_task(const struct audit *a, const struct free_room *r,
                      uint32_t run, uint32_t task, int sign)
{
	const struct snap *s = a->s;
	const struct snap_task *t = &s->task[task];
	uint32_t req = s->run.req[run];

	if (!s->run.suspended[run])
		give_cpus(s, r, req, t, s->cpu_use, sign);
	if (!a->out[run] || !a->out[run]->suspend)
		give_rest(s, r, req, t, sign);
}

/* Add what the evicted tasks of a run hold to what is free (sign 1), or
 * subtract it (-1). This plan or an earlier one evicts them. */
static void give_lost(const struct audit *a, const struct free_room *r,
                      uint32_t run, int sign)
{
	const struct snap *s = a->s;

	for (uint32_t t = s->run.task_first[run];
	     t < s->run.task_first[run + 1]; t++) {
		if (s->run.ending[run] || a->lost[t])
			give_task(a, r, run, t, sign);
	}
}

static void take_placed(const struct audit *a, const struct free_room *r,
                        uint32_t req, uint32_t first, uint32_t n, bool resumes)
{
	const struct plan *plan = a->plan;

	for (uint32_t i = first; i < first + n; i++) {
		give_cpus(a->s, r, req, &plan->task[i], plan->cpu_use, -1);
		if (!resumes)
			give_rest(a->s, r, req, &plan->task[i], -1);
	}
}

/* Returns what is free once all evicted jobs have ended. */
static struct free_room room_then(const struct audit *a)
{
	const struct snap *s = a->s;
	const struct plan *plan = a->plan;
	struct free_room r = room_copy(a, NULL);

	for (uint32_t i = 0; i < s->run.n; i++) {
		for (uint32_t t = s->run.task_first[i];
		     t < s->run.task_first[i + 1]; t++) {
			r.tasks[s->task[t].node]++;
			r.sealed[s->task[t].node] +=
			    s->req.exclusive[s->run.req[i]] &&
			    !s->run.suspended[i];
		}
		give_lost(a, &r, i, 1);
	}
	for (uint32_t i = 0; i < plan->nstarts; i++) {
		const struct start *start = &plan->start[i];

		take_placed(a, &r, s->pend.req[start->row], start->task_first,
		            start->ntasks,
		            s->pend.resumes[start->row] != SNAP_NONE);
	}
	for (uint32_t i = 0; i < plan->ngrows; i++) {
		const struct grow *grow = &plan->grow[i];

		take_placed(a, &r, s->run.req[grow->run], grow->task_first,
		            grow->ntasks, false);
	}
	return r;
}

/* --- pack tasks onto devices ------------------------------------------- */

enum room_answer { NO, MAYBE, YES };

/* The share of one GPU or CPU that a task needs. size: thousandths, 1000 for
 * the whole device; type: GPU type, or SNAP_NONE for any; profile: MIG profile
 * of a partition, or 0 for none. */
struct item {
	int64_t size;
	uint32_t type;
	uint8_t profile;
};

struct packing {
	struct item *item;
	uint32_t nitems;
	int64_t *bin;
	const uint32_t *type;  /* by bin, or NULL */
	uint8_t *slices;       /* by bin: slices in use, or NULL */
	const uint64_t *parts; /* by bin: partitions for good, or NULL */
	uint8_t model;         /* of the GPUs of all bins */
	uint32_t nbins;
	uint32_t tries;
};

static int by_size(const void *x, const void *y)
{
	const struct item *a = x, *b = y;

	if (a->size != b->size)
		return a->size > b->size ? -1 : 1;
	if (a->type != b->type)
		return a->type < b->type ? -1 : 1;
	return (a->profile > b->profile) - (a->profile < b->profile);
}

static bool bin_takes(const struct packing *p, uint32_t bin,
                      const struct item *item, uint8_t units)
{
	struct sliced g = { p->model, p->slices ? p->slices[bin] : 0,
		            p->bin[bin], p->parts ? p->parts[bin] : 0 };

	if (item->profile)
		return check_slices_fit(&g, item->profile, units);
	if (g.used || !check_slices_whole(g.parts))
		return false;
	if (item->type != SNAP_NONE && p->type && p->type[bin] != item->type)
		return false;
	return item->size == 1000 ? p->bin[bin] == 1000
	                          : p->bin[bin] >= item->size;
}

static enum room_answer pack(struct packing *p, uint32_t i);

/* Try to pack this item into the bin, and all items after it into any bins. A
 * partition is tried at each slice where it may start. */
static enum room_answer pack_on(struct packing *p, uint32_t i, uint32_t bin)
{
	const struct item *item = &p->item[i];
	const struct mig_profile *m = &mig_profile[item->profile];
	enum room_answer answer = NO;

	for (uint32_t start = 0; start + m->units <= m->all && answer == NO;
	     start++) {
		uint8_t units = (uint8_t)(((1u << m->units) - 1) << start);

		if (!bin_takes(p, bin, item, units))
			continue;
		if (!p->tries)
			return MAYBE;
		p->tries--;
		p->bin[bin] -= item->size;
		if (units)
			p->slices[bin] |= units;
		answer = pack(p, i + 1);
		p->bin[bin] += item->size;
		if (units)
			p->slices[bin] &= (uint8_t)~units;
		if (!units)
			break;
	}
	return answer;
}

/* Try to pack this item and all items after it into any bins. */
static enum room_answer pack(struct packing *p, uint32_t i)
{
	if (i == p->nitems)
		return YES;
	for (uint32_t bin = 0; bin < p->nbins; bin++) {
		enum room_answer answer = pack_on(p, i, bin);

		if (answer != NO)
			return answer;
	}
	return NO;
}

/* Add items for an amount: one for each whole device, and one for the rest. */
static void add_items(struct packing *p, int64_t amount, uint32_t type,
                      uint8_t profile)
{
	for (; amount >= 1000; amount -= 1000)
		p->item[p->nitems++] = (struct item){ 1000, type, profile };
	if (amount)
		p->item[p->nitems++] = (struct item){ amount, type, profile };
}

static enum room_answer pack_all(struct packing *p)
{
	qsort(p->item, p->nitems, sizeof(*p->item), by_size);
	p->tries = TRIES;
	return pack(p, 0);
}

/* --- claims on one node ------------------------------------------------ */

/* One task of a claim. */
struct room_held {
	uint32_t node, claim;
};

static uint32_t req_of(const struct audit *a, const struct room_held *h)
{
	return check_claimant(a, &a->plan->claim[h->claim]).req;
}

/* With `gpus`, whether n tasks fit on the GPUs of their node; else whether they
 * fit on its CPUs. */
static enum room_answer pack_node(const struct audit *a,
                                  const struct free_room *r,
                                  const struct room_held *h, uint32_t n,
                                  bool gpus)
{
	const struct snap *s = a->s;
	const uint32_t *first = gpus ? s->node.gpu_first : s->node.cpu_first;
	uint32_t from = first[h->node];
	struct packing p = { .bin = (gpus ? r->gpu : r->thread) + from,
		             .type = gpus ? s->gpu.type + from : NULL,
		             .slices = gpus ? r->slices + from : NULL,
		             .parts = gpus && s->gpu.parts ? s->gpu.parts + from
		                                           : NULL,
		             .model = s->node.mig[h->node],
		             .nbins = first[h->node + 1] - from };
	size_t nitems = 0;

	if (!gpus && !p.nbins)
		return YES; /* the node only counts CPUs: tasks have no CPUs of
		               their own */
	for (uint32_t i = 0; i < n; i++) {
		uint32_t req = req_of(a, &h[i]);

		nitems +=
		    (size_t)((gpus ? s->req.gpus[req] : s->req.cpus[req]) /
		             1000) +
		    1;
	}
	if (nitems > (size_t)n + p.nbins)
		return NO;
	p.item = arena_array(a->arena, struct item, nitems);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t req = req_of(a, &h[i]);

		add_items(
		    &p, gpus ? check_gpus(s, req, h[i].node) : s->req.cpus[req],
		    gpus ? s->req.gpu_type[req] : SNAP_NONE,
		    gpus ? s->req.profile[req] : 0);
	}
	return pack_all(&p);
}

/* Returns how many tasks a run that grows already has on the node. */
static int64_t own_tasks(const struct audit *a, const struct plan_claim *c,
                         uint32_t node)
{
	const struct snap *s = a->s;
	int64_t n = 0;

	if (c->row != SNAP_NONE || check_leaves(a, c->run))
		return 0;
	for (uint32_t t = s->run.task_first[c->run];
	     t < s->run.task_first[c->run + 1]; t++)
		n += s->task[t].node == node;
	return n;
}

/* Whether the node, once it has these n claimed tasks, has no exclusive job
 * beside other jobs. */
static bool is_alone(const struct audit *a, const struct free_room *r,
                     const struct room_held *h, uint32_t n)
{
	const struct plan_claim *c = &a->plan->claim[h->claim];
	int64_t own = own_tasks(a, c, h->node);
	bool exclusive = false;

	for (uint32_t i = 0; i < n; i++)
		exclusive |= a->s->req.exclusive[req_of(a, &h[i])];
	if (!exclusive)
		return !r->sealed[h->node];
	for (uint32_t i = 1; i < n; i++) {
		const struct plan_claim *other = &a->plan->claim[h[i].claim];

		if (other->row != c->row || other->member != c->member ||
		    other->run != c->run)
			return false;
	}
	return r->tasks[h->node] == own;
}

/*
 * Whether a task that is the only claimed one on its node can have the NUMA
 * nodes and links that it demands. Returns NO only if the task does not fit
 * even when the memory of unbound tasks is counted as free. Returns MAYBE for a
 * run, which may already have GPUs there.
 */
static enum room_answer is_aligned(const struct audit *a,
                                   const struct free_room *r,
                                   const struct room_held *h)
{
	struct align_free nfree = { r->gpu, r->thread, r->unbound, NULL };
	uint32_t req = req_of(a, h);
	struct align_best best = check_align_best(a->s, req, h->node, &nfree);

	if (!best.known || a->plan->claim[h->claim].row == SNAP_NONE)
		return MAYBE;
	if (!best.fits)
		return NO;
	nfree.numa_mem = r->numa_mem;
	return check_align_best(a->s, req, h->node, &nfree).fits ? YES : MAYBE;
}

/* Whether the node has the devices of n claimed tasks. */
static bool has_devs(const struct audit *a, const struct free_room *r,
                     const struct room_held *h, uint32_t n)
{
	const struct snap *s = a->s;

	for (uint32_t k = 0; k < s->dev.n; k++) {
		int64_t need = 0;

		for (uint32_t i = 0; i < n; i++)
			need += s->req.devs[req_of(a, &h[i])].n[k];
		if (need && need > r->dev[h->node * s->dev.n + k])
			return false;
	}
	return true;
}

/* Whether n claimed tasks fit together on their node. */
static enum room_answer node_holds(const struct audit *a,
                                   const struct free_room *r,
                                   const struct room_held *h, uint32_t n)
{
	const struct snap *s = a->s;
	int64_t cpus = 0, mem = 0, tmp = 0;
	enum room_answer gpu, cpu, aligned = YES;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t req = req_of(a, &h[i]);

		cpus += s->req.cpus[req];
		mem += s->req.mem[req];
		tmp += s->req.tmp[req];
		if (check_align_demands(s, req))
			aligned = n > 1 ? MAYBE : is_aligned(a, r, h);
	}
	if ((cpus && cpus > r->cpu[h->node]) ||
	    (mem && mem > r->mem[h->node]) || (tmp && tmp > r->tmp[h->node]) ||
	    n > r->slot[h->node] || !has_devs(a, r, h, n) ||
	    !is_alone(a, r, h, n))
		return NO;
	gpu = pack_node(a, r, h, n, true);
	cpu = gpu == NO ? NO : pack_node(a, r, h, n, false);
	if (gpu == NO || cpu == NO || aligned == NO)
		return NO;
	return aligned == MAYBE || gpu == MAYBE || cpu == MAYBE ? MAYBE : YES;
}

/* --- all claims -------------------------------------------------------- */

struct claims {
	struct room_held *held; /* sorted by node */
	uint32_t n;
};

static int by_node(const void *x, const void *y)
{
	const struct room_held *a = x, *b = y;

	if (a->node != b->node)
		return a->node < b->node ? -1 : 1;
	return (a->claim > b->claim) - (a->claim < b->claim);
}

static struct claims claims_by_node(const struct audit *a)
{
	const struct plan *plan = a->plan;
	struct claims all = { 0 };
	uint32_t n = 0;

	for (uint32_t i = 0; i < plan->nclaims; i++)
		n += plan->claim[i].n;
	all.held = arena_array(a->arena, struct room_held, n);
	for (uint32_t i = 0; i < plan->nclaims; i++) {
		const struct plan_claim *c = &plan->claim[i];

		for (uint32_t k = 0; k < c->n; k++)
			all.held[all.n++] = (struct room_held){
				plan->claim_node[c->node_first + k], i
			};
	}
	qsort(all.held, all.n, sizeof(*all.held), by_node);
	return all;
}

/* Whether all claims except `but` (NULL: all claims) fit. If not, *ret_node is
 * a node on which they do not fit. */
static enum room_answer claims_fit(const struct audit *a,
                                   const struct free_room *r,
                                   const struct claims *all,
                                   const struct plan_claim *but,
                                   uint32_t *ret_node)
{
	struct room_held *h = arena_array(a->arena, struct room_held, all->n);
	enum room_answer worst = YES;

	for (uint32_t i = 0, next, n = 0; i < all->n; i = next, n = 0) {
		enum room_answer answer = YES;

		for (next = i;
		     next < all->n && all->held[next].node == all->held[i].node;
		     next++) {
			if (&a->plan->claim[all->held[next].claim] != but)
				h[n++] = all->held[next];
		}
		if (n)
			answer = node_holds(a, r, h, n);
		if (answer == NO)
			*ret_node = all->held[i].node;
		if (answer < worst)
			worst = answer;
	}
	return worst;
}

/* --- no needless evictions ------------------------------------------- */

/* Whether evictions can be judged as needed or not: all evictions are for one
 * claim, and the claims depend on free resources alone, because no job is
 * promised a start or held back by a promise. */
static bool can_judge(const struct audit *a)
{
	const struct plan *plan = a->plan;
	uint32_t claims = 0;

	if (!plan->nevictions || plan->nevictions > VICTIMS_MAX ||
	    !a->s->policy.backfill || a->s->resv.n)
		return false;
	for (uint32_t i = 1; i < plan->nevictions; i++) {
		if (plan->eviction[i].by != plan->eviction[0].by)
			return false;
	}
	for (uint32_t i = 0; i < plan->nclaims; i++)
		claims += check_claimant(a, &plan->claim[i]).job ==
		          plan->eviction[0].by;
	if (claims > 1)
		return false;
	for (uint32_t row = 0; row < plan->nverdicts; row++) {
		if (plan->verdict[row].why == WHY_Priority ||
		    plan->verdict[row].expected != SNAP_NEVER)
			return false;
	}
	return true;
}

/* Returns the claim of a run on its new place; if single tasks of the run move,
 * the first of their claims; NULL if the run has no claim. */
static const struct plan_claim *claim_of_run(const struct audit *a,
                                             uint32_t run)
{
	for (uint32_t i = 0; i < a->plan->nclaims; i++) {
		const struct plan_claim *c = &a->plan->claim[i];

		if (c->row == SNAP_NONE && c->run == run)
			return c;
	}
	return NULL;
}

/* Whether another job has a claim on the node for a certain GPU type,
 * or for parts of devices. That job keeps the devices that it was
 * given, even if others would do, so the claimant may need more
 * evictions than the amounts suggest. */
static bool shares_devices(const struct audit *a, const struct claims *all,
                           uint32_t node, uint64_t claimant)
{
	const struct snap *s = a->s;
	bool shares = false;

	for (uint32_t i = 0; i < all->n; i++) {
		struct party p =
		    check_claimant(a, &a->plan->claim[all->held[i].claim]);

		shares |= all->held[i].node == node && p.job != claimant &&
		          (s->req.gpus[p.req] % 1000 ||
		           s->req.gpu_type[p.req] != SNAP_NONE ||
		           s->req.cpus[p.req] % 1000);
	}
	return shares;
}

/* Whether the run may lose tasks for two jobs: it loses several tasks, and a
 * waiting job other than e->by has a claim that is new in this plan. A task
 * that was evicted for that job may seem needless, because the later evictions
 * for e->by freed enough for both jobs. */
static bool may_serve_two(const struct audit *a, const struct eviction *e)
{
	const struct snap *s = a->s;
	bool may = false;

	for (uint32_t i = 0; i < a->plan->nclaims; i++) {
		const struct plan_claim *c = &a->plan->claim[i];

		may |= c->row != SNAP_NONE &&
		       check_claimant(a, c).job != e->by &&
		       s->pend.claim_first[c->row] ==
		           s->pend.claim_first[c->row + 1];
	}
	return may && e->nlosses > 1;
}

static int check_needed(struct audit *a, const struct free_room *then,
                        const struct claims *all, const struct eviction *e)
{
	const struct snap *s = a->s;
	struct free_room r = room_copy(a, then);
	uint32_t stay = 0, node, first = s->run.task_first[e->run];
	uint32_t n = check_ntasks(s, e->run), kept = 0;
	const struct plan_claim *moved = claim_of_run(a, e->run);
	/* A suspended job is always evicted as a whole. */
	uint32_t least =
	    s->run.suspended[e->run] ? n : s->req.min_tasks[s->run.req[e->run]];

	for (uint32_t t = first; t < first + n; t++) {
		if (!a->lost[t]) {
			stay++;
			continue;
		}
		/* Each task that moves has a claim of its own, but claims_fit()
		 * can leave out only one claim: keep at most one such task. */
		if (moved && !check_is_whole(a, e->run) && kept)
			break;
		give_task(a, &r, e->run, t, -1);
		if (claims_fit(a, &r, all, moved, &node) == YES &&
		    !shares_devices(a, all, s->task[t].node, e->by) &&
		    check_could_keep(a, e->run, kept + 1))
			kept++;
		else
			give_task(a, &r, e->run, t, 1);
	}
	stay += kept;
	if (e->nlosses < n ? stay > n - e->nlosses : stay >= least)
		return check_bad(a, s->run.job[e->run],
		                 "is evicted though %u of its tasks are not "
		                 "in the way",
		                 (unsigned)stay);
	return 0;
}

/* Check that the claimant may use the nodes of its claim. */
static int check_where(const struct audit *a, const struct plan_claim *c)
{
	struct party p = check_claimant(a, c);
	struct snap_task *t;

	if (c->row == SNAP_NONE && !check_leaves(a, c->run))
		return check_growth(a, c->run);
	t = arena_array(a->arena, struct snap_task, c->n);
	for (uint32_t i = 0; i < c->n; i++)
		t[i].node = a->plan->claim_node[c->node_first + i];
	return check_nodes(a, p.req, p.job, t, c->n);
}

int check_room(struct audit *a)
{
	struct free_room then = room_then(a);
	struct claims all = claims_by_node(a);
	uint32_t node = 0;

	for (uint32_t i = 0; i < a->plan->nclaims; i++) {
		if (check_where(a, &a->plan->claim[i]) < 0)
			return -1;
	}
	if (claims_fit(a, &then, &all, NULL, &node) == NO)
		return err_set(a->err, EINVAL, "plan: claims on %s do not fit",
		               a->s->node.name[node]);
	for (uint32_t i = 0; can_judge(a) && i < a->plan->nevictions; i++) {
		const struct eviction *e = &a->plan->eviction[i];

		if (!may_serve_two(a, e) && check_needed(a, &then, &all, e) < 0)
			return -1;
	}
	return 0;
}

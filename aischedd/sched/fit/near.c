/* near.c - devices of a task beside its GPUs, or in its NUMA nodes */
#include "aischedd/sched/fit/near.h"

#include "libcommon/limits.h"

/* How many choices of GPUs are tried for one task. */
enum { MOST_TRIES = 4096 };

static int64_t min(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static uint32_t count(uint64_t set)
{
	return (uint32_t)__builtin_popcountll(set);
}

/* Whether tasks of the request have all their devices in their NUMA nodes. */
static bool is_bound(const struct work *w, uint32_t req)
{
	return snap_binds(w->snap, req) && !(w->loose & LOOSE_NUMA);
}

bool fit_near_asks(const struct work *w, uint32_t req, uint32_t node)
{
	const struct snap *s = w->snap;

	if (!s->dev.n || w->loose & LOOSE_DEVS)
		return false;
	return snap_places_devs(s, req) ||
	       (is_bound(w, req) && snap_node_npieces(s, node) &&
	        devices_any(&s->req.devs[req]));
}

/* --- what is free ------------------------------------------------------ */

/* Returns the pieces of a kind that a task may have in this part of the node.
 * lists: whether the node has any, free or not. */
static uint64_t open_of(const struct work *w, uint32_t req, uint32_t node,
                        const struct fit_where *at, uint32_t kind, bool *lists)
{
	const struct snap *s = w->snap;
	uint32_t first = s->piece.n ? s->node.piece_first[node] : 0;
	bool bound = is_bound(w, req) && at->numas != ALL_NUMAS;
	uint64_t ret = 0;

	*lists = false;
	for (uint32_t i = 0; i < snap_node_npieces(s, node); i++) {
		uint8_t numa = s->piece.numa[first + i];

		if (s->piece.kind[first + i] != kind)
			continue;
		*lists = true;
		if (w->piece[first + i] == 1 &&
		    (!bound || numa == PIECE_NOWHERE || at->numas >> numa & 1))
			ret |= (uint64_t)1 << i;
	}
	return ret;
}

/* Returns the GPUs of a node that are wholly free. */
static uint64_t idle_gpus(const struct work *w, uint32_t node)
{
	const struct snap *s = w->snap;
	uint64_t ret = 0;

	for (uint32_t i = 0; i < snap_node_ngpus(s, node); i++)
		ret |=
		    (uint64_t)(w->device[s->node.gpu_first[node] + i] == 1000)
		    << i;
	return ret;
}

static uint64_t all_gpus(const struct snap *s, uint32_t node)
{
	uint32_t n = snap_node_ngpus(s, node);

	return n < 64 ? ((uint64_t)1 << n) - 1 : UINT64_MAX;
}

static uint16_t root_of_gpu(const struct snap *s, uint32_t node, uint32_t gpu)
{
	return s->gpu.root ? s->gpu.root[s->node.gpu_first[node] + gpu] : 0;
}

/* Returns the GPUs of the set under a root, or those whose root is unknown. */
static uint64_t gpus_under(const struct snap *s, uint32_t node, uint64_t set,
                           uint16_t root)
{
	uint64_t ret = 0;

	for (; set; set &= set - 1) {
		if (root_of_gpu(s, node, (uint32_t)__builtin_ctzll(set)) ==
		    root)
			ret |= set & -set;
	}
	return ret;
}

/* The known PCIe roots of a node that have GPUs: which GPUs and pieces are
 * under each of them. */
struct roots {
	uint32_t n;
	struct {
		uint64_t gpus, pieces;
	} of[LIMIT_GPUS];
};

static void roots_read(struct roots *roots, const struct snap *s, uint32_t node)
{
	uint64_t all = all_gpus(s, node), here;
	const uint16_t *of =
	    s->piece.n ? s->piece.root + s->node.piece_first[node] : NULL;

	roots->n = 0;
	for (; all; all &= ~here) {
		uint16_t root =
		    root_of_gpu(s, node, (uint32_t)__builtin_ctzll(all));
		uint64_t pieces = 0;

		here = gpus_under(s, node, all, root);
		if (!root)
			continue;
		for (uint32_t i = 0; i < snap_node_npieces(s, node); i++)
			pieces |= (uint64_t)(of[i] == root) << i;
		roots->of[roots->n].gpus = here;
		roots->of[roots->n++].pieces = pieces;
	}
}

/* Returns the pieces of the set that are in one of these NUMA nodes. */
static uint64_t pieces_in(const struct snap *s, uint32_t node, uint64_t set,
                          uint32_t numas)
{
	const uint8_t *of;
	uint64_t ret = 0;

	if (!set)
		return 0;
	of = s->piece.numa + s->node.piece_first[node];
	for (; set; set &= set - 1) {
		uint8_t numa = of[__builtin_ctzll(set)];

		if (numa != PIECE_NOWHERE && numas >> numa & 1)
			ret |= set & -set;
	}
	return ret;
}

static uint32_t numas_of_gpus(const struct snap *s, uint32_t node,
                              uint64_t gpus)
{
	const uint8_t *numa = s->gpu.numa + s->node.gpu_first[node];
	uint32_t ret = 0;

	for (; gpus; gpus &= gpus - 1)
		ret |= (uint32_t)1 << numa[__builtin_ctzll(gpus)];
	return ret;
}

/* Count the pieces of the set under the roots of these GPUs, and the pairs of
 * such a piece and a GPU under the same root. */
static void count_pairs(const struct roots *roots, uint64_t gpus,
                        uint64_t pieces, int64_t *ret_all, int64_t *ret_pairs)
{
	*ret_all = *ret_pairs = 0;
	for (uint32_t i = 0; i < roots->n; i++) {
		uint64_t here = roots->of[i].gpus & gpus;
		int64_t n;

		if (!here)
			continue;
		n = count(roots->of[i].pieces & pieces);
		*ret_all += n;
		*ret_pairs += min(n, count(here));
	}
}

/* --- does a choice of GPUs serve? -------------------------------------- */

/* As serves(), for the devices of one kind. */
static bool serves_kind(const struct work *w, uint32_t req, uint32_t node,
                        const struct fit_where *at, const struct roots *roots,
                        uint64_t gpus, uint32_t kind)
{
	const struct snap *s = w->snap;
	int64_t need = s->req.devs[req].n[kind], all, pairs;
	bool lists;
	uint64_t open = open_of(w, req, node, at, kind, &lists);

	if (s->req.pcie[req] >> kind & 1) {
		count_pairs(roots, gpus, open, &all, &pairs);
		return all >= need && pairs >= min(need, count(gpus));
	}
	if (s->req.near[req] >> kind & 1) {
		if (gpus)
			open = pieces_in(s, node, open,
			                 numas_of_gpus(s, node, gpus));
		else if (at->numas != ALL_NUMAS)
			open = pieces_in(s, node, open, at->numas);
		return count(open) >= need;
	}
	return !lists || !is_bound(w, req) || count(open) >= need;
}

/* Whether a task finds its devices in this part of the node, beside these GPUs;
 * gpus 0: beside none, in the NUMA nodes of the part. */
static bool serves(const struct work *w, uint32_t req, uint32_t node,
                   const struct fit_where *at, const struct roots *roots,
                   uint64_t gpus)
{
	for (uint32_t k = 0; k < w->snap->dev.n; k++) {
		if (w->snap->req.devs[req].n[k] &&
		    !serves_kind(w, req, node, at, roots, gpus, k))
			return false;
	}
	return true;
}

uint64_t fit_near_parts(const struct work *w, uint32_t req, uint32_t node,
                        const struct fit_where *at)
{
	struct roots roots;
	uint64_t ret = 0;

	roots_read(&roots, w->snap, node);
	for (uint32_t i = 0; i < snap_node_ngpus(w->snap, node); i++) {
		uint64_t gpu = (uint64_t)1 << i;

		if (serves(w, req, node, at, &roots, gpu))
			ret |= gpu;
	}
	return ret;
}

/* --- the choice of GPUs ------------------------------------------------ */

/* Trying a choice counts as LOOKS_A_TRY looks at a node; if devices must be
 * under roots of GPUs, one more for every ROOTS_A_LOOK roots. */
enum { LOOKS_A_TRY = 4, ROOTS_A_LOOK = 4 };

/* Free GPUs that are alike: in one link group, in one NUMA node, under one
 * root. */
struct cell {
	uint64_t gpus;
	/* by kind that must be beside GPUs: the pieces under the root */
	int64_t pieces[DEVICE_KINDS];
};

struct price {
	uint32_t groups; /* link groups of these GPUs and those of the job */
	int64_t lost;    /* as lost_with() */
	struct fit_damage damage;
};

struct search {
	const struct work *w;
	uint32_t req, node;
	const struct fit_where *at;
	uint64_t idle; /* as idle_gpus() */
	struct roots roots;
	uint32_t ncells, tries;
	struct cell cell[LIMIT_GPUS];
	/* by kind: the pieces that the task may have */
	uint64_t open[DEVICE_KINDS];
	uint64_t best; /* 0: none was found yet */
	struct price least;
	/* No choice has fewer link groups or loses fewer pairs than these.
	 * ideal: the best choice equals them and does no damage, so the search
	 * ends. */
	uint32_t groups;
	int64_t lost;
	bool ideal;
	bool any; /* end the search at the first choice that serves */
};

/* Returns the pieces under the roots of these GPUs. */
static uint64_t pieces_of(const struct roots *roots, uint64_t gpus)
{
	uint64_t ret = 0;

	for (uint32_t i = 0; i < roots->n; i++)
		if (roots->of[i].gpus & gpus)
			ret |= roots->of[i].pieces;
	return ret;
}

static void list_cells(struct search *f, uint64_t set)
{
	const struct snap *s = f->w->snap;
	const uint8_t *numa = s->gpu.numa + s->node.gpu_first[f->node];
	const uint8_t *link = s->gpu.link + s->node.gpu_first[f->node];

	while (set) {
		struct cell *c = &f->cell[f->ncells++];
		uint32_t d = (uint32_t)__builtin_ctzll(set);
		uint16_t root = root_of_gpu(s, f->node, d);

		*c = (struct cell){ 0 };
		for (uint64_t left = gpus_under(s, f->node, set, root); left;
		     left &= left - 1) {
			int i = __builtin_ctzll(left);

			if (numa[i] == numa[d] && link[i] == link[d])
				c->gpus |= left & -left;
		}
		for (uint32_t k = 0; k < s->dev.n; k++)
			c->pieces[k] =
			    count(pieces_of(&f->roots, c->gpus) & f->open[k]);
		set &= ~c->gpus;
	}
}

/* Choose up to n pieces of the set that share a root with GPUs of the task.
 * Prefer roots where a GPU of the task has no piece yet, then the root with the
 * most pieces beyond its free GPUs. rest: the GPUs that stay free. */
static uint64_t take_beside(const struct roots *roots, uint64_t set,
                            uint64_t gpus, uint64_t rest, int64_t n)
{
	uint64_t ret = 0;

	for (; n > 0; n--) {
		int64_t most = 0;
		uint64_t best = 0;

		for (uint32_t i = 0; i < roots->n; i++) {
			uint64_t here = roots->of[i].gpus;
			uint64_t left = roots->of[i].pieces & set & ~ret;
			int64_t have = count(here & gpus), more;

			if (!have || !left)
				continue;
			more = 1000 + count(left) - count(here & rest);
			if (count(roots->of[i].pieces & ret) < have)
				more += 1000;
			/* If roots are equal, take that of the first piece. */
			if (more < most ||
			    (more == most && (left & -left) > best))
				continue;
			most = more;
			best = left & -left;
		}
		if (!best)
			break;
		ret |= best;
	}
	return ret;
}

/* Returns how many pairs of a free GPU and a free piece the node loses if the
 * task gets these GPUs, over all kinds that must be beside GPUs. */
static int64_t lost_with(const struct search *f, uint64_t gpus)
{
	const struct snap *s = f->w->snap;
	uint64_t rest = f->idle & ~gpus;
	int64_t ret = 0;

	for (uint32_t k = 0; k < s->dev.n; k++) {
		int64_t all, before, after;
		uint64_t taken;

		if (!(s->req.pcie[f->req] >> k & 1))
			continue;
		taken = take_beside(&f->roots, f->open[k], gpus, rest,
		                    s->req.devs[f->req].n[k]);
		count_pairs(&f->roots, f->idle, f->open[k], &all, &before);
		count_pairs(&f->roots, rest, f->open[k] & ~taken, &all, &after);
		ret += before - after;
	}
	return ret;
}

static bool is_less(const struct price *a, const struct price *b)
{
	if (a->groups != b->groups)
		return a->groups < b->groups;
	if (a->lost != b->lost)
		return a->lost < b->lost;
	return fit_devices_compare(&a->damage, &b->damage) < 0;
}

/* Keep this choice of GPUs if it serves and is the best so far. */
static void judge(struct search *f, uint64_t gpus)
{
	uint64_t own = f->w->own_gpus[f->node];
	struct price price;

	f->tries++;
	if (!serves(f->w, f->req, f->node, f->at, &f->roots, gpus))
		return;
	if (f->any) {
		f->best = gpus;
		f->ideal = true;
		return;
	}
	price.groups = fit_devices_ngroups(f->w, f->node, gpus | own);
	price.lost = lost_with(f, gpus);
	price.damage = fit_devices_damage(f->w, f->node, gpus);
	if (f->best && !is_less(&price, &f->least))
		return;
	f->best = gpus;
	f->least = price;
	f->ideal = price.lost <= f->lost && price.groups <= f->groups &&
	           !price.damage.awaited && !price.damage.blocks[0] &&
	           !price.damage.blocks[1] && !price.damage.blocks[2];
}

/* Whether a choice that has these GPUs so far, and gets n more of the cells
 * from `from` on, can have as many pairs as the request needs. */
static bool may_serve(const struct search *f, uint32_t from, uint64_t gpus,
                      uint32_t n)
{
	const struct snap *s = f->w->snap;
	int64_t all, pairs;

	for (uint32_t k = 0; k < s->dev.n; k++) {
		int64_t need = s->req.devs[f->req].n[k], more = 0;

		if (!(s->req.pcie[f->req] >> k & 1))
			continue;
		for (uint32_t c = from; c < f->ncells; c++)
			more +=
			    min(count(f->cell[c].gpus), f->cell[c].pieces[k]);
		count_pairs(&f->roots, gpus, f->open[k], &all, &pairs);
		if (pairs + min(more, n) < min(need, count(gpus) + n))
			return false;
	}
	return true;
}

/* Try all choices of n more GPUs from the cells from `from` on: first those
 * with the most of the first cell. */
static void choose_more(struct search *f, uint32_t from, uint64_t gpus,
                        uint32_t n)
{
	uint64_t some = 0, left;
	uint32_t room = 0, have;

	if (f->tries >= MOST_TRIES || f->ideal)
		return;
	if (!n) {
		judge(f, gpus);
		return;
	}
	for (uint32_t c = from; c < f->ncells; c++)
		room += count(f->cell[c].gpus);
	if (room < n || !may_serve(f, from, gpus, n)) {
		/* Count dead ends, too: there may be many. */
		f->tries++;
		return;
	}
	left = f->cell[from].gpus;
	for (have = 0; have < n && left; have++, left &= left - 1)
		some |= left & -left;
	for (;; have--) {
		choose_more(f, from + 1, gpus | some, n - have);
		if (!have)
			break;
		some &= ~((uint64_t)1 << (63 - __builtin_clzll(some)));
	}
}

/* Prepare to choose n GPUs. */
static void search_init(struct search *f, const struct work *w, uint32_t req,
                        uint32_t node, const struct fit_where *at, uint32_t n)
{
	const struct snap *s = w->snap;
	bool lists;

	f->w = w;
	f->req = req;
	f->node = node;
	f->at = at;
	f->ncells = f->tries = 0;
	f->best = 0;
	f->idle = idle_gpus(w, node);
	roots_read(&f->roots, s, node);
	f->groups = fit_devices_ngroups(w, node, w->own_gpus[node]);
	f->groups = f->groups ? f->groups : 1;
	f->lost = 0;
	f->any = f->ideal = false;
	for (uint32_t k = 0; k < s->dev.n; k++) {
		int64_t need = s->req.devs[req].n[k];

		f->open[k] = need ? open_of(w, req, node, at, k, &lists) : 0;
		/* Each pair that the task takes is one pair fewer. */
		if (s->req.pcie[req] >> k & 1)
			f->lost += min(need, n);
	}
	list_cells(f, fit_devices_whole(w, req, node, at));
}

static void search_run(struct search *f, uint32_t n)
{
	uint32_t roots = f->w->snap->req.pcie[f->req] ? f->roots.n : 0;

	choose_more(f, 0, 0, n);
	*f->w->tried += f->tries * (LOOKS_A_TRY + roots / ROOTS_A_LOOK);
}

uint64_t fit_near_gpus(const struct work *w, uint32_t req, uint32_t node,
                       const struct fit_where *at, uint32_t n,
                       struct fit_damage *ret_damage)
{
	struct search f;

	if (!fit_near_asks(w, req, node))
		return fit_devices_pick(w, node,
		                        fit_devices_whole(w, req, node, at),
		                        w->own_gpus[node], n, ret_damage);
	search_init(&f, w, req, node, at, n);
	search_run(&f, n);
	*ret_damage = f.best ? f.least.damage : (struct fit_damage){ 0 };
	return f.best;
}

bool fit_near_has(const struct work *w, uint32_t req, uint32_t node,
                  const struct fit_where *at, uint32_t n)
{
	struct search f;

	search_init(&f, w, req, node, at, n);
	f.any = true;
	search_run(&f, n);
	return f.best != 0;
}

/* --- the choice of pieces ---------------------------------------------- */

/* Returns the NUMA nodes of a task: those of its GPUs; without GPUs, of its
 * CPUs; if neither is known, all of its part of the node. */
static uint32_t numas_of(const struct snap *s, const struct fit_where *at,
                         const struct snap_task *t,
                         const struct snap_cpu_use *use, uint32_t nuse)
{
	const uint8_t *numa = s->cpu.numa + s->node.cpu_first[t->node];
	uint32_t ret = 0;

	if (t->gpus)
		return numas_of_gpus(s, t->node, t->gpus);
	for (uint32_t i = 0; i < nuse; i++)
		ret |= (uint32_t)1 << numa[use[i].cpu];
	return ret ? ret : at->numas;
}

bool fit_near_cpus(const struct work *w, uint32_t req, uint32_t node,
                   const struct fit_where *at)
{
	struct snap_task t = { .node = node };
	struct fit_where in = *at;
	struct roots roots;
	uint32_t nuse;

	/* In one NUMA node there is no choice. */
	if (count(at->numas) > 1) {
		nuse = fit_devices_cpus(w, req, &t, at->numas, w->use);
		in.numas = numas_of(w->snap, at, &t, w->use, nuse);
	}
	roots_read(&roots, w->snap, node);
	return serves(w, req, node, &in, &roots, 0);
}

static uint64_t lowest(uint64_t set, int64_t n)
{
	uint64_t ret = 0;

	for (; n > 0 && set; n--, set &= set - 1)
		ret |= set & -set;
	return ret;
}

/* Returns n of the open pieces: first those beside the GPUs of the task, then
 * those in these NUMA nodes, then any. */
static uint64_t nearest(const struct work *w, const struct snap_task *t,
                        uint64_t open, uint32_t numas, int64_t n)
{
	const struct snap *s = w->snap;
	uint64_t rest = idle_gpus(w, t->node) & ~t->gpus;
	uint64_t in = pieces_in(s, t->node, open, numas), ret;
	struct roots roots;

	roots_read(&roots, s, t->node);
	ret = take_beside(&roots, open, t->gpus, rest, n);
	ret |= lowest(in & ~ret, n - count(ret));
	return ret | lowest(open & ~ret, n - count(ret));
}

uint64_t fit_near_pieces(const struct work *w, uint32_t req,
                         const struct fit_where *at,
                         const struct snap_task *task,
                         const struct snap_cpu_use *use, uint32_t nuse)
{
	const struct snap *s = w->snap;
	uint32_t numas = numas_of(s, at, task, use, nuse);
	uint64_t ret = 0;

	for (uint32_t k = 0; k < s->dev.n; k++) {
		bool lists;
		uint64_t open;

		if (!s->req.devs[req].n[k])
			continue;
		open = open_of(w, req, task->node, at, k, &lists);
		if (s->req.near[req] >> k & 1)
			open = pieces_in(s, task->node, open, numas);
		ret |= nearest(w, task, open, numas, s->req.devs[req].n[k]);
	}
	return ret;
}

/* --- why there are too few --------------------------------------------- */

int64_t fit_near_most(const struct work *w, uint32_t req, uint32_t node,
                      uint32_t kind)
{
	static const struct fit_where anywhere = { ALL_NUMAS, ALL_GPUS };
	const struct snap *s = w->snap;
	int64_t gpus = (s->req.gpus[req] + 999) / 1000, all, pairs, best = 0;
	uint64_t set = gpus > 1 ? fit_devices_whole(w, req, node, &anywhere)
	                        : fit_devices_all(w, req, node);
	struct roots roots;
	bool lists;
	uint64_t open = open_of(w, req, node, &anywhere, kind, &lists);

	if (s->req.pcie[req] >> kind & 1) {
		roots_read(&roots, s, node);
		count_pairs(&roots, set, open, &all, &pairs);
		return pairs < gpus ? pairs : all;
	}
	for (uint32_t i = 0; i < fit_devices_nnumas(w, node); i++) {
		int64_t n = count(pieces_in(s, node, open, (uint32_t)1 << i));

		if (gpus && !(numas_of_gpus(s, node, set) >> i & 1))
			continue;
		best = n > best ? n : best;
	}
	return best;
}

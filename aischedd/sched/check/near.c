/* near.c - devices other than GPUs: none twice, each where it must be */
#include "aischedd/sched/check/near.h"

#include "aischedd/sched/check/align.h"
#include "aischedd/sched/check/lists.h"
#include "libcommon/limits.h"

bool check_near_matters(const struct snap *s, uint32_t req)
{
	if (s->req.pcie[req] || s->req.near[req])
		return true;
	for (uint32_t k = 0; k < s->dev.n && s->piece.n; k++) {
		if (s->req.devs[req].n[k] && snap_binds(s, req))
			return true;
	}
	return false;
}

bool check_near_could(const struct snap *s, uint32_t req, uint32_t node,
                      uint32_t set)
{
	for (uint32_t k = 0; k < s->dev.n && s->piece.n; k++) {
		int64_t all = 0, in = 0;

		for (uint32_t p = s->node.piece_first[node];
		     p < s->node.piece_first[node + 1]; p++) {
			uint8_t numa = s->piece.numa[p];

			if (s->piece.kind[p] != k)
				continue;
			all++;
			in += numa >= SNAP_NUMAS || set >> numa & 1;
		}
		if (all && in < s->req.devs[req].n[k])
			return false;
	}
	return true;
}

uint8_t *check_near_taken(const struct snap *s, struct arena *arena)
{
	uint32_t ntasks = s->run.n ? s->run.task_first[s->run.n] : 0;
	uint8_t *ret = arena_array(arena, uint8_t, s->piece.n);

	for (uint32_t i = 0; i < ntasks && s->piece.n; i++) {
		for (uint32_t p = 0; p < snap_node_npieces(s, s->task[i].node);
		     p++) {
			if (s->held[i] >> p & 1)
				ret[s->node.piece_first[s->task[i].node] + p] =
				    1;
		}
	}
	return ret;
}

/* The pieces of one kind that a task has, and the roots of its GPUs. */
struct beside {
	uint32_t npieces, ngpus;
	uint16_t piece[LIMIT_DEVICES], gpu[LIMIT_GPUS];
	int with[LIMIT_GPUS]; /* the piece beside this GPU, or -1 */
	bool seen[LIMIT_GPUS];
};

/* Give piece i a GPU under its root, by giving others of the pieces other GPUs
 * if need be. */
static bool match(struct beside *b, uint32_t i)
{
	for (uint32_t g = 0; g < b->ngpus; g++) {
		if (b->gpu[g] != b->piece[i] || !b->gpu[g] || b->seen[g])
			continue;
		b->seen[g] = true;
		if (b->with[g] < 0 || match(b, (uint32_t)b->with[g])) {
			b->with[g] = (int)i;
			return true;
		}
	}
	return false;
}

static bool is_under(const struct beside *b, uint16_t root)
{
	bool ret = false;

	for (uint32_t g = 0; g < b->ngpus; g++)
		ret |= root && b->gpu[g] == root;
	return ret;
}

/* Returns the most pairs of a piece and a GPU under its root. */
static uint32_t count_pairs(struct beside *b)
{
	uint32_t pairs = 0;

	for (uint32_t g = 0; g < b->ngpus; g++)
		b->with[g] = -1;
	for (uint32_t i = 0; i < b->npieces; i++) {
		for (uint32_t g = 0; g < b->ngpus; g++)
			b->seen[g] = false;
		pairs += match(b, i);
	}
	return pairs;
}

/* Whether each piece is under the root of a GPU, and beside a GPU of its own as
 * far as there are as many. */
static bool is_beside(struct beside *b)
{
	for (uint32_t i = 0; i < b->npieces; i++) {
		if (!is_under(b, b->piece[i]))
			return false;
	}
	return count_pairs(b) ==
	       (b->npieces < b->ngpus ? b->npieces : b->ngpus);
}

static void put_gpus(struct beside *b, const struct snap *s, uint32_t node,
                     uint64_t gpus)
{
	for (; gpus; gpus &= gpus - 1)
		b->gpu[b->ngpus++] =
		    s->gpu.root ? s->gpu.root[s->node.gpu_first[node] +
		                              (uint32_t)__builtin_ctzll(gpus)]
				: 0;
}

/* Returns the NUMA nodes of the task's GPUs; without GPUs, of its CPUs; if it
 * has neither, of its memory, or all. */
static uint32_t numas_of(const struct audit *a, const struct snap_task *t)
{
	struct snap_task gpus[2] = { *t, { .cpu_first = t->cpu_first } };
	uint32_t set = check_align_numas(a->s, gpus, a->plan->cpu_use);

	set = set ? set : check_align_numas(a->s, t, a->plan->cpu_use);
	set = set ? set : t->numas;
	return set ? set : UINT32_MAX;
}

/* Check the pieces of kind k that a task has. */
static int check_kind(const struct audit *a, uint32_t req, uint64_t job,
                      const struct snap_task *t, uint64_t held, uint32_t k)
{
	const struct snap *s = a->s;
	const char *name = s->dev.name[k], *node = s->node.name[t->node];
	uint32_t bound = check_align_numas(s, t, a->plan->cpu_use) | t->numas;
	uint32_t numas = numas_of(a, t), listed = 0;
	struct beside b = { 0 };

	put_gpus(&b, s, t->node, t->gpus);
	for (uint32_t i = 0; i < snap_node_npieces(s, t->node); i++) {
		uint32_t p = s->node.piece_first[t->node] + i;
		uint8_t numa = s->piece.numa[p];

		listed += s->piece.kind[p] == k;
		if (s->piece.kind[p] != k || !(held >> i & 1))
			continue;
		b.piece[b.npieces++] = s->piece.root[p];
		if (s->req.near[req] >> k & 1 &&
		    (numa >= SNAP_NUMAS || !(numas >> numa & 1)))
			return check_bad(a, job, "has %s %u of %s elsewhere",
			                 name, (unsigned)i, node);
		if (snap_binds(s, req) && bound && numa < SNAP_NUMAS &&
		    !(bound >> numa & 1))
			return check_bad(a, job,
			                 "has %s %u of %s in another NUMA node",
			                 name, (unsigned)i, node);
	}
	if (listed && b.npieces != (uint32_t)s->req.devs[req].n[k])
		return check_bad(a, job, "has %u %s of %s, not %d",
		                 (unsigned)b.npieces, name, node,
		                 s->req.devs[req].n[k]);
	if (s->req.pcie[req] >> k & 1 && (!listed || !is_beside(&b)))
		return check_bad(a, job, "has %s of %s not beside its GPUs",
		                 name, node);
	if (s->req.near[req] >> k & 1 && !listed)
		return check_bad(a, job, "has %s of %s, which lists none", name,
		                 node);
	return 0;
}

int check_near_task(const struct audit *a, uint32_t req, uint64_t job,
                    const struct snap_task *t, uint8_t *taken)
{
	const struct snap *s = a->s;
	uint64_t held = a->plan->held ? a->plan->held[t - a->plan->task] : 0;
	uint32_t n = snap_node_npieces(s, t->node);

	if (n < 64 && held >> n)
		return check_bad(a, job, "has no such devices of %s",
		                 s->node.name[t->node]);
	for (uint32_t i = 0; i < n; i++) {
		if (held >> i & 1 && taken[s->node.piece_first[t->node] + i]++)
			return check_bad(a, job,
			                 "device %u of %s is given twice",
			                 (unsigned)i, s->node.name[t->node]);
	}
	for (uint32_t k = 0; k < s->dev.n; k++) {
		if (check_kind(a, req, job, t, held, k) < 0)
			return -1;
	}
	return 0;
}

/* --- whether a task could have its devices ------------------------------- */

/* A search for n GPUs beside which a task has its devices. */
struct search {
	const struct snap *s;
	uint32_t req, node;
	const uint8_t *taken; /* by piece */
	uint32_t set;         /* NUMA nodes */
	uint64_t gpus;        /* those that the task can have */
	uint32_t tries, least;
};

/* Whether the task could have this piece with these GPUs, which are in these
 * NUMA nodes. */
static bool may_have(const struct search *f, uint32_t p, uint32_t k,
                     const struct beside *b, uint32_t numas)
{
	const struct snap *s = f->s;
	uint8_t numa = s->piece.numa[p];
	bool known = numa < SNAP_NUMAS;

	if (s->piece.kind[p] != k || f->taken[p])
		return false;
	if (s->req.near[f->req] >> k & 1 && (!known || !(numas >> numa & 1)))
		return false;
	if (snap_binds(s, f->req) && known && !(f->set >> numa & 1))
		return false;
	return !(s->req.pcie[f->req] >> k & 1) || is_under(b, s->piece.root[p]);
}

/* Whether the task could have its devices of kind k with these GPUs. */
static bool has_kind(const struct search *f, uint64_t gpus, uint32_t k)
{
	const struct snap *s = f->s;
	struct snap_task t[2] = { { .node = f->node, .gpus = gpus } };
	uint32_t need = (uint32_t)s->req.devs[f->req].n[k], listed = 0;
	uint32_t numas = gpus ? check_align_numas(s, t, NULL) : f->set;
	struct beside b = { 0 };

	put_gpus(&b, s, f->node, gpus);
	for (uint32_t i = 0; i < snap_node_npieces(s, f->node); i++) {
		uint32_t p = s->node.piece_first[f->node] + i;

		listed += s->piece.kind[p] == k;
		if (may_have(f, p, k, &b, numas))
			b.piece[b.npieces++] = s->piece.root[p];
	}
	/* Devices that are not listed are only counted. */
	if (!listed)
		return !((s->req.pcie[f->req] | s->req.near[f->req]) >> k & 1);
	return b.npieces >= need &&
	       (!(s->req.pcie[f->req] >> k & 1) ||
	        count_pairs(&b) >= (need < b.ngpus ? need : b.ngpus));
}

static void judge(struct search *f, uint64_t gpus)
{
	uint32_t groups = check_align_links(f->s, f->node, gpus);

	f->tries++;
	if (groups >= f->least)
		return;
	for (uint32_t k = 0; k < f->s->dev.n; k++) {
		if (f->s->req.devs[f->req].n[k] && !has_kind(f, gpus, k))
			return;
	}
	f->least = groups;
}

/* Try all sets of the chosen GPUs and n more of `left`. */
static void try_all(struct search *f, uint64_t chosen, uint64_t left,
                    uint32_t n)
{
	if (!n) {
		judge(f, chosen);
		return;
	}
	for (; (uint32_t)__builtin_popcountll(left) >= n &&
	       f->tries < CHECK_NEAR_TRIES;
	     left &= left - 1)
		try_all(f, chosen | (left & -left), left & (left - 1), n - 1);
}

uint32_t check_near_groups(const struct snap *s, uint32_t req, uint32_t node,
                           const uint8_t *taken, uint32_t set, uint64_t gpus,
                           uint32_t n, bool *all)
{
	struct search f = { s, req, node, taken, set, gpus, 0, UINT32_MAX };

	try_all(&f, 0, gpus, n);
	*all &= f.tries < CHECK_NEAR_TRIES;
	return f.least;
}

/* match.c - which nodes may run which request, whatever is free there */
#include "aischedd/sched/match.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "libcommon/map.h"

/*
 * The bits of a node say everything that requests can ask about. The first 64
 * hold the pool, the rounded size and the rank of the weight of the node. After
 * them comes a bit for each word of a rule, preference or taint, set if the
 * word holds on the node; then a bit for each of these words, set if the word
 * is a taint of the node; a bit for each GPU type that a request names; and a
 * bit for each model of GPU that can be partitioned.
 */
struct match {
	const struct snap *snap;
	struct arena *arena;
	/* by word: the number of its bit, or SNAP_NONE if no request or taint
	 * names the word */
	uint32_t *word_bit;
	uint32_t *type_bit; /* by GPU type: the number of its bit, or
	                       SNAP_NONE */
	uint32_t *word_of;  /* by bit: the word */
	/* Chains of those words of rules and preferences for which asks() is
	 * true, by the hash of the key; NULL if there are no such words. */
	uint32_t *ask_first, *ask_next; /* by word: the first of the chain of
	                                   its key; the next one in the chain */
	uint32_t nwords, ntypes;
	/* The first bits of taints, of GPU types and of models, and the number
	 * of all bits */
	size_t taints, types, models, nbits;
	/* the index in the bits of the word with the GPU memory of the node; 0:
	 * no request asks for GPU memory */
	size_t gpu_mem;
	/* likewise of the first word with the numbers of devices other than
	 * GPUs; 0: no request asks for any */
	size_t devs;
	/* Bits for partitions: of the models whose partitions are made as
	 * needed, and of the profiles that some GPU has for good. 0: no request
	 * asks for partitions */
	uint32_t nmodels;
	bool tmp;  /* some request asks for disk */
	bool soft; /* some node has a soft taint (PreferNoSchedule) */
	/* The different weights of nodes, ascending; nweights is 0 if all nodes
	 * have the same weight. */
	uint32_t nweights;
	int64_t *weight;

	uint32_t nclasses;
	struct node_class *class;
	struct arena_list classes; /* the memory of `class` */
	uint32_t *class_of;
	uint32_t *by_pool; /* all classes, in order of their pools */
	uint32_t *found;   /* scratch: a list of classes */
	struct allowed *allowed;
	bool *stack; /* scratch: values of expressions, see rule_run() */
};

static bool bit_get(const uint64_t *set, size_t bit)
{
	return set[bit / 64] >> bit % 64 & 1;
}

static void bit_set(uint64_t *set, size_t bit)
{
	set[bit / 64] |= (uint64_t)1 << bit % 64;
}

static void name_word(uint32_t *bit, uint32_t *n, uint32_t word)
{
	if (bit[word] == SNAP_NONE)
		bit[word] = (*n)++;
}

/* Whether a feature other than the word itself can make the word true, as with
 * "cores>8". Such a word is not of the form "key=value". */
static bool asks(const char *word)
{
	size_t key = strcspn(word, "=<>");

	return word[key] != '=' || !word[key + 1];
}

static size_t key_hash(const char *word)
{
	return hash_bytes(0, word, strcspn(word, "=<>"));
}

/* Chain the words of rules and preferences by the hash of their key, and set
 * for each word the chain that belongs to its key. */
static void chain_asks(struct match *m)
{
	const struct snap *s = m->snap;
	uint32_t *bucket, n = 0;
	size_t nbuckets = 16;

	for (uint32_t i = 0; i < s->nwords; i++)
		n += m->word_bit[i] != SNAP_NONE && asks(s->word[i]);
	if (!n)
		return;
	while (nbuckets < n)
		nbuckets *= 2;
	bucket = arena_array(m->arena, uint32_t, nbuckets);
	memset(bucket, 0xff, nbuckets * sizeof(*bucket));
	m->ask_first = arena_array(m->arena, uint32_t, s->nwords);
	m->ask_next = arena_array(m->arena, uint32_t, s->nwords);
	for (uint32_t i = 0; i < s->nwords; i++) {
		uint32_t *first = &bucket[key_hash(s->word[i]) % nbuckets];

		if (m->word_bit[i] == SNAP_NONE || !asks(s->word[i]))
			continue;
		m->ask_next[i] = *first;
		*first = i;
	}
	for (uint32_t i = 0; i < s->nwords; i++)
		m->ask_first[i] = bucket[key_hash(s->word[i]) % nbuckets];
}

static void name_words(struct match *m, const int32_t *rule, uint32_t from,
                       uint32_t to)
{
	for (uint32_t i = from; i < to; i++) {
		if (rule[i] >= 0)
			name_word(m->word_bit, &m->nwords, (uint32_t)rule[i]);
	}
}

/* Give a bit to each word that a rule or a preference names. Returns the length
 * of the longest rule or list of preferences. */
static uint32_t number_asked(struct match *m)
{
	const struct snap *s = m->snap;
	uint32_t longest = 0;

	m->word_bit = arena_array(m->arena, uint32_t, s->nwords);
	m->type_bit = arena_array(m->arena, uint32_t, s->nwords);
	for (uint32_t i = 0; i < s->nwords; i++)
		m->word_bit[i] = m->type_bit[i] = SNAP_NONE;
	for (uint32_t r = 0; r < s->req.n; r++) {
		uint32_t from = s->req.rule_first[r];
		uint32_t to = s->req.rule_first[r + 1];
		uint32_t like = s->req.prefer_first[r];
		uint32_t like_end = s->req.prefer_first[r + 1];

		if (to - from > longest)
			longest = to - from;
		if (like_end - like > longest)
			longest = like_end - like;
		name_words(m, s->rule, from, to);
		name_words(m, s->prefer, like, like_end);
		if (s->req.gpu_type[r] != SNAP_NONE)
			name_word(m->type_bit, &m->ntypes, s->req.gpu_type[r]);
		if (s->req.profile[r])
			m->nmodels = MIG_NMODELS + mig_nprofiles();
	}
	return longest;
}

static bool asks_gpu_mem(const struct snap *s)
{
	for (uint32_t r = 0; r < s->req.n; r++) {
		if (s->req.gpu_mem[r])
			return true;
	}
	return false;
}

static bool asks_devs(const struct snap *s)
{
	for (uint32_t r = 0; s->dev.n && r < s->req.n; r++) {
		if (devices_any(&s->req.devs[r]))
			return true;
	}
	return false;
}

/* Give a bit to each word that a rule, a preference or a taint names, and set
 * where each group of bits begins. */
static void number_words(struct match *m)
{
	const struct snap *s = m->snap;
	uint32_t longest = number_asked(m);

	chain_asks(m);
	for (uint32_t i = 0; s->node.n && i < s->node.taint_first[s->node.n];
	     i++) {
		name_word(m->word_bit, &m->nwords, s->taint[i]);
		m->soft |= constraint_taint_is_soft(s->word[s->taint[i]]);
	}
	m->word_of = arena_array(m->arena, uint32_t, m->nwords);
	for (uint32_t i = 0; i < s->nwords; i++) {
		if (m->word_bit[i] != SNAP_NONE)
			m->word_of[m->word_bit[i]] = i;
	}
	m->taints = 64 + (size_t)m->nwords;
	m->types = m->taints + m->nwords;
	m->models = m->types + m->ntypes;
	m->nbits = m->models + m->nmodels;
	if (asks_gpu_mem(s)) {
		m->gpu_mem = (m->nbits + 63) / 64;
		m->nbits = 64 * (m->gpu_mem + 1);
	}
	if (asks_devs(s)) {
		m->devs = (m->nbits + 63) / 64;
		m->nbits = 64 * m->devs + 8 * sizeof(struct device_counts);
	}
	m->stack = arena_array(m->arena, bool, longest);
}

static int by_weight(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* List the weights that nodes have, unless they are all equal. */
static void list_weights(struct match *m)
{
	const int64_t *weight = m->snap->node.weight;
	uint32_t n = m->snap->node.n, same = 0;

	while (same < n && weight[same] == weight[0])
		same++;
	if (same == n)
		return;
	m->weight = arena_array(m->arena, int64_t, n);
	memcpy(m->weight, weight, n * sizeof(*weight));
	qsort(m->weight, n, sizeof(*weight), by_weight);
	for (uint32_t i = 0; i < n; i++) {
		if (!i || m->weight[i] != m->weight[m->nweights - 1])
			m->weight[m->nweights++] = m->weight[i];
	}
}

/* Returns the rank of the node's weight among all weights: 0 for the least, at
 * most UINT16_MAX. */
static uint64_t weight_rank(const struct match *m, uint32_t node)
{
	const int64_t *at;

	if (!m->nweights)
		return 0;
	at = bsearch(&m->snap->node.weight[node], m->weight, m->nweights,
	             sizeof(*m->weight), by_weight);
	return at - m->weight < UINT16_MAX ? (uint64_t)(at - m->weight)
	                                   : UINT16_MAX;
}

/* Reduce an amount to the position of its highest bit and the three bits below
 * it, so that amounts of about the same size give the same number. */
static uint64_t size_of(int64_t amount)
{
	int high = amount ? 63 - __builtin_clzll((uint64_t)amount) : 0;

	return high < 3 ? (uint64_t)amount
	                : (uint64_t)high << 3 | ((amount >> (high - 3)) & 7);
}

/* Set the bits of all words that hold on a node because it has this feature or
 * taint (`word`). */
static void set_words(const struct match *m, uint32_t word, uint64_t *ret)
{
	const struct snap *s = m->snap;

	if (m->word_bit[word] != SNAP_NONE)
		bit_set(ret, 64 + m->word_bit[word]);
	if (!m->ask_first)
		return;
	for (uint32_t i = m->ask_first[word]; i != SNAP_NONE;
	     i = m->ask_next[i]) {
		if (constraint_word_holds(s->word[i], s->word[word]))
			bit_set(ret, 64 + m->word_bit[i]);
	}
}

/* Set the bits for the partitions that a node's GPUs have or can have. */
static void set_partitions(const struct match *m, uint32_t node, uint64_t *ret)
{
	const struct snap *s = m->snap;
	bool makes = !s->gpu.parts;

	for (uint32_t i = s->node.gpu_first[node];
	     s->gpu.parts && i < s->node.gpu_first[node + 1]; i++) {
		makes |= !mig_parts_fixed(s->gpu.parts[i]) &&
		         !(s->gpu.parts[i] & MIG_NO_PARTS);
		for (uint32_t u = 0; u < MIG_UNITS; u++)
			bit_set(ret, m->models + MIG_NMODELS +
			                 mig_parts_at(s->gpu.parts[i], u));
	}
	if (makes)
		bit_set(ret, m->models + s->node.mig[node]);
}

static void node_bits(const struct match *m, uint32_t node, uint64_t *ret)
{
	const struct snap *s = m->snap;
	const struct snap_nodes *n = &s->node;

	ret[0] = n->pool[node] | size_of(n->cpu_total[node]) << 8 |
	         size_of(n->mem_total[node]) << 17 |
	         (m->tmp ? size_of(n->tmp_total[node]) << 26 : 0) |
	         (uint64_t)(n->gpu_first[node + 1] - n->gpu_first[node]) << 40 |
	         weight_rank(m, node) << 48;
	for (uint32_t i = n->feature_first[node];
	     i < n->feature_first[node + 1]; i++)
		set_words(m, s->feature[i], ret);
	for (uint32_t i = n->taint_first[node]; i < n->taint_first[node + 1];
	     i++) {
		set_words(m, s->taint[i], ret);
		bit_set(ret, m->taints + m->word_bit[s->taint[i]]);
	}
	if (m->nmodels)
		set_partitions(m, node, ret);
	if (m->gpu_mem)
		ret[m->gpu_mem] = (uint64_t)n->gpu_mem[node];
	if (m->devs)
		memcpy(&ret[m->devs], &n->dev_total[node],
		       sizeof(*n->dev_total));
	for (uint32_t i = n->gpu_first[node];
	     m->ntypes && i < n->gpu_first[node + 1]; i++) {
		uint32_t type = s->gpu.type[i];

		if (type != SNAP_NONE && m->type_bit[type] != SNAP_NONE)
			bit_set(ret, m->types + m->type_bit[type]);
	}
}

static void add_to_class(struct match *m, uint32_t class, uint32_t node)
{
	const struct snap_nodes *n = &m->snap->node;
	const uint32_t *type = m->snap->gpu.type;
	const uint64_t *parts = m->snap->gpu.parts;
	struct node_class *c = &m->class[class];
	int64_t total[RES_N] = {
		[RES_CPU] = n->cpu_total[node],
		[RES_MEM] = n->mem_total[node],
		[RES_GPU] = (int64_t)1000 *
		            (n->gpu_first[node + 1] - n->gpu_first[node]),
	};

	for (int r = 0; r < RES_N; r++) {
		if (total[r] > c->most[r])
			c->most[r] = total[r];
	}
	if (n->tmp_total[node] > c->most_tmp)
		c->most_tmp = n->tmp_total[node];
	for (uint32_t i = n->gpu_first[node]; i < n->gpu_first[node + 1]; i++)
		c->mixed |=
		    type[i] != type[n->gpu_first[node]] || (parts && parts[i]);
	c->pool = n->pool[node];
	c->nnodes++;
	m->class_of[node] = class;
}

/* Find or make the class of nodes with these bits. slot: a hash table with open
 * addressing; an entry is a class plus one, or 0 if it is free. */
static uint32_t find_class(struct match *m, uint32_t *slot, size_t mask,
                           const uint64_t *bits, size_t size)
{
	size_t i = hash_bytes(0, bits, size) & mask;
	struct node_class *class;
	uint64_t *copy;

	for (; slot[i]; i = (i + 1) & mask) {
		if (!memcmp(m->class[slot[i] - 1].word, bits, size))
			return slot[i] - 1;
	}
	copy = arena_alloc(m->arena, size, 1);
	class = arena_push(m->arena, &m->classes, sizeof(*class));
	class->word = memcpy(copy, bits, size);
	m->class = m->classes.p;
	slot[i] = ++m->nclasses;
	return slot[i] - 1;
}

static void classify_nodes(struct match *m)
{
	uint32_t n = m->snap->node.n, *slot, class = 0;
	size_t size = (m->nbits + 63) / 64 * sizeof(uint64_t);
	uint64_t *bits = arena_alloc(m->arena, size, 1);
	size_t nslots = 16;

	while (nslots < 2 * (size_t)n)
		nslots *= 2;
	slot = arena_array(m->arena, uint32_t, nslots);
	m->class_of = arena_array(m->arena, uint32_t, n);
	for (uint32_t i = 0; i < n; i++) {
		memset(bits, 0, size);
		node_bits(m, i, bits);
		/* Consecutive nodes are often alike: compare with the class of
		 * the previous node first. */
		if (!i || memcmp(m->class[class].word, bits, size))
			class = find_class(m, slot, nslots - 1, bits, size);
		add_to_class(m, class, i);
	}
}

/* List the classes of each pool, the pool with the least weight first. */
static void list_by_pool(struct match *m)
{
	const struct snap_pools *pool = &m->snap->pool;
	uint64_t done = 0;
	uint32_t n = 0;

	for (uint32_t k = 0; k < pool->n; k++) {
		uint32_t next = SNAP_NONE;

		for (uint32_t i = 0; i < pool->n; i++) {
			if (!(done >> i & 1) &&
			    (next == SNAP_NONE ||
			     pool->weight[i] < pool->weight[next]))
				next = i;
		}
		done |= (uint64_t)1 << next;
		for (uint32_t c = 0; c < m->nclasses; c++) {
			if (m->class[c].pool == next)
				m->by_pool[n++] = c;
		}
	}
}

/* List the nodes of each class, and the classes in order of pools. */
static void list_classes(struct match *m)
{
	uint32_t *node = arena_array(m->arena, uint32_t, m->snap->node.n);

	for (uint32_t c = 0; c < m->nclasses; c++) {
		m->class[c].node = node;
		node += m->class[c].nnodes;
		m->class[c].nnodes = 0;
	}
	for (uint32_t i = 0; i < m->snap->node.n; i++) {
		struct node_class *c = &m->class[m->class_of[i]];

		c->node[c->nnodes++] = i;
	}
	m->by_pool = arena_array(m->arena, uint32_t, m->nclasses);
	m->found = arena_array(m->arena, uint32_t, m->nclasses);
	list_by_pool(m);
}

struct match *match_new(const struct snap *snap, struct arena *arena)
{
	struct match *m = arena_array(arena, struct match, 1);

	m->snap = snap;
	m->arena = arena;
	number_words(m);
	list_weights(m);
	for (uint32_t i = 0; i < snap->req.n; i++)
		m->tmp |= snap->req.tmp[i] > 0;
	classify_nodes(m);
	list_classes(m);
	m->allowed = arena_array(arena, struct allowed, snap->req.n);
	return m;
}

uint32_t match_nclasses(const struct match *m)
{
	return m->nclasses;
}

const struct node_class *match_class(const struct match *m, uint32_t class)
{
	return &m->class[class];
}

bool match_same_kind(const struct match *m, uint32_t a, uint32_t b)
{
	const struct node_class *x = &m->class[a], *y = &m->class[b];

	return x->pool == y->pool &&
	       !memcmp(x->word + 1, y->word + 1,
	               (m->nbits + 63) / 64 * sizeof(*x->word) -
	                   sizeof(*x->word));
}

uint32_t match_class_of(const struct match *m, uint32_t node)
{
	return m->class_of[node];
}

/* Evaluate a list of postfix expressions for a node with these bits. Leaves the
 * results in m->stack and returns how many there are. */
static uint32_t rule_run(const struct match *m, const int32_t *rule,
                         uint32_t from, uint32_t to, const uint64_t *bits)
{
	uint32_t n = 0;

	for (uint32_t i = from; i < to; i++) {
		if (rule[i] >= 0) {
			m->stack[n++] =
			    bit_get(bits, 64 + m->word_bit[rule[i]]);
			continue;
		}
		if (rule_count(rule[i])) {
			m->stack[n - 1] =
			    true; /* a count need not hold on each node */
			continue;
		}
		if (rule[i] == RULE_NOT) {
			m->stack[n - 1] = !m->stack[n - 1];
			continue;
		}
		n--;
		if (rule[i] == RULE_AND)
			m->stack[n - 1] &= m->stack[n];
		else
			m->stack[n - 1] |= m->stack[n];
	}
	return n;
}

static bool rule_holds(const struct match *m, uint32_t from, uint32_t to,
                       const uint64_t *bits)
{
	return !rule_run(m, m->snap->rule, from, to, bits) || m->stack[0];
}

/* Whether a word of the request's constraint names the taint. Words before
 * RULE_NOT do not count: "not x" does not tolerate x. */
static bool names(const struct match *m, uint32_t req, uint32_t taint)
{
	const struct snap *s = m->snap;
	uint32_t end = s->req.rule_first[req + 1];

	for (uint32_t i = s->req.rule_first[req]; i < end; i++) {
		if (s->rule[i] < 0 ||
		    (i + 1 < end && s->rule[i + 1] == RULE_NOT))
			continue;
		if ((uint32_t)s->rule[i] == taint ||
		    constraint_word_holds(s->word[s->rule[i]], s->word[taint]))
			return true;
	}
	return false;
}

/* With `soft`, whether the request's constraint names all soft taints of the
 * node; without, whether it names all other taints. */
static bool tolerates(const struct match *m, uint32_t req, const uint64_t *bits,
                      bool soft)
{
	const char *const *word = m->snap->word;

	for (uint32_t bit = 0; bit < m->nwords; bit++) {
		if (bit_get(bits, m->taints + bit) &&
		    constraint_taint_is_soft(word[m->word_of[bit]]) == soft &&
		    !names(m, req, m->word_of[bit]))
			return false;
	}
	return true;
}

/* Returns which preferences of the request the nodes of the class meet, a bit
 * each, the most important in the highest bit. A bit above these is set if the
 * request names all soft taints of the nodes. */
static uint32_t granted(const struct match *m, uint32_t req, uint32_t class)
{
	const struct snap *s = m->snap;
	const uint64_t *word = m->class[class].word;
	uint32_t n = rule_run(m, s->prefer, s->req.prefer_first[req],
	                      s->req.prefer_first[req + 1], word);
	uint32_t bits = !m->soft || tolerates(m, req, word, true);

	for (uint32_t i = 0; i < n; i++)
		bits = bits << 1 | m->stack[i];
	return bits;
}

static bool has_profile(const struct match *m, uint8_t profile,
                        const struct node_class *c)
{
	for (uint8_t model = 1; model < MIG_NMODELS; model++) {
		if (bit_get(c->word, m->models + model) &&
		    mig_has(model, profile))
			return true;
	}
	return bit_get(c->word, m->models + MIG_NMODELS + profile);
}

static bool has_devs(const struct match *m, uint32_t req,
                     const struct node_class *c)
{
	struct device_counts total;

	memcpy(&total, &c->word[m->devs], sizeof(total));
	return snap_has_devs(m->snap, req, 1, &total);
}

static enum match_lack class_lack(const struct match *m, uint32_t req,
                                  const struct node_class *c)
{
	const struct snap_reqs *r = &m->snap->req;
	uint32_t type = r->gpu_type[req];

	if (!(r->pools[req] >> c->pool & 1))
		return MATCH_POOL;
	if (r->gpus[req] && !c->most[RES_GPU])
		return MATCH_GPU;
	if (r->gpus[req] && type != SNAP_NONE &&
	    !bit_get(c->word, m->types + m->type_bit[type]))
		return MATCH_GPU_TYPE;
	if (r->profile[req] && !has_profile(m, r->profile[req], c))
		return MATCH_GPU_TYPE;
	if (r->gpu_mem[req] && (uint64_t)r->gpu_mem[req] > c->word[m->gpu_mem])
		return MATCH_GPU_MEMORY;
	if (m->devs && !has_devs(m, req, c))
		return MATCH_DEVICES;
	if (!rule_holds(m, r->rule_first[req], r->rule_first[req + 1], c->word))
		return MATCH_FEATURES;
	return tolerates(m, req, c->word, false) ? MATCH_NOTHING : MATCH_TAINTS;
}

static bool class_allows(const struct match *m, uint32_t req,
                         const struct node_class *c)
{
	return class_lack(m, req, c) == MATCH_NOTHING;
}

/* Returns where a part of a postfix rule begins: the part that ends just before
 * `end`. */
static uint32_t part_start(const struct snap *s, uint32_t end)
{
	for (int parts = 1; parts > 0;) {
		int32_t item = s->rule[--end];

		if (item >= 0)
			parts--;
		else if (item == RULE_AND || item == RULE_OR)
			parts++;
	}
	return end;
}

/* For each class, find which parts of the constraint that have a count, such as
 * "ib*2", hold on its nodes. */
static void find_counts(const struct match *m, uint32_t req, struct allowed *a)
{
	const struct snap *s = m->snap;
	uint8_t *counted = arena_array(m->arena, uint8_t, a->nclasses);

	for (uint32_t i = s->req.rule_first[req];
	     i < s->req.rule_first[req + 1]; i++) {
		uint32_t from;

		if (!rule_count(s->rule[i]))
			continue;
		from = part_start(s, i);
		for (uint32_t c = 0; c < a->nclasses; c++) {
			const uint64_t *bits = m->class[a->class[c]].word;

			if (rule_holds(m, from, i, bits))
				counted[c] |= (uint8_t)(1 << a->ncounts);
		}
		a->count[a->ncounts++] = rule_count(s->rule[i]);
	}
	a->counted = counted;
}

/* Returns a bitmap of the nodes that --nodelist and --exclude of the request
 * allow, or NULL if the request names no nodes. */
static const uint64_t *named_nodes(const struct match *m, uint32_t req)
{
	const struct snap *s = m->snap;
	uint32_t want = s->req.want_first[req];
	uint32_t want_end = s->req.want_first[req + 1];
	uint32_t avoid = s->req.avoid_first[req];
	uint32_t avoid_end = s->req.avoid_first[req + 1];
	size_t nwords = s->node.n / 64 + 1;
	uint64_t *only;

	if (want == want_end && avoid == avoid_end)
		return NULL;
	only = arena_array(m->arena, uint64_t, nwords);
	if (want == want_end)
		memset(only, 0xff, nwords * sizeof(*only));
	for (uint32_t i = want; i < want_end; i++) {
		if (class_allows(m, req, &m->class[m->class_of[s->want[i]]]))
			bit_set(only, s->want[i]);
	}
	for (uint32_t i = avoid; i < avoid_end; i++)
		only[s->avoid[i] / 64] &= ~((uint64_t)1 << s->avoid[i] % 64);
	return only;
}

/* Returns a bitmap of those nodes in `ever` (NULL: of all nodes) that the
 * request does not shun now. */
static const uint64_t *named_now(const struct match *m, uint32_t req,
                                 const uint64_t *ever)
{
	const struct snap *s = m->snap;
	uint32_t i = s->req.shun_first[req], end = s->req.shun_first[req + 1];
	size_t nwords = s->node.n / 64 + 1;
	uint64_t *only;

	if (i == end)
		return ever;
	only = arena_array(m->arena, uint64_t, nwords);
	if (ever)
		memcpy(only, ever, nwords * sizeof(*only));
	else
		memset(only, 0xff, nwords * sizeof(*only));
	for (; i < end; i++)
		only[s->shun[i] / 64] &= ~((uint64_t)1 << s->shun[i] % 64);
	return only;
}

/* Returns the rank of the class for the request, the larger the better: by the
 * preferences that its nodes meet, then by its weight. */
static uint32_t standing(const struct match *m, uint32_t req, uint32_t class)
{
	return granted(m, req, class) << 16 |
	       (UINT16_MAX - (uint32_t)(m->class[class].word[0] >> 48));
}

/* Returns a copy of the bitmap `only`. The nodes that the request names
 * (--nodelist) are removed from it if their standing is below `least`. */
static const uint64_t *best_named(const struct match *m, uint32_t req,
                                  const uint64_t *only, uint32_t least)
{
	const struct snap *s = m->snap;
	size_t nwords = s->node.n / 64 + 1;
	uint64_t *best = arena_array(m->arena, uint64_t, nwords);

	memcpy(best, only, nwords * sizeof(*best));
	for (uint32_t i = s->req.want_first[req];
	     i < s->req.want_first[req + 1]; i++) {
		uint32_t node = s->want[i];

		if (standing(m, req, m->class_of[node]) < least)
			best[node / 64] &= ~((uint64_t)1 << node % 64);
	}
	return best;
}

/* Returns `a` with only those classes whose standing is at least `least`. */
static struct allowed best_of(const struct match *m, uint32_t req,
                              const struct allowed *a, const uint32_t *stands,
                              uint32_t least)
{
	struct allowed best = *a;
	uint32_t *class = arena_array(m->arena, uint32_t, a->nclasses);
	uint8_t *counted = arena_array(m->arena, uint8_t, a->nclasses);

	best.nclasses = 0;
	for (uint32_t i = 0; i < a->nclasses; i++) {
		if (stands[i] < least)
			continue;
		counted[best.nclasses] = a->counted[i];
		class[best.nclasses++] = a->class[i];
	}
	best.class = class;
	best.counted = counted;
	if (a->only)
		best.only = best_named(m, req, a->only, least);
	return best;
}

/* Returns the highest standing below `above`, or 0 if no class has a lower one.
 */
static uint32_t next_lower(const uint32_t *stands, uint32_t n, uint64_t above)
{
	uint32_t next = 0;

	for (uint32_t i = 0; i < n; i++) {
		if (stands[i] < above && stands[i] > next)
			next = stands[i];
	}
	return next;
}

static void find_best(const struct match *m, uint32_t req, struct allowed *a)
{
	uint32_t *stands = arena_array(m->arena, uint32_t, a->nclasses);
	uint32_t lowest = UINT32_MAX;
	uint64_t above = (uint64_t)UINT32_MAX + 1;
	struct allowed best[SNAP_MOST_TIERS], *copy;

	for (uint32_t i = 0; i < a->nclasses; i++) {
		stands[i] = standing(m, req, a->class[i]);
		if (stands[i] < lowest)
			lowest = stands[i];
	}
	while (a->nbest < SNAP_MOST_TIERS) {
		uint32_t least = next_lower(stands, a->nclasses, above);

		if (least <= lowest)
			break;
		best[a->nbest++] = best_of(m, req, a, stands, least);
		above = least;
	}
	copy = arena_array(m->arena, struct allowed, a->nbest);
	memcpy(copy, best, a->nbest * sizeof(*copy));
	a->best = copy;
}

/* Returns a copy of `a` as if the request shunned no nodes. The copy does not
 * have the sets of best classes. */
static const struct allowed *unshunned(const struct match *m,
                                       const struct allowed *a)
{
	struct allowed *copy = arena_array(m->arena, struct allowed, 1);

	*copy = *a;
	copy->only = a->ever;
	copy->nbest = 0;
	return copy;
}

const struct allowed *match_req(struct match *m, uint32_t req)
{
	struct allowed *a = &m->allowed[req];
	uint32_t *class, n = 0;

	if (a->known)
		return a;
	for (uint32_t i = 0; i < m->nclasses; i++) {
		if (class_allows(m, req, &m->class[m->by_pool[i]]))
			m->found[n++] = m->by_pool[i];
	}
	class = arena_array(m->arena, uint32_t, n);
	memcpy(class, m->found, n * sizeof(*class));
	*a = (struct allowed){ .known = true,
		               .nclasses = n,
		               .class = class,
		               .ever = named_nodes(m, req) };
	a->only = named_now(m, req, a->ever);
	find_counts(m, req, a);
	if (a->only != a->ever)
		a->unshunned = unshunned(m, a);
	if (m->soft || m->nweights ||
	    m->snap->req.prefer_first[req] < m->snap->req.prefer_first[req + 1])
		find_best(m, req, a);
	return a;
}

enum match_lack match_closest(struct match *m, uint32_t req)
{
	const struct snap *s = m->snap;
	uint32_t want = s->req.want_first[req];
	uint32_t nwant = s->req.want_first[req + 1] - want;
	uint32_t n = nwant ? nwant : m->nclasses;
	enum match_lack closest = MATCH_POOL;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t c = nwant ? m->class_of[s->want[want + i]] : i;
		enum match_lack lack = class_lack(m, req, &m->class[c]);

		if (lack > closest)
			closest = lack;
	}
	return closest;
}

bool match_could_use(struct match *m, uint32_t req, uint32_t node)
{
	const struct allowed *a = match_req(m, req);

	if (!match_allows(a, node))
		return false;
	for (uint32_t i = 0; i < a->nclasses; i++) {
		if (a->class[i] == match_class_of(m, node))
			return true;
	}
	return false;
}

/* read_node.c - text to snapshots: nodes and their devices */
#include <string.h>

#include "aischedd/sched/text/reader.h"
#include "libcommon/hostlist.h"
#include "libcommon/limits.h"

/* Append one item of a list to ret: "5", "0-7", "0*4", or a word. room: how
 * many values the item may add. */
static int read_item(struct snap_reader *r, char *item, size_t size,
                     uint32_t room, struct buf *ret)
{
	char *times = item, *last = reader_part(&times, '*');
	uint32_t max = size == sizeof(uint8_t) ? UINT8_MAX : UINT16_MAX;
	uint32_t first = SNAP_NONE, end, n = 1, step = 0;

	if (times && reader_u32(r, times, LIMIT_CPUS, &n) < 0)
		return -1;
	if (size == sizeof(uint32_t)) {
		if (strcmp(item, "-") != 0 &&
		    reader_name(r, SPACE_WORD, item, &first) < 0)
			return -1;
	} else {
		item = reader_part(&last, '-');
		if (reader_u32(r, item, max, &first) < 0 ||
		    (last && reader_u32(r, last, max, &end) < 0))
			return -1;
		if (last && (times || end < first))
			return reader_bad(r, "bad range to", last);
		n = last ? end - first + 1 : n;
		step = last != NULL;
	}
	if (n > room)
		return reader_bad(r, "too many values from", item);
	reader_fill(ret, size, first, step, n);
	return 0;
}

/* Set ret to n values of `size` bytes each: those of the list `text` or, if
 * text is NULL, first, first + step, ... */
static int read_list(struct snap_reader *r, char *text, size_t size, uint32_t n,
                     uint32_t first, uint32_t step, struct buf *ret)
{
	const char *list = text;

	buf_clear(ret);
	if (!text) {
		reader_fill(ret, size, first, step, n);
		return 0;
	}
	for (char *item; (item = reader_part(&text, ','));) {
		if (read_item(r, item, size, n - (uint32_t)(ret->len / size),
		              ret) < 0)
			return -1;
	}
	return ret->len == n * size
	           ? 0
	           : reader_bad(r, "too few values from", list);
}

/* The lists of a node line: indices of node_line.text and node_line.list. */
enum {
	GPU_TYPE,
	GPU_NUMA,
	GPU_LINK,
	GPU_ROOT,
	GPU_FREE,
	CORE,
	NUMA,
	THREAD_FREE,
	FEATURES,
	TAINTS,
	NLISTS
};

struct node_line {
	uint32_t ngpus, ncpus;
	char *numa_mem, *parts, *pieces;
	uint32_t npieces;
	uint8_t piece_kind[LIMIT_DEVICES], piece_numa[LIMIT_DEVICES];
	uint16_t piece_root[LIMIT_DEVICES];
	struct buf sizes;            /* int64_t, MiB */
	uint64_t of_gpu[LIMIT_GPUS]; /* partitions, see libcommon/mig.h */
	char *text[NLISTS];
	struct buf list[NLISTS];
};

static int read_node_key(struct snap_reader *r, struct node_line *line,
                         const char *key, char *text)
{
	static const char *const word[NLISTS] = {
		[GPU_TYPE] = "gpu_type", [GPU_NUMA] = "gpu_numa",
		[GPU_LINK] = "gpu_link", [GPU_ROOT] = "gpu_root",
		[GPU_FREE] = "gpu_free", [CORE] = "core",
		[NUMA] = "numa",         [THREAD_FREE] = "thread_free",
		[FEATURES] = "features", [TAINTS] = "taints",
	};

	if (!text)
		return reader_bad(r, "no value for", key);
	if (!strcmp(key, "gpus"))
		return reader_u32(r, text, LIMIT_GPUS, &line->ngpus);
	if (!strcmp(key, "threads"))
		return reader_u32(r, text, LIMIT_CPUS, &line->ncpus);
	if (!strcmp(key, "numa_mem")) {
		line->numa_mem = text;
		return 0;
	}
	if (!strcmp(key, "parts")) {
		line->parts = text;
		return 0;
	}
	if (!strcmp(key, "pieces")) {
		line->pieces = text;
		return 0;
	}
	for (int i = 0; i < NLISTS; i++) {
		if (!strcmp(key, word[i])) {
			line->text[i] = text;
			return 0;
		}
	}
	return reader_bad(r, "unknown key", key);
}

/* Read "32G,32G", an amount for each NUMA node. */
static int read_numa_mem(struct snap_reader *r, struct node_line *l)
{
	char *text = l->numa_mem;

	buf_clear(&l->sizes);
	for (char *item; text && (item = reader_part(&text, ','));) {
		int64_t mib;

		if (COUNT(&l->sizes, int64_t) == SNAP_NUMAS)
			return reader_bad(r, "too many NUMA nodes from", item);
		if (reader_mib(r, item, &mib) < 0)
			return -1;
		buf_add(&l->sizes, &mib, sizeof(mib));
	}
	return 0;
}

/* Read "3g.40gb@0/3g.40gb@4,-", the partitions of each GPU. */
static int read_parts(struct snap_reader *r, struct node_line *l)
{
	char *text = l->parts;
	uint32_t n = 0;

	for (char *item; text && (item = reader_part(&text, ',')); n++) {
		if (n == l->ngpus)
			return reader_bad(r, "too many values from", item);
		if (strcmp(item, "-") != 0 &&
		    !mig_marks_parse(item, '/', &l->of_gpu[n]) &&
		    mig_parts_parse(item, '/', &l->of_gpu[n], r->err) < 0)
			return reader_in_line(r);
		r->has_parts |= l->of_gpu[n] != 0;
	}
	return 0;
}

/* Read "rdma@1/0,rdma@2/-", the kind, root and NUMA node of each piece. */
static int read_pieces(struct snap_reader *r, struct node_line *l)
{
	char *text = l->pieces;

	l->npieces = 0;
	for (char *item; text && (item = reader_part(&text, ','));) {
		char *root = item, *kind = reader_part(&root, '@');
		char *numa = root;
		uint32_t n, at = PIECE_NOWHERE, index;

		root = root ? reader_part(&numa, '/') : NULL;
		if (!root || !numa || l->npieces == LIMIT_DEVICES)
			return reader_bad(r, "bad pieces from", kind);
		if (reader_name(r, SPACE_DEV, kind, &index) < 0 ||
		    reader_u32(r, root, UINT16_MAX, &n) < 0 ||
		    (strcmp(numa, "-") != 0 &&
		     reader_u32(r, numa, SNAP_NUMAS - 1, &at) < 0))
			return -1;
		l->piece_kind[l->npieces] = (uint8_t)index;
		l->piece_root[l->npieces] = (uint16_t)n;
		l->piece_numa[l->npieces++] = (uint8_t)at;
	}
	return 0;
}

/* Check that numbers of NUMA nodes are below SNAP_NUMAS. Code that runs before
 * snap_check() shifts by them. */
static int check_numas(struct snap_reader *r, const struct node_line *l,
                       int list)
{
	const uint8_t *numa = (const uint8_t *)l->list[list].data;

	for (size_t i = 0; i < l->list[list].len; i++) {
		if (numa[i] >= SNAP_NUMAS)
			return reader_bad(r, "NUMA node above 31 in",
			                  l->text[list]);
	}
	return 0;
}

static int read_node_lists(struct snap_reader *r, struct node_line *l)
{
	struct buf *b = l->list;
	char **t = l->text;

	if (read_numa_mem(r, l) < 0 || read_parts(r, l) < 0 ||
	    read_pieces(r, l) < 0)
		return -1;
	/* If a single type is given, it applies to all GPUs. */
	if (t[GPU_TYPE] && !strpbrk(t[GPU_TYPE], ",*") && l->ngpus) {
		uint32_t type;

		if (reader_name(r, SPACE_WORD, t[GPU_TYPE], &type) < 0)
			return -1;
		reader_fill(&b[GPU_TYPE], 4, type, 0, l->ngpus);
	} else if (read_list(r, t[GPU_TYPE], 4, l->ngpus, SNAP_NONE, 0,
	                     &b[GPU_TYPE]) < 0) {
		return -1;
	}
	if (read_list(r, t[GPU_NUMA], 1, l->ngpus, 0, 0, &b[GPU_NUMA]) < 0 ||
	    read_list(r, t[GPU_LINK], 1, l->ngpus, 0, 0, &b[GPU_LINK]) < 0 ||
	    read_list(r, t[GPU_ROOT], 2, l->ngpus, 0, 0, &b[GPU_ROOT]) < 0 ||
	    read_list(r, t[GPU_FREE], 2, l->ngpus, FREE_DERIVED, 0,
	              &b[GPU_FREE]) < 0 ||
	    read_list(r, t[CORE], 2, l->ncpus, 0, 1, &b[CORE]) < 0 ||
	    read_list(r, t[NUMA], 1, l->ncpus, 0, 0, &b[NUMA]) < 0 ||
	    check_numas(r, l, GPU_NUMA) < 0 || check_numas(r, l, NUMA) < 0 ||
	    read_list(r, t[THREAD_FREE], 2, l->ncpus, FREE_DERIVED, 0,
	              &b[THREAD_FREE]) < 0 ||
	    reader_names(r, SPACE_WORD, t[FEATURES], &b[FEATURES]) < 0)
		return -1;
	return reader_names(r, SPACE_WORD, t[TAINTS], &b[TAINTS]);
}

static int add_node(struct snap_reader *r, const struct node_line *l,
                    char *name)
{
	if (r->rows[SECTION_NODE] == LIMIT_NODES ||
	    COUNT(&r->gpu_left, uint16_t) + COUNT(&r->thread_left, uint16_t) >
	        MAX_DEVICES)
		return reader_bad(r, "too many nodes or devices with", name);
	if (reader_new_name(r, SPACE_NODE, name) < 0)
		return -1;
	reader_end_row(r, SECTION_NODE, r->value);
	APPEND(&r->gpu_first, uint32_t, COUNT(&r->gpu_numa, uint8_t));
	APPEND(&r->cpu_first, uint32_t, COUNT(&r->numa, uint8_t));
	APPEND(&r->numa_first, uint32_t, COUNT(&r->numa_mem, int64_t));
	APPEND(&r->feature_first, uint32_t, COUNT(&r->feature, uint32_t));
	APPEND(&r->taint_first, uint32_t, COUNT(&r->taint, uint32_t));
	reader_append(&r->gpu_type, &l->list[GPU_TYPE]);
	reader_append(&r->gpu_numa, &l->list[GPU_NUMA]);
	reader_append(&r->gpu_link, &l->list[GPU_LINK]);
	reader_append(&r->gpu_root, &l->list[GPU_ROOT]);
	r->has_roots |= l->text[GPU_ROOT] != NULL;
	APPEND(&r->piece_first, uint32_t, COUNT(&r->piece_kind, uint8_t));
	buf_add(&r->piece_kind, l->piece_kind, l->npieces);
	buf_add(&r->piece_numa, l->piece_numa, l->npieces);
	buf_add(&r->piece_root, l->piece_root,
	        l->npieces * sizeof(*l->piece_root));
	reader_append(&r->gpu_free, &l->list[GPU_FREE]);
	buf_add(&r->gpu_parts, l->of_gpu, l->ngpus * sizeof(*l->of_gpu));
	reader_append(&r->core, &l->list[CORE]);
	reader_append(&r->numa, &l->list[NUMA]);
	reader_append(&r->thread_free, &l->list[THREAD_FREE]);
	reader_append(&r->numa_mem, &l->sizes);
	reader_append(&r->feature, &l->list[FEATURES]);
	reader_append(&r->taint, &l->list[TAINTS]);
	reader_fill(&r->gpu_left, sizeof(uint16_t), 1000, 0, l->ngpus);
	reader_fill(&r->thread_left, sizeof(uint16_t), 1000, 0, l->ncpus);
	return 0;
}

static int read_node_line(struct snap_reader *r, char *rest,
                          struct node_line *line, struct hostlist *hosts)
{
	char *name = reader_part(&rest, ' ');

	reader_need_one(r, SECTION_POOL, SPACE_POOL);
	reader_defaults(SECTION_NODE, r->value);
	for (char *text; (text = reader_part(&rest, ' '));) {
		char *key = reader_part(&text, '=');
		int status =
		    *key ? reader_field(r, SECTION_NODE, r->value, key, text)
			 : 1;

		if (status < 0 ||
		    (!status && read_node_key(r, line, key, text) < 0))
			return -1;
	}
	if (reader_must_say(r, SECTION_NODE, "cpus") < 0 ||
	    read_node_lists(r, line) < 0)
		return -1;
	/* A single name may be longer than hostlist_parse() allows. */
	if (!strpbrk(name, "[,"))
		return add_node(r, line, name);
	if (hostlist_parse(hosts, name, r->err) < 0)
		return reader_in_line(r);
	for (size_t i = 0; i < hosts->n; i++) {
		if (add_node(r, line, hosts->name[i]) < 0)
			return -1;
	}
	return 0;
}

int reader_node(struct snap_reader *r, char *rest)
{
	struct node_line line = { 0 };
	struct hostlist hosts = { 0 };
	int status = read_node_line(r, rest, &line, &hosts);

	for (int i = 0; i < NLISTS; i++)
		buf_free(&line.list[i]);
	buf_free(&line.sizes);
	hostlist_free(&hosts);
	return status;
}

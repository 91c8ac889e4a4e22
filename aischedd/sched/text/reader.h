/*
 * reader.h - what the parts of the reader of snapshots share
 *
 * reader.c knows names, numbers and fields; read_node.c and read_job.c the
 * lines that have lists; read.c the rest.  Functions that can fail return -1,
 * with "line N: ..." in r->err.
 */
#ifndef AISCHEDD_SCHED_TEXT_READER_H
#define AISCHEDD_SCHED_TEXT_READER_H

#include "aischedd/sched/text/fields.h"
#include "libcommon/buf.h"
#include "libcommon/map.h"

/* Bounds, because a few bytes of text must not become gigabytes of snapshot. */
enum { MAX_DEVICES = 1 << 22, MAX_TASKS = 1 << 20, MAX_MEMBERS = 1 << 22 };

struct snap_name {
	struct snap_name *next; /* next with the same hash */
	const char *text;
	uint32_t index;
};

/* A request and its values as a key, by which equal requests are found. */
struct shape {
	struct shape *next; /* next with the same hash */
	const char *key;
	size_t len;
	uint32_t index;
};

/* A value while it is read; FIELD_AMOUNT and FIELD_DEVS use all of v, other
 * kinds only v[0]. */
struct snap_value {
	int64_t v[RES_N];
	bool said;
};

struct snap_reader {
	struct arena *arena;
	struct err *err;
	unsigned line;
	struct snap *snap;

	struct map names;         /* by hash of space and text */
	struct buf name[NSPACES]; /* const char *: the names by index */
	struct map shapes;

	/* Columns while they grow; they are copied to the arena at the end. */
	struct buf field[NSECTIONS][MAX_FIELDS];
	uint32_t rows[NSECTIONS];
	/* of the present line: the fields of its section */
	struct snap_value value[MAX_FIELDS];
	/* of the present line: the fields of its request */
	struct snap_value req[MAX_FIELDS];
	struct buf gpu_first, gpu_type, gpu_numa, gpu_link, gpu_free;
	struct buf gpu_parts; /* uint64_t, all 0 unless has_parts */
	bool has_parts;
	struct buf gpu_root; /* uint16_t, all 0 unless has_roots */
	bool has_roots;
	struct buf piece_first, piece_kind, piece_numa, piece_root;
	struct buf held; /* uint64_t: the pieces of each running task */
	struct buf cpu_first, core, numa, thread_free;
	struct buf numa_first, numa_mem;
	struct buf feature_first, feature, taint_first, taint;
	struct buf rule_first, rule, prefer_first, prefer;
	struct buf want_first, want, avoid_first, avoid, shun_first, shun;
	struct buf beside_first, beside;
	struct buf license_first, license_use;
	struct buf pend_req, resumes, member_first, member;
	struct buf run_job, run_req, task_first, task, cpu_use;
	struct buf promise, promise_node;
	struct buf run_claim_first, run_claim, pend_claim_first, pend_claim;
	struct buf resv_node_first, resv_node, resv_user_first, resv_user;

	/* Free thousandths of each GPU and CPU after the running tasks read so
	 * far */
	struct buf gpu_left, thread_left;
};

#define APPEND(buf, type, value) buf_add((buf), &(type){ value }, sizeof(type))
#define COUNT(buf, type)         ((uint32_t)((buf)->len / sizeof(type)))

/* A free amount that the text does not give: it is derived from the runs, see
 * snap_free_derive(). */
#define FREE_DERIVED UINT16_MAX

int reader_bad(const struct snap_reader *r, const char *what, const char *text);

/* Put the line number before the error of a libcommon parser. Returns -1. */
int reader_in_line(const struct snap_reader *r);

/* Returns the part of *list before the next sep, or NULL at the end. Replaces
 * this sep by a null byte and moves *list behind it. */
char *reader_part(char **list, char sep);

/* Returns the name if it is known, or NULL. */
const struct snap_name *reader_find(const struct snap_reader *r,
                                    enum name_space space, const char *text);

/* Read a name and set *ret to its index; text is unescaped in place. Words and
 * users are added when first named; all other names must be known. */
int reader_name(struct snap_reader *r, enum name_space space, char *text,
                uint32_t *ret);

/* Append the indices of the names in a comma-separated list to ret, as
 * uint32_t. text NULL: an empty list. */
int reader_names(struct snap_reader *r, enum name_space space, char *text,
                 struct buf *ret);

/* Read the nodes of a claim, "n0,n1*4", and append one for each task to ret.
 * text NULL: no nodes. */
int reader_claim(struct snap_reader *r, char *text, struct buf *ret);

/* Add a name. Fails if it exists already. */
int reader_new_name(struct snap_reader *r, enum name_space space, char *text);

int reader_int(const struct snap_reader *r, const char *text, int64_t min,
               int64_t max, int64_t *ret);
int reader_u32(const struct snap_reader *r, const char *text, uint32_t max,
               uint32_t *ret);

/* Read an amount of memory, in MiB. */
int reader_mib(const struct snap_reader *r, const char *text, int64_t *ret);

/* Read the fields of a line. reader_defaults() sets all to their defaults.
 * reader_field() reads one; it returns 1, or 0 if the section has no field
 * `key`. reader_value() returns one by its key. reader_must_say() fails if the
 * key was not given. reader_end_row() appends all values to the columns. */
void reader_defaults(int section, struct snap_value *value);
int reader_field(struct snap_reader *r, int section, struct snap_value *value,
                 const char *key, char *text);
struct snap_value *reader_value(struct snap_value *value, int section,
                                const char *key);
int reader_must_say(const struct snap_reader *r, int section, const char *key);
void reader_end_row(struct snap_reader *r, int section,
                    const struct snap_value *value);

/* If the text has no pool, or no queue, add one with the default values. */
void reader_need_one(struct snap_reader *r, int section, enum name_space space);

/* Append n values of size bytes to a column: first, first + step, ... */
void reader_fill(struct buf *column, size_t size, uint32_t first, uint32_t step,
                 uint32_t n);
void reader_append(struct buf *column, const struct buf *list);

/* Read a line; rest: the text after the keyword. */
int reader_node(struct snap_reader *r, char *rest);
int reader_run(struct snap_reader *r, char *rest);
int reader_pend(struct snap_reader *r, char *rest);

#endif

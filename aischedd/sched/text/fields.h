/*
 * fields.h - the columns of a snapshot that have one value for each row
 *
 * One table for the reader and the writer of text. Lists of varying length
 * (devices, words, tasks, members) are not in the table: reader and writer have
 * code of their own for them.
 */
#ifndef AISCHEDD_SCHED_TEXT_FIELDS_H
#define AISCHEDD_SCHED_TEXT_FIELDS_H

#include <stddef.h>

#include "aischedd/sched/snap.h"

/* How a value is written, and thereby the type of its column. */
enum field_kind {
	FIELD_I64,    /* int64_t */
	FIELD_MILLI,  /* int64_t, "1.5" */
	FIELD_MIB,    /* int64_t, "64G" */
	FIELD_AMOUNT, /* int64_t[RES_N], "cpus:1.5,mem:64G" */
	FIELD_DEVS,   /* struct device_counts, "rdma:2,fpga:1" */
	FIELD_U32,    /* uint32_t */
	FIELD_U16,    /* uint16_t */
	FIELD_U8,     /* uint8_t */
	FIELD_FLAG,   /* uint8_t, the key alone means 1 */
	FIELD_NOT,    /* uint8_t, the key alone means 0 */
	FIELD_NAME,   /* uint8_t, one of names[] */
	FIELD_REF,    /* uint32_t, the index of something that has a name */
	FIELD_LEVEL,  /* uint8_t, the name of a level of the topology */
	FIELD_SPREAD, /* uint8_t, the name of a level, or "node" */
	FIELD_POOLS,  /* uint64_t, names of pools */
	FIELD_KINDS   /* uint8_t, names of kinds of devices */
};

/* The name spaces of the text: two things of different kinds may have
 * the same name. */
enum name_space {
	SPACE_POOL,
	SPACE_LEVEL,
	SPACE_DOMAIN,
	SPACE_NODE,
	SPACE_QUEUE,
	SPACE_LICENSE,
	SPACE_ARRAY,
	SPACE_DEV,
	SPACE_RESV,
	SPACE_USER,
	SPACE_WORD,
	SPACE_JOB, /* running jobs */
	NSPACES
};

enum {
	SECTION_POLICY, /* a single row: its columns are values of struct snap,
	                   not arrays */
	SECTION_POOL,
	SECTION_DEV,
	SECTION_DOMAIN,
	SECTION_NODE,
	SECTION_QUEUE,
	SECTION_LICENSE,
	SECTION_ARRAY,
	SECTION_RESV,
	SECTION_REQ,
	SECTION_RUN,
	SECTION_PEND,
	NSECTIONS
};

enum { MAX_FIELDS = 32 }; /* the most fields of one section */

/* Special values of snap_field.def. */
#define FIELD_DERIVED \
	INT64_MIN /* computed by the reader if the text does not give it */
#define FIELD_MUST INT64_MAX /* always written */

struct snap_field {
	const char *key;
	enum field_kind kind;
	size_t column; /* offset of the pointer to the column in struct snap */
	int64_t def;
	enum name_space space; /* of FIELD_REF, FIELD_LEVEL and FIELD_SPREAD */
	const char *const *names; /* of FIELD_NAME, NULL-terminated */
};

struct section {
	const char *keyword; /* first word of its lines; NULL: its fields are on
	                        run and pend lines */
	const struct snap_field *field;
	size_t nfields;
	size_t count; /* offset of the number of rows in struct snap */
};

extern const struct section snap_section[NSECTIONS];

/*
 * Amounts that would be free if nothing but the jobs of the snapshot used any.
 * The text gives a free amount only if it differs from the one here.
 */
struct snap_free {
	int64_t *cpu, *mem, *tmp, *slot; /* by node */
	struct device_counts *dev;       /* by node */
	uint16_t *gpu, *thread;          /* by index in snap.gpu, snap.cpu */
	int64_t *license;
};

struct snap_free snap_free_derive(const struct snap *snap, struct arena *arena);

/* Whether numbers of devices stand for FIELD_DERIVED. */
bool field_is_derived(const struct device_counts *counts);

/* Returns the size in bytes of a value of this kind in a column. */
size_t field_size(enum field_kind kind);

/* Returns the column of the snapshot. */
void *field_column(const struct snap *snap, const struct snap_field *field);

#endif

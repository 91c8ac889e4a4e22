/*
 * mig.h - partitions of GPUs: which profiles a model has, and where each fits;
 * and parts of GPUs by memory
 *
 * A unit is one of the memory slices of a GPU. A partition is a profile and the
 * unit at which it starts; it occupies as many consecutive units as its profile
 * has. Each profile may start only at certain units, so whether another
 * partition fits depends on where the present ones are, not only on how many
 * units are free.
 *
 * A GPU may have partitions for good. All of them are one number: its byte i is
 * the profile of the partition that starts at unit i, or 0. MIG_HELD is added
 * to the profile if others than jobs use that partition.
 *
 * If the partitions of a GPU are made as needed, its number has no profiles. A
 * byte i of MIG_HELD says that others than jobs use unit i. MIG_NO_WHOLE and
 * MIG_NO_PARTS say that the GPU is only given in partitions, or never.
 */
#ifndef LIBCOMMON_MIG_H
#define LIBCOMMON_MIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* X(symbol, name, units, GB of memory): the models, as in the key `mig` */
#define MIG_MODELS(X)                     \
	X(NONE, "none", 0, 0)             \
	X(A100_40, "a100-40", 8, 40)      \
	X(A100_80, "a100-80", 8, 80)      \
	X(H100_80, "h100-80", 8, 80)      \
	X(H100_94, "h100-94", 8, 94)      \
	X(H100_96, "h100-96", 8, 96)      \
	X(H200_141, "h200-141", 8, 141)   \
	X(GH200_144, "gh200-144", 8, 144) \
	X(B200_180, "b200-180", 8, 180)   \
	X(A30, "a30", 4, 24)

enum mig_model {
#define X(symbol, name, units, gb) MIG_##symbol,
	MIG_MODELS(X)
#undef X
	    MIG_NMODELS
};

enum { MIG_UNITS = 8 }; /* most units of a GPU of any model */

enum {
	MIG_HELD = 0x80,
	MIG_PROFILES_MOST = 64 /* more than mig_nprofiles() */
};

#define MIG_NO_WHOLE UINT64_C(0x40)
#define MIG_NO_PARTS UINT64_C(0x4000)

struct mig_profile {
	const char *name;
	uint8_t units;   /* units that a partition occupies */
	uint8_t starts;  /* bit i: a partition may start at unit i */
	uint8_t all;     /* units of a whole GPU of its models */
	uint16_t models; /* bit i: enum mig_model i has it; 0: it is not made
	                    as needed, but may be there for good */
};

/* Entry 0 is "none"; the profiles of all models follow. */
extern const struct mig_profile mig_profile[];
uint8_t mig_nprofiles(void);                 /* counts "none", too */
extern const char *const mig_profile_name[]; /* ends with NULL */
extern const char *const mig_model_name[];   /* likewise */

/* Returns the index of the profile or model of this name; 0 if there is none,
 * or name is NULL. */
uint8_t mig_find(const char *name);
uint8_t mig_find_model(const char *name);

/* Whether a GPU type looks like the name of a profile, as "3g.40gb" does; the
 * profile need not be in mig_profile. */
bool mig_is_name(const char *type);

static inline bool mig_has(uint8_t model, uint8_t profile)
{
	return mig_profile[profile].models >> model & 1;
}

uint8_t mig_units(uint8_t model);

/* Whether this much memory, in MiB, is within 10 % of the model's. */
bool mig_is_of_size(uint8_t model, int64_t mib);

/* Returns the units that a partition occupies; bit i: unit i. */
static inline uint8_t mig_mask(uint8_t profile, uint32_t start)
{
	return (uint8_t)(((1u << mig_profile[profile].units) - 1) << start);
}

/* Returns the share of a GPU that a partition of this profile has, in
 * thousandths. */
static inline int64_t mig_milli(uint8_t profile)
{
	return 1000 * mig_profile[profile].units / mig_profile[profile].all;
}

/* Returns the units at which a partition could start without touching those in
 * `used`. Bit i of either mask is unit i. */
uint8_t mig_free_starts(uint8_t profile, uint8_t used);

/* Append the names, separated by commas, of all profiles that one of these
 * models has; bit i: enum mig_model i. like: only those with as many compute
 * slices as this name says, such as "3g.41gb"; NULL: all. */
struct buf;
void mig_put_profiles(struct buf *out, unsigned models, const char *like);
void mig_parts_put(uint64_t parts, char between, struct buf *out);

/* --- partitions that are there for good --------------------------------- */

/* Whether the GPU has partitions for good. */
static inline bool mig_parts_fixed(uint64_t parts)
{
	return parts & UINT64_C(0x3f3f3f3f3f3f3f3f);
}

/* Returns the profile of the partition that starts at this unit, or 0. */
static inline uint8_t mig_parts_at(uint64_t parts, uint32_t unit)
{
	return (uint8_t)(parts >> 8 * unit) & (MIG_PROFILES_MOST - 1);
}

/* Returns the units at which a partition of this profile starts, as bits. */
uint8_t mig_parts_starts(uint64_t parts, uint8_t profile);

/* Returns the units that others than jobs use, as bits. */
uint8_t mig_parts_held(uint64_t parts);

/* Returns the number of a GPU whose partitions are made as needed: these marks
 * (MIG_NO_WHOLE, MIG_NO_PARTS), and these units held. */
uint64_t mig_parts_hold(uint64_t marks, uint8_t held);

/* Returns the units of the whole GPU; 0 if it has no partitions for good. */
uint8_t mig_parts_all(uint64_t parts);

/* Returns the thousandths of the GPU that are not held. model: of the GPU, if
 * its partitions are made as needed. */
int64_t mig_parts_free(uint64_t parts, uint8_t model);

/* Add a partition at this unit or, if start is MIG_UNITS, at the lowest unit
 * where it fits. Returns false if it fits nowhere: it overlaps another one,
 * cannot start there, or is of no model that the others are of. */
bool mig_parts_add(uint64_t *parts, uint8_t profile, uint32_t start);

/* Read "3g.40gb@0,1g.10gb@4*3", where `between` is the comma: partitions and
 * the units at which they start, else the lowest that are left; *3: three of
 * them; a final '!': held. Fails with EINVAL. */
struct err;
int mig_parts_parse(const char *text, char between, uint64_t *ret,
                    struct err *err);

/* Read what mig_parts_put() writes of a GPU whose partitions are made as
 * needed: "split" (MIG_NO_WHOLE), "whole" (MIG_NO_PARTS), and "@4!" for each
 * unit that is held, as in "split/@4!/@5!". Returns false if the text is
 * another. */
bool mig_marks_parse(const char *text, char between, uint64_t *ret);

/* Parts of a GPU by memory (--gpu-memory), without partitions. */
enum { GPU_PART_MOST = 999 }; /* a part is never a whole GPU */

/* Returns how many thousandths of a GPU of `all` MiB have `size` MiB, rounded
 * up, both at most MAX_MIB; GPU_PART_MOST if all is less or not known (0). */
static inline int64_t gpu_part(int64_t size, int64_t all)
{
	int64_t part =
	    size < all ? (1000 * size + all - 1) / all : GPU_PART_MOST;

	return part < GPU_PART_MOST ? part : GPU_PART_MOST;
}

#endif

/*
 * mig.h - partitions of GPUs: which profiles a model has, and where each fits
 *
 * A GPU has units, its slices of memory. A partition is a profile and the unit
 * at which it starts; it takes as many units as its profile has, and each
 * profile may start only at some of them. So it depends on the partitions that
 * are there, and not only on how many units are free, what else fits.
 */
#ifndef LIBCOMMON_MIG_H
#define LIBCOMMON_MIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* X(symbol, name, units, GB of memory): the models, as in the key `mig` */
#define MIG_MODELS(X)                   \
	X(NONE, "none", 0, 0)           \
	X(A100_40, "a100-40", 8, 40)    \
	X(A100_80, "a100-80", 8, 80)    \
	X(H100_80, "h100-80", 8, 80)    \
	X(H200_141, "h200-141", 8, 141) \
	X(A30, "a30", 4, 24)

enum mig_model {
#define X(symbol, name, units, gb) MIG_##symbol,
	MIG_MODELS(X)
#undef X
	    MIG_NMODELS
};

enum { MIG_UNITS = 8 }; /* at most */

struct mig_profile {
	const char *name;
	uint8_t units;  /* that it takes */
	uint8_t starts; /* bit i: it may start at unit i */
	uint8_t all;    /* units of its models */
	uint8_t models; /* bit i: enum mig_model i has it */
};

/* mig_profile[0] is none; then all of them. */
extern const struct mig_profile mig_profile[];
uint8_t mig_nprofiles(void);                 /* with none */
extern const char *const mig_profile_name[]; /* ends with NULL */
extern const char *const mig_model_name[];   /* likewise */

/* Returns the number of a profile or of a model, or 0. */
uint8_t mig_find(const char *name);
uint8_t mig_find_model(const char *name);

/* Whether a GPU type is the name of a profile, known or not: 3g.40gb. */
bool mig_is_name(const char *type);

static inline bool mig_has(uint8_t model, uint8_t profile)
{
	return mig_profile[profile].models >> model & 1;
}

uint8_t mig_units(uint8_t model);

/* Whether GPUs of the model can have about this much memory, in MiB. */
bool mig_is_of_size(uint8_t model, int64_t mib);

/* The units of a partition. */
static inline uint8_t mig_mask(uint8_t profile, uint32_t start)
{
	return (uint8_t)(((1u << mig_profile[profile].units) - 1) << start);
}

/* The part of a GPU that a partition is, in thousandths. */
static inline int64_t mig_milli(uint8_t profile)
{
	return 1000 * mig_profile[profile].units / mig_profile[profile].all;
}

/* The starts at which a partition fits beside the units in use; bit i: i. */
uint8_t mig_free_starts(uint8_t profile, uint8_t used);

/* Append the names of all profiles of the models with these bits. */
struct buf;
void mig_put_profiles(struct buf *out, unsigned models);

#endif

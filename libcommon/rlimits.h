/*
 * rlimits.h - resource limits of processes, as setrlimit(2) sets them
 *
 * As text, they are "CORE=0:-,NOFILE=1024:4096": the soft and the hard
 * limit of each resource that has one, in the order of the table below. "-"
 * means unlimited.
 */
#ifndef LIBCOMMON_RLIMITS_H
#define LIBCOMMON_RLIMITS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>

#include "libcommon/buf.h"
#include "libcommon/err.h"

/* The names are those of Slurm, and of RLIMIT_*. */
#define RLIMITS(X) \
	X(AS)      \
	X(CORE)    \
	X(CPU)     \
	X(DATA)    \
	X(FSIZE)   \
	X(MEMLOCK) \
	X(NOFILE)  \
	X(NPROC)   \
	X(RSS)     \
	X(STACK)

enum rlimit_id {
#define X(name) LIMITED_##name,
	RLIMITS(X)
#undef X
	    RLIMITS_N
};

struct rlimits {
	struct rlimit of[RLIMITS_N];
};

/* Get the limits of this process. */
void rlimits_get(struct rlimits *ret);
/* Append the limits as text; nothing if everything is unlimited. */
void rlimits_format(struct buf *out, const struct rlimits *limits);
/* Parse a text that rlimits_format() has written. Fails with EINVAL. */
int rlimits_parse(struct rlimits *ret, const char *s, struct err *err);

/*
 * Set the limits of this process whose bits, 1 << enum rlimit_id, are in
 * `which`. A hard limit is never raised: higher values are reduced to the
 * present hard limit.
 */
void rlimits_set(const struct rlimits *limits, uint32_t which);

/*
 * Get the bits of the limits with these names, in upper or lower case. "ALL" or
 * "NONE" must be the only name. Fails with EINVAL.
 */
int rlimits_select(const char *const *name, size_t n, uint32_t *ret,
                   struct err *err);

#endif

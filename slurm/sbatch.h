/*
 * sbatch.h - what the files of sbatch share: its options
 */
#ifndef SLURM_SBATCH_H
#define SLURM_SBATCH_H

#include "libcommon/spec_opt.h"
#include "slurm/command.h"

/* All that sbatch was told in one place. */
struct sbatch {
	struct submit submit; /* first: spec_set.h */
	json_t *clusters;
	/* SPEC_UNSET: not given */
	int64_t cpus_per_gpu, mem_per_gpu, tasks_per_gpu;
	bool verbose;
};

extern const struct command_line sbatch_line;

void sbatch_init(struct sbatch *sbatch, struct arena *arena,
                 struct buf *warnings);

/* Take the variables and the directives of a script for what is not set yet.
 * Exits if one of them is wrong. */
void sbatch_from_env(struct sbatch *sbatch);
void sbatch_from_script(struct sbatch *sbatch, const struct buf *script);

/* Divide what was asked for each GPU, and change what Slurm does not mind.
 * Fails with EINVAL. */
int sbatch_resolve(struct sbatch *sbatch, struct err *err);

#endif

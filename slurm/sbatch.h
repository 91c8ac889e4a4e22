/*
 * sbatch.h - what the files of sbatch share: its options
 */
#ifndef SLURM_SBATCH_H
#define SLURM_SBATCH_H

#include "libcommon/client/retry.h"
#include "libcommon/spec_opt.h"
#include "slurm/command.h"

/* All that sbatch was told in one place. */
struct sbatch {
	struct submit submit; /* first: spec_set.h */
	json_t *clusters;
	bool verbose;
};

extern const struct command_line sbatch_line;

void sbatch_init(struct sbatch *sbatch, struct arena *arena,
                 struct buf *warnings);

/* Take the variables and the directives of a script for what is not set yet.
 * Exits if one of them is wrong. */
void sbatch_from_env(struct sbatch *sbatch);
void sbatch_from_script(struct sbatch *sbatch, const struct buf *script);

/* submit_resolve(), and change what Slurm does not mind. */
int sbatch_resolve(struct sbatch *sbatch, struct err *err);

/* Hand a value to one of these options. Returns the status to exit with, 0 to
 * go on. */
int sbatch_apply(const struct opt *opt, void *ctx, const char *value);

/* Append a list of dependencies as aisub takes it: a bare id means afterany. */
void sbatch_put_dependency(const char *value, struct buf *out);

/* -p a,b: choose that of them where the job would start first. */
int sbatch_choose_queue(struct retry *retry, struct sbatch *sbatch,
                        struct buf *script, struct err *err);

/* batch_send(), which leaves the script as it was. */
json_t *sbatch_send(struct retry *retry, struct sbatch *sbatch,
                    struct buf *script, struct err *err);

/* Print why the job was not taken, in Slurm's words. */
void sbatch_refused(const struct sbatch *sbatch, const struct err *err);

/* Returns how sbatch, salloc or srun begins what was refused. */
const char *sbatch_failed(void);

#endif

/*
 * sbatch.h - what the files of sbatch share: its options
 */
#ifndef SLURM_SBATCH_H
#define SLURM_SBATCH_H

#include "libcommon/client/retry.h"
#include "libcommon/spec/spec_opt.h"
#include "slurm/command.h"

/* The options of sbatch that one place sets. */
struct sbatch {
	struct submit submit; /* first: spec_set.h */
	json_t *clusters;
	const char *export_file; /* NULL: none */
	bool verbose;
};

extern const struct command_line sbatch_line;

void sbatch_init(struct sbatch *sbatch, struct arena *arena,
                 struct buf *warnings);

/* Take from the variables, or from the directives of a script, what is not set
 * yet. Exits if one of them is wrong. */
void sbatch_from_env(struct sbatch *sbatch);
void sbatch_from_script(struct sbatch *sbatch, const struct buf *script);

/* As submit_resolve(), but corrects what Slurm corrects with a warning. */
int sbatch_resolve(struct sbatch *sbatch, struct err *err);

/* Hand a value to one of these options. Returns the status to exit with, 0 to
 * go on. */
int sbatch_apply(const struct opt *opt, void *ctx, const char *value);

/* "MIN[-MAX]" of nodes. Fails with EINVAL, or with ERANGE if they are none, in
 * Slurm's words. */
int sbatch_parse_nodes(const char *value, int64_t *ret_least, int64_t *ret_most,
                       struct err *err);

enum { SBATCH_PATIENT = -1 };

/* "SECONDS" of --immediate; NULL means 1, and with that the job is given up as
 * soon as it has to wait. */
int sbatch_parse_immediate(const char *value, int64_t *ret_s, struct err *err);

/* Append a list of dependencies in the syntax of aisub: a bare id means
 * afterany. */
void sbatch_put_dependency(const char *value, struct buf *out);

/* Choose from -p a,b the queue in which the job would start first. */
int sbatch_choose_queue(struct retry *retry, struct sbatch *sbatch,
                        struct buf *script, struct err *err);

/* As batch_send(), but leaves the script as it was. */
json_t *sbatch_send(struct retry *retry, struct sbatch *sbatch,
                    struct buf *script, struct err *err);

/* Print why the job was not taken, in Slurm's words. */
void sbatch_refused(const struct sbatch *sbatch, const struct err *err);

/* Returns how sbatch, salloc or srun begins the message about a refused job. */
const char *sbatch_failed(void);

#endif

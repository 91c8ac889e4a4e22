/*
 * sbatch.h - submit a job with sbatch's options; used by sbatch, salloc and
 * srun
 */
#ifndef SLURM_SBATCH_H
#define SLURM_SBATCH_H

#include "libcommon/client/retry.h"
#include "libcommon/spec/spec_opt.h"
#include "slurm/command.h"

/* The options of sbatch. */
struct sbatch {
	struct submit submit; /* first, as spec_set.h requires */
	json_t *clusters;
	const char *export_file; /* NULL: none */
	bool verbose, overcommit;
};

extern const struct command_line sbatch_line;

void sbatch_init(struct sbatch *sbatch, struct arena *arena,
                 struct buf *warnings);

/* Set options from environment variables, or from the directives of a script,
 * unless they are already set. Exit if a value is wrong. */
void sbatch_from_env(struct sbatch *sbatch);
void sbatch_from_script(struct sbatch *sbatch, const struct buf *script);

/* Correct what Slurm corrects, with a warning, then call submit_resolve(). */
int sbatch_resolve(struct sbatch *sbatch, struct err *err);

/* Set an option of sbatch to a value. Returns the status to exit with, 0 to go
 * on. */
int sbatch_apply(const struct opt *opt, void *ctx, const char *value);

/* Parse the "MIN[-MAX]" of -N. Fails with Slurm's message, and with ERANGE if
 * MIN is 0, otherwise with EINVAL. */
int sbatch_parse_nodes(const char *value, int64_t *ret_least, int64_t *ret_most,
                       struct err *err);

enum { SBATCH_PATIENT = -1 };

/* Parse the SECONDS of --immediate; value NULL means 1. With 0 or 1 second the
 * command fails as soon as the job has to wait. */
int sbatch_parse_immediate(const char *value, int64_t *ret_s, struct err *err);

/* Append Slurm's list of dependencies in the syntax of aisub: a bare id means
 * afterany. */
void sbatch_put_dependency(const char *value, struct buf *out);

/* If -p names several queues, set the queue to the one in which the job would
 * start first. Fails if one of them does not exist or none would take the
 * job. */
int sbatch_choose_queue(struct retry *retry, struct sbatch *sbatch,
                        struct buf *script, struct err *err);

/* Call batch_send(), then remove from the script what it has appended. */
json_t *sbatch_send(struct retry *retry, struct sbatch *sbatch,
                    struct buf *script, struct err *err);

/* Print Slurm's message for a submission that the daemon refused. */
void sbatch_refused(const struct sbatch *sbatch, const struct err *err);

/* Returns the words with which this command begins the message about a refused
 * job. */
const char *sbatch_failed(void);

#endif

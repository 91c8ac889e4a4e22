/*
 * spec_opt.h - the options of aisub: one table for all four places
 *
 * The command line, AISUB_* variables (AISUB_CPUS_PER_TASK for
 * --cpus-per-task), #AISUB lines and #SBATCH lines set the same struct submit;
 * the first of these places that sets an option wins. Options that express the
 * same in several ways (--mem and --mem-per-cpu, ...) count as one option for
 * that.
 */
#ifndef LIBCOMMON_SPEC_SPEC_OPT_H
#define LIBCOMMON_SPEC_SPEC_OPT_H

#include <stdbool.h>

#include "libcommon/buf.h"
#include "libcommon/mem.h"
#include "libcommon/opt.h"
#include "libcommon/spec/spec.h"

/* The options of recurring work, as checked texts; NULL: not given. In the
 * order of cron_fields. */
struct submit_cron {
	const char *schedule, *policy, *missed, *late, *tz, *jitter;
	const char *until; /* "@UNIX" */
};

/* Amounts for each GPU; SPEC_UNSET: not given. submit_resolve() turns them into
 * amounts for each task. */
struct submit_gpu {
	int64_t cpus, mem, tasks; /* milli-CPUs, MiB */
};

/* Everything that aisub was given. */
struct submit {
	struct spec spec;
	struct submit_gpu per_gpu;
	int64_t max_nodes; /* -N MIN-MAX; spec.nodes is MIN */
	const char *socket, *wrap;
	const char *export_env; /* ALL, NONE or a list; NULL: ALL */
	const char *launch;     /* "tasks", "script"; NULL: not given */
	struct submit_cron cron;
	bool pty; /* a command on the terminal in place of a script */
	bool parsable, json, quiet, wait, follow, test_only;
	bool only_slurm; /* the script has #SBATCH and no #AISUB lines */
	int64_t now;     /* the time from which --begin now+1h counts */
	struct arena *arena;
	struct buf *warnings; /* one a line, ready to print */
};

extern const struct opt spec_opts[]; /* ends with OPT_END; ctx: the submit */

/* Strings are copied into the arena; arena and warnings are borrowed. */
void submit_init(struct submit *submit, struct arena *arena,
                 struct buf *warnings, int64_t now);

/* Unset the field of this option, and those that express the same in another
 * way. */
void submit_clear(struct submit *submit, const struct opt *opt);

/* Take fields that are not set yet from another place, which may lose those
 * that are not taken. */
void submit_merge(struct submit *to, struct submit *from);

/* Divide what was requested for each GPU among the tasks, then call
 * spec_resolve() without a default of memory. Fails with EINVAL or ERANGE. */
int submit_resolve(struct submit *submit, struct request *ret, struct err *err);

/* Take AISUB_* variables for fields that are not set yet.  Fails with EINVAL
 * or ERANGE, naming the variable. */
int submit_from_env(struct submit *submit, char *const *env, struct err *err);

/*
 * Take the directives of a script for fields that are not set yet, #AISUB
 * before #SBATCH. name: for messages, the file's or "stdin". Fails with EINVAL
 * or ERANGE, `name:line: ...`.
 */
int submit_from_script(struct submit *submit, const char *name,
                       const char *script, size_t len, struct err *err);

#endif

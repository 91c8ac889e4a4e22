/*
 * spec_opt.h - the options of aisub, in one table for all places where they may
 * be set
 *
 * The command line, AISUB_* variables (AISUB_CPUS_PER_TASK for
 * --cpus-per-task), #AISUB lines and #SBATCH lines are all read into a struct
 * submit; if several of these places set an option, the first one in this order
 * wins. Options that express the same in several ways (--mem and --mem-per-cpu,
 * ...) count as one option here.
 */
#ifndef LIBCOMMON_SPEC_SPEC_OPT_H
#define LIBCOMMON_SPEC_SPEC_OPT_H

#include <stdbool.h>

#include "libcommon/buf.h"
#include "libcommon/mem.h"
#include "libcommon/opt.h"
#include "libcommon/spec/spec.h"

/* The options of recurring work as texts that were checked, NULL if not given;
 * the order of the members is that of cron_fields. */
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
	/* devices of each node, as --gres names them; submit_resolve() adds
	 * those of each task to spec.device */
	const char *node_devices;
	int64_t max_nodes; /* -N MIN-MAX; spec.nodes is MIN */
	const char *socket, *wrap;
	const char *export_env; /* ALL, NONE or a list; NULL: ALL */
	const char *launch;     /* "tasks", "script"; NULL: not given */
	struct submit_cron cron;
	bool pty; /* run a command on this terminal instead of a script */
	bool parsable, json, quiet, wait, follow, test_only;
	bool only_slurm; /* the script has #SBATCH and no #AISUB lines */
	int64_t now;     /* the time from which --begin now+1h counts */
	struct arena *arena;
	struct buf *warnings; /* one line each, ready to print */
};

/* Ends with OPT_END; ctx is a struct submit. */
extern const struct opt spec_opts[];

/* Begin with nothing given. Later calls copy strings into the arena and add to
 * warnings; the submit does not own either of them. */
void submit_init(struct submit *submit, struct arena *arena,
                 struct buf *warnings, int64_t now);

/* Unset the field of this option, and fields that express the same in
 * another way. */
void submit_clear(struct submit *submit, const struct opt *opt);

/* Copy the fields that are not set in `to` from `from`, which may
 * be changed. */
void submit_merge(struct submit *to, struct submit *from);

/* Turn what was requested for each GPU into amounts for each task, then
 * call spec_resolve() with 0 as the default of memory. Fails with EINVAL
 * or ERANGE. */
int submit_resolve(struct submit *submit, struct request *ret, struct err *err);

/* Set fields that are not set yet from AISUB_* variables. Fails with EINVAL or
 * ERANGE; the text names the variable. */
int submit_from_env(struct submit *submit, char *const *env, struct err *err);

/*
 * Set fields that are not set yet from the directives of a script; #AISUB
 * lines take precedence over #SBATCH lines. `name`, for messages, is the name
 * of the file or "stdin". Fails with EINVAL or ERANGE, and the text begins
 * with `name:line:`.
 */
int submit_from_script(struct submit *submit, const char *name,
                       const char *script, size_t len, struct err *err);

#endif

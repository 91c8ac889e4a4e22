/*
 * command.h - what the commands share: their table, and their options
 *
 * All commands are one program; the name it is called by selects the command.
 * Each has Slurm's options, output and exit statuses, and makes the same
 * requests as aisub, aiq, aicancel and aictl.
 */
#ifndef SLURM_COMMAND_H
#define SLURM_COMMAND_H

#include <jansson.h>
#include <stdbool.h>

#include "libcommon/client/client.h"
#include "libcommon/err.h"
#include "libcommon/opt.h"

/* the version of Slurm whose messages and formats are imitated */
#define SLURM_VERSION "24.05.0"

struct slurm_command {
	const char *name;
	int (*run)(int argc, char **argv); /* returns the exit status */
};

extern const struct slurm_command commands[]; /* ends with a NULL name */

int scontrol_main(int argc, char **argv);
int sinfo_main(int argc, char **argv);
int squeue_main(int argc, char **argv);
int sacct_main(int argc, char **argv);
int sbatch_main(int argc, char **argv);
int scancel_main(int argc, char **argv);
int sacctmgr_main(int argc, char **argv);
int seff_main(int argc, char **argv);
int sshare_main(int argc, char **argv);
int salloc_main(int argc, char **argv);
int sbcast_main(int argc, char **argv);
int sdiag_main(int argc, char **argv);
int sprio_main(int argc, char **argv);
int sreport_main(int argc, char **argv);
int sstat_main(int argc, char **argv);
int srun_main(int argc, char **argv);

/* The options of one command. */
struct command_line {
	const char *name;  /* "squeue" */
	const char *usage; /* "[OPTION]..." */
	const struct opt *opts;
	const char *env;  /* prefix of variables: "SQUEUE_"; NULL: none */
	int usage_status; /* exit status after a bad option */
	bool stop_at_operand;
	/* Called instead of an option's own set function. Returns the status to
	 * exit with, or 0 to go on. NULL: use the set functions. */
	int (*apply)(const struct opt *opt, void *ctx, const char *value);
};

/*
 * Set options from environment variables, then from the command line. Uses
 * getopt_long(), as Slurm does, so its messages are Slurm's. Returns the index
 * of the first operand. --help, --usage and --version print and exit 0. A bad
 * option, or one whose set function fails, exits with the usage status.
 */
int command_parse(const struct command_line *line, void *ctx, int argc,
                  char **argv);

/* An environment variable that is not named after its option: its name without
 * the prefix, and the option that it sets, as in { "TIMELIMIT", "time" }. */
struct command_variable {
	const char *name, *option;
};
/* Set options from environment variables: the special ones, and those that are
 * named after their options. */
void command_take_variables(const struct command_line *line,
                            const struct command_variable *special, void *ctx);

/* Set an option to a value. If that fails, print why and exit. */
void command_apply(const struct command_line *line, const struct opt *opt,
                   void *ctx, const char *value);

/* Returns the option with this name, or the only option whose name begins with
 * it; NULL if there is none or several. */
const struct opt *command_find(const struct command_line *line,
                               const char *name);

/* Print "NAME: error: ..." on stderr. */
void command_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The name the command was called by. */
extern const char *command_name;

/* More set functions, beside those of libcommon/opt.h and filter_opt.h:
 * command_add_items() adds the items of a comma-separated list, none of which
 * may be empty; command_ignore() has no effect. */
opt_set_fn command_add_items, command_ignore;

/* Connect to the daemon at the default address. Fails with ECONNREFUSED if
 * there is no daemon. */
struct client *command_connect(struct err *err);

/* Check the clusters of -M NAME,...: only this cluster's own name and "all" are
 * allowed. Otherwise fails with Slurm's message. */
int command_check_clusters(struct client *client, const json_t *clusters,
                           struct err *err);
/* Returns the cluster's name, which the caller frees. */
char *command_cluster(struct client *client, struct err *err);

/* Print the date as a line, which Slurm prints above long listings. */
void command_put_date(void);

#endif

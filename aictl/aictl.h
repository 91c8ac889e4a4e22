/*
 * aictl.h - what the files of aictl share: commands, their words, the prompt
 *
 * A command is a list of words, from argv, the prompt or a line of a script.
 * The table commands[] has its options, its number of operands and the function
 * that runs it.
 */
#ifndef AICTL_AICTL_H
#define AICTL_AICTL_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libcommon/client/client.h"
#include "libcommon/err.h"
#include "libcommon/opt.h"

struct ctl {
	const char *socket;
	bool json;             /* print answers as JSON */
	struct client *client; /* NULL: not connected */
	unsigned line; /* line of the script; 0: commands do not come from a
	                  script */
	bool quit;
	/* Options of the current command; the comments name the command. */
	const char *reason; /* drain */
	bool hold;          /* requeue */
	bool tty;           /* exec */
	int64_t wait_s;     /* ping */
	struct {
		const char *start, *end, *duration;
		const char *nodes, *count, *pool, *users;
		bool maintenance, daily, weekly;
	} resv; /* reserve create */
	struct {
		const char *zone, *from, *count; /* next */
		const char *user, *queue;
		bool all, cancel, edit, print, clear;
	} cron;
	struct {
		const char *user, *act, *job, *since, *until, *count;
	} audit;
	struct {
		const char *before;
	} history;
	struct {
		const char *conf, *since, *until;
	} whatif;
};

/* The kind of names that a command takes as arguments, for completion. */
enum words_kind {
	WORDS_NONE,
	WORDS_JOBS,
	WORDS_NODES,
	WORDS_QUEUES,
	WORDS_RESERVE,
	WORDS_CRON,
	WORDS_COMMANDS,
};

struct command {
	const char *name, *args, *help;
	/* Runs the command, reports failures and returns the exit status.
	 * argv[0] is the name of the command; its options have been removed. */
	int (*run)(struct ctl *ctl, int argc, char **argv);
	const struct opt *opts; /* options of this command; NULL: none */
	int least, most;        /* minimum and maximum number of operands */
	/* Index of the operand that begins the user's own command, as in exec;
	 * later options belong to that command. 0: no such operand. */
	int theirs;
	enum words_kind kind;
};

/* audit.c */
extern const struct opt audit_opts[];
extern const struct opt history_opts[];
int run_audit(struct ctl *ctl, int argc, char **argv);

/* accounting.c */
int run_accounting(struct ctl *ctl, int argc, char **argv);
int run_history(struct ctl *ctl, int argc, char **argv);

/* whatif.c */
extern const struct opt whatif_opts[];
int run_whatif(struct ctl *ctl, int argc, char **argv);

/* exec.c */
extern const struct opt exec_opts[];
int run_exec(struct ctl *ctl, int argc, char **argv);
/* Cut ".RANK" off the end of an id, and get the rank; if there is none, leave
 * *ret_rank unchanged. */
int take_rank(char *id, int64_t *ret_rank, struct err *err);
int run_forward(struct ctl *ctl, int argc, char **argv);

/* reserve.c */
extern const struct opt reserve_opts[];
int run_reserve(struct ctl *ctl, int argc, char **argv);

/* cron.c */
extern const struct opt cron_opts[];
int run_cron(struct ctl *ctl, int argc, char **argv);

extern const struct command commands[]; /* ends with a NULL name */
extern const struct opt_prog aictl_prog;

/* Read commands from a prompt and run them, until the end of input. */
void prompt_run(struct ctl *ctl);

/* Print the answer to the request `status` as text. */
void status_print(const json_t *status);

#endif

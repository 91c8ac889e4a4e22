/*
 * aictl.h - what the files of aictl share: commands, their words, the prompt
 *
 * A command is a list of words, whether they come from argv, from a line
 * typed at the prompt or from a line of a script; one table says what it
 * takes and what runs it.
 */
#ifndef AICTL_AICTL_H
#define AICTL_AICTL_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libcommon/client.h"
#include "libcommon/err.h"
#include "libcommon/opt.h"

struct ctl {
	const char *socket;
	bool json;             /* answers as they are */
	struct client *client; /* NULL: not connected */
	unsigned line;         /* of the script; 0: there is none */
	bool quit;
	/* Options of the command that runs. */
	const char *reason; /* drain */
	int64_t wait_s;     /* ping */
	struct {
		const char *start, *end, *duration;
		const char *nodes, *count, *pool, *users;
		bool maintenance, daily, weekly;
	} resv; /* reserve create */
	struct {
		const char *zone, *from, *count;
	} cron; /* cron next */
	struct {
		const char *user, *act, *job, *since, *until, *count;
	} audit;
};

/* What a command's words name, for completion. */
enum words_kind {
	WORDS_NONE,
	WORDS_JOBS,
	WORDS_NODES,
	WORDS_QUEUES,
	WORDS_RESERVE,
	WORDS_COMMANDS,
};

struct command {
	const char *name, *args, *help;
	/* Does it, reports what fails and returns the exit status.  argv[0] is
	 * the command, options are taken out. */
	int (*run)(struct ctl *ctl, int argc, char **argv);
	const struct opt *opts; /* of its own; NULL: none */
	int least, most;        /* operands */
	enum words_kind kind;
};

/* audit.c */
extern const struct opt audit_opts[];
int run_audit(struct ctl *ctl, int argc, char **argv);

/* Options of reserve; what it does. */
extern const struct opt reserve_opts[];
int run_reserve(struct ctl *ctl, int argc, char **argv);

/* The same of cron. */
extern const struct opt cron_opts[];
int run_cron(struct ctl *ctl, int argc, char **argv);

/* For commands: send req (taken) and print the answer if JSON is wanted; NULL:
 * reported.  The exit status from an answer, which is taken. */
json_t *ctl_ask(struct ctl *ctl, json_t *req);
int ctl_finish(struct ctl *ctl, json_t *answer);

extern const struct command commands[]; /* ends with a NULL name */
extern const struct opt_prog aictl_prog;

const struct command *command_find(const char *name); /* or NULL */
char *commands_help(void); /* a line for each; the caller's to free */
/* About one of them; returns the exit status. */
int command_help(const struct ctl *ctl, const char *name);

/* Run argv[0 .. argc-1], argc > 0; argv is reordered.  Reports what fails.
 * Returns the exit status. */
int command_run(struct ctl *ctl, int argc, char **argv);

/* One line on stderr, with the script's line number when there is one. */
void ctl_warn(const struct ctl *ctl, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* One request, connecting first if need be; a connection that fails is
 * closed, so that the next request makes a new one. */
json_t *ctl_call(struct ctl *ctl, json_t *req, client_part_fn *part, void *arg,
                 struct err *err);
void ctl_disconnect(struct ctl *ctl);

/*
 * Split a line as a shell does: blanks, '', "", \, and # for a comment at the
 * begin of a word.  Owns: words_free().  Fails: EINVAL a quote without end.
 */
struct words {
	char **word; /* NULL-terminated */
	size_t n, cap;
};
int words_split(struct words *ret, const char *line, struct err *err);
void words_free(struct words *words);

/* Commands typed by a person, until the end of input. */
void prompt_run(struct ctl *ctl);

/* The answer to a status request, for a person. */
void status_print(const json_t *status);

#endif

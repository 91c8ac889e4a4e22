/*
 * command.h - find a command and run it; send its requests and print
 * its answers
 */
#ifndef AICTL_COMMAND_H
#define AICTL_COMMAND_H

#include "aictl/aictl.h"
#include "libcommon/buf.h"

const struct command *command_find(const char *name); /* NULL: there is none */
/* Returns a line for each command; the caller frees it. */
char *commands_help(void);
/* Print the help of a command; returns the exit status. */
int command_help(const struct ctl *ctl, const char *name);

/* Run the command argv[0] with the words behind it, which are reordered; argc
 * must not be 0. Reports failures, and returns the exit status. */
int command_run(struct ctl *ctl, int argc, char **argv);

/* For commands: ctl_ask() sends req, frees it, and prints the answer if --json
 * is given; it returns NULL after it has reported a failure. ctl_finish() frees
 * the answer, which may be NULL, and returns the exit status. */
json_t *ctl_ask(struct ctl *ctl, json_t *req);
int ctl_finish(struct ctl *ctl, json_t *answer);

/* Print one line to stderr, with the line number if commands come from
 * a script. */
void ctl_warn(const struct ctl *ctl, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Send a request, after connecting if there is no connection. If the call
 * fails, the connection is closed, so that the next request opens a new one. */
json_t *ctl_call(struct ctl *ctl, json_t *req, client_part_fn *part, void *arg,
                 struct err *err);
/* Like ctl_call(), with raw bytes beside the request. */
json_t *ctl_send(struct ctl *ctl, json_t *req, const struct buf *raw,
                 client_part_fn *part, void *arg, struct err *err);
void ctl_disconnect(struct ctl *ctl);

#endif

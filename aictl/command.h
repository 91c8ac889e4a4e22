/*
 * command.h - find a command and run it; its requests and its answers
 */
#ifndef AICTL_COMMAND_H
#define AICTL_COMMAND_H

#include "aictl/aictl.h"
#include "libcommon/buf.h"

const struct command *command_find(const char *name); /* or NULL */
char *commands_help(void); /* a line for each; owns: the caller, free() */
/* Print the help of one; returns the exit status. */
int command_help(const struct ctl *ctl, const char *name);

/* Run argv[0 .. argc-1], argc > 0; reorders argv. Reports failures. Returns the
 * exit status. */
int command_run(struct ctl *ctl, int argc, char **argv);

/* For commands: send req (taken) and print the answer if JSON is wanted; NULL:
 * it failed, which is reported. ctl_finish() takes an answer and returns the
 * exit status. */
json_t *ctl_ask(struct ctl *ctl, json_t *req);
int ctl_finish(struct ctl *ctl, json_t *answer);

/* Print one line on stderr, with the script's line number if there is one. */
void ctl_warn(const struct ctl *ctl, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Send a request, and connect first if need be; a connection that fails is
 * closed, so that the next request makes a new one. */
json_t *ctl_call(struct ctl *ctl, json_t *req, client_part_fn *part, void *arg,
                 struct err *err);
/* The same with raw bytes beside the request. */
json_t *ctl_send(struct ctl *ctl, json_t *req, const struct buf *raw,
                 client_part_fn *part, void *arg, struct err *err);
void ctl_disconnect(struct ctl *ctl);

#endif

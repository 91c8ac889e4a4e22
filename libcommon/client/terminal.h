/*
 * terminal.h - connect our terminal to that of a task
 *
 * The shepherd makes a pseudo terminal for the task, and sends us its master
 * end, so that the task gets SIGHUP when our process ends. Meanwhile our own
 * terminal is in raw mode: whatever is typed, even Ctrl-C, goes to the task.
 */
#ifndef LIBCOMMON_CLIENT_TERMINAL_H
#define LIBCOMMON_CLIENT_TERMINAL_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <termios.h>

struct terminal {
	bool used;
	int64_t rows,
	    columns; /* of our terminal, when terminal_init() looked */
	int fd; /* master end of the task's terminal; -1: none yet, or closed */
	bool input;
	struct termios before;
	char typed[4096]; /* input that was not written to the task's terminal
	                     yet */
	size_t len;
};

/* Returns false, and sets errno, if stdin is no terminal. */
bool terminal_init(struct terminal *terminal);
/* Make our terminal raw, and connect it to the task's terminal, whose master
 * end is fd. Takes ownership of fd. */
void terminal_begin(struct terminal *terminal, int fd);
void terminal_end(struct terminal *terminal);
/* Set the size of the task's terminal to that of ours. */
void terminal_resize(const struct terminal *terminal);
/* Whether our terminal is raw: a line feed alone does not begin a line. */
bool terminal_is_raw(const struct terminal *terminal);
bool terminal_is_open(const struct terminal *terminal);
/* Set two entries for poll(): our terminal, and that of the task. */
void terminal_poll(const struct terminal *terminal, struct pollfd ret[2]);
void terminal_move(struct terminal *terminal, const struct pollfd p[2]);

#endif

/*
 * terminal.h - our terminal, for a task of a step that has one of its own
 *
 * The shepherd makes the task's terminal; its other end is here, so that the
 * task's terminal hangs up when we end. Meanwhile ours is raw: whatever is
 * typed, even Ctrl-C, goes to the task.
 */
#ifndef LIBCOMMON_CLIENT_TERMINAL_H
#define LIBCOMMON_CLIENT_TERMINAL_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <termios.h>

struct terminal {
	bool used;
	int fd; /* the other end of the task's; -1: none yet, or closed */
	bool input;
	struct termios before;
	char typed[4096]; /* what the task's terminal has not taken yet */
	size_t len;
};

/* Returns false, with errno set, if standard input is no terminal. */
bool terminal_init(struct terminal *terminal);
/* Takes fd. */
void terminal_begin(struct terminal *terminal, int fd);
void terminal_end(struct terminal *terminal);
/* Give the task's terminal the size of ours. */
void terminal_resize(const struct terminal *terminal);
bool terminal_is_open(const struct terminal *terminal);
/* Fill in two descriptors: our terminal, and the task's. */
void terminal_poll(const struct terminal *terminal, struct pollfd ret[2]);
void terminal_move(struct terminal *terminal, const struct pollfd p[2]);

#endif

/*
 * srun_pty.h - the terminal of srun for a task that has one
 *
 * The shepherd makes the task's terminal; its other end is here, so that it
 * hangs up when srun ends.
 */
#ifndef SLURM_SRUN_PTY_H
#define SLURM_SRUN_PTY_H

#include <poll.h>
#include <stdbool.h>
#include <termios.h>

struct srun_pty {
	bool used;
	int fd; /* -1: none yet, or closed */
	bool input;
	struct termios before;
};

/* wanted: without a terminal of its own srun says so and goes on. */
void srun_pty_init(struct srun_pty *pty, bool wanted);
void srun_pty_begin(struct srun_pty *pty, int fd);
void srun_pty_end(struct srun_pty *pty);
void srun_pty_resize(struct srun_pty *pty);
bool srun_pty_is_open(const struct srun_pty *pty);
/* Two descriptors: of srun's terminal, and of the task's. */
void srun_pty_poll(const struct srun_pty *pty, struct pollfd ret[2]);
void srun_pty_move(struct srun_pty *pty, const struct pollfd p[2]);

#endif

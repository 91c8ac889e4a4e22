/*
 * program.h - run a program of the admin, with a bound on its time and output
 *
 * The daemon's loop never waits for the program. It runs as a child in a
 * process group of its own, with nothing but PATH in its environment, and is
 * killed when its time is over. If it fails, the first line of its output is
 * given as the reason; all other output is dropped.
 */
#ifndef AISCHEDD_RUN_PROGRAM_H
#define AISCHEDD_RUN_PROGRAM_H

#include <stdint.h>

struct event_base;
struct program;

struct program_calls {
	/* Called once, when the program has ended or its time is over. why:
	 * NULL if the program succeeded; otherwise the first line that it
	 * printed, or a sentence about how it ended. Borrowed for the call. */
	void (*result)(const char *why, void *arg);
	/* The program has ended; it is freed after this call. A program that
	 * hangs in the kernel does not end when it is killed. */
	void (*ended)(void *arg);
};

/*
 * Start a program. argv: its path and arguments, borrowed for the call. what:
 * what error texts call the program; it must stay valid. Returns NULL with
 * errno if the program cannot be started. The functions of `calls` are not
 * called before this returns.
 */
struct program *program_start(struct event_base *base, const char *what,
                              const char *const *argv, int64_t timeout_s,
                              const struct program_calls *calls, void *arg);

/* Kill the program, and make no more calls. It is freed once it has ended. */
void program_abandon(struct program *program);

/* Kill the program and free it at once; NULL is allowed. */
void program_free(struct program *program);

#endif

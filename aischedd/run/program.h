/*
 * program.h - run a program of the admin, with a bound on its time and output
 *
 * The daemon's loop never waits for the program. It runs as a child in a
 * process group of its own, with nothing but PATH in its environment, and is
 * killed when its time is over. Its
 * output is read, and only the first line is used, if it fails.
 */
#ifndef AISCHEDD_RUN_PROGRAM_H
#define AISCHEDD_RUN_PROGRAM_H

#include <stdint.h>

struct event_base;
struct program;

struct program_calls {
	/* Gets the result once: NULL if the program succeeded, else why not:
	 * the first line that it printed, or how it ended; borrowed for the
	 * call. If its time is over, this does not wait for its end. */
	void (*result)(const char *why, void *arg);
	/* The program has ended; it is freed after this call. A program that
	 * hangs in the kernel does not end when it is killed. */
	void (*ended)(void *arg);
};

/*
 * Start a program. argv: its path and arguments, borrowed for the call. what:
 * what the configuration calls it, for errors; it must stay valid. Returns NULL
 * with errno if it cannot be started. No call is made before this returns.
 */
struct program *program_start(struct event_base *base, const char *what,
                              const char *const *argv, int64_t timeout_s,
                              const struct program_calls *calls, void *arg);

/* Kill the program, and make no more calls. It is freed once it has ended. */
void program_abandon(struct program *program);

/* Kill the program and free it at once; NULL is allowed. */
void program_free(struct program *program);

#endif

/*
 * acts.h - who did what to a job: kept with it, the last few
 *
 * As text, a line each, the latest at the end: "TIME ACT USER".
 */
#ifndef AISCHEDD_STATE_ACTS_H
#define AISCHEDD_STATE_ACTS_H

#include <stdbool.h>
#include <stdint.h>

struct job;
struct state;

struct act {
	int64_t time;
	char name[16], user[64];
};

enum { ACTS_KEPT = 8 };

/* Append one to a text or NULL.  Owns: the caller. */
char *acts_add(const char *acts, int64_t time, const char *name,
               const char *user);

/* The next one from *at on; false: there is none. */
bool acts_next(const char **at, struct act *ret);

/* The last one of this name; false: there is none. */
bool acts_last(const char *acts, const char *name, struct act *ret);

/* What was done to the job is to be written; it may be gone. */
void acts_changed(struct state *state, uint64_t job);

#endif

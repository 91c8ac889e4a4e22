/*
 * acts.h - the last things that users did to a job
 *
 * They are stored with the job as text, one line for each act, the latest at
 * the end: "TIME ACT USER".
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

/* Returns a new text with an act appended, and the oldest act removed if there
 * are too many. acts: the text so far, or NULL. The caller frees it. */
char *acts_add(const char *acts, int64_t time, const char *name,
               const char *user);

/* Read the act at *at and move *at behind it; returns false at the end. */
bool acts_next(const char **at, struct act *ret);

/* Find the last act with this name; returns false if there is none. */
bool acts_last(const char *acts, const char *name, struct act *ret);

/* Have the next commit write the job, because its acts have changed. Does
 * nothing if there is no such job. */
void acts_changed(struct state *state, uint64_t job);

#endif

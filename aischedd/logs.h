/*
 * logs.h - output of jobs that the daemon has, for who asks
 *
 * What a job printed is that of all its attempts, one after the other, and in
 * each that of its tasks, by rank.  What has ended is read from the files that
 * are kept; what runs, from its runner, and when it ends before all of it was
 * read, the rest from its file.  Little is held of any: no more is read than
 * is taken.
 */
#ifndef AISCHEDD_LOGS_H
#define AISCHEDD_LOGS_H

#include "aischedd/daemon.h"

enum { EVERY_TASK = -1 };

struct logs_wish {
	const char *id; /* as it was asked for */
	uint64_t job;
	uid_t uid;    /* who asks */
	int64_t task; /* or EVERY_TASK */
	bool follow;  /* to the end of the job */
	int64_t skip; /* bytes that are had */
};

/* Whether something is kept of the job. */
bool logs_are_kept(const struct daemon *d, uint64_t job);

/* The runner that has the output of this job, which has nodes; or NULL. */
struct runner *logs_runner(const struct daemon *d, const struct job *job);

/* Answer it, by and by.  Fails: EBUSY too many are read. */
int logs_begin(struct daemon *d, struct ask *ask, const struct logs_wish *wish,
               struct err *err);

#endif

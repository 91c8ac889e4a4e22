/*
 * logs.h - serve job output kept by the daemon
 *
 * The output of a job is that of all its attempts, one after the other, and in
 * each that of its tasks, by rank. Ended tasks are read from kept files,
 * running ones from the runner; if a task ends before all of its output was
 * read, the rest comes from its file. Reading waits for the peer, so little is
 * held in memory.
 */
#ifndef AISCHEDD_LOGS_H
#define AISCHEDD_LOGS_H

#include "aischedd/daemon.h"

enum { EVERY_TASK = -1 };

struct logs_wish {
	const char *id; /* as the request names it */
	uint64_t job;
	uid_t uid;    /* the user who asks */
	int64_t task; /* rank, or EVERY_TASK */
	bool follow;  /* go on to the end of the job */
	int64_t skip; /* bytes that the client already has */
};

/* Whether output of the job is kept. */
bool logs_are_kept(const struct daemon *d, uint64_t job);

/* Returns the runner that has the output of this job, which must have nodes;
 * NULL if its runner leaves output in files of the user. */
struct runner *logs_runner(const struct daemon *d, const struct job *job);

/* Send the output, over time. Fails with EBUSY if too many are being read. */
int logs_begin(struct daemon *d, struct ask *ask, const struct logs_wish *wish,
               struct err *err);

/* Continue with the output of jobs that have started or ended by now. */
void daemon_check_logs(struct daemon *d);
/* Stop reading for an ask whose peer has disconnected. */
void daemon_log_gone(struct daemon *d, const struct ask *ask);
void daemon_free_logs(struct daemon *d);

#endif

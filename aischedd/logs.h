/*
 * logs.h - serve job output kept by the daemon
 *
 * The output of a job is that of all its attempts, one after the other; the
 * output of an attempt is that of its tasks, in the order of their ranks.
 * Output of ended tasks is read from kept files, that of running tasks from the
 * runner. If a task ends before all of its output was read, the rest is read
 * from its file. The daemon reads only as much as the peer receives, to hold
 * little in memory.
 */
#ifndef AISCHEDD_LOGS_H
#define AISCHEDD_LOGS_H

#include "aischedd/daemon.h"

enum { EVERY_TASK = -1 };

struct logs_wish {
	/* the job's id as the request gives it */
	const char *id;
	uint64_t job;
	/* the user who sent the request */
	uid_t uid;
	int64_t task; /* rank, or EVERY_TASK */
	/* continue until the job has ended */
	bool follow;
	int64_t skip; /* bytes that the client already has */
};

/* Whether the daemon keeps output of this job. */
bool logs_are_kept(const struct daemon *d, uint64_t job);

/* Returns the runner from which output of this job is read, or NULL if its
 * runner leaves output in files of the user. The job must have nodes. */
struct runner *logs_runner(const struct daemon *d, const struct job *job);

/* Begin to send the output that wish describes; it is sent over several turns.
 * Fails with EBUSY if too many outputs are being read. */
int logs_begin(struct daemon *d, struct ask *ask, const struct logs_wish *wish,
               struct err *err);

/* Continue to send output that waited for its job to start, go on or end. */
void daemon_check_logs(struct daemon *d);
/* Stop sending output for an ask whose peer has disconnected. */
void daemon_log_gone(struct daemon *d, const struct ask *ask);
void daemon_free_logs(struct daemon *d);

#endif

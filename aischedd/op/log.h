/*
 * log.h - find a job's output
 */
#ifndef AISCHEDD_OP_LOG_H
#define AISCHEDD_OP_LOG_H

#include "aischedd/daemon.h"
#include "libcommon/buf.h"
#include "libcommon/jobid.h"

struct found_log {
	const struct daemon *d;
	const struct jobid *id;
	bool found, is_array;
	struct buf path;
	struct buf where; /* where the file is, as in "on node 'n1'"; empty: on
	                     this machine */
	/* id of the job's record */
	uint64_t job;
	/* the daemon keeps the output; it is not a file of the user */
	bool streamed;
	const char *state;
	int queue; /* index of the job's queue; -1: it no longer exists */
	uint32_t uid, task;
	/* number of the job's tasks */
	uint32_t ntasks;
	bool error;
};

/* Find the output that the fields id, task and stream of a request name, if
 * its sender may read it. Call found_log_free() in any case. */
int found_log_find(struct found_log *f, struct daemon *d,
                   const struct request_in *in, struct err *err);
void found_log_free(struct found_log *f);

/* Returns an integer field of the request, or `absent` if it has none. */
int64_t found_log_number(const struct request_in *in, const char *key,
                         int64_t absent);

#endif

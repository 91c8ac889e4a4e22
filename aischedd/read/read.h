/*
 * read.h - one listing under way
 *
 * read.c takes the request and goes from piece to piece; state.c writes
 * what is in the state, on the loop's thread, past.c what is in the
 * history, on another one.
 */
#ifndef AISCHEDD_READ_READ_H
#define AISCHEDD_READ_READ_H

#include "aischedd/daemon.h"
#include "aischedd/op/filter.h"
#include "aischedd/read/listing.h"
#include "aischedd/thread.h"
#include "libcommon/jobid.h"
#include "libcommon/map.h"

enum { READ_PIECE = 256 * 1024 }; /* bytes of one part */

/* An id that the request names. */
struct wanted {
	char *text;
	struct jobid id;
	bool found;
};

/*
 * A listing under way: first what is in the state, by the ids taken when it
 * began, then what is in the history.
 */
struct reading {
	struct reading *next;
	struct slice slice;
	bool begun;
	struct daemon *d;
	struct ask *ask;
	struct listing listing;
	json_t *body; /* what the filters borrow */
	struct filters by;
	uint64_t rows;
	struct buf out;

	uint64_t *active; /* ids, or indices of nodes and queues */
	size_t nactive, active_at, active_cap;
	struct map taken;       /* ids in active */
	struct node_left *left; /* of each node, when the listing began */
	/* Or all jobs: where to go on, 0: nowhere; the first that came after
	 * the listing began; the one before where to go on. */
	uint64_t next_job, end_job, last_job;

	bool past; /* history is wanted */
	bool past_only;
	struct map active_told; /* ids, then: they may end before it is read */
	bool in_thread, gone;   /* gone: nobody waits for it */
	/* history, on its thread */
	struct thread_task task;
	struct history_query query;
	char *store_path;
	int result;
	struct err err;
	struct wanted *wanted; /* NULL: no ids were given */
	size_t nwanted, wanted_at;
	size_t taken_at;  /* those before were looked for in the state */
	size_t past_rows; /* of the present query */

	char *only_user; /* NULL: everybody's */
};

/* read.c */
/* Send what is written; go on, in its turn, when little of it is left. */
void reading_flush(struct reading *r);
void reading_free(struct reading *r);

/* state.c */
/* Find out what is asked for.  Fails: as the store. */
int read_begin(struct reading *r, struct err *err);
/* Write a piece of it; whether there is more. */
bool read_piece(struct reading *r);
bool reading_fits(const struct reading *r, const struct job *job,
                  const char *user, const char *queue);
/* Whether some of these tasks of its array are in the record; none: all. */
bool reading_means(const struct idset *tasks, const struct job *job);

/* past.c */
/* Ask for the next rows; reading_flush() follows when they are there. */
void read_past(struct reading *r);

#endif

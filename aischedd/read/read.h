/*
 * read.h - one listing in progress
 *
 * read.c takes the request and goes from piece to piece. state.c writes rows of
 * the state, on the loop's thread; past.c rows of the history, on another
 * thread.
 */
#ifndef AISCHEDD_READ_READ_H
#define AISCHEDD_READ_READ_H

#include "aischedd/daemon.h"
#include "aischedd/op/filter.h"
#include "aischedd/read/listing.h"
#include "aischedd/read/page.h"
#include "aischedd/read/shares.h"
#include "aischedd/thread.h"
#include "libcommon/jobid.h"
#include "libcommon/map.h"

enum { READ_PIECE = 256 * 1024 }; /* bytes in one part */

/* An id that the request names. */
struct wanted {
	char *text;
	struct jobid id;
	bool found;
};

/*
 * A listing in progress: first the state, by the ids taken when it began, then
 * the history.
 */
struct reading {
	struct reading *next;
	struct slice slice;
	bool begun;
	struct daemon *d;
	struct ask *ask;
	struct listing listing;
	json_t *body; /* the filters borrow from it */
	struct filters by;
	uint64_t rows;
	struct buf out;
	struct page page;   /* the part that is wanted */
	struct listing key; /* the one field that it is sorted by */
	struct buf key_text;

	/* ids of jobs or cron entries, or indices of nodes and queues */
	uint64_t *active;
	size_t nactive, active_at, active_cap;
	struct map taken;       /* the ids in active */
	struct node_left *left; /* what each node has free, as of the beginning
	                           of the listing */
	struct shares shares;
	uint32_t share_queue; /* the next row of shares */
	bool queue_told;
	size_t share_user;
	/* If all jobs are wanted: the next one, 0: none; the first one that
	 * came after the listing began; the last one written. */
	uint64_t next_job, end_job, last_job;

	bool past; /* the history is wanted, too */
	bool past_only;
	struct map active_told; /* ids of active rows that were written; such a
	                           job may end before the history is read */
	bool in_thread, gone;   /* gone: the peer has disconnected */
	/* history, on the reader's thread */
	struct thread_task task;
	struct history_query query;
	char *store_path;
	int result;
	struct err err;
	struct wanted *wanted; /* NULL: the request names no ids */
	size_t nwanted, wanted_at;
	/* those before this index were looked up in the state */
	size_t taken_at;
	size_t past_rows; /* rows of the current query */

	char *only_user;  /* NULL: all users */
	struct veil veil; /* hides jobs, or use, of others */
};

/* read.c */
/* Go on with the listings that can, one after the other. */
void daemon_slice_readings(struct daemon *d);
/* End the listing of an ask whose peer has disconnected. */
void daemon_reading_gone(struct daemon *d, const struct ask *ask);
void daemon_free_readings(struct daemon *d);

/* dump.c: the same for dumps. */
void daemon_dump_gone(struct daemon *d, const struct ask *ask);
void daemon_free_dumps(struct daemon *d);

/* Send what is written; when little of it is left to send, the listing goes on
 * in its turn. */
void reading_flush(struct reading *r);
void reading_free(struct reading *r);

/* state.c */
/* Prepare the listing; returns whether there is more to prepare. Fails as the
 * store does. */
int read_begin(struct reading *r, struct err *err);
/* Write a piece; returns whether there is more. */
bool read_piece(struct reading *r);
bool reading_fits(const struct reading *r, const struct job *job,
                  const char *user, const char *queue);
/* Whether the record has some of these tasks of its array; true if none are
 * given. */
bool reading_means(const struct idset *tasks, const struct job *job);

/* A row was written to r->out; a sorted page takes it from there. */
void reading_wrote(struct reading *r);
/* Write the next rows of a sorted page; returns whether there is more. */
bool read_sorted(struct reading *r);

/* past.c */
/* Query the next rows; reading_flush() is called when they are there. */
void read_past(struct reading *r);

#endif

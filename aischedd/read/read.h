/*
 * read.h - one listing in progress
 *
 * read.c reads the request and continues the listing piece by piece. state.c
 * writes rows of the state, on the loop's thread; past.c writes rows of the
 * history, on another thread.
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

enum { READ_PIECE = 256 * 1024 }; /* most bytes in one part of an answer */

/* A job id that the request names, and whether a job was found for it. */
struct wanted {
	char *text;
	struct jobid id;
	bool found;
};

/* A listing in progress: first rows of the state, by the ids collected when the
 * listing began, then rows of the history. */
struct reading {
	struct reading *next;
	struct slice slice;
	bool begun;
	struct daemon *d;
	struct ask *ask;
	struct listing listing;
	json_t *body; /* body of the request, from which the filters borrow */
	struct filters by;
	uint64_t rows;
	struct buf out;
	struct page page;   /* the page that is requested */
	struct listing key; /* the one field by which the page is sorted */
	struct buf key_text;

	/* ids of jobs or cron entries, or indices of nodes and queues, to
	 * be listed */
	uint64_t *active;
	size_t nactive, active_at, active_cap;
	struct map taken; /* the job ids in `active` */
	/* what each node had free when the listing began */
	struct node_left *left;
	uint64_t made; /* state_nodes_made() when it began */
	struct shares shares;
	/* the row of shares that is written next */
	uint32_t share_queue;
	bool queue_told;
	size_t share_user;
	/* If the request names no ids: ids of the next job (0: none is left),
	 * of the first job submitted after the listing began, and of the last
	 * job written. */
	uint64_t next_job, end_job, last_job;

	/* rows of the history follow those of the state */
	bool past;
	bool past_only;
	/* ids of active jobs that were written: if such a job ends before the
	 * history is read, it must not be listed again */
	struct map active_told;
	bool in_thread, gone; /* gone: the peer has disconnected */
	/* For reading the history on the reader's thread. */
	struct thread_task task;
	struct history_query query;
	char *store_path;
	int result;
	struct err err;
	/* the ids of the request; NULL: it names none */
	struct wanted *wanted;
	size_t nwanted, wanted_at;
	/* ids in `wanted` before this index were looked up in the state */
	size_t taken_at;
	/* rows that the current queries have returned, over one connection */
	size_t past_rows;

	/* list only this user's jobs; NULL: those of all users */
	char *only_user;
	struct veil veil; /* hides jobs or use of others from the requester */
};

/* read.c */
/* Continue, in turn, the listings whose connections have little left to send,
 * until the steps of a slice are used up. */
void daemon_slice_readings(struct daemon *d);
/* End the listing of this ask, as its peer has disconnected. */
void daemon_reading_gone(struct daemon *d, const struct ask *ask);
void daemon_free_readings(struct daemon *d);

/* dump.c: the same for dumps */
void daemon_dump_gone(struct daemon *d, const struct ask *ask);
void daemon_free_dumps(struct daemon *d);
/* Begin the dumps that had to wait for the end of a sweep, if it is over. */
void daemon_go_on_dumping(struct daemon *d);

/* Send the rows written so far. When most of them have been sent, the listing
 * waits for its turn to continue. */
void reading_flush(struct reading *r);
void reading_free(struct reading *r);

/* state.c */
/* Find what is to be listed. Returns 1 if there is more to find, 0 if not;
 * fails with an error of the store. */
int read_begin(struct reading *r, struct err *err);
/* Write the next piece of rows of the state; returns whether there is more
 * to write. */
bool read_piece(struct reading *r);
bool reading_fits(const struct reading *r, const struct job *job,
                  const char *user, const char *queue);
/* Whether the record has some of these tasks of its array; true if the set
 * is empty. */
bool reading_means(const struct idset *tasks, const struct job *job);

/* Count a row that was written to r->out, or move it to the sorted page. */
void reading_wrote(struct reading *r);
/* Write the next rows of a sorted page; returns whether there is more to do. */
bool read_sorted(struct reading *r);

/* past.c */
/* Query the next rows of the history on the thread, which calls reading_flush()
 * on the loop's thread when done. */
void read_past(struct reading *r);

#endif

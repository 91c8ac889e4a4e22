/*
 * live.h - the rows of a live view, and the requests for them
 *
 * A list of jobs may be long, so only a few screens of rows around the cursor
 * are requested: the window. It begins behind a place in the sort order, like
 * listings with --after. At most one request is in flight at any time, and
 * nothing blocks on its answer: meanwhile keys move the cursor among the rows
 * that have been received.
 */
#ifndef AIQ_LIVE_H
#define AIQ_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aiq/aiq.h"
#include "aiq/head.h"
#include "libcommon/buf.h"

struct live_row {
	/* Identify the row: its id, and its key in the sort order. */
	char *id, *key;
	char *name; /* name of the row as commands take it */
};

/* The request that is in flight. */
enum live_stage {
	STAGE_IDLE,
	STAGE_STATUS, /* for the lines at the top; then METRICS and ROWS follow
	               */
	STAGE_METRICS,
	STAGE_ROWS,   /* rows of the window */
	STAGE_BASE,   /* rows before the row that was found, to get the place
	                 where the window begins */
	STAGE_SEEK,   /* rows to search for a text */
	STAGE_QUEUES, /* names of all queues */
};

/* Where to put the cursor when the next rows have come. */
enum live_go { GO_KEEP, GO_FIRST, GO_LAST, GO_ID };

struct live {
	struct aiq aiq;       /* the command line, as keys have changed it */
	struct format format; /* a copy */
	size_t tab;
	struct client *client;
	enum live_stage stage, next; /* next: the request to send afterwards */
	bool stale;                  /* the next answer is to be ignored */
	int64_t asked_ms;
	struct buf raw; /* parts of the answer received so far */

	size_t span; /* rows that fit on the screen */
	char *base;  /* the window begins behind this place; NULL: at the first
	                row */
	bool more;   /* there are rows behind the window */
	int64_t count;
	struct live_row *row;
	size_t n, at;
	long owed; /* rows by which to move the cursor when the next rows have
	              come */
	char *text, **line; /* the formatted header and rows */
	enum live_go go;
	char *go_id;

	char *sought;
	bool sought_back, wrapped;
	char *seek_after;

	char **queue; /* names of all queues, if requested; queue_at == nqueues:
	                 jobs of all queues are shown */
	size_t nqueues, queue_at;
	int queue_step;

	struct live_head head;
	bool lost; /* the connection is lost, and the rows are out of date */
	char message[512]; /* below the rows; "": none */
};

void live_init(struct live *live, const struct aiq *aiq);
void live_free(struct live *live);

/* Request again everything that is shown, unless an answer is pending. */
void live_round(struct live *live);
/* Receive an answer; to be called when the client's descriptor is readable. */
void live_answer(struct live *live);

/* The actions of keys. */
void live_tab(struct live *live, size_t tab);
void live_move(struct live *live, long by);
void live_end(struct live *live, bool last);
void live_sort(struct live *live, bool turn);
void live_all(struct live *live);
void live_queue(struct live *live, int step);
void live_find(struct live *live, const char *text, bool back);

/* Request an action on the job with this name, wait for the answer, and set the
 * message. action is one of the request `control`, or "cancel". */
void live_act(struct live *live, const char *action, const char *name);

enum { TABS = 6 };
extern const char *const live_tabs[TABS];

#endif

/*
 * live.h - the rows of a live view, and the requests for them
 *
 * Only some rows of jobs are fetched, a few screens around the cursor: the
 * window. It begins behind a place, like listings with --after. One request is
 * in flight at any time, and nothing waits for it: meanwhile keys move the
 * cursor among the rows that are there.
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
	char *id, *key; /* which row, and its place in the order */
	char *name;     /* as commands take it */
};

/* Requests, one after another. */
enum live_stage {
	STAGE_IDLE,
	STAGE_STATUS, /* for the head; followed by METRICS, ROWS */
	STAGE_METRICS,
	STAGE_ROWS,   /* the window */
	STAGE_BASE,   /* rows before one, to find out where the window begins */
	STAGE_SEEK,   /* rows that may have the text being searched for */
	STAGE_QUEUES, /* names of queues */
};

/* Where to put the cursor once rows have come. */
enum live_go { GO_KEEP, GO_FIRST, GO_LAST, GO_ID };

struct live {
	struct aiq aiq;       /* the command line, as keys have changed it */
	struct format format; /* own */
	size_t tab;
	struct client *client;
	enum live_stage stage, next; /* next: to be asked afterwards */
	bool stale; /* the answer to come is no longer wanted */
	int64_t asked_ms;
	struct buf raw; /* of the answer so far */

	size_t span; /* rows on the screen */
	char *base;  /* the window begins behind this place; NULL: at the top */
	bool more;   /* there are rows behind the window */
	int64_t count;
	struct live_row *row;
	size_t n, at;
	long owed; /* rows by which to move the cursor once they are here */
	char *text, **line; /* header and rows */
	enum live_go go;
	char *go_id;

	char *sought;
	bool sought_back, wrapped;
	char *seek_after;

	char **queue; /* all names, once asked for; queue_at: n: all of them */
	size_t nqueues, queue_at;
	int queue_step;

	struct live_head head;
	bool lost;         /* what is shown is out of date */
	char message[512]; /* below the rows; "": none */
};

void live_init(struct live *live, const struct aiq *aiq);
void live_free(struct live *live);

/* Request everything that is shown, unless an answer is pending. */
void live_round(struct live *live);
/* Take the answer; call it when the client's descriptor is readable. */
void live_answer(struct live *live);

/* Do what a key is for. */
void live_tab(struct live *live, size_t tab);
void live_move(struct live *live, long by);
void live_end(struct live *live, bool last);
void live_sort(struct live *live, bool turn);
void live_all(struct live *live);
void live_queue(struct live *live, int step);
void live_find(struct live *live, const char *text, bool back);

/* Request an action upon the job with this name, and report the result. action:
 * of the request control, or cancel. */
void live_act(struct live *live, const char *action, const char *name);

enum { TABS = 6 };
extern const char *const live_tabs[TABS];

#endif

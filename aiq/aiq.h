/*
 * aiq.h - what the files of aiq share: the command line, columns, listings
 *
 * A listing asks the daemon for exactly the fields it shows, as text between
 * tabs, and formats them for people: times in local time, sizes with units.
 */
#ifndef AIQ_AIQ_H
#define AIQ_AIQ_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "libcommon/client/client.h"
#include "libcommon/err.h"
#include "libcommon/opt.h"

/* How a value is shown as text. */
enum show {
	SHOW_TEXT,
	SHOW_TIME,    /* unix seconds, as local time; of two, the first that is
	                 given */
	SHOW_SPAN,    /* seconds: 1-02:03:04 */
	SHOW_MS,      /* milliseconds, likewise */
	SHOW_MIB,     /* 1.5G */
	SHOW_RATIO,   /* 40 % */
	SHOW_EXIT,    /* of exit_code and signal: "3" or "TERM" */
	SHOW_PRODUCT, /* of two fields: the amount of all tasks together */
};

struct column {
	const char *name; /* for -o */
	const char *header;
	char letter; /* of squeue's -o; 0: none */
	bool right;  /* a number */
	enum show show;
	const char *field[2]; /* on the wire; NULL: as name, no second */
};

/* A kind of thing that can be listed. */
struct view {
	const char *op; /* request, and key of its rows in JSON */
	const struct column *columns;
	size_t ncolumns;
	const char *standard; /* the default of -o */
};

extern const struct view view_jobs, view_history, view_crons, view_attempts,
    view_queues, view_nodes, view_shares;

/* One column of the output as -o asks for it. */
struct pick {
	const struct column *column;
	/* Templates only: text before the column, width (0: any). */
	char *before;
	int width;
	bool right;
};

struct format {
	struct pick *pick;
	size_t n, cap;
	bool is_template; /* squeue's "%.18i %t" instead of a table */
	char *after;      /* text after the last column */
};

/* The command line; strings are argv's. */
struct aiq {
	const char *socket;
	const struct view *view;
	bool web, open, list, logout;
	bool history, log, script; /* view is view_history, view_jobs */
	bool attempts;             /* with history; view is view_attempts */
	json_t *users, *queues, *states, *names, *nodes; /* NULL: all */
	json_t *accounts, *labels, *pools, *classes;
	bool report, efficiency, running, csv;
	bool replay, anonymous; /* with history */
	const char *file;       /* of archived jobs, in place of the daemon */
	const char *by;
	int64_t top; /* rows of a report; -1: all */
	bool all, json, no_header, watch, follow, tasks;
	const char *format;
	int64_t since, until; /* 0: not given */
	const char *sort, *after;
	int64_t cron;     /* runs of this recurring work; 0: any job */
	int64_t period_s; /* of watch */
	int64_t limit;    /* rows; -1: all */
	int64_t task;     /* -1: not given */
	char **operand;   /* job ids */
	size_t noperands;
};

extern const struct opt_prog aiq_prog;

/* Show everything about the named jobs. Fails as list_print(). */
int show_jobs(const struct aiq *aiq, struct client *client, struct err *err);

/* Carry out --web. */
int link_run(const struct aiq *aiq, struct client *client, struct err *err);

/* Seconds between two rounds of --watch. */
enum { WATCH_MIN_S = 1, WATCH_S = 2, WATCH_MAX_S = 3600 };

/* Show the listing on the whole terminal, live, until q or Ctrl-C. Fails with
 * ENOTTY if there is none. */
int watch_run(const struct aiq *aiq, struct err *err);

#endif

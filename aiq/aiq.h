/*
 * aiq.h - what the files of aiq share: the command line, columns, listings
 *
 * A listing requests from the daemon exactly the fields that it shows, as lines
 * of values separated by tabs, and formats them: times as local time, sizes
 * with units.
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

/* How the values of a column are formatted as text. */
enum show {
	SHOW_TEXT,
	SHOW_TIME,  /* unix seconds, as local time; of two fields the first that
	               has a value */
	SHOW_SPAN,  /* seconds: 1-02:03:04 */
	SHOW_MS,    /* milliseconds, likewise */
	SHOW_MIB,   /* 1.5G */
	SHOW_RATIO, /* 40 % */
	SHOW_EXIT,  /* the fields exit_code and signal, as "3" or "TERM" */
	SHOW_PRODUCT, /* product of two fields, such as tasks and CPUs of a task
	               */
};

struct column {
	const char *name; /* name of the column for -o */
	const char *header;
	char letter; /* its letter in squeue's -o; 0: none */
	bool right;  /* aligned right, as numbers are */
	enum show show;
	/* Names of fields in requests; field[0] NULL: the same as name,
	 * field[1] NULL: there is no second one. */
	const char *field[2];
};

/* A kind of thing that can be listed. */
struct view {
	const char *op; /* name of the request, and key of the rows in JSON */
	const struct column *columns;
	size_t ncolumns;
	const char *standard; /* the default of -o */
};

extern const struct view view_jobs, view_history, view_crons, view_attempts,
    view_queues, view_nodes, view_shares;

/* One column of the output, as -o selects it. */
struct pick {
	const struct column *column;
	/* For templates only: text before the column, and its width (0: that of
	 * the value). */
	char *before;
	int width;
	bool right;
};

struct format {
	struct pick *pick;
	size_t n, cap;
	bool is_template; /* print lines as in squeue's "%.18i %t" instead of a
	                     table */
	char *after;      /* text after the last column */
};

/* The command line; strings point into argv. */
struct aiq {
	const char *socket;
	const struct view *view;
	bool web, open, list, logout;
	/* With history, view is view_history; with log or script, view_jobs. */
	bool history, log, script;
	bool attempts; /* only with history; view is view_attempts */
	/* Filters; NULL: all. */
	json_t *users, *queues, *states, *names, *nodes;
	json_t *accounts, *labels, *pools, *classes;
	bool report, efficiency, running, csv;
	bool replay, anonymous; /* only with history */
	/* Archive of jobs to read instead of asking the daemon. */
	const char *file;
	const char *by;
	int64_t top; /* rows of a report; -1: all */
	bool all, json, no_header, watch, follow, tasks;
	const char *format;
	int64_t since, until; /* 0: not given */
	const char *sort, *after;
	int64_t cron; /* list only runs of this recurring work; 0: any jobs */
	int64_t period_s; /* seconds between the rounds of --watch */
	int64_t limit;    /* rows to list at most; -1: all */
	int64_t task;     /* -1: not given */
	char **operand;   /* job ids */
	size_t noperands;
};

extern const struct opt_prog aiq_prog;

/* Print all details of the jobs that the command line names. Fails
 * like list_print(). */
int show_jobs(const struct aiq *aiq, struct client *client, struct err *err);

/* Run `aiq --web`. */
int link_run(const struct aiq *aiq, struct client *client, struct err *err);

/* Seconds between two rounds of --watch. */
enum { WATCH_MIN_S = 1, WATCH_S = 2, WATCH_MAX_S = 3600 };

/* Show the listing on the whole terminal, updated until q or Ctrl-C. Fails with
 * ENOTTY if there is no terminal. */
int watch_run(const struct aiq *aiq, struct err *err);

#endif

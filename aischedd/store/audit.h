/*
 * audit.h - who did what to jobs, nodes, queues, reservations and the daemon
 *
 * Each accepted act has a row, which is written in the same commit as the
 * changes that the act made, and is purged with the history.
 */
#ifndef AISCHEDD_STORE_AUDIT_H
#define AISCHEDD_STORE_AUDIT_H

#include <stddef.h>
#include <stdint.h>

#include "libcommon/err.h"

struct store;

struct audit_row {
	int64_t time_ms;
	uint32_t uid;
	const char *user, *act;
	/* id of the job's record; 0: the act is not about a job */
	uint64_t job;
	const char *target; /* changed by the act: "job 12_3", "node n[0-3]" */
	const char *owner;  /* owner of the job, or NULL */
	const char *text;   /* details, or NULL */
};

/* rows that are kept for the next commit */
enum { AUDITS_KEPT = 100000 };

/* Keep a row for the next commit; strings are copied. If AUDITS_KEPT rows are
 * kept already, because commits fail, the row is lost; a warning says so at
 * most once a minute. */
void store_audit(struct store *store, const struct audit_row *row);

/* Conditions that select rows. A member that is NULL, 0 or NO_TIME is
 * no condition. */
struct audit_query {
	const char *user, *act;
	/* select acts by this user, acts on this user's jobs, and acts on the
	 * queues listed in `queues` (",a,b,") or on jobs of these queues */
	const char *about;
	const char *queues;
	/* acts on this job, or on this array and its tasks */
	uint64_t job;
	int64_t since, until;
	size_t limit; /* at most this many rows, the latest ones */
};

typedef void audit_fn(const struct audit_row *row, void *arg);

/* Call fn for each row that the query selects, the latest first. Thread safe:
 * reads with a connection of its own. */
int store_audit_list(const char *path, const struct audit_query *query,
                     audit_fn *fn, void *arg, struct err *err);

/* --- called by commits ------------------------------------------------- */

int audit_put_new(struct store *store, struct err *err);
void audit_forget_new(struct store *store);

#endif

/* rollup_purge.c - remove old sums of use by hour */
#include "aischedd/store/rollup_purge.h"

#include "aischedd/store/own.h"
#include "libcommon/cron/period.h"

/* Set *ret to the start of the last hour before this time that has sums; -1:
 * none has. */
static int last_hour(struct store *store, int64_t before, int64_t *ret,
                     struct err *err)
{
	struct stmt s = db_use(&store->db, LAST_HOUR);

	db_i64(&s, 1, before);
	if (db_step(&store->db, &s, err) < 1)
		return -1;
	*ret = db_col_i64(&s, 0, -1);
	sqlite3_reset(s.s);
	return 0;
}

/* Note that the sums of hours before this time are not complete. */
static int note(struct store *store, int64_t from, struct err *err)
{
	struct stmt s = db_use(&store->db, NOTE_HOURS);

	db_i64(&s, 1, from);
	return db_run(&store->db, &s, err);
}

static int purge(struct store *store, enum sql which, int64_t before,
                 size_t limit, bool *ret_more, struct err *err)
{
	struct stmt s = db_use(&store->db, which);

	db_i64(&s, 1, before);
	db_i64(&s, 2, (int64_t)limit);
	if (db_run(&store->db, &s, err) < 0)
		return -1;
	*ret_more |= (size_t)sqlite3_changes64(store->db.sql) >= limit;
	return 0;
}

static int purge_all(struct store *store, int64_t before, int64_t from,
                     size_t limit, bool *ret_more, struct err *err)
{
	if (db_exec(&store->db, "BEGIN IMMEDIATE", err) < 0)
		return -1;
	/* Remove waits before sums: last_hour() only finds hours with sums, so
	 * waits without sums would stay. */
	if (note(store, from, err) == 0 &&
	    purge(store, PURGE_HOUR_WAITS, before, limit, ret_more, err) == 0 &&
	    (*ret_more ||
	     purge(store, PURGE_HOURS, before, limit, ret_more, err) == 0) &&
	    db_exec(&store->db, "COMMIT", err) == 0)
		return 0;
	if (!sqlite3_get_autocommit(store->db.sql))
		db_exec(&store->db, "ROLLBACK", NULL);
	return -1;
}

int store_purge_hours(struct store *store, const struct zone *zone,
                      int64_t before, size_t limit, bool *ret_more,
                      struct err *err)
{
	int64_t day[2], last;

	*ret_more = false;
	period_of(zone, PERIOD_DAY, before, day);
	before = day[0];
	if (last_hour(store, before, &last, err) < 0)
		return -1;
	if (last < 0)
		return 0;
	/* Note the end of the last day that has sums, not `before`. While the
	 * clock is far ahead, `before` is too late: hours booked after the
	 * clock was corrected would count as removed. */
	period_of(zone, PERIOD_DAY, last, day);
	return purge_all(store, before, day[1], limit, ret_more, err);
}

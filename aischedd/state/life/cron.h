/*
 * cron.h - recurring work: entries with a schedule, each run of which is a job
 *
 * When a time of the schedule comes, an alarm leaves EFFECT_CRON. The daemon
 * then looks up the owner's account again, checks the request like any
 * submission, and calls state_cron_take() and state_submit() in one turn. The
 * new job and `looked`, the time up to which the entry was handled, are thus
 * written by one commit, and no time gets two runs. An entry is paused (by a
 * user), active, or blocked (its zone, queue or owner is gone; the member
 * `blocked` says which).
 */
#ifndef AISCHEDD_STATE_LIFE_CRON_H
#define AISCHEDD_STATE_LIFE_CRON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libcommon/cron/cron_rule.h"
#include "libcommon/cron/schedule.h"
#include "libcommon/err.h"
#include "libcommon/map.h"
#include "libcommon/spec/spec.h"

struct job;
struct state;

/* Reasons why a scheduled time had no run, as entries and metrics
 * count them. */
enum cron_skip {
	CRON_SKIP_OVERLAP, /* policy forbid: an earlier run had not ended */
	CRON_SKIP_LATE,    /* it was noticed later than --cron-late allows */
	/* it passed while the daemon was down or the entry was blocked, and the
	 * entry does not make up for it */
	CRON_SKIP_MISSED,
	CRON_SKIP_REFUSED, /* the request failed the checks of a submission */
	/* cron.max_runs runs of the entry are unfinished */
	CRON_SKIP_LIMIT,
	CRON_SKIPS
};

struct cron_entry {
	/* list of all entries, in order of ids */
	struct cron_entry *prev, *next;
	uint64_t id;
	uint32_t uid, gid, user; /* user: index of the user in the state */
	int64_t script, env;     /* ids of blobs in the store */
	char *packed;            /* the request, from spec_pack() */
	struct cron_rule rule;   /* the entry owns its texts */
	struct schedule schedule;
	int64_t created;
	/* all times up to this one were handled: they had a run or
	 * were skipped */
	int64_t looked;
	int64_t next_at; /* when the next run is due, or NO_TIME */
	/* the time of the alarm that was set last; NO_TIME: it has gone off */
	int64_t alarm_at;
	int64_t last; /* the time of the last run, or NO_TIME */
	uint64_t last_job;
	uint64_t runs, skipped, missed, refused;
	bool paused, imported;
	/* EFFECT_CRON was left: the daemon is looking up the owner */
	bool asking;
	/* the entry is blocked, because its owner was not found */
	bool ownerless;
	bool is_dirty; /* to be written by the next commit */
	char *blocked; /* why the entry is blocked, or NULL */
	char *reason;  /* why the last scheduled time had no run, or NULL */
	/* ids of the entry's jobs and arrays that may not have ended */
	uint64_t *run;
	size_t nruns, run_cap;
};

/* The text of the file from which a user's entries were imported. */
struct cron_file {
	uint32_t uid;
	int64_t text; /* id of a blob; 0: there is none */
	bool is_dirty;
};

struct cron_table {
	struct map by_id;
	struct cron_entry *first, *last;
	/* the entry with which state_cron_recheck() goes on, or NULL */
	struct cron_entry *recheck;
	size_t n;
	/* ids of removed entries, to be deleted from the store */
	uint64_t *gone;
	size_t ngone, gone_cap;
	struct cron_file *file;
	size_t nfiles, file_cap;
	bool is_dirty; /* some entries or files are to be written */
	const struct zone *(*zone)(const char *name, struct err *err,
	                           void *arg);
	void *zone_arg;
	/* counted since the daemon was started */
	uint64_t runs, skips[CRON_SKIPS];
};

/* The parts of a new entry, for state_cron_add(), which copies them. */
struct cron_ask {
	uint32_t uid, gid;
	const char *user;
	const struct spec *spec;
	int64_t script, env;
	const struct cron_rule *rule;
	bool paused, imported;
};

/* Set the function that looks up time zones by name. Call it before the first
 * entry is added. */
void state_cron_zones(struct state *state,
                      const struct zone *(*fn)(const char *name,
                                               struct err *err, void *arg),
                      void *arg);

struct cron_entry *state_cron(const struct state *state, uint64_t id);
struct cron_entry *state_first_cron(const struct state *state);
const struct cron_table *state_cron_table(const struct state *state);

/* Returns the time zone of a rule: the one that it names, or that of the
 * configuration. Fails like zones_get(). */
const struct zone *state_cron_zone(const struct state *state,
                                   const struct cron_rule *rule,
                                   struct err *err);

/* Returns the number of seconds by which the jitter of an entry delays all of
 * its runs. */
int64_t state_cron_shift(const struct state *state,
                         const struct cron_entry *entry);

/* Check a rule, and that the user may have `more` additional entries. Fails
 * with EINVAL, ENOENT (no such zone) or EAGAIN (too many entries). */
int state_cron_check(const struct state *state, const struct cron_rule *rule,
                     uint32_t uid, uint32_t more, int64_t now, struct err *err);

/* Check only that a user may have `more` additional entries. Fails
 * with EAGAIN. */
int state_cron_check_count(const struct state *state, uint32_t uid,
                           uint32_t more, struct err *err);

struct cron_entry *state_cron_add(struct state *state,
                                  const struct cron_ask *ask, uint64_t id,
                                  int64_t now);

/* Replace the request and the rule of an entry. script, env: ids of new
 * blobs; 0: keep the old one. The texts of `rule` may be those of the entry's
 * present rule. */
void state_cron_change(struct state *state, struct cron_entry *entry,
                       const struct spec *spec, const struct cron_rule *rule,
                       int64_t script, int64_t env, int64_t now);
void state_cron_pause(struct state *state, struct cron_entry *entry,
                      bool paused, int64_t now);
/* Delete the entry; jobs that it has started are not affected. */
void state_cron_remove(struct state *state, struct cron_entry *entry);

/* --- when a run is due --------------------------------------------------- */

/* Get the ids of the entry's runs (jobs and arrays) that have not ended;
 * borrowed until the next call. Returns their number. */
size_t state_cron_live(struct state *state, struct cron_entry *entry,
                       const uint64_t **ret);

/*
 * Handle all scheduled times up to now that were not handled yet: at most one
 * of them gets a run, the others are counted as skipped or missed. Returns true
 * if there is a run, for the time *ret. up_since: when the daemon was started.
 */
bool state_cron_take(struct state *state, struct cron_entry *entry,
                     int64_t up_since, int64_t now, int64_t *ret);

/* Record that the job was submitted as the entry's run for this time. */
void state_cron_ran(struct state *state, struct cron_entry *entry, uint64_t job,
                    int64_t time);
/* Record why the run that was due could not be submitted. */
void state_cron_refused(struct state *state, struct cron_entry *entry,
                        const char *why, int64_t now);

/* Have the daemon try the due run again at `at`, because it could not look up
 * the owner now. */
void state_cron_later(struct state *state, struct cron_entry *entry,
                      int64_t at);

/* Block the entry because its owner no longer has an account (`why` says it);
 * why NULL: unblock it. */
void state_cron_block(struct state *state, struct cron_entry *entry,
                      const char *why);

/* Complete `spec`, the request of the run that is due at `time`: set this
 * scheduled time, the scheduled time of the previous run, and how many
 * scheduled times between the two had no run. */
void state_cron_spec(const struct state *state, const struct cron_entry *entry,
                     int64_t time, struct spec *spec);

/* Compute the next time of every entry again, after a change of the
 * configuration or of a zone. If there are more entries than fit into a slice,
 * state_tick() goes on with them. */
void state_cron_recheck(struct state *state, int64_t now);

/* --- imported files ----------------------------------------------------- */

/* Returns the id of the blob with the file that the user imported last;
 * 0: none. */
int64_t state_cron_file(const struct state *state, uint32_t uid);
void state_cron_set_file(struct state *state, uint32_t uid, int64_t text);

/* --- for the store ------------------------------------------------------ */

/* Add an entry that the store has read; the texts of its rule are copied. Takes
 * over the entry and sets *entry to NULL. Fails with EINVAL if its schedule is
 * not valid. */
int state_load_cron(struct state *state, struct cron_entry **entry,
                    struct err *err);
void state_load_cron_file(struct state *state, uint32_t uid, int64_t text);

/* --- for this folder ---------------------------------------------------- */

void cron_free(struct state *state);
void cron_committed(struct state *state);
/* Check the zones and queues of all entries and set their alarms. Call it after
 * all entries were loaded. */
void cron_loaded(struct state *state, int64_t now);
/* Go on with what state_cron_recheck() has left, for one slice. */
void cron_recheck_slice(struct state *state, int64_t now);
/* Handle an alarm that was set for the entry. */
void cron_tick(struct state *state, struct cron_entry *entry, int64_t now);
/* Add the job to the runs of its cron entry, if it has one. */
void cron_note_run(struct state *state, const struct job *job);

#endif

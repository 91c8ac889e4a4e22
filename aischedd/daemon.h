/*
 * daemon.h - the turn, and what its files share
 *
 *	hear    rpc and runners call in; requests change the state at once
 *	think   timers, one pass of the scheduler when something changed
 *	commit  one transaction
 *	tell    answers, starts and stops; reading requests begin
 *
 * Everything here runs on the loop's thread, except tasks given to a struct
 * thread (thread.h).
 */
#ifndef AISCHEDD_DAEMON_H
#define AISCHEDD_DAEMON_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>

#include "aischedd/rpc/rpc.h"
#include "aischedd/rpc/slices.h"
#include "aischedd/run/runner.h"
#include "aischedd/state/state.h"
#include "aischedd/store/store.h"
#include "libcommon/conf/conf.h"
#include "libcommon/histogram.h"
#include "libcommon/map.h"

struct event;
struct event_base;
struct daemon;

/* An answer to send after the commit. */
struct answer {
	struct ask *ask;
	json_t *body;
};

/* A function to call once in the tell step, for instance to begin a listing. */
typedef void later_fn(struct daemon *d, void *arg);
struct later {
	later_fn *fn;
	struct ask *ask; /* the call is dropped when its peer disconnects */
	void *arg;
};

struct kept_ask {
	struct ask *ask;
	uint64_t serial;
};

struct pass_stats {
	uint64_t passes;
	double last_ms, max_ms, sum_ms;
	struct histogram pass_s;
	uint32_t rows; /* in the snapshot of the last pass */
};

/* Result of a request, for metrics. */
enum ask_result { ASK_OK, ASK_REFUSED, ASK_FAILED, ASK_RESULTS };

struct pool_runner {
	struct daemon *daemon;
	struct runner *runner; /* NULL: the pool has no runner */
	uint32_t pool;
	bool recovered;
};

/* An adopted job, and what its owner was last told. */
struct adoptee {
	uint64_t job;
	enum reason told;
	bool waits; /* it waits, and its owner was told why */
};

struct daemon {
	struct event_base *base;
	struct conf *conf;
	struct conf *first_conf; /* as it was at the start; kept because other
	                            parts borrow names from it */
	const char *conf_path;
	char *state_dir;
	char *logs; /* folder of kept output */
	int lock_fd;
	struct rlimit files; /* RLIMIT_NOFILE as it was at the start */
	struct state *state;
	struct store *store;
	struct rpc *rpc;
	struct mailer *mailer;
	struct web *web;           /* NULL: there is no page */
	struct sessions *sessions; /* likewise */
	uint64_t bad_links;        /* log-ins with a wrong token */
	struct log_size *log_size; /* of logs; NULL until needed */
	/* reads outputs for the page, as their readers; NULL until needed */
	struct thread *excerpts;
	struct thread *history, *planner;
	struct thread *trier;  /* plans jobs that are only tried, for
	                          --test-only */
	struct planning *pass; /* a pass in progress on the planner's thread */
	struct planning *over; /* the last pass, while the planner's thread
	                          frees it */
	struct pool_runner *pool; /* [npools of the first configuration] */
	size_t npools;

	int64_t started;
	int64_t reloaded;   /* when the configuration in force was read */
	bool reload_failed; /* a later configuration was refused */
	bool quit, reload;
	bool full;      /* on a full disk: nothing is accepted or started */
	bool unwritten; /* full, and the last commit failed */
	/* While unwritten: how many effects were searched for stops and
	 * signals, which are carried out at once; and when the commit is tried
	 * again. */
	size_t nstops;
	double retry_ms;
	struct err full_err;

	struct answer *answer;
	size_t nanswers, answer_cap;
	struct later *later;
	size_t nlaters, later_cap;
	struct reading *readings; /* listings in progress */
	struct slices listings;   /* listings that can continue now */
	struct slices masses;     /* requests over many jobs in progress */
	struct waiter *waiter;
	struct allocs *allocs;
	struct reserving *reserving; /* requests whose users are looked up */
	struct file_ask *file_asks;  /* for cron files, likewise */
	struct crons *crons;         /* runs of recurring work that are due */
	struct map open;             /* unanswered asks: serial * OP_N + op */
	uint64_t serial;             /* of the last ask */
	/* jobs that others made and that have not ended, by id */
	struct map adoptees;
	struct event *explain;    /* timer to tell owners of adopted jobs why
	                             these wait */
	struct logging *loggings; /* output being sent */
	struct relayed *relays;   /* commands in jobs of clusters */
	struct dump *dumps;       /* snapshots being sent */
	struct tryout *tryouts;   /* jobs being tried, for --test-only */

	struct event *tick;  /* the next alarm of the state */
	struct event *pace;  /* the next pass may begin */
	struct event *again; /* begin another turn at once */
	struct event *retry; /* try the commit again */
	struct event *hourly, *booking;
	struct event *look;  /* timer to look at the capacity again */
	double next_look_ms; /* no look before this time */
	bool booking_long;   /* accounting is behind, and the log says so */
	struct event *clock; /* the wall clock was set */
	int clock_fd;
	int64_t boot;      /* hash of the machine's boot id */
	int64_t ahead_ms;  /* wall clock less the clock since boot */
	struct zone *zone; /* time zone of days and months in accounting */
	struct event *term, *intr, *hup; /* signals */
	double next_pass_ms;
	bool check_plans; /* $AISCHED_CHECK_PLANS: verify each plan */
	struct pass_stats stats;
	uint64_t turns;
	struct histogram turn_s;
	/* How many requests of each kind had which result. */
	uint64_t asked[OP_N][ASK_RESULTS];
	uint64_t steps, steps_max; /* steps of work: total at the end of the
	                              last turn; most in one turn */
};

/* Tell the state the time, and when the clock was set. */
void daemon_clock(struct daemon *d);

/* Go on with the clocks as of the last commit, so that daemon_clock() finds out
 * whether the wall clock was set while no daemon ran. */
int daemon_resume_clock(struct daemon *d, struct err *err);

/* Arm a timer; a negative delay fires immediately. */
void daemon_arm(struct event *event, double ms);

/* Answer after the commit; takes the body. */
void daemon_answer(struct daemon *d, struct ask *ask, json_t *body);
/* Refuse at once: nothing has changed. */
void daemon_refuse(struct daemon *d, struct ask *ask, const struct err *err);
/* Answer at once: nothing has changed. */
void daemon_say(struct daemon *d, struct ask *ask, json_t *body);
/* Call fn in the tell step of this turn. */
void daemon_later(struct daemon *d, later_fn *fn, struct ask *ask, void *arg);
/* Begin another turn without waiting. */
void daemon_go_on(struct daemon *d);
/* Forget the requests of an ask whose peer has disconnected. */
void daemon_ask_gone(struct ask *ask, void *arg);
/* Returns a reference to an ask that outlives it: a later ask may have the same
 * address. */
struct kept_ask daemon_keep(const struct daemon *d, struct ask *ask);
/* Whether this ask can still be answered. */
bool daemon_is_open(const struct daemon *d, const struct kept_ask *kept);
/* Count the request as answered; call it before its last frame is sent. */
void daemon_end_ask(struct daemon *d, struct ask *ask);

/* Take turns until the daemon is told to quit. */
int daemon_run(struct daemon *d);
void daemon_free_pass(struct daemon *d);

#endif

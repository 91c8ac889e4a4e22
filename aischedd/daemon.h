/*
 * daemon.h - the daemon and its loop; each round of the loop is a turn
 *
 *	hear    requests and events of runners change the state at once
 *	think   timers, one pass of the scheduler when something changed
 *	commit  one transaction
 *	tell    send answers, start and stop jobs, begin listings
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

/* An answer that is sent after the commit. */
struct answer {
	struct ask *ask;
	json_t *body;
};

/* A function that is called once in the tell step, for example to begin
 * a listing. */
typedef void later_fn(struct daemon *d, void *arg);
struct later {
	later_fn *fn;
	struct ask *ask; /* if this ask's peer disconnects, fn is not called */
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
	uint32_t rows; /* rows of pending jobs that the last pass looked at */
};

/* Result of a request, as counted by metrics. */
enum ask_result { ASK_OK, ASK_REFUSED, ASK_FAILED, ASK_RESULTS };

struct pool_runner {
	struct daemon *daemon;
	struct runner *runner; /* NULL: the pool has no runner */
	uint32_t pool;
	bool recovered;
};

/* A job that was made from a Job in a cluster, and the reason that its owner
 * was last told. */
struct adoptee {
	uint64_t job;
	enum reason told;
	/* the job waits, and its owner was told the reason `told` */
	bool waits;
};

struct daemon {
	struct event_base *base;
	struct conf *conf;
	/* the first configuration, kept because other parts borrow names
	 * from it */
	struct conf *first_conf;
	const char *conf_path;
	char *state_dir;
	char *logs; /* folder of kept output */
	int lock_fd;
	/* RLIMIT_NOFILE when the daemon started */
	struct rlimit files;
	struct state *state;
	struct store *store;
	struct rpc *rpc;
	struct mailer *mailer;
	struct scaler *scaler;
	struct web *web;           /* NULL: there is no page */
	struct sessions *sessions; /* NULL: there is no page */
	/* log-ins to the page with a wrong token */
	uint64_t bad_links;
	/* size of `logs`; NULL until needed */
	struct log_size *log_size;
	/* thread that reads outputs for the page, each with the rights of the
	 * user who asks for it; NULL until needed */
	struct thread *excerpts;
	struct thread *history, *planner;
	/* thread that plans jobs for --test-only */
	struct thread *trier;
	/* pass that the planner's thread is working on, or NULL */
	struct planning *pass;
	/* the previous pass if the planner's thread is still freeing its
	 * memory, else NULL */
	struct planning *over;
	/* one for each pool of first_conf */
	struct pool_runner *pool;
	size_t npools;

	int64_t started;
	/* when the present configuration was read */
	int64_t reloaded;
	/* the last reload was refused */
	bool reload_failed;
	bool quit, reload;
	/* the disk is full, or the database was removed (full_err says which):
	 * no job is accepted or started */
	bool full;
	/* nothing can be stored, and the last commit failed */
	bool unwritten;
	/* Valid only while `unwritten` is set. nstops: how many of the state's
	 * effects were looked at already; stops and signals among them were
	 * carried out. retry_ms: when the commit is tried again. */
	size_t nstops;
	double retry_ms;
	struct err full_err;

	struct answer *answer;
	size_t nanswers, answer_cap;
	struct later *later;
	size_t nlaters, later_cap;
	struct reading *readings; /* listings in progress */
	/* listings that can continue now */
	struct slices listings;
	/* requests in progress that act on many jobs */
	struct slices masses;
	struct waiter *waiter;
	struct allocs *allocs;
	/* reservations whose users are being looked up */
	struct reserving *reserving;
	/* requests for cron files whose users are being looked up */
	struct file_ask *file_asks;
	/* runs of recurring work that are due */
	struct crons *crons;
	/* asks without an answer, each mapped to its serial * OP_N + op */
	struct map open;
	/* number of the last ask */
	uint64_t serial;
	/* how many refused acts of each user, by uid, were recorded in the
	 * minute `refused_minute`, counted from the boot */
	struct map refused;
	int64_t refused_minute;
	/* active jobs that were made from Jobs in clusters, by id */
	struct map adoptees;
	/* timer: tell owners of adopted jobs why their jobs wait */
	struct event *explain;
	struct logging *loggings; /* output being sent */
	struct relayed *relays;   /* commands in jobs, connections to jobs */
	struct dump *dumps;       /* snapshots being sent */
	struct tryout *tryouts;   /* jobs being tried, for --test-only */

	/* timer: the state's next alarm */
	struct event *tick;
	/* timer: the next pass may begin */
	struct event *pace;
	/* timer: begin another turn at once */
	struct event *again;
	/* timer: try the commit again */
	struct event *retry;
	struct event *hourly, *booking;
	/* timer: look at the capacity of pools again */
	struct event *look;
	/* do not look at the capacity before this time */
	double next_look_ms;
	/* accounting is behind, and this has been logged */
	bool booking_long;
	/* event: the wall clock was set */
	struct event *clock;
	int clock_fd;
	int64_t boot;     /* hash of the machine's boot id */
	int64_t ahead_ms; /* wall clock minus the clock since boot */
	/* time zone in which accounting divides days and months */
	struct zone *zone;
	struct event *term, *intr, *hup; /* signals */
	double next_pass_ms;
	bool check_plans; /* $AISCHED_CHECK_PLANS is set: verify each plan */
	struct pass_stats stats;
	uint64_t turns;
	struct histogram turn_s;
	/* Number of requests of each kind with each result. */
	uint64_t asked[OP_N][ASK_RESULTS];
	uint64_t steps_max; /* most steps of work in one turn */
};

/* Tell the state what time it is and, if the wall clock was set, by
 * how much. */
void daemon_clock(struct daemon *d);

/* Continue with the clocks as they were at the last commit, so that
 * daemon_clock() notices if the wall clock was set while no daemon ran. Fails
 * as the store does. */
int daemon_resume_clock(struct daemon *d, struct err *err);

/* Arm a timer; a negative delay fires immediately. */
void daemon_arm(struct event *event, double ms);

/* Send this answer after the commit; takes over body. */
void daemon_answer(struct daemon *d, struct ask *ask, json_t *body);
/* Refuse the request at once; it must not have changed anything. */
void daemon_refuse(struct daemon *d, struct ask *ask, const struct err *err);
/* Send this answer at once; the request must not have changed anything. Takes
 * over body. */
void daemon_say(struct daemon *d, struct ask *ask, json_t *body);
/* Call fn in the tell step of this turn. */
void daemon_later(struct daemon *d, later_fn *fn, struct ask *ask, void *arg);
/* Set d->full if the files of the database were removed or replaced. */
void daemon_check_files(struct daemon *d);
/* Let another turn follow without waiting for events. */
void daemon_go_on(struct daemon *d);
/* Forget what is in progress for an ask whose peer has disconnected. arg is
 * the daemon. */
void daemon_ask_gone(struct ask *ask, void *arg);
/* Returns a reference to the ask that may be kept after the ask is freed, and
 * is not mistaken for a later ask at the same address. */
struct kept_ask daemon_keep(const struct daemon *d, struct ask *ask);
/* Whether this ask can still be answered. */
bool daemon_is_open(const struct daemon *d, const struct kept_ask *kept);
/* Count the ask as answered. Call this before its last frame is sent. */
void daemon_end_ask(struct daemon *d, struct ask *ask);

/* Run one turn after the other until the daemon is told to quit. */
int daemon_run(struct daemon *d);
void daemon_free_pass(struct daemon *d);

#endif

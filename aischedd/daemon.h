/*
 * daemon.h - the turn, and what its files share
 *
 *	hear    rpc and runners call in; requests change the state at once
 *	think   timers, one pass of the scheduler when something changed
 *	commit  one transaction
 *	tell    answers, starts and stops; reading requests begin
 *
 * Everything here runs on the loop's thread, but for reader.c's thread.
 */
#ifndef AISCHEDD_DAEMON_H
#define AISCHEDD_DAEMON_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "aischedd/rpc/rpc.h"
#include "aischedd/rpc/slices.h"
#include "aischedd/run/runner.h"
#include "aischedd/state/state.h"
#include "aischedd/store/store.h"
#include "libcommon/conf/conf.h"
#include "libcommon/map.h"

struct event;
struct event_base;
struct daemon;

/* An answer that waits for the commit. */
struct answer {
	struct ask *ask;
	json_t *body;
};

/* Something to do in the tell step, once: a listing begins. */
typedef void later_fn(struct daemon *d, void *arg);
struct later {
	later_fn *fn;
	struct ask *ask; /* dropped when its peer leaves */
	void *arg;
};

struct pass_stats {
	uint64_t passes;
	double last_ms, max_ms, sum_ms;
};

struct pool_runner {
	struct daemon *daemon;
	struct runner *runner; /* NULL: the pool has none */
	uint32_t pool;
	bool recovered;
};

/* A job that others made, and what they were told of it. */
struct adoptee {
	uint64_t job;
	enum reason told;
	bool waits; /* told is valid */
};

struct daemon {
	struct event_base *base;
	struct conf *conf;
	struct conf *first_conf; /* the edges keep names of it */
	const char *conf_path;
	char *state_dir;
	char *logs; /* the folder of output that is kept */
	int lock_fd;
	struct state *state;
	struct store *store;
	struct rpc *rpc;
	struct thread *history, *planner;
	struct planning *pass;    /* under way on the planner */
	struct pool_runner *pool; /* [npools at the start] */
	size_t npools;

	int64_t started;
	bool quit, reload;
	bool full;       /* nothing is taken or started for want of space */
	bool unwritten;  /* and the last commit failed */
	size_t nstops;   /* then: effects whose stops are carried out */
	double retry_ms; /* then: not before this time */
	struct err full_err;

	struct answer *answer;
	size_t nanswers, answer_cap;
	struct later *later;
	size_t nlaters, later_cap;
	struct reading *readings; /* listings under way */
	struct slices listings;   /* those that can go on */
	struct slices masses;     /* requests over many jobs */
	struct waiter *waiter;
	struct map open;          /* asks that are not answered yet */
	struct map adoptees;      /* that have not ended, by job */
	struct event *explain;    /* their owners are told why they wait */
	struct logging *loggings; /* output that is read */

	struct event *tick;  /* the state's next alarm */
	struct event *pace;  /* the next pass may begin */
	struct event *again; /* another turn at once */
	struct event *retry; /* try the commit again */
	struct event *hourly;
	struct event *term, *intr, *hup; /* signals */
	double next_pass_ms;
	bool check_plans; /* $AISCHED_CHECK_PLANS: verify each */
	struct pass_stats stats;
	uint64_t turns;
	uint64_t steps, steps_max; /* at the end of the last turn; of any */
};

/* Arm a timer; a negative delay fires immediately. */
void daemon_arm(struct event *event, double ms);

/* The answer goes out after the commit; body is taken. */
void daemon_answer(struct daemon *d, struct ask *ask, json_t *body);
/* At once: nothing has changed. */
void daemon_refuse(struct daemon *d, struct ask *ask, const struct err *err);
/* At once too: an answer that only says what is. */
void daemon_say(struct daemon *d, struct ask *ask, json_t *body);
/* In the tell step of this turn. */
void daemon_later(struct daemon *d, later_fn *fn, struct ask *ask, void *arg);
/* Another turn follows this one without waiting. */
void daemon_go_on(struct daemon *d);
/* The peer has left. */
void daemon_ask_gone(struct ask *ask, void *arg);
/* Whether this ask can still be answered. */
bool daemon_is_open(const struct daemon *d, const struct ask *ask);
/* Its last frame is about to be sent. */
void daemon_end_ask(struct daemon *d, struct ask *ask);

/* request.c: op.h has what it leads to */
void daemon_request(struct ask *ask, const struct request_in *in, void *arg);
/* Whether a peer is root or an admin. */
bool daemon_is_admin(const struct peer *peer, void *arg);

/* mass.c */
void daemon_slice_masses(struct daemon *d);
void daemon_free_masses(struct daemon *d);

/* adopt.c: jobs that others made in a cluster */
void daemon_adopt(struct pool_runner *p, const struct adoption *a);
void daemon_adopted(struct daemon *d, const struct effect *e);
void daemon_take_back(struct daemon *d, const struct run_event *ev);
void daemon_explain_soon(struct daemon *d); /* after a plan */
void daemon_free_adoptees(struct daemon *d);

/* wait.c */
void daemon_check_waiters(struct daemon *d);
void daemon_free_waiters(struct daemon *d);

/* logs.c */
void daemon_check_logs(struct daemon *d);
void daemon_log_gone(struct daemon *d, const struct ask *ask);
void daemon_free_logs(struct daemon *d);

/* read.c */
void daemon_reading_gone(struct daemon *d, const struct ask *ask);
void daemon_free_readings(struct daemon *d);
void daemon_slice_readings(struct daemon *d);

/* access.c: what a peer may do */
enum role access_role(const struct daemon *d, const struct peer *peer);
bool access_operates(const struct daemon *d, const struct peer *peer,
                     uint32_t queue);
bool access_job(const struct daemon *d, const struct peer *peer,
                const struct job *job);
/* Whether the peer may read what is not for everybody (output, script) of a
 * job that may have ended; queue is an index, -1: it is no longer there. */
bool access_read(const struct daemon *d, const struct peer *peer, uint32_t uid,
                 int queue);
/* As the state knows who submits; borrows from peer. */
struct submitter access_submitter(const struct peer *peer);

/* reload.c */
int daemon_reload(struct daemon *d, struct buf *warnings, struct err *err);

/* runners.c */
int daemon_new_runners(struct daemon *d, struct err *err);
void daemon_do_effect(struct daemon *d, const struct effect *e);

/* build.c: takes the configuration; accept_loss as in store_open().
 * Fails: *conf is the caller's again. */
struct daemon *daemon_new(struct conf **conf, const char *conf_path,
                          bool accept_loss, struct err *err);
void daemon_free(struct daemon *d);

/* daemon.c */
int daemon_run(struct daemon *d);
void daemon_free_pass(struct daemon *d);

#endif

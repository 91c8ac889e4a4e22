/*
 * state.h - the truth in memory
 *
 * Jobs, arrays, nodes and queues.  Changed only by the calls below, on the
 * loop's thread; each leaves behind what is to be written (changes) and what
 * is to be done (effects).  The daemon writes the first, then does the
 * second: nothing here does I/O or reads a clock.
 *
 * Ended jobs stay until state_committed(); after that they live in the store
 * alone.
 */
#ifndef AISCHEDD_STATE_STATE_H
#define AISCHEDD_STATE_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "aischedd/run/runner.h"
#include "aischedd/sched/order_score.h"
#include "aischedd/sched/plan.h"
#include "aischedd/state/job.h"
#include "aischedd/state/usage.h"
#include "libcommon/conf.h"
#include "libcommon/err.h"
#include "libcommon/map.h"

/* An array while any of its tasks has not ended. */
struct array {
	uint64_t id;
	uint32_t limit;                 /* running at once, 0: no limit */
	uint32_t count, min, max, step; /* as submitted */
	uint32_t unfinished;            /* tasks that have not ended */
	uint32_t failed;  /* tasks that ended other than COMPLETED */
	uint32_t running; /* tasks that hold nodes */
	int64_t started;  /* when the last of those that did, or NO_TIME */
	bool dirty, is_new;
	struct job *first, *last; /* its records: array_next */
};

struct user {
	uint32_t uid;
	const char *name;
};

struct node {
	const char *name;
	uint32_t pool;
	bool gone;     /* its runner no longer has it */
	bool down;     /* says its runner */
	bool drained;  /* says an admin */
	bool cordoned; /* says an admin of its cluster */
	bool dirty;
	/* Each NULL or of its own; node_reason() says which counts. */
	char *drain_reason; /* of the admin */
	char *seen_reason;  /* of its runner: down, gone or cordoned */
	char *avoid_reason; /* starts failed there */
	uint32_t ncpus_found, ngpus;
	uint32_t slots; /* for tasks; 0: any number */
	uint32_t ncpus; /* that can be bound; 0: CPUs are only counted */
	int64_t cpu_found, mem_found; /* by its runner */
	int64_t cpu_milli, mem_mib; /* for jobs: as configured, less reserve */
	uint8_t *cpu_numa, *gpu_numa, *gpu_link;
	uint16_t *cpu_core;
	bool *cpu_reserved; /* kept for the system */
	char *gpu_type;
	struct strlist features, taints; /* as its runner found them */
	char *topology;                  /* likewise, or NULL */
	/* What others than our jobs use of it. */
	int64_t cpu_others, mem_others;
	uint32_t gpus_others, slots_others;
	const struct conf_node *conf; /* its section, or NULL */
	/* The last start here failed, and whose that was; when those of
	 * different jobs fail in a row, nothing starts here for a while. */
	uint64_t failed_job; /* 0: none */
	uint32_t fails;
	int64_t retry_at;
};

/* What the plan says of pending jobs that are alike. */
struct row;

enum effect_kind {
	EFFECT_START,
	EFFECT_STOP,
	EFFECT_SIGNAL,
	EFFECT_SUSPEND,
	EFFECT_RESUME,
	EFFECT_RESIZE, /* to the tasks that it has by then */
	EFFECT_FORGET,
	EFFECT_ADOPT, /* a job that is a Job of its cluster: how it stands */
	EFFECT_DRAIN  /* a node: whether it is drained */
};

struct effect {
	enum effect_kind kind;
	uint64_t job;
	uint32_t attempt;
	enum stop_why why;
	int signo;
	bool script_only;
	uint32_t node;        /* FORGET: the job is gone by then; DRAIN */
	uint32_t pool;        /* ADOPT */
	enum job_state state; /* ADOPT: it may be gone by then, too */
};

struct state;

/* How a job that is no longer here ended; from the store. */
struct past {
	enum job_state state;
	uint32_t uid;
	int64_t start;
};
/* 0: found; -1: no such job.  task NO_TASK: the job, or all of its array
 * (the worst state of its tasks). */
typedef int past_fn(uint64_t job, uint32_t task, struct past *ret, void *arg);

struct state *state_new(const struct conf *conf, past_fn *past, void *arg);
void state_free(struct state *state);

/* --- what is there ----------------------------------------------------- */

const struct conf *state_conf(const struct state *state);

struct job *state_job(const struct state *state, uint64_t id);
struct array *state_array(const struct state *state, uint64_t id);
/* The record of one task of an array: its own, or the part it is in. */
struct job *state_task(const struct state *state, uint64_t array,
                       uint32_t task);

/* All jobs are a list in order of their ids: all_next; NULL: none. */
struct job *state_first_job(const struct state *state);

const struct user *state_user(const struct state *state, uint32_t user);
size_t state_nnodes(const struct state *state);
struct node *state_node(const struct state *state, uint32_t node);
int state_node_find(const struct state *state, const char *name);
/* Why it is down, drained or avoided; NULL: it is not.  Its loss counts more
 * than what an admin says, which is not forgotten meanwhile. */
const char *node_reason(const struct node *node);

bool state_queue_open(const struct state *state, uint32_t queue);

/* The class a request names, else that of the queue. */
const char *state_class(const struct state *state, const struct spec *spec,
                        uint32_t queue);

uint64_t state_next_id(const struct state *state);

/* Jobs in each state (array parts count each task), [JOB_NSTATES]. */
const uint64_t *state_counts(const struct state *state);
uint64_t state_queue_count(const struct state *state, uint32_t queue,
                           bool running);

/*
 * Why a job that has not ended waits: the code, and the sentence appended to
 * text (may be NULL).  *ret_expected: unix seconds or NO_TIME.  position is
 * 0 where there is none.
 */
enum reason state_why(const struct state *state, const struct job *job,
                      int64_t now, struct buf *text, int64_t *ret_expected,
                      uint32_t *ret_position);

/* CPUs, memory and GPUs that are free on a node, and the jobs there. */
struct node_left {
	int64_t free[RES_N];
	uint32_t jobs;
};

/* Of each, ret[nodes]. */
void state_nodes_left(const struct state *state, struct node_left *ret);

/* What the running jobs of a queue and those below it hold. */
void state_queue_used(const struct state *state, uint32_t queue,
                      int64_t ret[RES_N]);

/* The same of each, ret[queues]. */
void state_queues_used(const struct state *state, int64_t (*ret)[RES_N]);

/* The fair share of a queue in the last plan; NULL: there is none yet. */
const int64_t *state_queue_share(const struct state *state, uint32_t queue);

/* How the place of a job among those that wait in its queue comes about.
 * False: it does not wait for its turn, or was not in the last plan. */
bool state_score(const struct state *state, const struct job *job, int64_t now,
                 struct order_score *ret);

/* Work out usage, parts and lightness of all users as of now. */
void state_judge_usage(struct state *state, int64_t now);

/* What users have used of queues, in no order; changes with each event. */
size_t state_nusages(const struct state *state);
const struct usage *state_usage(const struct state *state, size_t i);

/* --- submit ------------------------------------------------------------ */

/* Who submits; in_group says whether he is in a group of this name. */
struct submitter {
	uint32_t uid, gid;
	const char *user;
	bool operator_; /* of the queue, or admin: may raise priorities */
	bool (*in_group)(const char *group, const void *arg);
	const void *arg;
};

/*
 * Check everything and change nothing.  *ret_queue is where it would go.
 * *ahead: jobs of the same request that were checked before; those of this
 * spec are added.
 * Fails: EINVAL (never fits, contradictions), EACCES (queue not for him),
 * ENOENT (no such queue, pool, job of a dependency), EAGAIN (a limit on
 * submitted jobs, queue closed).
 */
int state_check_submit(struct state *state, const struct spec *spec,
                       const struct submitter *who, int64_t now,
                       uint64_t *ahead, uint32_t *ret_queue, struct err *err);

/* The first of n ids that nobody else gets. */
uint64_t state_take_ids(struct state *state, uint32_t n);

/* After state_check_submit() said yes. */
void state_submit(struct state *state, const struct spec *spec,
                  const struct submitter *who, uint32_t queue, int64_t script,
                  int64_t env, uint64_t id, int64_t now);

/*
 * For simulations: the request makes sense here, though the daemon might
 * refuse it because it can never start, or its queue is full or not for him.
 * Fails: EINVAL, EPERM, ENOENT.
 */
int state_check_request(struct state *state, const struct spec *spec,
                        const struct submitter *who, int64_t now,
                        uint32_t *ret_queue, struct err *err);

/* state_submit() in two steps: between them it may be said otherwise how the
 * job can be preempted.  Owns: the caller until state_admit(). */
struct job *state_make_job(struct state *state, const struct spec *spec,
                           const struct submitter *who, uint32_t queue,
                           uint64_t id, int64_t now);
void state_admit(struct state *state, struct job *job, const struct spec *spec,
                 int64_t now);

/* The user of a cluster who has this name.  No system knows him: his uid is
 * one that none gives out, made of the name. */
uint32_t state_foreign_uid(const struct state *state, const char *name);

/* What the plan would say of it if it were submitted now (--test-only);
 * the state is as before.  Text gets the sentence. */
struct what_if {
	bool starts;
	enum reason why;
	int64_t expected; /* unix seconds or NO_TIME */
	struct buf nodes; /* "n0*2,n1" */
	uint64_t *evict;  /* jobs that would leave for it; the caller frees */
	size_t nevicts;
};
void state_test_submit(struct state *state, const struct spec *spec,
                       const struct submitter *who, uint32_t queue, int64_t now,
                       struct what_if *ret, struct buf *text);

/* --- events of one job: the life cycle --------------------------------- */

/* X(event): lifecycle.c has one table of job state x event. */
#define EVENTS(X)       \
	X(hold)         \
	X(release)      \
	X(start)        \
	X(started)      \
	X(start_failed) \
	X(ended)        \
	X(lost)         \
	X(unknown)      \
	X(suspend)      \
	X(resume)       \
	X(resumed)      \
	X(requeue)      \
	X(preempt)      \
	X(signal)       \
	X(cancel)       \
	X(time_limit)   \
	X(deadline)     \
	X(shrink)       \
	X(shrunk)       \
	X(grow)         \
	X(replaced)     \
	X(noted)

enum event_kind {
#define X(sym) EV_##sym,
	EVENTS(X)
#undef X
	    EV_N
};

struct event_in {
	enum event_kind kind;
	int64_t now;
	uint32_t attempt;       /* of runners; 0: whatever runs */
	bool by_operator;       /* hold, release */
	int signo;              /* signal */
	bool script_only;       /* signal */
	bool suspended;         /* started, after a recovery */
	bool rebooted;          /* lost */
	enum evict evict;       /* preempt, suspend, shrink */
	uint64_t evict_by;      /* the same: for this job, 0: none */
	const uint32_t *loss;   /* shrink: tasks, ascending; not all */
	uint32_t nlosses;       /* shrunk: as many, of those that were told
	                         * first; 0: all that are to leave */
	uint32_t resize;        /* shrunk: answers this one; 0: none */
	uint32_t replaced;      /* replaced: so many by now */
	enum start_fault fault; /* start_failed */
	struct strlist nodes;   /* the same: whose it is; none: all */
	int64_t time;           /* started */
	const char *text;       /* start_failed, lost, replaced, noted */
	const struct outcome *outcome; /* ended */
	const struct placement *place; /* start, resumed, grow: copied */
};

/*
 * Apply one event.  Events of runners that are stale or repeated change
 * nothing and do not fail.
 * Fails: EINVAL, "job 12 is RUNNING: ...".
 */
int state_event(struct state *state, struct job *job, const struct event_in *ev,
                struct err *err);

/* The part of an array record that `which` names becomes a record of its own
 * (the record itself when that is all of it); NULL when nothing of it is
 * there. */
struct job *state_split(struct state *state, struct job *job,
                        const struct idset *which, int64_t now);

/* Put it ahead of all that wait in its queue. */
int state_top(struct state *state, struct job *job, struct err *err);

struct assignment {
	const char *field, *value;
};

/*
 * Change fields of a job, all of them or none: any option of aisub by its
 * long name ('_' for '-' is fine), or array_limit.  An empty value takes the
 * option back.  A job that has started takes only those that do not touch
 * what it holds.  The record may dissolve.
 * Fails: EINVAL, EPERM, ENOENT.
 */
int state_update(struct state *state, struct job *job,
                 const struct submitter *who, const struct assignment *set,
                 size_t n, int64_t now, struct err *err);

/* --- nodes, queues, configuration -------------------------------------- */

/* As its runner sees it; the configuration's corrections are applied. */
void state_node_seen(struct state *state, uint32_t pool,
                     const struct node_info *info);
/* Its runner has told all it has: jobs on nodes it no longer has are lost. */
void state_lose_orphans(struct state *state, uint32_t pool, int64_t now);
void state_pool_ready(struct state *state, uint32_t pool, bool ready);
bool state_pool_is_ready(const struct state *state, uint32_t pool);
/* What holds up its runner, for whoever asks about a job; NULL: nothing. */
void state_pool_trouble(struct state *state, uint32_t pool, const char *text);
int state_drain(struct state *state, uint32_t node, bool drained,
                const char *reason, struct err *err);
void state_queue_set_open(struct state *state, uint32_t queue, bool open,
                          int64_t now);

/*
 * Use another configuration from now on; conf is not owned.
 * Fails (and changes nothing): EBUSY, a queue, pool or node that jobs are in
 * has gone.
 */
int state_reconf(struct state *state, const struct conf *conf, int64_t now,
                 struct err *err);

/* --- time and plans ---------------------------------------------------- */

/* When state_tick() has something to do, or NO_TIME. */
int64_t state_next_tick(const struct state *state);
/* Begin times, time limits, deadlines, early signals, delays that are due. */
void state_tick(struct state *state, int64_t now);

/* Whether anything relevant changed since the last snapshot. */
bool state_wants_plan(const struct state *state);

/* Built into the arena; refers to nothing that changes. */
const struct snap *state_snapshot(struct state *state, int64_t now,
                                  struct arena *arena);

/* The same for people: the plan that was made stays in force. */
const struct snap *state_peek(struct state *state, int64_t now,
                              struct arena *arena);

/* Check each start against the present and apply it; keep the verdicts.
 * Nodes or limits that changed meanwhile make all its starts void.  Takes
 * the arena that holds both: it lives until the next plan. */
void state_apply_plan(struct state *state, const struct snap *snap,
                      const struct plan *plan, struct arena **arena,
                      int64_t now);

/* --- what is to be written and done ------------------------------------ */

struct changes {
	size_t njobs, ngone, narrays;
	struct job *const *job;     /* new, changed or ended */
	const uint64_t *gone;       /* records that dissolved into others */
	struct array *const *array; /* over when unfinished is 0 */
	uint64_t next_id;
	bool nodes, queues, usages, reservations; /* some changed */
};

/* Borrowed until the next change. */
void state_changes(const struct state *state, struct changes *ret);
bool state_is_dirty(const struct state *state);

/* They are written: forget them, and the jobs that have ended. */
void state_committed(struct state *state);

/* The effects since the last call; borrowed until the next. */
size_t state_take_effects(struct state *state, const struct effect **ret);

/* What the runner needs for a start; strings and placement are borrowed. */
void state_run_job(const struct state *state, const struct job *job,
                   struct spec *spec, struct request *req,
                   const char **node_names, struct run_job *ret);

/* Attempts that should be known to the runner of a pool, for recover(). */
size_t state_attempts(const struct state *state, uint32_t pool,
                      uint64_t **ret_job, uint32_t **ret_attempt);

/* Placements as text for the store: NODE:GPUS:MILLI:CPU/MILLI,... joined by
 * ';', one for each task; GPUS is a hexadecimal mask. */
void state_placement_format(const struct state *state,
                            const struct placement *place, struct buf *out);
/* Nodes that are not known yet become known, as gone.  NULL with EINVAL. */
struct placement *state_placement_parse(struct state *state, const char *text,
                                        struct err *err);

/* "n0,n1*2"; nothing for none. */
void state_claim_format(const struct state *state, const struct held *claim,
                        struct buf *out);
/* "1000,1200" */
void state_evictions_format(const struct evictions *evictions, struct buf *out);

/* --- loading ----------------------------------------------------------- */

/* What a job is more than numbers, as formatted above, or NULL. */
struct job_texts {
	const char *depend, *place, *leaving, *claim, *evictions;
};

uint32_t state_intern_user(struct state *state, uint32_t uid, const char *name);
/* Takes the job, whose queue and user are set.  Fails: EINVAL. */
int state_load_job(struct state *state, struct job **job,
                   const struct job_texts *texts, struct err *err);
void state_load_array(struct state *state, const struct array *array);
uint32_t state_load_node(struct state *state, const char *name,
                         const char *pool, bool drained, const char *reason);
/* configured: what the file said then; when it says otherwise now, it is
 * right. */
void state_load_queue(struct state *state, const char *name, bool open,
                      bool configured);
void state_load_usage(struct state *state, const char *queue, uint32_t uid,
                      const char *user, int64_t amount, int64_t at);
void state_load_next_id(struct state *state, uint64_t next_id);
/* All is loaded: derive the rest, effects included. */
void state_loaded(struct state *state, int64_t now);

#endif

/*
 * state_priv.h - what the files of this folder share
 */
#ifndef AISCHEDD_STATE_STATE_PRIV_H
#define AISCHEDD_STATE_STATE_PRIV_H

#include "aischedd/state/reserve.h"
#include "aischedd/state/state.h"
#include "libcommon/limits.h"

/*
 * Pending jobs that are alike in all that the policy looks at, in order of
 * their ids.  key: struct row_key and its texts, see row.c.
 */
struct row {
	struct row *chain;              /* another row with the same hash */
	uint64_t hash, req_hash;        /* of the key; of the request in it */
	struct job *head, *tail, *hint; /* hint: the last one put in */
	uint64_t planned;               /* serial of the plan that judged it */
	uint32_t verdict;               /* its row there */
	uint32_t njobs, at;             /* at: in state->row */
	uint32_t slot;                  /* > 0, the same as long as it is */
	uint32_t key_len;
	_Alignas(uint64_t) char key[];
};

/* What a plan said of a job alone, not of its row: when it starts, behind
 * which other. */
struct turn_told {
	uint64_t job, behind;
	int64_t expected;
	uint32_t position;
};

/* The part of a row's key that is the request, then whose it is. */
struct row_key {
	uint32_t tasks, min_tasks, nodes, tasks_per_node;
	int64_t cpus, mem, gpus, time_limit;
	uint64_t pools;
	uint8_t exclusive, one_process;
	uint8_t need, like, numa; /* as in struct snap_reqs */
	uint8_t pad[3];
	/* whose: */
	uint32_t queue, user;
	int64_t priority;
	int64_t served;   /* where the order looks at it, else 0 */
	uint64_t array;   /* of an array with a limit, else 0 */
	uint64_t claimer; /* the job, if nodes are held for it, else 0 */
	uint8_t preemptible, barred, pad2[6];
};
/* texts behind it, each ended by a zero byte */
enum {
	KEY_GPU_TYPE,
	KEY_RULE,
	KEY_WANT,
	KEY_AVOID,
	KEY_LICENSES,
	KEY_RESERVATION,
	KEY_TEXTS
};

/* The same of a job that holds nodes: every snapshot looks at it. */
struct placed_key {
	uint64_t req_hash;
	size_t len;
	_Alignas(struct row_key) char text[];
};

struct alarm {
	int64_t at;
	uint64_t job;
};

struct queue_state {
	bool closed;
	uint64_t jobs, running; /* not ended; holding nodes */
};

/* What the nodes of a pool have. */
struct pool_sum {
	int64_t total[RES_N];
	int64_t mem_per_cpu; /* MiB, least of them; INT64_MAX: no CPUs */
};

struct state {
	const struct conf *conf;
	past_fn *past;
	void *past_arg;
	uint64_t gen; /* grows when what may be given out changes */
	uint64_t next_id;

	struct map jobs, arrays, tasks, rows, users, names, waiting, usages;
	uint64_t nsingletons;     /* jobs that wait for their name alone */
	struct job *first, *last; /* all, by id */
	struct job *placed;       /* all that hold nodes */
	uint64_t counts[JOB_NSTATES];

	struct row **row;
	size_t nrows, row_cap;
	uint32_t nslots, *slot; /* ever used; those that nobody has now */
	size_t nfree_slots, slot_cap;

	struct user *user;
	size_t nusers, user_cap;
	struct node *node;
	size_t nnodes, node_cap;
	struct map node_names;
	struct map sections; /* of the configuration, by node name */
	struct map fits;     /* hashes of shapes that fit the empty cluster */
	struct queue_state *queue; /* [conf->nqueues] */
	struct usage **usage;      /* of each user and queue there is one of */
	size_t nusages, usage_cap;
	struct pool_sum pool_sum[LIMIT_POOLS];
	uint64_t pool_sum_gen; /* gen + 1 when they were summed */
	bool pool_ready[LIMIT_POOLS];
	char *pool_trouble[LIMIT_POOLS]; /* NULL: there is none */

	struct alarm *alarm; /* heap, the earliest first; of job 0: plan */
	size_t nalarms, alarm_cap;
	int64_t wake; /* the last plan wants another one then, or NO_TIME */

	struct reservation *resv;
	size_t nresv, resv_cap;
	int64_t resv_next; /* one begins or ends, or NO_TIME */
	bool resv_dirty;

	struct job **holder; /* jobs that have claims */
	size_t nholders, holder_cap;

	struct job **dirty;
	size_t ndirty, dirty_cap;
	uint64_t *gone;
	size_t ngone, gone_cap;
	struct array **array_dirty;
	size_t narray_dirty, array_dirty_cap;
	bool nodes_dirty, queues_dirty, usages_dirty;

	struct effect *effect, *taken;
	size_t neffects, effect_cap, taken_cap;

	bool want_plan;
	uint64_t nchanges; /* that had to do with what is planned */
	struct round {
		int64_t budget;      /* of a pass */
		bool goes_on;        /* the last one did not ask all */
		bool stale;          /* something changed since it began */
		uint64_t gen, noted; /* of state: when the last one ended */
		struct verdict *was; /* by row, while the next is planned */
	} round;
	/* Of the last plan: the verdicts, and a snapshot without jobs that has
	 * the names of which they speak. */
	struct arena *plan_arena;
	const struct snap *plan_names;
	const struct verdict *verdict;
	struct turn_told *told; /* by job; others of rows with a verdict */
	uint32_t ntold;
	const int64_t (*plan_share)[RES_N]; /* by queue, or NULL */
	int64_t plan_capacity[RES_N];
	uint64_t plan_serial;
};

/* round.c: passes that go on where the one before stopped */
void round_init(struct round *round);
void round_fini(struct round *round);

/* The snapshot is for the next pass: what it may cost, and what was said by
 * those before it in this round. */
void round_begin(struct state *state, struct snap *snap, struct arena *arena);

/* What was said, and still holds, replaces what the plan left out. */
void round_keep(struct state *state, struct verdict *verdict, uint32_t n);

/* The plan was applied; more: there is more to decide.  Whether another pass
 * is to follow. */
bool round_end(struct state *state, const struct plan *plan, bool more);

/* state.c */
void state_touch(struct state *state, struct job *job); /* to be written */
void state_touch_array(struct state *state, struct array *array);
void state_replan(struct state *state);
void state_effect(struct state *state, struct effect effect);

void state_set(struct state *state, struct job *job, enum job_state to);
/* In the counters of its state, queue and user; sign -1 takes it out. */
void state_count(struct state *state, const struct job *job, int sign);
struct job *state_new_job(uint64_t id);
void state_add_job(struct state *state, struct job *job);
uint64_t task_key(uint64_t array, uint32_t task); /* in state->tasks */
/* Out of memory and lists; the counters have been told.  It dissolved into
 * other records. */
void state_drop_job(struct state *state, struct job *job);

/* alarm.c */
void state_alarm(struct state *state, int64_t at, uint64_t job);
/* For all that may be due of it later. */
void state_arm(struct state *state, const struct job *job);

/* split.c */
/* One task of an array record as a record of its own; the old one is gone
 * when it was the last. */
struct job *state_split_task(struct state *state, struct job *job,
                             uint32_t task);

/* adopt.c */
/* Its runner is told how it stands. */
void adopt_tell(struct state *state, const struct job *job);

/* row.c: whether the job is eligible, and its row if it is. */
enum reason state_ineligible(const struct state *state, const struct job *job);
void state_reindex(struct state *state, struct job *job, int64_t now);
void row_key_build(const struct state *state, const struct job *job,
                   struct buf *out);
const char *row_text(const char *key, int which);
uint64_t row_req_hash(const char *key, size_t len);
const struct placed_key *placed_key(const struct state *state, struct job *job);
void placed_key_forget(struct job *job); /* what it asks for has changed */
void row_remove(struct state *state, struct job *job);

/* depend.c */
/* dependency_parse(); state NULL: the jobs it names are not looked up.
 * Fails: EINVAL, ENOENT no such job.  Owns: the caller, free(). */
int deps_parse(const struct state *state, const char *text, struct deps **ret,
               struct err *err);
/* Let it hear of the jobs it waits for. */
void deps_watch(struct state *state, struct job *job);
/* Drop the conditions that are met by now; may split an array record. */
void deps_judge(struct state *state, struct job *job, int64_t now);
/* All of it for a job that is new here, then its row. */
void deps_begin(struct state *state, struct job *job, int64_t now);
/* As if it were new, for one that is not in the state. */
void deps_try(struct state *state, struct job *job, int64_t now);
void deps_forget(struct state *state, struct job *job);
/* Something happened to a job that others may wait for. */
void deps_started(struct state *state, const struct job *job, int64_t now);
void deps_ended(struct state *state, const struct job *job, int64_t now);
enum reason deps_reason(const struct job *job);
/* Jobs of the same user and name, for singleton. */
void names_add(struct state *state, struct job *job);
void names_del(struct state *state, struct job *job);
/* One of this name has ended. */
void names_tell(struct state *state, uint64_t name_key, int64_t now);

/* evict.c */
/* Seconds until the next try after so many that failed. */
int64_t backoff_s(uint32_t fails);
struct held *held_new(const uint32_t *node, uint32_t n);
/* The claim is the job's from now on; claim_set() says that the last plan
 * wants it, claims_expire() drops those of older plans. */
void claim_hold(struct state *state, struct job *job, struct held *claim);
void claim_set(struct state *state, struct job *job, const uint32_t *node,
               uint32_t n, int64_t now);
void claims_expire(struct state *state, int64_t now);
/* A pending job is to be put in another row after it. */
void claim_drop(struct state *state, struct job *job);
/* It, or some of its tasks, is told to leave: for whom, and how long it is
 * given. */
void evict_note(struct job *job, const struct event_in *ev, bool whole);
void evict_watch(struct state *state, struct job *job, int64_t now);
void evict_overdue(struct state *state, struct job *job, int64_t now);
/* All of it leaves for others. */
bool evict_is_ending(const struct job *job);
int64_t evict_safe_until(const struct state *state, const struct job *job);
/* Its start failed, through no fault of the user's, but of these of its nodes
 * (none: of all); it succeeded. */
void nodes_blame(struct state *state, const struct job *job,
                 const struct strlist *whose, int64_t now);
void nodes_absolve(struct state *state, const struct job *job);
/* The sentence on a job that has a claim; raises the expected start. */
void evict_why(const struct state *state, const struct job *job,
               struct buf *text, int64_t *ret_expected);

/* lifecycle_stop.c */
/* Whether its processes, which run, can be stopped where they are. */
bool job_can_freeze(const struct state *state, const struct job *job);

/* lifecycle_end.c */
void job_end(struct state *state, struct job *job, enum job_state to,
             enum reason why, int64_t now);

/* usage.c */
/* The entry of a user in a queue: NULL, or made when there is none. */
struct usage *usage_find(const struct state *state, uint32_t queue,
                         uint32_t user);
struct usage *usage_of(struct state *state, uint32_t queue, uint32_t user);
/* The job holds more or less than it did, or nothing: call it after each
 * change of its place, and of whether it is suspended. */
void usage_charge(struct state *state, struct job *job, int64_t now);
/* It has held what it holds since `to`, not since `from`. */
void usage_backdate(struct state *state, struct job *job, int64_t from,
                    int64_t to);
/* Queues get other numbers, -1: none; jobs are counted again after it. */
void usage_reconf(struct state *state, const uint32_t *queue_to, int64_t now);
void usage_free(struct state *state);

/* reserve.c */
struct reservation *reserve_find(const struct state *state, const char *name);
void reserve_tick(struct state *state, int64_t now); /* one begins or ends */
void reserve_arm(struct state *state, int64_t now);
void reserve_free(struct state *state);

/* reserve_use.c */
/* May he use the one that he names, if he does, for so long?
 * Fails: ENOENT, EACCES, EINVAL. */
int reserve_check(const struct state *state, const struct spec *spec,
                  const struct submitter *who, int64_t limit, struct err *err);
/* He does: remember him if he came in through a group. */
void reserve_admit(struct state *state, const struct spec *spec,
                   const struct submitter *who);
/* The job names one that is over, or was deleted. */
bool reserve_is_gone(const struct state *state, const struct job *job);

/* submit_check.c */
/* What it asks for, for updates too: each says why not. */
int submit_queue(const struct state *state, const struct spec *spec,
                 uint32_t *ret, struct err *err);
/* Each queue on the way up says who may use it. */
int submit_check_access(const struct state *state, uint32_t queue,
                        const struct submitter *who, struct err *err);
int submit_check_priority(const struct state *state, const struct spec *spec,
                          uint32_t queue, const struct submitter *who,
                          struct err *err);
int submit_time_limit(const struct state *state, const struct spec *spec,
                      uint32_t queue, int64_t *ret, struct err *err);
/* All that does not depend on how many others there are. */
int submit_check_spec(struct state *state, const struct spec *spec,
                      const struct submitter *who, uint32_t queue, int64_t now,
                      struct err *err);

/* submit.c */
enum { GRACE_DEFAULT_S = 30 };
/* Never NULL. */
const struct conf_class *submit_class(const struct state *state,
                                      const struct spec *spec, uint32_t queue);
void job_set_priority(const struct state *state, struct job *job,
                      const struct spec *spec);
void job_set_grace(const struct state *state, struct job *job,
                   const struct spec *spec);
/* What its class and queue say of its being preempted. */
void job_set_manners(const struct state *state, struct job *job,
                     const struct spec *spec);

/* snapshot.c */
enum { MAX_LICENSES = 16 };
/* "a:2,b" -> licences of the configuration.  Fails: EINVAL, ENOENT. */
int licenses_parse(const struct conf *conf, const char *text,
                   struct snap_license_use ret[MAX_LICENSES], size_t *ret_n,
                   struct err *err);
/* A snapshot with one more pending job, extra, if not NULL; only: nothing
 * runs and nothing else waits. */
const struct snap *snap_build(const struct state *state, int64_t now,
                              struct arena *arena, const struct job *extra,
                              bool only);
/* The names in a snapshot, and this pending job for its only row: enough for
 * verdict_text(). */
const struct snap *snap_of_job(const struct state *state,
                               const struct snap *names, const struct job *job,
                               struct arena *arena);
/* Those of which the verdicts of a plan speak: there may be others by now. */
void snap_keep_reservations(struct snap *to, const struct snap *from,
                            struct arena *arena);
uint8_t node_status(const struct node *node); /* enum node_state */

/* places.c: into the snapshot; returns the column of the nodes. */
uint32_t *places_build(const struct state *state, struct snap *snap,
                       struct arena *arena);

/* apply.c */
void state_forget_plan(struct state *state);
/* Whether it would fit an empty cluster; while nodes are not known, yes. */
int state_check_fit(struct state *state, const struct job *job,
                    struct err *err);

/* node.c */
uint32_t node_intern(struct state *state, const char *name, uint32_t pool);
void node_apply_conf(struct state *state, struct node *node);
/* Where a device is: as configured, else as its runner says. */
uint8_t node_gpu_numa(const struct node *node, uint32_t gpu);
uint8_t node_gpu_link(const struct node *node, uint32_t gpu);
void node_free_words(struct strlist *list);
void node_index_sections(struct state *state); /* the configuration is new */
/* Its runner is told that it is drained, or is not. */
void node_tell_drain(struct state *state, uint32_t node);

/* pool.c */
/* Those that may run it, a bit each. */
uint64_t spec_pools(const struct state *state, const struct spec *spec,
                    uint32_t queue);
/* Known until nodes change. */
const struct pool_sum *pool_sums(struct state *state);
/* MiB for each CPU of a job that does not say, in any of these pools. */
int64_t state_default_mem(struct state *state, uint64_t pools);

/* queue.c */
/* It is this one, or further down. */
bool queue_is_below(const struct conf *conf, uint32_t queue, uint32_t top);
/* The queue that is closed, this one or one further up; -1: none. */
int queue_closed_by(const struct state *state, uint32_t queue);

#endif

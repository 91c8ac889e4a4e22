/*
 * names.h - the closed lists that users see: job states and reasons
 *
 * Each list is one X-macro, which makes the enum and the table of names; a test
 * checks the man pages against it. The numbers are stored in the database:
 * append, never reorder.
 */
#ifndef LIBCOMMON_NAMES_H
#define LIBCOMMON_NAMES_H

#include <stdbool.h>

/* X(symbol, letters as squeue shows them, whether the state is final) */
#define JOB_STATES(X)              \
	X(PENDING, "PD", 0)        \
	X(CONFIGURING, "CF", 0)    \
	X(RUNNING, "R", 0)         \
	X(SUSPENDED, "S", 0)       \
	X(COMPLETING, "CG", 0)     \
	X(COMPLETED, "CD", 1)      \
	X(FAILED, "F", 1)          \
	X(CANCELLED, "CA", 1)      \
	X(TIMEOUT, "TO", 1)        \
	X(PREEMPTED, "PR", 1)      \
	X(NODE_FAIL, "NF", 1)      \
	X(OUT_OF_MEMORY, "OOM", 1) \
	X(DEADLINE, "DL", 1)       \
	X(BOOT_FAIL, "BF", 1)

/* X(scope): which processes of a job get a signal. */
#define SIGNAL_SCOPES(X)                                                      \
	X(job) /* processes of its steps; all processes if it has no steps */ \
	X(script) /* the script's own process */                              \
	X(steps)  /* processes of its steps; none if it has no steps */       \
	X(all)

enum signal_scope {
#define X(sym) SIGNAL_##sym,
	SIGNAL_SCOPES(X)
#undef X
	    SIGNAL_NSCOPES
};

const char *signal_scope_name(enum signal_scope scope);
/* Returns -1 if there is no such scope. */
int signal_scope_parse(const char *s);

enum job_state {
#define X(sym, letters, final) JOB_##sym,
	JOB_STATES(X)
#undef X
	    JOB_NSTATES
};

/* Kinds of reasons, by the thing that the job waits for. */
enum reason_kind {
	REASON_ENDED, /* nothing: the job has ended, or will start with all jobs
	                 of its row */
	REASON_UNASKED, /* the next pass */
	REASON_ROOM,    /* the end of other jobs: too little is free */
	REASON_PLACE,  /* the end or move of other jobs: enough is free, but not
	                  where the job fits */
	REASON_DOMAIN, /* likewise, but within one domain of the topology */
	REASON_TURN,   /* the start of jobs ahead of it */
	REASON_LIMIT,  /* the end of jobs that count towards the same limit */
	REASON_DOWN, /* the return of its nodes or their runner, or the end of a
	                delay */
	REASON_OWN, /* something that does not depend on what other jobs hold */
	REASON_NEVER /* larger nodes or limits; at submission, such a job is
	                refused */
};

/* X(symbol, kind, what `aiq JOB` and the man page say about it) */
#define REASONS(X)                                                             \
	X(None, ENDED, "nothing to explain")                                   \
	X(Unevaluated, UNASKED, "the scheduler has not considered it yet")     \
	X(Resources, ROOM, "it would fit if other jobs ended")                 \
	X(Priority, TURN, "starting it would delay a job ahead of it")         \
	X(Fragmentation, PLACE,                                                \
	  "enough is free in total, but not where it fits")                    \
	X(Topology, DOMAIN, "it fits into no domain of the required level")    \
	X(NumaAlignment, PLACE, "no node has the alignment it requires")       \
	X(GangPartial, ROOM, "only some of its tasks would fit")               \
	X(QueueLimit, LIMIT, "a limit of its queue is reached")                \
	X(QueueQuota, LIMIT,                                                   \
	  "it may not be preempted and the quota is used up")                  \
	X(ExceedsQueueLimit, NEVER,                                            \
	  "it requests more than its queue ever allows")                       \
	X(NeverFits, NEVER, "no node is large enough or has its features")     \
	X(UserLimit, LIMIT, "a limit of its user is reached")                  \
	X(QueueMaxJobs, LIMIT, "its queue runs as many jobs as it may")        \
	X(Licenses, LIMIT, "its licences are in use")                          \
	X(ArrayLimit, OWN, "its array runs as many tasks as it may")           \
	X(Preempting, UNASKED,                                                 \
	  "victims are ending; their space is held for it")                    \
	X(StartFailed, DOWN, "its last start failed")                          \
	X(JobHeldUser, OWN, "it was held by its user")                         \
	X(JobHeldAdmin, OWN, "it was held by an operator")                     \
	X(Dependency, OWN, "it waits for other jobs")                          \
	X(DependencyNeverSatisfied, OWN,                                       \
	  "a job it needs ended in another way")                               \
	X(BeginTime, OWN, "its begin time is in the future")                   \
	X(Reservation, OWN, "a reservation keeps it away, or has not begun")   \
	X(QueueClosed, OWN, "its queue is closed")                             \
	X(NodeDown, DOWN, "the nodes it needs are down or drained")            \
	X(RunnerDown, DOWN, "the runner of its pool is not ready")             \
	X(NonZeroExitCode, ENDED, "it ended with an exit status other than 0") \
	X(RaisedSignal, ENDED, "a signal ended it")                            \
	X(TimeLimit, ENDED, "it reached its time limit")                       \
	X(OutOfMemory, ENDED, "it used more memory than it requested")         \
	X(JobLaunchFailure, ENDED, "it could not be started")                  \
	X(NodeFail, ENDED, "its node failed")                                  \
	X(DeadLine, ENDED, "it could not end before its deadline")             \
	X(Cancelled, ENDED, "it was cancelled")                                \
	X(Preempted, ENDED, "it was evicted for another job")                  \
	X(LinkAlignment, PLACE, "no node has its GPUs in as few link groups")  \
	X(Volume, OWN, "a volume claim that it mounts cannot be used now")     \
	X(Partition, PLACE,                                                    \
	  "no GPU has free slices where its partition may be")                 \
	X(IdleGpu, ENDED,                                                      \
	  "its GPUs were idle for as long as its queue allows")                \
	X(Affinity, PLACE,                                                     \
	  "it fits, but not near or apart from the jobs that it names")        \
	X(OutOfDisk, ENDED, "it stored more on disk than it requested")        \
	X(NodesComing, DOWN, "nodes that it needs are being added")            \
	X(Devices, PLACE, "no node has as many devices of one kind free")

enum reason {
#define X(sym, kind, text) WHY_##sym,
	REASONS(X)
#undef X
	    WHY_NREASONS
};

const char *job_state_name(enum job_state state);   /* "RUNNING" */
const char *job_state_letter(enum job_state state); /* "R" */
bool job_state_is_final(enum job_state state);
/* Accepts a long or short name, in upper or lower case; returns -1 if s is
 * neither. */
int job_state_parse(const char *s);

const char *reason_name(enum reason why);
const char *reason_text(enum reason why);
enum reason_kind reason_kind(enum reason why);
bool reason_is_pending(enum reason why);

#endif

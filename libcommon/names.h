/*
 * names.h - the closed lists that users see: job states and reasons
 *
 * Each list is one X-macro; enum, names and the man-page check come from it.
 * The numbers are stored in the database: append, never reorder.
 */
#ifndef LIBCOMMON_NAMES_H
#define LIBCOMMON_NAMES_H

#include <stdbool.h>

/* X(symbol, squeue's two letters, final?) */
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

enum job_state {
#define X(sym, letters, final) JOB_##sym,
	JOB_STATES(X)
#undef X
	    JOB_NSTATES
};

/* X(symbol, kind, what `aiq JOB` and the man page say about it).
 * kind: P why a job is pending, E how a job ended. */
#define REASONS(X)                                                             \
	X(None, E, "nothing to explain")                                       \
	X(Unevaluated, P, "this pass has not looked at it yet")                \
	X(Resources, P, "it would fit if others ended")                        \
	X(Priority, P, "starting it would delay a job ahead of it")            \
	X(Fragmentation, P, "enough is free in total, not where it is needed") \
	X(Topology, P, "no domain of the level it requires has room")          \
	X(NumaAlignment, P, "no node has the alignment it requires")           \
	X(GangPartial, P, "only some of its tasks would fit")                  \
	X(QueueLimit, P, "a limit of its queue is reached")                    \
	X(QueueQuota, P, "it may not be preempted and the quota is used up")   \
	X(ExceedsQueueLimit, P, "it asks for more than its queue may have")    \
	X(NeverFits, P, "no node is large enough or has its features")         \
	X(UserLimit, P, "a limit of its user is reached")                      \
	X(QueueMaxJobs, P, "its queue runs as many jobs as it may")            \
	X(Licenses, P, "its licences are in use")                              \
	X(ArrayLimit, P, "its array runs as many tasks as it may")             \
	X(Preempting, P, "victims are ending; their space is held for it")     \
	X(StartFailed, P, "its last start failed")                             \
	X(JobHeldUser, P, "it was held by its user")                           \
	X(JobHeldAdmin, P, "it was held by an operator")                       \
	X(Dependency, P, "it waits for other jobs")                            \
	X(DependencyNeverSatisfied, P, "a job it needs ended otherwise")       \
	X(BeginTime, P, "its begin time is in the future")                     \
	X(Reservation, P, "its reservation has not begun")                     \
	X(QueueClosed, P, "its queue is closed")                               \
	X(NodeDown, P, "the nodes it asks for are down or drained")            \
	X(RunnerDown, P, "the runner of its pool is not ready")                \
	X(NonZeroExitCode, E, "it ended with an exit status other than 0")     \
	X(RaisedSignal, E, "a signal ended it")                                \
	X(TimeLimit, E, "it reached its time limit")                           \
	X(OutOfMemory, E, "it used more memory than it asked for")             \
	X(JobLaunchFailure, E, "it could not be started")                      \
	X(NodeFail, E, "its node failed")                                      \
	X(DeadLine, E, "it could not end before its deadline")                 \
	X(Cancelled, E, "it was cancelled")                                    \
	X(Preempted, E, "others needed its resources")

enum reason {
#define X(sym, kind, text) WHY_##sym,
	REASONS(X)
#undef X
	    WHY_NREASONS
};

const char *job_state_name(enum job_state state);   /* "RUNNING" */
const char *job_state_letter(enum job_state state); /* "R" */
bool job_state_is_final(enum job_state state);
/* Long or short name, any case; -1 when it is neither. */
int job_state_parse(const char *s);

const char *reason_name(enum reason why);
const char *reason_text(enum reason why);
bool reason_is_pending(enum reason why);
int reason_parse(const char *s); /* -1 when there is none of this name */

#endif

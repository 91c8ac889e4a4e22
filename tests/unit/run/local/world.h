/*
 * world.h - a local runner with real jobs, for tests
 *
 * Each test runs in three modes: jobs of the user who runs the tests; as root
 * with a job of another user; and unprivileged, without cgroups. Tests wait for
 * events, pipes and ends of processes, never for time:
 *
 *	LOCAL_TEST(a_job_ends)
 *	{
 *		lw_run_job(w, JOB(.script = "echo hello"));
 *		ck_assert_str_eq(lw_content(w, "out"), "hello\n");
 *	}
 */
#ifndef TESTS_UNIT_RUN_LOCAL_WORLD_H
#define TESTS_UNIT_RUN_LOCAL_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "aischedd/run/runner.h"
#include "aischedd/run/shepherd/record.h"
#include "libcommon/mem.h"
#include "tests/unit/check.h"

#define LOCAL_NOBODY   65534
#define LOCAL_PATIENCE 60 /* seconds until a test gives up on an event */
#define LOCAL_EVENTS   1024
/* The state folder's name, which is longer than the address of a Unix socket
 * may be. */
#define LOCAL_STATE                                                        \
	"state-of-a-daemon-in-a-folder-whose-name-is-so-long-that-it-was-" \
	"surely-made-up-by-someone-who-wants-to-see-what-happens"

enum local_mode { LOCAL_SELF, LOCAL_OTHER, LOCAL_PLAIN, LOCAL_MODES };

struct local_seen {
	enum run_event_kind kind;
	uint64_t job;
	uint32_t attempt, replaced, resize;
	bool suspended, rebooted;
	enum start_fault fault;
	struct outcome out;
	char text[400];
};

struct local_world {
	enum local_mode mode;
	/* has two folders: LOCAL_STATE for the daemon, "work" for jobs */
	char dir[64];
	struct arena *arena;
	struct event_base *base;
	struct runner *r;
	struct local_seen seen[LOCAL_EVENTS];
	size_t n, taken;
	uint32_t ncpus;
	bool gave_up;
};

/* A job as tests describe it; the members that are 0 get defaults. */
struct local_job {
	uint64_t id;      /* 1 unless given */
	uint32_t attempt; /* 1 unless given */
	const char *script;
	const char *env, *args, *output, *error, *input, *workdir, *rlimits;
	uint32_t tasks; /* 1 unless given */
	/* largest number of tasks; equal to tasks unless given */
	uint32_t most;
	uint32_t resize;
	const char *on_task_failure;
	int64_t cpus_milli, mem_mib, tmp_mib, grace;
	uint32_t cpu; /* its first CPU */
	bool whole;   /* one process with the whole allocation */
	bool append;
	uint64_t array_job;
	uint32_t array_task, restarts;
};

#define JOB(...) (&(struct local_job){ __VA_ARGS__ })

/* A script that runs until it is killed, with processes that hold "pipe" open,
 * two of them in sessions of their own. */
#define LOCAL_RUN_AWAY "exec 3>pipe; setsid sleep 1000 & setsid sleep 1000 & "

/* Define a test with a world w; it is skipped in modes that are not possible
 * here. */
#define LOCAL_TEST(name)                               \
	static void run_##name(struct local_world *w); \
	START_TEST(name)                               \
	{                                              \
		lw_test(_i, run_##name);               \
	}                                              \
	END_TEST                                       \
	static void run_##name(struct local_world *w)

void lw_test(int mode, void (*fn)(struct local_world *w));

/* Make folders and a runner. Returns false if the mode is not possible here. */
bool lw_begin(struct local_world *w, int mode);
void lw_finish(struct local_world *w);

/* --- the daemon --- */

void lw_daemon_begins(struct local_world *w);
void lw_daemon_ends(struct local_world *w);

/* Call the runner's recover() with the first attempts of these jobs, as if the
 * store knew them. */
void lw_recover(struct local_world *w, size_t n, const uint64_t *job);

/* Restart the daemon with the three functions above. */
void lw_daemon_restarts(struct local_world *w, size_t n, const uint64_t *job);

/* Waits for and returns the next event. */
const struct local_seen *lw_next(struct local_world *w);

/* Wait for the next event and return it; fails the test unless the event has
 * this kind and job. */
const struct local_seen *lw_expect(struct local_world *w,
                                   enum run_event_kind kind, uint64_t job);

/* --- jobs --- */

/* Build a struct run_job from j and pass it to fn: start() or resize() of the
 * runner. */
void lw_order(struct local_world *w, const struct local_job *j,
              void (*fn)(struct runner *r, const struct run_job *job));
void lw_start(struct local_world *w, const struct local_job *j);

/* Start a job and wait until it has written a line to "pipe". */
void lw_start_ready(struct local_world *w, const struct local_job *j);

/* Start a job and wait until it has ended; returns its last event. */
const struct local_seen *lw_run_job(struct local_world *w,
                                    const struct local_job *j);

/* Call stop(), forget(), signal() or resume() of the runner for the first
 * attempt of a job. lw_signal() and lw_resume() are for job 1. */
void lw_stop(struct local_world *w, uint64_t job, enum stop_why why,
             int64_t grace);
void lw_forget(struct local_world *w, uint64_t job);
void lw_signal(struct local_world *w, int signo, enum signal_scope scope);
void lw_resume(struct local_world *w, uint16_t cpu);

/* --- results of jobs  */

/* Returns the contents of a file in the job's folder; "" if there is none. */
const char *lw_content(struct local_world *w, const char *name);

/* Make a FIFO in the job's folder, through which the job reports. */
void lw_make_pipe(struct local_world *w, const char *name);

/* Wait until the job has written a line to the FIFO; returns the line. */
const char *lw_hear(struct local_world *w, const char *name);

/* Wait until no process has this pipe open for writing. */
void lw_wait_closed(struct local_world *w, const char *name);

/* Returns the record "claim" that the job's shepherd has written. */
struct claim lw_read_claim(struct local_world *w, uint64_t job);

/* Returns a connection to the step socket of job 1. */
int lw_connect_steps(struct local_world *w);

/* Wait until the process has ended. */
void lw_wait_gone(pid_t pid);

#endif

/*
 * record.h - the durable record of an attempt: claim and outcome
 *
 * The shepherd that owns an attempt creates state_dir/run/JOB.ATTEMPT/claim
 * exclusively, before any process of the job runs. The first line names the
 * shepherd; the second one, once written, says how the attempt ended. The
 * shepherd writes each line to disk before it reports to the daemon. It holds a
 * lock on the file as long as it lives (a POSIX record lock, which the job's
 * processes do not inherit).
 */
#ifndef AISCHEDD_RUN_SHEPHERD_RECORD_H
#define AISCHEDD_RUN_SHEPHERD_RECORD_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

#include "aischedd/run/runner.h"
#include "aischedd/run/shepherd/cgroup.h"
#include "libcommon/buf.h"
#include "libcommon/clock.h"
#include "libcommon/err.h"
#include "libcommon/mem.h"

#define RUN_ID_LEN 32 /* hexadecimal digits */
/* A variable in the environment of each process of the attempt. If there is no
 * cgroup and the shepherd was killed, the processes are found by this
 * variable. */
#define RUN_ID_VAR "AISCHED_RUN_ID"

struct claim {
	char boot[BOOT_ID_SIZE];
	pid_t pid;
	char run_id[RUN_ID_LEN + 1];
	struct cgroup cgroup;
};

enum record_state {
	RECORD_NONE,  /* not claimed: no process of the attempt ever ran */
	RECORD_ALIVE, /* claimed, and the shepherd lives */
	/* claimed, but the shepherd died without writing an outcome */
	RECORD_DEAD,
	RECORD_ENDED, /* the attempt ended: outcome is set */
	/* the attempt never started: fault and outcome.text are set */
	RECORD_FAILED
};

struct record {
	enum record_state state;
	struct claim claim;
	struct outcome outcome;
	enum start_fault fault;
};

/* Fill in a claim of this process, with a new run id and no cgroup yet. */
void claim_new(struct claim *ret);

/* Create, lock and write the claim. It is on disk only after record_sync().
 * Returns the claim's descriptor. Fails with EEXIST if another shepherd has
 * claimed the attempt. */
int record_claim(int dirfd, const struct claim *claim, struct err *err);
int record_sync(int fd, int dirfd, struct err *err);

/* Append how the attempt ended, or why it did not start. The line is on disk
 * when this returns. */
int record_end(int fd, const struct outcome *out, struct err *err);
int record_fail(int fd, enum start_fault fault, const char *text,
                struct err *err);

/* Read the record of the attempt in this directory; its strings are in the
 * arena. A truncated line counts as not written. Does not fail. */
void record_read(int dirfd, struct record *ret, struct arena *arena);
/* Returns the process that holds the claim's lock; 0: none. */
pid_t record_shepherd(int dirfd);

/*
 * Returns whose fault it is if the job's outputs, input, working directory or
 * interpreter cannot be used because of this errno. Most errors are FAULT_USER:
 * otherwise a user could make the scheduler avoid a node by giving a wrong
 * path. The others are FAULT_SYSTEM, as the file may be usable on another node.
 */
enum start_fault fault_of(int code);

/* Append how a task failed, as in "task 3 ended with ...". */
void outcome_of_task(struct buf *out, uint32_t rank, int exit_code, int signo);

/* Convert the use of GPUs to JSON and back. The JSON is NULL if nothing
 * is known. */
json_t *gpu_use_to_json(const struct gpu_use *use);
int gpu_use_from_json(struct gpu_use *ret, json_t *obj, struct err *err);

/* Convert an outcome to JSON and back. */
json_t *outcome_to_json(const struct outcome *out);
int outcome_from_json(struct outcome *ret, json_t *obj, struct arena *arena,
                      struct err *err);

#endif

/*
 * step_msg.h - what srun and aictl exec ask of the shepherd of a job
 *
 * A client, such as srun, connects to the socket `step` in the folder of the
 * job's attempt, and sends one message: the letter STEP_HELLO with four
 * descriptors, which are a sealed memory file with the request, stdin, stdout
 * and stderr. The file is sealed so that reading it never blocks and its
 * content never changes. It holds JSON, a zero byte, then texts, each ended by
 * a zero byte.
 *
 * The shepherd answers with messages of one JSON object each:
 *
 *	{"waits": TEXT}                no room in the job yet
 *	{"step": N}                    the step begins, with this number
 *	{"task": RANK, "pid": PID}     with the descriptors of its pipes, in the
 *	                               order in, out, err, then a terminal
 *	{"task": RANK, "status": N}    as wait() has it
 *	{"ends": WHY}                  the step is being ended, because its time
 *	                               limit is over ("time") or its job ends
 *	                               ("job")
 *	{"end": N}                     all processes of step N have ended
 *	{"error": TEXT, "code": N}     the request was refused
 *
 * The client may send {"signal": N}, which signals all processes of the step,
 * and {"stop": SECONDS}: SIGTERM now, SIGKILL that many seconds later. The
 * shepherd also stops the step if the connection is lost.
 *
 * A client that holds an allocation, such as salloc, sends only the letter
 * STEP_OWN instead. The shepherd sends it {"env": [TEXT, ...]}, the variables
 * of the job, and {"ends": "job"} when the job is ended by others. The client's
 * last message is {"status": N}, the exit status with which the job then ends.
 * The job also ends if this connection is lost.
 *
 * The daemon sends the letter STEP_PORT and a port, as in "P8888". The shepherd
 * answers with {"port": N} and a descriptor, a connection to the process of the
 * job that listens there, or with an error as above.
 */
#ifndef LIBCOMMON_STEP_MSG_H
#define LIBCOMMON_STEP_MSG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libcommon/buf.h"
#include "libcommon/err.h"

#define STEP_HELLO  'S'
#define STEP_OWN    'A'
#define STEP_PORT   'P'
#define STEP_SOCKET "step"
#define STEP_RECORD "steps" /* record of steps, beside the socket */

enum {
	STEP_FDS = 4,
	STEP_REQUEST_MAX = 8 << 20, /* bytes of a request */
	/* bytes of a request's beginning: its JSON, and the texts before
	 * file[2] */
	STEP_HEAD_MAX = 16384,
	STEP_TASKS_MAX = 4096
};

enum step_flag {
	STEP_EXACT = 1,      /* gets only the resources that it requests */
	STEP_OVERLAP = 2,    /* shares resources with other steps */
	STEP_OVERCOMMIT = 4, /* may have more tasks than CPUs */
	/* Give each task a pipe as its stdin, stdout or stderr, and
	 * send the client the other end; otherwise the tasks get the
	 * client's descriptor. */
	STEP_PIPE_IN = 8,
	STEP_PIPE_OUT = 16,
	STEP_PIPE_ERR = 32,
	STEP_PTY = 64,            /* a terminal for task 0 */
	STEP_APPEND = 128,        /* append to files that the tasks open */
	STEP_GPUS_PER_TASK = 256, /* each task sees its own GPUs only */
	/* Run with the environment of a task of the job, and in its folder
	 * unless cwd is set; variables among the texts take precedence over the
	 * submitter's. */
	STEP_AS_TASK = 512
};

enum { STEP_ALL_TASKS = -1 };

struct step_request {
	int64_t tasks, flags; /* flags: bits of enum step_flag */
	int64_t cpus;         /* of each task; 0: not given */
	int64_t mem_mib;      /* of the step; 0: not given */
	int64_t gpus;         /* of the step; -1: not given */
	int64_t limit_s;      /* 0: none */
	int64_t umask;
	int64_t rank;    /* with STEP_AS_TASK: the rank of that task */
	int64_t task[3]; /* rank of the task that has stdin, stdout and stderr,
	                    respectively, or STEP_ALL_TASKS */
	int64_t rows, columns; /* of the client's terminal; 0: not known */
	int64_t argc;
	/* Texts, in this order. */
	const char *name;     /* of the step, for people */
	const char *job_name; /* "": the job's own */
	const char *cwd;
	/* Names of files that each task opens as stdin, stdout and stderr; "":
	 * the descriptor that was sent. */
	const char *file[3];
	const char *texts; /* argc arguments, then the environment */
	size_t texts_len;
};

/* Append the content of the memory file; argv and env end with NULL. */
void step_request_pack(const struct step_request *req, char *const *argv,
                       char *const *env, struct buf *out);

/*
 * Read a request whose first len bytes are at data: the JSON and the texts up
 * to file[2]. The pointers in *ret point into data. Fails with EINVAL if the
 * request is invalid, or len bytes do not hold all of these.
 */
int step_request_parse(const char *data, size_t len, struct step_request *ret,
                       struct err *err);

/* Set the size of the task's terminal, whose master end is fd. Call it before
 * the task starts, which may ask for the size at once. */
void step_size_terminal(const struct step_request *req, int fd);

/* Returns the text at *at and moves *at behind it; returns NULL if there is no
 * zero byte before end. */
const char *step_next_text(const char **at, const char *end);

/*
 * Expand what srun cannot know in a file name: %t is the task, %s the step,
 * %J the job and the step. A width, as in %4t, pads with zeros; %% is a
 * percent sign.
 */
void step_file_expand(const char *pattern, uint64_t job, uint32_t step,
                      uint32_t task, struct buf *out);

#endif

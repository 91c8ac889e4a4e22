/*
 * step_msg.h - what srun and aictl exec ask of the shepherd of a job
 *
 * srun connects to the socket `step` in the folder of the attempt, and sends
 * one message: the letter STEP_HELLO with four descriptors, which are a sealed
 * memory file with the request, stdin, stdout and stderr. The file is sealed
 * so that reading it never waits and its content never changes: JSON, a zero
 * byte, then texts, each ended by a zero byte.
 *
 * The shepherd answers with one JSON object a message:
 *
 *	{"waits": TEXT}                no room in the job yet
 *	{"step": N}                    it begins
 *	{"task": RANK, "pid": PID}     with the descriptors of its pipes, in the
 *	                               order in, out, err, then a terminal
 *	{"task": RANK, "status": N}    as wait() has it
 *	{"ends": WHY}                  "time": its time limit; "job": its job
 *	{"end": N}                     nothing is left of it
 *	{"error": TEXT, "code": N}     it was refused
 *
 * and hears {"signal": N}, for all processes of the step, and {"stop":
 * SECONDS}: SIGTERM now, SIGKILL that much later. Losing the connection means
 * stop, too.
 *
 * A client that holds an allocation sends the letter STEP_OWN alone instead.
 * It hears {"env": [TEXT, ...]}, the variables of the job, and {"ends":
 * "job"}. Its last message is {"status": N}, the exit status of the job, which
 * then ends, as it does when this connection is lost before.
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
#define STEP_SOCKET "step"
#define STEP_RECORD "steps" /* the record of steps, in the same folder */

enum {
	STEP_FDS = 4,
	STEP_REQUEST_MAX = 8 << 20, /* bytes of a request */
	STEP_HEAD_MAX = 16384,      /* of these, JSON and the first texts */
	STEP_TASKS_MAX = 4096
};

enum step_flag {
	STEP_EXACT = 1,      /* takes only what it asks for */
	STEP_OVERLAP = 2,    /* takes nothing */
	STEP_OVERCOMMIT = 4, /* may have more tasks than CPUs */
	STEP_PIPE_IN = 8,    /* a pipe for each task in place of srun's */
	STEP_PIPE_OUT = 16,  /* descriptor; srun gets its other end */
	STEP_PIPE_ERR = 32,
	STEP_PTY = 64,            /* a terminal for task 0 */
	STEP_APPEND = 128,        /* to files that the tasks open */
	STEP_GPUS_PER_TASK = 256, /* each task sees its own GPUs only */
	STEP_AS_TASK = 512        /* with the environment and, unless cwd says
	                             another, the folder of a task of the job;
	                             texts have variables that come before */
};

enum { STEP_ALL_TASKS = -1 };

struct step_request {
	int64_t tasks, flags; /* flags: enum step_flag */
	int64_t cpus;         /* of each task; 0: not said */
	int64_t mem_mib;      /* of the step; 0: not said */
	int64_t gpus;         /* of the step; -1: not said */
	int64_t limit_s;      /* 0: none */
	int64_t umask;
	int64_t rank;    /* STEP_AS_TASK: of that task */
	int64_t task[3]; /* the one that has stdin, stdout, stderr */
	int64_t argc;
	/* Texts, in this order. */
	const char *name;     /* of the step, for people */
	const char *job_name; /* "": the job's own */
	const char *cwd;
	const char *file[3]; /* for each task to open; "": the descriptor */
	const char *texts;   /* argc arguments, then the environment */
	size_t texts_len;
};

/* Append the message; env ends with NULL. */
void step_request_pack(const struct step_request *req, char *const *argv,
                       char *const *env, struct buf *out);

/*
 * Read the beginning of a request, all but its texts, of which len bytes are
 * here. Borrows from data. Fails with EINVAL.
 */
int step_request_parse(const char *data, size_t len, struct step_request *ret,
                       struct err *err);

/* Returns the next text of a request, or NULL if it has no end. */
const char *step_next_text(const char **at, const char *end);

/*
 * Expand the parts of a file's name that srun does not know: %t the task, %s
 * the step, %J job and step; a width pads with zeros, %% is a percent sign.
 */
void step_file_expand(const char *pattern, uint64_t job, uint32_t step,
                      uint32_t task, struct buf *out);

#endif

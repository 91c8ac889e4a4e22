/*
 * job_step.h - one step, for the files that make up steps
 */
#ifndef AISCHEDD_RUN_SHEPHERD_JOB_STEP_H
#define AISCHEDD_RUN_SHEPHERD_JOB_STEP_H

#include "aischedd/run/shepherd/shepherd.h"
#include "libcommon/step_msg.h"

enum step_state {
	STEP_GREETS, /* connected, without request */
	STEP_WAITS,  /* for room */
	STEP_RUNS,
	STEP_CLEARS, /* its tasks have ended; what they left is being killed */
	STEP_DONE,   /* the client knows all, and is to hang up */
	STEP_OWNS    /* no step: the client of an allocation */
};

struct step_task {
	pid_t pid;
	int status; /* as wait() has it */
	bool ended, told;
	uint64_t gpus;
};

struct job_step {
	enum step_state state;
	int conn;                 /* -1: lost */
	bool wants_out;           /* the connection is full */
	int64_t greet_by;         /* monotonic ms: deadline of its request */
	int request;              /* the memory file */
	char head[STEP_HEAD_MAX]; /* its beginning, from which req borrows */
	struct step_request req;
	int fd[3];          /* stdin, stdout, stderr of srun */
	int give[STEP_FDS]; /* descriptors of the last task, for srun */
	int ngive;
	bool gives; /* srun is still to be told of the last task */
	bool waits_told;
	uint32_t id;
	struct step_task *task; /* [req.tasks] */
	uint32_t begun, alive;
	bool no_more; /* start no more tasks */
	/* its part of the job; see step_room.h */
	int64_t cpus_milli, mem_mib;
	uint64_t gpus;
	uint16_t *cpu; /* [ncpus] by the kernel's numbers; NULL: any */
	uint32_t ncpus;
	int64_t end_at;  /* monotonic ms: its time limit; 0: none */
	int64_t kill_at; /* monotonic ms: the next SIGKILL; 0: never */
	int64_t kill_pause;
	/* monotonic ms: look again for processes that belong to it */
	int64_t look_at;
	uint32_t looks;
	bool stopping, by_time, by_job, recorded;
	int64_t start; /* unix seconds */
	int64_t cpu_us, peak_kib;
};

#endif

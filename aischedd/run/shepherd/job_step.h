/*
 * job_step.h - one step, for the files that make up steps
 */
#ifndef AISCHEDD_RUN_SHEPHERD_JOB_STEP_H
#define AISCHEDD_RUN_SHEPHERD_JOB_STEP_H

#include "aischedd/run/shepherd/shepherd.h"
#include "libcommon/step_msg.h"

enum step_state {
	STEP_GREETS, /* the client is connected, but has sent no request yet */
	STEP_WAITS,  /* waits until the job has enough free resources */
	STEP_RUNS,
	STEP_CLEARS, /* tasks have ended; their other processes are killed */
	STEP_DONE,   /* all results are sent; the client is to disconnect */
	STEP_OWNS    /* no step: the client that holds an allocation */
};

struct step_task {
	pid_t pid;
	int status;       /* as wait() has it */
	bool ended, told; /* told: srun has got the status */
	uint64_t gpus;
};

struct job_step {
	enum step_state state;
	int conn;                 /* connection to srun; -1: lost */
	bool wants_out;           /* more is to be sent than conn takes now */
	int64_t greet_by;         /* monotonic ms: deadline of the request */
	int request;              /* memory file with the request */
	char head[STEP_HEAD_MAX]; /* beginning of that file; req borrows it */
	struct step_request req;
	int fd[3];          /* stdin, stdout, stderr of srun */
	int give[STEP_FDS]; /* srun's ends of the last started task's pipes */
	int ngive;
	bool gives; /* srun must still be sent the start of the last task */
	bool waits_told; /* srun was told that the step waits */
	uint32_t id;
	struct step_task *task; /* [req.tasks] */
	uint32_t begun, alive;  /* tasks started, and those not yet ended */
	bool no_more;           /* start no more tasks */
	/* the resources of the job that it has; see step_room.h */
	int64_t cpus_milli, mem_mib;
	uint64_t gpus;
	uint16_t *cpu; /* [ncpus] by the kernel's numbers; NULL: any */
	uint32_t ncpus;
	int64_t end_at;  /* monotonic ms: its time limit; 0: none */
	int64_t kill_at; /* monotonic ms: the next SIGKILL; 0: never */
	int64_t kill_pause;
	/* monotonic ms: when to look again for processes that its tasks left;
	 * looks: how often that was done */
	int64_t look_at;
	uint32_t looks;
	/* stopping: it is being ended, because of its time limit (by_time) or
	 * the end of the job (by_job); recorded: its end is in the record */
	bool stopping, by_time, by_job, recorded;
	int64_t start; /* unix seconds */
	int64_t cpu_us, peak_kib;
};

#endif

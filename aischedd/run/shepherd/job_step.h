/* job_step.h - the data of one step, for the files that run steps */
#ifndef AISCHEDD_RUN_SHEPHERD_JOB_STEP_H
#define AISCHEDD_RUN_SHEPHERD_JOB_STEP_H

#include "aischedd/run/shepherd/shepherd.h"
#include "libcommon/step_msg.h"

enum step_state {
	STEP_GREETS, /* the client is connected, but has sent no request yet */
	STEP_WAITS,  /* waits until enough resources of the job are free */
	STEP_RUNS,
	/* its tasks have ended; processes that they left are being killed */
	STEP_CLEARS,
	/* srun was sent all results and should disconnect */
	STEP_DONE,
	/* not a step, but the client that holds an allocation */
	STEP_OWNS,
	/* not a step, but a client that waits for a connection to a port */
	STEP_SEEKS
};

struct step_task {
	pid_t pid;
	int status; /* status as from wait() */
	/* told: srun was sent the status */
	bool ended, told;
	uint64_t gpus;
};

struct job_step {
	enum step_state state;
	/* connection to srun; -1: it was lost */
	int conn;
	/* conn could not take all that is to be sent */
	bool wants_out;
	/* monotonic ms: deadline for the client's request */
	int64_t greet_by;
	/* memory file that contains the request */
	int request;
	/* beginning of the request, from which req borrows */
	char head[STEP_HEAD_MAX];
	struct step_request req;
	/* stdin, stdout and stderr of srun */
	int fd[3];
	/* descriptors to send to srun: its ends of the pipes of the task that
	 * was started last */
	int give[STEP_FDS];
	int ngive;
	bool gives; /* the start of the last task must still be sent to srun */
	bool waits_told; /* srun was sent a message that the step waits */
	uint32_t id;
	struct step_task *task; /* [req.tasks] */
	/* how many tasks were started so far, and how many of these run */
	uint32_t begun, alive;
	/* no further tasks are started */
	bool no_more;
	/* the resources of the job that the step holds; see step_room.h */
	int64_t cpus_milli, mem_mib;
	uint64_t gpus;
	/* [ncpus] CPUs to bind to, by the kernel's numbers; NULL: do
	 * not bind */
	uint16_t *cpu;
	uint32_t ncpus;
	/* monotonic ms: end of the step's time limit; 0: none */
	int64_t end_at;
	int64_t kill_at; /* monotonic ms: time of the next SIGKILL; 0: never */
	int64_t kill_pause;
	/* look_at: monotonic ms: when to look again for processes that the
	 * step's tasks left; looks: how often this was done */
	int64_t look_at;
	uint32_t looks;
	/* stopping: the step is being ended; by_time: because of its time
	 * limit; by_job: because the job ends; recorded: the step's end is in
	 * the record */
	bool stopping, by_time, by_job, recorded;
	uint16_t port; /* STEP_SEEKS: the port to connect the client to */
	pid_t seeker;  /* process that connects to the port; 0: none */
	int64_t start; /* start of the step, in Unix seconds */
	int64_t cpu_us, peak_kib;
};

#endif

/*
 * ask.c - requests to the runner of this machine
 *
 * To start a job, the loop writes no file and waits for nothing: it sends the
 * nursery one end of a socket pair and a memory file with the order, and the
 * nursery forks the shepherd.
 */
#include "aischedd/run/local/ask.h"

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "aischedd/run/local/attempt.h"
#include "aischedd/run/local/local.h"
#include "aischedd/run/local/nursery.h"
#include "aischedd/run/local/overdue.h"
#include "aischedd/run/shepherd/order.h"
#include "libcommon/mem.h"
#include "libcommon/step_msg.h"

/* most bytes read of a record of steps; enough for 40,000 steps */
#define STEPS_BYTES ((size_t)16 << 20)

/* --- starting an attempt --- */

/* Replace the order's arrays of tasks and CPUs by copies, in which CPUs have
 * the kernel's numbers, not the plan's. */
static void order_place(struct local *l, struct order *order,
                        struct arena *arena)
{
	struct run_job *job = &order->job;
	uint32_t n = order_uses(job), first = job->task[0].cpu_first;
	struct snap_task *task =
	    arena_array(arena, struct snap_task, job->ntasks + 1);
	struct snap_cpu_use *use = arena_array(arena, struct snap_cpu_use, n);
	uint8_t *numa = arena_array(arena, uint8_t, n);

	for (uint32_t i = 0; i <= job->ntasks; i++) {
		task[i] = job->task[i];
		task[i].cpu_first -= first;
	}
	/* A job that has the whole machine is not bound to CPUs. */
	order->bind = l->machine.node.ncpus > 0 && !job->whole.cpus_milli;
	for (uint32_t i = 0; i < n; i++) {
		uint16_t cpu = job->cpu_use[first + i].cpu;

		use[i].milli = job->cpu_use[first + i].milli;
		/* The configuration may give the node more CPUs than the
		 * machine has: then do not bind the job. */
		if (cpu >= l->machine.node.ncpus) {
			order->bind = false;
			continue;
		}
		use[i].cpu = l->machine.os_cpu[cpu];
		numa[i] = l->machine.os_numa[cpu];
	}
	job->task = task;
	job->cpu_use = use;
	order->cpu_numa = l->machine.many_numa && order->bind ? numa : NULL;
}

static int write_order(struct local *l, const struct run_job *job,
                       struct err *err)
{
	struct order order = {
		.job = *job,
		.host = l->machine.node.name,
		.tmp_dir = l->tmp_dir,
		.max_processes = l->max_processes,
		.rlimits = l->rlimits,
		.node_cpus = l->machine.node.ncpus,
		.node_gpus = l->machine.node.ngpus,
		.caps_major =
		    l->machine.node.gpu_parts ? l->machine.gpus.caps_major : 0,
		.constrain_devices = l->constrain_devices,
		.constrain_others = l->constrain_others,
		.gpu_program = l->gpu_program,
		.sample_s = l->sample_s,
		.ways = l->ways,
	};
	struct arena *arena = arena_new();
	int fd;

	for (uint32_t i = 0; i < order.node_gpus; i++) {
		order.gpu_uuid[i] = l->machine.gpus.id[i].uuid;
		order.gpu_index[i] = (uint8_t)l->machine.gpus.id[i].index;
		order.gpu_minor[i] = l->machine.gpus.id[i].minor;
		order.gpu_mem_mib[i] = l->machine.gpus.id[i].mem_mib;
		memcpy(order.gpu_part[i], l->machine.gpus.id[i].part,
		       sizeof(order.gpu_part[i]));
	}
	devices_order(&l->machine.devices, &order);
	order_place(l, &order, arena);
	fd = order_write(&order, err);
	arena_free(arena);
	return fd;
}

bool attempt_launch(struct attempt *a)
{
	int done = nursery_send(a->local, a, &a->err);

	if (done == 0)
		return false;
	close(a->child_fd);
	close(a->order_fd);
	a->child_fd = a->order_fd = -1;
	if (done < 0)
		attempt_hang_up(a);
	a->state = done < 0 ? ATTEMPT_FAILED : ATTEMPT_TALKS;
	return true;
}

static int attempt_prepare(struct attempt *a, const struct run_job *job)
{
	int pair[2];

	a->order_fd = write_order(a->local, job, &a->err);
	if (a->order_fd < 0)
		return -1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(&a->err, "cannot make a socket");
	a->child_fd = pair[1];
	attempt_connect(a, pair[0]);
	return 0;
}

void local_start(struct runner *r, const struct run_job *job)
{
	struct local *l = local_of(r);
	struct attempt *a;

	if (attempt_find(l, job->job, job->attempt))
		return;
	a = attempt_new(l, job->job, job->attempt);
	if (attempt_prepare(a, job) < 0)
		a->state = ATTEMPT_FAILED;
	else if (!attempt_launch(a))
		a->state = ATTEMPT_WAITS;
	if (a->state != ATTEMPT_TALKS)
		attempt_queue(a);
}

/* --- other requests --- */

void local_stop(struct runner *r, uint64_t job, uint32_t attempt,
                enum stop_why why, int64_t grace)
{
	static const struct {
		const char *why; /* text for the job's output */
		/* text for the file AISCHED_END_FILE of the job */
		const char *end;
	} words[] = {
		[STOP_CANCEL] = { "", "cancelled The job was cancelled." },
		[STOP_TIME_LIMIT] = { " DUE TO TIME LIMIT",
		                      "limit The job has reached its time "
		                      "limit." },
		[STOP_REQUEUE] = { " DUE TO JOB REQUEUE",
		                   "preempted The job is requeued, as somebody "
		                   "asked." },
		[STOP_PREEMPT] = { " DUE TO PREEMPTION",
		                   "preempted The job makes room for others." },
		[STOP_NODE_FAIL] = { " DUE TO NODE FAILURE",
		                     "failed A node of the job has failed." },
		[STOP_DEADLINE] = { " DUE TO DEADLINE",
		                    "limit The deadline of the job has "
		                    "come." },
	};
	struct attempt *a = attempt_find(local_of(r), job, attempt);

	assert((size_t)why < ARRAY_SIZE(words));
	if (!a || a->state >= ATTEMPT_DONE)
		return;
	attempt_insist(a, &a->stop,
	               json_pack("{s:s s:s s:s s:I}", "do", "stop", "why",
	                         words[why].why, "end", words[why].end, "grace",
	                         (json_int_t)grace));
	overdue_watch(a, grace);
}

/* Send the field script_only, too: it is for shepherds of older versions, which
 * do not know the scope "steps". */
void local_signal(struct runner *r, uint64_t job, uint32_t attempt,
                  const struct run_signal *what)
{
	struct attempt *a = attempt_find(local_of(r), job, attempt);

	if (a)
		attempt_send(a,
		             json_pack("{s:s s:i s:b s:s s:I}", "do", "signal",
		                       "signo", what->signo, "script_only",
		                       what->scope == SIGNAL_script, "scope",
		                       signal_scope_name(what->scope), "step",
		                       (json_int_t)what->step));
}

void local_suspend(struct runner *r, uint64_t job, uint32_t attempt)
{
	struct attempt *a = attempt_find(local_of(r), job, attempt);

	if (!a)
		return;
	attempt_send(a, json_pack("{s:s}", "do", "suspend"));
	overdue_must_read(a);
}

/* Returns the tasks of a job as JSON, as shepherds read them. */
static json_t *place_to_json(struct local *l, const struct run_job *job)
{
	struct order order = { .job = { .ntasks = job->ntasks,
		                        .task = job->task,
		                        .cpu_use = job->cpu_use,
		                        .devs = job->devs } };
	struct arena *arena = arena_new();
	json_t *place;

	devices_order(&l->machine.devices, &order);
	order_place(l, &order, arena);
	place = order_place_to_json(&order);
	arena_free(arena);
	return place;
}

void local_resume(struct runner *r, const struct run_job *job)
{
	struct local *l = local_of(r);
	struct attempt *a = attempt_find(l, job->job, job->attempt);

	if (!a)
		return;
	attempt_send(a, json_pack("{s:s s:o}", "do", "resume", "place",
	                          place_to_json(l, job)));
	overdue_must_read(a);
}

void local_resize(struct runner *r, const struct run_job *job)
{
	struct local *l = local_of(r);
	struct attempt *a = attempt_find(l, job->job, job->attempt);

	if (!a || a->state >= ATTEMPT_DONE)
		return;
	attempt_insist(a, &a->resize,
	               json_pack("{s:s s:o s:I s:I}", "do", "resize", "place",
	                         place_to_json(l, job), "resize",
	                         (json_int_t)job->resize, "grace",
	                         (json_int_t)job->grace));
	overdue_must_read(a);
}

void local_forget(struct runner *r, uint64_t job, uint32_t attempt)
{
	struct attempt *a = attempt_find(local_of(r), job, attempt);

	if (!a)
		return;
	a->forgotten = true;
	if (a->state == ATTEMPT_DONE)
		attempt_done(a);
}

void local_step_socket(struct runner *r, uint64_t job, uint32_t attempt,
                       struct buf *out)
{
	char name[48];

	local_name(name, job, attempt);
	buf_printf(out, "%s/%s/%s", local_of(r)->dir, name, STEP_SOCKET);
}

void local_steps(struct runner *r, uint64_t job, uint32_t attempt,
                 struct buf *out)
{
	char name[48], path[64];
	size_t most = out->len + STEPS_BYTES;
	ssize_t n;
	int fd;

	local_name(name, job, attempt);
	snprintf(path, sizeof(path), "%s/%s", name, STEP_RECORD);
	fd =
	    openat(local_of(r)->dirfd, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return;
	while (out->len < most &&
	       (n = read(fd, buf_room(out, 65536), 65536)) > 0)
		buf_grew(out, (size_t)n);
	close(fd);
}

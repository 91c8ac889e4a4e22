/*
 * gang.c - tasks that are added, fail and end while others run
 *
 * Tasks differ only in their ranks and GPUs, which a running process cannot
 * change. A new placement is matched with the running tasks in the order of
 * their ranks, so that the tasks with the highest ranks end. A new task gets
 * the lowest free rank.
 */
#include "aischedd/run/shepherd/gang.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "aischedd/run/shepherd/end.h"
#include "aischedd/run/shepherd/env.h"
#include "aischedd/run/shepherd/limit.h"
#include "aischedd/run/shepherd/shepherd.h"
#include "aischedd/run/shepherd/task.h"
#include "libcommon/clock.h"

#define LINGER_MS 200 /* how long processes may outlive their task */
/* first pause between two rounds of SIGKILL; doubled each round */
#define KILL_PAUSE_MS     5
#define KILL_PAUSE_MAX_MS 1000
/* Pause before a task is replaced for the second time; it is doubled each
 * further time. */
#define REPLACE_PAUSE_MS  INT64_C(1000)
#define REPLACE_DOUBLINGS 8
#define PID_SIZE          16

/* --- the processes of one task ----------------------------------------- */

static void pid_format(char ret[PID_SIZE], pid_t pid)
{
	snprintf(ret, PID_SIZE, "%d", (int)pid);
}

/* Whether the process belongs to the task: it is in the task's session, or has
 * the task's pid in its environment. A process that has left the session and
 * cleared its environment is killed only at the end of the job. */
static bool is_of(const struct task *t, const char *pid_text, pid_t pid,
                  bool *unclear)
{
	return pid == t->pid || getsid(pid) == t->pid ||
	       proc_has_env(pid, TASK_PID_VAR, pid_text, unclear);
}

struct each {
	const struct shepherd *shepherd;
	const struct task *task;
	char pid[PID_SIZE];
	int signo; /* 0: only count the processes */
	size_t n;
};

static bool is_of_both(pid_t pid, const void *arg)
{
	const struct each *e = arg;

	return is_of(e->task, e->pid, pid, NULL) && job_has(pid, e->shepherd);
}

static void signal_if_of(pid_t pid, void *arg)
{
	struct each *e = arg;
	bool unclear = false;
	bool is = is_of(e->task, e->pid, pid, &unclear);

	e->n += is || unclear;
	if (is && e->signo)
		proc_signal(pid, e->signo, is_of_both, e);
}

/* Send signo (0: none) to all processes of the task. Returns how many there
 * are. Processes in the middle of an exec are counted, too, as they may belong
 * to the task. */
static size_t task_signal(struct shepherd *s, const struct task *t, int signo)
{
	struct each e = { .shepherd = s, .task = t, .signo = signo };

	pid_format(e.pid, t->pid);
	job_each(s, signal_if_of, &e);
	return e.n;
}

/* Send SIGKILL to the task's processes. Returns true once none is left. */
static bool kill_round(struct shepherd *s, struct task *t, int64_t now)
{
	if (!task_signal(s, t, SIGKILL) && t->state != TASK_RUNS) {
		t->pause = 0;
		return true;
	}
	t->pause = t->pause ? t->pause * 2 : KILL_PAUSE_MS;
	if (t->pause > KILL_PAUSE_MAX_MS)
		t->pause = KILL_PAUSE_MAX_MS;
	t->at = now + t->pause;
	return false;
}

/* --- failed tasks ------------------------------------------------------ */

/* End the job because a task has failed. The first task that failed decides the
 * job's outcome. */
static void end_all(struct shepherd *s, const struct task *t, int exit_code,
                    int signo)
{
	struct outcome *out = &s->outcome;
	struct buf text = { 0 };

	if (out->exit_code || out->signal)
		return;
	out->exit_code = exit_code;
	out->signal = signo;
	if (s->order.job.req->tasks == 1 || s->ending)
		return;
	outcome_of_task(&text, t->rank, exit_code, signo);
	out->text = arena_strdup(s->arena, text.data);
	buf_free(&text);
	if (!s->alive)
		return;
	tasks_say(s, "%s, ending the others", out->text);
	buf_printf(&text, "failed %s", out->text);
	job_note_end(s, text.data);
	buf_free(&text);
	job_end(s, s->order.job.grace);
}

static bool may_replace(const struct shepherd *s)
{
	const struct spec *spec = s->order.job.spec;

	return !s->ending && spec_task_failure(spec) == FAILURE_REPLACES &&
	       s->replaced < spec_max_restarts(spec);
}

static int64_t replace_pause(uint32_t before)
{
	if (!before)
		return LINGER_MS;
	return before > REPLACE_DOUBLINGS
	           ? REPLACE_PAUSE_MS << REPLACE_DOUBLINGS
	           : REPLACE_PAUSE_MS << (before - 1);
}

static void replace(struct shepherd *s, struct task *t, int exit_code,
                    int signo)
{
	struct buf text = { 0 };

	outcome_of_task(&text, t->rank, exit_code, signo);
	buf_puts(&text, " and starts again");
	tasks_say(s, "%s", text.data);
	t->state = TASK_DUE;
	t->at = clock_ms() + replace_pause(s->replaced);
	s->replaced++;
	buf_free(&s->last_failure);
	s->last_failure = text;
	tell_replaced(s);
}

static void task_failed(struct shepherd *s, struct task *t, int exit_code,
                        int signo)
{
	if (may_replace(s)) {
		replace(s, t, exit_code, signo);
		return;
	}
	t->state = TASK_ENDED;
	s->alive--;
	end_all(s, t, exit_code, signo);
}

static void task_not_started(struct shepherd *s, struct task *t,
                             const struct err *why)
{
	tasks_say(s, "task %" PRIu32 " cannot be started: %s", t->rank,
	          why->text);
	task_failed(s, t, EXIT_FAILURE, 0);
}

static void task_over(struct shepherd *s, struct task *t, int status)
{
	struct err why;

	if (task_report(t, &why)) {
		task_not_started(s, t, &why);
	} else if (status) {
		task_failed(s, t, WIFEXITED(status) ? WEXITSTATUS(status) : 0,
		            WIFSIGNALED(status) ? WTERMSIG(status) : 0);
	} else {
		t->state = TASK_ENDED;
		s->alive--;
	}
}

/* Handle the end of a task that a resize ends. Processes that it left behind
 * get LINGER_MS before they are killed. */
static void leaver_over(struct shepherd *s, struct task *t)
{
	int64_t now = clock_ms();

	t->state = TASK_ENDED;
	if (!task_signal(s, t, 0))
		t->at = now;
	else if (t->at > now + LINGER_MS)
		t->at = now + LINGER_MS;
}

static struct task *task_of(struct task *task, uint32_t n, pid_t pid)
{
	for (uint32_t i = 0; i < n; i++)
		if (task[i].state == TASK_RUNS && task[i].pid == pid)
			return &task[i];
	return NULL;
}

void gang_task_ended(struct shepherd *s, pid_t pid, int status)
{
	struct task *t = task_of(s->task, s->ntasks, pid);

	if (t) {
		task_over(s, t, status);
		return;
	}
	t = task_of(s->leaving, s->nleaving, pid);
	if (t)
		leaver_over(s, t);
}

/* --- tasks that a resize ends ------------------------------------------ */

static void stop_unless_leaving(pid_t pid, void *arg)
{
	const struct shepherd *s = arg;

	for (uint32_t i = 0; i < s->nleaving; i++) {
		char text[PID_SIZE];

		pid_format(text, s->leaving[i].pid);
		if (is_of(&s->leaving[i], text, pid, NULL))
			return;
	}
	proc_signal(pid, SIGSTOP, job_has, s);
}

/* Let tasks that a resize ends receive their signals although the job is
 * frozen. The cgroup can only be frozen as a whole, so stop the processes of
 * all other tasks one by one, then thaw the cgroup. */
static void thaw_leavers(struct shepherd *s)
{
	if (!s->frozen)
		return;
	job_each(s, stop_unless_leaving, s);
	cgroup_freeze(&s->cg, false);
	s->frozen = false;
}

static void leave(struct shepherd *s, const struct task *t)
{
	struct task *l;

	if (t->state != TASK_ENDED)
		s->alive--;
	if (!t->pid)
		return; /* the task was not started yet */
	s->leaving = GROW(s->leaving, s->nleaving, &s->leaving_cap);
	l = &s->leaving[s->nleaving++];
	*l = *t;
	l->at = clock_ms();
	if (t->state == TASK_RUNS)
		l->at += s->leave_grace * 1000;
	else
		l->state = TASK_ENDED;
}

static void say_goodbye(struct shepherd *s, uint32_t first)
{
	if (s->suspended)
		thaw_leavers(s);
	for (uint32_t i = first; i < s->nleaving; i++) {
		task_signal(s, &s->leaving[i], SIGTERM);
		task_signal(s, &s->leaving[i], SIGCONT);
	}
}

static void drop_leaver(struct shepherd *s, uint32_t i)
{
	struct task *t = &s->leaving[i];

	if (t->report >= 0)
		close(t->report);
	*t = s->leaving[--s->nleaving];
	if (!s->nleaving)
		limits_change(s);
}

/* --- matching tasks with a new placement ------------------------------- */

static bool same_devices(const struct run_job *a, uint32_t i,
                         const struct run_job *b, uint32_t k)
{
	const struct snap_task *x = &a->task[i], *y = &b->task[k];

	return x->gpus == y->gpus && x->gpu_milli == y->gpu_milli &&
	       x->units == y->units && run_job_devs(a, i) == run_job_devs(b, k);
}

static bool same_cpus(const struct run_job *a, uint32_t i,
                      const struct run_job *b, uint32_t k)
{
	const struct snap_task *x = &a->task[i], *y = &b->task[k];
	uint32_t n = x[1].cpu_first - x->cpu_first;

	if (y[1].cpu_first - y->cpu_first != n)
		return false;
	for (uint32_t c = 0; c < n; c++)
		if (a->cpu_use[x->cpu_first + c].cpu !=
		    b->cpu_use[y->cpu_first + c].cpu)
			return false;
	return true;
}

/* The match of the running (old) tasks with the tasks of a new placement. */
struct deal {
	const struct run_job *from, *to;
	struct task *task; /* [to->ntasks] */
	bool *taken;       /* [to->ntasks] the new task has an old task */
	/* [to->ntasks] old tasks that are kept, but not matched yet */
	uint32_t *rest;
	uint32_t nrest;
};

/* Returns the first new task that is not taken and has the GPUs of this old
 * task, and its CPUs if cpus is set; to->ntasks if there is none. */
static uint32_t find(const struct deal *d, uint32_t old, bool cpus)
{
	uint32_t k = 0;

	while (k < d->to->ntasks &&
	       (d->taken[k] || !same_devices(d->to, k, d->from, old) ||
	        (cpus && !same_cpus(d->from, old, d->to, k))))
		k++;
	return k;
}

/* Choose the old tasks that continue to run. By ascending rank, each old task
 * takes a new task with the same GPUs; an old task that finds none is ended. */
static void choose(struct shepherd *s, struct deal *d)
{
	bool *seen = xcalloc(s->ntasks, sizeof(*seen));

	for (uint32_t n = 0; n < s->ntasks; n++) {
		uint32_t low = s->ntasks, k;

		for (uint32_t i = 0; i < s->ntasks; i++)
			if (!seen[i] && (low == s->ntasks ||
			                 s->task[i].rank < s->task[low].rank))
				low = i;
		seen[low] = true;
		k = find(d, low, false);
		if (k == d->to->ntasks) {
			leave(s, &s->task[low]);
			continue;
		}
		d->taken[k] = true;
		d->rest[d->nrest++] = low;
	}
	memset(d->taken, 0, d->to->ntasks * sizeof(*d->taken));
	free(seen);
}

/* Match the old tasks that are kept with new tasks. If cpus is set, match only
 * tasks on the same CPUs, as the memory of the old task is near them. */
static void settle(struct shepherd *s, struct deal *d, bool cpus)
{
	uint32_t left = 0;

	for (uint32_t i = 0; i < d->nrest; i++) {
		uint32_t k = find(d, d->rest[i], cpus);

		if (k == d->to->ntasks) {
			d->rest[left++] = d->rest[i];
			continue;
		}
		d->task[k] = s->task[d->rest[i]];
		d->task[k].moved = !cpus;
		d->taken[k] = true;
	}
	d->nrest = left;
}

static bool rank_is_taken(const struct shepherd *s, const struct deal *d,
                          uint32_t rank)
{
	for (uint32_t k = 0; k < d->to->ntasks; k++)
		if (d->taken[k] && d->task[k].rank == rank)
			return true;
	for (uint32_t i = 0; i < s->nleaving; i++)
		if (s->leaving[i].rank == rank)
			return true;
	return false;
}

static void hire(struct shepherd *s, struct deal *d)
{
	uint32_t rank = 0;

	for (uint32_t k = 0; k < d->to->ntasks; k++) {
		if (d->taken[k])
			continue;
		while (rank_is_taken(s, d, rank))
			rank++;
		d->task[k] = (struct task){ .rank = rank++,
			                    .state = TASK_DUE,
			                    .out = -1,
			                    .err = -1,
			                    .report = -1 };
		s->alive++;
	}
}

static void deal_out(struct shepherd *s, const struct run_job *to)
{
	struct deal d = { .from = &s->order.job, .to = to };

	d.task = xcalloc(to->ntasks, sizeof(*d.task));
	d.taken = xcalloc(to->ntasks, sizeof(*d.taken));
	d.rest = xcalloc(to->ntasks, sizeof(*d.rest));
	choose(s, &d);
	settle(s, &d, true);
	settle(s, &d, false);
	hire(s, &d);
	free(d.taken);
	free(d.rest);
	free(s->task);
	s->task = d.task;
	s->ntasks = to->ntasks;
}

void gang_place(struct shepherd *s, json_t *place)
{
	struct arena *arena = arena_new(), *old = s->place;
	struct order to = s->order;
	uint32_t before = s->nleaving;

	if (s->ending || order_place_from_json(&to, place, arena, NULL) < 0 ||
	    !to.job.ntasks) {
		arena_free(arena);
		return;
	}
	if (to.job.spec->launch_script == 1)
		s->task[0].moved = s->ntasks > 0;
	else
		deal_out(s, &to.job);
	s->order = to;
	s->place = arena;
	arena_free(old);
	gpu_watch_place(s);
	limits_change(s);
	for (uint32_t i = 0; i < s->ntasks; i++)
		if (s->task[i].moved)
			limits_bind(s, i);
	say_goodbye(s, before);
}

/* --- due times --------------------------------------------------------- */

static void start_due(struct shepherd *s, uint32_t i, int64_t now)
{
	struct task *t = &s->task[i];
	struct err why;

	/* First kill the processes that the task left behind when it failed. */
	if (t->pid && !kill_round(s, t, now))
		return;
	if (task_start(s, i, &why) < 0)
		task_not_started(s, t, &why);
}

void gang_step(struct shepherd *s, int64_t now)
{
	for (uint32_t i = 0; i < s->ntasks && s->ending; i++)
		if (s->task[i].state == TASK_DUE) {
			s->task[i].state = TASK_ENDED;
			s->alive--;
		}
	for (uint32_t i = 0; i < s->ntasks && !s->suspended; i++)
		if (s->task[i].state == TASK_DUE && now >= s->task[i].at)
			start_due(s, i, now);
	for (uint32_t i = 0; i < s->ntasks && !s->suspended; i++)
		task_check(&s->task[i], now);
	for (uint32_t i = s->nleaving; i-- > 0;)
		if (now >= s->leaving[i].at &&
		    kill_round(s, &s->leaving[i], now))
			drop_leaver(s, i);
	if (!s->resizing || s->nleaving)
		return;
	s->resizing = false;
	tell_resized(s);
}

/* Returns the earlier of two times; a may be 0, for never. */
static int64_t earlier(int64_t a, int64_t b)
{
	return !a || b < a ? b : a;
}

int64_t gang_due(const struct shepherd *s)
{
	int64_t at = 0;

	for (uint32_t i = 0; i < s->ntasks && !s->suspended; i++) {
		const struct task *t = &s->task[i];

		if (t->state == TASK_DUE)
			at = earlier(at, t->at);
		else if (t->state == TASK_RUNS && t->report >= 0 &&
		         t->exec_by != INT64_MAX)
			at = earlier(at, t->exec_by);
	}
	for (uint32_t i = 0; i < s->nleaving; i++)
		at = earlier(at, s->leaving[i].at);
	return at;
}

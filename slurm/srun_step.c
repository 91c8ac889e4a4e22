/* srun_step.c - the life of a step, as srun sees it */
#include "slurm/srun_step.h"

#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "libcommon/client/step_call.h"
#include "libcommon/client/terminal.h"
#include "libcommon/clock.h"
#include "libcommon/idset.h"
#include "libcommon/parse.h"
#include "slurm/srun_files.h"
#include "slurm/srun_programs.h"
#include "slurm/srun_streams.h"

enum { KILL_WAIT_S = 30, FORCE_S = 2, INTERRUPT_MS = 1000, WORD_WAIT_S = 32 };

/* how long a message about an ended task waits for tasks that end alike */
enum { REPORT_MS = 100 };

enum fate { FATE_NONE, FATE_RUNS, FATE_EXITED };

struct fate_of_task {
	enum fate fate;
	int64_t node;
	int status;
	bool new; /* not reported yet */
};

struct run {
	const struct srun *srun;
	const struct srun_job *job;
	char *const *command; /* what each task executes */
	struct srun_files files;
	struct srun_streams *streams;
	struct terminal pty;
	int conn, signals;
	long long id; /* of the step; -1: not created yet */
	struct fate_of_task *task;
	bool waited, ended, refused, aborted, killed, job_ends;
	int status;
	/* when -W ends the step, in ms of the monotonic clock; 0: never */
	int64_t wait_at;
	int64_t first_exit_at;
	int64_t report_at; /* when to print how tasks ended; 0: none to print */
	int64_t interrupt_at; /* when the last SIGINT came */
};

/* --- messages ------------------------------------------------------------- */

__attribute__((format(printf, 1, 2))) static void say(const char *fmt, ...)
{
	va_list ap;

	fputs("srun: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputs("\n", stderr);
}

static void say_cancelled(const struct run *r, const char *why)
{
	struct buf now = { 0 };

	format_time(&now, time(NULL));
	fprintf(stderr,
	        "slurmstepd-%s: error: *** STEP %lld.%lld ON %s CANCELLED AT "
	        "%s%s ***\n",
	        r->job->node, (long long)r->job->id, r->id, r->job->node,
	        now.data, why);
	buf_free(&now);
}

static void say_aborted(struct run *r)
{
	if (!r->aborted)
		say("Job step aborted: Waiting up to %d seconds for job step to "
		    "finish.",
		    WORD_WAIT_S);
	r->aborted = true;
}

static void say_terminating(const struct run *r)
{
	say("launch/slurm: _step_signal: Terminating StepId=%lld.%lld",
	    (long long)r->job->id, r->id);
}

/* List the tasks, running ones first. */
static void list_tasks(const struct run *r)
{
	for (enum fate fate = FATE_RUNS; fate <= FATE_EXITED; fate++)
		for (int64_t i = 0; i < r->srun->tasks; i++)
			if (r->task[i].fate == fate)
				say("StepId=%lld.%lld task %lld: %s",
				    (long long)r->job->id, r->id, (long long)i,
				    fate == FATE_RUNS ? "running"
				    : r->task[i].status != 0
				        ? "exited abnormally"
				        : "exited");
}

static void report_group(const struct run *r, int64_t first)
{
	int64_t node = r->task[first].node;
	const char *name =
	    node < r->job->nnodes ? r->job->nodes[node] : r->job->node;
	int status = r->task[first].status;
	struct idset set = { 0 };
	struct buf text = { 0 };

	for (int64_t i = first; i < r->srun->tasks; i++) {
		if (!r->task[i].new || r->task[i].status != status ||
		    r->task[i].node != node)
			continue;
		r->task[i].new = false;
		idset_add(&set, (uint32_t)i);
	}
	idset_format(&set, &text);
	if (WIFSIGNALED(status))
		command_error("%s: task%s %s: %s%s", name,
		              idset_count(&set) > 1 ? "s" : "", text.data,
		              strsignal(WTERMSIG(status)),
		              WCOREDUMP(status) ? " (core dumped)" : "");
	else if (status)
		command_error("%s: task%s %s: Exited with exit code %d", name,
		              idset_count(&set) > 1 ? "s" : "", text.data,
		              WEXITSTATUS(status));
	buf_free(&text);
	idset_free(&set);
}

/* Print how tasks ended, after copying what they had written. Tasks that ended
 * alike on the same node share a line. */
static void report(struct run *r)
{
	bool caught_up = false;

	r->report_at = 0;
	for (int64_t i = 0; r->task && i < r->srun->tasks; i++) {
		if (!r->task[i].new)
			continue;
		if (!caught_up)
			srun_streams_catch_up(r->streams);
		caught_up = true;
		report_group(r, i);
	}
}

static bool all_ended(const struct run *r)
{
	for (int64_t i = 0; r->task && i < r->srun->tasks; i++)
		if (r->task[i].fate != FATE_EXITED)
			return false;
	return r->task != NULL;
}

static void report_if_due(struct run *r)
{
	if (r->report_at && (clock_ms() >= r->report_at || all_ended(r) ||
	                     r->ended || r->conn < 0))
		report(r);
}

/* --- requests to the shepherd --------------------------------------------- */

static void stop_step(struct run *r, int seconds)
{
	step_call_tell(r->conn, json_pack("{s:i}", "stop", seconds));
}

/* --- messages from the shepherd ------------------------------------------- */

static void task_ended(struct run *r, int64_t rank, int status)
{
	int code =
	    WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);

	r->task[rank] = (struct fate_of_task){ FATE_EXITED, r->task[rank].node,
		                               status, true };
	if (!r->report_at && !terminal_is_raw(&r->pty))
		r->report_at = clock_ms() + REPORT_MS;
	if (code > r->status)
		r->status = code;
	if (WIFSIGNALED(status) &&
	    (WTERMSIG(status) == SIGKILL || WTERMSIG(status) == SIGTERM))
		r->killed = true;
	if (!r->first_exit_at) {
		r->first_exit_at = clock_ms();
		if (r->srun->wait_s > 0)
			r->wait_at = r->first_exit_at + r->srun->wait_s * 1000;
	}
	if (!code || !r->srun->kill_on_bad_exit || r->aborted)
		return;
	report(r);
	r->aborted = true;
	say_terminating(r);
	say_cancelled(r, "");
	stop_step(r, KILL_WAIT_S);
}

static void step_began(struct run *r, long long id)
{
	r->id = id;
	if (r->waited && !r->srun->quiet)
		say("Step created for job %lld", (long long)r->job->id);
	if (r->srun->verbose)
		say("launching StepId=%lld.%lld on host %s, %lld tasks",
		    (long long)r->job->id, id, r->job->node,
		    (long long)r->srun->tasks);
}

static void step_ends(struct run *r, const char *why)
{
	r->job_ends = r->job_ends || !strcmp(why, "job");
	report(r);
	if (r->job_ends)
		say_aborted(r);
	say_cancelled(r, !strcmp(why, "time") ? " DUE TO TIME LIMIT" : "");
}

static void step_refused(struct run *r, const char *text)
{
	command_error("Unable to create step for job %lld: %s",
	              (long long)r->job->id, text);
	r->refused = true;
	r->status = EXIT_FAILURE;
}

static void obey(struct run *r, json_t *msg, const int *fd, int nfds)
{
	const char *text;
	json_int_t n, rank, node = 0;
	int status;

	if (!json_unpack(msg, "{s:I s:i}", "task", &rank, "status", &status)) {
		if (rank >= 0 && rank < r->srun->tasks)
			task_ended(r, rank, status);
	} else if (!json_unpack(msg, "{s:I s?I}", "task", &rank, "node",
	                        &node)) {
		if (rank >= 0 && rank < r->srun->tasks) {
			r->task[rank].fate = FATE_RUNS;
			r->task[rank].node = node;
		}
		if (r->pty.used && nfds)
			terminal_begin(&r->pty, fd[0]);
		else
			srun_streams_add(r->streams, (uint32_t)rank, fd, nfds);
	} else if (!json_unpack(msg, "{s:I}", "step", &n)) {
		step_began(r, n);
	} else if (!json_unpack(msg, "{s:s}", "waits", &text)) {
		r->waited = true;
		if (!r->srun->quiet)
			say("Job %lld step creation temporarily disabled, "
			    "retrying (%s)",
			    (long long)r->job->id, text);
	} else if (!json_unpack(msg, "{s:s}", "ends", &text)) {
		step_ends(r, text);
	} else if (!json_unpack(msg, "{s:s}", "error", &text)) {
		step_refused(r, text);
	} else if (!json_unpack(msg, "{s:I}", "end", &n)) {
		r->ended = true;
	}
}

/* Read one message and act on it. Returns false if none has arrived, or if none
 * need be read after it. */
static bool hear(struct run *r)
{
	int fd[STEP_FDS], nfds;
	json_t *msg;
	int got = step_call_hear(r->conn, &msg, fd, &nfds);

	if (got < 0) {
		close(r->conn);
		r->conn = -1;
	}
	if (got <= 0)
		return false;
	obey(r, msg, fd, nfds);
	json_decref(msg);
	return !r->ended && !r->refused;
}

/* --- signals -------------------------------------------------------------- */

static void interrupted(struct run *r)
{
	int64_t now = clock_ms();

	if (r->interrupt_at && now - r->interrupt_at <= INTERRUPT_MS) {
		say("sending Ctrl-C to StepId=%lld.%lld", (long long)r->job->id,
		    r->id);
		say_aborted(r);
		step_call_tell(r->conn, json_pack("{s:i}", "signal", SIGINT));
		stop_step(r, FORCE_S);
		return;
	}
	r->interrupt_at = now;
	say("interrupt (one more within %d sec to abort)", INTERRUPT_MS / 1000);
	list_tasks(r);
}

/* On SIGTERM or SIGHUP, stop the step. If the whole job is ending, do nothing:
 * then all its processes get the signal, srun among them, and the tasks have
 * the job's grace time. */
static void terminated(struct run *r)
{
	if (r->job_ends)
		return;
	say("forcing job termination");
	say_aborted(r);
	say_cancelled(r, "");
	stop_step(r, FORCE_S);
}

static void take_signal(struct run *r)
{
	struct signalfd_siginfo info;

	if (read(r->signals, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return;
	report(r);
	if (r->id < 0) {
		/* The step has not been created: closing the connection
		 * withdraws the request. */
		r->refused = true;
		r->status = 128 + (int)info.ssi_signo;
		return;
	}
	switch (info.ssi_signo) {
	case SIGINT:
		interrupted(r);
		break;
	case SIGTERM:
	case SIGHUP:
		terminated(r);
		break;
	case SIGWINCH:
		terminal_resize(&r->pty);
		break;
	default:
		step_call_tell(
		    r->conn, json_pack("{s:i}", "signal", (int)info.ssi_signo));
		break;
	}
}

/* --- the request ---------------------------------------------------------- */

static int64_t flags_of(const struct run *r)
{
	const struct srun *s = r->srun;
	const bool *copies = r->files.copies;

	return (s->exact ? STEP_EXACT : 0) | (s->overlap ? STEP_OVERLAP : 0) |
	       (s->overcommit ? STEP_OVERCOMMIT : 0) |
	       (r->pty.used ? STEP_PTY : 0) | (s->append ? STEP_APPEND : 0) |
	       (copies[0] ? STEP_PIPE_IN : 0) |
	       (copies[1] ? STEP_PIPE_OUT : 0) |
	       (copies[2] ? STEP_PIPE_ERR : 0) |
	       (s->gpus_per_task > 0 ? STEP_GPUS_PER_TASK : 0);
}

const char *srun_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static char *folder(const struct srun *s)
{
	char *cwd = getcwd(NULL, 0), *path;

	if (!s->workdir)
		return cwd ? cwd : xstrdup("/");
	path = *s->workdir == '/' ? xstrdup(s->workdir)
	                          : xasprintf("%s/%s", cwd, s->workdir);
	free(cwd);
	return path;
}

static int64_t mem_of(const struct srun *s)
{
	if (s->mem_mib || !s->mem_cpu_mib)
		return s->mem_mib;
	return s->mem_cpu_mib * s->tasks * (s->cpus ? s->cpus : 1);
}

static int ask(struct run *r, char *const *argv, struct err *err)
{
	const struct srun *s = r->srun;
	const char *job_name = getenv("SLURM_JOB_NAME");
	struct step_request req = {
		.tasks = s->tasks,
		.flags = flags_of(r),
		.cpus = s->cpus,
		.mem_mib = mem_of(s),
		.gpus = s->gpus_per_task >= 0 ? s->gpus_per_task * s->tasks
		                              : s->gpus,
		.limit_s = s->limit_s,
		.rows = r->pty.rows,
		.columns = r->pty.columns,
		.name = s->name ? s->name : srun_base_name(argv[0]),
	};
	struct buf text = { 0 };
	char *cwd = folder(s), **env = srun_env(s->export_env, s->arena);
	mode_t mask = umask(0);
	int rc;

	umask(mask);
	req.umask = mask;
	req.cwd = cwd;
	req.job_name = !s->name && job_name && *job_name ? job_name : req.name;
	for (int i = 0; i < 3; i++) {
		req.task[i] = r->files.task[i];
		req.file[i] = r->files.name[i].data;
	}
	step_request_pack(&req, r->command, env, &text);
	free(cwd);
	rc = step_call_send(r->conn, &text, r->files.fd, err);
	buf_free(&text);
	return rc;
}

/* --- the loop ------------------------------------------------------------- */

/* End the step once -W seconds have passed since the first task ended. */
static void check_wait(struct run *r)
{
	if (!r->wait_at || clock_ms() < r->wait_at || r->aborted)
		return;
	r->wait_at = 0;
	report(r);
	say("First task exited %llds ago", (long long)r->srun->wait_s);
	list_tasks(r);
	say_terminating(r);
	say_cancelled(r, "");
	say_aborted(r);
	stop_step(r, 0);
}

/* Returns for how many milliseconds to poll; -1: for ever. */
static int timeout(const struct run *r)
{
	int64_t at = r->aborted ? 0 : r->wait_at, left;

	if (r->report_at && (!at || r->report_at < at))
		at = r->report_at;
	left = at - clock_ms();
	return !at ? -1 : left > 0 ? (int)left : 0;
}

enum { OWN_FDS = 2, PTY_FDS = 2 };

/* Read all messages that have arrived. Call this before take_signal(), even if
 * poll() saw no message: messages tell whether the step was created and whether
 * the job ends, and these may have come just before the signal. */
static void hear_all(struct run *r, bool any)
{
	while (any && r->conn >= 0 && hear(r))
		;
	report_if_due(r);
}

static int turn(struct run *r, int wait_ms)
{
	size_t most = OWN_FDS + PTY_FDS + srun_streams_most(r->streams), n;
	struct pollfd *p = xcalloc(most, sizeof(*p));
	int ready;

	p[0] = (struct pollfd){ .fd = r->conn, .events = POLLIN };
	p[1] = (struct pollfd){ .fd = r->signals, .events = POLLIN };
	terminal_poll(&r->pty, p + OWN_FDS);
	n = srun_streams_poll(r->streams, p + OWN_FDS + PTY_FDS);
	ready = poll(p, OWN_FDS + PTY_FDS + n, wait_ms);
	if (ready > 0) {
		terminal_move(&r->pty, p + OWN_FDS);
		srun_streams_move(r->streams, p + OWN_FDS + PTY_FDS, n);
		hear_all(r, p[0].revents || p[1].revents);
		if (p[1].revents && !r->ended)
			take_signal(r);
	}
	free(p);
	return ready;
}

/* Copy the last output of the tasks. Do not wait for the pipes to be closed: a
 * process that has left the step may keep them open. */
static void drain(struct run *r)
{
	srun_streams_close_input(r->streams);
	r->signals = -1;
	while ((srun_streams_open(r->streams) || terminal_is_open(&r->pty)) &&
	       turn(r, 0) > 0)
		;
}

static int finish(struct run *r)
{
	bool all = all_ended(r);

	drain(r);
	terminal_end(&r->pty);
	report(r);
	if (!r->ended && !r->refused && !all) {
		command_error("the shepherd of job %lld is gone, and its steps "
		              "with it",
		              (long long)r->job->id);
		return r->status ? r->status : EXIT_FAILURE;
	}
	if (r->killed && !(r->aborted && !r->srun->kill_on_bad_exit))
		say("Force Terminated StepId=%lld.%lld", (long long)r->job->id,
		    r->id);
	return r->status;
}

static int live(struct run *r, char *const *argv)
{
	struct err err;

	r->conn = r->job->connect ? r->job->connect(r->srun, &err)
	                          : step_call_connect(r->job->socket, &err);
	r->signals = step_call_signals(NULL);
	if (r->conn < 0 || ask(r, argv, &err) < 0) {
		command_error("Unable to create step for job %lld: %s",
		              (long long)r->job->id, err.text);
		return EXIT_FAILURE;
	}
	while (!r->ended && !r->refused && r->conn >= 0) {
		turn(r, timeout(r));
		report_if_due(r);
		check_wait(r);
	}
	return finish(r);
}

int srun_step(const struct srun *srun, const struct srun_job *job,
              char *const *argv)
{
	struct run r = { .srun = srun, .job = job, .conn = -1, .id = -1 };
	struct err err;
	int status;

	r.command = srun->multi_prog
	                ? srun_programs(argv[0], srun->tasks, srun->arena, &err)
	                : argv;
	if (!r.command) {
		command_error("%s", err.text);
		return EXIT_FAILURE;
	}
	if (srun_files_open(srun, job, &r.files, &err) < 0) {
		command_error("%s", err.text);
		srun_files_free(&r.files);
		return EXIT_FAILURE;
	}
	r.pty = (struct terminal){ .fd = -1 };
	if (srun->pty && !terminal_init(&r.pty)) {
		command_error("ioctl(TIOCGWINSZ): %s", strerror(errno));
		command_error("Not using a pseudo-terminal, disregarding --pty "
		              "option");
	}
	r.task = xcalloc((size_t)srun->tasks, sizeof(*r.task));
	r.streams = srun_streams_new(&r.files, srun->tasks, srun->label);
	status = live(&r, argv);
	srun_streams_free(r.streams);
	srun_files_free(&r.files);
	free(r.task);
	if (r.conn >= 0)
		close(r.conn);
	return status;
}

/* alloc.c - a job without a script that its client keeps alive */
#include "slurm/alloc.h"

#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "libcommon/client/batch.h"
#include "slurm/words.h"

enum { PATIENCE_S = 60 };

/* A pending job, as waits() needs it for its messages. */
struct waiting {
	long long id;
	int64_t immediate_s;
	bool quiet, told;
};

/* The message of give_up(), made in advance because signal handlers may not
 * call printf(). */
static char revoked[80];

__attribute__((format(printf, 1, 2))) static void say(const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "%s: ", command_name);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}

static bool is_salloc(void)
{
	return !strcmp(command_name, "salloc");
}

/* --- before the job starts ------------------------------------------------ */

/* Signal handler: exit. The daemon then loses the connection and cancels the
 * job. */
static void give_up(int signo)
{
	(void)signo;
	if (write(STDERR_FILENO, revoked, strlen(revoked)) < 0)
		_exit(EXIT_FAILURE);
	_exit(EXIT_FAILURE);
}

/* Signal handler for SIGALRM: the time of -I is over, so fail. */
static void lose_patience(int signo)
{
	static const char text[] =
	    ": error: Unable to allocate resources: Connection timed out\n";
	struct iovec parts[] = {
		{ (void *)(uintptr_t)command_name, strlen(command_name) },
		{ (void *)(uintptr_t)text, sizeof(text) - 1 },
	};

	(void)signo;
	if (writev(STDERR_FILENO, parts, 2) < 0)
		_exit(EXIT_FAILURE);
	_exit(EXIT_FAILURE);
}

static void take_signals(long long id, void (*handler)(int))
{
	static const int taken[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };

	snprintf(revoked, sizeof(revoked),
	         "%s: Job allocation %lld has been revoked.\n", command_name,
	         id);
	for (size_t i = 0; i < ARRAY_SIZE(taken); i++)
		signal(taken[i], handler);
}

static int waits(const void *data, size_t len, void *arg)
{
	struct waiting *w = arg;

	(void)data, (void)len;
	if (w->immediate_s == 0 || w->immediate_s == 1) {
		command_error("Unable to allocate resources: Requested nodes "
		              "are busy");
		_exit(EXIT_FAILURE);
	}
	if (w->quiet || w->told)
		return 0;
	w->told = true;
	if (is_salloc())
		say("Pending job allocation %lld", w->id);
	say("job %lld queued and waiting for resources", w->id);
	return 0;
}

static json_t *submit_job(struct held_job *a, struct sbatch *sbatch,
                          struct err *err)
{
	static char *none[] = { NULL };
	struct submit *submit = &sbatch->submit;
	const struct batch_job job = {
		.name = is_salloc() ? "interactive" : "srun",
		.command = submit->wrap,
		.once = true,
		.args = none,
	};
	struct buf script = { 0 };
	json_t *answer;

	submit->spec.requeue = 0;
	submit->spec.output = "/dev/null";
	submit->export_env = "NONE";
	if (sbatch_resolve(sbatch, err) < 0 ||
	    batch_complete(submit, &job, err) < 0 ||
	    sbatch_choose_queue(&a->retry, sbatch, &script, err) < 0)
		return NULL;
	answer = sbatch_send(&a->retry, sbatch, &script, err);
	buf_free(&script);
	return answer;
}

static int begin(struct held_job *a, const struct sbatch *sbatch, bool kept,
                 int64_t immediate_s, struct err *err)
{
	struct waiting w = { a->id, immediate_s, sbatch->submit.quiet, false };

	take_signals(a->id, give_up);
	if (immediate_s != SBATCH_PATIENT) {
		signal(SIGALRM, lose_patience);
		alarm(immediate_s > 1 ? (unsigned)immediate_s : 0);
	}
	if (held_job_wait(a, waits, &w, err) < 0)
		return -1;
	alarm(0);
	if (w.told)
		say("job %lld has been allocated resources", a->id);
	if (is_salloc() && !sbatch->submit.quiet)
		say("Granted job allocation %lld", a->id);
	if (held_job_hold(a, kept, err) < 0)
		return -1;
	take_signals(a->id, SIG_DFL);
	return 0;
}

int alloc_make(struct sbatch *sbatch, bool kept, int64_t immediate_s,
               struct held_job *ret)
{
	struct err err;
	json_t *answer;

	*ret = (struct held_job){ .conn = -1,
		                  .retry = { .patience_s = PATIENCE_S } };
	sbatch->submit.spec.allocation =
	    kept ? ALLOCATION_KEPT : ALLOCATION_HELD;
	ret->retry.client = command_connect(&err);
	answer = ret->retry.client ? submit_job(ret, sbatch, &err) : NULL;
	if (!answer) {
		sbatch_refused(sbatch, &err);
		held_job_free(ret);
		return EXIT_FAILURE;
	}
	ret->id = json_integer_value(
	    json_array_get(json_object_get(answer, "job_ids"), 0));
	json_decref(answer);
	if (begin(ret, sbatch, kept, immediate_s, &err) == 0)
		return EXIT_SUCCESS;
	if (err.code == ESHUTDOWN)
		say("Job allocation %lld has been revoked.", ret->id);
	else
		sbatch_refused(sbatch, &err);
	held_job_free(ret);
	return EXIT_FAILURE;
}

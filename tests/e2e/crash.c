/* crash.c - kill the daemon again and again while it works, then check the
 * results */
#include "tests/e2e/crash.h"

#include <err.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "libcommon/clock.h"
#include "libcommon/mem.h"

enum {
	NWORKERS = 4,
	JOBS_FIRST = 40,  /* submissions allowed before the first kill */
	JOBS_A_KILL = 10, /* further ones after each kill */
	LIVE_MS = 120,    /* longest time from a start until the kill */
	/* percentage of kills before the daemon is ready */
	RECOVER_PERCENT = 35,
	LOOK_EVERY = 5, /* compare states after every fifth restart */
	READY_S = 60,   /* a daemon that takes longer to start hangs */
	DRAIN_S = 120,
	PROBLEMS_SHOWN = 20
};

/* The daemon, started again and again. */
struct victim {
	char **argv;
	pid_t pid;
	double ready_ms; /* average time of recent starts */
};

/* --- problems ---------------------------------------------------------- */

size_t nproblems;
static size_t nreported;
static pthread_mutex_t problem_lock = PTHREAD_MUTEX_INITIALIZER;

void problem(const char *fmt, ...)
{
	char text[400];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	pthread_mutex_lock(&problem_lock);
	if (nproblems++ < PROBLEMS_SHOWN)
		printf("# %s\n", text);
	pthread_mutex_unlock(&problem_lock);
}

void verdict(const char *text)
{
	pthread_mutex_lock(&problem_lock);
	printf("%d %s\n", nproblems > nreported, text);
	fflush(stdout);
	nreported = nproblems;
	pthread_mutex_unlock(&problem_lock);
}

/* --- the daemon ---------------------------------------------------------- */

static void victim_start(struct victim *v)
{
	posix_spawn_file_actions_t files;

	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "log",
	                                 O_WRONLY | O_CREAT | O_APPEND, 0600);
	posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
	errno =
	    posix_spawn(&v->pid, v->argv[0], &files, NULL, v->argv, environ);
	if (errno)
		err(EXIT_FAILURE, "%s", v->argv[0]);
	posix_spawn_file_actions_destroy(&files);
}

static bool is_ready(void)
{
	struct client *client = client_open(NULL, NULL);
	json_t *req = json_pack("{s:s}", "op", "ping"), *answer = NULL;
	bool ready;

	if (client)
		answer = client_call(client, req, NULL, 0, NULL, NULL, NULL);
	ready = json_is_true(json_object_get(answer, "synced"));
	client_close(client);
	json_decref(req);
	json_decref(answer);
	return ready;
}

/* Wait until the daemon is ready; if it does not get ready, end the test. */
static void victim_await(struct victim *v)
{
	double began = clock_fine_ms();

	while (!is_ready()) {
		if (waitpid(v->pid, NULL, WNOHANG) == v->pid)
			errx(EXIT_FAILURE, "the daemon ended by itself");
		if (clock_fine_ms() - began > READY_S * 1e3)
			errx(EXIT_FAILURE, "the daemon does not get ready");
		pause_ms(1);
	}
	v->ready_ms = (v->ready_ms + clock_fine_ms() - began) / 2;
}

static void victim_kill(struct victim *v)
{
	int status;

	kill(v->pid, SIGKILL);
	waitpid(v->pid, &status, 0);
	if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
		errx(EXIT_FAILURE, "the daemon ended by itself (%#x)", status);
}

static void victim_end(struct victim *v)
{
	int status;

	kill(v->pid, SIGTERM);
	waitpid(v->pid, &status, 0);
	if (status)
		problem("on SIGTERM the daemon ends with status %#x", status);
}

/* --- the kills ----------------------------------------------------------- */

static void pause_random(uint64_t *random, double most_ms)
{
	double us = (double)random_below(random, (uint64_t)(most_ms * 1e3) + 1);
	struct timespec ts = { .tv_sec = (time_t)(us / 1e6) };

	ts.tv_nsec = (long)((us - (double)ts.tv_sec * 1e6) * 1e3);
	nanosleep(&ts, NULL);
}

static void allow(struct crash *crash, size_t more)
{
	pthread_mutex_lock(&crash->lock);
	crash->allowed += more;
	pthread_mutex_unlock(&crash->lock);
}

static void kill_often(struct crash *crash, struct victim *v, size_t kills)
{
	uint64_t random = crash->seed;
	struct finals *finals = finals_new();
	struct ran *before = NULL;
	size_t nready = 0, nlooks = 0;

	for (size_t i = 0; i < kills; i++) {
		bool recovers =
		    i && random_below(&random, 100) < RECOVER_PERCENT;

		victim_start(v);
		if (recovers) {
			pause_random(&random, v->ready_ms);
		} else {
			victim_await(v);
			if (before && ++nready % LOOK_EVERY == 0) {
				check_restart(crash, before, finals);
				nlooks++;
			}
			pause_random(&random, LIVE_MS);
		}
		victim_kill(v);
		ran_free(before);
		before = ran_read();
		allow(crash, JOBS_A_KILL);
	}
	printf("# %zu kills, %zu of them before it was ready (it takes %.0f "
	       "ms); compared %zu times\n",
	       kills, kills - nready - 1, v->ready_ms, nlooks);
	verdict("after a restart all is as it was");
	ran_free(before);
	finals_free(finals);
}

/* --- the end ------------------------------------------------------------- */

static json_t *active(struct client **client)
{
	json_t *req =
	    json_pack("{s:s, s:b, s:[s, s, s], s:s}", "op", "jobs", "all", true,
	              "fields", "job_id", "state", "reason", "format", "tsv");
	struct buf rows = { 0 };
	struct err why;
	json_t *answer = persist(client, req, NULL, &rows, &why);
	json_t *list = json_array();

	if (!answer)
		errx(EXIT_FAILURE, "%s", why.text);
	for (char *at = rows.data, *end; at && *at; at = end + 1) {
		end = strchr(at, '\n');
		json_array_append_new(list,
		                      json_stringn(at, (size_t)(end - at)));
	}
	json_decref(req);
	json_decref(answer);
	buf_free(&rows);
	return list;
}

/* Wait until all jobs have ended, except those whose reason says that they can
 * never start. Returns false if jobs do not end. */
static bool drain(struct client **client)
{
	double began = clock_fine_ms();
	json_t *left;

	while (json_array_size(left = active(client)) > 0) {
		json_t *ids = json_array(), *row, *req;
		struct err why;
		size_t i;

		json_array_foreach(left, i, row) {
			const char *s = json_string_value(row);

			if (strstr(s, "DependencyNeverSatisfied"))
				json_array_append_new(
				    ids, json_stringn(s, strcspn(s, "\t")));
			else if (clock_fine_ms() - began > DRAIN_S * 1e3)
				problem("does not end: %s", s);
		}
		req = json_pack("{s:s, s:o}", "op", "cancel", "ids", ids);
		json_decref(persist(client, req, NULL, NULL, &why));
		json_decref(req);
		json_decref(left);
		if (clock_fine_ms() - began > DRAIN_S * 1e3)
			return false;
		pause_ms(50);
	}
	json_decref(left);
	return true;
}

/* Pause the entry of recurring work that crash.t has made, so that its jobs
 * end, too. */
static void pause_cron(struct client **client)
{
	const char *id = getenv("CRASH_CRON");
	json_t *req, *answer;
	struct err why;

	if (!id)
		return;
	req = json_pack("{s:s, s:s, s:[s]}", "op", "cron", "action", "pause",
	                "ids", id);
	answer = persist(client, req, NULL, NULL, &why);
	if (!answer)
		problem("cron entry %s: %s", id, why.text);
	json_decref(answer);
	json_decref(req);
}

static void finish(struct crash *crash, struct worker *w, struct victim *v)
{
	struct client *client = NULL;

	victim_start(v);
	victim_await(v);
	pthread_mutex_lock(&crash->lock);
	crash->stop = true;
	pthread_mutex_unlock(&crash->lock);
	for (size_t i = 0; i < NWORKERS; i++)
		pthread_join(w[i].thread, NULL);
	verdict("every request is answered, a repeated one as before");
	pause_cron(&client);
	if (drain(&client))
		check_end(crash);
	verdict("all jobs end");
	client_close(client);
	await_removal(crash);
	victim_end(v);
	check_left(crash);
	check_database(crash);
}

static size_t setting(const char *name, size_t unset)
{
	const char *value = getenv(name);

	return value && *value ? strtoull(value, NULL, 10) : unset;
}

/* crash STATE_DIR DAEMON [ARG]...; writes its files to the current folder. */
int main(int argc, char **argv)
{
	struct crash crash = { .allowed = JOBS_FIRST };
	struct victim victim = { .argv = argv + 2, .ready_ms = 50 };
	struct worker worker[NWORKERS] = { 0 };

	if (argc < 3)
		errx(EXIT_FAILURE, "usage: crash STATE_DIR DAEMON [ARG]...");
	crash.dir = argv[1];
	crash.seed = setting("CRASH_SEED", (size_t)time(NULL));
	pthread_mutex_init(&crash.lock, NULL);
	json_object_seed(1);
	signal(SIGPIPE, SIG_IGN);
	printf("# CRASH_SEED=%llu\n", (unsigned long long)crash.seed);
	for (unsigned i = 0; i < NWORKERS; i++) {
		worker[i] = (struct worker){ .crash = &crash,
			                     .number = i,
			                     .random = crash.seed + i + 1 };
		pthread_create(&worker[i].thread, NULL, worker_main,
		               &worker[i]);
	}
	kill_often(&crash, &victim, setting("CRASH_KILLS", 200));
	finish(&crash, worker, &victim);
	for (size_t i = 0; i < crash.nsubs; i++)
		free(crash.sub[i]);
	free(crash.sub);
	return nproblems ? EXIT_FAILURE : EXIT_SUCCESS;
}

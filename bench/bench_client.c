/*
 * bench_client - measure how fast the daemon accepts, lists and runs jobs
 *
 * Each command measures one thing and prints one number; bench/run calls them.
 * For comparison, it also measures how fast the machine starts processes and
 * how fast its disk takes writes.
 */
#include <err.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "libcommon/buf.h"
#include "libcommon/client/client.h"
#include "libcommon/clock.h"
#include "libcommon/limits.h"
#include "libcommon/mem.h"
#include "libcommon/parse.h"

enum {
	WAITED = 5000,  /* jobs in one wait request */
	IN_FLIGHT = 16, /* requests sent before an answer is read */
	FSYNC_BLOCK = 4096,
	FSYNC_S = 2
};

static const char true_script[] = "#!/bin/true\n";

static double now_s(void)
{
	return clock_fine_ms() / 1e3;
}

static size_t count_arg(const char *s)
{
	char *end;
	unsigned long n = strtoul(s, &end, 10);

	if (!n || *end)
		errx(EXIT_USAGE, "'%s' is no count", s);
	return n;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *value, size_t n)
{
	qsort(value, n, sizeof(*value), by_value);
	return value[n / 2];
}

/* --- processes ----------------------------------------------------------- */

static pid_t start(char **argv)
{
	static posix_spawn_file_actions_t to_null;
	static bool ready;
	pid_t pid;

	if (!ready) {
		posix_spawn_file_actions_init(&to_null);
		posix_spawn_file_actions_addopen(&to_null, STDOUT_FILENO,
		                                 "/dev/null", O_WRONLY, 0);
		ready = true;
	}
	errno = posix_spawnp(&pid, argv[0], &to_null, NULL, argv, environ);
	if (errno)
		err(EXIT_FAILURE, "%s", argv[0]);
	return pid;
}

static void finish(pid_t pid, const char *name)
{
	int status;

	if (waitpid(pid, &status, 0) < 0)
		err(EXIT_FAILURE, "waitpid");
	if (status)
		errx(EXIT_FAILURE, "%s failed", name);
}

static void run(char **argv)
{
	finish(start(argv), argv[0]);
}

/* spawn CLIENTS N COMMAND...: run the command N times, CLIENTS runs at a time,
 * and print how many end per second. */
static void cmd_spawn(char **argv)
{
	size_t clients = count_arg(argv[0]), n = count_arg(argv[1]);
	double began = now_s();
	pid_t *pid = xcalloc(clients, sizeof(*pid));

	for (size_t i = 0; i < clients; i++) {
		pid[i] = fork();
		if (pid[i] < 0)
			err(EXIT_FAILURE, "fork");
		if (pid[i] > 0)
			continue;
		for (size_t j = 0; j < n / clients; j++)
			run(argv + 2);
		_exit(0);
	}
	for (size_t i = 0; i < clients; i++)
		finish(pid[i], argv[2]);
	printf("%.1f\n", (double)(n / clients * clients) / (now_s() - began));
	free(pid);
}

/* time N COMMAND...: print the median duration of N runs, in ms. */
static void cmd_time(char **argv)
{
	size_t n = count_arg(argv[0]);
	double *took = xcalloc(n, sizeof(*took));

	for (size_t i = 0; i < n; i++) {
		double began = now_s();

		run(argv + 1);
		took[i] = (now_s() - began) * 1e3;
	}
	printf("%.1f\n", median(took, n));
	free(took);
}

/* fsync FILE: print how many blocks are appended and synced per second. */
static void cmd_fsync(char **argv)
{
	char block[FSYNC_BLOCK] = "";
	int fd = open(argv[0], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	double began = now_s();
	size_t n = 0;

	for (; now_s() - began < FSYNC_S; n++)
		if (fd < 0 || write(fd, block, sizeof(block)) < 0 ||
		    fdatasync(fd) < 0)
			err(EXIT_FAILURE, "%s", argv[0]);
	printf("%.1f\n", (double)n / (now_s() - began));
	unlink(argv[0]);
	close(fd);
}

/* --- requests ------------------------------------------------------------ */

static struct client *connect_daemon(void)
{
	struct err why;
	struct client *client = client_open(NULL, &why);

	if (!client)
		errx(EXIT_FAILURE, "%s", why.text);
	return client;
}

static json_t *ask(struct client *client, json_t *req)
{
	struct err why;
	json_t *answer = client_call(client, req, NULL, 0, NULL, NULL, &why);

	if (!answer)
		errx(EXIT_FAILURE, "%s", why.text);
	json_decref(req);
	return answer;
}

static char *here(void)
{
	char *dir = getcwd(NULL, 0);

	if (!dir)
		err(EXIT_FAILURE, "the current folder");
	return dir;
}

/* Returns a job that differs from all others, so that it has its own row in the
 * plan and its own texts. */
static json_t *different_spec(size_t i, const char *dir)
{
	char name[32], out[64], args[64];

	snprintf(name, sizeof(name), "step-%zu", i);
	snprintf(out, sizeof(out), "results/%zu/%%j.out", i);
	snprintf(args, sizeof(args), "[\"--seed\",\"%zu\"]", i);
	return json_pack("{s:s, s:s, s:s, s:s, s:I, s:I, s:I}", "name", name,
	                 "output", out, "workdir", dir, "args", args, "cpus",
	                 (json_int_t)1000, "mem", (json_int_t)(10 + i % 100),
	                 "time_limit", (json_int_t)(3600 + i));
}

static json_t *like_spec(const char *dir, int cpus)
{
	return json_pack("{s:s, s:s, s:s, s:i, s:i}", "name", "short", "output",
	                 "/dev/null", "workdir", dir, "cpus", cpus, "mem", 10);
}

/* The arguments of cmd_submit(). */
struct load {
	size_t n, bulk;
	int cpus; /* 0: all different */
	char *dir;
	struct buf raw;
};

static json_t *load_request(const struct load *load, size_t at)
{
	unsigned char random[16];
	char token[33];
	json_t *specs = json_array();

	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		err(EXIT_FAILURE, "getrandom");
	for (size_t i = 0; i < sizeof(random); i++)
		snprintf(token + 2 * i, 3, "%02x", random[i]);
	for (size_t i = 0; i < load->bulk && at + i < load->n; i++)
		json_array_append_new(
		    specs, load->cpus ? like_spec(load->dir, load->cpus)
				      : different_spec(at + i, load->dir));
	return json_pack("{s:s, s:s, s:o, s:I, s:I}", "op", "submit", "token",
	                 token, "specs", specs, "script_len",
	                 (json_int_t)load->raw.len, "env_len", (json_int_t)0);
}

static void take_ids(struct client *client, json_t *ids)
{
	struct err why;
	json_t *answer = client_recv(client, NULL, NULL, &why);

	if (!answer)
		errx(EXIT_FAILURE, "%s", why.text);
	json_array_extend(ids, json_object_get(answer, "job_ids"));
	json_decref(answer);
}

/* Submit all jobs over one connection, with up to in_flight requests
 * unanswered. Returns their ids. */
static json_t *submit(struct client *client, const struct load *load,
                      size_t in_flight)
{
	json_t *ids = json_array();
	size_t waiting = 0;
	struct err why;

	for (size_t at = 0; at < load->n; at += load->bulk) {
		json_t *req = load_request(load, at);

		if (waiting == in_flight) {
			take_ids(client, ids);
			waiting--;
		}
		if (client_send(client, req, load->raw.data, load->raw.len,
		                &why) < 0)
			errx(EXIT_FAILURE, "%s", why.text);
		waiting++;
		json_decref(req);
	}
	for (; waiting; waiting--)
		take_ids(client, ids);
	return ids;
}

static void wait_for(struct client *client, json_t *ids)
{
	size_t n = json_array_size(ids);

	for (size_t at = 0; at < n; at += WAITED) {
		json_t *some = json_array();

		for (size_t i = at; i < n && i < at + WAITED; i++) {
			char id[24];

			snprintf(id, sizeof(id), "%lld",
			         json_integer_value(json_array_get(ids, i)));
			json_array_append_new(some, json_string(id));
		}
		json_decref(ask(client, json_pack("{s:s, s:o}", "op", "wait",
		                                  "ids", some)));
	}
}

static struct load load_of(char **argv)
{
	struct load load = { .n = count_arg(argv[0]),
		             .bulk = count_arg(argv[1]),
		             .dir = here() };

	if (strcmp(argv[2], "different"))
		load.cpus = (int)count_arg(argv[2]);
	buf_puts(&load.raw, true_script);
	return load;
}

static void load_free(struct load *load)
{
	free(load->dir);
	buf_free(&load->raw);
}

/* submit N BULK MILLICPUS|different: print how many jobs are submitted per
 * second, BULK in a request, each request sent after the answer to the one
 * before. */
static void cmd_submit(char **argv)
{
	struct load load = load_of(argv);
	struct client *client = connect_daemon();
	double began = now_s();
	json_t *ids = submit(client, &load, 1);

	printf("%.1f\n", (double)json_array_size(ids) / (now_s() - began));
	json_decref(ids);
	client_close(client);
	load_free(&load);
}

/* short N BULK MILLICPUS: print how many jobs are done per second, from the
 * first submission to the end of the last job. */
static void cmd_short(char **argv)
{
	struct load load = load_of(argv);
	struct client *client = connect_daemon();
	double began = now_s();
	json_t *ids = submit(client, &load, IN_FLIGHT);

	wait_for(client, ids);
	printf("%.1f\n", (double)load.n / (now_s() - began));
	json_decref(ids);
	client_close(client);
	load_free(&load);
}

/* ping N: send N requests, a millisecond apart, and print the longest time
 * until an answer, in ms. */
static void cmd_ping(char **argv)
{
	struct client *client = connect_daemon();
	double slowest = 0;

	for (size_t i = count_arg(argv[0]); i > 0; i--) {
		double began = now_s(), took;

		json_decref(ask(client, json_pack("{s:s}", "op", "ping")));
		took = (now_s() - began) * 1e3;
		if (took > slowest)
			slowest = took;
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
	printf("%.1f\n", slowest);
	client_close(client);
}

/* memory [peak]: print the daemon's resident memory, or its peak, in KiB. */
static void cmd_memory(char **argv)
{
	const char *key = argv[0] ? "VmHWM:" : "VmRSS:";
	struct client *client = connect_daemon();
	json_t *answer = ask(client, json_pack("{s:s}", "op", "ping"));
	char path[64], line[256];
	FILE *status;

	snprintf(path, sizeof(path), "/proc/%lld/status",
	         json_integer_value(json_object_get(answer, "pid")));
	status = fopen(path, "re");
	if (!status)
		err(EXIT_FAILURE, "%s", path);
	while (fgets(line, sizeof(line), status))
		if (!strncmp(line, key, strlen(key)))
			printf("%ld\n", strtol(line + strlen(key), NULL, 10));
	fclose(status);
	json_decref(answer);
	client_close(client);
}

/* --- latency ------------------------------------------------------------- */

/* stamp FIFO: write the time to the FIFO. The measured jobs run this as soon as
 * they have started. */
static void cmd_stamp(char **argv)
{
	int fd = open(argv[0], O_WRONLY | O_CLOEXEC);
	double now = now_s();

	if (fd < 0 || write(fd, &now, sizeof(now)) != sizeof(now))
		err(EXIT_FAILURE, "%s", argv[0]);
	close(fd);
}

/* latency N AISUB...: print two medians in ms: from the start of aisub to that
 * of the job's process, and from there to the end of aisub --wait. */
static void cmd_latency(char **argv)
{
	size_t n = count_arg(argv[0]);
	double *begin = xcalloc(n, sizeof(*begin));
	double *end = xcalloc(n, sizeof(*end));
	char *dir = here(), *fifo = xasprintf("%s/fifo", dir);
	int fd;

	if (mkfifo(fifo, 0600) < 0)
		err(EXIT_FAILURE, "%s", fifo);
	/* Also open the FIFO for writing: else reads would return end of file
	 * between two jobs. */
	fd = open(fifo, O_RDWR | O_CLOEXEC);
	for (size_t i = 0; i < n; i++) {
		double began = now_s(), ran;
		pid_t pid = start(argv + 1);

		if (read(fd, &ran, sizeof(ran)) != sizeof(ran))
			err(EXIT_FAILURE, "%s", fifo);
		finish(pid, argv[1]);
		begin[i] = (ran - began) * 1e3;
		end[i] = (now_s() - ran) * 1e3;
	}
	printf("%.2f %.2f\n", median(begin, n), median(end, n));
	unlink(fifo);
	close(fd);
	free(fifo);
	free(dir);
	free(begin);
	free(end);
}

static const struct bench_command {
	const char *name, *usage;
	int least; /* number of arguments required */
	void (*fn)(char **argv);
} commands[] = {
	{ "spawn", "CLIENTS N COMMAND...", 3, cmd_spawn },
	{ "time", "N COMMAND...", 2, cmd_time },
	{ "fsync", "FILE", 1, cmd_fsync },
	{ "submit", "N BULK MILLICPUS|different", 3, cmd_submit },
	{ "short", "N BULK MILLICPUS", 3, cmd_short },
	{ "ping", "N", 1, cmd_ping },
	{ "memory", "[peak]", 0, cmd_memory },
	{ "latency", "N AISUB...", 2, cmd_latency },
	{ "stamp", "FIFO", 1, cmd_stamp },
};

int main(int argc, char **argv)
{
	for (size_t i = 0; i < ARRAY_SIZE(commands) && argc > 1; i++)
		if (!strcmp(argv[1], commands[i].name) &&
		    argc - 2 >= commands[i].least) {
			commands[i].fn(argv + 2);
			return 0;
		}
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		fprintf(stderr, "usage: bench_client %s %s\n", commands[i].name,
		        commands[i].usage);
	return EXIT_USAGE;
}

/*
 * hostile.c - be a hostile user, or a harmless one, for hostile.t
 *
 *	hostile attack SECONDS PORT	as an ordinary user: do all that may
 *					delay others
 *	hostile swell			submit a job with a very large
 *					environment, and print its id
 *	hostile use SECONDS		submit, list, cancel; print how often,
 *					and the longest times in ms: of a
 *					request, a round trip to munged, an
 *					fsync, and 20 ms of CPU time
 *
 * Both use the daemon at $AISCHED_SOCKET; attackers also connect to its TCP
 * port PORT.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "libcommon/auth.h"
#include "libcommon/buf.h"
#include "libcommon/client/client.h"
#include "libcommon/clock.h"
#include "libcommon/limits.h"
#include "libcommon/mem.h"
#include "libcommon/wire.h"

enum { MANY = 300 }; /* connections, or jobs of a kind */

static int64_t end_ms;
static in_port_t port;
static struct client *client;

static bool is_over(void)
{
	return clock_ms() >= end_ms;
}

/* --- requests ------------------------------------------------------------ */

/* Send a request; reconnects if the connection was lost. Returns the answer,
 * NULL if it is refused. */
static json_t *ask(json_t *req, const char *raw)
{
	json_t *answer = NULL;
	struct err why = { 0 };

	if (!client)
		client = client_open(NULL, &why);
	if (client)
		answer = client_call(client, req, raw, raw ? strlen(raw) : 0,
		                     NULL, NULL, &why);
	if (!answer && (why.code == ECONNRESET || why.code == EPROTO ||
	                why.code == EBUSY || why.code == EMSGSIZE)) {
		client_close(client);
		client = NULL;
	}
	json_decref(req);
	return answer;
}

static void try(json_t *req)
{
	json_decref(ask(req, NULL));
}

static json_t *spec(const char *key, const char *value)
{
	return json_pack("{s:s, s:s, s:s, s:i, s:i, s:i, s:s*}", "name",
	                 "hostile", "output", "/dev/null", "workdir", "/",
	                 "cpus", 1000, "mem", 1, "hold", 1, key, value);
}

/* Submit jobs. Returns the id of the first, or 0 if they are refused. */
static json_int_t submit(json_t *specs)
{
	static const char script[] = "#!/bin/sh\n";
	unsigned char random[16];
	char token[33];
	json_t *answer;
	json_int_t id;

	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		err(EXIT_FAILURE, "getrandom");
	for (size_t i = 0; i < sizeof(random); i++)
		snprintf(token + 2 * i, 3, "%02x", random[i]);
	answer = ask(json_pack("{s:s, s:s, s:o, s:i, s:i}", "op", "submit",
	                       "token", token, "specs", specs, "script_len",
	                       (int)strlen(script), "env_len", 0),
	             script);
	id = json_integer_value(
	    json_array_get(json_object_get(answer, "job_ids"), 0));
	json_decref(answer);
	return id;
}

static json_t *names(size_t n)
{
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(list, json_sprintf("n%zu", i));
	return list;
}

/* Returns n texts that each name different tasks of one array. */
static json_t *tasks(size_t n, json_int_t array)
{
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(list, json_sprintf("%lld_[%zu-%zu:2]",
		                                         (long long)array, i,
		                                         i + 900000));
	return list;
}

/* --- attacks ------------------------------------------------------------- */

static void long_filters(void)
{
	try(json_pack("{s:s, s:b, s:b, s:o, s:o}", "op", "jobs", "all", 1,
	              "history", 1, "names", names(LIMIT_IDS), "users",
	              names(LIMIT_IDS)));
	try(json_pack("{s:s, s:o}", "op", "cancel", "names", names(LIMIT_IDS)));
}

/* Name tasks of the attacker's own array in many ways, and ask about all jobs
 * of others. */
static void repeated_ids(void)
{
	static json_int_t array;

	if (!array)
		array = submit(json_pack("[o]", spec("array", "0-49999")));
	try(json_pack("{s:s, s:o}", "op", "jobs", "ids", tasks(2000, array)));
	try(json_pack("{s:s, s:s, s:o}", "op", "control", "action", "hold",
	              "ids", tasks(2000, 1)));
	try(json_pack("{s:s, s:o}", "op", "wait", "ids",
	              tasks(LIMIT_IDS, 123456789)));
}

static void wide_arrays(void)
{
	json_t *specs = json_array();

	for (int i = 0; i < 5000; i++)
		json_array_append_new(specs,
		                      spec("array", "0-900000:2,0-900000:3%1"));
	submit(specs);
}

static void dependencies(void)
{
	struct buf text = { 0 };
	json_t *specs = json_array();
	json_int_t first;

	for (int i = 0; i < MANY; i++)
		json_array_append_new(specs, spec("comment", "first"));
	first = submit(specs);
	if (!first)
		return;
	buf_puts(&text, "afterany");
	for (int i = 0; i < MANY; i++)
		buf_printf(&text, ":%lld", (long long)first + i);
	specs = json_array();
	for (int i = 0; i < MANY; i++)
		json_array_append_new(specs, spec("dependency", text.data));
	submit(specs);
	buf_free(&text);
	try(json_pack("{s:s, s:[s]}", "op", "cancel", "names", "hostile"));
}

/* Send empty lists in a list, the JSON that takes most memory for its
 * length. */
static void large_json(void)
{
	json_t *list = json_array();

	for (int i = 0; i < 500000; i++)
		json_array_append_new(list, json_array());
	try(json_pack("{s:s, s:o}", "op", "wait", "ids", list));
}

static int dial(bool tcp)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
		                  .sin_port = htons(port),
		                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	int fd = socket(tcp ? AF_INET : AF_UNIX,
	                SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	snprintf(un.sun_path, sizeof(un.sun_path), "%s",
	         getenv("AISCHED_SOCKET"));
	if (connect(fd, tcp ? (void *)&in : (void *)&un,
	            tcp ? sizeof(in) : sizeof(un)) < 0 &&
	    errno != EINPROGRESS) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Open connections that send nothing, or begin a long frame without a
 * credential. */
static void strangers(void)
{
	const struct frame_head head = { FRAME_REQUEST, 1, 7, 0, LIMIT_RAW };
	unsigned char bytes[WIRE_HEAD];
	int fd[MANY];

	frame_head_put(bytes, &head);
	for (int i = 0; i < MANY; i++) {
		fd[i] = dial(i % 4 < 2);
		if (fd[i] >= 0 && i % 2)
			send(fd[i], bytes, sizeof(bytes), MSG_NOSIGNAL);
	}
	for (int i = 0; i < MANY; i++)
		if (fd[i] >= 0)
			close(fd[i]);
}

static void many_waits(void)
{
	static struct client *held[MANY];
	json_int_t job = submit(json_pack("[o]", spec("comment", "waited")));
	char *id = xasprintf("%lld", (long long)job);
	json_t *req = json_pack("{s:s, s:[s]}", "op", "wait", "ids", id);
	struct err why;

	for (int i = 0; i < MANY && !is_over(); i++) {
		client_close(held[i]);
		held[i] = client_open(NULL, &why);
		if (held[i])
			client_send(held[i], req, NULL, 0, &why);
	}
	json_decref(req);
	free(id);
}

/* The attacks of each group run in one process, in turn. */
static void (*const attacks[][5])(void) = {
	{ long_filters, repeated_ids, large_json, wide_arrays },
	{ dependencies },
	{ many_waits, strangers },
};

static void attack(size_t group)
{
	while (!is_over())
		for (size_t i = 0; attacks[group][i] && !is_over(); i++)
			attacks[group][i]();
}

/* --- the harmless user --------------------------------------------------- */

struct slowest {
	int64_t request, munge, fsync, work;
};

static void note(int64_t *slowest, int64_t began)
{
	int64_t took = clock_ms() - began;

	if (took > *slowest)
		*slowest = took;
}

static json_t *timed(json_t *req, struct slowest *slowest)
{
	int64_t began = clock_ms();
	json_t *answer;

	client_close(client); /* reconnect, as each run of a tool does */
	client = NULL;
	answer = ask(req, NULL);
	if (!answer)
		errx(EXIT_FAILURE, "a request was refused");
	note(&slowest->request, began);
	return answer;
}

/* Measure a round trip to munged, without which no request is answered. */
static void time_munge(struct slowest *slowest)
{
	unsigned char digest[WIRE_DIGEST] = { 0 };
	int64_t began = clock_ms();
	struct err why;
	uid_t uid;
	gid_t gid;
	char *cred = auth_encode(NULL, digest, &why);

	if (!cred || auth_decode(NULL, cred, &uid, &gid, digest, &why) < 0)
		errx(EXIT_FAILURE, "%s", why.text);
	free(cred);
	note(&slowest->munge, began);
}

static void time_fsync(struct slowest *slowest)
{
	static const char page[4096];
	int fd =
	    open("written", O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
	int64_t began = clock_ms();

	if (write(fd, page, sizeof(page)) < 0 || fsync(fd) < 0)
		err(EXIT_FAILURE, "fsync");
	note(&slowest->fsync, began);
	close(fd);
}

static void time_work(struct slowest *slowest)
{
	const clock_t until = clock() + CLOCKS_PER_SEC / 50;
	int64_t began = clock_ms();

	while (clock() < until)
		;
	note(&slowest->work, began);
}

/* Start a process that measures the machine at the same time, so that delays of
 * the machine can be told from those of the daemon. Returns its pid; it runs
 * until it is killed. */
static pid_t measure(struct slowest *shared)
{
	pid_t pid = fork();

	if (pid < 0)
		err(EXIT_FAILURE, "fork");
	if (pid > 0)
		return pid;
	while (!is_over()) {
		time_munge(shared);
		time_fsync(shared);
		time_work(shared);
		poll(NULL, 0, 20); /* leaves most of the CPU to the others */
	}
	_exit(EXIT_SUCCESS);
}

static void use(void)
{
	struct slowest slowest = { 0 };
	struct slowest *machine =
	    mmap(NULL, sizeof(*machine), PROT_READ | PROT_WRITE,
	         MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int64_t began;
	pid_t meter;
	int status;
	long n = 0;

	if (machine == MAP_FAILED)
		err(EXIT_FAILURE, "mmap");
	meter = measure(machine);
	for (; !is_over(); n++) {
		json_int_t id;

		began = clock_ms();
		id = submit(json_pack("[o]", spec("comment", "good")));
		if (!id)
			errx(EXIT_FAILURE, "a job was refused");
		note(&slowest.request, began);
		json_decref(timed(json_pack("{s:s}", "op", "jobs"), &slowest));
		json_decref(
		    timed(json_pack("{s:s, s:[o]}", "op", "cancel", "ids",
		                    json_sprintf("%lld", (long long)id)),
		          &slowest));
	}
	if (waitpid(meter, &status, 0) != meter || status)
		errx(EXIT_FAILURE, "the machine was not measured");
	printf("%ld %lld %lld %lld %lld\n", n, (long long)slowest.request,
	       (long long)machine->munge, (long long)machine->fsync,
	       (long long)machine->work);
}

/* Submit a job with 150,000 variables. */
static void swell(void)
{
	static const char script[] = "#!/bin/sh\nexec sleep 1000\n";
	struct buf raw = { 0 };
	json_t *request, *answer, *job = spec("comment", "swell");
	struct err why = { 0 };

	json_object_set_new(job, "hold", json_integer(0));
	json_object_set_new(job, "cpus", json_integer(50));
	buf_puts(&raw, script);
	for (int i = 0; i < 150000; i++)
		buf_printf(&raw, "A%d=x%c", i, '\0');
	request = json_pack("{s:s, s:s, s:[o], s:i, s:I}", "op", "submit",
	                    "token", "00000000000000000000000000000001",
	                    "specs", job, "script_len", (int)strlen(script),
	                    "env_len", (json_int_t)(raw.len - strlen(script)));
	client = client_open(NULL, &why);
	answer = client ? client_call(client, request, raw.data, raw.len, NULL,
	                              NULL, &why)
	                : NULL;
	if (!answer)
		errx(EXIT_FAILURE, "%s", why.text);
	printf("%lld\n", (long long)json_integer_value(json_array_get(
			     json_object_get(answer, "job_ids"), 0)));
	json_decref(answer);
	json_decref(request);
	buf_free(&raw);
	client_close(client);
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "swell")) {
		swell();
		return EXIT_SUCCESS;
	}
	if (argc != 3 && argc != 4)
		errx(EXIT_USAGE, "attack or use, and seconds, are expected");
	end_ms = clock_ms() + 1000 * strtol(argv[2], NULL, 10);
	if (!strcmp(argv[1], "use")) {
		use();
		return EXIT_SUCCESS;
	}
	port = (in_port_t)strtol(argv[argc - 1], NULL, 10);
	for (size_t i = 0; i < ARRAY_SIZE(attacks); i++)
		if (fork() == 0) {
			alarm((unsigned)strtol(argv[2], NULL, 10));
			attack(i);
			_exit(EXIT_SUCCESS);
		}
	while (wait(NULL) > 0)
		;
	return EXIT_SUCCESS;
}

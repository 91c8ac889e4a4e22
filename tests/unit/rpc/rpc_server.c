/* rpc_server.c - an RPC server for tests, and requests to it */
#include "tests/unit/rpc/rpc_server.h"

#include <event2/event.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "libcommon/limits.h"
#include "libcommon/mem.h"
#include "libcommon/steps.h"

struct munged munged;
struct server server = { .pause = PTHREAD_MUTEX_INITIALIZER };

static struct ask *held; /* the newest wait request */
static pthread_t thread;
static int wake_pipe[2];
static struct event *woken;
static bool quit;
static int turn; /* number of this turn of the server's loop */

const struct rpc_limits patient = {
	.auth_ms = 60000,
	.idle_ms = 60000,
	.frame_ms = 60000,
	.linger_ms = 60000,
	.body_bytes = LIMIT_JSON + LIMIT_RAW,
	.body_user = LIMIT_JSON + LIMIT_RAW,
};

/* A long listing, sent in pieces as the client reads it. */
struct test_listing {
	int64_t left, n;
};

static void list_more(struct ask *ask, void *arg)
{
	struct test_listing *listing = arg;
	static char piece[100000];
	size_t n = sizeof(piece);

	if (listing->left == 0) {
		rpc_reply(ask, json_pack("{s:I}", "rows", listing->n));
		free(listing);
		return;
	}
	if ((int64_t)n > listing->left)
		n = (size_t)listing->left;
	for (size_t i = 0; i < n; i++)
		piece[i] = (char)(listing->n++ % 251);
	listing->left -= (int64_t)n;
	rpc_part(ask, piece, n);
	rpc_when_drained(ask, list_more, listing);
}

unsigned sum(const void *data, size_t len)
{
	const unsigned char *p = data;
	unsigned total = 0;

	for (size_t i = 0; i < len; i++)
		total = total * 31 + p[i];
	return total;
}

static void handle(struct ask *ask, const struct request_in *in, void *arg)
{
	struct test_listing *listing;
	struct err err;

	(void)arg;
	server.asked++;
	switch (in->op) {
	case OP_ping:
		if (json_object_get(in->body, "release")) {
			rpc_reply(held, json_pack("{s:s}", "was", "held"));
			server.waiting--;
		}
		rpc_reply(ask, json_pack("{s:b}", "known", in->peer->known));
		break;
	case OP_submit:
		rpc_reply(ask,
		          json_pack("{s:s s:i s:i s:s s:I s:i s:O}", "user",
		                    in->peer->user, "uid", (int)in->peer->uid,
		                    "ngroups", (int)in->peer->ngroups, "group",
		                    in->peer->group_name[0], "sum",
		                    (json_int_t)sum(in->raw, in->raw_len),
		                    "turn", turn, "body", in->body));
		break;
	case OP_jobs:
		listing = xcalloc(1, sizeof(*listing));
		listing->left =
		    json_integer_value(json_object_get(in->body, "bytes"));
		list_more(ask, listing);
		break;
	case OP_wait:
		held = ask;
		server.waiting++;
		break;
	case OP_queues:
		pthread_mutex_lock(&server.pause);
		pthread_mutex_unlock(&server.pause);
		rpc_reply(ask, json_object());
		break;
	case OP_status:
		rpc_reply(ask, json_pack("{s:i}", "connections",
		                         (int)rpc_connections(server.rpc)));
		break;
	default:
		err_set(&err, EPERM, "'%s' is not for you\n", op_name(in->op));
		rpc_refuse(ask, &err);
	}
}

static void forget(struct ask *ask, void *arg)
{
	(void)ask;
	(void)arg;
	server.waiting--;
	server.gone++;
}

static bool is_admin(const struct peer *peer, void *arg)
{
	(void)peer;
	(void)arg;
	return server.admins;
}

static void on_woken(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
	quit = true;
}

static void *serve(void *arg)
{
	for (quit = false; !quit; turn++) {
		event_base_loop(arg, EVLOOP_ONCE);
		steps_begin_turn();
	}
	while (!rpc_stop(server.rpc))
		event_base_loop(arg, EVLOOP_ONCE);
	return NULL;
}

char *free_port(void)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	socklen_t len = sizeof(addr);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&addr, len), 0);
	getsockname(fd, (struct sockaddr *)&addr, &len);
	close(fd);
	return xasprintf("tcp://127.0.0.1:%d", ntohs(addr.sin_port));
}

struct rpc *listen_at(const char *const *address, size_t n, struct err *err)
{
	struct conf conf = {
		.cluster = "demo",
		.listen = { n, address },
		.munge_socket = munged.socket,
	};

	const struct rpc_calls calls = { .handler = handle,
		                         .gone = forget,
		                         .is_admin = is_admin };

	return rpc_new(server.base, &conf, &calls, err);
}

void server_start(const struct rpc_limits *limits)
{
	const char *address[2];
	struct err err;

	server.path = xasprintf("%s/run/aischedd.sock", munged.dir);
	server.tcp = free_port();
	address[0] = server.path;
	address[1] = server.tcp;
	server.base = event_base_new();
	server.rpc = listen_at(address, 2, &err);
	ck_assert_msg(server.rpc != NULL, "%s", err.text);
	rpc_set_limits(server.rpc, limits);
	ck_assert_int_eq(pipe2(wake_pipe, O_CLOEXEC), 0);
	woken = event_new(server.base, wake_pipe[0], EV_READ, on_woken, NULL);
	event_add(woken, NULL);
	pthread_create(&thread, NULL, serve, server.base);
}

/* Stop the server, which first sends the answers that the test has given it. */
void server_stop(void)
{
	ck_assert_int_eq(write(wake_pipe[1], "", 1), 1);
	pthread_join(thread, NULL);
	rpc_free(server.rpc);
	event_free(woken);
	event_base_free(server.base);
	close(wake_pipe[0]);
	close(wake_pipe[1]);
	ck_assert_int_eq(access(server.path, F_OK), -1);
	free(server.path);
	free(server.tcp);
}

void server_restart(const struct rpc_limits *limits)
{
	server_stop();
	server_start(limits);
}

void server_set_up(void)
{
	munged_start(&munged);
	server_start(&patient);
}

void server_tear_down(void)
{
	server_stop();
	munged_stop(&munged);
}

void wait_until(const atomic_int *what, int n)
{
	for (int tries = 0; *what != n; tries++) {
		ck_assert_msg(tries < 60000, "got %d, want %d", *what, n);
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
}

void allow_files(rlim_t n)
{
	struct rlimit most;

	getrlimit(RLIMIT_NOFILE, &most);
	ck_assert_uint_ge(most.rlim_max, n);
	most.rlim_cur = n;
	setrlimit(RLIMIT_NOFILE, &most);
}

struct client *open_client(const char *address)
{
	struct err err;
	struct client *client = client_open(address, &err);

	ck_assert_msg(client != NULL, "%s", err.text);
	return client;
}

json_t *ask(struct client *client, const char *op)
{
	json_t *req = json_pack("{s:s}", "op", op), *answer;
	struct err err;

	answer = client_call(client, req, NULL, 0, NULL, NULL, &err);
	json_decref(req);
	ck_assert_msg(answer != NULL, "%s", err.text);
	return answer;
}

struct err refused(struct client *client, const char *op)
{
	json_t *req = json_pack("{s:s}", "op", op), *answer;
	struct err err = { 0 };

	answer = client_call(client, req, NULL, 0, NULL, NULL, &err);
	json_decref(req);
	ck_assert_ptr_null(answer);
	return err;
}

int64_t number(json_t *answer, const char *key)
{
	int64_t n = json_integer_value(json_object_get(answer, key));

	json_decref(answer);
	return n;
}

void ping_works(void)
{
	struct client *client = open_client(server.path);
	json_t *answer = ask(client, "ping");

	ck_assert(json_is_false(json_object_get(answer, "known")));
	json_decref(answer);
	client_close(client);
}

void release_held(void)
{
	struct client *client = open_client(server.path);
	json_t *req = json_pack("{s:s, s:b}", "op", "ping", "release", 1);
	struct err err;

	json_decref(client_call(client, req, NULL, 0, NULL, NULL, &err));
	json_decref(req);
	client_close(client);
}

void as_uid(uid_t uid)
{
	if (getuid() != 0)
		return;
	chmod(munged.dir, 0755);
	ck_assert_int_eq(seteuid(0), 0);
	ck_assert_int_eq(seteuid(uid), 0);
}

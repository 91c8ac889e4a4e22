/*
 * rpc_server.h - an RPC server for tests, and requests to it
 *
 * The server runs in a thread of the test's process, with its own munged. It
 * answers ping, submit (with the user and what was received), jobs (with a
 * listing of "bytes" bytes), wait (only after release_held()), queues (when the
 * test unlocks `pause`) and status, and refuses everything else.
 */
#ifndef TESTS_UNIT_RPC_RPC_SERVER_H
#define TESTS_UNIT_RPC_RPC_SERVER_H

#include <jansson.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/resource.h>

#include "aischedd/rpc/rpc.h"
#include "libcommon/buf.h"
#include "libcommon/client/client.h"
#include "tests/unit/check.h"
#include "tests/unit/rpc/munged.h"

extern struct munged munged;

extern struct server {
	char *path, *tcp; /* its addresses */
	struct event_base *base;
	struct rpc *rpc;
	/* requests received; requests whose client was reported as gone */
	atomic_int asked, gone;
	atomic_int waiting; /* wait requests that are not answered yet */
	/* locked by the test: the server stops in a queues request */
	pthread_mutex_t pause;
	/* treat clients that connect from now on as admins */
	atomic_bool admins;
} server;

/* Limits without timeouts. */
extern const struct rpc_limits patient;

/* Checked fixtures for Check: they run in the process of each test. */
void server_set_up(void);
void server_tear_down(void);

void server_start(const struct rpc_limits *limits);
void server_stop(void);
void server_restart(const struct rpc_limits *limits);

/* Returns another server with the same handlers, whose event loop is not
 * run. */
struct rpc *listen_at(const char *const *address, size_t n, struct err *err);
char *free_port(void); /* a port that was free just now */

/* Wait until *what is n; gives up after some seconds. */
void wait_until(const atomic_int *what, int n);
void allow_files(rlim_t n);

/* Each fails the test if the connection fails. ask() fails it unless the
 * request succeeds; refused() fails it unless the request is refused, and
 * returns the error. */
struct client *open_client(const char *address);
json_t *ask(struct client *client, const char *op);
struct err refused(struct client *client, const char *op);

int64_t number(json_t *answer, const char *key); /* takes the answer */
unsigned sum(const void *data, size_t len);
void ping_works(void);
void release_held(void); /* answer the newest wait */

/* Become this user for good if the test runs as root. */
void as_uid(uid_t uid);

#endif

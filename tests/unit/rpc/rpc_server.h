/*
 * rpc_server.h - a server for tests, and their requests
 *
 * The server runs in a thread of the test's process, with its own munged. It
 * answers ping, submit (who asks and what came), jobs ("bytes" of a listing),
 * wait (only after release_held()) and status, and refuses everything else.
 */
#ifndef TESTS_UNIT_RPC_RPC_SERVER_H
#define TESTS_UNIT_RPC_RPC_SERVER_H

#include <jansson.h>
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
	atomic_int asked, gone; /* requests received; asks reported as gone */
	atomic_int waiting;     /* wait requests held */
	atomic_bool admins;     /* peers that connect from now on are admins */
} server;

/* Limits without deadlines. */
extern const struct rpc_limits patient;

/* Checked fixtures */
void server_set_up(void);
void server_tear_down(void);

void server_start(const struct rpc_limits *limits);
void server_stop(void);
void server_restart(const struct rpc_limits *limits);

/* Another server of the same kind, which is not running. */
struct rpc *listen_at(const char *const *address, size_t n, struct err *err);
char *free_port(void); /* "tcp://127.0.0.1:N", free a moment ago */

/* Wait until *what is n; some seconds at most. */
void wait_until(const atomic_int *what, int n);
void allow_files(rlim_t n);

/* The connection must succeed; the answer must be good, or a refusal. */
struct client *open_client(const char *address);
json_t *ask(struct client *client, const char *op);
struct err refused(struct client *client, const char *op);

int64_t number(json_t *answer, const char *key); /* takes the answer */
unsigned sum(const void *data, size_t len);
void ping_works(void);
void release_held(void); /* answer the newest wait */

/* Change to this user for good, if root runs the test. */
void as_uid(uid_t uid);

#endif

/*
 * world.h - a client and its API server on one loop
 */
#ifndef TESTS_UNIT_RUN_KUBE_OBJECT_WORLD_H
#define TESTS_UNIT_RUN_KUBE_OBJECT_WORLD_H

#include "aischedd/run/kube/client/http.h"
#include "tests/unit/run/kube/client/server.h"

struct kube_world {
	struct event_base *base;
	struct kube_server *server;
	struct kube_http *http;
	struct kube_limits limits; /* short times; change before world_http() */
	char folder[32], conf[48];
	struct err trouble; /* code 0: none now */
	unsigned ntroubles; /* how often trouble was reported */
	bool late;
};

void world_begin(struct kube_world *w, bool tls);
void world_end(struct kube_world *w);

/* Write the kubeconfig with more YAML of the cluster and the user. */
void world_conf(struct kube_world *w, const char *cluster, const char *user);
void world_http(struct kube_world *w); /* makes the client */

/* Run the loop until *done; fails the test if that takes long. */
void world_run(struct kube_world *w, const bool *done);
void world_wait(struct kube_world *w, int64_t ms);

/* Write a file in the world's folder. */
void world_file(struct kube_world *w, const char *name, const char *text);

struct result {
	struct kube_call *call;
	bool done;
	int code;
	char reason[48];
	struct err err; /* code 0: success */
	json_t *body;   /* result_clear() */
	int order;      /* 1: done first */
};

/* Like kube_http_send(), with done and arg for the result. */
void result_send(struct kube_world *w, struct result *ret,
                 struct kube_request request);
/* GET path, and wait for the answer. */
void result_get(struct kube_world *w, struct result *ret, const char *path);
void result_clear(struct result *r);

#endif

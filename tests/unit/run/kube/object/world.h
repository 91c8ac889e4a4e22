/*
 * world.h - a Kubernetes client and a test server on one event loop
 */
#ifndef TESTS_UNIT_RUN_KUBE_OBJECT_WORLD_H
#define TESTS_UNIT_RUN_KUBE_OBJECT_WORLD_H

#include "aischedd/run/kube/client/http.h"
#include "tests/unit/run/kube/client/server.h"

struct kube_world {
	struct event_base *base;
	struct kube_server *server;
	struct kube_http *http;
	/* short times; may be changed before world_http() */
	struct kube_limits limits;
	char folder[32], conf[48];
	/* the current trouble of the server; code 0: none */
	struct err trouble;
	unsigned ntroubles; /* how often trouble was reported */
	bool late;
};

void world_begin(struct kube_world *w, bool tls);
void world_end(struct kube_world *w);

/* Write the kubeconfig, with this YAML added to its cluster and user. */
void world_conf(struct kube_world *w, const char *cluster, const char *user);
void world_http(struct kube_world *w); /* make the client */

/* Run the loop until *done is true; fails the test if that takes long. */
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
	json_t *body;   /* freed by result_clear() */
	int order;      /* order in which calls were done: 1 is the first */
};

/* Call kube_http_send() so that its result goes to ret. */
void result_send(struct kube_world *w, struct result *ret,
                 struct kube_request request);
/* GET path, and wait for the answer. */
void result_get(struct kube_world *w, struct result *ret, const char *path);
void result_clear(struct result *r);

#endif

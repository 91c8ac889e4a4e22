/* held_job.c - a job without a script, held by its client */
#include "libcommon/client/held_job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "libcommon/buf.h"
#include "libcommon/client/step_call.h"
#include "libcommon/clock.h"
#include "libcommon/mem.h"

enum { PATIENCE_S = 60, END_PATIENCE_S = 5, PAUSE_US = 100000 };

/* --- before the start of the job ------------------------------------------ */

/* Whether this error may mean that the daemon is restarting. */
static bool is_away(const struct held_job *a, int code)
{
	return code == ECONNRESET || code == ETIMEDOUT ||
	       (!a->retry.client && (code == ENOENT || code == ECONNREFUSED));
}

static json_t *wait_for_start(struct held_job *a, held_job_waits_fn *waits,
                              void *arg, struct err *err)
{
	json_t *answer = NULL, *req;
	int64_t until = clock_ms() + PATIENCE_S * INT64_C(1000);

	req = json_pack("{s:s, s:o}", "op", "alloc", "id",
	                json_sprintf("%lld", a->id));
	while (!answer) {
		if (!a->retry.client)
			a->retry.client = client_open(a->retry.address, err);
		if (a->retry.client)
			answer = client_call(a->retry.client, req, NULL, 0,
			                     waits, arg, err);
		if (answer || !is_away(a, err->code) || clock_ms() > until)
			break;
		retry_close(&a->retry);
		usleep(PAUSE_US);
	}
	json_decref(req);
	return answer;
}

int held_job_wait(struct held_job *a, held_job_waits_fn *waits, void *arg,
                  struct err *err)
{
	json_t *answer = wait_for_start(a, waits, arg, err);
	const char *node = "", *path = "/";

	if (!answer)
		return -1;
	json_unpack(answer, "{s?s, s?s}", "node", &node, "socket", &path);
	a->node = xstrdup(node);
	a->socket = xstrdup(path);
	json_decref(answer);
	return 0;
}

/* --- after the start of the job ------------------------------------------- */

static bool take_env(const json_t *env)
{
	const json_t *item;
	size_t i;

	json_array_foreach(env, i, item) {
		const char *text = json_string_value(item);
		const char *eq = text ? strchr(text, '=') : NULL;
		char *name = eq ? xstrndup(text, (size_t)(eq - text)) : NULL;

		if (name)
			setenv(name, eq + 1, 1);
		free(name);
	}
	return env != NULL;
}

bool held_job_hear(struct held_job *a)
{
	ssize_t len = recv(a->conn, NULL, 0, MSG_PEEK | MSG_TRUNC);
	struct buf text = { 0 };
	json_t *msg;
	bool goes_on;

	if (len <= 0)
		return false;
	len = recv(a->conn, buf_room(&text, (size_t)len), (size_t)len, 0);
	if (len <= 0) {
		buf_free(&text);
		return false;
	}
	msg = json_loadb(text.data, (size_t)len, 0, NULL);
	take_env(json_object_get(msg, "env"));
	goes_on = json_object_get(msg, "ends") == NULL;
	json_decref(msg);
	buf_free(&text);
	return goes_on;
}

int held_job_hold(struct held_job *a, bool kept, struct err *err)
{
	char hello = STEP_OWN;

	a->conn = step_call_connect(a->socket, err);
	if (a->conn < 0)
		return -1;
	if (send(a->conn, &hello, 1, MSG_NOSIGNAL) != 1 || !held_job_hear(a))
		return err_set(err, ECONNRESET,
		               "Job allocation %lld has been revoked", a->id);
	if (kept) {
		close(a->conn);
		a->conn = -1;
	}
	return 0;
}

void held_job_free(struct held_job *a)
{
	if (a->conn >= 0)
		close(a->conn);
	retry_close(&a->retry);
	free(a->node);
	free(a->socket);
}

/* Wait until the daemon knows that the job has ended, so that its resources are
 * free for the next job. */
static void wait_for_end(struct held_job *a)
{
	json_t *req = json_pack("{s:s, s:[o]}", "op", "wait", "ids",
	                        json_sprintf("%lld", a->id));
	struct err err;

	a->retry.patience_s = END_PATIENCE_S;
	json_decref(retry_call(&a->retry, req, NULL, NULL, &err));
	json_decref(req);
}

void held_job_end(struct held_job *a, int status)
{
	char text[48];

	snprintf(text, sizeof(text), "{\"status\": %d}", status);
	if (a->conn >= 0 && send(a->conn, text, strlen(text), MSG_NOSIGNAL) > 0)
		wait_for_end(a);
	held_job_free(a);
}

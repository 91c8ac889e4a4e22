/* retry.c - requests that survive a restart of the daemon */
#include "libcommon/client/retry.h"

#include <err.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "libcommon/clock.h"

enum { PAUSE_MIN_MS = 10, PAUSE_MAX_MS = 500 };

static void pause_ms(int64_t ms)
{
	const struct timespec ts = { .tv_nsec = ms * 1000000 };

	nanosleep(&ts, NULL);
}

/* Whether this error may mean that the daemon is restarting: its socket refuses
 * connections, is missing, or does not answer yet. */
static bool is_away(int code)
{
	return code == ECONNREFUSED || code == ENOENT || code == ECONNRESET ||
	       code == ETIMEDOUT;
}

static int add_part(const void *data, size_t len, void *arg)
{
	buf_add(arg, data, len);
	return 0;
}

static json_t *call(struct retry *retry, json_t *req, const struct buf *raw,
                    struct buf *parts, struct err *err)
{
	if (parts)
		buf_clear(parts);
	return client_call(retry->client, req, raw ? raw->data : NULL,
	                   raw ? raw->len : 0, parts ? add_part : NULL, parts,
	                   err);
}

json_t *retry_call(struct retry *retry, json_t *req, const struct buf *raw,
                   struct buf *parts, struct err *err)
{
	int64_t pause = PAUSE_MIN_MS, give_up = 0;
	bool lost = false, said = false;

	for (;;) {
		if (!retry->client)
			retry->client = client_open(retry->address, err);
		if (retry->client) {
			json_t *answer = call(retry, req, raw, parts, err);

			if (answer || err->code != ECONNRESET)
				return answer;
			retry_close(retry);
		} else if (!is_away(err->code) ||
		           (!lost && err->code != ECONNRESET)) {
			return NULL;
		}
		if (!lost) {
			lost = true;
			give_up = clock_ms() + retry->patience_s * 1000LL;
			continue;
		}
		if (retry->patience_s >= 0 && clock_ms() >= give_up)
			return NULL;
		if (retry->patience_s < 0 && !said)
			warnx("aischedd went away; waiting for it");
		said = true;
		pause_ms(pause);
		if (pause < PAUSE_MAX_MS)
			pause *= 2;
	}
}

void retry_close(struct retry *retry)
{
	client_close(retry->client);
	retry->client = NULL;
}

/* Returns the exit status for one ended job. */
static int job_status(json_t *job)
{
	const char *state = json_string_value(json_object_get(job, "state"));
	int64_t signal = json_integer_value(json_object_get(job, "signal"));
	int64_t code = json_integer_value(json_object_get(job, "exit_code"));

	if (signal > 0)
		return 128 + (int)(signal & 127);
	if (code > 0)
		return (int)(code & 255);
	return state && !strcmp(state, "COMPLETED") ? 0 : 1;
}

int retry_wait(struct retry *retry, const char *const *jobs, size_t n,
               struct err *err)
{
	int patience = retry->patience_s, highest = -1;
	json_t *ids = json_array(), *req, *answer, *ended, *job;
	size_t i;

	for (i = 0; i < n; i++)
		json_array_append_new(ids, json_string(jobs[i]));
	req = json_pack("{s:s, s:o}", "op", "wait", "ids", ids);
	retry->patience_s = -1;
	answer = retry_call(retry, req, NULL, NULL, err);
	retry->patience_s = patience;
	ended = json_object_get(answer, "jobs");
	if (answer && json_array_size(ended) < n)
		err_set(err, ENOENT, "its outcome is no longer in the history");
	else if (answer)
		highest = 0;
	json_array_foreach(ended, i, job)
		if (highest >= 0 && job_status(job) > highest)
			highest = job_status(job);
	json_decref(answer);
	json_decref(req);
	return highest;
}

/* crash_work.c - make requests while the daemon is killed */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "libcommon/mem.h"
#include "tests/e2e/crash.h"

enum {
	/* only this many of the newest submissions get further requests */
	RECENT = 12,
	PAUSE_MS = 25, /* longest pause between two requests */
	LOOK_AGAIN_MS = 5
};

static const char script[] =
    "#!/bin/sh\n"
    "attempt=${0%/*}\n"
    "me=\"$AISCHED_JOB_NAME ${attempt##*/} ${AISCHED_ARRAY_TASK_ID:--1}"
    " ${AISCHED_PROCID:-0} $AISCHED_RUN_ID\"\n"
    "echo \"begin $me\" >>ran\n"
    "[ \"$1\" = 0 ] || sleep \"$1\"\n"
    "echo \"end $me\" >>ran\n"
    "exit \"$2\"\n";

/* Returns a random number below n, by splitmix64. */
uint64_t random_below(uint64_t *state, uint64_t n)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return (z ^ (z >> 31)) % n;
}

void pause_ms(uint64_t ms)
{
	struct timespec ts = { .tv_sec = (time_t)(ms / 1000),
		               .tv_nsec = (long)(ms % 1000 * 1000000) };

	nanosleep(&ts, NULL);
}

/* Whether the error means that no daemon is running or that it was killed. */
static bool is_away(const struct err *err)
{
	return err->code == ENOENT || err->code == ECONNREFUSED ||
	       err->code == ECONNRESET;
}

static int add_part(const void *data, size_t len, void *arg)
{
	buf_add(arg, data, len);
	return 0;
}

json_t *persist(struct client **client, json_t *req, const struct buf *raw,
                struct buf *parts, struct err *err)
{
	json_t *answer = NULL;

	for (;;) {
		if (!*client)
			*client = client_open(NULL, err);
		if (parts)
			buf_clear(parts);
		if (*client)
			answer =
			    client_call(*client, req, raw ? raw->data : NULL,
			                raw ? raw->len : 0,
			                parts ? add_part : NULL, parts, err);
		if (answer || !is_away(err))
			return answer;
		client_close(*client);
		*client = NULL;
		pause_ms(LOOK_AGAIN_MS);
	}
}

/* --- submissions --------------------------------------------------------- */

static json_t *spec_of(const struct sub *sub)
{
	static const char *const kinds[] = { [NEED_ANY] = "afterany",
		                             [NEED_OK] = "afterok",
		                             [NEED_NOT_OK] = "afternotok" };
	char args[64], text[64], *dir = getcwd(NULL, 0);
	json_t *spec;

	snprintf(args, sizeof(args), "[\"%g\", \"%d\"]", sub->pause_ms / 1e3,
	         sub->code);
	spec =
	    json_pack("{s:s, s:s, s:s, s:s, s:i, s:i, s:i}", "name", sub->name,
	              "output", "/dev/null", "workdir", dir, "args", args,
	              "cpus", 50, "mem", 10, "tasks", (int)sub->procs);
	if (sub->ntasks) {
		snprintf(text, sizeof(text), "0-%u", sub->ntasks - 1);
		json_object_set_new(spec, "array", json_string(text));
	}
	if (sub->need) {
		snprintf(text, sizeof(text), "%s:%llu", kinds[sub->need],
		         (unsigned long long)sub->after->id);
		json_object_set_new(spec, "dependency", json_string(text));
	}
	if (sub->held)
		json_object_set_new(spec, "hold", json_integer(1));
	free(dir);
	return spec;
}

static json_t *request_of(const struct sub *sub, struct buf *ret_raw)
{
	static const char env[] = "PATH=/usr/bin:/bin";
	json_t *specs = json_array();

	for (uint32_t i = 0; i < sub->njobs; i++)
		json_array_append_new(specs, spec_of(sub));
	buf_add(ret_raw, script, sizeof(script) - 1);
	buf_add(ret_raw, env, sizeof(env));
	return json_pack("{s:s, s:s, s:o, s:i, s:i}", "op", "submit", "token",
	                 sub->token, "specs", specs, "script_len",
	                 (int)sizeof(script) - 1, "env_len", (int)sizeof(env));
}

/* Returns one of the newest submissions, whose jobs may be pending, running or
 * ended; NULL if there is none. */
static struct sub *recent(struct worker *w)
{
	size_t n = w->nmine < RECENT ? w->nmine : RECENT;

	if (!n)
		return NULL;
	return w->mine[w->nmine - 1 - random_below(&w->random, n)];
}

static struct sub *make_sub(struct worker *w)
{
	static const int pauses[] = { 0, 0, 0, 50, 100, 200, 500, 1500 };
	struct sub *sub = xcalloc(1, sizeof(*sub));
	uint64_t kind = random_below(&w->random, 100);

	snprintf(sub->name, sizeof(sub->name), "w%u-%zu", w->number, w->nmade);
	snprintf(sub->token, sizeof(sub->token), "%016llx%08x%08zx",
	         (unsigned long long)w->crash->seed, w->number, w->nmade);
	w->nmade++;
	sub->njobs = sub->procs = 1;
	sub->code = random_below(&w->random, 5) ? 0 : 3;
	sub->pause_ms = pauses[random_below(&w->random, ARRAY_SIZE(pauses))];
	sub->held = random_below(&w->random, 15) == 0;
	if (kind < 15) {
		sub->njobs = 2 + (uint32_t)random_below(&w->random, 6);
	} else if (kind < 35) {
		sub->ntasks = 1 + (uint32_t)random_below(&w->random, 6);
	} else if (kind < 50) {
		sub->procs = 2 + (uint32_t)random_below(&w->random, 2);
	} else if (kind < 70) {
		sub->after = recent(w);
		if (sub->after)
			sub->need =
			    NEED_ANY + (unsigned)random_below(&w->random, 3);
	}
	return sub;
}

static void take_ids(struct worker *w, struct sub *sub, json_t *answer)
{
	json_t *ids = json_object_get(answer, "job_ids");
	uint64_t id = (uint64_t)json_integer_value(json_array_get(ids, 0));

	if (!id || json_array_size(ids) != sub->njobs)
		problem("%s: %zu ids for %u jobs", sub->name,
		        json_array_size(ids), sub->njobs);
	for (size_t i = 0; i < json_array_size(ids); i++)
		if (json_integer_value(json_array_get(ids, i)) !=
		    (json_int_t)(id + i))
			problem("%s: ids are no series", sub->name);
	pthread_mutex_lock(&w->crash->lock);
	if (sub->id && sub->id != id)
		problem("%s: submitted again it got id %llu, not %llu",
		        sub->name, (unsigned long long)id,
		        (unsigned long long)sub->id);
	sub->id = id;
	pthread_mutex_unlock(&w->crash->lock);
}

static void send_sub(struct worker *w, struct sub *sub)
{
	struct buf raw = { 0 };
	json_t *req = request_of(sub, &raw), *answer;
	struct err err;

	answer = persist(&w->client, req, &raw, NULL, &err);
	if (answer)
		take_ids(w, sub, answer);
	else
		problem("%s: not submitted: %s", sub->name, err.text);
	json_decref(answer);
	json_decref(req);
	buf_free(&raw);
}

/* Submit and disconnect before the answer: the daemon may accept the jobs or
 * not, but never a part of them. */
static void abandon_sub(struct sub *sub)
{
	struct buf raw = { 0 };
	json_t *req = request_of(sub, &raw);
	struct client *client = client_open(NULL, NULL);

	if (client)
		client_send(client, req, raw.data, raw.len, NULL);
	client_close(client);
	json_decref(req);
	buf_free(&raw);
}

static void submit(struct worker *w)
{
	struct crash *crash = w->crash;
	struct sub *sub = make_sub(w);

	pthread_mutex_lock(&crash->lock);
	crash->sub = GROW(crash->sub, crash->nsubs, &crash->sub_cap);
	crash->sub[crash->nsubs++] = sub;
	crash->njobs += sub->njobs * (sub->ntasks ? sub->ntasks : 1);
	pthread_mutex_unlock(&crash->lock);
	if (random_below(&w->random, 25) == 0 && !sub->held) {
		abandon_sub(sub);
		return;
	}
	send_sub(w, sub);
	w->mine = GROW(w->mine, w->nmine, &w->mine_cap);
	w->mine[w->nmine++] = sub;
}

/* --- requests about jobs ------------------------------------------------- */

static json_t *ids_of(const struct sub *sub)
{
	json_t *ids = json_array();

	for (uint32_t i = 0; i < sub->njobs; i++) {
		char id[24];

		snprintf(id, sizeof(id), "%llu",
		         (unsigned long long)(sub->id + i));
		json_array_append_new(ids, json_string(id));
	}
	return ids;
}

/* Send a control request until it is answered. Repeating it must be
 * harmless. */
static void control(struct worker *w, const struct sub *sub, const char *action)
{
	json_t *req = json_pack("{s:s, s:s, s:o}", "op", "control", "action",
	                        action, "ids", ids_of(sub));
	struct err err;
	json_t *answer = persist(&w->client, req, NULL, NULL, &err);

	if (!answer)
		problem("%s %s: %s", action, sub->name, err.text);
	json_decref(answer);
	json_decref(req);
}

static void cancel(struct worker *w, struct sub *sub)
{
	json_t *req =
	    json_pack("{s:s, s:o}", "op", "cancel", "ids", ids_of(sub));
	struct err err;
	json_t *answer;

	pthread_mutex_lock(&w->crash->lock);
	sub->cancelled = true;
	pthread_mutex_unlock(&w->crash->lock);
	answer = persist(&w->client, req, NULL, NULL, &err);
	if (!answer)
		problem("cancel %s: %s", sub->name, err.text);
	else if (json_array_size(json_object_get(answer, "failed")))
		problem("cancel %s: refused", sub->name);
	json_decref(answer);
	json_decref(req);
}

/* Requeue jobs with a single request, because each one that is accepted adds an
 * attempt. */
static void requeue(struct worker *w, struct sub *sub)
{
	json_t *req = json_pack("{s:s, s:s, s:o}", "op", "control", "action",
	                        "requeue", "ids", ids_of(sub));
	struct client *client = client_open(NULL, NULL);

	pthread_mutex_lock(&w->crash->lock);
	sub->requeues++;
	pthread_mutex_unlock(&w->crash->lock);
	if (client)
		json_decref(
		    client_call(client, req, NULL, 0, NULL, NULL, NULL));
	client_close(client);
	json_decref(req);
}

static void release(struct worker *w, struct sub *sub)
{
	pthread_mutex_lock(&w->crash->lock);
	sub->released = true;
	pthread_mutex_unlock(&w->crash->lock);
	control(w, sub, "release");
}

static void meddle(struct worker *w, struct sub *sub)
{
	switch (random_below(&w->random, 6)) {
	case 0:
		cancel(w, sub);
		break;
	case 1:
		control(w, sub, "hold");
		break;
	case 2:
		release(w, sub);
		break;
	case 3:
		requeue(w, sub);
		break;
	case 4:
		control(w, sub, "suspend");
		control(w, sub, "resume");
		break;
	case 5:
		send_sub(w, sub); /* no effect: the token is the same */
		break;
	}
}

static bool may_submit(struct crash *crash)
{
	bool may;

	pthread_mutex_lock(&crash->lock);
	may = crash->njobs < crash->allowed;
	pthread_mutex_unlock(&crash->lock);
	return may;
}

static bool is_stopped(struct crash *crash)
{
	bool stop;

	pthread_mutex_lock(&crash->lock);
	stop = crash->stop;
	pthread_mutex_unlock(&crash->lock);
	return stop;
}

void *worker_main(void *arg)
{
	struct worker *w = arg;

	while (!is_stopped(w->crash)) {
		struct sub *sub = recent(w);

		if (sub && random_below(&w->random, 3) == 0)
			meddle(w, sub);
		else if (may_submit(w->crash))
			submit(w);
		pause_ms(random_below(&w->random, PAUSE_MS));
	}
	/* Release held jobs, which would wait forever. */
	for (size_t i = 0; i < w->nmine; i++)
		release(w, w->mine[i]);
	client_close(w->client);
	free(w->mine);
	return NULL;
}

/* attempt.c - exchange messages with an attempt's shepherd, and remove
 * the attempt */
#include "aischedd/run/local/attempt.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "aischedd/run/local/local.h"
#include "aischedd/run/local/overdue.h"
#include "aischedd/run/shepherd/tmp.h"
#include "aischedd/run/shepherd/tree.h"
#include "libcommon/clock.h"
#include "libcommon/mem.h"

#define MAX_MESSAGE   ((size_t)64 * 1024)
#define REMOVE_SLICE  500 /* files removed in one turn of the loop */
#define REMOVE_SLICES 200000

void local_name(char ret[48], uint64_t job, uint32_t attempt)
{
	snprintf(ret, 48, "%" PRIu64 ".%" PRIu32, job, attempt);
}

static uint64_t key(uint64_t job, uint32_t attempt)
{
	return hash_bytes(attempt, &job, sizeof(job));
}

struct attempt *attempt_find(struct local *l, uint64_t job, uint32_t attempt)
{
	return map_find(&l->attempts, key(job, attempt));
}

struct attempt *attempt_new(struct local *l, uint64_t job, uint32_t attempt)
{
	struct attempt *a = xcalloc(1, sizeof(*a));

	a->local = l;
	a->job = job;
	a->attempt = attempt;
	a->fd = a->order_fd = a->child_fd = -1;
	a->silent_since = clock_ms();
	map_set(&l->attempts, key(job, attempt), a);
	return a;
}

void attempt_hang_up(struct attempt *a)
{
	if (a->fd < 0)
		return;
	event_free(a->readable);
	close(a->fd);
	a->fd = -1;
	a->silent_since = clock_ms();
}

void attempt_free(struct attempt *a)
{
	attempt_hang_up(a);
	overdue_free(a);
	if (a->order_fd >= 0)
		close(a->order_fd);
	if (a->child_fd >= 0)
		close(a->child_fd);
	arena_free(a->arena);
	json_decref(a->stop);
	json_decref(a->resize);
	free(a);
}

/* Remove some files of the temporary folder that a killed shepherd left.
 * Returns true if more are left. */
static bool remove_tmp(int dirfd, const char *name)
{
	int fd = openat(dirfd, name,
	                O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	bool more;

	if (fd < 0)
		return false;
	more = tmp_remove(fd, REMOVE_SLICE);
	close(fd);
	return more;
}

static bool remove_files(int dirfd, const char *name)
{
	return remove_tmp(dirfd, name) ||
	       tree_remove(dirfd, name, REMOVE_SLICE);
}

bool attempt_remove(struct attempt *a)
{
	struct local *l = a->local;
	char name[48];

	local_name(name, a->job, a->attempt);
	/* Give up after REMOVE_SLICES calls, in case the user makes files
	 * faster than they can be removed: the next daemon removes the rest. */
	if (remove_files(l->dirfd, name) && ++a->slices < REMOVE_SLICES)
		return false;
	map_del(&l->attempts, key(a->job, a->attempt));
	attempt_free(a);
	return true;
}

void attempt_done(struct attempt *a)
{
	a->state = ATTEMPT_DONE;
	/* Do not remove the attempt while its shepherd is connected, as the
	 * shepherd is still cleaning up. */
	if ((!a->stray && !a->forgotten) || a->fd >= 0)
		return;
	a->state = ATTEMPT_REMOVED;
	if (!attempt_remove(a))
		attempt_queue(a);
}

void attempt_tell(struct attempt *a, struct run_event *ev)
{
	struct local *l = a->local;

	ev->job = a->job;
	ev->attempt = a->attempt;
	if (a->awaited) {
		a->awaited = false;
		if (!--l->awaited) /* it was the last one: RUN_SYNCED is due */
			event_active(l->tick, EV_TIMEOUT, 0);
	}
	if (!a->stray)
		l->fn(ev, l->arg); /* may free the attempt */
}

void attempt_queue(struct attempt *a)
{
	struct local *l = a->local;

	a->next = l->work;
	l->work = a;
	event_active(l->tick, EV_TIMEOUT, 0);
}

/* --- messages of shepherds --- */

static void on_started(struct attempt *a, json_t *msg)
{
	json_int_t when;
	int suspended;

	if (a->started || json_unpack(msg, "{s:I s:b}", "time", &when,
	                              "suspended", &suspended) < 0)
		return;
	a->started = true;
	attempt_tell(a, &(struct run_event){ .kind = RUN_STARTED,
	                                     .time = when,
	                                     .suspended = suspended });
}

static void on_replaced(struct attempt *a, json_t *msg)
{
	json_int_t tasks;
	const char *text;

	if (json_unpack(msg, "{s:I s:s}", "tasks", &tasks, "text", &text) < 0)
		return;
	attempt_tell(a, &(struct run_event){ .kind = RUN_REPLACED,
	                                     .replaced = (uint32_t)tasks,
	                                     .text = text });
}

static void on_resized(struct attempt *a, json_t *msg)
{
	json_int_t resize;

	if (json_unpack(msg, "{s:I}", "resize", &resize) < 0)
		return;
	attempt_tell(a, &(struct run_event){ .kind = RUN_RESIZED,
	                                     .resize = (uint32_t)resize });
}

static void on_used(struct attempt *a, json_t *msg)
{
	struct run_event ev = { .kind = RUN_USED };

	/* A shepherd of an older version does not send idle_ms. */
	ev.idle_ms = json_integer_value(json_object_get(msg, "idle_ms"));
	if (!gpu_use_from_json(&ev.gpu, json_object_get(msg, "gpu"), NULL))
		attempt_tell(a, &ev);
}

static void on_failed(struct attempt *a, json_t *msg)
{
	const char *text;
	int fault;

	if (json_unpack(msg, "{s:i s:s}", "fault", &fault, "text", &text) < 0)
		return;
	a->state = ATTEMPT_DONE;
	attempt_tell(a, &(struct run_event){ .kind = RUN_START_FAILED,
	                                     .fault = (enum start_fault)fault,
	                                     .text = text });
}

static void on_ended(struct attempt *a, json_t *msg)
{
	json_t *obj = json_object_get(msg, "outcome");
	struct arena *arena = arena_new();
	struct outcome out;

	if (obj && !outcome_from_json(&out, obj, arena, NULL)) {
		a->state = ATTEMPT_DONE;
		attempt_tell(a, &(struct run_event){ .kind = RUN_ENDED,
		                                     .outcome = &out });
	}
	arena_free(arena);
}

static void on_message(struct attempt *a, const char *text, size_t len)
{
	json_t *msg = json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL);
	const char *event = json_string_value(json_object_get(msg, "event"));

	if (!event || a->state != ATTEMPT_TALKS)
		;
	else if (!strcmp(event, "started"))
		on_started(a, msg);
	else if (!strcmp(event, "replaced"))
		on_replaced(a, msg);
	else if (!strcmp(event, "resized"))
		on_resized(a, msg);
	else if (!strcmp(event, "used"))
		on_used(a, msg);
	else if (!strcmp(event, "failed"))
		on_failed(a, msg);
	else if (!strcmp(event, "ended"))
		on_ended(a, msg);
	json_decref(msg);
}

/* The connection has ended: if the end of the attempt is not known yet, let the
 * next tick read the record. A shepherd also ends the connection if another one
 * has claimed the attempt. */
static void on_hang_up(struct attempt *a)
{
	attempt_hang_up(a);
	if (a->state == ATTEMPT_DONE) {
		attempt_done(a);
		return;
	}
	a->state = ATTEMPT_UNCLEAR;
	attempt_queue(a);
}

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
	static char text[MAX_MESSAGE];
	ssize_t len = recv(fd, text, sizeof(text), MSG_DONTWAIT);

	(void)what;
	if (len > 0)
		on_message(arg, text, (size_t)len);
	else if (len == 0 || (errno != EAGAIN && errno != EINTR))
		on_hang_up(arg);
}

/* Send a message to the shepherd, if it is connected. Messages are lost only if
 * the shepherd does not read, because somebody has stopped it, and the buffer
 * of the socket is full, with some hundreds of messages. */
void attempt_send(struct attempt *a, json_t *msg)
{
	char *text = json_dumps(msg, JSON_COMPACT);

	overdue_sends(a);
	if (a->fd >= 0 && text &&
	    send(a->fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
		/* on_readable() will notice if the connection has ended */
	}
	free(text);
	json_decref(msg);
}

void attempt_insist(struct attempt *a, json_t **kept, json_t *msg)
{
	json_decref(*kept);
	*kept = NULL;
	if (a->fd < 0)
		*kept = msg;
	else
		attempt_send(a, msg);
}

void attempt_connect(struct attempt *a, int fd)
{
	struct local *l = a->local;

	a->fd = fd;
	a->state = ATTEMPT_TALKS;
	a->readable =
	    event_new(l->base, fd, EV_READ | EV_PERSIST, on_readable, a);
	event_add(a->readable, NULL);
	if (a->resize)
		attempt_send(a, a->resize);
	if (a->stop)
		attempt_send(a, a->stop);
	a->stop = a->resize = NULL;
}

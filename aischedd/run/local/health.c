/* health.c - run the admin's program that checks this machine */
#include "aischedd/run/local/health.h"

#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "aischedd/run/program.h"
#include "libcommon/mem.h"

struct health {
	struct event_base *base;
	health_fn *fn;
	void *arg;
	char *program; /* path of the program; "": none is configured */
	int64_t interval_s, timeout_s;
	struct program *run; /* the run in progress, or NULL */
	struct event *next;
};

static void arm(struct event *timer, int64_t s)
{
	const struct timeval after = { .tv_sec = s };

	event_add(timer, &after);
}

static void on_result(const char *why, void *arg)
{
	struct health *h = arg;

	h->fn(why, h->arg);
}

static void on_ended(void *arg)
{
	struct health *h = arg;

	h->run = NULL;
	arm(h->next, h->interval_s);
}

static void start(struct health *h)
{
	static const struct program_calls calls = { on_result, on_ended };
	char *why;

	h->run = program_start(h->base, "health_check",
	                       (const char *[]){ h->program, NULL },
	                       h->timeout_s, &calls, h);
	if (h->run)
		return;
	why = xasprintf("health_check '%s' cannot be started: %s", h->program,
	                strerror(errno));
	h->fn(why, h->arg);
	free(why);
	arm(h->next, h->interval_s);
}

static void on_next(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	start(arg);
}

/* --- checks at intervals -------------------------------------------------- */

struct health *health_new(struct event_base *base, health_fn *fn, void *arg)
{
	struct health *h = xcalloc(1, sizeof(*h));

	h->base = base;
	h->fn = fn;
	h->arg = arg;
	h->program = xstrdup("");
	h->next = evtimer_new(base, on_next, h);
	return h;
}

bool health_conf(struct health *h, const struct conf_health *conf)
{
	h->interval_s = conf->interval;
	h->timeout_s = conf->timeout;
	if (!strcmp(h->program, conf->program)) {
		if (*h->program && !h->run)
			arm(h->next, h->interval_s);
		return false;
	}
	if (h->run)
		program_abandon(h->run);
	h->run = NULL;
	text_set(&h->program, conf->program);
	evtimer_del(h->next);
	if (*h->program)
		arm(h->next, 0);
	return *h->program;
}

void health_free(struct health *h)
{
	if (!h)
		return;
	program_free(h->run);
	event_free(h->next);
	free(h->program);
	free(h);
}

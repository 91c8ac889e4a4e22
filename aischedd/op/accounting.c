/* accounting.c - compare accounting rollups with the attempts of jobs; each
 * request compares one week */
#include "aischedd/op/op.h"

#include <stdlib.h>

#include "aischedd/state/cluster/rollup.h"
#include "aischedd/store/rollup_check.h"
#include "aischedd/thread.h"
#include "libcommon/mem.h"

struct comparison {
	struct thread_task task;
	struct daemon *d;
	struct kept_ask ask;
	struct rollup_check check;
	json_t *wrong; /* texts about sums that differ */
	char *path;
	int result;
	struct err err;
};

static void note(const char *text, void *arg)
{
	struct comparison *c = arg;

	json_array_append_new(c->wrong, json_string(text));
}

/* Compare on the history thread. Reading the state's time zone there is safe,
 * as it does not change while the daemon lives. */
static void compare_work(struct thread_task *task)
{
	struct comparison *c = (struct comparison *)(void *)task;

	c->result = store_rollup_check(c->path, state_zone(c->d->state),
	                               &c->check, &c->err);
}

static json_t *answer_of(const struct comparison *c)
{
	const struct rollup_check *k = &c->check;

	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:O}", "first",
	                 (json_int_t)k->first, "last", (json_int_t)k->last,
	                 "next", (json_int_t)k->next, "attempts",
	                 (json_int_t)k->attempts, "sums", (json_int_t)k->sums,
	                 "wrong", (json_int_t)k->wrong, "texts", c->wrong);
}

static void compare_done(struct thread_task *task)
{
	struct comparison *c = (struct comparison *)(void *)task;

	if (daemon_is_open(c->d, &c->ask)) {
		if (c->result < 0)
			daemon_refuse(c->d, c->ask.ask, &c->err);
		else
			daemon_say(c->d, c->ask.ask, answer_of(c));
	}
	json_decref(c->wrong);
	free(c->path);
	free(c);
}

int op_accounting(struct daemon *d, struct ask *ask,
                  const struct request_in *in, struct err *err)
{
	struct comparison *c;
	json_int_t from = 0;

	if (json_unpack(in->body, "{s?I}", "from", &from) < 0 || from < 0)
		return err_set(err, EINVAL, "accounting: 'from' is no time");
	c = xcalloc(1, sizeof(*c));
	c->task =
	    (struct thread_task){ .work = compare_work, .done = compare_done };
	c->d = d;
	c->ask = daemon_keep(d, ask);
	c->check =
	    (struct rollup_check){ .from = from, .said = note, .arg = c };
	c->wrong = json_array();
	c->path = xstrdup(store_path(d->store));
	thread_do(d->history, &c->task);
	return 0;
}

/* dump.c - send the scheduler's snapshot, as text */
#include <stdlib.h>

#include "aischedd/op/op.h"
#include "aischedd/read/read.h"
#include "aischedd/sched/text/text.h"
#include "aischedd/state/pass/snapshot.h"
#include "aischedd/state/pass/sweep.h"
#include "libcommon/clock.h"
#include "libcommon/mem.h"
#include "libcommon/steps.h"

/* steps charged for a row or a node of the snapshot */
enum { STEPS_DUMPED = 10 };

/* One dump in progress. The loop has copied everything that later turns may
 * change; the history thread then writes the text, and the loop sends the text
 * piece by piece. */
struct dump {
	struct thread_task task;
	struct dump *next;
	struct daemon *d;
	struct ask *ask; /* NULL: the peer has disconnected */
	/* it begins when the state no longer sweeps; in_thread: the thread has
	 * it */
	bool held_up, in_thread;
	struct arena *arena; /* arena of the snapshot; NULL: freed */
	/* set while the snapshot uses parts of the state, else NULL */
	struct build *taken;
	struct buf out;
	size_t sent;
};

static void dump_free(struct dump *dump)
{
	struct dump **at = &dump->d->dumps;

	while (*at != dump)
		at = &(*at)->next;
	*at = dump->next;
	if (dump->taken)
		state_end_snapshot(dump->d->state, dump->taken);
	arena_free(dump->arena);
	buf_free(&dump->out);
	free(dump);
}

static void send_piece(struct ask *ask, void *arg)
{
	struct dump *dump = arg;
	size_t left = dump->out.len - dump->sent;
	size_t len = left < READ_PIECE ? left : READ_PIECE;

	if (len) {
		rpc_part(ask, dump->out.data + dump->sent, len);
		dump->sent += len;
		rpc_when_drained(ask, send_piece, dump);
		return;
	}
	dump->ask = NULL;
	daemon_end_ask(dump->d, ask);
	rpc_reply(ask, json_object());
	dump_free(dump);
}

static void over_work(struct thread_task *task)
{
	struct dump *dump = (struct dump *)(void *)task;

	arena_free(dump->arena);
	dump->arena = NULL;
}

static void over_done(struct thread_task *task)
{
	struct dump *dump = (struct dump *)(void *)task;

	dump->in_thread = false;
	if (dump->ask)
		send_piece(dump->ask, dump);
	else
		dump_free(dump);
}

static void write_work(struct thread_task *task)
{
	struct dump *dump = (struct dump *)(void *)task;

	steps_add((uint64_t)STEPS_DUMPED * snapshot_size(dump->taken));
	snap_write(snapshot_finish(dump->taken), &dump->out);
}

/* The thread has written the text: end the snapshot, and let the thread also
 * free the snapshot's memory, which takes long. */
static void write_done(struct thread_task *task)
{
	struct dump *dump = (struct dump *)(void *)task;

	state_end_snapshot(dump->d->state, dump->taken);
	dump->taken = NULL;
	dump->task =
	    (struct thread_task){ .work = over_work, .done = over_done };
	thread_do(dump->d->history, &dump->task);
}

static void take(struct dump *dump)
{
	struct daemon *d = dump->d;

	dump->arena = arena_new();
	dump->taken = state_take_peek(d->state, clock_wall_s(), dump->arena);
	dump->in_thread = true;
	thread_do(d->history, &dump->task);
}

static void begin(struct daemon *d, void *arg)
{
	struct dump *dump = xcalloc(1, sizeof(*dump));

	dump->task =
	    (struct thread_task){ .work = write_work, .done = write_done };
	dump->d = d;
	dump->ask = arg;
	dump->next = d->dumps;
	d->dumps = dump;
	if (state_is_sweeping(d->state))
		dump->held_up = true;
	else
		take(dump);
}

void daemon_go_on_dumping(struct daemon *d)
{
	if (state_is_sweeping(d->state))
		return;
	for (struct dump *dump = d->dumps; dump; dump = dump->next) {
		if (!dump->held_up)
			continue;
		dump->held_up = false;
		take(dump);
	}
}

void daemon_dump_gone(struct daemon *d, const struct ask *ask)
{
	struct dump *dump = d->dumps;

	while (dump && dump->ask != ask)
		dump = dump->next;
	if (!dump)
		return;
	dump->ask = NULL;
	if (!dump->in_thread)
		dump_free(dump);
}

void daemon_free_dumps(struct daemon *d)
{
	while (d->dumps)
		dump_free(d->dumps);
}

int op_dump(struct daemon *d, struct ask *ask, const struct request_in *in,
            struct err *err)
{
	(void)in;
	(void)err;
	daemon_later(d, begin, ask, ask);
	return 0;
}

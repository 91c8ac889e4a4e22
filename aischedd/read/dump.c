/* dump.c - send the scheduler's snapshot, as text */
#include "aischedd/op/op.h"
#include "aischedd/sched/text/text.h"
#include "aischedd/state/pass/snapshot.h"
#include "libcommon/clock.h"
#include "libcommon/mem.h"

enum { PIECE = 256 * 1024 }; /* bytes in one part */

static void dump(struct daemon *d, void *arg)
{
	struct ask *ask = arg;
	struct arena *arena = arena_new();
	struct buf out = { 0 };

	snap_write(state_peek(d->state, clock_wall_s(), arena), &out);
	for (size_t at = 0; at < out.len; at += PIECE)
		rpc_part(ask, out.data + at,
		         out.len - at < PIECE ? out.len - at : PIECE);
	daemon_end_ask(d, ask);
	rpc_reply(ask, json_object());
	buf_free(&out);
	arena_free(arena);
}

int op_dump(struct daemon *d, struct ask *ask, const struct request_in *in,
            struct err *err)
{
	(void)in;
	(void)err;
	daemon_later(d, dump, ask, ask);
	return 0;
}

/* history.c - remove ended jobs that are archived or too old */
#include "aischedd/op/audit.h"
#include "aischedd/op/op.h"
#include "aischedd/purge.h"
#include "libcommon/buf.h"
#include "libcommon/clock.h"
#include "libcommon/log.h"
#include "libcommon/parse.h"

int op_history(struct daemon *d, struct ask *ask, const struct request_in *in,
               struct err *err)
{
	json_int_t before, expect = -1;
	struct buf text = { 0 };
	size_t gone;

	if (json_unpack(in->body, "{s:I, s?I}", "before", &before, "expect",
	                &expect) < 0)
		return err_set(err, EPROTO, "history: 'before' is expected");
	if (before < 0 || before > clock_wall_s() + 1)
		return err_set(err, EINVAL,
		               "history can be removed up to now, not later");
	if (purge_slice(d, before, expect, &gone, err) < 0)
		return -1;
	if (gone && gone < PURGE_SLICE) {
		format_time(&text, before);
		audit_act(d, in->peer, "purge", "history before", text.data,
		          NULL);
		log_notice("history remove before=%s user=%s", text.data,
		           in->peer->user);
		buf_free(&text);
	}
	daemon_answer(d, ask,
	              json_pack("{s:I, s:b}", "gone", (json_int_t)gone, "more",
	                        gone == PURGE_SLICE));
	return 0;
}

/* steps.c - the steps of jobs, from their shepherds' records */
#include "aischedd/store/steps.h"
#include "aischedd/op/access.h"
#include "aischedd/op/op.h"
#include "aischedd/runners.h"
#include "libcommon/mem.h"
#include "libcommon/parse.h"

enum {
	JOBS_MAX = 256, /* most jobs in one answer */
	/* when the answer is larger than this, no further job is added */
	ANSWER_BYTES = 4 << 20
};

static int read_one(struct daemon *d, const struct peer *peer, uint64_t id,
                    struct buf *out, struct err *err)
{
	const struct job *job = state_job(d->state, id);

	if (!access_sees(d, peer, id, NO_TASK))
		return 0;
	if (job && job->place) {
		daemon_steps(d, job, out);
		return 0;
	}
	return job ? 0 : store_steps_get(d->store, id, out, err);
}

int op_steps(struct daemon *d, struct ask *ask, const struct request_in *in,
             struct err *err)
{
	const json_t *ids = json_object_get(in->body, "ids");
	size_t n = json_array_size(ids), i;
	struct buf out = { 0 };
	int rc = 0;

	if (!ids)
		return err_set(err, EPROTO, "steps: ids are expected");
	for (i = 0; i < n && i < JOBS_MAX && out.len < ANSWER_BYTES && !rc;
	     i++) {
		const char *text = json_string_value(json_array_get(ids, i));
		int64_t id;

		rc = parse_int(text, 1, INT64_MAX, &id, err);
		if (rc)
			break;
		buf_printf(&out, "{\"job\":%lld}\n", (long long)id);
		rc = read_one(d, in->peer, (uint64_t)id, &out, err);
	}
	if (!rc) {
		rpc_part(ask, out.data ? out.data : "", out.len);
		daemon_say(d, ask, json_pack("{s:I}", "done", (json_int_t)i));
	}
	buf_free(&out);
	return rc;
}

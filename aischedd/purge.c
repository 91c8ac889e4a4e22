/* purge.c - remove ended jobs from the history, with their output */
#include "aischedd/purge.h"

#include "aischedd/run/log_file.h"
#include "aischedd/store/ended.h"
#include "libcommon/clock.h"
#include "libcommon/log.h"

static void forget_output(uint64_t job, void *arg)
{
	struct daemon *d = arg;
	struct err err;

	if (log_remove(d->logs, job, &err) < 0)
		log_warning("output remove fail job=%llu: %s; remove it by "
		            "hand",
		            (unsigned long long)job, err.text);
}

int purge_slice(struct daemon *d, int64_t before, int64_t expect,
                size_t *ret_gone, struct err *err)
{
	int64_t n;

	*ret_gone = 0;
	if (expect >= 0) {
		if (store_count_old(d->store, before, &n, err) < 0)
			return -1;
		if (n != expect)
			return err_set(err, EAGAIN,
			               "%lld jobs have ended before then, not "
			               "%lld: nothing was removed",
			               (long long)n, (long long)expect);
		if (store_note_archive(d->store, clock_wall_s(), err) < 0)
			return -1;
	}
	/* Delete the output before the jobs are purged: afterwards nothing
	 * refers to it. */
	if (store_old(d->store, before, PURGE_SLICE, forget_output, d, err) < 0)
		return -1;
	return store_purge(d->store, before, PURGE_SLICE, ret_gone, err);
}

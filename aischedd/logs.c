/* logs.c - serve job output kept by the daemon */
#include "aischedd/logs.h"

#include <inttypes.h>
#include <stdlib.h>

#include "aischedd/run/log_file.h"
#include "aischedd/run/log_lines.h"
#include "aischedd/state/cluster/node.h"
#include "libcommon/limits.h"
#include "libcommon/mem.h"

/* bytes of a file that are read at once */
enum { PIECE = 64 * 1024 };

enum phase {
	/* look for the next output to send */
	SEEK,
	LIVE, /* an output is read from the runner */
	/* the runner lost the output midway: wait for its kept file */
	REST,
	KEPT /* an output is read from a kept file */
};

struct logging {
	struct logging *next;
	struct daemon *d;
	struct ask *ask;
	/* the request; its id points to `id` below */
	struct logs_wish wish;
	char *id;

	enum phase phase;
	/* the output that is or was read; attempt 0: none yet */
	struct log_id at;
	struct log_lines lines;
	struct runner *runner;
	struct run_log *live;
	struct log_reader *kept;
	int64_t omitted;
	struct buf raw, text;
};

static void go(struct logging *l);

/* --- beginning and end ------------------------------------------------- */

static void logging_free(struct logging *l)
{
	struct logging **at = &l->d->loggings;

	while (*at != l)
		at = &(*at)->next;
	*at = l->next;
	if (l->live)
		l->runner->ops->log_close(l->live);
	log_reader_close(l->kept);
	buf_free(&l->raw);
	buf_free(&l->text);
	free(l->id);
	free(l);
}

static void refuse(struct logging *l, const struct err *err)
{
	daemon_refuse(l->d, l->ask, err);
	logging_free(l);
}

static void finish(struct logging *l)
{
	daemon_say(l->d, l->ask,
	           json_pack("{s:b, s:I}", "whole", 1, "omitted",
	                     (json_int_t)l->omitted));
	logging_free(l);
}

void daemon_log_gone(struct daemon *d, const struct ask *ask)
{
	for (struct logging *l = d->loggings; l; l = l->next)
		if (l->ask == ask) {
			logging_free(l);
			return;
		}
}

void daemon_free_logs(struct daemon *d)
{
	while (d->loggings)
		logging_free(d->loggings);
}

/* --- sending output ---------------------------------------------------- */

static void on_drained(struct ask *ask, void *arg)
{
	struct logging *l = arg;

	(void)ask;
	if (l->phase == LIVE)
		l->runner->ops->log_pause(l->live, false);
	else
		go(l);
}

/* Send some output. More is read when little is left to send. */
static void send_text(struct logging *l, const char *data, size_t len)
{
	size_t skip = (int64_t)len < l->wish.skip ? len : (size_t)l->wish.skip;

	l->wish.skip -= (int64_t)skip;
	if (len > skip)
		rpc_part(l->ask, data + skip, len - skip);
	rpc_when_drained(l->ask, on_drained, l);
}

/* --- reading from the runner ------------------------------------------- */

static void live_data(const void *data, size_t len, void *arg)
{
	struct logging *l = arg;

	l->runner->ops->log_pause(l->live, true);
	send_text(l, data, len);
}

static void live_end(const struct err *err, void *arg)
{
	struct logging *l = arg;

	l->live = NULL;
	l->phase = err ? REST : SEEK;
	if (err && err->code != ESTALE)
		refuse(l, err);
	else
		go(l);
}

static void begin_live(struct logging *l, const struct log_id *id)
{
	const struct run_reader reader = { live_data, live_end, l };

	l->at = *id;
	l->lines = (struct log_lines){ 0 };
	l->phase = LIVE;
	l->live = l->runner->ops->log_open(l->runner, id, l->wish.follow,
	                                   &l->lines, &reader);
}

/* --- reading from kept files ------------------------------------------- */

/* Open the kept file of this output and skip what was already sent. Returns
 * false if the file cannot be opened. */
static bool begin_kept(struct logging *l, const struct log_id *id)
{
	l->kept = log_reader_open(l->d->logs, id, NULL);
	if (!l->kept)
		return false;
	l->at = *id;
	l->omitted += log_reader_omitted(l->kept);
	log_lines_begin(&l->lines);
	l->phase = KEPT;
	rpc_when_drained(l->ask, on_drained, l);
	return true;
}

static void read_kept(struct logging *l)
{
	char *room;
	struct err err;
	ssize_t n;

	buf_clear(&l->raw);
	buf_clear(&l->text);
	room = buf_room(&l->raw, PIECE);
	n = log_reader_read(l->kept, room, PIECE, &err);
	if (n > 0 &&
	    log_lines_feed(&l->lines, room, (size_t)n, &l->text, &err) < 0)
		n = -1;
	if (n < 0) {
		refuse(l, &err);
	} else if (n) {
		send_text(l, l->text.data, l->text.len);
	} else {
		log_reader_close(l->kept);
		l->kept = NULL;
		l->phase = SEEK;
		go(l);
	}
}

/* --- finding the next output ------------------------------------------- */

static bool is_wanted(const struct logging *l, const struct log_id *id)
{
	return (l->wish.task < 0 || l->wish.task == id->task) &&
	       (!l->at.attempt || log_id_cmp(id, &l->at) > 0);
}

static bool find_kept(const struct logging *l, struct log_id *ret)
{
	struct log_id *list;
	size_t n = log_list(l->d->logs, l->wish.job, &list), i = 0;

	while (i < n && !is_wanted(l, &list[i]))
		i++;
	if (i < n)
		*ret = list[i];
	free(list);
	return i < n;
}

struct runner *logs_runner(const struct daemon *d, const struct job *job)
{
	uint32_t pool = state_node(d->state, job->place->task[0].node)->pool;
	struct runner *r = pool < d->npools ? d->pool[pool].runner : NULL;

	return r && r->ops->log_open ? r : NULL;
}

/* Find the next output of the job's running attempt. Returns false while the
 * attempt is still starting: outputs are sent in the order of ranks, and tasks
 * may start in another order. */
static bool find_live(struct logging *l, struct log_id *ret)
{
	const struct job *job = state_job(l->d->state, l->wish.job);
	if (!job || !job->place || job->state == JOB_CONFIGURING)
		return false;
	l->runner = logs_runner(l->d, job);
	if (!l->runner)
		return false;
	*ret = (struct log_id){ .job = job->id, .attempt = job->attempt };
	if (l->wish.task > 0)
		ret->task = (uint32_t)l->wish.task;
	if (l->at.attempt == job->attempt && l->at.task >= ret->task) {
		*ret = l->at;
		ret->again++;
	}
	return l->runner->ops->log_next(l->runner, ret, l->wish.follow) &&
	       is_wanted(l, ret);
}

/* No output can be read now. Wait if the client follows the job; else end the
 * answer, or refuse the request if there was no output at all. */
static void stop_seeking(struct logging *l)
{
	const struct job *job = state_job(l->d->state, l->wish.job);
	struct err err;

	if (job && l->wish.follow)
		return;
	if (l->at.attempt) {
		finish(l);
		return;
	}
	if (job)
		err_set(&err, EAGAIN, "job %s is %s: no output yet", l->id,
		        job_state_name((enum job_state)job->state));
	else
		err_set(&err, ENODATA, "job %s has ended and left no output",
		        l->id);
	refuse(l, &err);
}

static void seek(struct logging *l)
{
	struct log_id kept, live;
	bool is_kept = find_kept(l, &kept), is_live = find_live(l, &live);

	if (is_kept && !(is_live && log_id_cmp(&kept, &live) > 0)) {
		l->lines = (struct log_lines){ 0 };
		if (begin_kept(l, &kept))
			return;
	} else if (is_live) {
		begin_live(l, &live);
		return;
	}
	stop_seeking(l);
}

/* Send the rest of an output from its kept file. If the file is missing, wait
 * for it while the output's attempt is still the job's current one; after that,
 * look for the next output. */
static void await_rest(struct logging *l)
{
	const struct job *job = state_job(l->d->state, l->wish.job);

	if (begin_kept(l, &l->at))
		return;
	if (job && job->place && job->attempt == l->at.attempt)
		return;
	l->phase = SEEK;
	seek(l);
}

static void go(struct logging *l)
{
	switch (l->phase) {
	case SEEK:
		seek(l);
		break;
	case REST:
		await_rest(l);
		break;
	case KEPT:
		read_kept(l);
		break;
	case LIVE:
		break;
	}
}

void daemon_check_logs(struct daemon *d)
{
	for (struct logging *l = d->loggings, *next; l; l = next) {
		next = l->next;
		if (l->phase == SEEK || l->phase == REST)
			go(l);
	}
}

/* --- requests ---------------------------------------------------------- */

bool logs_are_kept(const struct daemon *d, uint64_t job)
{
	struct log_id *list;
	size_t n = log_list(d->logs, job, &list);

	free(list);
	return n > 0;
}

static int check_limits(const struct daemon *d, uid_t uid, struct err *err)
{
	unsigned all = 0, own = 0;

	for (const struct logging *l = d->loggings; l; l = l->next) {
		all++;
		own += l->wish.uid == uid;
	}
	if (own >= LIMIT_LOGS_USER)
		return err_set(err, EBUSY,
		               "you are reading %u logs already: end one", own);
	if (all >= LIMIT_LOGS)
		return err_set(err, EBUSY,
		               "%u logs are being read: try again later", all);
	return 0;
}

int logs_begin(struct daemon *d, struct ask *ask, const struct logs_wish *wish,
               struct err *err)
{
	struct logging *l;

	if (check_limits(d, wish->uid, err) < 0)
		return -1;
	l = xcalloc(1, sizeof(*l));
	l->d = d;
	l->ask = ask;
	l->wish = *wish;
	l->id = xstrdup(wish->id);
	l->wish.id = l->id;
	if (l->wish.skip < 0)
		l->wish.skip = 0;
	l->next = d->loggings;
	d->loggings = l; /* daemon_check_logs() continues it in this turn */
	return 0;
}

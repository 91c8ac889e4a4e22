/* audit.c - record who did what, and list these records on a thread */
#include "aischedd/op/audit.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aischedd/op/access.h"
#include "aischedd/store/audit.h"
#include "aischedd/thread.h"
#include "libcommon/clock.h"
#include "libcommon/log.h"
#include "libcommon/mem.h"
#include "libcommon/parse.h"

enum {
	ROWS = 10000, /* most rows in one answer */
	REFUSED = 10  /* refused acts of one user that are recorded in a
	                 minute */
};

void audit_job(struct daemon *d, const struct peer *peer, const char *act,
               uint64_t job, const char *display_id, const char *owner,
               const char *text)
{
	char *target = xasprintf("job %s", display_id);

	store_audit(d->store, &(struct audit_row){
				  .time_ms = clock_wall_us() / 1000,
				  .uid = peer->uid,
				  .user = peer->user,
				  .act = act,
				  .job = job,
				  .target = target,
				  .owner = owner,
				  .text = text,
			      });
	if (strcmp(peer->user, owner) != 0)
		log_notice("job %s job=%s user=%s owner=%s%s%s%s", act,
		           display_id, peer->user, owner, text ? " text='" : "",
		           text ? text : "", text ? "'" : "");
	free(target);
}

bool audit_may_refuse(struct daemon *d, const struct peer *peer, bool *ret_last)
{
	int64_t minute = clock_boot_ms() / 60000;
	uintptr_t n;

	if (minute != d->refused_minute)
		map_free(&d->refused);
	d->refused_minute = minute;
	n = (uintptr_t)map_find(&d->refused, peer->uid) + 1;
	if (n > REFUSED)
		return false;
	map_set(&d->refused, peer->uid, (void *)n);
	*ret_last = n == REFUSED;
	return true;
}

void audit_act(struct daemon *d, const struct peer *peer, const char *act,
               const char *what, const char *name, const char *text)
{
	char *target = xasprintf("%s%s%s", what, *name ? " " : "", name);

	store_audit(d->store, &(struct audit_row){
				  .time_ms = clock_wall_us() / 1000,
				  .uid = peer->uid,
				  .user = peer->user,
				  .act = act,
				  .target = target,
				  .text = text,
			      });
	free(target);
}

void daemon_note_signal(struct daemon *d, const char *act, const char *what,
                        const char *signal)
{
	uid_t uid = geteuid();
	char *user = uid ? xasprintf("%u", (unsigned)uid) : xstrdup("root");
	const struct peer self = { .known = true, .uid = uid, .user = user };

	audit_act(d, &self, act, what, "", signal);
	free(user);
}

/* --- listing acts ------------------------------------------------------ */

struct audit_list {
	struct thread_task task;
	struct daemon *d;
	struct kept_ask ask;
	json_t *body, *rows;
	char *path, *about;
	/* names of the queues that the peer operates */
	struct buf queues;
	struct audit_query query;
	int result;
	struct err err;
};

static void list_free(struct audit_list *l)
{
	json_decref(l->body);
	json_decref(l->rows);
	free(l->path);
	free(l->about);
	buf_free(&l->queues);
	free(l);
}

static void put_row(const struct audit_row *row, void *arg)
{
	struct audit_list *l = arg;

	json_array_append_new(
	    l->rows,
	    json_pack("{s:f, s:I, s:s?, s:s?, s:s?, s:s?, s:s?}", "time",
	              (double)row->time_ms / 1e3, "uid", (json_int_t)row->uid,
	              "user", row->user, "act", row->act, "target", row->target,
	              "owner", row->owner, "text", row->text));
}

static void list_work(struct thread_task *task)
{
	struct audit_list *l = (struct audit_list *)(void *)task;

	l->result = store_audit_list(l->path, &l->query, put_row, l, &l->err);
}

static void list_done(struct thread_task *task)
{
	struct audit_list *l = (struct audit_list *)(void *)task;

	if (daemon_is_open(l->d, &l->ask)) {
		if (l->result < 0)
			daemon_refuse(l->d, l->ask.ask, &l->err);
		else
			daemon_say(l->d, l->ask.ask,
			           json_pack("{s:O}", "audit", l->rows));
	}
	list_free(l);
}

static int64_t integer_of(json_t *body, const char *key, int64_t none)
{
	json_t *value = json_object_get(body, key);

	return value ? json_integer_value(value) : none;
}

/* Append the names of the queues that the peer operates, in the
 * form ",a,b,". */
static void list_queues(const struct daemon *d, const struct peer *peer,
                        struct buf *out)
{
	buf_addc(out, ',');
	for (uint32_t i = 0; i < d->conf->nqueues; i++)
		if (access_operates(d, peer, i))
			buf_printf(out, "%s,", d->conf->queues[i].name);
}

/* List acts: users see their own acts and acts on their jobs; operators also
 * see acts on their queues and on jobs there; admins see all. */
int op_audit(struct daemon *d, struct ask *ask, const struct request_in *in,
             struct err *err)
{
	struct audit_list *l = xcalloc(1, sizeof(*l));
	int64_t limit = integer_of(in->body, "limit", 100);

	(void)err;
	l->task = (struct thread_task){ .work = list_work, .done = list_done };
	l->d = d;
	l->ask = daemon_keep(d, ask);
	l->body = json_incref(in->body);
	l->rows = json_array();
	l->path = xstrdup(store_path(d->store));
	if (access_role(d, in->peer) < ROLE_ADMIN) {
		l->about = xstrdup(in->peer->user);
		list_queues(d, in->peer, &l->queues);
	}
	l->query = (struct audit_query){
		.user = json_string_value(json_object_get(l->body, "user")),
		.act = json_string_value(json_object_get(l->body, "act")),
		.about = l->about,
		.queues = l->queues.data,
		.job = (uint64_t)integer_of(l->body, "job", 0),
		.since = integer_of(l->body, "since", NO_TIME),
		.until = integer_of(l->body, "until", NO_TIME),
		.limit = limit > 0 && limit < ROWS ? (size_t)limit : ROWS,
	};
	thread_do(d->history, &l->task);
	return 0;
}

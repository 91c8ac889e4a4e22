/* past.c - rows of a listing from the history */
#include <stddef.h>
#include <string.h>

#include "aischedd/read/read.h"
#include "libcommon/hostlist.h"
#include "libcommon/mem.h"

/* PAST_ROWS: most rows read by one query. PAST_IDS: most ids of a request that
 * are looked up over one connection, as a task of the reader's thread. */
enum { PAST_ROWS = 2000, PAST_IDS = 1000 };

static bool placed_on(const char *place, const struct filter *nodes)
{
	for (const char *s = place; s && *s;) {
		const char *end = strchr(s, ';');

		size_t len = strcspn(s, ":"), pool = strcspn(s, "/:");

		if (filter_has_part(nodes, s, len) ||
		    (pool < len &&
		     filter_has_part(nodes, s + pool + 1, len - pool - 1)))
			return true;
		s = end ? end + 1 : NULL;
	}
	return false;
}

/* Returns the key by which the page orders an ended job: without a sort, the
 * time of its end. */
static const char *key_of(struct reading *r, const struct past_job *past)
{
	buf_clear(&r->key_text);
	if (!r->page.sort) {
		buf_i64(&r->key_text, past->job.runs->end);
		return r->key_text.data;
	}
	listing_past(&r->key, past, &r->key_text);
	r->key_text.data[--r->key_text.len] = '\0';
	return r->key_text.data;
}

/* Add a row of the history to the listing. Runs on the reader's thread, so it
 * uses nothing but the reading. */
static void past_row(const struct past_job *past, void *arg)
{
	struct reading *r = arg;
	const struct job *job = &past->job;

	r->past_rows++;
	r->query.after = job->runs->end;
	r->query.after_id = job->id;
	if (!veil_shows(&r->veil, past->user, past->queue))
		return;
	if (r->wanted) {
		if (!reading_means(&r->wanted[r->wanted_at].id.tasks, job))
			return;
		r->wanted[r->wanted_at].found = true;
	}
	if (map_find(&r->active_told, job->id) ||
	    !reading_fits(r, job, past->user, past->queue))
		return;
	if (!r->by.nodes.all && !placed_on(past->place, &r->by.nodes))
		return;
	if (!page_offer(&r->page, key_of(r, past), job->id))
		return;
	listing_past(&r->listing, past, &r->out);
	reading_wrote(r);
}

static bool was_on(const char *nodes, const struct filter *wanted)
{
	struct hostlist list;
	bool was = wanted->all;

	if (was || !nodes || hostlist_parse(&list, nodes, NULL) < 0)
		return was;
	for (size_t i = 0; i < list.n && !was; i++)
		was = filter_has(wanted, list.name[i]);
	hostlist_free(&list);
	return was;
}

/* As past_row(), for a row of an attempt. */
static void past_attempt(const struct past_attempt *past, void *arg)
{
	struct reading *r = arg;
	const struct idset *tasks =
	    r->wanted ? &r->wanted[r->wanted_at].id.tasks : NULL;

	r->past_rows++;
	r->query.after = past->ended_ms;
	r->query.after_id = past->job;
	r->query.after_attempt = past->attempt;
	if (!veil_shows(&r->veil, past->user, past->queue) ||
	    (tasks && tasks->n && !idset_has(tasks, past->array_task)))
		return;
	if (r->wanted)
		r->wanted[r->wanted_at].found = true;
	if ((r->only_user && strcmp(r->only_user, past->user)) ||
	    !filter_has(&r->by.users, past->user) ||
	    !filter_has(&r->by.queues, past->queue) ||
	    !filter_has(&r->by.accounts, past->account ? past->account : "") ||
	    !filter_has_state(&r->by, (enum job_state)past->state) ||
	    !was_on(past->nodes, &r->by.nodes))
		return;
	listing_attempt(&r->listing, past, &r->out);
	r->rows++;
}

static uint32_t only_task(const struct jobid *id)
{
	return id->tasks.n && idset_count(&id->tasks) == 1
	           ? idset_min(&id->tasks)
	           : NO_TASK;
}

static void aim(struct reading *r)
{
	const struct jobid *id = &r->wanted[r->wanted_at].id;

	r->query.id = id->job;
	r->query.task = only_task(id);
}

/* Aim the query at the next id of the request, if one task of the reader's
 * thread can look up both. */
static bool next_id(void *arg)
{
	struct reading *r = arg;
	size_t at = r->wanted_at + 1;

	if (at >= r->nwanted || at % PAST_IDS == 0 ||
	    r->past_rows >= PAST_ROWS || r->out.len >= READ_PIECE ||
	    page_is_full(&r->page) ||
	    (only_task(&r->wanted[at].id) == NO_TASK) !=
	        (r->query.task == NO_TASK))
		return false;
	r->query.after = NO_TIME;
	r->wanted_at = at;
	aim(r);
	return true;
}

static struct reading *of_task(struct thread_task *task)
{
	return (struct reading *)(void *)((char *)task -
	                                  offsetof(struct reading, task));
}

static void work(struct thread_task *task)
{
	struct reading *r = of_task(task);

	r->result =
	    r->listing.kind == LIST_ATTEMPTS
		? store_attempts(r->store_path, &r->query, past_attempt, r,
	                         &r->err)
		: store_history(r->store_path, &r->query, past_row, r, &r->err);
}

static void done(struct thread_task *task)
{
	struct reading *r = of_task(task);

	r->in_thread = false;
	if (r->gone) {
		reading_free(r);
		return;
	}
	if (r->result < 0) {
		daemon_refuse(r->d, r->ask, &r->err);
		reading_free(r);
		return;
	}
	if (r->past_rows < PAST_ROWS || page_is_full(&r->page)) {
		/* The query has returned its last row, or the page is full: go
		 * on with the next id of the request. */
		r->query.after = NO_TIME;
		r->wanted_at++;
	}
	reading_flush(r);
}

/* Let an unsorted page begin behind its cursor if the cursor is an ended job.
 * Do nothing if the request asks for a count, as this takes all rows. */
static void begin_at_cursor(struct reading *r)
{
	const struct page *page = &r->page;

	if (!page->begins || page->sort || page->counts ||
	    r->query.after != NO_TIME || page->after.number < 0)
		return;
	r->query.after = (int64_t)page->after.number;
	r->query.after_id = page->after.id;
}

void read_past(struct reading *r)
{
	if (r->wanted)
		aim(r);
	begin_at_cursor(r);
	/* The next id needs another query than the rest of this one's rows. */
	r->query.next = r->wanted && r->query.after == NO_TIME ? next_id : NULL;
	if (!r->store_path)
		r->store_path = xstrdup(store_path(r->d->store));
	r->query.ended_only = true;
	r->query.limit = PAST_ROWS;
	r->task = (struct thread_task){ .work = work, .done = done };
	r->past_rows = 0;
	r->in_thread = true;
	thread_do(r->d->history, &r->task);
}

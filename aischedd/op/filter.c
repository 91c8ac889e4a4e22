/* filter.c - lists of strings in a request that select jobs */
#include "aischedd/op/filter.h"

#include <stdlib.h>
#include <string.h>

#include "aischedd/op/access.h"
#include "aischedd/state/cluster/node.h"
#include "aischedd/state/cluster/pool.h"
#include "libcommon/labels.h"
#include "libcommon/mem.h"
#include "libcommon/steps.h"

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void filter_init(struct filter *f, const json_t *list)
{
	size_t n = json_array_size(list), i;
	const json_t *item;

	*f = (struct filter){ .all = !list };
	if (!n)
		return;
	f->text = xcalloc(n, sizeof(*f->text));
	json_array_foreach(list, i, item)
		f->text[i] = json_string_value(item);
	qsort(f->text, n, sizeof(*f->text), by_text);
	for (i = 0; i < n; i++)
		if (!f->n || strcmp(f->text[i], f->text[f->n - 1]) != 0)
			f->text[f->n++] = f->text[i];
	steps_add(n);
}

void filter_fini(struct filter *f)
{
	free(f->text);
}

void veil_init(struct veil *v, const struct daemon *d, const struct peer *peer,
               const char *what)
{
	*v = (struct veil){ .hides = access_hides(d, peer, what) };
	if (!v->hides)
		return;
	v->user = xstrdup(peer->user);
	v->names = access_queues(d, peer);
	filter_init(&v->queues, v->names);
}

void veil_fini(struct veil *v)
{
	free(v->user);
	filter_fini(&v->queues);
	json_decref(v->names);
}

bool veil_shows(const struct veil *v, const char *user, const char *queue)
{
	return !v->hides || !strcmp(v->user, user) ||
	       filter_has(&v->queues, queue);
}

void filters_init(struct filters *f, const json_t *body)
{
	const json_t *states = json_object_get(body, "states"), *item;
	size_t i;

	filter_init(&f->users, json_object_get(body, "users"));
	filter_init(&f->queues, json_object_get(body, "queues"));
	filter_init(&f->names, json_object_get(body, "names"));
	filter_init(&f->nodes, json_object_get(body, "nodes"));
	filter_init(&f->accounts, json_object_get(body, "accounts"));
	filter_init(&f->labels, json_object_get(body, "labels"));
	f->all_states = !states;
	f->states = 0;
	json_array_foreach(states, i, item) {
		int state = job_state_parse(json_string_value(item));

		if (state >= 0)
			f->states |= 1u << state;
	}
}

void filters_fini(struct filters *f)
{
	free(f->users.text);
	free(f->queues.text);
	free(f->names.text);
	free(f->nodes.text);
	free(f->accounts.text);
	free(f->labels.text);
}

bool filter_has_part(const struct filter *f, const char *text, size_t len)
{
	size_t low = 0, high = f->n;

	steps_add(1);
	while (low < high) {
		size_t mid = low + (high - low) / 2;
		int order = strncmp(f->text[mid], text, len);

		if (!order)
			order = f->text[mid][len] != '\0';
		if (!order)
			return true;
		if (order < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return f->all;
}

bool filter_has(const struct filter *f, const char *text)
{
	return f->all || filter_has_part(f, text, strlen(text));
}

bool filter_has_state(const struct filters *f, enum job_state state)
{
	return f->all_states || f->states >> state & 1;
}

bool filter_labels(const struct filters *f, const char *labels)
{
	for (size_t i = 0; i < f->labels.n; i++) {
		steps_add(1);
		if (!labels_have(labels, f->labels.text[i]))
			return false;
	}
	return true;
}

int filter_check_labels(const struct filters *f, struct err *err)
{
	if (f->labels.n > LABELS_MAX)
		return err_set(err, EINVAL,
		               "%zu labels are wanted, and a job may have %d",
		               f->labels.n, LABELS_MAX);
	for (size_t i = 0; i < f->labels.n; i++)
		if (labels_check_wanted(f->labels.text[i], err) < 0)
			return -1;
	return 0;
}

int filter_check(const struct daemon *d, const struct filters *f,
                 struct err *err)
{
	for (size_t i = 0; i < f->queues.n; i++)
		if (conf_queue_find(d->conf, f->queues.text[i]) < 0)
			return err_set(err, ENOENT,
			               "there is no queue '%s'; `aiq --queues` "
			               "lists them",
			               f->queues.text[i]);
	for (size_t i = 0; i < f->nodes.n; i++)
		if (state_node_find(d->state, f->nodes.text[i]) < 0 &&
		    state_pool_unready(d->state) < 0)
			return err_set(err, ENOENT,
			               "there is no node '%s'; `aiq --nodes` "
			               "lists them",
			               f->nodes.text[i]);
	return 0;
}

size_t filter_unique(const json_t *list, const char **ret)
{
	struct map known = { 0 };
	const json_t *item;
	size_t n = 0, i;

	json_array_foreach(list, i, item) {
		const char *text = json_string_value(item), *was;
		uint64_t hash = hash_bytes(0, text, strlen(text));

		was = map_find(&known, hash);
		if (was && !strcmp(was, text))
			continue;
		map_set(&known, hash, (char *)(uintptr_t)text);
		ret[n++] = text;
	}
	map_free(&known);
	steps_add(i);
	return n;
}

struct job *filter_resume(const struct state *state, uint64_t next,
                          uint64_t last)
{
	struct job *job = state_job(state, next);

	if (job)
		return job;
	job = state_job(state, last);
	if (!job)
		job = state_first_job(state);
	while (job && job->id < next) {
		job = job->all_next;
		steps_add(1);
	}
	return job;
}

/* ports.c - Services that lead to the ports of jobs (--port) */
#include "aischedd/run/kube/space/ports.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aischedd/run/kube/answer.h"
#include "aischedd/run/kube/attempt.h"
#include "aischedd/run/kube/client/json.h"
#include "aischedd/run/kube/kube.h"
#include "libcommon/clock.h"
#include "libcommon/mem.h"
#include "libcommon/spec/ports.h"

/* How long a list that is refused is not repeated, as for lack of a right. */
enum { REFUSED_MS = 30000 };

/* --- the Services that are known --- */

static char *name_of(const struct kube *kube, uint64_t job)
{
	struct buf name = { 0 };

	ports_service(kube->home.cluster, job, &name);
	return buf_take(&name);
}

static struct kube_ports *find(const struct kube_space *space, const char *name)
{
	return map_find(&space->kube->ports, kube_space_key(space, name));
}

static struct kube_ports *get(struct kube_space *space, uint64_t job)
{
	char *name = name_of(space->kube, job);
	struct kube_ports *p = find(space, name);

	if (p) {
		free(name);
		return p;
	}
	p = xcalloc(1, sizeof(*p));
	p->kube = space->kube;
	p->space = space;
	p->job = job;
	p->name = name;
	map_set(&space->kube->ports, kube_space_key(space, name), p);
	return p;
}

static void ports_free(struct kube_ports *p)
{
	free(p->name);
	free(p->uid);
	free(p);
}

void kube_ports_free(struct kube *kube)
{
	struct kube_ports *p;
	size_t at = 0;

	while ((p = map_each(&kube->ports, &at)))
		ports_free(p);
	map_free(&kube->ports);
}

bool kube_ports_used(const struct kube_space *space)
{
	const struct kube_ports *p;
	size_t at = 0;

	if (!space->ports.done && !space->ports.why.code)
		return true;
	while ((p = map_each(&space->kube->ports, &at)))
		if (p->space == space)
			return true;
	return false;
}

/* --- delete Services --- */

/* Delete the Service if it is not wanted. Returns true if it is gone and can be
 * forgotten. */
static bool step(struct kube_ports *p)
{
	if (!p->unwanted || p->asking)
		return false;
	if (!p->uid && !p->unsure)
		return true;
	if (!kube_lease_left_ms(p->kube->lease) || clock_boot_ms() < p->rest_ms)
		return false;
	if (p->uid)
		kube_ask_ports(p, NULL, ASK_UNPORTS,
		               kube_object_deletion(p->uid, -1));
	else
		kube_ask_ports(p, NULL, ASK_PORTS_LOOK, NULL);
	return false;
}

static void forget(struct kube_ports *p)
{
	map_del(&p->kube->ports, kube_space_key(p->space, p->name));
	ports_free(p);
}

/* Step all Services, and forget those that are gone. */
static void step_all(struct kube *kube)
{
	struct kube_ports *p, *gone;
	size_t at;

	do {
		gone = NULL;
		at = 0;
		while (!gone && (p = map_each(&kube->ports, &at)))
			if (step(p))
				gone = p;
		if (gone)
			forget(gone);
	} while (gone);
}

void kube_ports_none(struct runner *r, uint64_t job, const char *but)
{
	struct kube *kube = kube_of(r);

	for (size_t i = 0; i < kube->spaces.n; i++) {
		struct kube_space *space = kube->spaces.s[i];
		char *name = name_of(kube, job);
		struct kube_ports *p = find(space, name);

		free(name);
		if (!p || (but && !strcmp(space->name, but)))
			continue;
		p->unwanted = true;
		if (step(p))
			forget(p);
	}
}

/* --- make Services --- */

void kube_ports_order(struct kube_attempt *a, const struct run_job *job)
{
	struct kube_home home = kube_space_home(a->space);

	if (!job->spec->ports)
		return;
	kube_ports_none(&a->kube->runner, job->job, a->space->name);
	get(a->space, job->job)->unwanted = false;
	a->make.ports = kube_object_ports(&home, job);
}

void kube_ports_make(struct kube_attempt *a)
{
	const struct kube_ports_list *list = &a->space->ports;
	struct kube_ports *p;

	if (!a->make.ports)
		return;
	if (!list->done) {
		if (list->why.code)
			kube_end_fail(a, FAULT_POOL, list->why.text);
		return;
	}
	p = get(a->space, a->id.job);
	if (p->asking)
		return;
	p->unsure = true;
	kube_ask_ports(p, a, ASK_PORTS, json_incref(a->make.ports));
}

/* --- answers --- */

static bool is_ours(const struct kube_space *space, const json_t *obj,
                    uint64_t *ret_job)
{
	const char *name =
	    kube_text_at(json_object_get(obj, "metadata"), "name");
	struct kube_home home = kube_space_home(space);
	struct kube_owner owner;
	char *its;
	bool same;

	if (!name || !kube_object_is_ours(obj, &home, &owner) || owner.attempt)
		return false;
	its = name_of(space->kube, owner.job);
	same = !strcmp(name, its);
	free(its);
	*ret_job = owner.job;
	return same;
}

static void is_there(struct kube_ports *p, const json_t *obj)
{
	const char *uid = kube_text_at(json_object_get(obj, "metadata"), "uid");

	text_set(&p->uid, uid);
	p->unsure = false;
}

static void is_gone(struct kube_ports *p)
{
	text_set(&p->uid, NULL);
	p->unsure = false;
}

/* Handle the answer to making the Service. If its name is taken, it was made
 * for an earlier attempt or by an earlier call; if its uid is not known, look
 * whose it is. */
static void on_made(struct kube_ports *p, struct kube_attempt *a,
                    const struct kube_answer *answer)
{
	const struct err *err = answer->err;

	if (!err)
		is_there(p, answer->body);
	else if (err->code == EEXIST && !p->uid)
		kube_ask_ports(p, a, ASK_PORTS_LOOK, NULL);
	else if (answer->code >= 400 && answer->code < 500)
		p->unsure = false;
	if (a && !p->asking)
		kube_answer_object(a, &a->make.ports, err);
}

/* Handle the Service that was read because its name is taken. */
static void on_look(struct kube_ports *p, struct kube_attempt *a,
                    const struct kube_answer *answer)
{
	const struct err *err = answer->err;
	struct err taken;
	uint64_t job;

	if (err && err->code == ENOENT) {
		is_gone(p); /* the next step makes it again, if wanted */
		return;
	}
	if (!err && is_ours(p->space, answer->body, &job)) {
		is_there(p, answer->body);
	} else if (!err) {
		is_gone(p);
		err = &taken;
		err_set(&taken, EPERM,
		        "Service '%s' in namespace '%s' exists and is not "
		        "ours: delete it",
		        p->name, p->space->name);
	}
	if (a)
		kube_answer_object(a, &a->make.ports, err);
}

void kube_ports_answered(struct kube_space *space, const char *name,
                         struct kube_attempt *a, enum kube_ask_kind kind,
                         const struct kube_answer *answer)
{
	struct kube_ports *p = find(space, name);
	const struct err *err = answer->err;

	p->asking = false;
	if (err)
		p->rest_ms = clock_boot_ms() + KUBE_REST_MS;
	if (kind == ASK_PORTS)
		on_made(p, a, answer);
	else if (kind == ASK_PORTS_LOOK)
		on_look(p, a, answer);
	else if (!err || err->code == ENOENT || err->code == ESTALE)
		is_gone(p); /* or a Service of others has the name by now */
	if (step(p))
		forget(p);
}

/* --- list the Services of a namespace --- */

static void ask_list(struct kube_space *space, const char *page)
{
	space->ports.asking = true;
	kube_ask_ports_list(space, page);
}

void kube_ports_step(struct kube *kube)
{
	int64_t now = clock_boot_ms();

	if (!kube->recovery.done || !kube_lease_left_ms(kube->lease))
		return;
	for (size_t i = 0; i < kube->spaces.n; i++) {
		struct kube_space *space = kube->spaces.s[i];
		struct kube_ports_list *list = &space->ports;

		if (!space->left && !list->done && !list->asking &&
		    now >= list->rest_ms)
			ask_list(space, NULL);
	}
	step_all(kube);
}

static void found(struct kube_space *space, const json_t *obj)
{
	struct kube_ports *p;
	uint64_t job;

	if (!is_ours(space, obj, &job))
		return;
	p = get(space, job);
	if (p->asking)
		return;
	is_there(p, obj);
	space->kube->fn(&(struct run_event){ .kind = RUN_PORTS, .job = job },
	                space->kube->arg);
}

void kube_ports_listed(struct kube_space *space,
                       const struct kube_answer *answer)
{
	const json_t *meta = json_object_get(answer->body, "metadata");
	const char *page = kube_text_at(meta, "continue");
	struct kube_ports_list *list = &space->ports;
	const json_t *obj;
	size_t i;

	list->asking = false;
	list->why.code = 0;
	if (answer->err) {
		if (!kube_answer_is_passing(answer->err))
			list->why = *answer->err;
		list->rest_ms =
		    clock_boot_ms() +
		    (answer->code == 403 ? REFUSED_MS : KUBE_REST_MS);
		return;
	}
	json_array_foreach(json_object_get(answer->body, "items"), i, obj)
		found(space, obj);
	if (page && *page)
		ask_list(space, page);
	else
		list->done = true;
}

/* kube_drain.c - nodes that an admin of ours drains are cordoned */
#include "aischedd/run/kube_drain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aischedd/run/kube.h"
#include "libcommon/buf.h"
#include "libcommon/mem.h"

/* A node, as far as it matters here. */
struct drain {
	char *node;
	char *reason;  /* NULL: it is not drained */
	bool seen;     /* the cluster has it */
	bool ours;     /* our annotation is there */
	bool cordoned; /* by whomever */
	bool asking;
};

struct drain_call {
	TAILQ_ENTRY(drain_call) of_list;
	struct kube *kube;
	char *node;
};

static struct drain *find(struct kube *kube, const char *node)
{
	return map_find(&kube->drains, kube_text_key(node));
}

static struct drain *intern(struct kube *kube, const char *node)
{
	struct drain *d = find(kube, node);

	if (d)
		return d;
	d = xcalloc(1, sizeof(*d));
	d->node = xstrdup(node);
	map_set(&kube->drains, kube_text_key(node), d);
	return d;
}

static void drain_free(struct drain *d)
{
	free(d->node);
	free(d->reason);
	free(d);
}

static void call_free(struct drain_call *call)
{
	TAILQ_REMOVE(&call->kube->drain_calls, call, of_list);
	free(call->node);
	free(call);
}

void kube_drain_free(struct kube *kube)
{
	struct drain_call *call;
	struct drain *d;
	size_t at = 0;

	while ((call = TAILQ_FIRST(&kube->drain_calls)))
		call_free(call);
	while ((d = map_each(&kube->drains, &at)))
		drain_free(d);
	map_free(&kube->drains);
}

/* --- asking --- */

static void on_answer(const struct kube_answer *answer, void *arg)
{
	struct drain_call *call = arg;
	struct kube *kube = call->kube;
	struct drain *d = find(kube, call->node);

	if (d)
		d->asking = false;
	if (!answer->err) {
		kube->undrained.code = 0;
		kube_drain_seen(kube, answer->body, false);
	} else if (answer->err->code != ENOENT) {
		kube->undrained = *answer->err; /* the tick asks again */
	}
	call_free(call);
}

/* reason NULL: it is used again. */
static json_t *patch_of(const struct kube *kube, const char *reason)
{
	return json_pack("{s:{s:{s:s?, s:s?, s:s?}}, s:{s:o}}", "metadata",
	                 "annotations", KUBE_NOTE_DRAINED, reason,
	                 KUBE_NOTE_STORE, reason ? kube->home.store : NULL,
	                 KUBE_NOTE_POOL, reason ? kube->pool->name : NULL,
	                 "spec", "unschedulable",
	                 reason ? json_true() : json_null());
}

static void ask(struct kube *kube, struct drain *d)
{
	struct drain_call *call = xcalloc(1, sizeof(*call));
	json_t *body = patch_of(kube, d->reason);
	struct buf path = { 0 };

	d->asking = true;
	call->kube = kube;
	call->node = xstrdup(d->node);
	TAILQ_INSERT_TAIL(&kube->drain_calls, call, of_list);
	buf_puts(&path, "/api/v1/nodes");
	kube_path_name(&path, d->node);
	kube_lease_send(kube->lease, &path, body,
	                &(struct kube_request){ .method = KUBE_MERGE,
	                                        .rank = KUBE_CLEAN,
	                                        .done = on_answer,
	                                        .arg = call });
}

/* --- what is wanted, and what is --- */

/* Cordoned by others it stays as it is, and is theirs to uncordon. */
static void look(struct kube *kube, struct drain *d)
{
	bool cordon = d->reason && !d->ours && !d->cordoned;
	bool uncordon = !d->reason && d->ours;

	if (kube->recovered && kube_lease_left_ms(kube->lease) && d->seen &&
	    !d->asking && (cordon || uncordon))
		ask(kube, d);
}

void kube_drain_step(struct kube *kube)
{
	struct drain *d;
	size_t at = 0;

	while ((d = map_each(&kube->drains, &at)))
		look(kube, d);
}

void kube_drain(struct runner *r, const char *node, const char *reason)
{
	struct kube *kube = kube_of(r);
	struct drain *d = intern(kube, node);

	free(d->reason);
	d->reason = reason ? xstrdup(reason) : NULL;
	if (!reason) /* it may be cordoned by others still */
		kube_nodes_retell(kube->nodes, node);
	look(kube, d);
}

static bool says(const json_t *notes, const char *key, const char *value)
{
	const char *s = json_string_value(json_object_get(notes, key));

	return s && !strcmp(s, value);
}

void kube_drain_seen(struct kube *kube, const json_t *obj, bool deleted)
{
	const json_t *meta = json_object_get(obj, "metadata");
	const json_t *notes = json_object_get(meta, "annotations");
	const json_t *spec = json_object_get(obj, "spec");
	const char *name = json_string_value(json_object_get(meta, "name"));
	struct drain *d;

	if (!name)
		return;
	d = intern(kube, name);
	d->seen = !deleted;
	d->cordoned = json_is_true(json_object_get(spec, "unschedulable"));
	d->ours = json_object_get(notes, KUBE_NOTE_DRAINED) &&
	          says(notes, KUBE_NOTE_STORE, kube->home.store) &&
	          says(notes, KUBE_NOTE_POOL, kube->pool->name);
	look(kube, d);
}

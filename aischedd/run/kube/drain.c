/* drain.c - cordon the nodes that an admin drains */
#include "aischedd/run/kube/drain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aischedd/run/kube/client/json.h"
#include "aischedd/run/kube/client/path.h"
#include "aischedd/run/kube/kube.h"
#include "aischedd/run/kube/object/node.h"
#include "libcommon/buf.h"
#include "libcommon/mem.h"

/* A node: the state that the daemon wants, and the state that the watch
 * shows. */
struct drain_node {
	char *node;
	char *reason; /* why the daemon drains it; NULL: it does not */
	/* the reason in the node's annotation; NULL: we have not cordoned it */
	char *noted;
	bool seen;     /* the watch has shown the node */
	bool cordoned; /* it is cordoned, by us or by others */
	bool asking;
};

struct drain_call {
	TAILQ_ENTRY(drain_call) of_list;
	struct kube *kube;
	char *node;
};

static struct drain_node *find(struct kube *kube, const char *node)
{
	return map_find(&kube->drain.nodes, kube_text_key(node));
}

static struct drain_node *intern(struct kube *kube, const char *node)
{
	struct drain_node *d = find(kube, node);

	if (d)
		return d;
	d = xcalloc(1, sizeof(*d));
	d->node = xstrdup(node);
	map_set(&kube->drain.nodes, kube_text_key(node), d);
	return d;
}

static void drain_free(struct drain_node *d)
{
	free(d->node);
	free(d->reason);
	free(d->noted);
	free(d);
}

static void call_free(struct drain_call *call)
{
	TAILQ_REMOVE(&call->kube->drain.calls, call, of_list);
	free(call->node);
	free(call);
}

void kube_drain_free(struct kube *kube)
{
	struct drain_call *call;
	struct drain_node *d;
	size_t at = 0;

	while ((call = TAILQ_FIRST(&kube->drain.calls)))
		call_free(call);
	while ((d = map_each(&kube->drain.nodes, &at)))
		drain_free(d);
	map_free(&kube->drain.nodes);
}

/* --- make calls that cordon or uncordon a node --- */

static void on_answer(const struct kube_answer *answer, void *arg)
{
	struct drain_call *call = arg;
	struct kube *kube = call->kube;
	struct drain_node *d = find(kube, call->node);

	if (d)
		d->asking = false;
	if (!answer->err) {
		kube->drain.trouble.code = 0;
		kube_drain_seen(kube, answer->body, false);
	} else if (answer->err->code != ENOENT) {
		kube->drain.trouble =
		    *answer->err; /* the tick makes the call again */
	} else {
		kube_drain_forget(kube, call->node);
	}
	call_free(call);
}

static json_t *patch_of(const struct kube *kube, const struct drain_node *d)
{
	const char *reason = d->reason;
	json_t *patch =
	    json_pack("{s:{s:{s:s?, s:s?, s:s?}}}", "metadata", "annotations",
	              KUBE_NOTE_DRAINED, reason, KUBE_NOTE_STORE,
	              reason ? kube->home.store : NULL, KUBE_NOTE_POOL,
	              reason ? kube->pool->name : NULL);

	/* If only the reason has changed, leave spec.unschedulable as it is:
	 * somebody may have uncordoned the node since. */
	if (!reason || !d->noted)
		json_object_set_new(
		    patch, "spec",
		    json_pack("{s:o}", "unschedulable",
		              reason ? json_true() : json_null()));
	return patch;
}

static void ask(struct kube *kube, struct drain_node *d)
{
	struct drain_call *call = xcalloc(1, sizeof(*call));
	json_t *body = patch_of(kube, d);
	struct buf path = { 0 };

	d->asking = true;
	call->kube = kube;
	call->node = xstrdup(d->node);
	TAILQ_INSERT_TAIL(&kube->drain.calls, call, of_list);
	buf_puts(&path, "/api/v1/nodes");
	kube_path_name(&path, d->node);
	kube_lease_send(kube->lease, &path, body,
	                &(struct kube_request){ .method = KUBE_MERGE,
	                                        .rank = KUBE_CLEAN,
	                                        .done = on_answer,
	                                        .arg = call });
}

/* --- find nodes that need a call --- */

/* Whether the node needs no call. A node that is drained but was cordoned by
 * others gets no annotation, so we do not uncordon it later. */
static bool is_as_wanted(const struct drain_node *d)
{
	if (d->reason && d->noted)
		return !strcmp(d->reason, d->noted);
	return d->reason ? d->cordoned : !d->noted;
}

static void look(struct kube *kube, struct drain_node *d)
{
	if (kube->recovery.done && kube_lease_left_ms(kube->lease) && d->seen &&
	    !d->asking && !is_as_wanted(d))
		ask(kube, d);
}

void kube_drain_step(struct kube *kube)
{
	struct drain_node *d;
	size_t at = 0;

	while ((d = map_each(&kube->drain.nodes, &at)))
		look(kube, d);
}

void kube_drain(struct runner *r, const char *node, const char *reason)
{
	struct kube *kube = kube_of(r);
	struct drain_node *d = intern(kube, node);

	free(d->reason);
	d->reason = reason ? xstrdup(reason) : NULL;
	/* others may have cordoned the node, too: report its state again */
	if (!reason)
		kube_nodes_retell(kube->nodes, node);
	look(kube, d);
}

void kube_drain_forget(struct kube *kube, const char *node)
{
	struct drain_node *d = find(kube, node);

	if (!d)
		return;
	d->seen = false;
	if (!d->reason && !d->asking) {
		map_del(&kube->drain.nodes, kube_text_key(node));
		drain_free(d);
	}
}

static bool says(const json_t *notes, const char *key, const char *value)
{
	const char *s = kube_text_at(notes, key);

	return s && !strcmp(s, value);
}

/* Returns the reason for which this daemon cordoned the node; NULL: it did
 * not. */
static const char *our_note(const struct kube *kube, const json_t *notes)
{
	if (!says(notes, KUBE_NOTE_STORE, kube->home.store) ||
	    !says(notes, KUBE_NOTE_POOL, kube->pool->name))
		return NULL;
	return kube_text_at(notes, KUBE_NOTE_DRAINED);
}

void kube_drain_seen(struct kube *kube, const json_t *obj, bool deleted)
{
	const json_t *meta = json_object_get(obj, "metadata");
	const json_t *notes = json_object_get(meta, "annotations");
	const json_t *spec = json_object_get(obj, "spec");
	const char *name = kube_text_at(meta, "name");
	const char *noted = our_note(kube, notes);
	struct drain_node *d;

	if (!name)
		return;
	d = intern(kube, name);
	d->seen = !deleted;
	d->cordoned = json_is_true(json_object_get(spec, "unschedulable"));
	free(d->noted);
	d->noted = noted ? xstrdup(noted) : NULL;
	look(kube, d);
}

/* claims.c - find where volume claims can be mounted, and have their
 * volumes made */
#include "aischedd/run/kube/claim/claims.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aischedd/run/kube/claim/spare.h"
#include "aischedd/run/kube/client/json.h"
#include "aischedd/run/kube/kube.h"
#include "aischedd/run/kube/object/volume.h"
#include "libcommon/clock.h"
#include "libcommon/mem.h"

static struct map *map_of(struct kube *kube, int what)
{
	return what == SEE_CLAIMS    ? &kube->claims.claims
	       : what == SEE_VOLUMES ? &kube->claims.volumes
	                             : &kube->claims.classes;
}

static const json_t *find(const struct map *map, const char *name)
{
	const struct kube_seen *seen = map_find(map, kube_text_key(name));

	return seen && !seen->gone ? seen->obj : NULL;
}

static void seen_free(struct kube_seen *seen)
{
	json_decref(seen->obj);
	free(seen->name);
	free(seen->told);
	free(seen->picked);
	free(seen);
}

/* --- handle what the watches report --------------------------------------- */

/* Count one more refusal if the selected-node annotation has disappeared from
 * the claim: a provisioner removes it if it cannot make the volume for that
 * node. */
static void count_refusal(struct kube_seen *seen, const json_t *obj)
{
	struct kube_claim_said was, is;

	kube_claim_read(seen->obj, &was);
	kube_claim_read(obj, &is);
	seen->refusals += *was.selected && !*is.selected && !is.bound;
}

static uint64_t key_of(const struct kube_space *space, const char *name)
{
	return space ? kube_space_key(space, name) : kube_text_key(name);
}

static void on_object(struct kube *kube, const struct kube_space *space,
                      int what, json_t *obj, bool deleted)
{
	struct map *map = map_of(kube, what);
	const char *name =
	    kube_text_at(json_object_get(obj, "metadata"), "name");
	struct kube_seen *seen =
	    name ? map_find(map, key_of(space, name)) : NULL;

	if (!name || (!seen && deleted))
		return;
	if (!seen) {
		seen = xcalloc(1, sizeof(*seen));
		seen->space = space;
		seen->late = space && space->sight.synced[SEE_CLAIMS];
		seen->name = xstrdup(name);
		map_set(map, key_of(space, name), seen);
	} else if (what == SEE_CLAIMS) {
		count_refusal(seen, obj);
	}
	json_decref(seen->obj);
	seen->obj = json_incref(obj);
	seen->marked = false;
	seen->gone = deleted;
}

static void each(struct map *map, const struct kube_space *space, bool synced)
{
	struct kube_seen *seen;
	size_t at = 0;

	while ((seen = map_each(map, &at))) {
		if (seen->space != space)
			continue;
		seen->gone |= synced && seen->marked;
		seen->marked = !synced;
	}
}

void kube_claims_touch(struct kube *kube)
{
	kube->claims.changed = true;
}

void kube_claims_mounted(const struct kube_space *space, const json_t *names)
{
	struct kube_claims *c = &space->kube->claims;
	const json_t *name;
	size_t i;

	json_array_foreach(names, i, name) {
		struct kube_seen *seen = map_find(
		    &c->claims, key_of(space, json_string_value(name)));
		struct kube_claim_said said;

		if (!seen)
			continue;
		kube_claim_read(seen->obj, &said);
		seen->urgent |= said.bound;
		c->at_once |= said.bound;
	}
	c->changed = true;
}

void kube_claims_news(struct kube *kube, struct kube_space *space, int what,
                      enum kube_news news, json_t *obj)
{
	if (news == KUBE_RESET || news == KUBE_SYNCED)
		each(map_of(kube, what), space, news == KUBE_SYNCED);
	else if (news != KUBE_TROUBLE)
		on_object(kube, space, what, obj, news == KUBE_DELETED);
	kube_claims_touch(kube);
}

/* --- where a claim can be mounted ----------------------------------------- */

/* Where one claim can be mounted. If `no`, nowhere now, and `text` is the
 * reason. If `anywhere`, on each node. Else on the nodes in `text`, each
 * followed by a comma. */
struct reach {
	bool no, anywhere;
	enum volume_share share;
	struct buf text;
};

static void reach_nodes(struct kube *kube, const json_t *selector,
                        const json_t *topologies, struct reach *ret)
{
	ret->anywhere =
	    !json_is_object(selector) && !json_array_size(topologies);
	if (ret->anywhere)
		return;
	kube_reach_nodes(kube, selector, topologies, &ret->text);
	ret->no = !ret->text.len;
	if (ret->no)
		buf_printf(&ret->text,
		           "is on a volume that no node of pool '%s' reaches",
		           kube->pool->name);
}

const json_t *kube_claims_affinity(const json_t *volume)
{
	const json_t *spec = json_object_get(volume, "spec");

	return json_object_get(json_object_get(spec, "nodeAffinity"),
	                       "required");
}

static void reach_bound(struct kube *kube, const struct kube_claim_said *c,
                        struct reach *ret)
{
	const json_t *volume = find(&kube->claims.volumes, c->volume);

	if (volume) {
		reach_nodes(kube, kube_claims_affinity(volume), NULL, ret);
		return;
	}
	ret->no = true;
	buf_printf(&ret->text, "is bound to volume '%s', which is not there",
	           c->volume);
}

/* Set ret to the nodes that reach a free volume of the claim's class. */
static void reach_spare(struct kube *kube, const struct kube_seen *seen,
                        struct reach *ret)
{
	if (kube_claim_rules(seen->obj) > KUBE_CLAIM_RULES) {
		ret->no = true;
		buf_printf(&ret->text,
		           "is not bound to a volume yet: its selector and "
		           "access modes have more than %d entries",
		           KUBE_CLAIM_RULES);
		return;
	}
	ret->anywhere = kube_spare_nodes(kube, seen, &ret->text);
	ret->no = !ret->anywhere && !ret->text.len;
	if (ret->no)
		buf_printf(&ret->text,
		           "is not bound to a volume yet: StorageClass '%s' "
		           "makes none, and no free one suits it",
		           kube_text_at(json_object_get(seen->obj, "spec"),
		                        "storageClassName"));
}

/* Set ret to the nodes on which a claim without volume could be mounted. If the
 * StorageClass waits for a node, these are the nodes for which a volume can be
 * made, or that reach a free one. Otherwise sets ret->no, and ret->text to what
 * the claim waits for. */
static void reach_unbound(struct kube *kube, const struct kube_seen *seen,
                          const struct kube_claim_said *c, struct reach *ret)
{
	const json_t *class = find(&kube->claims.classes, c->class);
	const char *mode = kube_text_at(class, "volumeBindingMode");

	ret->no = true;
	if (!*c->class)
		buf_puts(&ret->text, "is not bound to a volume yet, and names "
		                     "no StorageClass");
	else if (!class)
		buf_printf(&ret->text,
		           "is not bound to a volume yet, and its StorageClass "
		           "'%s' is not there",
		           c->class);
	else if (!mode || strcmp(mode, "WaitForFirstConsumer") != 0)
		buf_printf(&ret->text,
		           "is not bound to a volume yet: StorageClass '%s' "
		           "makes one at once",
		           c->class);
	else if (kube_spare_is_class(class))
		reach_spare(kube, seen, ret);
	else
		reach_nodes(kube, NULL,
		            json_object_get(class, "allowedTopologies"), ret);
}

/* Restrict ret by the pods of others that mount the claim. The daemon itself
 * takes care of our own jobs that mount it. */
static void reach_with_others(const struct kube_seen *seen, struct reach *ret)
{
	if (ret->no || ret->share == VOLUME_SHARED || !seen->pod)
		return;
	buf_clear(&ret->text);
	ret->no = ret->share == VOLUME_ONE_POD;
	ret->anywhere = false;
	if (ret->no)
		buf_printf(&ret->text,
		           "is ReadWriteOncePod, and pod '%s' uses it",
		           seen->pod);
	else
		buf_printf(&ret->text, "%s,", seen->pod_node);
}

static void reach_of(struct kube *kube, const struct kube_seen *seen,
                     struct reach *ret)
{
	struct kube_claim_said c;

	kube_claim_read(seen->obj, &c);
	*ret = (struct reach){ .share = c.share };
	ret->no = c.deleting || c.lost;
	if (c.lost)
		buf_puts(&ret->text, "has lost its volume");
	else if (c.deleting)
		buf_puts(&ret->text, "is being deleted");
	else if (c.bound)
		reach_bound(kube, &c, ret);
	else
		reach_unbound(kube, seen, &c, ret);
	reach_with_others(seen, ret);
}

/* --- report claims to the daemon ------------------------------------------ */

/* Split text at its commas into *ret. Returns ret->s, which the caller frees;
 * the strings in it point into text. */
static const char **split(char *text, struct strlist *ret)
{
	const char **s = NULL;
	size_t cap = 0;
	char *word;

	while ((word = strsep(&text, ",")))
		if (*word) {
			s = GROW(s, ret->n, &cap);
			s[ret->n++] = word;
		}
	ret->s = s;
	return s;
}

static void tell(struct kube *kube, const struct volume_info *info)
{
	kube->fn(&(struct run_event){ .kind = RUN_VOLUME, .volume = info },
	         kube->arg);
}

static void tell_one(struct kube *kube, struct kube_seen *seen)
{
	struct volume_info info = { .namespace = seen->space->name,
		                    .name = seen->name };
	const char **list;
	struct reach r;
	char *now;

	reach_of(kube, seen, &r);
	now = xasprintf("%d %d %d %s", r.no, r.anywhere, r.share,
	                r.text.len ? r.text.data : "");
	if (seen->told && !strcmp(seen->told, now)) {
		free(now);
		buf_free(&r.text);
		return;
	}
	free(seen->told);
	seen->told = now;
	info.why = r.no ? r.text.data : NULL;
	info.share = r.share;
	info.anywhere = r.anywhere;
	list = r.no || !r.text.len ? NULL : split(r.text.data, &info.nodes);
	tell(kube, &info);
	free(list);
	buf_free(&r.text);
}

static void drop(struct kube *kube, struct map *map)
{
	bool told = map == &kube->claims.claims;
	struct kube_seen **gone = xcalloc(map->n + 1, sizeof(*gone)), *seen;
	size_t n = 0, at = 0;

	while ((seen = map_each(map, &at)))
		if (seen->gone)
			gone[n++] = seen;
	while (n--) {
		if (told)
			tell(kube, &(struct volume_info){
				       .namespace = gone[n]->space->name,
				       .name = gone[n]->name,
				       .gone = true });
		map_del(map, key_of(gone[n]->space, gone[n]->name));
		seen_free(gone[n]);
	}
	free(gone);
}

/* Returns NULL if claims of the namespace, volumes and StorageClasses have all
 * been listed; "" while a list has neither arrived nor failed; else why a list
 * has failed. */
static const char *unlisted(const struct kube_space *space)
{
	const char *why = NULL;

	for (int i = SEE_CLAIMS; i < SEE_SLICES; i++) {
		const struct kube_sight *sight =
		    i == SEE_CLAIMS ? &space->sight : &space->kube->sight;

		if (sight->synced[i])
			continue;
		if (!sight->blind[i].code)
			return "";
		why = sight->blind[i].text;
	}
	return why;
}

/* Whether the daemon was told of each claim that the list of the namespace
 * had. */
static bool all_told(const struct kube_space *space)
{
	const struct kube_seen *seen;
	size_t at = 0;

	while ((seen = map_each(&space->kube->claims.claims, &at)))
		if (seen->space == space && !seen->told && !seen->late &&
		    !seen->gone)
			return false;
	return true;
}

/* Tell the daemon, once, that it knows all claims of the namespace, or why
 * these cannot be listed. Returns false if it is too early. */
static bool tell_listed(struct kube_space *space)
{
	const char *why = unlisted(space);
	struct volume_info info = { .namespace = space->name, .why = why };

	if (why && !*why)
		return false;
	if (!why && !space->listed && !all_told(space))
		return false;
	if (why ? space->claims_why.code && !strcmp(space->claims_why.text, why)
	        : space->listed && !space->claims_why.code)
		return true;
	tell(space->kube, &info);
	space->listed = !why;
	space->claims_why.code = 0;
	if (why)
		err_set(&space->claims_why, EACCES, "%s", why);
	return true;
}

/* Note which pods of others mount claims, and which volumes are kept for
 * them. */
static void mark(struct kube *kube)
{
	struct kube_seen *seen;
	size_t at = 0;

	while ((seen = map_each(&kube->claims.claims, &at)))
		seen->pod = seen->pod_node = NULL;
	kube_pods_mark(kube);
	kube_spare_mark(kube);
}

static void begin_walk(struct kube *kube)
{
	struct kube_claims *c = &kube->claims;

	drop(kube, &c->claims);
	drop(kube, &c->volumes);
	drop(kube, &c->classes);
	kube_reach_forget(&c->reach);
	c->changed = false;
	c->unlisted = true;
	c->left = c->claims.n;
}

static void tell_urgent(struct kube *kube)
{
	struct kube_seen *seen;
	size_t at = 0;

	while ((seen = map_each(&kube->claims.claims, &at))) {
		if (seen->urgent && !unlisted(seen->space))
			tell_one(kube, seen);
		seen->urgent = false;
	}
	kube->claims.at_once = false;
}

/* Look at the next claims. The walk goes round and round, so that each claim
 * has its turn, even if something changes at every tick. */
static void walk(struct kube *kube)
{
	struct kube_claims *c = &kube->claims;
	struct kube_seen *seen;

	for (; c->left && c->reach.work < KUBE_REACH_MAX; c->left--) {
		seen = map_each(&c->claims, &c->at);
		if (!seen) {
			c->at = 0;
			seen = map_each(&c->claims, &c->at);
		}
		c->reach.work++;
		if (!unlisted(seen->space))
			tell_one(kube, seen);
	}
}

void kube_claims_tell(struct kube *kube)
{
	struct kube_claims *c = &kube->claims;
	bool all = true;

	if (c->picked_until_ms && clock_boot_ms() >= c->picked_until_ms) {
		c->picked_until_ms = 0;
		c->changed = true;
	}
	c->reach.work = 0;
	if (c->changed)
		begin_walk(kube);
	if (!c->left && !c->unlisted)
		return;
	mark(kube);
	if (c->at_once)
		tell_urgent(kube);
	walk(kube);
	/* Do not wait for the end of the walk, which never comes if something
	 * changes at every tick. */
	for (size_t i = 0; i < kube->spaces.n; i++)
		if (!kube->spaces.s[i]->leaving)
			all = tell_listed(kube->spaces.s[i]) && all;
	c->unlisted = !all;
}

/* --- look at the claims of a job that starts ------------------------------ */

/* The same as look_one(), for a claim that has no volume yet. */
static enum kube_claims_state look_unbound(struct kube *kube,
                                           struct kube_seen *seen,
                                           const struct kube_claim_said *c,
                                           const char *const *node, uint32_t n,
                                           struct kube_claims_next *ret)
{
	const json_t *class = find(&kube->claims.classes, c->class);

	if (*c->volume) {
		snprintf(ret->text, sizeof(ret->text),
		         "volume claim '%s' waits for its volume '%s'", c->name,
		         c->volume);
		return CLAIMS_WAIT;
	}
	if (!strcmp(c->selected, node[0])) {
		snprintf(ret->text, sizeof(ret->text),
		         "volume claim '%s' waits for its volume on node '%s'",
		         c->name, node[0]);
		return CLAIMS_WAIT;
	}
	ret->claim = c->name;
	ret->uid = c->uid;
	ret->node = node[0];
	if (!kube_spare_is_class(class))
		return CLAIMS_ASK;
	ret->volume = kube_spare_pick(kube, seen, node, n);
	if (ret->volume)
		return CLAIMS_ASK;
	ret->fault = FAULT_POOL;
	snprintf(ret->text, sizeof(ret->text),
	         "no free volume on node '%s' suits volume claim '%s'", node[0],
	         c->name);
	return CLAIMS_REFUSED;
}

/* Returns the state of one volume claim for a start on the n nodes. If the
 * claim has to be changed, sets ret->claim, uid, node and volume; if it is not
 * ready for another reason, ret->text says why. */
static enum kube_claims_state look_one(struct kube *kube,
                                       struct kube_seen *seen,
                                       const char *const *node, uint32_t n,
                                       struct kube_claims_next *ret)
{
	struct kube_claim_said c;
	const json_t *volume;

	kube_claim_read(seen->obj, &c);
	if (!c.bound)
		return look_unbound(kube, seen, &c, node, n, ret);
	volume = find(&kube->claims.volumes, c.volume);
	for (uint32_t i = 0; volume && i < n; i++) {
		const json_t *features =
		    kube_nodes_features(kube->nodes, node[i]);

		if (kube_selector_matches(kube_claims_affinity(volume), node[i],
		                          features))
			continue;
		ret->fault = FAULT_POOL;
		snprintf(ret->text, sizeof(ret->text),
		         "volume claim '%s' is on a volume that node '%s' does "
		         "not reach",
		         c.name, node[i]);
		return CLAIMS_REFUSED;
	}
	return volume ? CLAIMS_READY : CLAIMS_WAIT;
}

/* Cuts the next volume claim off the text of a --mount option, and returns its
 * name in that text; NULL: there is none. */
static char *next_claim(char **rest)
{
	char *word;

	while ((word = strsep(rest, ",")))
		if (!strncmp(word, "pvc:", 4)) {
			word[4 + strcspn(word + 4, ":")] = '\0';
			return word + 4;
		}
	return NULL;
}

/* Which claim decides what is done next, by the state of each: the greatest. No
 * claim is changed while another one is refused or missing. */
enum claims_order { IS_READY, WAITS, ASKS, MISSING, REFUSED };

/* The same as look_one(), for a claim that may be missing. */
static enum claims_order look_at(struct kube *kube, struct kube_seen *seen,
                                 const char *name, const char *const *node,
                                 uint32_t n, struct kube_claims_next *ret)
{
	static const enum claims_order order[] = { [CLAIMS_READY] = IS_READY,
		                                   [CLAIMS_ASK] = ASKS,
		                                   [CLAIMS_WAIT] = WAITS,
		                                   [CLAIMS_REFUSED] = REFUSED };

	*ret = (struct kube_claims_next){ .refusals = 0 };
	if (seen && !seen->gone)
		return order[look_one(kube, seen, node, n, ret)];
	snprintf(ret->text, sizeof(ret->text), "volume claim '%s' is not there",
	         name);
	return MISSING;
}

/* Look at each claim, so that each of them has picked a free volume before the
 * first is changed. */
static enum claims_order look_at_all(struct kube_space *space,
                                     const char *mount, const char *const *node,
                                     uint32_t n, struct kube_claims_next *ret)
{
	char *copy = xstrdup(mount), *rest = copy, *name;
	struct kube_seen *seen, *first = NULL;
	struct kube_claims_next next;
	enum claims_order now = IS_READY;
	uint32_t refusals = 0;

	while ((name = next_claim(&rest))) {
		enum claims_order one;

		seen =
		    map_find(&space->kube->claims.claims, key_of(space, name));
		one = look_at(space->kube, seen, name, node, n, &next);
		refusals += seen && !seen->gone ? seen->refusals : 0;
		if (one <= now)
			continue;
		now = one;
		first = seen;
		*ret = next;
	}
	free(copy);
	ret->refusals = refusals;
	if (now == ASKS)
		first->asked = true;
	return now;
}

/* Let other claims have the volumes that were picked for these claims. */
static void drop_picked(struct kube_space *space, const char *mount)
{
	char *copy = xstrdup(mount), *rest = copy, *name;
	struct kube_seen *seen;

	while ((name = next_claim(&rest))) {
		seen =
		    map_find(&space->kube->claims.claims, key_of(space, name));
		if (seen)
			kube_spare_drop(space->kube, seen);
	}
	free(copy);
}

enum kube_claims_state kube_claims_look(struct kube_space *space,
                                        const char *mount,
                                        const char *const *node, uint32_t n,
                                        uint32_t refusals,
                                        struct kube_claims_next *ret)
{
	static const enum kube_claims_state state[] = {
		[IS_READY] = CLAIMS_READY,  [WAITS] = CLAIMS_WAIT,
		[ASKS] = CLAIMS_ASK,        [MISSING] = CLAIMS_WAIT,
		[REFUSED] = CLAIMS_REFUSED,
	};
	enum claims_order now;

	*ret = (struct kube_claims_next){ 0 };
	if (!n || !mount)
		return CLAIMS_READY;
	now = look_at_all(space, mount, node, n, ret);
	if (now != IS_READY && refusals != UINT32_MAX &&
	    ret->refusals > refusals) {
		ret->fault = FAULT_SYSTEM;
		snprintf(ret->text, sizeof(ret->text),
		         "no volume could be made for its claims on node '%s'",
		         node[0]);
		now = REFUSED;
	}
	if (now == MISSING || now == REFUSED)
		drop_picked(space, mount);
	return state[now];
}

json_t *kube_claims_patch(const struct kube_claims_next *next)
{
	return next->volume ? kube_claim_take(next->uid, next->volume)
	                    : kube_claim_select(next->uid, next->node);
}

static uint64_t version_of(const json_t *obj)
{
	const char *s =
	    kube_text_at(json_object_get(obj, "metadata"), "resourceVersion");

	return s ? strtoull(s, NULL, 10) : 0;
}

void kube_claims_answered(struct kube *kube, json_t *obj)
{
	const json_t *meta = json_object_get(obj, "metadata");
	const char *name = kube_text_at(meta, "name");
	const char *in = kube_text_at(meta, "namespace");
	const struct kube_space *space = in ? kube_space_find(kube, in) : NULL;
	struct kube_seen *seen =
	    name && space ? map_find(&kube->claims.claims, key_of(space, name))
			  : NULL;
	struct kube_claim_said now;

	if (!seen || seen->gone)
		return;
	if (version_of(obj) > version_of(seen->obj)) {
		on_object(kube, space, SEE_CLAIMS, obj, false);
		return;
	}
	/* The watch has already reported this version or a newer one. If that
	 * no longer has the annotation that the PATCH set, the provisioner has
	 * refused. Count this here: count_refusal() never saw the
	 * annotation. */
	kube_claim_read(seen->obj, &now);
	seen->refusals += !*now.selected && !*now.volume && !now.bound;
}

void kube_claims_free(struct kube_claims *claims)
{
	struct map *maps[] = { &claims->claims, &claims->volumes,
		               &claims->classes };

	for (size_t i = 0; i < ARRAY_SIZE(maps); i++) {
		struct kube_seen *seen;
		size_t at = 0;

		while ((seen = map_each(maps[i], &at)))
			seen_free(seen);
		map_free(maps[i]);
	}
	kube_reach_forget(&claims->reach);
}

/* peers.c - required affinity between the pods of Jobs, as --near and
 * --apart */
#include "aischedd/run/kube/object/peers.h"

#include <inttypes.h>
#include <string.h>

#include "aischedd/run/kube/client/json.h"
#include "aischedd/run/kube/object/labels.h"
#include "aischedd/run/kube/object/spread.h"
#include "libcommon/buf.h"
#include "libcommon/near.h"

#define MUST  "requiredDuringSchedulingIgnoredDuringExecution"
#define WOULD "preferredDuringSchedulingIgnoredDuringExecution"
#define NEAR  "podAffinity"
#define APART "podAntiAffinity"

/* Each term is compared with each Job of the tenant. */
enum {
	TERMS_MOST = 64,
	SELECTOR_MOST = 64 /* labels, expressions and their values */
};

static json_t *template_of(const json_t *obj)
{
	return json_object_get(json_object_get(obj, "spec"), "template");
}

/* Returns the terms in the list MUST or WOULD; NULL if there are none. */
static json_t *list_of(const json_t *obj, const char *kind, const char *list)
{
	const json_t *pod = json_object_get(template_of(obj), "spec");
	const json_t *affinity = json_object_get(pod, "affinity");
	json_t *terms = json_object_get(json_object_get(affinity, kind), list);

	return json_array_size(terms) ? terms : NULL;
}

static json_t *terms_of(const json_t *obj, const char *kind)
{
	return list_of(obj, kind, MUST);
}

json_t *kube_peers_labels(const json_t *obj)
{
	return json_object_get(json_object_get(template_of(obj), "metadata"),
	                       "labels");
}

json_t *kube_peers_apart(const json_t *obj)
{
	return terms_of(obj, APART);
}

bool kube_peers_asked(const json_t *obj)
{
	return terms_of(obj, NEAR) || terms_of(obj, APART);
}

const char *kube_peers_ignored(const json_t *obj)
{
	bool near = list_of(obj, NEAR, WOULD);
	bool apart = list_of(obj, APART, WOULD);

	return near && apart ? NEAR " and " APART
	       : near        ? NEAR
	       : apart       ? APART
	                     : NULL;
}

static bool selects(const json_t *term, const json_t *labels)
{
	return kube_labels_match(json_object_get(term, "labelSelector"),
	                         labels);
}

static size_t selector_size(const json_t *selector)
{
	const json_t *rules = json_object_get(selector, "matchExpressions");
	size_t i,
	    n = json_object_size(json_object_get(selector, "matchLabels"));
	const json_t *e;

	json_array_foreach(rules, i, e)
		n += 1 + json_array_size(json_object_get(e, "values"));
	return n;
}

static int check_size(const json_t *obj, const char *kind, struct err *err)
{
	const json_t *terms = terms_of(obj, kind), *term;
	size_t i;

	if (json_array_size(terms) > TERMS_MOST)
		return err_set(err, EINVAL,
		               "%s: more than %d terms are not supported", kind,
		               TERMS_MOST);
	json_array_foreach(terms, i, term)
		if (selector_size(json_object_get(term, "labelSelector")) >
		    SELECTOR_MOST)
			return err_set(err, EINVAL,
			               "%s: a labelSelector of more than %d "
			               "labels, expressions and values is not "
			               "supported",
			               kind, SELECTOR_MOST);
	return 0;
}

/* --- read terms of affinity ----------------------------------------------- */

/* The Job whose terms are read, its peers, and the result so far. */
struct term_reader {
	const json_t *labels; /* of its own pods */
	const struct conf_topology *topology;
	const struct kube_peer *peer;
	size_t n;
	struct spec *spec;
	const char *level; /* of the jobs in `text`, or NULL */
	struct buf text;   /* ids of jobs */
	size_t named;
};

/* Returns the level of a term, or NULL with *err set if the term says something
 * that options cannot. kind: NEAR or APART. */
static const char *level_of(const struct term_reader *r, const json_t *term,
                            const char *kind, struct err *err)
{
	static const char *const unknown[] = { "namespaces",
		                               "namespaceSelector",
		                               "matchLabelKeys",
		                               "mismatchLabelKeys" };
	const char *key = kube_word_at(term, "topologyKey");
	const char *level = kube_spread_level(r->topology, key);

	for (size_t i = 0; i < ARRAY_SIZE(unknown); i++) {
		const json_t *value = json_object_get(term, unknown[i]);

		if (json_is_object(value) || json_array_size(value)) {
			err_set(err, EINVAL,
			        "%s: %s is not supported: leave it out", kind,
			        unknown[i]);
			return NULL;
		}
	}
	if (!level)
		err_set(err, EINVAL,
		        "%s: topologyKey '%.100s' is the label of no level of "
		        "the topology",
		        kind, key);
	return level;
}

static int add_job(struct term_reader *r, const char *kind, uint64_t job,
                   const char *level, struct err *err)
{
	if (r->level && strcmp(r->level, level) != 0)
		return err_set(err, EINVAL,
		               "%s: terms of several topologyKeys are not "
		               "supported: use one",
		               kind);
	if (r->named++ == NEAR_MOST)
		return err_set(err, EINVAL,
		               "%s: it concerns more than %d Jobs of the queue",
		               kind, NEAR_MOST);
	r->level = level;
	buf_printf(&r->text, "%s%" PRIu64, r->text.len ? "," : "", job);
	return 0;
}

static int give_only_one(const char *kind, const char *option, struct err *err)
{
	return err_set(err, EINVAL, "%s and aisched.io/%s: give only one", kind,
	               option);
}

/* Add a term that selects pods of the Job itself: all are to be in one
 * domain. */
static int keep_together(const struct term_reader *r, const char *level,
                         struct err *err)
{
	bool node = !strcmp(level, "node");

	if (r->spec->tasks == 1)
		return 0;
	if (node ? r->spec->nodes != SPEC_UNSET : r->spec->topology != NULL)
		return give_only_one(NEAR, node ? "nodes" : "topology", err);
	if (node)
		r->spec->nodes = 1;
	else
		r->spec->topology = level;
	return 0;
}

/* Add a term of podAntiAffinity that selects pods of the Job itself: no two are
 * to be in one domain. */
static int keep_apart(const struct term_reader *r, const char *level,
                      struct err *err)
{
	/* how many pods share the disk of a node, before this changes it */
	int64_t sharers = spec_tmp_of_node(r->spec, 1);

	if (r->spec->tasks == 1)
		return 0;
	if (strcmp(level, "node") != 0)
		return err_set(err, EINVAL,
		               APART ": it keeps pods of this Job in different "
		                     "domains: use aisched.io/spread");
	if (r->spec->tasks_per_node != SPEC_UNSET &&
	    r->spec->tasks_per_node != 1)
		return give_only_one(APART, "tasks-per-node", err);
	if (spec_is_set(r->spec->tmp))
		r->spec->tmp /= sharers;
	r->spec->tasks_per_node = 1;
	return 0;
}

static int read_near(struct term_reader *r, const json_t *terms,
                     struct err *err)
{
	const json_t *term = json_array_get(terms, 0);
	const char *level;

	if (!terms)
		return 0;
	if (json_array_size(terms) > 1)
		return err_set(err, EINVAL,
		               NEAR ": only one required term is supported");
	if (r->spec->near)
		return give_only_one(NEAR, "near", err);
	level = level_of(r, term, NEAR, err);
	if (!level)
		return -1;
	for (size_t i = 0; i < r->n; i++)
		if (selects(term, r->peer[i].labels) &&
		    add_job(r, NEAR, r->peer[i].job, level, err) < 0)
			return -1;
	if (r->named)
		return 0;
	if (!selects(term, r->labels))
		return err_set(err, ENOENT,
		               NEAR ": its labelSelector matches pods of no "
		                    "Job that waits or runs in the queue");
	return keep_together(r, level, err);
}

/* Add the peer `job` if one of the terms of podAntiAffinity selects pods with
 * these labels. The terms are the Job's and the labels are the peer's, or the
 * terms are the peer's and the labels are the Job's. */
static int add_apart(struct term_reader *r, const json_t *terms,
                     const json_t *labels, uint64_t job, struct err *err)
{
	const json_t *term;
	size_t i;

	json_array_foreach(terms, i, term) {
		const char *level = level_of(r, term, APART, err);

		if (!level)
			return -1;
		if (selects(term, labels))
			return add_job(r, APART, job, level, err);
	}
	return 0;
}

static int read_apart(struct term_reader *r, const json_t *terms,
                      struct err *err)
{
	const json_t *term;
	size_t i;

	json_array_foreach(terms, i, term) {
		const char *level = level_of(r, term, APART, err);

		if (!level ||
		    (selects(term, r->labels) && keep_apart(r, level, err) < 0))
			return -1;
	}
	for (i = 0; i < r->n; i++) {
		const struct kube_peer *peer = &r->peer[i];
		size_t before = r->named;

		if (add_apart(r, terms, peer->labels, peer->job, err) < 0 ||
		    (r->named == before &&
		     add_apart(r, peer->apart, r->labels, peer->job, err) < 0))
			return -1;
	}
	if (r->named && r->spec->apart)
		return give_only_one(APART, "apart", err);
	return 0;
}

/* Set *ret to the value of --near or --apart that names the jobs added to r, if
 * there are any. Then remove these jobs from r. */
static void take(struct term_reader *r, struct arena *arena, const char **ret)
{
	if (r->named) {
		buf_printf(&r->text, ":%s", r->level);
		*ret = arena_strdup(arena, r->text.data);
	}
	buf_clear(&r->text);
	r->named = 0;
	r->level = NULL;
}

int kube_peers_read(const json_t *obj, const struct conf_topology *topology,
                    const struct kube_peer *peer, size_t n, struct arena *arena,
                    struct spec *spec, struct err *err)
{
	struct term_reader r = { .labels = kube_peers_labels(obj),
		                 .topology = topology,
		                 .peer = peer,
		                 .n = n,
		                 .spec = spec };
	int rc;

	if (check_size(obj, NEAR, err) < 0 || check_size(obj, APART, err) < 0)
		return -1;
	rc = read_near(&r, terms_of(obj, NEAR), err);
	if (rc == 0) {
		take(&r, arena, &spec->near);
		rc = read_apart(&r, terms_of(obj, APART), err);
	}
	if (rc == 0)
		take(&r, arena, &spec->apart);
	buf_free(&r.text);
	return rc;
}

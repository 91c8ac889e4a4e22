#include <assert.h>
#include <string.h>

#include "aischedd/run/kube/object/foreign.h"
#include "aischedd/run/kube/object/peers.h"
#include "aischedd/run/kube/object/plain.h"
#include "tests/fuzz/fuzz.h"

static const struct conf_pool pool = { .name = "gpu",
	                               .namespace = "ns",
	                               .gpu_resource = "nvidia.com/gpu",
	                               .user_annotation = "aisched.io/user" };
static const char *const names[] = { "zone", "rack" };
static const struct conf_topology topology = { .levels = { 2, names },
	                                       .keys = { 2, names } };
static const struct kube_home home = { &pool, "c1", "store1", 600,
	                               false, NULL, "ns",     0 };

static void look_at(json_t *obj)
{
	struct arena *arena = arena_new();
	struct kube_foreign f;
	struct kube_peer peer = { .job = 7 };
	const char *user;
	struct spec spec, again;
	struct err err;

	if (kube_foreign_look(obj, &home, &f, &err) == 0)
		assert(*f.name && *f.uid && (f.ours || !f.job));
	if (kube_foreign_read(obj, &pool, &topology, NULL, 1000, arena, &spec,
	                      &user, &err) == 0) {
		json_t *wire = spec_to_json(&spec);

		assert(spec.tasks > 0 && !strcmp(spec.kube_uid, f.uid));
		assert(!user || *user);
		assert(spec_from_json(&again, wire, arena, &err) == 0);
		json_decref(wire);
		peer.labels = kube_peers_labels(obj);
		peer.apart = kube_peers_apart(obj);
		if (kube_peers_read(obj, &topology, &peer, 1, arena, &spec,
		                    &err) < 0)
			assert(*err.text);
	} else {
		assert(err.text[0]);
	}
	arena_free(arena);
}

/* The input is a Job made with kubectl, and a pod. If it is accepted, the
 * request made from it must be valid. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	json_t *obj = json_loadb((const char *)data, size, 0, NULL);
	json_t *job = kube_plain_job(obj);

	assert(job);
	kube_plain_is(obj);
	look_at(obj);
	look_at(job);
	json_decref(job);
	json_decref(obj);
	return 0;
}

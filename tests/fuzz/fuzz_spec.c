#include <assert.h>

#include "libcommon/spec/spec.h"
#include "tests/fuzz/fuzz.h"

/* The input is a job of a submit request. If it is accepted, it must be the
 * same after it was packed and read again. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	json_t *obj = json_loadb((const char *)data, size,
	                         JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
	struct arena *arena = arena_new();
	struct request req;
	struct spec spec;
	struct err err;

	if (obj && spec_from_json(&spec, obj, arena, &err) == 0) {
		json_t *again = spec_to_json(&spec);

		assert(json_equal(obj, again));
		json_decref(again);
		if (spec_resolve(&spec, 1, &req, &err) == 0)
			assert(req.tasks && req.min_tasks &&
			       req.cpus_milli >= 0 && req.gpus_milli >= 0 &&
			       (req.mem_mib > 0 || !req.cpus_milli));
	}
	json_decref(obj);
	arena_free(arena);
	return 0;
}

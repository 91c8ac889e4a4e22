/* fuzz_message.c - decode the JSON of a request, without a daemon */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "aischedd/rpc/answer.h"
#include "aischedd/rpc/conn.h"
#include "libcommon/spec/spec.h"
#include "tests/fuzz/fuzz.h"

/* The answer that reports an error must be valid JSON, whatever text of the
 * request it quotes. */
static void check_refusal(const struct err *err)
{
	char *json = answer_refusal(err);
	json_t *answer = json_loads(json, JSON_REJECT_DUPLICATES, NULL);
	const char *text;
	int code;

	assert(!json_unpack(answer, "{s:{s:i, s:s !}!}", "error", "code", &code,
	                    "text", &text));
	assert(code == err->code && !strchr(text, '\n'));
	json_decref(answer);
	free(json);
}

static void take_spec(json_t *obj, struct arena *arena)
{
	struct request req;
	struct spec spec;
	struct err err;

	if (spec_from_json(&spec, obj, arena, &err) < 0)
		check_refusal(&err);
	else if (spec_resolve(&spec, 1024, &req, &err) < 0)
		check_refusal(&err);
	else
		assert(req.tasks >= 1 && req.min_tasks <= req.tasks);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *arena = arena_new();
	json_t *body = NULL, *spec;
	struct err err = { 0 };
	size_t i;
	enum op op;

	if (request_parse((const char *)data, size, LIMIT_VALUES, &body, &op,
	                  &err) < 0) {
		assert(body ? err.code == ENOSYS
		            : err.code == EPROTO || err.code == EMSGSIZE);
		check_refusal(&err);
	} else {
		assert(op < OP_N && op_role(op) <= ROLE_ADMIN);
		json_array_foreach(json_object_get(body, "specs"), i, spec)
			take_spec(spec, arena);
	}
	json_decref(body);
	arena_free(arena);
	return 0;
}

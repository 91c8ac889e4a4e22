#include <assert.h>

#include "aischedd/run/kube/client/split.h"
#include "tests/fuzz/fuzz.h"

struct seen {
	size_t n, bytes;
};

static int count(json_t *obj, void *arg, struct err *err)
{
	struct seen *seen = arg;

	(void)err;
	assert(json_is_object(obj));
	seen->n++;
	seen->bytes += json_object_size(obj);
	return 0;
}

/* Feed the splitter the input in chunks of this size; 0: all at once. */
static int split(bool list, const uint8_t *data, size_t size, size_t chunk,
                 struct seen *ret, json_t **ret_rest)
{
	struct kube_split s;
	struct err err;
	int rc = 0;

	*ret = (struct seen){ 0 };
	*ret_rest = NULL;
	kube_split_init(&s, list, 4096);
	for (size_t at = 0; at < size && rc == 0;) {
		size_t len = chunk && chunk < size - at ? chunk : size - at;

		rc = kube_split_feed(&s, data + at, len, count, ret, &err);
		at += len;
	}
	if (rc == 0 && list)
		*ret_rest = kube_split_rest(&s, &err);
	kube_split_fini(&s);
	return rc;
}

/* The borders of chunks must make no difference. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	for (int list = 0; list < 2; list++) {
		struct seen once, again;
		json_t *rest, *rest_again;
		int rc = split(list, data, size, 0, &once, &rest);

		for (size_t chunk = 1; chunk < 8; chunk += 3) {
			assert(split(list, data, size, chunk, &again,
			             &rest_again) == rc);
			assert(again.n == once.n && again.bytes == once.bytes);
			assert(json_equal(rest, rest_again) ||
			       (!rest && !rest_again));
			json_decref(rest_again);
		}
		json_decref(rest);
	}
	return 0;
}

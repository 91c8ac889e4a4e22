/* The input is what an agent in a pod receives: frames before and after their
 * MACs are checked. */
#include <assert.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "pod/chan.h"
#include "pod/layout.h"
#include "pod/room.h"
#include "tests/fuzz/fuzz.h"

static const struct pod_job job = {
	.pods = 3, .tasks = 2, .cpus = 4, .mem_mib = 1000, .gpus = 2
};

/* Check that no frame is accepted, because no input has a valid MAC. */
static void hear(const uint8_t *data, size_t size)
{
	static const uint8_t key[POD_KEY];
	struct pod_chan chan;
	struct pod_frame f;
	long n;

	pod_chan_init(&chan, key, false);
	n = pod_chan_take(&chan, data, size, &f);
	assert(n <= POD_HELLO);
	if (n <= 0)
		return;
	n = pod_chan_take(&chan, data + n, size - (size_t)n, &f);
	assert(n <= 0);
}

static void ask(const char *text, size_t size)
{
	json_t *obj = json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);
	struct room_claim claim = { 0 };
	int64_t tasks = 0;

	if (room_ask_read(&job, obj, &claim.ask, NULL) == 0 &&
	    room_check(&job, &claim.ask, NULL) == 0) {
		if (!room_take(&job, &claim, NULL, 0))
			abort();
		for (size_t i = 0; i < claim.nparts; i++)
			tasks += claim.part[i].tasks;
		assert(tasks == claim.ask.tasks);
	}
	room_free(&claim);
	json_decref(obj);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct pod_layout layout;

	memcpy(text, data, size);
	text[size] = '\0';
	hear(data, size);
	ask(text, size);
	if (pod_layout_read(&job, text, 3, &layout, NULL) == 0)
		assert(pod_layout_first(&layout) <= 3);
	pod_layout_free(&layout);
	free(text);
	return 0;
}

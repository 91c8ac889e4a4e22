#include <assert.h>
#include <string.h>

#include "aischedd/run/kube/use/page.h"
#include "tests/fuzz/fuzz.h"

/* Feed the input in parts of this size. */
static void read_page(struct kube_page *page, const uint8_t *data, size_t size,
                      size_t part)
{
	memset(page, 0, sizeof(*page));
	for (size_t at = 0; at < size; at += part)
		kube_page_feed(page, data + at,
		               part < size - at ? part : size - at);
	kube_page_end(page);
}

/* The borders of parts must make no difference, and all numbers are in their
 * ranges. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct kube_page once, again;

	read_page(&once, data, size, size + 1);
	read_page(&again, data, size, 3);
	assert(once.n == again.n && once.n <= KUBE_PAGE_GPUS);
	for (uint32_t i = 0; i < once.n; i++) {
		assert(once.gpu[i].key == again.gpu[i].key);
		assert(once.gpu[i].pod == again.gpu[i].pod);
		assert(once.gpu[i].percent == again.gpu[i].percent);
		assert(once.gpu[i].percent >= -1 && once.gpu[i].percent <= 100);
		assert(once.gpu[i].used_mib >= -1);
		assert(once.gpu[i].free_mib >= -1);
	}
	return 0;
}

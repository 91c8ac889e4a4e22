#include <assert.h>

#include "libcommon/cron/zone.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct zone *zone = zone_parse(data, size, NULL);
	int64_t at = -3000000000, first;

	if (!zone)
		return 0;
	for (int i = 0; i < 300; i++) {
		int64_t next = zone_next(zone, at);

		if (zone_first(zone, at + zone_offset(zone, at), &first))
			assert(first <= at);
		if (next == ZONE_NEVER || next > INT64_C(1) << 40)
			break;
		assert(next > at);
		at = next;
	}
	zone_free(zone);
	return 0;
}

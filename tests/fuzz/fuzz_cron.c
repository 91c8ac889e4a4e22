#include <assert.h>
#include <stdlib.h>

#include "libcommon/cron/schedule.h"
#include "libcommon/mem.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct zone *zone;
	char *text = xstrndup((const char *)data, size);
	struct schedule s;

	if (!zone)
		zone = zone_load("Australia/Lord_Howe", NULL);
	if (schedule_parse(&s, text, NULL) == 0) {
		int64_t at = 1800000000, next;

		for (int i = 0; i < 20; i++, at = next) {
			next = schedule_next(&s, zone, 1800000000, at);
			if (next == SCHEDULE_NEVER)
				break;
			assert(next > at);
		}
	}
	free(text);
	return 0;
}

/* due.c - find the time of a schedule for which recurring work runs now */
#include "libcommon/cron/due.h"

#include <string.h>

static bool may_run(const struct due_rule *r, int64_t time, int64_t up_since,
                    int64_t now)
{
	int64_t at = time + r->shift;

	if (at >= up_since && now - at <= DUE_SLACK_S)
		return true;
	return r->make_up &&
	       (r->late_s == SCHEDULE_NEVER || now - at <= r->late_s);
}

void due_look(const struct due_rule *r, int64_t last, int64_t up_since,
              int64_t now, struct due *ret)
{
	int64_t to = now - r->shift, latest = SCHEDULE_NEVER;
	uint64_t n = 0;

	if (to > r->until)
		to = r->until;
	if (to > last)
		n = schedule_count(r->schedule, r->zone, r->created, last, to,
		                   &latest);
	*ret = (struct due){ .time = SCHEDULE_NEVER,
		             .last = n ? latest : last,
		             .missed = n,
		             .wake = SCHEDULE_NEVER };
	if (n && may_run(r, latest, up_since, now)) {
		ret->time = latest;
		ret->missed--;
	}
	ret->next = schedule_next(r->schedule, r->zone, r->created, ret->last);
	if (ret->next > r->until)
		ret->next = SCHEDULE_NEVER;
	if (ret->next != SCHEDULE_NEVER)
		ret->wake = ret->next + r->shift;
}

/* Returns the FNV-1a hash of data, continued from h. */
static uint64_t hash(uint64_t h, const void *data, size_t len)
{
	const unsigned char *at = data;

	for (size_t i = 0; i < len; i++)
		h = (h ^ at[i]) * UINT64_C(0x100000001b3);
	return h;
}

int64_t due_shift(const struct schedule *schedule, const char *cluster,
                  uint64_t id, int64_t most)
{
	unsigned char bytes[8];
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	if (most <= 0 || schedule->every_s)
		return 0;
	for (int i = 0; i < 8; i++)
		bytes[i] = (unsigned char)(id >> (8 * i));
	h = hash(h, cluster, strlen(cluster));
	return (int64_t)(hash(h, bytes, sizeof(bytes)) % (uint64_t)most);
}

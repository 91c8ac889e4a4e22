/* acts.c - the last things that users did to a job */
#include "aischedd/state/acts.h"

#include <stdio.h>
#include <string.h>

#include "aischedd/state/state_priv.h"
#include "libcommon/buf.h"

/* Returns the text without its first line if it has ACTS_KEPT lines, or else
 * all of it. */
static const char *without_oldest(const char *acts)
{
	const char *end;
	int lines = 0;

	for (const char *s = acts; (s = strchr(s, '\n')); s++)
		lines++;
	end = lines >= ACTS_KEPT ? strchr(acts, '\n') : NULL;
	return end ? end + 1 : acts;
}

char *acts_add(const char *acts, int64_t time, const char *name,
               const char *user)
{
	struct buf text = { 0 };

	if (acts)
		buf_puts(&text, without_oldest(acts));
	buf_printf(&text, "%lld %s %s\n", (long long)time, name, user);
	return buf_take(&text);
}

bool acts_next(const char **at, struct act *ret)
{
	long long time;
	int len = 0;

	if (!*at || sscanf(*at, "%lld %15s %63[^\n]%n", &time, ret->name,
	                   ret->user, &len) != 3)
		return false;
	ret->time = time;
	*at += len;
	*at += **at == '\n';
	return true;
}

bool acts_last(const char *acts, const char *name, struct act *ret)
{
	bool found = false;
	struct act act;

	while (acts_next(&acts, &act))
		if (!strcmp(act.name, name)) {
			*ret = act;
			found = true;
		}
	return found;
}

void acts_changed(struct state *state, uint64_t job)
{
	struct job *there = state_job(state, job);

	if (there)
		state_touch(state, there);
}

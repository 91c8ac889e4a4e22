/* reserve_use.c - who may use a reservation */
#include "aischedd/state/cluster/reserve_use.h"

#include <stdlib.h>
#include <string.h>

#include "aischedd/state/cluster/reserve.h"
#include "aischedd/state/life/submit.h"
#include "aischedd/state/state_priv.h"
#include "libcommon/mem.h"
#include "libcommon/parse.h"

static bool has_word(const char *list, const char *word)
{
	size_t len = strlen(word), n;

	for (const char *s = list; *s; s += n + (s[n] == ',')) {
		n = strcspn(s, ",");
		if (n == len && !strncmp(s, word, n))
			return true;
	}
	return false;
}

static bool in_group(const char *list, const struct submitter *who)
{
	size_t n;

	for (const char *s = list; *s; s += n + (s[n] == ',')) {
		char *group;
		bool is;

		n = strcspn(s, ",");
		if (*s != '@')
			continue;
		group = xstrndup(s + 1, n - 1);
		is = who->in_group && who->in_group(group, who->arg);
		free(group);
		if (is)
			return true;
	}
	return false;
}

int reserve_check(const struct state *state, const struct spec *spec,
                  const struct submitter *who, int64_t limit, struct err *err)
{
	const struct reservation *r;
	struct buf text = { 0 };

	if (!spec->reservation)
		return 0;
	r = reserve_find(state, spec->reservation);
	if (!r)
		return err_set(err, ENOENT,
		               "there is no reservation '%s'; "
		               "`aictl reserve list` lists them",
		               spec->reservation);
	if (!*r->users)
		return err_set(err, EACCES,
		               "reservation '%s' is for maintenance: no job "
		               "runs in it",
		               r->name);
	if (!has_word(r->users, who->user) && !in_group(r->users, who))
		return err_set(err, EACCES,
		               "user '%s' may not use reservation '%s'",
		               who->user, r->name);
	if (limit == TIME_UNLIMITED || limit <= r->end - r->start)
		return 0;
	format_duration(&text, r->end - r->start);
	err_set(err, EINVAL,
	        "the time limit is longer than reservation '%s', which lasts "
	        "%s",
	        r->name, text.data);
	buf_free(&text);
	return -1;
}

void reserve_admit(struct state *state, const struct spec *spec,
                   const struct submitter *who)
{
	struct reservation *r =
	    spec->reservation ? reserve_find(state, spec->reservation) : NULL;
	char *guests;

	if (!r || has_word(r->users, who->user) ||
	    has_word(r->guests, who->user) || !in_group(r->users, who))
		return;
	guests =
	    xasprintf("%s%s%s", r->guests, *r->guests ? "," : "", who->user);
	free(r->guests);
	r->guests = guests;
	state->reservations.dirty = true;
}

bool reserve_is_gone(const struct state *state, const struct job *job)
{
	struct spec spec;

	if (!job->reserved)
		return false;
	spec_unpack(&spec, job->packed);
	return !reserve_find(state, spec.reservation);
}

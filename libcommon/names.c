/* names.c - the closed lists that users see: job states and reasons */
#include "libcommon/names.h"

#include <assert.h>
#include <string.h>
#include <strings.h>

static const struct {
	const char *name, *letters;
	bool final;
} states[] = {
#define X(sym, letters, final) { #sym, letters, final },
	JOB_STATES(X)
#undef X
};

static const struct {
	const char *name, *text;
	enum reason_kind kind;
} reasons[] = {
#define X(sym, kind, text) { #sym, text, REASON_##kind },
	REASONS(X)
#undef X
};

const char *job_state_name(enum job_state state)
{
	assert(state < JOB_NSTATES);
	return states[state].name;
}

const char *job_state_letter(enum job_state state)
{
	assert(state < JOB_NSTATES);
	return states[state].letters;
}

bool job_state_is_final(enum job_state state)
{
	assert(state < JOB_NSTATES);
	return states[state].final;
}

int job_state_parse(const char *s)
{
	for (int i = 0; i < JOB_NSTATES; i++)
		if (!strcasecmp(s, states[i].name) ||
		    !strcasecmp(s, states[i].letters))
			return i;
	return -1;
}

const char *reason_name(enum reason why)
{
	assert(why < WHY_NREASONS);
	return reasons[why].name;
}

const char *reason_text(enum reason why)
{
	assert(why < WHY_NREASONS);
	return reasons[why].text;
}

enum reason_kind reason_kind(enum reason why)
{
	assert(why < WHY_NREASONS);
	return reasons[why].kind;
}

bool reason_is_pending(enum reason why)
{
	return reason_kind(why) != REASON_ENDED;
}

static const char *const scopes[] = {
#define X(sym) #sym,
	SIGNAL_SCOPES(X)
#undef X
};

const char *signal_scope_name(enum signal_scope scope)
{
	return scopes[scope];
}

int signal_scope_parse(const char *s)
{
	for (int i = 0; i < SIGNAL_NSCOPES; i++)
		if (!strcmp(scopes[i], s))
			return i;
	return -1;
}

/* msg.c - the requests and their roles */
#include "libcommon/msg.h"

#include <assert.h>
#include <string.h>

struct named_role {
	const char *name;
	enum role role;
};

#define X(sym, role) { #sym, role },
static const struct named_role ops[] = { OPS(X) };
static const struct named_role actions[] = { ACTIONS(X) };
#undef X

static int find(const struct named_role *list, int n, const char *s)
{
	for (int i = 0; i < n; i++)
		if (!strcmp(s, list[i].name))
			return i;
	return -1;
}

const char *op_name(enum op op)
{
	assert(op < OP_N);
	return ops[op].name;
}

enum role op_role(enum op op)
{
	assert(op < OP_N);
	return ops[op].role;
}

int op_parse(const char *s)
{
	return find(ops, OP_N, s);
}

const char *action_name(enum action action)
{
	assert(action < ACTION_N);
	return actions[action].name;
}

enum role action_role(enum action action)
{
	assert(action < ACTION_N);
	return actions[action].role;
}

int action_parse(const char *s)
{
	return find(actions, ACTION_N, s);
}

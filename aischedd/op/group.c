#include "aischedd/op/group.h"

#include <stdlib.h>
#include <string.h>

#include "aischedd/rpc/ident.h"
#include "libcommon/mem.h"

struct user_group {
	char *user, *group; /* group NULL: not known */
};

const char *user_groups_find(const char *user, void *arg)
{
	struct user_groups *groups = arg;
	uint64_t hash = hash_bytes(0, user, strlen(user));
	struct user_group *g;

	while ((g = map_find(&groups->by_user, hash)) &&
	       strcmp(g->user, user) != 0)
		hash++;
	if (!g) {
		g = xcalloc(1, sizeof(*g));
		g->user = xstrdup(user);
		g->group = ident_group(user);
		map_set(&groups->by_user, hash, g);
	}
	return g->group ? g->group : "";
}

void user_groups_fini(struct user_groups *groups)
{
	struct user_group *g;
	size_t at = 0;

	while ((g = map_each(&groups->by_user, &at))) {
		free(g->user);
		free(g->group);
		free(g);
	}
	map_free(&groups->by_user);
}

/*
 * group.h - the primary groups of users
 *
 * Asks the name service once for each user. A zeroed struct is empty.
 */
#ifndef AISCHEDD_OP_GROUP_H
#define AISCHEDD_OP_GROUP_H

#include "libcommon/map.h"

struct user_groups {
	struct map by_user; /* of struct user_group, by the hash of the name */
};

/* Returns the primary group that the user has now; "" if the name service does
 * not know the user, or fails. It blocks: call it on the thread of
 * cron_names(). arg is a struct user_groups, which owns the text. */
const char *user_groups_find(const char *user, void *arg);

void user_groups_fini(struct user_groups *groups);

#endif

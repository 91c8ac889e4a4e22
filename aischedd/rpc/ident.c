/* ident.c - the user behind a uid: name and groups */
#include "aischedd/rpc/ident.h"

#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <pthread.h>
#include <pwd.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "libcommon/clock.h"
#include "libcommon/mem.h"

enum { NSLOTS = 256, KEEP_S = 60, MOST_BYTES = 16 << 20 };

/* A cache of users. Uids that share a slot evict each other, which only
 * costs time. */
struct idents {
	pthread_mutex_t lock;
	struct slot {
		struct peer *peer;
		time_t until;
	} slot[NSLOTS];
};

struct idents *idents_new(void)
{
	struct idents *idents = xcalloc(1, sizeof(*idents));

	pthread_mutex_init(&idents->lock, NULL);
	return idents;
}

void idents_free(struct idents *idents)
{
	for (size_t i = 0; i < NSLOTS; i++)
		free(idents->slot[i].peer);
	pthread_mutex_destroy(&idents->lock);
	free(idents);
}

struct peer *ident_copy(const struct peer *peer)
{
	size_t n = peer->ngroups, text = strlen(peer->user) + 1;
	struct peer *copy;
	const char **name;
	gid_t *group;
	char *p;

	for (size_t i = 0; i < n; i++)
		text += strlen(peer->group_name[i]) + 1;
	copy = xmalloc(sizeof(*copy) + n * (sizeof(*name) + sizeof(*group)) +
	               text);
	name = (const char **)(copy + 1);
	group = (gid_t *)(name + n);
	p = (char *)(group + n);
	*copy = *peer;
	copy->group_name = name;
	copy->group = group;
	copy->user = p;
	p = stpcpy(p, peer->user) + 1;
	for (size_t i = 0; i < n; i++) {
		group[i] = peer->group[i];
		name[i] = p;
		p = stpcpy(p, peer->group_name[i]) + 1;
	}
	return copy;
}

/* Returns the login name of the uid, or NULL if it has none. *ret_error tells
 * whether the name service failed. */
static char *login_name(uid_t uid, gid_t *ret_gid, bool *ret_error)
{
	struct passwd pw, *found = NULL;
	size_t size = 1024;
	char *mem = NULL, *name;
	int rc;

	do {
		size *= 2;
		mem = xrealloc(mem, size, 1);
		rc = getpwuid_r(uid, &pw, mem, size, &found);
	} while (rc == ERANGE && size < MOST_BYTES);
	*ret_error = !found && rc && rc != ENOENT;
	name = found ? xstrdup(pw.pw_name) : NULL;
	*ret_gid = found ? pw.pw_gid : 0;
	free(mem);
	return name;
}

/* Returns the login name of the uid, or the uid as text if it has no name. */
static char *user_name(uid_t uid, bool *ret_error)
{
	gid_t gid;
	char *name = login_name(uid, &gid, ret_error);

	return name ? name : xasprintf("%u", (unsigned)uid);
}

static char *group_name(gid_t gid)
{
	struct group gr, *found = NULL;
	size_t size = 1024;
	char *mem = NULL, *name;
	int rc;

	do {
		size *= 2;
		mem = xrealloc(mem, size, 1);
		rc = getgrgid_r(gid, &gr, mem, size, &found);
	} while (rc == ERANGE && size < MOST_BYTES);
	name = found ? xstrdup(gr.gr_name) : xasprintf("%u", (unsigned)gid);
	free(mem);
	return name;
}

int ident_check(const char *name, struct err *err)
{
	bool is_group = *name == '@';
	struct passwd pw, *user = NULL;
	struct group gr, *group = NULL;
	size_t size = 1024;
	char *mem = NULL;
	int rc;

	name += is_group;
	do {
		size *= 2;
		mem = xrealloc(mem, size, 1);
		rc = is_group ? getgrnam_r(name, &gr, mem, size, &group)
		              : getpwnam_r(name, &pw, mem, size, &user);
	} while (rc == ERANGE && size < MOST_BYTES);
	free(mem);
	if (user || group)
		return 0;
	if (rc && rc != ENOENT)
		return err_set(err, EIO,
		               "the name service does not say whether there is "
		               "a %s '%s': %s",
		               is_group ? "group" : "user", name, strerror(rc));
	return err_set(err, ENOENT, "there is no %s '%s'",
	               is_group ? "group" : "user", name);
}

static gid_t *group_list(const char *user, gid_t gid, size_t *ret_n)
{
	int room = 32, n;
	gid_t *list = NULL;

	do {
		room *= 2;
		n = room;
		list = xrealloc(list, (size_t)room, sizeof(*list));
	} while (getgrouplist(user, gid, list, &n) < 0 && room < NGROUPS_MAX);
	*ret_n = (size_t)(n < room ? n : room);
	return list;
}

static struct peer *look_up(uid_t uid, gid_t gid, bool *ret_error)
{
	struct peer peer = { .known = true, .uid = uid, .gid = gid }, *copy;
	char *user = user_name(uid, ret_error), **name;
	gid_t *group = group_list(user, gid, &peer.ngroups);

	name = xcalloc(peer.ngroups, sizeof(*name));
	for (size_t i = 0; i < peer.ngroups; i++)
		name[i] = group_name(group[i]);
	peer.user = user;
	peer.group = group;
	peer.group_name = (const char *const *)name;
	copy = ident_copy(&peer);
	for (size_t i = 0; i < peer.ngroups; i++)
		free(name[i]);
	free(name);
	free(group);
	free(user);
	return copy;
}

struct peer *ident_get(struct idents *idents, uid_t uid, gid_t gid)
{
	struct slot *slot = &idents->slot[uid % NSLOTS];
	struct peer *peer = NULL, *found;
	bool error;

	pthread_mutex_lock(&idents->lock);
	found = slot->peer;
	if (found && found->uid == uid && found->gid == gid &&
	    clock_ms() / 1000 < slot->until)
		peer = ident_copy(found);
	pthread_mutex_unlock(&idents->lock);
	if (peer)
		return peer;

	found = look_up(uid, gid, &error);
	if (error)
		return found; /* do not cache it */
	peer = ident_copy(found);
	pthread_mutex_lock(&idents->lock);
	free(slot->peer);
	slot->peer = found;
	slot->until = clock_ms() / 1000 + KEEP_S;
	pthread_mutex_unlock(&idents->lock);
	return peer;
}

static bool is_in(const struct peer *peer, gid_t gid)
{
	for (size_t i = 0; i < peer->ngroups; i++)
		if (peer->group[i] == gid)
			return true;
	return false;
}

struct peer *ident_owner(uid_t uid, gid_t gid, const char *name,
                         struct err *err)
{
	gid_t primary;
	bool error;
	char *now = login_name(uid, &primary, &error);
	struct peer *peer = NULL;

	if (error)
		err_set(err, EIO, "the name service does not say who uid %u is",
		        (unsigned)uid);
	else if (!now)
		err_set(err, ENOENT, "user '%s' is gone: uid %u has no name",
		        name, (unsigned)uid);
	else if (strcmp(now, name) != 0)
		err_set(err, ENOENT, "user '%s' is gone: uid %u is '%s' now",
		        name, (unsigned)uid, now);
	else
		peer = look_up(uid, primary, &error);
	if (peer && is_in(peer, gid))
		peer->gid = gid;
	free(now);
	return peer;
}

/* Look up a user by name. Returns whether they are found; else *ret_error is
 * what getpwnam_r() returned. */
static bool find_name(const char *name, uid_t *ret_uid, gid_t *ret_gid,
                      int *ret_error)
{
	struct passwd pw, *found = NULL;
	size_t size = 1024;
	char *mem = NULL;

	do {
		size *= 2;
		mem = xrealloc(mem, size, 1);
		*ret_error = getpwnam_r(name, &pw, mem, size, &found);
	} while (*ret_error == ERANGE && size < MOST_BYTES);
	if (found) {
		*ret_uid = pw.pw_uid;
		*ret_gid = pw.pw_gid;
	}
	free(mem);
	return found;
}

char *ident_group(const char *name)
{
	uid_t uid;
	gid_t gid;
	int rc;

	return find_name(name, &uid, &gid, &rc) ? group_name(gid) : NULL;
}

struct peer *ident_named(const char *name, struct err *err)
{
	uid_t uid;
	gid_t gid;
	int rc;

	if (find_name(name, &uid, &gid, &rc))
		return ident_owner(uid, gid, name, err);
	if (rc && rc != ENOENT)
		err_set(err, EIO,
		        "the name service does not say whether there is a user "
		        "'%s': %s",
		        name, strerror(rc));
	else
		err_set(err, ENOENT, "there is no user '%s'", name);
	return NULL;
}

/* cgroup_find.c - find the cgroups that this machine allows us to use */
#include "aischedd/run/shepherd/cgroup_find.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "aischedd/run/shepherd/cgroup.h"
#include "aischedd/run/shepherd/cgroup_file.h"
#include "libcommon/buf.h"

/* Names of controllers, in v2 and in the mount options of v1. */
static const char *const controller_names[CG_NTREES] = {
	[CG_MEMORY] = "memory", [CG_CPU] = "cpu",         [CG_PIDS] = "pids",
	[CG_CPUSET] = "cpuset", [CG_FREEZER] = "freezer",
};

/* Whether the word is in the list, whose words are separated by characters
 * of sep. */
static bool has_word(const char *list, const char *word, const char *sep)
{
	size_t len = strlen(word);

	for (const char *p = list; p && *p; p += strspn(p, sep)) {
		size_t n = strcspn(p, sep);

		if (n == len && !strncmp(p, word, len))
			return true;
		p += n;
	}
	return false;
}

struct mount {
	const char *point, *root;
};

/* Returns the text with mountinfo's escapes, such as \040 for a blank, replaced
 * by the characters. */
static const char *unescape(const char *s, size_t len, struct arena *arena)
{
	char *out = arena_alloc(arena, len + 1, 1), *q = out;

	for (size_t i = 0; i < len; i++) {
		unsigned octal;

		if (s[i] == '\\' && i + 3 < len &&
		    sscanf(s + i + 1, "%3o", &octal) == 1) {
			*q++ = (char)octal;
			i += 3;
		} else {
			*q++ = s[i];
		}
	}
	return out;
}

/* Parse a line of mountinfo into *ret. Returns whether the line mounts this
 * cgroup tree. */
static bool mount_parse(const char *line, enum cgroup_tree tree,
                        struct mount *ret, struct arena *arena)
{
	const char *dash = strstr(line, " - "), *field[6], *p = line;
	char type[16], options[256];

	if (!dash || sscanf(dash, " - %15s %*s %255s", type, options) != 2)
		return false;
	if (strcmp(type, tree == CG_V2 ? "cgroup2" : "cgroup"))
		return false;
	if (tree != CG_V2 && !has_word(options, controller_names[tree], ","))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(field); i++) {
		field[i] = p;
		p += strcspn(p, " ");
		p += *p == ' ';
	}
	ret->root = unescape(field[3], strcspn(field[3], " "), arena);
	ret->point = unescape(field[4], strcspn(field[4], " "), arena);
	return true;
}

static bool find_mount(const char *mountinfo, enum cgroup_tree tree,
                       struct mount *ret, struct arena *arena)
{
	char line[1024];

	for (const char *p = mountinfo; *p; p += *p == '\n') {
		size_t len = strcspn(p, "\n");

		if (len < sizeof(line)) {
			memcpy(line, p, len);
			line[len] = '\0';
			if (mount_parse(line, tree, ret, arena))
				return true;
		}
		p += len;
	}
	return false;
}

/* Returns the cgroup of this process in the tree, as in /proc/self/cgroup,
 * or NULL. */
static const char *own_path(const char *self, enum cgroup_tree tree,
                            struct arena *arena)
{
	for (const char *p = self; *p; p += *p == '\n') {
		size_t len = strcspn(p, "\n");
		char *line = arena_alloc(arena, len + 1, 1);
		char *names, *path;

		memcpy(line, p, len);
		p += len;
		names = strchr(line, ':');
		path = names ? strchr(names + 1, ':') : NULL;
		if (!path)
			continue;
		*path++ = '\0';
		names++;
		if (tree == CG_V2
		        ? !*names
		        : has_word(names, controller_names[tree], ","))
			return path;
	}
	return NULL;
}

struct search {
	struct buf mountinfo, self;
	struct arena *arena;
};

static void search_init(struct search *s)
{
	cgroup_file_read("/proc/self/mountinfo", "", &s->mountinfo);
	cgroup_file_read("/proc/self/cgroup", "", &s->self);
}

static void search_fini(struct search *s)
{
	buf_free(&s->mountinfo);
	buf_free(&s->self);
}

/* Returns the directory of this process's cgroup in the tree, or NULL. *ret_top
 * becomes the tree's mount point. */
static const char *own_dir(struct search *s, enum cgroup_tree tree,
                           const char **ret_top)
{
	const char *path = own_path(s->self.data, tree, s->arena);
	struct mount mount;
	size_t len;

	if (!path || !find_mount(s->mountinfo.data, tree, &mount, s->arena))
		return NULL;
	/* In a container, the mount point may show only the part of the tree
	 * below the cgroup mount.root. */
	len = strcmp(mount.root, "/") ? strlen(mount.root) : 0;
	if (!strncmp(path, mount.root, len))
		path += len;
	*ret_top = mount.point;
	return path[0] && path[1]
	           ? cgroup_file_path(mount.point, path + 1, s->arena)
	           : mount.point;
}

static bool usable(const char *dir)
{
	return (!mkdir(dir, 0755) || errno == EEXIST) &&
	       !access(dir, R_OK | W_OK | X_OK);
}

static void note_controllers(struct cgroup_ways *ways, const char *dir,
                             const char *file)
{
	struct buf have = { 0 };

	cgroup_file_read(dir, file, &have);
	for (enum cgroup_tree t = CG_MEMORY; t < CG_FREEZER; t++)
		ways->v2[t] = has_word(have.data, controller_names[t], " \n");
	buf_free(&have);
}

/* Enable the controllers of v2 for the children of parent and, if base is not
 * parent, for the children of base. */
static void enable_v2(struct cgroup_ways *ways, const char *parent)
{
	const char *base = ways->base[CG_V2];

	for (enum cgroup_tree t = CG_MEMORY; t < CG_FREEZER; t++) {
		char add[16];

		snprintf(add, sizeof(add), "+%s", controller_names[t]);
		cgroup_file_write(parent, "cgroup.subtree_control", add);
		if (base != parent)
			cgroup_file_write(base, "cgroup.subtree_control", add);
	}
	note_controllers(ways, base, "cgroup.subtree_control");
}

static void find_v2(struct cgroup_ways *ways, struct search *s)
{
	const char *top, *own = own_dir(s, CG_V2, &top);
	const char *parent, *base, *shepherds;

	if (!own)
		return;
	parent = geteuid() == 0 ? top : own;
	base = cgroup_file_path(parent, "aisched", s->arena);
	if (!usable(base))
		return;
	ways->base[CG_V2] = base;
	enable_v2(ways, parent);
	shepherds = cgroup_file_path(base, "shepherds", s->arena);
	if (usable(shepherds))
		ways->shepherds = shepherds;
}

/* Copy the CPUs of parent to base, because a new cpuset has none. For cpusets
 * that are made below base, let the kernel do this. */
static void fill_cpuset(const char *parent, const char *base)
{
	struct buf text = { 0 };

	cgroup_file_read(parent, "cpuset.cpus", &text);
	cgroup_file_write(base, "cpuset.cpus", text.data);
	cgroup_file_read(parent, "cpuset.mems", &text);
	cgroup_file_write(base, "cpuset.mems", text.data);
	cgroup_file_write(base, "cgroup.clone_children", "1");
	buf_free(&text);
}

static void find_v1(struct cgroup_ways *ways, enum cgroup_tree tree,
                    struct search *s)
{
	const char *top, *own = own_dir(s, tree, &top), *base;

	if (!own)
		return;
	base = cgroup_file_path(own, "aisched", s->arena);
	if (!usable(base))
		return;
	if (tree == CG_CPUSET)
		fill_cpuset(own, base);
	ways->base[tree] = base;
}

static bool can_freeze_v2(const struct cgroup_ways *ways)
{
	return ways->shepherds &&
	       cgroup_file_read_number(ways->shepherds, "cgroup.freeze", "") >=
	           0;
}

void cgroup_find(struct cgroup_ways *ret, struct arena *arena)
{
	struct search s = { .arena = arena };

	*ret = (struct cgroup_ways){ 0 };
	search_init(&s);
	find_v2(ret, &s);
	for (enum cgroup_tree t = CG_MEMORY; t < CG_FREEZER; t++)
		if (!ret->v2[t])
			find_v1(ret, t, &s);
	if (!can_freeze_v2(ret))
		find_v1(ret, CG_FREEZER, &s);
	search_fini(&s);
}

void cgroup_find_scope(struct cgroup_ways *ret, struct arena *arena)
{
	struct search s = { .arena = arena };
	const char *top, *own, *leaf;

	*ret = (struct cgroup_ways){ 0 };
	search_init(&s);
	own = own_dir(&s, CG_V2, &top);
	if (own) {
		leaf = cgroup_file_path(own, "shepherds", arena);
		/* A group that has processes of its own cannot pass controllers
		 * on to its children: move this process to a child first. */
		if (usable(leaf) &&
		    !cgroup_file_write(leaf, "cgroup.procs", "0")) {
			ret->base[CG_V2] = own;
			enable_v2(ret, own);
		}
	}
	search_fini(&s);
}

int64_t cgroup_own_memory_mib(void)
{
	struct search s = { .arena = arena_new() };
	int64_t least = INT64_MAX, n;
	const char *top, *own;
	char *dir, *slash;

	search_init(&s);
	own = own_dir(&s, CG_V2, &top);
	dir = own ? arena_strdup(s.arena, own) : NULL;
	/* "max" means no limit; it is no number and is read as 0. */
	for (; dir && strlen(dir) >= strlen(top); *slash = '\0') {
		n = cgroup_file_read_number(dir, "memory.max", "");
		if (n > 0 && n < least)
			least = n;
		slash = strrchr(dir, '/');
	}
	own = own_dir(&s, CG_MEMORY, &top);
	n = own ? cgroup_file_read_number(own, "memory.stat",
	                                  "hierarchical_memory_limit")
	        : -1;
	if (n > 0 && n < least)
		least = n;
	search_fini(&s);
	arena_free(s.arena);
	return least == INT64_MAX ? -1 : least / 1024 / 1024;
}

bool cgroup_can(const struct cgroup_ways *ways, enum cgroup_tree controller)
{
	return ways->v2[controller] || ways->base[controller];
}

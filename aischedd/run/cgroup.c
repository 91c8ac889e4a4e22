/* cgroup.c - one group of processes for each attempt, where the system can */
#include "aischedd/run/cgroup.h"

#include <fcntl.h>
#include <inttypes.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "libcommon/buf.h"

#define CPU_PERIOD_US     100000
#define CPU_PERIOD_MAX_US 1000000
#define CPU_QUOTA_MIN_US  1000 /* the kernel takes no less */

/* The controllers by the names that mounts and v2 have for them. */
static const char *const controller_names[CG_NTREES] = {
	[CG_MEMORY] = "memory", [CG_CPU] = "cpu",         [CG_PIDS] = "pids",
	[CG_CPUSET] = "cpuset", [CG_FREEZER] = "freezer",
};

static int write_file(const char *dir, const char *file, const char *text)
{
	struct buf path = { 0 };
	size_t len = strlen(text);
	ssize_t n = -1;
	int fd, code;

	buf_printf(&path, "%s/%s", dir, file);
	fd = open(path.data, O_WRONLY | O_CLOEXEC);
	buf_free(&path);
	if (fd < 0)
		return -1;
	n = write(fd, text, len);
	code = errno;
	close(fd);
	errno = code;
	return n == (ssize_t)len ? 0 : -1;
}

static int write_number(const char *dir, const char *file, int64_t n)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRId64, n);
	return write_file(dir, file, text);
}

/* The whole of a small file, or "" when it can't be read. */
static void read_file(const char *dir, const char *file, struct buf *out)
{
	struct buf path = { 0 };
	ssize_t n;
	int fd;

	buf_clear(out);
	buf_add(out, "", 0);
	buf_printf(&path, "%s%s%s", dir, *file ? "/" : "", file);
	fd = open(path.data, O_RDONLY | O_CLOEXEC);
	buf_free(&path);
	if (fd < 0)
		return;
	do {
		n = read(fd, buf_room(out, 4096), 4096);
		if (n > 0)
			buf_grew(out, (size_t)n);
	} while (n > 0);
	close(fd);
}

/* The number after "name " in a file of such lines, or of a file that is
 * one number (name ""); -1: not there. */
static int64_t read_number(const char *dir, const char *file, const char *name)
{
	struct buf text = { 0 };
	size_t len = strlen(name);
	int64_t n = -1;

	read_file(dir, file, &text);
	for (const char *p = text.data; text.len && p; p = strchr(p, '\n')) {
		p += *p == '\n';
		if (!*p || strncmp(p, name, len))
			continue;
		if (len && p[len] != ' ')
			continue;
		n = strtoll(p + len, NULL, 10);
		break;
	}
	buf_free(&text);
	return n;
}

/* Whether the word stands in a list separated by any of sep. */
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

/* --- finding what there is --- */

struct mount {
	const char *point, *root;
};

/* Mountinfo writes blanks as \040. */
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

/* One line of mountinfo: does it mount this tree? */
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

/* The path of this process in a tree, from /proc/self/cgroup. */
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

static const char *join_path(const char *a, const char *b, struct arena *arena)
{
	struct buf buf = { 0 };
	const char *path;

	buf_printf(&buf, "%s/%s", a, b);
	path = arena_strdup(arena, buf.data);
	buf_free(&buf);
	return path;
}

struct search {
	struct buf mountinfo, self;
	struct arena *arena;
};

static void search_init(struct search *s)
{
	read_file("/proc/self/mountinfo", "", &s->mountinfo);
	read_file("/proc/self/cgroup", "", &s->self);
}

static void search_fini(struct search *s)
{
	buf_free(&s->mountinfo);
	buf_free(&s->self);
}

/* The directory of the tree where this process is, or NULL. */
static const char *own_dir(struct search *s, enum cgroup_tree tree,
                           const char **ret_top)
{
	const char *path = own_path(s->self.data, tree, s->arena);
	struct mount mount;
	size_t len;

	if (!path || !find_mount(s->mountinfo.data, tree, &mount, s->arena))
		return NULL;
	/* In a container the mount may begin below the real root. */
	len = strcmp(mount.root, "/") ? strlen(mount.root) : 0;
	if (!strncmp(path, mount.root, len))
		path += len;
	*ret_top = mount.point;
	return path[0] && path[1] ? join_path(mount.point, path + 1, s->arena)
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

	read_file(dir, file, &have);
	for (enum cgroup_tree t = CG_MEMORY; t < CG_FREEZER; t++)
		ways->v2[t] = has_word(have.data, controller_names[t], " \n");
	buf_free(&have);
}

/* Hand the controllers of v2 from parent to base and on to its children. */
static void enable_v2(struct cgroup_ways *ways, const char *parent)
{
	const char *base = ways->base[CG_V2];

	for (enum cgroup_tree t = CG_MEMORY; t < CG_FREEZER; t++) {
		char add[16];

		snprintf(add, sizeof(add), "+%s", controller_names[t]);
		write_file(parent, "cgroup.subtree_control", add);
		if (base != parent)
			write_file(base, "cgroup.subtree_control", add);
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
	base = join_path(parent, "aisched", s->arena);
	if (!usable(base))
		return;
	ways->base[CG_V2] = base;
	enable_v2(ways, parent);
	shepherds = join_path(base, "shepherds", s->arena);
	if (usable(shepherds))
		ways->shepherds = shepherds;
}

/* A new cpuset has no CPU at all; its children copy it. */
static void fill_cpuset(const char *parent, const char *base)
{
	struct buf text = { 0 };

	read_file(parent, "cpuset.cpus", &text);
	write_file(base, "cpuset.cpus", text.data);
	read_file(parent, "cpuset.mems", &text);
	write_file(base, "cpuset.mems", text.data);
	write_file(base, "cgroup.clone_children", "1");
	buf_free(&text);
}

static void find_v1(struct cgroup_ways *ways, enum cgroup_tree tree,
                    struct search *s)
{
	const char *top, *own = own_dir(s, tree, &top), *base;

	if (!own)
		return;
	base = join_path(own, "aisched", s->arena);
	if (!usable(base))
		return;
	if (tree == CG_CPUSET)
		fill_cpuset(own, base);
	ways->base[tree] = base;
}

static bool can_freeze_v2(const struct cgroup_ways *ways)
{
	return ways->shepherds &&
	       read_number(ways->shepherds, "cgroup.freeze", "") >= 0;
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
		leaf = join_path(own, "shepherds", arena);
		/* A group with processes of its own cannot hand out
		 * controllers. */
		if (usable(leaf) && !write_file(leaf, "cgroup.procs", "0")) {
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
	/* "max" is no number and reads as 0. */
	for (; dir && strlen(dir) >= strlen(top); *slash = '\0') {
		n = read_number(dir, "memory.max", "");
		if (n > 0 && n < least)
			least = n;
		slash = strrchr(dir, '/');
	}
	own = own_dir(&s, CG_MEMORY, &top);
	n = own ? read_number(own, "memory.stat", "hierarchical_memory_limit")
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

/* --- the group of one attempt --- */

void cgroup_name(struct cgroup *ret, const struct cgroup_ways *ways,
                 const char *name, struct arena *arena)
{
	*ret = (struct cgroup){ 0 };
	for (enum cgroup_tree t = CG_V2; t < CG_NTREES; t++) {
		if (ways->base[t])
			ret->dir[t] = join_path(ways->base[t], name, arena);
		ret->v2[t] = ways->v2[t];
	}
}

void cgroup_make(struct cgroup *cg)
{
	for (enum cgroup_tree t = CG_V2; t < CG_NTREES; t++)
		if (cg->dir[t] && mkdir(cg->dir[t], 0755) < 0)
			cg->dir[t] = NULL;
	for (enum cgroup_tree t = CG_MEMORY; t < CG_NTREES; t++)
		cg->v2[t] = cg->v2[t] && cg->dir[CG_V2];
}

int cgroup_limit_memory(const struct cgroup *cg, int64_t mib)
{
	int64_t bytes = mib * 1024 * 1024;
	const char *dir;

	if (cg->v2[CG_MEMORY]) {
		dir = cg->dir[CG_V2];
		write_file(dir, "memory.swap.max", "0");
		return write_number(dir, "memory.max", bytes);
	}
	dir = cg->dir[CG_MEMORY];
	/* Never below the other one: it goes up before that, and down after.
	 * Not there where the kernel does not account for swap. */
	if (dir)
		write_number(dir, "memory.memsw.limit_in_bytes", bytes);
	if (!dir || write_number(dir, "memory.limit_in_bytes", bytes) < 0)
		return -1;
	write_number(dir, "memory.memsw.limit_in_bytes", bytes);
	return 0;
}

int cgroup_limit_cpu(const struct cgroup *cg, int64_t milli)
{
	int64_t period = CPU_PERIOD_US, quota = milli * period / 1000;
	char text[48];

	if (quota < CPU_QUOTA_MIN_US) {
		period = CPU_PERIOD_MAX_US;
		quota = milli * period / 1000;
	}
	if (cg->v2[CG_CPU]) {
		snprintf(text, sizeof(text), "%" PRId64 " %" PRId64, quota,
		         period);
		return write_file(cg->dir[CG_V2], "cpu.max", text);
	}
	if (!cg->dir[CG_CPU])
		return -1;
	if (write_number(cg->dir[CG_CPU], "cpu.cfs_period_us", period) < 0)
		return -1;
	return write_number(cg->dir[CG_CPU], "cpu.cfs_quota_us", quota);
}

int cgroup_limit_pids(const struct cgroup *cg, int64_t max)
{
	const char *dir = cg->v2[CG_PIDS] ? cg->dir[CG_V2] : cg->dir[CG_PIDS];

	return dir ? write_number(dir, "pids.max", max) : -1;
}

int cgroup_set_cpus(const struct cgroup *cg, const char *cpus, const char *mems)
{
	const char *dir =
	    cg->v2[CG_CPUSET] ? cg->dir[CG_V2] : cg->dir[CG_CPUSET];

	if (!dir)
		return -1;
	if (mems && write_file(dir, "cpuset.mems", mems) < 0)
		return -1;
	return write_file(dir, "cpuset.cpus", cpus);
}

static pid_t fork_into(const char *dir)
{
	struct clone_args args = { .flags = CLONE_INTO_CGROUP,
		                   .exit_signal = SIGCHLD };
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	pid_t pid = -1;

	if (fd < 0)
		return -1;
	args.cgroup = (uint64_t)fd;
	pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
	close(fd);
	return pid;
}

pid_t cgroup_fork(struct cgroup *cg)
{
	pid_t pid = -1;

	cg->born_inside = cg->dir[CG_V2] != NULL;
	if (cg->born_inside)
		pid = fork_into(cg->dir[CG_V2]);
	if (pid >= 0)
		return pid;
	/* Containers forbid it, old kernels lack it. */
	cg->born_inside = false;
	return fork();
}

int cgroup_join(const struct cgroup *cg, struct err *err)
{
	for (enum cgroup_tree t = CG_V2; t < CG_NTREES; t++) {
		const char *file = t == CG_V2 ? "cgroup.procs" : "tasks";

		if (!cg->dir[t] || (t == CG_V2 && cg->born_inside))
			continue;
		if (write_file(cg->dir[t], file, "0") < 0)
			return err_sys(err, "cannot enter cgroup '%s'",
			               cg->dir[t]);
	}
	return 0;
}

int cgroup_freeze(const struct cgroup *cg, bool frozen)
{
	if (cg->dir[CG_V2] &&
	    !write_file(cg->dir[CG_V2], "cgroup.freeze", frozen ? "1" : "0"))
		return 0;
	if (cg->dir[CG_FREEZER])
		return write_file(cg->dir[CG_FREEZER], "freezer.state",
		                  frozen ? "FROZEN" : "THAWED");
	return -1;
}

static const char *holder(const struct cgroup *cg)
{
	for (enum cgroup_tree t = CG_V2; t < CG_NTREES; t++)
		if (cg->dir[t])
			return cg->dir[t];
	return NULL;
}

bool cgroup_holds(const struct cgroup *cg)
{
	return holder(cg) != NULL;
}

size_t cgroup_procs(const struct cgroup *cg, proc_fn *fn, void *arg)
{
	const char *dir = holder(cg);
	struct buf text = { 0 };
	size_t found = 0;
	char *end;

	if (!dir)
		return 0;
	read_file(dir, "cgroup.procs", &text);
	for (const char *p = text.data; *p; p = end + (*end == '\n')) {
		long pid = strtol(p, &end, 10);

		if (end == p)
			break;
		if (pid > 0) {
			fn((pid_t)pid, arg);
			found++;
		}
	}
	buf_free(&text);
	return found;
}

static void kill_one(pid_t pid, void *arg)
{
	(void)arg;
	kill(pid, SIGKILL);
}

void cgroup_kill(const struct cgroup *cg)
{
	if (cg->dir[CG_V2] && !write_file(cg->dir[CG_V2], "cgroup.kill", "1"))
		return;
	cgroup_procs(cg, kill_one, NULL);
	if (cg->dir[CG_FREEZER]) /* what is frozen there does not die */
		write_file(cg->dir[CG_FREEZER], "freezer.state", "THAWED");
}

static int64_t max_number(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

void cgroup_usage(const struct cgroup *cg, struct cgroup_usage *ret)
{
	const char *v2 = cg->dir[CG_V2], *v1 = cg->dir[CG_MEMORY];
	int64_t us = -1, bytes = -1, kills = 0;

	if (v2)
		us = read_number(v2, "cpu.stat", "usage_usec");
	if (cg->v2[CG_MEMORY]) {
		bytes = read_number(v2, "memory.peak", "");
		kills = read_number(v2, "memory.events", "oom_kill");
	} else if (v1) {
		bytes = read_number(v1, "memory.max_usage_in_bytes", "");
		kills = read_number(v1, "memory.oom_control", "oom_kill");
	}
	ret->cpu_ms = us < 0 ? -1 : us / 1000;
	ret->peak_kib = bytes < 0 ? -1 : bytes / 1024;
	ret->oom_kills = max_number(kills, 0);
}

int cgroup_remove(const struct cgroup *cg)
{
	int status = 0;

	for (enum cgroup_tree t = CG_V2; t < CG_NTREES; t++)
		if (cg->dir[t] && rmdir(cg->dir[t]) < 0 && errno != ENOENT)
			status = -1;
	return status;
}

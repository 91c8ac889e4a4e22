/*
 * local.c - the runner of this machine: its setup, its ticks and its end
 *
 * attempt.c exchanges messages with shepherds; ask.c serves requests of
 * the daemon.
 */
#include "aischedd/run/local/local.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "aischedd/run/deny.h"
#include "aischedd/run/local/ask.h"
#include "aischedd/run/local/attempt.h"
#include "aischedd/run/local/forward.h"
#include "aischedd/run/local/health.h"
#include "aischedd/run/local/nursery.h"
#include "aischedd/run/local/overdue.h"
#include "aischedd/run/local/recover.h"
#include "aischedd/run/quota.h"
#include "aischedd/run/shepherd/cgroup_file.h"
#include "aischedd/run/shepherd/cgroup_find.h"
#include "aischedd/run/shepherd/order.h"
#include "libcommon/mem.h"
#include "libcommon/paths.h"

#define TICK_US         10000
#define LEAST_PROCESSES 256

static const char *local_shortcomings(struct runner *r)
{
	struct local *l = local_of(r);

	return l->shortcomings.len ? l->shortcomings.data : "";
}

static void local_free(struct runner *r)
{
	struct local *l = local_of(r);
	struct attempt *a;
	size_t at = 0;

	local_forward_free_all(l);
	while ((a = map_each(&l->attempts, &at)))
		attempt_free(a);
	map_free(&l->attempts);
	health_free(l->health);
	if (l->tick)
		event_free(l->tick);
	nursery_close(l);
	if (l->proc)
		closedir(l->proc);
	for (int i = 0; i < 3; i++) {
		int fd = (int[]){ l->dirfd, l->null_fd, l->lock_fd }[i];

		if (fd >= 0)
			close(fd);
	}
	arena_free(l->arena);
	buf_free(&l->shortcomings);
	free(l->dir);
	free(l->tmp_dir);
	free(l->unwell);
	free(l->shepherd);
	free(l->gpu_program);
	free(l);
}

/* --- the tick, which does what could not be done at once --- */

static bool attempt_work(struct attempt *a)
{
	if (a->state == ATTEMPT_WAITS && !attempt_launch(a))
		return false;
	switch (a->state) {
	case ATTEMPT_FAILED:
		attempt_tell(a, &(struct run_event){ .kind = RUN_START_FAILED,
		                                     .fault = FAULT_SYSTEM,
		                                     .text = a->err.text });
		attempt_done(a);
		return true;
	case ATTEMPT_UNCLEAR:
	case ATTEMPT_DYING:
		return attempt_settle(a);
	case ATTEMPT_REMOVED:
		return attempt_remove(a);
	default:
		return true;
	}
}

static void tell_node(struct local *l)
{
	l->fn(&(struct run_event){ .kind = RUN_NODE, .node = &l->machine.node },
	      l->arg);
}

/* Store the result of health_check (why NULL: the machine is well). If it has
 * changed, report the node to the daemon. */
static void on_health(const char *why, void *arg)
{
	struct local *l = arg;
	const char *was = l->unwell ? l->unwell : "";

	if (!strcmp(was, why ? why : ""))
		return;
	text_set(&l->unwell, why);
	l->machine.node.cordoned = why;
	l->machine.node.reason = l->unwell;
	if (!l->hello)
		tell_node(l);
}

static void on_tick(evutil_socket_t fd, short what, void *arg)
{
	struct local *l = arg;
	struct attempt *a, *next, *again = NULL;
	struct timeval soon = { .tv_usec = TICK_US };

	(void)fd, (void)what;
	if (l->hello) {
		l->hello = false;
		tell_node(l);
	}
	if ((l->work || l->recovering) && !local_lock(l)) {
		event_add(l->tick, &soon);
		return;
	}
	if (l->strays_unseen) {
		l->strays_unseen = false;
		local_find_strays(l);
	}
	local_scan(l);
	a = l->work;
	l->work = NULL;
	for (; a; a = next) {
		next = a->next;
		if (!attempt_work(a)) {
			a->next = again;
			again = a;
		}
	}
	while ((a = again)) {
		again = a->next;
		a->next = l->work;
		l->work = a;
	}
	if (l->recovering && !l->awaited) {
		l->recovering = false;
		l->fn(&(struct run_event){ .kind = RUN_SYNCED }, l->arg);
	}
	if (l->work)
		event_add(l->tick, &soon);
}

/* --- setup --- */

/* Whether the device files of all MIG instances that jobs can have are known.
 */
static bool knows_parts(const struct machine *m)
{
	uint32_t all = 0, known = 0;

	for (uint32_t i = 0; i < m->node.ngpus * MIG_UNITS; i++) {
		const struct order_part *part =
		    &m->gpus.id[i / MIG_UNITS].part[i % MIG_UNITS];

		all += part->uuid != NULL;
		known += part->uuid && part->cap[0] >= 0 && part->cap[1] >= 0;
	}
	return known == all && (!all || m->gpus.caps_major);
}

static const char *cannot_deny(const struct local *l)
{
	return l->ways.base[CG_V2] && deny_works()
	           ? NULL
	           : "no cgroup that can deny devices";
}

/* Returns why jobs can open GPUs of others although the configuration says that
 * they must not; NULL if all is well. */
static const char *cannot_constrain(const struct local *l)
{
	uint32_t known = 0;

	for (uint32_t i = 0; i < l->machine.node.ngpus; i++)
		known += l->machine.gpus.id[i].minor >= 0;
	if (!l->constrain_devices || !l->machine.node.ngpus)
		return NULL;
	if (known < l->machine.node.ngpus)
		return "their driver does not tell their device files";
	if (!knows_parts(&l->machine))
		return "their driver does not tell the device files of their "
		       "MIG instances";
	return cannot_deny(l);
}

static void note_open(struct local *l, const char *what, const char *why)
{
	if (why)
		buf_printf(&l->shortcomings,
		           "%s%s: %s; a job could use those of others.",
		           l->shortcomings.len ? " " : "", what, why);
}

/* Find out which devices can be denied to jobs, and note why others cannot. */
static void note_devices(struct local *l)
{
	const char *gpus = cannot_constrain(l), *others = NULL;

	if (l->constrain_devices && l->machine.devices.n)
		others = devices_know_files(&l->machine.devices)
		             ? cannot_deny(l)
		             : "the files of some are not known ('path')";
	l->constrain_others = l->constrain_devices && !others;
	/* If devices cannot be denied, each job can open all GPUs of the
	 * machine. Then CUDA counts all of them, and CUDA_VISIBLE_DEVICES must
	 * have the machine's numbers. */
	l->constrain_devices = l->constrain_devices && !gpus;
	note_open(l, "GPUs", gpus);
	note_open(l, "Devices", others);
}

/* Note why the disk of jobs is watched and not limited. */
static void note_disk(struct local *l)
{
	const char *lack = quota_lack(l->tmp_dir);

	if (lack)
		buf_printf(&l->shortcomings,
		           "%sDisk: %s; the disk of a job with --tmp is "
		           "measured about once a second and may exceed its "
		           "limit in between.",
		           l->shortcomings.len ? " " : "", lack);
}

static void note_shortcomings(struct local *l)
{
	static const struct {
		enum cgroup_tree controller;
		const char *text;
	} missing[] = {
		{ CG_MEMORY, "Memory: no cgroup controller; the memory of a "
		             "job is measured several times a second and may "
		             "exceed its limit in between." },
		{ CG_CPU, "CPUs: no cgroup controller; jobs that share a CPU "
		          "are not held to their parts of it." },
		{ CG_CPUSET, "CPUs: no cgroup controller; a job starts on its "
		             "CPUs but could leave them." },
		{ CG_PIDS, "Processes: no cgroup controller; their number is "
		           "not limited." },
	};

	buf_clear(&l->shortcomings);
	for (size_t i = 0; i < ARRAY_SIZE(missing); i++)
		if (!cgroup_can(&l->ways, missing[i].controller))
			buf_printf(&l->shortcomings, "%s%s",
			           l->shortcomings.len ? " " : "",
			           missing[i].text);
	if (!l->machine.node.ncpus)
		buf_printf(&l->shortcomings, "%sCPUs: cannot be bound.",
		           l->shortcomings.len ? " " : "");
	if (l->machine.gpus.note)
		buf_printf(&l->shortcomings, "%sGPUs: %s.",
		           l->shortcomings.len ? " " : "",
		           l->machine.gpus.note);
	if (l->machine.devices.note)
		buf_printf(&l->shortcomings, "%sDevices: %s.",
		           l->shortcomings.len ? " " : "",
		           l->machine.devices.note);
	note_devices(l);
	note_disk(l);
}

static int open_dir(struct local *l, const char *state_dir, struct err *err)
{
	/* Let jobs of other users reach their scripts in this folder. */
	mode_t mode = geteuid() == 0 ? 0711 : 0700;

	l->dir = xasprintf("%s/run", state_dir);
	if (mkdir(l->dir, mode) < 0 && errno != EEXIST)
		return err_sys(err, "cannot make '%s'", l->dir);
	l->dirfd = open(l->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (l->dirfd < 0 || fchmod(l->dirfd, mode) < 0)
		return err_sys(err, "cannot use '%s'", l->dir);
	l->lock_fd =
	    openat(l->dirfd, "lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (l->lock_fd < 0)
		return err_sys(err, "cannot open '%s/lock'", l->dir);
	l->null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (l->null_fd < 0)
		return err_sys(err, "cannot open '/dev/null'");
	return 0;
}

static int check_tmp_dir(const char *path, struct err *err)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return err_sys(err, "cannot use tmp_dir '%s'", path);
	if (!S_ISDIR(st.st_mode))
		return err_set(err, ENOTDIR, "tmp_dir '%s' is not a folder",
		               path);
	return 0;
}

static int64_t read_limit(const char *file)
{
	int64_t n = cgroup_file_read_number("/proc/sys/kernel", file, "");

	return n > 0 ? n : INT64_MAX;
}

/* Returns a quarter of the processes that the machine allows, so that several
 * runaway jobs together cannot prevent log-ins. */
static int64_t default_max_processes(void)
{
	int64_t pids = read_limit("pid_max"), all = read_limit("threads-max");

	all = (pids < all ? pids : all) / 4;
	return all > LEAST_PROCESSES ? all : LEAST_PROCESSES;
}

static void take_conf(struct local *l, const char *tmp_dir,
                      int64_t max_processes, uint32_t rlimits,
                      bool constrain_devices, int64_t sample_s)
{
	l->sample_s = sample_s;
	l->constrain_devices = constrain_devices;
	l->rlimits = rlimits;
	text_set(&l->tmp_dir, tmp_dir);
	l->max_processes = max_processes != CONF_NONE ? max_processes
	                                              : default_max_processes();
}

/* Begin to run the configured program. No job starts before the program has
 * reported for the first time that the machine is well. */
static void check_health(struct local *l, const struct conf_health *conf)
{
	if (health_conf(l->health, conf))
		on_health("health_check has not ended yet", l);
	else if (!*conf->program)
		on_health(NULL, l);
}

/* Use the new configuration, for jobs that start from now on. */
static void local_reconf(struct runner *r, const struct conf *conf,
                         const struct conf_pool *pool)
{
	take_conf(local_of(r), conf->tmp_dir, conf->max_processes,
	          conf->rlimits, pool->constrain_devices,
	          conf->accounting.sample);
	note_shortcomings(local_of(r));
	check_health(local_of(r), &conf->health);
}

static int prepare(struct local *l, const struct runner_local_conf *conf,
                   struct err *err)
{
	if (open_dir(l, conf->state_dir, err) < 0 ||
	    check_tmp_dir(conf->tmp_dir, err) < 0)
		return -1;
	take_conf(l, conf->tmp_dir, conf->max_processes, conf->rlimits,
	          conf->constrain_devices, conf->sample_s);
	l->files = conf->files;
	l->shepherd =
	    program_path("aischedd/run/shepherd", "aisched-shepherd", err);
	if (!l->shepherd)
		return -1;
	l->gpu_program = program_path("gpu", "aisched-gpu", NULL);
	if (machine_discover(&l->machine, conf->node, conf->devices,
	                     conf->ndevices, l->arena, err) < 0)
		return -1;
	l->machine.node.tmp_mib = machine_disk_mib(l->tmp_dir);
	if (nursery_open(l, err) < 0)
		return -1;
	clock_boot_id(l->boot);
	note_shortcomings(l);
	return 0;
}

static const struct runner_ops local_ops = {
	.start = local_start,
	.stop = local_stop,
	.signal = local_signal,
	.suspend = local_suspend,
	.resume = local_resume,
	.resize = local_resize,
	.forget = local_forget,
	.step_socket = local_step_socket,
	.forward = &local_forward_calls,
	.steps = local_steps,
	.recover = local_recover,
	.reconf = local_reconf,
	.shortcomings = local_shortcomings,
	.free = local_free,
};

struct runner *runner_local_new(struct event_base *base,
                                const struct runner_local_conf *conf,
                                run_event_fn *fn, void *arg, struct err *err)
{
	struct local *l = xcalloc(1, sizeof(*l));

	l->runner.ops = &local_ops;
	l->base = base;
	l->fn = fn;
	l->arg = arg;
	l->deaf_ms = OVERDUE_DEAF_MS;
	l->dirfd = l->lock_fd = l->null_fd = l->nursery_fd = -1;
	l->arena = arena_new();
	TAILQ_INIT(&l->forwards);
	if (prepare(l, conf, err) < 0) {
		local_free(&l->runner);
		return NULL;
	}
	l->tick = event_new(base, -1, 0, on_tick, l);
	l->hello = true;
	l->health = health_new(base, on_health, l);
	check_health(l, conf->health);
	event_active(l->tick, EV_TIMEOUT, 0);
	return &l->runner;
}

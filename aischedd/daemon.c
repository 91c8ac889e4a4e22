/* daemon.c - the parts in order, and the turn */
#include "aischedd/daemon.h"

#include <event2/event.h>
#include <event2/thread.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "aischedd/thread.h"
#include "config.h"
#include "libcommon/log.h"
#include "libcommon/mem.h"

enum {
	PASS_MAX_WAIT_MS = 100, /* between two passes under load */
	PASS_SHARE = 5,         /* at most one part in so many is planning */
	PASS_INLINE = 500,      /* rows and nodes planned without a thread */
	RETRY_FULL_MS = 1000,   /* a commit that found no space */
	LAST_WORDS_MS = 2000,   /* for answers to be sent at the end */
	PURGE_JOBS = 1000,      /* ended jobs forgotten in one go */
	MAX_CALLBACKS = 2000,   /* heard in one turn */
	FILES_WANTED = 4096     /* descriptors */
};

int64_t now_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return ts.tv_sec;
}

double now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

static void arm(struct event *event, double ms)
{
	struct timeval tv;

	if (ms < 0)
		ms = 0;
	tv.tv_sec = (time_t)(ms / 1e3);
	tv.tv_usec = (suseconds_t)((ms - (double)tv.tv_sec * 1e3) * 1e3);
	event_add(event, &tv);
}

/* --- answers ----------------------------------------------------------- */

bool daemon_is_open(const struct daemon *d, const struct ask *ask)
{
	return map_find(&d->open, (uint64_t)(uintptr_t)ask) != NULL;
}

void daemon_end_ask(struct daemon *d, struct ask *ask)
{
	map_del(&d->open, (uint64_t)(uintptr_t)ask);
}

void daemon_answer(struct daemon *d, struct ask *ask, json_t *body)
{
	d->answer = GROW(d->answer, d->nanswers, &d->answer_cap);
	d->answer[d->nanswers++] = (struct answer){ ask, body };
}

void daemon_say(struct daemon *d, struct ask *ask, json_t *body)
{
	daemon_end_ask(d, ask);
	rpc_reply(ask, body);
}

void daemon_refuse(struct daemon *d, struct ask *ask, const struct err *err)
{
	daemon_end_ask(d, ask);
	rpc_refuse(ask, err);
}

void daemon_later(struct daemon *d, later_fn *fn, struct ask *ask, void *arg)
{
	d->later = GROW(d->later, d->nlaters, &d->later_cap);
	d->later[d->nlaters++] = (struct later){ fn, ask, arg };
}

void daemon_go_on(struct daemon *d)
{
	arm(d->again, 0);
}

static void gone(struct ask *ask, void *arg)
{
	struct daemon *d = arg;

	daemon_end_ask(d, ask);
	for (size_t i = 0; i < d->nanswers; i++)
		if (d->answer[i].ask == ask) {
			json_decref(d->answer[i].body);
			d->answer[i].ask = NULL;
		}
	for (size_t i = 0; i < d->nlaters; i++)
		if (d->later[i].ask == ask)
			d->later[i].fn = NULL;
	daemon_reading_gone(d, ask);
}

/* --- runners ----------------------------------------------------------- */

static struct runner *runner_of(const struct daemon *d, uint32_t node)
{
	uint32_t pool = state_node(d->state, node)->pool;

	return pool < d->npools ? d->pool[pool].runner : NULL;
}

static void recover(struct pool_runner *p)
{
	uint64_t *job;
	uint32_t *attempt;
	size_t n = state_attempts(p->daemon->state, p->pool, &job, &attempt);
	const char *lacks = p->runner->ops->shortcomings(p->runner);

	if (lacks && *lacks)
		log_warning("pool %s: %s", p->daemon->conf->pools[p->pool].name,
		            lacks);
	p->runner->ops->recover(p->runner, n, job, attempt);
	p->recovered = true;
	free(job);
	free(attempt);
}

static void log_outcome(const struct run_event *ev)
{
	const struct outcome *o = ev->outcome;

	if (ev->kind == RUN_ENDED)
		log_info("job end job=%llu attempt=%u exit=%d signal=%d oom=%d",
		         (unsigned long long)ev->job, ev->attempt, o->exit_code,
		         o->signal, o->oom);
	else if (ev->kind == RUN_LOST)
		log_warning("job lost job=%llu attempt=%u: %s",
		            (unsigned long long)ev->job, ev->attempt,
		            ev->text ? ev->text : "");
	else if (ev->kind == RUN_START_FAILED)
		log_warning("job start_failed job=%llu attempt=%u: %s",
		            (unsigned long long)ev->job, ev->attempt,
		            ev->text ? ev->text : "");
}

static void job_event(struct daemon *d, const struct run_event *ev)
{
	static const enum event_kind kinds[] = {
		[RUN_STARTED] = EV_started,
		[RUN_START_FAILED] = EV_start_failed,
		[RUN_ENDED] = EV_ended,
		[RUN_LOST] = EV_lost,
		[RUN_UNKNOWN] = EV_unknown,
		[RUN_RESIZED] = EV_shrunk,
	};
	struct job *job = state_job(d->state, ev->job);
	struct event_in in = {
		.kind = kinds[ev->kind],
		.now = now_s(),
		.attempt = ev->attempt,
		.suspended = ev->suspended,
		.resize = ev->resize,
		.rebooted = ev->rebooted,
		.fault = ev->fault,
		.time = ev->time,
		.text = ev->text,
		.outcome = ev->outcome,
	};

	log_outcome(ev);
	if (job)
		state_event(d->state, job, &in, NULL);
}

/* Use by others changes all the time: that is nothing to tell. */
static void node_event(struct pool_runner *p, const struct node_info *info)
{
	struct state *state = p->daemon->state;
	int n = state_node_find(state, info->name);
	struct node was = { .gone = true };

	if (n >= 0)
		was = *state_node(state, (uint32_t)n);
	state_node_seen(state, p->pool, info);
	if (was.gone != info->gone || was.down != info->down ||
	    was.cordoned != info->cordoned ||
	    was.cpu_found != info->cpu_milli ||
	    was.mem_found != info->mem_mib || was.ngpus != info->ngpus)
		log_notice("node seen node=%s cpus=%lld mem_mib=%lld gpus=%u"
		           "%s%s",
		           info->name, (long long)(info->cpu_milli / 1000),
		           (long long)info->mem_mib, info->ngpus,
		           info->gone || info->down || info->cordoned ? ": "
		                                                      : "",
		           info->reason ? info->reason : "");
}

static void run_event(const struct run_event *ev, void *arg)
{
	struct pool_runner *p = arg;
	struct daemon *d = p->daemon;

	switch (ev->kind) {
	case RUN_NODE:
		node_event(p, ev->node);
		if (!p->recovered)
			recover(p);
		break;
	case RUN_TROUBLE:
		if (ev->text)
			log_warning("pool %s: %s", d->conf->pools[p->pool].name,
			            ev->text);
		else
			log_notice("pool %s: well again",
			           d->conf->pools[p->pool].name);
		break;
	case RUN_SYNCED:
		state_pool_ready(d->state, p->pool, true);
		state_lose_orphans(d->state, p->pool, now_s());
		break;
	default:
		job_event(d, ev);
	}
}

/* Tell the runner of all of it: the first time, or that its tasks changed. */
static void do_run(struct daemon *d, struct job *job, bool resize)
{
	struct runner *runner = runner_of(d, job->place->task[0].node);
	const char **names = xcalloc(job->place->ntasks, sizeof(*names));
	struct buf script = { 0 }, env = { 0 };
	struct run_job run;
	struct request req;
	struct spec spec;
	struct err err;

	state_run_job(d->state, job, &spec, &req, names, &run);
	if (store_blob_get(d->store, job->script, &script, &err) < 0 ||
	    store_blob_get(d->store, job->env, &env, &err) < 0) {
		struct run_event failed = { .kind = RUN_START_FAILED,
			                    .job = job->id,
			                    .attempt = job->attempt,
			                    .text = err.text };

		log_err("job %llu: its script: %s", (unsigned long long)job->id,
		        err.text);
		if (!resize)
			job_event(d, &failed);
		goto out;
	}
	run.script = script.data;
	run.script_len = script.len;
	run.env = env.data;
	run.env_len = env.len;
	log_info("job %s job=%llu attempt=%u node=%s tasks=%u",
	         resize ? "resize" : "start", (unsigned long long)job->id,
	         job->attempt, names[0], run.ntasks);
	if (resize)
		runner->ops->resize(runner, &run);
	else
		runner->ops->start(runner, &run);
out:
	buf_free(&script);
	buf_free(&env);
	free(names);
}

static void do_effect(struct daemon *d, const struct effect *e)
{
	struct job *job = state_job(d->state, e->job);
	struct runner *r;

	if (e->kind == EFFECT_FORGET) {
		r = runner_of(d, e->node);
		if (r)
			r->ops->forget(r, e->job, e->attempt);
		return;
	}
	/* The state may have moved on since: then this is void. */
	if (!job || !job->place || job->attempt != e->attempt)
		return;
	r = runner_of(d, job->place->task[0].node);
	if (!r)
		return;
	switch (e->kind) {
	case EFFECT_START:
		do_run(d, job, false);
		break;
	case EFFECT_STOP:
		r->ops->stop(r, e->job, e->attempt, e->why, job->grace);
		break;
	case EFFECT_SIGNAL:
		r->ops->signal(r, e->job, e->attempt, e->signo, e->script_only);
		break;
	case EFFECT_SUSPEND:
		r->ops->suspend(r, e->job, e->attempt);
		break;
	case EFFECT_RESUME:
		r->ops->resume(r, e->job, e->attempt, job->place->ntasks,
		               job->place->task, job->place->cpu_use);
		break;
	case EFFECT_RESIZE:
		if (r->ops->resize)
			do_run(d, job, true);
		break;
	case EFFECT_FORGET:
		break;
	}
}

/* --- think ------------------------------------------------------------- */

/* One pass of the scheduler: on the planner's thread when there is much to
 * look at, so that answers need not wait for it. */
struct pass {
	struct task task;
	struct daemon *d;
	struct arena *arena;
	const struct snap *snap;
	const struct plan *plan;
	double began_ms, took_ms;
};

static void pass_free(struct pass *pass)
{
	if (!pass)
		return;
	arena_free(pass->arena);
	free(pass);
}

static void pass_work(struct task *task)
{
	struct pass *pass = (struct pass *)(void *)task;
	struct err err;

	pass->plan = sched_plan(pass->snap, pass->arena);
	pass->took_ms = now_ms() - pass->began_ms;
	if (pass->d->check_plans &&
	    plan_check(pass->snap, pass->plan, &err) < 0) {
		log_err("plan is wrong: %s", err.text);
		abort();
	}
}

static void pass_done(struct task *task)
{
	struct pass *pass = (struct pass *)(void *)task;
	struct daemon *d = pass->d;
	double rest = pass->took_ms * PASS_SHARE;

	state_apply_plan(d->state, pass->snap, pass->plan, &pass->arena,
	                 now_s());
	d->stats.passes++;
	d->stats.last_ms = pass->took_ms;
	d->stats.sum_ms += pass->took_ms;
	if (pass->took_ms > d->stats.max_ms)
		d->stats.max_ms = pass->took_ms;
	d->next_pass_ms =
	    now_ms() + (rest < PASS_MAX_WAIT_MS ? rest : PASS_MAX_WAIT_MS);
	pass_free(pass);
	d->pass = NULL;
}

static void plan(struct daemon *d)
{
	struct pass *pass = xcalloc(1, sizeof(*pass));

	pass->task = (struct task){ .work = pass_work, .done = pass_done };
	pass->d = d;
	pass->arena = arena_new();
	pass->began_ms = now_ms();
	pass->snap = state_snapshot(d->state, now_s(), pass->arena);
	d->pass = pass;
	if (pass->snap->pend.n + pass->snap->node.n > PASS_INLINE) {
		thread_do(d->planner, &pass->task);
		return;
	}
	pass_work(&pass->task);
	pass_done(&pass->task);
}

static void think(struct daemon *d)
{
	if (d->full)
		return; /* what is planned could not be kept */
	state_tick(d->state, now_s());
	daemon_slice_masses(d);
	if (d->pass || !state_wants_plan(d->state))
		return;
	if (now_ms() >= d->next_pass_ms)
		plan(d);
	else
		arm(d->pace, d->next_pass_ms - now_ms());
}

/* --- commit ------------------------------------------------------------ */

/* Whether everything so far is on disk. */
static bool commit(struct daemon *d)
{
	struct err err;

	if (d->full && now_ms() < d->retry_ms)
		return false;
	if (store_commit(d->store, d->state, &err) == 0) {
		if (d->full)
			log_notice("database written again");
		d->full = false;
		return true;
	}
	if (err.code != ENOSPC) {
		/* Memory is ahead of the disk: begin again from there. */
		log_err("%s", err.text);
		_exit(1);
	}
	if (!d->full)
		log_err("%s; nothing is started or taken until there is room",
		        err.text);
	d->full = true;
	err_set(&d->full_err, ENOSPC,
	        "the disk of '%s' is full: nothing can be kept; try again "
	        "when there is room",
	        d->state_dir);
	d->retry_ms = now_ms() + RETRY_FULL_MS;
	arm(d->retry, RETRY_FULL_MS);
	return false;
}

/* --- tell -------------------------------------------------------------- */

static void run_laters(struct daemon *d)
{
	/* What they add is for this turn as well. */
	for (size_t i = 0; i < d->nlaters; i++)
		if (d->later[i].fn)
			d->later[i].fn(d, d->later[i].arg);
	d->nlaters = 0;
}

static void tell(struct daemon *d)
{
	const struct effect *effect;
	size_t n = state_take_effects(d->state, &effect);

	for (size_t i = 0; i < n; i++)
		do_effect(d, &effect[i]);
	for (size_t i = 0; i < d->nanswers; i++)
		if (d->answer[i].ask)
			daemon_say(d, d->answer[i].ask, d->answer[i].body);
	d->nanswers = 0;
	daemon_check_waiters(d);
}

static void arm_tick(struct daemon *d)
{
	int64_t at = state_next_tick(d->state);
	struct timespec ts;

	if (at == NO_TIME) {
		event_del(d->tick);
		return;
	}
	clock_gettime(CLOCK_REALTIME, &ts);
	arm(d->tick, (double)(at - ts.tv_sec) * 1e3 - (double)ts.tv_nsec / 1e6);
}

static void turn(struct daemon *d)
{
	think(d);
	if (commit(d))
		tell(d);
	run_laters(d);
	/* Telling may have changed something: that is the next turn's. */
	if (!d->full && state_is_dirty(d->state))
		arm(d->again, 0);
	else if (!d->full && !d->pass && state_wants_plan(d->state))
		arm(d->pace, d->next_pass_ms - now_ms());
	arm_tick(d);
	d->turns++;
}

/* --- signals, timers --------------------------------------------------- */

static void wake(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg; /* the loop turns */
}

static void on_term(evutil_socket_t fd, short what, void *arg)
{
	struct daemon *d = arg;

	(void)fd;
	(void)what;
	d->quit = true;
}

static void on_hup(evutil_socket_t fd, short what, void *arg)
{
	struct daemon *d = arg;

	(void)fd;
	(void)what;
	d->reload = true;
}

static void forget_history(evutil_socket_t fd, short what, void *arg)
{
	struct daemon *d = arg;
	struct err err;
	size_t n = 0;

	(void)fd;
	(void)what;
	if (d->conf->history_keep != CONF_UNLIMITED &&
	    store_purge(d->store, now_s() - d->conf->history_keep, PURGE_JOBS,
	                &n, &err) < 0)
		log_warning("history is kept longer: %s", err.text);
	arm(d->hourly, n == PURGE_JOBS ? 10 : 3600e3);
}

static void notify_systemd(const char *text)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	size_t len = path ? strlen(path) : 0;
	int fd;

	if (!len || len >= sizeof(un.sun_path))
		return;
	memcpy(un.sun_path, path, len);
	if (path[0] == '@')
		un.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	if (sendto(fd, text, strlen(text), MSG_NOSIGNAL, (struct sockaddr *)&un,
	           (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)) <
	    0)
		log_warning("systemd cannot be told '%s'", text);
	close(fd);
}

/* --- configuration and status ------------------------------------------ */

static int same(const char *key, const char *a, const char *b, struct err *err)
{
	if (!strcmp(a, b))
		return 0;
	return err_set(err, EINVAL, "changing %s takes a restart", key);
}

static int check_reload(const struct conf *old, const struct conf *conf,
                        struct err *err)
{
	if (same("cluster", old->cluster, conf->cluster, err) < 0 ||
	    same("state_dir", old->state_dir, conf->state_dir, err) < 0 ||
	    same("munge_socket", old->munge_socket, conf->munge_socket, err) <
	        0)
		return -1;
	if (old->listen.n != conf->listen.n)
		return same("listen", "", "changed", err);
	for (size_t i = 0; i < old->listen.n; i++)
		if (same("listen", old->listen.s[i], conf->listen.s[i], err) <
		    0)
			return -1;
	if (old->npools != conf->npools)
		return same("pools", "", "changed", err);
	for (size_t i = 0; i < old->npools; i++)
		if (same("pools", old->pools[i].name, conf->pools[i].name,
		         err) < 0 ||
		    old->pools[i].runner != conf->pools[i].runner)
			return same("pools", "", "changed", err);
	return 0;
}

int daemon_reload(struct daemon *d, struct buf *warnings, struct err *err)
{
	struct conf *conf = conf_load(d->conf_path, warnings, err);

	if (!conf)
		return -1;
	if (check_reload(d->conf, conf, err) < 0 ||
	    state_reconf(d->state, conf, now_s(), err) < 0) {
		conf_free(conf);
		return -1;
	}
	if (d->conf != d->first_conf)
		conf_free(d->conf);
	d->conf = conf;
	log_notice("configuration reloaded");
	return 0;
}

static void reload_on_hup(struct daemon *d)
{
	struct buf warnings = { 0 };
	struct err err;

	d->reload = false;
	if (daemon_reload(d, &warnings, &err) < 0)
		log_err("configuration not reloaded: %s", err.text);
	if (warnings.len)
		log_warning("%s", warnings.data);
	buf_free(&warnings);
}

static json_t *shortcomings(const struct daemon *d)
{
	json_t *list = json_array();

	for (size_t i = 0; i < d->npools; i++) {
		struct runner *r = d->pool[i].runner;
		const char *text = r ? r->ops->shortcomings(r) : NULL;

		if (text && *text)
			json_array_append_new(list, json_string(text));
	}
	return list;
}

static double mean(double sum, uint64_t n)
{
	return n ? sum / (double)n : 0;
}

json_t *daemon_status(struct daemon *d)
{
	const uint64_t *counts = state_counts(d->state);
	json_t *jobs = json_object();
	struct store_stats s;

	store_stats(d->store, &s);
	for (int i = 0; i < JOB_NSTATES; i++) {
		char name[32];
		const char *from = job_state_name((enum job_state)i);
		size_t n = 0;

		if (job_state_is_final((enum job_state)i))
			continue;
		for (; from[n] && n < sizeof(name) - 1; n++)
			name[n] = (char)(from[n] | 0x20);
		name[n] = '\0';
		json_object_set_new(jobs, name,
		                    json_integer((json_int_t)counts[i]));
	}
	return json_pack(
	    "{s:s, s:s, s:i, s:I, s:o, s:I, s:I, s:I, s:{s:s, s:I, s:I}, s:I,"
	    " s:I, s:{s:f, s:f, s:f}, s:I, s:{s:f, s:f, s:f}, s:o, s:b}",
	    "version", PACKAGE_VERSION, "cluster", d->conf->cluster, "pid",
	    (int)getpid(), "uptime_s", (json_int_t)(now_s() - d->started),
	    "jobs", jobs, "queues", (json_int_t)d->conf->nqueues, "nodes",
	    (json_int_t)state_nnodes(d->state), "connections",
	    (json_int_t)rpc_connections(d->rpc), "store", "path",
	    store_path(d->store), "bytes", (json_int_t)s.bytes, "wal_bytes",
	    (json_int_t)s.wal_bytes, "turns", (json_int_t)d->turns, "passes",
	    (json_int_t)d->stats.passes, "pass_ms", "last", d->stats.last_ms,
	    "mean", mean(d->stats.sum_ms, d->stats.passes), "max",
	    d->stats.max_ms, "commits", (json_int_t)s.commits, "commit_ms",
	    "last", s.commit_ms_last, "mean", mean(s.commit_ms_sum, s.commits),
	    "max", s.commit_ms_max, "shortcomings", shortcomings(d),
	    "space_left", !d->full);
}

/* --- wiring ------------------------------------------------------------ */

static int make_dirs(const char *path, struct err *err)
{
	/* Other users' jobs reach their scripts below it. */
	mode_t last = geteuid() == 0 ? 0711 : 0700;
	char *copy = xstrdup(path);
	int result = 0;

	for (char *p = copy + 1; result == 0; p++) {
		char was = *p;

		if (was && was != '/')
			continue;
		*p = '\0';
		if (mkdir(copy, was ? 0755 : last) < 0 && errno != EEXIST)
			result = err_sys(err, "cannot make '%s'", copy);
		*p = was;
		if (!was)
			break;
	}
	free(copy);
	return result;
}

/* A record lock: a child that was just forked when this daemon is killed
 * does not keep it. */
static int lock_dir(struct daemon *d, struct err *err)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	char *path = xasprintf("%s/lock", d->state_dir);
	int result = 0;

	d->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (d->lock_fd < 0)
		result = err_sys(err, "cannot open '%s'", path);
	else if (fcntl(d->lock_fd, F_SETLK, &lock) < 0)
		result = err_set(err, EBUSY,
		                 "another aischedd uses '%s': stop it, or set "
		                 "another state_dir",
		                 d->state_dir);
	free(path);
	return result;
}

static struct event_base *new_base(struct err *err)
{
	struct event_config *cfg = event_config_new();
	struct event_base *base;

	evthread_use_pthreads();
	event_config_set_flag(cfg, EVENT_BASE_FLAG_PRECISE_TIMER);
	event_config_set_max_dispatch_interval(cfg, NULL, MAX_CALLBACKS, 0);
	base = event_base_new_with_config(cfg);
	event_config_free(cfg);
	if (!base)
		err_set(err, ENOMEM, "cannot make an event loop");
	return base;
}

static void new_timers(struct daemon *d)
{
	d->tick = evtimer_new(d->base, wake, d);
	d->pace = evtimer_new(d->base, wake, d);
	d->again = evtimer_new(d->base, wake, d);
	d->retry = evtimer_new(d->base, wake, d);
	d->hourly = evtimer_new(d->base, forget_history, d);
	d->term = evsignal_new(d->base, SIGTERM, on_term, d);
	d->intr = evsignal_new(d->base, SIGINT, on_term, d);
	d->hup = evsignal_new(d->base, SIGHUP, on_hup, d);
	event_add(d->term, NULL);
	event_add(d->intr, NULL);
	event_add(d->hup, NULL);
	arm(d->hourly, 60e3);
}

static const struct conf_node *this_host(const struct conf *conf)
{
	char name[256] = "";

	gethostname(name, sizeof(name) - 1);
	for (size_t i = 0; i < conf->nnodes; i++)
		if (!strcmp(conf->nodes[i].name, name))
			return &conf->nodes[i];
	return NULL;
}

static int new_runners(struct daemon *d, struct err *err)
{
	d->npools = d->conf->npools;
	d->pool = xcalloc(d->npools, sizeof(*d->pool));
	for (size_t i = 0; i < d->npools; i++) {
		struct pool_runner *p = &d->pool[i];

		p->daemon = d;
		p->pool = (uint32_t)i;
		if (d->conf->pools[i].runner == RUNNER_KUBERNETES) {
			p->runner = runner_kube_new(
			    d->base, d->conf, &d->conf->pools[i],
			    store_id(d->store), run_event, p);
			recover(p);
		}
		if (d->conf->pools[i].runner != RUNNER_LOCAL)
			continue;
		p->runner =
		    runner_local_new(d->base, d->state_dir, this_host(d->conf),
		                     run_event, p, err);
		if (!p->runner)
			return -1;
	}
	return 0;
}

static int build(struct daemon *d, struct err *err)
{
	double began = now_ms();

	if (make_dirs(d->state_dir, err) < 0 || lock_dir(d, err) < 0 ||
	    !(d->base = new_base(err)) ||
	    !(d->store = store_open(d->state_dir, err)))
		return -1;
	d->state = state_new(d->conf, store_past, d->store);
	if (store_load(d->store, d->state, now_s(), err) < 0 ||
	    !(d->history = thread_new(d->base, err)) ||
	    !(d->planner = thread_new(d->base, err)))
		return -1;
	log_notice("database loaded path=%s ms=%.0f", store_path(d->store),
	           now_ms() - began);
	new_timers(d);
	if (new_runners(d, err) < 0 ||
	    !(d->rpc = rpc_new(d->base, d->conf, daemon_request, gone, d, err)))
		return -1;
	return 0;
}

/* Connections are many; the database and the runners need some as well.
 * What may not be raised is clamped. */
static void raise_files(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 ||
	    limit.rlim_cur >= FILES_WANTED)
		return;
	limit.rlim_cur =
	    limit.rlim_max < FILES_WANTED ? limit.rlim_max : FILES_WANTED;
	if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
		log_warning("only %llu files may be open",
		            (unsigned long long)limit.rlim_cur);
}

struct daemon *daemon_new(struct conf **conf, const char *conf_path,
                          struct err *err)
{
	struct daemon *d = xcalloc(1, sizeof(*d));

	d->conf = d->first_conf = *conf;
	d->conf_path = conf_path;
	d->state_dir = xstrdup(d->conf->state_dir);
	d->lock_fd = -1;
	d->started = now_s();
	d->check_plans = getenv("AISCHED_CHECK_PLANS") != NULL;
	*conf = NULL;
	raise_files();
	if (build(d, err) == 0)
		return d;
	*conf = d->conf;
	d->first_conf = d->conf = NULL;
	daemon_free(d);
	return NULL;
}

static void free_event(struct event *event)
{
	if (event)
		event_free(event);
}

void daemon_free(struct daemon *d)
{
	if (!d)
		return;
	for (size_t i = 0; i < d->nanswers; i++)
		if (d->answer[i].ask)
			json_decref(d->answer[i].body);
	d->nanswers = 0; /* rpc_free() says who is gone */
	thread_free(d->history);
	thread_free(d->planner);
	pass_free(d->pass);
	rpc_free(d->rpc);
	daemon_free_readings(d);
	daemon_free_masses(d);
	daemon_free_waiters(d);
	for (size_t i = 0; i < d->npools; i++)
		if (d->pool[i].runner)
			d->pool[i].runner->ops->free(d->pool[i].runner);
	free(d->pool);
	state_free(d->state);
	store_close(d->store);
	struct event *events[] = { d->tick,   d->pace, d->again, d->retry,
		                   d->hourly, d->term, d->intr,  d->hup };
	for (size_t i = 0; i < ARRAY_SIZE(events); i++)
		free_event(events[i]);
	if (d->base)
		event_base_free(d->base);
	if (d->conf != d->first_conf)
		conf_free(d->conf);
	conf_free(d->first_conf);
	if (d->lock_fd >= 0)
		close(d->lock_fd);
	map_free(&d->open);
	free(d->answer);
	free(d->later);
	free(d->state_dir);
	free(d);
}

/* Answers that were given reach those who still read. */
static void say_last_words(struct daemon *d)
{
	double until = now_ms() + LAST_WORDS_MS;

	while (!rpc_stop(d->rpc) && now_ms() < until) {
		arm(d->again, LAST_WORDS_MS / 20);
		event_base_loop(d->base, EVLOOP_ONCE);
	}
}

int daemon_run(struct daemon *d)
{
	notify_systemd("READY=1");
	log_notice("daemon ready cluster=%s", d->conf->cluster);
	turn(d); /* what loading left to do */
	while (!d->quit) {
		event_base_loop(d->base, EVLOOP_ONCE);
		if (d->reload)
			reload_on_hup(d);
		turn(d);
	}
	notify_systemd("STOPPING=1");
	say_last_words(d);
	log_notice("daemon stopped; jobs go on");
	return 0;
}

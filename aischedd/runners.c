/* runners.c - carry out effects of the state by runners, pass events of runners
 * to the state */
#include "aischedd/runners.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aischedd/daemon.h"
#include "aischedd/op/adopt.h"
#include "aischedd/op/cron_run.h"
#include "aischedd/pools.h"
#include "aischedd/scaler.h"
#include "aischedd/state/cluster/ledger.h"
#include "aischedd/state/cluster/node.h"
#include "aischedd/state/cluster/pool.h"
#include "aischedd/state/cluster/scale.h"
#include "aischedd/state/cluster/volume.h"
#include "aischedd/state/life/evict.h"
#include "aischedd/state/life/lifecycle.h"
#include "aischedd/state/load.h"
#include "aischedd/state/pass/why.h"
#include "aischedd/store/blob.h"
#include "aischedd/store/steps.h"
#include "libcommon/clock.h"
#include "libcommon/log.h"
#include "libcommon/mem.h"

static const struct conf_pool *pool_of(const struct pool_runner *p)
{
	return &p->daemon->conf->pools[p->pool];
}

static struct runner *runner_of(const struct daemon *d, uint32_t node)
{
	uint32_t pool = state_node(d->state, node)->pool;

	return pool < d->npools ? d->pool[pool].runner : NULL;
}

struct runner *daemon_runner_of(const struct daemon *d, const struct job *job)
{
	return runner_of(d, job->place->task[0].node);
}

int daemon_step_socket(const struct daemon *d, const struct job *job,
                       struct buf *out, struct err *err)
{
	struct runner *r = daemon_runner_of(d, job);

	if (r && r->ops->exec)
		return err_set(err, EOPNOTSUPP,
		               "job %s runs in a cluster: its script runs "
		               "steps, srun --overlap a command beside them",
		               job_id_text(job).text);
	if (!r || !r->ops->step_socket)
		return err_set(err, EOPNOTSUPP,
		               "job %s runs where steps cannot be run",
		               job_id_text(job).text);
	r->ops->step_socket(r, job->id, job->attempt, out);
	return 0;
}

void daemon_steps(const struct daemon *d, const struct job *job,
                  struct buf *out)
{
	struct runner *r = daemon_runner_of(d, job);

	if (r && r->ops->steps)
		r->ops->steps(r, job->id, job->attempt, out);
}

/* Store the record of the job's steps in the same commit as the end of the
 * attempt, as the runner deletes it together with the attempt. */
static void keep_steps(struct daemon *d, const struct job *job,
                       const struct run_event *ev)
{
	struct buf text = { 0 };

	if ((ev->kind != RUN_ENDED && ev->kind != RUN_LOST) || !job->place ||
	    job->attempt != ev->attempt)
		return;
	daemon_steps(d, job, &text);
	if (text.len)
		store_steps(d->store, job->id, job->attempt, &text);
	buf_free(&text);
}

static void recover(struct pool_runner *p)
{
	struct run_attempt *list;
	size_t n = state_attempts(p->daemon->state, p->pool, &list);
	const char *lacks = p->runner->ops->shortcomings(p->runner);

	if (lacks && *lacks)
		log_warning("pool %s: %s", p->daemon->conf->pools[p->pool].name,
		            lacks);
	p->runner->ops->recover(p->runner, n, list);
	p->recovered = true;
	free(list);
}

/* Log a failed start. If nodes are at fault, node= is the first of them, and
 * tasks= is the number of tasks that failed. */
static void log_start_failed(const struct run_event *ev)
{
	struct buf nodes = { 0 };

	if (ev->nodes.n)
		buf_printf(&nodes, " node=%s tasks=%zu", ev->nodes.s[0],
		           ev->nodes.n);
	log_warning("job start_failed job=%llu attempt=%u%s: %s",
	            (unsigned long long)ev->job, ev->attempt,
	            nodes.len ? nodes.data : "", ev->text ? ev->text : "");
	buf_free(&nodes);
}

static void log_outcome(const struct run_event *ev)
{
	const struct outcome *o = ev->outcome;

	if (ev->kind == RUN_ENDED)
		log_info("job end job=%llu attempt=%u exit=%d signal=%d oom=%d"
		         "%s%s",
		         (unsigned long long)ev->job, ev->attempt, o->exit_code,
		         o->signal, o->oom, o->text ? ": " : "",
		         o->text ? o->text : "");
	else if (ev->kind == RUN_LOST)
		log_warning("job lost job=%llu attempt=%u: %s",
		            (unsigned long long)ev->job, ev->attempt,
		            ev->text ? ev->text : "");
	else if (ev->kind == RUN_REPLACED)
		log_notice("job replace job=%llu attempt=%u tasks=%u: %s",
		           (unsigned long long)ev->job, ev->attempt,
		           ev->replaced, ev->text ? ev->text : "");
	else if (ev->kind == RUN_TASKS_LOST)
		log_warning("job lose job=%llu attempt=%u tasks=%zu: %s",
		            (unsigned long long)ev->job, ev->attempt,
		            ev->nodes.n, ev->text ? ev->text : "");
	else if (ev->kind == RUN_NOTED && ev->text)
		log_notice("job wait job=%llu attempt=%u: %s",
		           (unsigned long long)ev->job, ev->attempt, ev->text);
	else if (ev->kind == RUN_UNREACHED && ev->text)
		log_warning("job signal job=%llu attempt=%u: %s",
		            (unsigned long long)ev->job, ev->attempt, ev->text);
	else if (ev->kind == RUN_START_FAILED)
		log_start_failed(ev);
}

/* Log why the job will be started again, and when. */
static void log_retry(const struct state *state, uint64_t id, int64_t now)
{
	const struct job *job = state_job(state, id);
	struct buf text = { 0 };
	int64_t expected;
	uint32_t position;

	if (!job || job->runs->retry_at == NO_TIME)
		return;
	state_why(state, job, now, &text, &expected, &position);
	log_notice("job wait job=%llu attempt=%u: %s", (unsigned long long)id,
	           job->attempt, text.data ? text.data : "");
	buf_free(&text);
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
		[RUN_REPLACED] = EV_replaced,
		[RUN_TASKS_LOST] = EV_tasks_lost,
		[RUN_USED] = EV_used,
		[RUN_NOTED] = EV_noted,
		[RUN_UNREACHED] = EV_noted,
		[RUN_WITHDRAWN] = EV_cancel,
	};
	struct job *job = state_job(d->state, ev->job);
	struct event_in in = {
		.kind = kinds[ev->kind],
		.now = clock_wall_s(),
		.attempt = ev->attempt,
		.suspended = ev->suspended,
		.space = ev->space,
		.resize = ev->resize,
		.replaced = ev->replaced,
		.rebooted = ev->rebooted,
		.fault = ev->fault,
		.nodes = ev->nodes,
		.refused = ev->refused,
		.gpus = ev->gpus,
		.time = ev->time,
		.text = ev->text,
		.gpu = ev->gpu,
		.idle_ms = ev->idle_ms,
		.outcome = ev->outcome,
	};

	log_outcome(ev);
	daemon_clock(d);
	if (job)
		keep_steps(d, job, ev);
	if (job && state_event(d->state, job, &in, NULL) == 0)
		log_retry(d->state, ev->job, in.now);
}

/* Tell the state what a node has, and log what has changed, except how much
 * processes outside of jobs use: this changes too often. */
static void node_event(struct pool_runner *p, const struct node_info *info)
{
	struct state *state = p->daemon->state;
	int n = state_node_of(state, p->pool, info->name);
	struct node was = { .gone = true };
	struct node_info closed = *info;

	if (n >= 0)
		was = *state_node(state, (uint32_t)n);
	if (pool_of(p)->leaving && !info->gone) {
		closed.cordoned = true;
		closed.reason = "its pool is no longer configured";
		info = &closed;
	}
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

/* Warn about drained nodes that do not exist in the pool. */
static void warn_of_gone(const struct pool_runner *p)
{
	struct state *state = p->daemon->state;

	for (uint32_t i = 0; i < state_nnodes(state); i++) {
		const struct node *node = state_node(state, i);

		if (node->pool == p->pool && node->gone && node->drained)
			log_warning("node absent node=%s pool=%s: it is "
			            "drained, but the pool does not have it",
			            node->name,
			            p->daemon->conf->pools[p->pool].name);
	}
}

/* --- addresses of ports --- */

/* Remove the addresses of the job's ports everywhere except with the runner
 * `but`, which may be NULL. */
static void no_ports(struct daemon *d, uint64_t id, const struct runner *but)
{
	for (uint32_t i = 0; i < d->npools; i++) {
		struct runner *r = d->pool[i].runner;

		if (r && r != but && r->ops->no_ports)
			r->ops->no_ports(r, id, NULL);
	}
}

/* Remove an address that the runner has found after the start of the daemon,
 * unless the job runs there or, as it waits, may run there again. */
static void ports_found(const struct pool_runner *p, const struct run_event *ev)
{
	const struct job *job = state_job(p->daemon->state, ev->job);
	bool here =
	    job && job->place && daemon_runner_of(p->daemon, job) == p->runner;

	if (job && job->ports && !job->place &&
	    !job_state_is_final((enum job_state)job->state) &&
	    !pool_of(p)->leaving)
		return;
	p->runner->ops->no_ports(p->runner, ev->job,
	                         here && job->ports ? job->runs->space : NULL);
}

/* --- events --- */

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
	case RUN_VOLUME:
		state_volume_seen(d->state, p->pool, ev->volume,
		                  clock_wall_s());
		break;
	case RUN_TROUBLE:
		state_pool_trouble(d->state, p->pool, ev->text);
		if (ev->text)
			log_warning("pool %s: %s", d->conf->pools[p->pool].name,
			            ev->text);
		else
			log_notice("pool %s: recovered",
			           d->conf->pools[p->pool].name);
		break;
	case RUN_SCALE_REFUSED:
		state_scale_refused(d->state, ev->scale, ev->text,
		                    clock_wall_s());
		log_warning("pool %s: scale %s: %s",
		            d->conf->pools[p->pool].name, ev->scale, ev->text);
		break;
	case RUN_LACKS:
		if (ev->text)
			log_warning("pool %s: %s", d->conf->pools[p->pool].name,
			            ev->text);
		break;
	case RUN_SYNCED:
		state_pool_ready(d->state, p->pool, true);
		scaler_reconf(d->scaler); /* it tells the runner again */
		state_lose_orphans(d->state, p->pool, clock_wall_s());
		warn_of_gone(p);
		break;
	case RUN_ADOPT:
		daemon_adopt(p, ev->adopt);
		break;
	case RUN_TAKEN_BACK:
		daemon_take_back(d, ev);
		break;
	case RUN_PORTS:
		ports_found(p, ev);
		break;
	case RUN_LEFT:
		daemon_forget_pool(d, &d->conf->pools[p->pool]);
		break;
	default:
		job_event(d, ev);
	}
}

/* Pass the whole job to the runner, to start it or, if resize is set, because
 * its tasks have changed. */
static void do_run(struct daemon *d, struct job *job, bool resize)
{
	struct runner *runner = daemon_runner_of(d, job);
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
		run.grace = evict_grace(d->state, job);
	if (job->ports)
		no_ports(d, job->id, runner);
	if (resize)
		runner->ops->resize(runner, &run);
	else
		runner->ops->start(runner, &run);
out:
	buf_free(&script);
	buf_free(&env);
	free(names);
}

static void do_resume(struct runner *r, const struct effect *e,
                      const struct placement *place)
{
	struct run_job run = { .job = e->job,
		               .attempt = e->attempt,
		               .ntasks = place->ntasks,
		               .task = place->task,
		               .cpu_use = place->cpu_use,
		               .devs = place->devs };

	r->ops->resume(r, &run);
}

static void do_drain(const struct daemon *d, struct runner *r, uint32_t n)
{
	const struct node *node = state_node(d->state, n);

	r->ops->drain(r, node->name,
	              !node->drained       ? NULL
	              : node->drain_reason ? node->drain_reason
	                                   : "");
}

void daemon_do_effect(struct daemon *d, const struct effect *e)
{
	struct job *job = state_job(d->state, e->job);
	struct run_signal signal;
	struct runner *r;

	if (e->kind == EFFECT_CRON) {
		daemon_cron_due(d, e->job);
		return;
	}
	if (e->kind == EFFECT_ADD_NODE || e->kind == EFFECT_REMOVE_NODE) {
		scaler_want(d->scaler, e->node, e->kind == EFFECT_ADD_NODE);
		return;
	}
	if (e->kind == EFFECT_PORTS) {
		no_ports(d, e->job, NULL);
		return;
	}
	if (e->kind == EFFECT_ADOPT) {
		daemon_adopted(d, e);
		return;
	}
	if (e->kind == EFFECT_FORGET || e->kind == EFFECT_DRAIN) {
		r = runner_of(d, e->node);
		if (r && e->kind == EFFECT_FORGET)
			r->ops->forget(r, e->job, e->attempt);
		else if (r && r->ops->drain)
			do_drain(d, r, e->node);
		return;
	}
	/* The effect no longer applies if the job's attempt has
	 * changed since. */
	if (!job || !job->place || job->attempt != e->attempt)
		return;
	r = daemon_runner_of(d, job);
	if (!r)
		return;
	switch (e->kind) {
	case EFFECT_START:
		do_run(d, job, false);
		break;
	case EFFECT_STOP:
		r->ops->stop(r, e->job, e->attempt, e->why, e->grace);
		break;
	case EFFECT_SIGNAL:
		signal = e->signal;
		signal.user = job->user;
		r->ops->signal(r, e->job, e->attempt, &signal);
		break;
	case EFFECT_SUSPEND:
		r->ops->suspend(r, e->job, e->attempt);
		break;
	case EFFECT_RESUME:
		do_resume(r, e, job->place);
		break;
	case EFFECT_RESIZE:
		do_run(d, job, true);
		break;
	case EFFECT_FORGET:
	case EFFECT_ADOPT:
	case EFFECT_PORTS:
	case EFFECT_CRON:
	case EFFECT_DRAIN:
	case EFFECT_ADD_NODE:
	case EFFECT_REMOVE_NODE:
		break;
	}
}

const struct conf_node *daemon_this_host(const struct conf *conf, uint32_t pool)
{
	char name[256] = "";

	gethostname(name, sizeof(name) - 1);
	for (size_t i = 0; i < conf->nnodes; i++)
		if (conf->nodes[i].pool == (int)pool &&
		    !strcmp(conf->nodes[i].name, name))
			return &conf->nodes[i];
	return NULL;
}

static struct runner *new_local(struct pool_runner *p, struct err *err)
{
	const struct daemon *d = p->daemon;
	const struct runner_local_conf conf = {
		.state_dir = d->state_dir,
		.tmp_dir = d->conf->tmp_dir,
		.max_processes = d->conf->max_processes,
		.rlimits = d->conf->rlimits,
		.constrain_devices = d->conf->pools[p->pool].constrain_devices,
		.devices = d->conf->devices,
		.ndevices = d->conf->ndevices,
		.sample_s = d->conf->accounting.sample,
		.files = d->files,
		.node = daemon_this_host(d->conf, p->pool),
		.health = &d->conf->health,
	};

	return runner_local_new(d->base, &conf, run_event, p, err);
}

/* Tell the state which nodes a pool without runner has: those that the
 * configuration names. Nodes no longer named are reported as gone. */
static void see_sections(struct daemon *d, uint32_t pool)
{
	const struct conf *conf = d->conf;
	struct node_info info = {
		.cordoned = true,
		.reason = "its pool has no runner: nothing runs there",
	};

	for (uint32_t i = 0; i < state_nnodes(d->state); i++) {
		const struct node *node = state_node(d->state, i);

		if (node->pool == pool && !node->gone && !node->conf)
			state_node_seen(d->state, pool,
			                &(struct node_info){ .name = node->name,
			                                     .gone = true });
	}
	for (size_t i = 0; i < conf->nnodes; i++) {
		const struct conf_node *node = &conf->nodes[i];

		if (node->pool != (int)pool)
			continue;
		info.name = node->name;
		info.ngpus = node->gpus > 0 ? (uint32_t)node->gpus : 0;
		info.gpu_type = node->gpu_type;
		state_node_seen(d->state, pool, &info);
	}
}

void daemon_see_sections(struct daemon *d)
{
	for (uint32_t i = 0; i < d->conf->npools; i++)
		if (!runner_traits(d->conf->pools[i].runner)->runs)
			see_sections(d, i);
}

int daemon_new_runners(struct daemon *d, struct err *err)
{
	d->npools = d->conf->npools;
	d->pool = xcalloc(d->npools, sizeof(*d->pool));
	for (size_t i = 0; i < d->npools; i++) {
		struct pool_runner *p = &d->pool[i];

		p->daemon = d;
		p->pool = (uint32_t)i;
		switch (d->conf->pools[i].runner) {
		case RUNNER_NONE:
			break;
		case RUNNER_LOCAL:
			p->runner = new_local(p, err);
			if (!p->runner)
				return -1;
			break;
		case RUNNER_KUBERNETES:
			p->runner = runner_kube_new(
			    d->base, d->conf, &d->conf->pools[i],
			    store_id(d->store), d->logs, run_event, p);
			recover(p);
			break;
		}
	}
	daemon_note_pools(d);
	daemon_see_sections(d);
	return 0;
}

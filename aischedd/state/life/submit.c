/* submit.c - make the record of a new job */
#include "aischedd/state/life/submit.h"
#include "aischedd/state/cluster/counts.h"

#include <stdlib.h>
#include <string.h>

#include "aischedd/state/cluster/node.h"
#include "aischedd/state/cluster/pool.h"
#include "aischedd/state/cluster/reserve_use.h"
#include "aischedd/state/life/adopt.h"
#include "aischedd/state/life/alarm.h"
#include "aischedd/state/life/depend.h"
#include "aischedd/state/life/submit_check.h"
#include "aischedd/state/state_priv.h"
#include "libcommon/mem.h"
#include "libcommon/mig.h"
#include "libcommon/spec/spec_opt.h"

const char *state_class(const struct state *state, const struct spec *spec,
                        uint32_t queue)
{
	return spec->class ? spec->class : state->conf->queues[queue].class;
}

const struct conf_class *submit_class(const struct state *state,
                                      const struct spec *spec, uint32_t queue)
{
	static const struct conf_class none;
	const struct conf *conf = state->conf;
	int class = conf_class_find(conf, state_class(state, spec, queue));

	return class < 0 ? &none : &conf->classes[class];
}

void job_set_priority(const struct state *state, struct job *job,
                      const struct spec *spec)
{
	job->priority = spec->priority != SPEC_UNSET
	                    ? spec->priority
	                    : submit_class(state, spec, job->queue)->priority;
	if (spec->nice != SPEC_UNSET)
		job->priority -= spec->nice;
}

void job_set_manners(const struct state *state, struct job *job,
                     const struct spec *spec)
{
	job->preemptible = submit_class(state, spec, job->queue)->preemptible;
	job->on_preempt = (uint8_t)state->conf->queues[job->queue].preempt;
	if (spec->kube_pod == 1) /* a pod cannot run again */
		job->on_preempt = PREEMPT_CANCEL;
}

void job_set_grace(const struct state *state, struct job *job,
                   const struct spec *spec)
{
	job->grace = spec->grace != SPEC_UNSET
	                 ? spec->grace
	                 : submit_grace(state, job->queue);
}

struct array *submit_new_array(struct state *state, uint64_t id,
                               const struct spec *spec)
{
	struct array *array = xcalloc(1, sizeof(*array));
	struct idset tasks = { 0 };

	if (idset_parse(&tasks, &array->limit, spec->array, NULL) < 0)
		abort(); /* spec_resolve() has checked it */
	array->id = id;
	array->count = array->unfinished = idset_count(&tasks);
	array->min = idset_min(&tasks);
	array->max = idset_max(&tasks);
	array->step = tasks.range[0].step;
	array->started = NO_TIME;
	array->exit_low = array->exit_high = -1;
	array->is_new = true;
	map_set(&state->records.arrays, array->id, array);
	row_limit_array(state, array);
	state_touch_array(state, array);
	idset_free(&tasks);
	return array;
}

/* Returns the thousandths of a GPU for which a job's part by memory counts: the
 * part of the smallest GPU in its pools that is large enough, since it is not
 * known yet on which node the job will run. */
static int64_t part_for(struct state *state, const struct spec *spec,
                        uint32_t queue)
{
	uint64_t pools = spec_pools(state, spec, queue);
	int64_t least = 0;
	size_t n;
	const struct gpu_kind *kind = pool_gpu_kinds(state, &n);

	for (size_t i = 0; i < n; i++) {
		int64_t mib = kind[i].mem_mib;

		if (pools >> kind[i].pool & 1 && mib >= spec->gpu_memory &&
		    (!least || mib < least) &&
		    (!spec->gpu_type ||
		     (kind[i].type && !strcmp(spec->gpu_type, kind[i].type))))
			least = mib;
	}
	return gpu_part(spec->gpu_memory, least);
}

char *submit_pack(struct state *state, const struct spec *spec, uint32_t queue)
{
	struct spec copy = *spec;

	copy.gpu_part =
	    spec_gets_part(spec) ? part_for(state, spec, queue) : SPEC_UNSET;
	return spec_pack(&copy);
}

struct job *state_make_job(struct state *state, const struct spec *spec,
                           const struct submitter *who, uint32_t queue,
                           uint64_t id, int64_t now)
{
	struct job *job = state_new_job(id);

	job->queue = queue;
	job->user = state_intern_user(state, who->uid, who->user);
	job->uid = who->uid;
	job->gid = who->gid;
	job->state = JOB_PENDING;
	job->submit = now;
	job->packed = submit_pack(state, spec, queue);
	job->reserved = spec->reservation != NULL;
	job->claims = volume_is_named(spec->mount);
	job->affine = affinity_is_asked(spec);
	job->aligned = pool_align_is_asked(spec);
	job->ports = spec->ports != NULL;
	job->adopted = spec->kube_uid != NULL;
	job->cron = spec->cron_id != SPEC_UNSET ? (uint64_t)spec->cron_id : 0;
	job->mem_default =
	    state_default_mem(state, spec_pools(state, spec, queue));
	job_set_priority(state, job, spec);
	job_set_grace(state, job, spec);
	job_set_manners(state, job, spec);
	submit_time_limit(state, spec, queue, &job->time_limit, NULL);
	if (spec->begin != SPEC_UNSET && spec->begin > now)
		job->begin = spec->begin;
	if (spec->deadline != SPEC_UNSET)
		job->deadline = spec->deadline;
	if (spec->hold == 1)
		job->hold = HOLD_USER;
	return job;
}

void state_submit(struct state *state, const struct spec *spec,
                  const struct submitter *who, uint32_t queue, int64_t script,
                  int64_t env, uint64_t id, int64_t now)
{
	struct job *job = state_make_job(state, spec, who, queue, id, now);

	job->script = script;
	job->env = env;
	reserve_admit(state, spec, who);
	state_admit(state, job, spec, now);
}

void state_admit(struct state *state, struct job *job, const struct spec *spec,
                 int64_t now)
{
	if (spec->array) {
		uint32_t limit;

		if (idset_parse(&job->tasks, &limit, spec->array, NULL) < 0)
			abort(); /* cannot fail: it was checked before */
		job->array = submit_new_array(state, job->id, spec)->id;
	}
	if (spec->dependency &&
	    deps_parse(state, spec->dependency, &job->deps, NULL) < 0)
		abort(); /* cannot fail: it was checked before */
	state_add_job(state, job);
	counts_submitted(state, job);
	state_arm(state, job);
	if (job->adopted)
		adopt_tell(state, job);
	deps_begin(state, job, now); /* may free `job` */
}

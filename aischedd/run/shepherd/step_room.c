/* step_room.c - the resources that steps have in their job */
#include "aischedd/run/shepherd/step_room.h"

#include <stdlib.h>

#include "aischedd/run/shepherd/end.h"

struct step_room {
	int64_t cpus_milli, mem_mib;
	uint64_t gpus;
	bool whole; /* no other step holds resources of the job */
};

static struct step_room room_of_job(const struct shepherd *s)
{
	const struct run_job *job = &s->order.job;
	struct step_room room = { .cpus_milli = job->whole.cpus_milli,
		                  .mem_mib = job->whole.mem_mib,
		                  .whole = true };

	if (!room.cpus_milli)
		room.cpus_milli = job->req->cpus_milli * job->ntasks;
	if (!room.mem_mib)
		room.mem_mib = job->req->mem_mib * job->ntasks;
	for (uint32_t i = 0; i < job->ntasks; i++)
		room.gpus |= job->task[i].gpus;
	return room;
}

/* Returns the number of CPUs that the step asks for; if the request gives none,
 * one for each task. */
static int64_t cpus_asked(const struct step_request *req)
{
	return req->tasks * (req->cpus ? req->cpus : 1);
}

int step_room_check(const struct shepherd *s, const struct step_request *req,
                    struct err *err)
{
	struct step_room all = room_of_job(s);

	if (cpus_asked(req) > (all.cpus_milli + 999) / 1000 &&
	    !(req->flags & STEP_OVERCOMMIT))
		return err_set(err, EINVAL,
		               "More processors requested than permitted");
	if (req->mem_mib > all.mem_mib)
		return err_set(err, EINVAL,
		               "Memory required by task is not available");
	if (req->gpus > __builtin_popcountll(all.gpus))
		return err_set(err, EINVAL,
		               "Invalid generic resource (gres) "
		               "specification");
	return 0;
}

static bool has_part(const struct job_step *step)
{
	return (step->state == STEP_RUNS || step->state == STEP_CLEARS) &&
	       !(step->req.flags & STEP_OVERLAP);
}

static struct step_room room_left(const struct shepherd *s,
                                  struct job_step *const *other, size_t n)
{
	struct step_room left = room_of_job(s);

	for (size_t i = 0; i < n; i++) {
		if (!has_part(other[i]))
			continue;
		left.whole = false;
		left.cpus_milli -= other[i]->cpus_milli;
		left.mem_mib -= other[i]->mem_mib;
		left.gpus &= ~other[i]->gpus;
	}
	return left;
}

static uint64_t lowest(uint64_t set, int64_t n)
{
	uint64_t some = 0;

	for (; n > 0 && set; n--) {
		some |= set & -set;
		set &= set - 1;
	}
	return some;
}

static bool is_taken(uint16_t cpu, struct job_step *const *other, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (uint32_t c = 0; has_part(other[i]) && c < other[i]->ncpus;
		     c++)
			if (other[i]->cpu[c] == cpu)
				return true;
	return false;
}

/* Bind the step to CPUs of the job that no other step is bound to. If there are
 * too few, the step is not bound. */
static void take_cpus(const struct shepherd *s, struct job_step *step,
                      struct job_step *const *other, size_t n)
{
	const struct run_job *job = &s->order.job;
	uint32_t want = (uint32_t)((step->cpus_milli + 999) / 1000), found = 0;
	uint32_t uses = s->order.bind ? order_uses(job) : 0;
	uint16_t *cpu = xcalloc(want + 1, sizeof(*cpu));

	for (uint32_t i = 0; i < uses && found < want; i++)
		if (job->cpu_use[i].milli >= 1000 &&
		    !is_taken(job->cpu_use[i].cpu, other, n))
			cpu[found++] = job->cpu_use[i].cpu;
	if (found < want) {
		free(cpu);
		return;
	}
	step->cpu = cpu;
	step->ncpus = want;
}

static int64_t at_most(int64_t n, int64_t max)
{
	return n < max ? n : max;
}

/* Set what a step with STEP_EXACT gets: what it asks for. If it does not ask
 * for memory, it gets memory in proportion to its CPUs. */
static void want_exactly(const struct step_room *all, struct job_step *step,
                         int64_t *ret_gpus)
{
	const struct step_request *req = &step->req;

	step->cpus_milli = at_most(cpus_asked(req) * 1000, all->cpus_milli);
	step->mem_mib = req->mem_mib ? req->mem_mib
	                : all->cpus_milli
	                    ? all->mem_mib * step->cpus_milli / all->cpus_milli
	                    : 0;
	*ret_gpus = req->gpus > 0 ? req->gpus : 0;
}

bool step_room_take(const struct shepherd *s, struct job_step *step,
                    struct job_step *const *other, size_t n)
{
	struct step_room all = room_of_job(s), left = room_left(s, other, n);
	const struct step_request *req = &step->req;
	int64_t gpus = req->gpus > 0 ? req->gpus : 0;

	if (req->flags & STEP_OVERLAP) {
		step->gpus = lowest(all.gpus, gpus);
		return true;
	}
	if (!(req->flags & STEP_EXACT)) {
		if (!left.whole)
			return false;
		step->cpus_milli = all.cpus_milli;
		step->mem_mib = all.mem_mib;
		step->gpus = req->gpus < 0 ? all.gpus : lowest(all.gpus, gpus);
		return true;
	}
	want_exactly(&all, step, &gpus);
	if (step->cpus_milli > left.cpus_milli ||
	    step->mem_mib > left.mem_mib ||
	    gpus > __builtin_popcountll(left.gpus))
		return false;
	step->gpus = lowest(left.gpus, gpus);
	take_cpus(s, step, other, n);
	return true;
}

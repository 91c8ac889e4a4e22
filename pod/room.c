/* room.c - the resources that steps have in the pods of their job */
#include "pod/room.h"

#include <stdlib.h>
#include <string.h>

#include "libcommon/mem.h"
#include "libcommon/step_msg.h"

struct free_room {
	int64_t cpus, mem_mib;
	uint64_t gpus;
	bool whole;
};

static uint64_t all_gpus(const struct pod_job *job)
{
	return job->gpus >= 64 ? UINT64_MAX : (UINT64_C(1) << job->gpus) - 1;
}

static bool in_range(int64_t n, int64_t min, int64_t max)
{
	return n >= min && n <= max;
}

/* --- read requests -------------------------------------------------------- */

static int read_only(const struct pod_job *job, const json_t *list,
                     struct room_want *ret, struct err *err)
{
	const json_t *item;
	size_t i;

	if (!json_array_size(list))
		return 0;
	ret->only = xcalloc((size_t)job->pods, sizeof(*ret->only));
	json_array_foreach(list, i, item) {
		json_int_t pod = json_integer_value(item);

		if (!json_is_integer(item) || pod < 0 || pod >= job->pods)
			return err_set(err, EINVAL, "bad request for a step");
		ret->only[pod] = true;
	}
	return 0;
}

int room_ask_read(const struct pod_job *job, const json_t *obj,
                  struct room_want *ret, struct err *err)
{
	const json_t *only = json_object_get(obj, "only");
	json_int_t n[8];

	*ret = (struct room_want){ 0 };
	if (json_unpack_ex((json_t *)(uintptr_t)obj, NULL, 0,
	                   "{s:I s:I s:I s:I s:I s:I s:I s:I}", "tasks", &n[0],
	                   "nodes", &n[1], "per_node", &n[2], "cpus", &n[3],
	                   "mem", &n[4], "gpus", &n[5], "gpus_task", &n[6],
	                   "flags", &n[7]) < 0 ||
	    !in_range(n[0], 1, STEP_TASKS_MAX) ||
	    !in_range(n[1], 0, STEP_TASKS_MAX) ||
	    !in_range(n[2], 0, STEP_TASKS_MAX) ||
	    !in_range(n[3], 0, STEP_TASKS_MAX) ||
	    !in_range(n[4], 0, INT64_C(1) << 40) || !in_range(n[5], -1, 64) ||
	    !in_range(n[6], -1, 64) || n[7] < 0)
		return err_set(err, EINVAL, "bad request for a step");
	*ret = (struct room_want){ .tasks = n[0],
		                   .nodes = n[1],
		                   .per_node = n[2],
		                   .cpus = n[3],
		                   .mem_mib = n[4],
		                   .gpus = n[5],
		                   .gpus_task = n[6],
		                   .flags = n[7] };
	return read_only(job, only, ret, err);
}

/* --- choose pods for tasks ------------------------------------------------ */

/* Returns how many pods the step should use: the requested number or, if there
 * is none, all that the step may use; but one for each task at most. */
static int64_t pods_wanted(const struct pod_job *job,
                           const struct room_want *ask)
{
	int64_t n = ask->nodes;

	if (!n && ask->only)
		for (int64_t i = 0; i < job->pods; i++)
			n += ask->only[i];
	if (!n)
		n = job->pods;
	return n < ask->tasks ? n : ask->tasks;
}

/* Returns how many tasks of a step fit in what is left of a pod. */
static int64_t capacity(const struct room_want *ask,
                        const struct free_room *left)
{
	int64_t n = left->cpus / (ask->cpus ? ask->cpus : 1), by;
	int64_t mem = ask->mem_mib / ask->tasks;

	if (ask->flags & STEP_OVERCOMMIT)
		n = ask->tasks;
	if (mem && left->mem_mib / mem < n)
		n = left->mem_mib / mem;
	by = ask->gpus_task > 0
	         ? __builtin_popcountll(left->gpus) / ask->gpus_task
	         : n;
	n = by < n ? by : n;
	if (ask->gpus > __builtin_popcountll(left->gpus))
		n = 0;
	return ask->per_node && ask->per_node < n ? ask->per_node : n;
}

/* Distribute tasks as Slurm does: first one in each pod. Then add tasks to the
 * pods in order, up to the number of tasks that the job has in each pod. If
 * tasks remain, add them in order again, up to most[i] in pod i. */
static bool spread(const struct pod_job *job, const struct room_want *ask,
                   struct room_part *part, const int64_t *most, size_t n)
{
	int64_t left = ask->tasks;

	for (size_t i = 0; i < n; i++, left--)
		part[i].tasks = 1;
	for (int round = 0; round < 2; round++)
		for (size_t i = 0; i < n && left > 0; i++) {
			int64_t to = round || most[i] < job->tasks ? most[i]
			                                           : job->tasks;
			int64_t more = to - part[i].tasks;

			more = more < left ? more : left;
			if (more <= 0)
				continue;
			part[i].tasks += more;
			left -= more;
		}
	return left == 0;
}

static size_t choose(const struct pod_job *job, const struct room_want *ask,
                     const struct free_room *left, struct room_part *part,
                     int64_t *most)
{
	size_t n = 0, want = (size_t)pods_wanted(job, ask);
	bool exact = ask->flags & (STEP_EXACT | STEP_OVERLAP);

	for (int64_t i = 0; i < job->pods && n < want; i++) {
		int64_t can = capacity(ask, &left[i]);

		if ((ask->only && !ask->only[i]) || can < 1 ||
		    (!exact && !left[i].whole))
			continue;
		part[n].pod = i;
		most[n++] = can;
	}
	return n == want ? n : 0;
}

/* Choose pods for all tasks of a step, given what is left of each. Returns the
 * number of pods; 0: the tasks do not fit. */
static size_t place(const struct pod_job *job, const struct room_want *ask,
                    const struct free_room *left, struct room_part *part)
{
	int64_t *most = xcalloc((size_t)job->pods, sizeof(*most));
	size_t n = choose(job, ask, left, part, most);

	if (n && !spread(job, ask, part, most, n))
		n = 0;
	free(most);
	return n;
}

static struct free_room *empty_job(const struct pod_job *job)
{
	struct free_room *left = xcalloc((size_t)job->pods, sizeof(*left));

	for (int64_t i = 0; i < job->pods; i++)
		left[i] = (struct free_room){ job->cpus, job->mem_mib,
			                      all_gpus(job), true };
	return left;
}

int room_check(const struct pod_job *job, const struct room_want *ask,
               struct err *err)
{
	struct free_room *left = empty_job(job);
	struct room_part *part = xcalloc((size_t)job->pods, sizeof(*part));
	int64_t each = ask->cpus ? ask->cpus : 1;
	size_t n = place(job, ask, left, part);

	free(left);
	free(part);
	if (n)
		return 0;
	if (ask->nodes > job->pods)
		return err_set(err, EINVAL,
		               "More nodes requested than available");
	if (ask->mem_mib > job->mem_mib * pods_wanted(job, ask))
		return err_set(err, EINVAL,
		               "Memory required by task is not available");
	if (ask->gpus > job->gpus || ask->gpus_task > job->gpus)
		return err_set(err, EINVAL,
		               "Invalid generic resource (gres) "
		               "specification");
	if (ask->tasks * each > job->cpus * job->pods)
		return err_set(err, EINVAL,
		               "More processors requested than permitted");
	return err_set(err, EINVAL,
	               "Requested node configuration is not available");
}

/* --- take resources ------------------------------------------------------- */

static uint64_t lowest(uint64_t set, int64_t n)
{
	uint64_t some = 0;

	for (; n > 0 && set; n--) {
		some |= set & -set;
		set &= set - 1;
	}
	return some;
}

static void take_others(struct free_room *left, struct room_claim *const *other,
                        size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < other[i]->nparts; k++) {
			const struct room_part *p = &other[i]->part[k];

			if (other[i]->ask.flags & STEP_OVERLAP)
				continue;
			left[p->pod].cpus -= p->cpus;
			left[p->pod].mem_mib -= p->mem_mib;
			left[p->pod].gpus &= ~p->gpus;
			left[p->pod].whole = false;
		}
}

static void fill(const struct pod_job *job, const struct room_want *ask,
                 const struct free_room *left, struct room_part *p)
{
	int64_t gpus =
	    ask->gpus_task >= 0 ? ask->gpus_task * p->tasks : ask->gpus;
	bool exact = ask->flags & STEP_EXACT;

	p->cpus = job->cpus;
	p->mem_mib = job->mem_mib;
	if (exact) {
		p->cpus = p->tasks * (ask->cpus ? ask->cpus : 1);
		p->cpus = p->cpus < job->cpus ? p->cpus : job->cpus;
		p->mem_mib = ask->mem_mib ? ask->mem_mib / ask->tasks * p->tasks
		                          : job->mem_mib * p->cpus / job->cpus;
	}
	p->gpus = gpus < 0 ? (exact ? 0 : left[p->pod].gpus)
	                   : lowest(left[p->pod].gpus, gpus);
}

bool room_take(const struct pod_job *job, struct room_claim *claim,
               struct room_claim *const *other, size_t n)
{
	struct free_room *left = empty_job(job);
	struct room_part *part = xcalloc((size_t)job->pods, sizeof(*part));

	if (!(claim->ask.flags & STEP_OVERLAP))
		take_others(left, other, n);
	claim->nparts = place(job, &claim->ask, left, part);
	for (size_t i = 0; i < claim->nparts; i++)
		fill(job, &claim->ask, left, &part[i]);
	free(left);
	if (!claim->nparts) {
		free(part);
		return false;
	}
	claim->part = part;
	return true;
}

void room_free(struct room_claim *claim)
{
	free(claim->ask.only);
	claim->ask.only = NULL;
	free(claim->part);
	claim->part = NULL;
	claim->nparts = 0;
}

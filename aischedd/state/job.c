/* job.c - the record of one job: its packed request, times and placement */
#include "aischedd/state/job.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aischedd/state/cluster/ledger.h"
#include "libcommon/mem.h"

/*
 * A packed request has for each field that is set: one byte, the field's index
 * in spec_fields; then its value, which is a text with its zero byte or an
 * integer of eight bytes. PACK_END follows the last field.
 */
enum { PACK_END = 255 };

static size_t field_size(const struct spec *spec, const struct spec_field *f)
{
	const char *base = (const char *)spec + f->offset;

	if (f->is_text) {
		const char *s = *(const char *const *)(const void *)base;

		return s ? 1 + strlen(s) + 1 : 0;
	}
	return *(const int64_t *)(const void *)base == SPEC_UNSET ? 0 : 1 + 8;
}

char *spec_pack(const struct spec *spec)
{
	size_t size = 1;
	char *packed, *p;

	for (size_t i = 0; i < spec_nfields; i++)
		size += field_size(spec, &spec_fields[i]);
	packed = p = xmalloc(size);
	for (size_t i = 0; i < spec_nfields; i++) {
		const struct spec_field *f = &spec_fields[i];
		const char *base = (const char *)spec + f->offset;
		size_t len = field_size(spec, f);

		if (!len)
			continue;
		*p = (char)i;
		memcpy(p + 1,
		       f->is_text ? *(const char *const *)(const void *)base
		                  : base,
		       len - 1);
		p += len;
	}
	*p = (char)PACK_END;
	return packed;
}

/* Returns the start of the field after the one at p; NULL if that field does
 * not end within `size` bytes. */
static const char *packed_next(const char *p, size_t size)
{
	size_t number = (unsigned char)*p, len;

	if (number >= spec_nfields)
		return NULL;
	len = spec_fields[number].is_text ? strnlen(p + 1, size - 1) + 1 : 8;
	return len < size ? p + 1 + len : NULL;
}

bool spec_packed_check(const void *data, size_t size)
{
	const char *p = data, *end = p + size;

	while (p && p < end && (unsigned char)*p != PACK_END)
		p = packed_next(p, (size_t)(end - p));
	return p && p + 1 == end;
}

size_t spec_packed_size(const char *packed)
{
	const char *p = packed;

	while ((unsigned char)*p != PACK_END) {
		p = packed_next(p, SIZE_MAX);
		assert(p);
	}
	return (size_t)(p + 1 - packed);
}

void spec_unpack(struct spec *ret, const char *packed)
{
	spec_init(ret);
	while ((unsigned char)*packed != PACK_END) {
		const struct spec_field *f =
		    &spec_fields[(unsigned char)*packed++];

		if (f->is_text) {
			*spec_text(ret, f) = packed;
			packed += strlen(packed) + 1;
		} else {
			memcpy(spec_int(ret, f), packed, 8);
			packed += 8;
		}
	}
}

const struct job_runs job_runs_none = { .exit_code = -1,
	                                .peak_mem_kib = SPEC_UNSET,
	                                .start = NO_TIME,
	                                .end = NO_TIME,
	                                .resumed = NO_TIME,
	                                .retry_at = NO_TIME,
	                                .leave_by = NO_TIME };

struct job_runs *job_runs(struct job *job)
{
	struct job_runs *own;

	if (job->runs != &job_runs_none)
		return (struct job_runs *)(uintptr_t)job->runs;
	own = xmalloc(sizeof(*own));
	*own = job_runs_none;
	job->runs = own;
	return own;
}

void job_runs_copy(struct job *to, const struct job *from)
{
	struct job_runs *own;

	to->runs = &job_runs_none;
	if (from->runs == &job_runs_none)
		return;
	own = job_runs(to);
	*own = *from->runs;
	own->space = own->last_place = NULL;
	own->leaving = NULL;
	own->evictions = NULL;
	own->key = NULL;
	own->placed_at = 0;
}

static void runs_free(struct job *job)
{
	struct job_runs *own;

	if (job->runs == &job_runs_none)
		return;
	own = job_runs(job);
	free(own->space);
	free(own->leaving);
	free(own->evictions);
	free(own->key);
	free(own->last_place);
	free(own);
}

uint32_t job_count(const struct job *job)
{
	return job->tasks.n ? idset_count(&job->tasks) : 1;
}

struct job_id_text job_id_text(const struct job *job)
{
	struct job_id_text id;

	if (job->array && job->task != NO_TASK)
		snprintf(id.text, sizeof(id.text), "%llu_%u",
		         (unsigned long long)job->array, job->task);
	else
		snprintf(
		    id.text, sizeof(id.text), "%llu",
		    (unsigned long long)(job->array ? job->array : job->id));
	return id;
}

bool job_is_placed(const struct job *job)
{
	return job->place != NULL;
}

int64_t job_due(const struct job *job)
{
	int64_t since = job->state == JOB_CONFIGURING ? job->runs->start
	                                              : job->runs->resumed;

	if (since == NO_TIME || job->time_limit == TIME_UNLIMITED)
		return NO_TIME;
	return since + job->time_limit - job->runs->ran;
}

int64_t job_limit_at(const struct job *job)
{
	if (job->runs->resumed == NO_TIME || job->time_limit == TIME_UNLIMITED)
		return NO_TIME;
	/* `resumed` is in whole seconds: one more second ensures that the job
	 * is not stopped too early. */
	return job_due(job) + 1;
}

int64_t job_latest_at(const struct job *job)
{
	if (job->deadline == NO_TIME || job->state != JOB_PENDING ||
	    job->time_limit == TIME_UNLIMITED)
		return job->deadline;
	return job->deadline - job->time_limit;
}

int64_t job_elapsed(const struct job *job, int64_t now)
{
	if (job->runs->resumed == NO_TIME)
		return job->runs->ran;
	return job->runs->ran +
	       (now > job->runs->resumed ? now - job->runs->resumed : 0);
}

/* Allocate an empty placement with memory for this many tasks and CPUs, and for
 * their devices if `named`. */
static struct placement *placement_room(uint32_t ntasks, uint32_t ncpus,
                                        bool named)
{
	size_t tasks = (ntasks + 1) * sizeof(struct snap_task);
	size_t devs = named ? ntasks * sizeof(uint64_t) : 0;
	struct placement *place = xmalloc(sizeof(*place) + tasks + devs +
	                                  ncpus * sizeof(struct snap_cpu_use));
	char *end = (char *)(place + 1);

	place->ntasks = 0;
	place->task = (struct snap_task *)(void *)end;
	place->devs = named ? (uint64_t *)(void *)(end + tasks) : NULL;
	place->cpu_use = (struct snap_cpu_use *)(void *)(end + tasks + devs);
	place->task[0] = (struct snap_task){ 0 };
	return place;
}

struct placement *placement_new(uint32_t ntasks, const struct snap_task *task,
                                const struct snap_cpu_use *cpu_use,
                                const uint64_t *devs)
{
	uint32_t first = task[0].cpu_first;
	uint32_t ncpus = task[ntasks].cpu_first - first;
	struct placement *place = placement_room(ntasks, ncpus, devs);

	place->ntasks = ntasks;
	memcpy(place->task, task, (ntasks + 1) * sizeof(*task));
	for (uint32_t i = 0; i <= ntasks; i++)
		place->task[i].cpu_first -= first;
	if (ncpus)
		memcpy(place->cpu_use, cpu_use + first,
		       ncpus * sizeof(*cpu_use));
	if (devs)
		memcpy(place->devs, devs, ntasks * sizeof(*devs));
	return place;
}

static void add_task(struct placement *to, const struct placement *from,
                     uint32_t i)
{
	const struct snap_task *t = &from->task[i];
	uint32_t at = to->task[to->ntasks].cpu_first;
	uint32_t ncpus = t[1].cpu_first - t->cpu_first;

	if (to->devs)
		to->devs[to->ntasks] = placement_devs(from, i);
	to->task[to->ntasks] = *t;
	to->task[to->ntasks++].cpu_first = at;
	to->task[to->ntasks] = (struct snap_task){ .cpu_first = at + ncpus };
	if (ncpus)
		memcpy(to->cpu_use + at, from->cpu_use + t->cpu_first,
		       ncpus * sizeof(*to->cpu_use));
}

/* Add all tasks of a placement but the first n. */
static void add_tasks(struct placement *to, const struct placement *from,
                      uint32_t n)
{
	for (uint32_t i = n; from && i < from->ntasks; i++)
		add_task(to, from, i);
}

static uint32_t cpus_of(const struct placement *p)
{
	return p ? p->task[p->ntasks].cpu_first : 0;
}

struct placement *placement_copy(const struct placement *place)
{
	return placement_rest(place, 0);
}

struct placement *placement_named(const struct placement *place)
{
	struct placement *ret =
	    placement_room(place->ntasks, cpus_of(place), true);

	add_tasks(ret, place, 0);
	return ret;
}

struct placement *placement_of_plan(const struct plan *plan, uint32_t first,
                                    uint32_t ntasks)
{
	return placement_new(ntasks, plan->task + first, plan->cpu_use,
	                     plan->held ? plan->held + first : NULL);
}

struct placement *placement_join(const struct placement *a,
                                 const struct placement *b)
{
	struct placement *both = placement_room(
	    (a ? a->ntasks : 0) + (b ? b->ntasks : 0), cpus_of(a) + cpus_of(b),
	    (a && a->devs) || (b && b->devs));

	add_tasks(both, a, 0);
	add_tasks(both, b, 0);
	return both;
}

struct placement *placement_part(const struct placement *place,
                                 const uint32_t *task, uint32_t n, bool others)
{
	struct placement *part =
	    placement_room(place->ntasks, cpus_of(place), place->devs != NULL);
	uint32_t at = 0;

	for (uint32_t i = 0; i < place->ntasks; i++) {
		bool is_named = at < n && task[at] == i;

		at += is_named;
		if (is_named != others)
			add_task(part, place, i);
	}
	return part;
}

struct placement *placement_rest(const struct placement *place, uint32_t n)
{
	struct placement *rest =
	    placement_room(place->ntasks, cpus_of(place), place->devs != NULL);

	add_tasks(rest, place, n);
	return rest;
}

void job_free(struct job *job)
{
	if (!job)
		return;
	idset_free(&job->tasks);
	free(job->text);
	free(job->packed);
	free(job->place);
	free(job->claim);
	ledger_free(job->ledger);
	free(job->acts);
	free(job->deps);
	runs_free(job);
	free(job);
}

void job_display_id(const struct job *job, uint32_t limit, struct buf *out)
{
	buf_puts(out, job_id_text(job).text);
	if (!job->array || job->task != NO_TASK)
		return;
	buf_puts(out, "_[");
	idset_format(&job->tasks, out);
	if (limit) {
		buf_addc(out, '%');
		buf_i64(out, limit);
	}
	buf_addc(out, ']');
}

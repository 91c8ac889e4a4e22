/* tell.c - write the event log, one JSON object a line */
#include "aisim/tell.h"

#include <stdlib.h>
#include <string.h>

#include "aischedd/state/cluster/device.h"
#include "aischedd/state/cluster/node.h"
#include "aischedd/state/pass/why.h"
#include "aisim/sim.h"
#include "libcommon/mem.h"

void tell_init(struct tell *tell, size_t nnodes, FILE *out)
{
	*tell = (struct tell){
		.out = out,
		.node = xcalloc(nnodes + 1, sizeof(*tell->node)),
		.touched = xcalloc(nnodes + 1, sizeof(*tell->touched)),
	};
}

void tell_fini(struct tell *tell)
{
	buf_free(&tell->line);
	free(tell->node);
	free(tell->touched);
}

/* --- one line ---------------------------------------------------------- */

static const char *name_of(const struct sim *sim, uint64_t job)
{
	return sim->trace->job[job - 1].name;
}

static void begin(struct sim *sim, const char *event, uint64_t job)
{
	struct buf *line = &sim->tell.line;

	buf_clear(line);
	buf_puts(line, "{\"t\":");
	buf_i64(line, sim->now - sim->trace->epoch);
	buf_puts(line, ",\"event\":\"");
	buf_puts(line, event);
	buf_puts(line, "\",\"job\":");
	buf_json(line, name_of(sim, job));
}

static void end(struct sim *sim)
{
	struct buf *line = &sim->tell.line;

	buf_puts(line, "}\n");
	if (sim->tell.out)
		fwrite(line->data, 1, line->len, sim->tell.out);
}

void tell_node(struct sim *sim, const char *event, uint32_t node)
{
	struct buf *line = &sim->tell.line;

	buf_clear(line);
	buf_printf(line, "{\"t\":%lld,\"event\":\"%s\",\"node\":",
	           (long long)(sim->now - sim->trace->epoch), event);
	buf_json(line, state_node_label(sim->state, node));
	end(sim);
}

static void put_time(struct sim *sim, const char *key, int64_t at)
{
	struct buf *line = &sim->tell.line;

	buf_printf(line, ",\"%s\":", key);
	if (at == NO_TIME)
		buf_puts(line, "null");
	else
		buf_i64(line, at - sim->trace->epoch);
}

static void put_why(struct sim *sim, const struct job *job)
{
	static const char *const names[] = {
		[EVICT_NONE] = "preempt",
		[EVICT_PREEMPT] = "preempt",
		[EVICT_RECLAIM] = "reclaim",
		[EVICT_CONSOLIDATE] = "consolidate",
		[EVICT_NODE_DOWN] = "node_down",
	};
	struct buf *line = &sim->tell.line;

	buf_printf(line, ",\"why\":\"%s\",\"by\":", names[job->evict]);
	if (job->runs->evict_by)
		buf_json(line, name_of(sim, job->runs->evict_by));
	else
		buf_puts(line, "null");
}

/* --- placements -------------------------------------------------------- */

static struct tell_node *touch(struct tell *tell, uint32_t node)
{
	struct tell_node *t = &tell->node[node];

	if (!t->before && !t->after)
		tell->touched[tell->ntouched++] = node;
	return t;
}

static void compare(struct tell *tell, const struct placement *before,
                    const struct placement *after)
{
	for (uint32_t i = 0; before && i < before->ntasks; i++)
		touch(tell, before->task[i].node)->before++;
	for (uint32_t i = 0; after && i < after->ntasks; i++)
		touch(tell, after->task[i].node)->after++;
}

static void compared(struct tell *tell)
{
	for (uint32_t i = 0; i < tell->ntouched; i++)
		tell->node[tell->touched[i]] = (struct tell_node){ 0 };
	tell->ntouched = 0;
}

/* Write the number of tasks on each node. only_old: leave out tasks that the
 * node did not have in the old placement. */
static void put_nodes(struct sim *sim, bool only_old)
{
	struct tell *tell = &sim->tell;
	const char *between = "";

	buf_puts(&tell->line, ",\"nodes\":{");
	for (uint32_t i = 0; i < tell->ntouched; i++) {
		uint32_t node = tell->touched[i];
		const struct tell_node *t = &tell->node[node];
		uint32_t n =
		    only_old && t->before < t->after ? t->before : t->after;

		if (!n)
			continue;
		buf_puts(&tell->line, between);
		buf_json(&tell->line, state_node(sim->state, node)->name);
		buf_addc(&tell->line, ':');
		buf_i64(&tell->line, n);
		between = ",";
	}
	buf_addc(&tell->line, '}');
}

static void put_bits(struct buf *line, uint64_t set)
{
	const char *between = "[";

	for (; set; set &= set - 1) {
		buf_puts(line, between);
		buf_i64(line, __builtin_ctzll(set));
		between = ",";
	}
	buf_puts(line, *between == '[' ? "[]" : "]");
}

/* Write the key of a node in an object. */
static void put_node(struct sim *sim, uint32_t node, const char **between)
{
	buf_puts(&sim->tell.line, *between);
	buf_json(&sim->tell.line, state_node(sim->state, node)->name);
	buf_addc(&sim->tell.line, ':');
	*between = ",";
}

/* Whether to write another task of a node, of which ntold tasks are written.
 * only_old: write at most as many as the node had in the old placement. */
static bool is_told(const struct tell_node *t, bool only_old, uint32_t ntold)
{
	return !only_old || t->before >= t->after || ntold < t->before;
}

static void put_gpus(struct sim *sim, const struct placement *place,
                     bool only_old)
{
	struct tell *tell = &sim->tell;
	const char *between = "";

	buf_puts(&tell->line, ",\"gpus\":{");
	for (uint32_t i = 0; i < tell->ntouched; i++) {
		uint32_t node = tell->touched[i], n = 0;
		uint64_t gpus = 0;

		for (uint32_t t = 0; t < place->ntasks; t++) {
			if (place->task[t].node == node &&
			    is_told(&tell->node[node], only_old, n++))
				gpus |= place->task[t].gpus;
		}
		if (!gpus)
			continue;
		put_node(sim, node, &between);
		put_bits(&tell->line, gpus);
	}
	buf_addc(&tell->line, '}');
}

/* Write the NUMA nodes of each task on nodes that have several, or on all nodes
 * if the job has --numa. */
static void put_numas(struct sim *sim, const struct job *job, bool only_old)
{
	const struct placement *place = job->place;
	struct tell *tell = &sim->tell;
	const char *between = ",\"numa\":{";
	struct spec spec;

	spec_unpack(&spec, job->packed);
	for (uint32_t i = 0; i < tell->ntouched; i++) {
		uint32_t node = tell->touched[i], n = 0;
		const char *comma = "[";

		if ((!spec.numa &&
		     node_nnumas(state_node(sim->state, node)) < 2) ||
		    !tell->node[node].after)
			continue;
		put_node(sim, node, &between);
		for (uint32_t t = 0; t < place->ntasks; t++) {
			if (place->task[t].node != node ||
			    !is_told(&tell->node[node], only_old, n++))
				continue;
			buf_puts(&tell->line, comma);
			put_bits(&tell->line, align_numas(sim, place, t));
			comma = ",";
		}
		buf_puts(&tell->line, *comma == '[' ? "[]" : "]");
	}
	if (!strcmp(between, ","))
		buf_addc(&tell->line, '}');
}

/* Write the partitions of tasks, if there are any. */
static void put_parts(struct sim *sim, const struct placement *place,
                      uint8_t profile, bool only_old)
{
	struct tell *tell = &sim->tell;
	const char *between = ",\"parts\":{";

	for (uint32_t i = 0; profile && i < tell->ntouched; i++) {
		uint32_t node = tell->touched[i], n = 0;
		const char *comma = "[";

		for (uint32_t k = 0; k < place->ntasks; k++) {
			const struct snap_task *t = &place->task[k];

			if (t->node != node || !t->units ||
			    !is_told(&tell->node[node], only_old, n++))
				continue;
			if (*comma == '[')
				put_node(sim, node, &between);
			buf_printf(&tell->line, "%s\"%d:%s@%d\"", comma,
			           __builtin_ctzll(t->gpus),
			           mig_profile_name[profile],
			           __builtin_ctz(t->units));
			comma = ",";
		}
		if (*comma == ',')
			buf_addc(&tell->line, ']');
	}
	if (!strcmp(between, ","))
		buf_addc(&tell->line, '}');
}

/* Write the numbers of a kind's devices on a node, each kind counted by
 * itself. */
static void put_kind(struct buf *out, const struct node_devices *d,
                     uint8_t kind, const char *name, uint64_t devs,
                     const char *before)
{
	const char *comma = "[";
	uint32_t number = 0;

	buf_printf(out, "%s\"%s\":", before, name);
	for (uint32_t i = 0; i < d->nhere; i++) {
		if (d->kind[i] != kind)
			continue;
		if (devs >> i & 1) {
			buf_printf(out, "%s%u", comma, (unsigned)number);
			comma = ",";
		}
		number++;
	}
	buf_addc(out, ']');
}

/* Returns the devices of a kind among these, as bits. */
static uint64_t of_kind(const struct node_devices *d, uint8_t kind,
                        uint64_t devs)
{
	for (uint32_t i = 0; i < d->n; i++)
		if (i >= d->nhere || d->kind[i] != kind)
			devs &= ~((uint64_t)1 << i);
	return devs;
}

/* Write the particular devices other than GPUs that tasks have, if any. */
static void put_devices(struct sim *sim, const struct placement *place,
                        bool only_old)
{
	const struct conf *conf = state_conf(sim->state);
	struct tell *tell = &sim->tell;
	const char *between = ",\"devices\":{";

	for (uint32_t i = 0; place->devs && i < tell->ntouched; i++) {
		uint32_t node = tell->touched[i], n = 0;
		const struct node_devices *d =
		    state_node(sim->state, node)->named;
		const char *before = "{";
		uint64_t devs = 0;

		for (uint32_t k = 0; k < place->ntasks; k++)
			if (place->task[k].node == node &&
			    is_told(&tell->node[node], only_old, n++))
				devs |= place->devs[k];
		if (!devs || !d)
			continue;
		put_node(sim, node, &between);
		for (uint8_t k = 0; k < conf->ndevices; k++) {
			if (!of_kind(d, k, devs))
				continue;
			put_kind(&tell->line, d, k, conf->device_names[k], devs,
			         before);
			before = ",";
		}
		buf_addc(&tell->line, '}');
	}
	if (!strcmp(between, ","))
		buf_addc(&tell->line, '}');
}

/* Write all tasks of a job with their devices, or with only_old those that it
 * has kept. */
static void put_placed(struct sim *sim, const struct job *job, bool only_old)
{
	struct spec spec;

	put_nodes(sim, only_old);
	put_gpus(sim, job->place, only_old);
	put_numas(sim, job, only_old);
	spec_unpack(&spec, job->packed);
	put_parts(sim, job->place, mig_find(spec.gpu_type), only_old);
	put_devices(sim, job->place, only_old);
}

/* --- events ------------------------------------------------------------ */

void tell_submit(struct sim *sim, const struct job *job)
{
	begin(sim, "submit", job->id);
	end(sim);
}

void tell_skip(struct sim *sim, uint64_t job, bool overlap)
{
	begin(sim, "skip", job);
	buf_printf(&sim->tell.line, ",\"why\":\"%s\"",
	           overlap ? "overlap" : "limit");
	end(sim);
}

void tell_start_failed(struct sim *sim, const struct job *job)
{
	compare(&sim->tell, NULL, job->place);
	begin(sim, "start_failed", job->id);
	put_nodes(sim, false);
	end(sim);
	compared(&sim->tell);
}

/* Remember which tasks the job's events have shown: its present ones, or none
 * if it does not run. */
static void show(struct sim *sim, const struct job *job, bool runs)
{
	struct sim_job *sj = &sim->job[job->id - 1];

	if (sj->shown)
		sim->stats.gpus_used -= sj->stats.gpus * sj->shown->ntasks;
	align_note(sim, job, sj->shown, runs ? job->place : NULL);
	free(sj->shown);
	sj->shown = NULL;
	if (!runs)
		return;
	sj->attempt = job->attempt;
	sj->shown = placement_copy(job->place);
	sim->stats.gpus_used += sj->stats.gpus * sj->shown->ntasks;
}

static void tell_start(struct sim *sim, const struct job *job)
{
	compare(&sim->tell, NULL, job->place);
	begin(sim, "start", job->id);
	put_placed(sim, job, false);
	end(sim);
	compared(&sim->tell);
	show(sim, job, true);
	stats_start(&sim->stats, &sim->job[job->id - 1].stats, job->id,
	            sim->now);
}

static void tell_evict(struct sim *sim, const struct job *job)
{
	struct sim_job *sj = &sim->job[job->id - 1];

	begin(sim, "evict", job->id);
	put_why(sim, job);
	buf_printf(&sim->tell.line, ",\"tasks\":%u", sj->shown->ntasks);
	end(sim);
	show(sim, job, false);
	stats_evict(&sim->stats, &sj->stats, job->runs->evict_by, sim->now);
}

static void tell_end(struct sim *sim, const struct job *job)
{
	struct sim_job *sj = &sim->job[job->id - 1];

	show(sim, job, false);
	sj->end = job->state;
	stats_end(&sim->stats, &sj->stats, sim->now);
	begin(sim, "end", job->id);
	buf_printf(&sim->tell.line, ",\"state\":\"%s\"",
	           job_state_name((enum job_state)job->state));
	end(sim);
}

/* Write the events of a job whose tasks have changed: first for those that it
 * lost, then for those that it got. */
static void tell_resize(struct sim *sim, const struct job *job)
{
	struct tell *tell = &sim->tell;
	bool lost = false, got = false;

	compare(tell, sim->job[job->id - 1].shown, job->place);
	for (uint32_t i = 0; i < tell->ntouched; i++) {
		const struct tell_node *t = &tell->node[tell->touched[i]];

		lost |= t->before > t->after;
		got |= t->before < t->after;
	}
	if (lost) {
		begin(sim, "shrink", job->id);
		put_placed(sim, job, true);
		put_why(sim, job);
		end(sim);
	}
	if (got) {
		begin(sim, "grow", job->id);
		put_placed(sim, job, false);
		end(sim);
	}
	compared(tell);
	if (lost || got)
		show(sim, job, true);
}

/* Whether the job is being ended, not requeued, and has not ended yet. */
static bool is_ending(const struct job *job)
{
	return job->state == JOB_COMPLETING &&
	       (job->cause == CAUSE_CANCEL || job->cause == CAUSE_TIME_LIMIT ||
	        job->cause == CAUSE_DEADLINE);
}

void tell_job(struct sim *sim, const struct job *job)
{
	struct sim_job *sj = &sim->job[job->id - 1];
	bool runs = job->state == JOB_RUNNING;

	if (job_state_is_final((enum job_state)job->state)) {
		tell_end(sim, job);
		return;
	}
	if (is_ending(job))
		return;
	if (sj->shown && (!runs || sj->attempt != job->attempt))
		tell_evict(sim, job);
	if (runs && sj->shown)
		tell_resize(sim, job);
	else if (runs)
		tell_start(sim, job);
}

void tell_nothing_of(struct sim *sim, const struct job *job)
{
	show(sim, job, true);
}

/* --- jobs that wait at the end -------------------------------------------- */

/* Returns the first job id in a text, or NULL. */
static const char *find_id(const char *text)
{
	static const char *const before[] = {
		"job ",      "release ", "after:",
		"afterany:", "afterok:", "afternotok:",
	};
	const char *first = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(before); i++) {
		const char *at = strstr(text, before[i]);

		if (at && (!first || at + strlen(before[i]) < first))
			first = at + strlen(before[i]);
	}
	return first;
}

/* Append a sentence of the state, with the names of the trace in place of
 * job ids. */
static void put_text(struct sim *sim, const char *text, struct buf *out)
{
	const char *at;

	while ((at = find_id(text))) {
		char *rest;
		unsigned long long id = strtoull(at, &rest, 10);

		buf_add(out, text, (size_t)(at - text));
		text = at;
		if (rest == at || !id || id > sim->trace->njobs)
			continue;
		buf_printf(out, "'%s'", name_of(sim, id));
		text = rest;
	}
	buf_puts(out, text);
}

static void tell_wait(struct sim *sim, const struct job *job)
{
	struct buf raw = { 0 }, text = { 0 };
	uint32_t position;
	int64_t expected;
	enum reason why =
	    state_why(sim->state, job, sim->now, &raw, &expected, &position);

	put_text(sim, raw.data ? raw.data : "", &text);
	begin(sim, "wait", job->id);
	buf_printf(&sim->tell.line,
	           ",\"reason\":\"%s\",\"reason_text\":", reason_name(why));
	buf_json(&sim->tell.line, text.data);
	put_time(sim, "expected_start", expected);
	end(sim);
	buf_free(&raw);
	buf_free(&text);
}

void tell_waits(struct sim *sim)
{
	for (const struct job *job = state_first_job(sim->state); job;
	     job = job->all_next)
		if (job->state == JOB_PENDING)
			tell_wait(sim, job);
}

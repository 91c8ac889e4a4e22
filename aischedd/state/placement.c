/* placement.c - where the tasks of a job are, as text for the store */
#include "aischedd/state/placement.h"

#include <stdlib.h>
#include <string.h>

#include "aischedd/state/cluster/node.h"
#include "aischedd/state/state_priv.h"
#include "libcommon/mem.h"

static void put_devices(const struct node *node, uint64_t devs, struct buf *out)
{
	char before = '=';

	for (; devs; devs &= devs - 1, before = ',')
		buf_printf(out, "%c%s", before,
		           node->named->name[__builtin_ctzll(devs)]);
}

void state_placement_format(const struct state *state,
                            const struct placement *place, bool by_pool,
                            struct buf *out)
{
	for (uint32_t i = 0; i < place->ntasks; i++) {
		const struct snap_task *t = &place->task[i];

		buf_printf(out, "%s%s:%llx:%u:", i ? ";" : "",
		           by_pool ? state->nodes.node[t->node].full
		                   : state_node_label(state, t->node),
		           (unsigned long long)t->gpus, t->gpu_milli);
		for (uint32_t c = t->cpu_first; c < t[1].cpu_first; c++)
			buf_printf(out, "%s%u/%u", c > t->cpu_first ? "," : "",
			           place->cpu_use[c].cpu,
			           place->cpu_use[c].milli);
		if (t->numas)
			buf_printf(out, "@%x", t->numas);
		if (t->units)
			buf_printf(out, "+%x", t->units);
		put_devices(&state->nodes.node[t->node],
		            placement_devs(place, i), out);
	}
}

/* Returns the devices in a text "NAME,NAME", which ends at ';' or with *s, and
 * moves *s there. */
static uint64_t parse_devices(struct node *node, char **s)
{
	uint64_t devs = 0;
	size_t len;

	for (;; *s += 1) {
		len = strcspn(*s, ",;");
		devs |= devices_intern(node, *s, len);
		*s += len;
		if (**s != ',')
			return devs;
	}
}

/* The tasks that were read so far. */
struct reader {
	struct snap_task *task;
	struct snap_cpu_use *use;
	uint64_t *devs;
	size_t ntasks, nuse, task_cap, use_cap, devs_cap;
	bool named; /* a task has particular devices */
};

/* Read the CPUs of a task, and move *s behind them. */
static int cpus_parse(struct reader *r, char **s)
{
	char *end = *s;

	while (*end && !strchr(";@+=", *end)) {
		r->use = GROW(r->use, r->nuse, &r->use_cap);
		r->use[r->nuse].cpu = (uint16_t)strtoul(end, &end, 10);
		if (*end++ != '/')
			return -1;
		r->use[r->nuse++].milli = (uint16_t)strtoul(end, &end, 10);
		if (*end == ',')
			end++;
		else if (*end && !strchr(";@+=", *end))
			return -1;
	}
	*s = end;
	return 0;
}

static int task_parse(struct state *state, const char **s, struct reader *r)
{
	const char *colon = strchr(*s, ':');
	struct snap_task *task;
	char *end, *name;

	if (!colon)
		return -1;
	r->task = GROW(r->task, r->ntasks + 1, &r->task_cap);
	r->devs = GROW(r->devs, r->ntasks, &r->devs_cap);
	task = &r->task[r->ntasks];
	*task = (struct snap_task){ .cpu_first = (uint32_t)r->nuse };
	name = xstrndup(*s, (size_t)(colon - *s));
	task->node = node_intern(state, name);
	free(name);
	task->gpus = strtoull(colon + 1, &end, 16);
	if (*end++ != ':')
		return -1;
	task->gpu_milli = (uint16_t)strtoul(end, &end, 10);
	if (*end++ != ':' || cpus_parse(r, &end) < 0)
		return -1;
	if (*end == '@')
		task->numas = (uint32_t)strtoul(end + 1, &end, 16);
	if (*end == '+')
		task->units = (uint8_t)strtoul(end + 1, &end, 16);
	r->devs[r->ntasks] = 0;
	if (*end == '=') {
		end++;
		r->named = true;
		r->devs[r->ntasks] =
		    parse_devices(&state->nodes.node[task->node], &end);
	}
	if (*end && *end != ';')
		return -1;
	r->ntasks++;
	*s = end;
	return 0;
}

struct placement *state_placement_parse(struct state *state, const char *text,
                                        struct err *err)
{
	struct placement *place = NULL;
	struct reader r = { 0 };
	const char *s = text;

	for (;;) {
		if (task_parse(state, &s, &r) < 0) {
			err_set(err, EINVAL, "bad placement '%s'", text);
			goto out;
		}
		if (*s != ';')
			break;
		s++;
	}
	r.task[r.ntasks] = (struct snap_task){ .cpu_first = (uint32_t)r.nuse };
	place = placement_new((uint32_t)r.ntasks, r.task, r.use,
	                      r.named ? r.devs : NULL);
out:
	free(r.task);
	free(r.use);
	free(r.devs);
	return place;
}

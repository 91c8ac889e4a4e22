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
		put_devices(&state->nodes.node[t->node], t->devs, out);
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

static int task_parse(struct state *state, const char **s,
                      struct snap_task *task, struct snap_cpu_use **use,
                      size_t *n, size_t *cap)
{
	const char *colon = strchr(*s, ':');
	char *end, *name;

	if (!colon)
		return -1;
	name = xstrndup(*s, (size_t)(colon - *s));
	task->node = node_intern(state, name);
	free(name);
	task->gpus = strtoull(colon + 1, &end, 16);
	if (*end++ != ':')
		return -1;
	task->gpu_milli = (uint16_t)strtoul(end, &end, 10);
	if (*end++ != ':')
		return -1;
	task->cpu_first = (uint32_t)*n;
	while (*end && !strchr(";@+=", *end)) {
		*use = GROW(*use, *n, cap);
		(*use)[*n].cpu = (uint16_t)strtoul(end, &end, 10);
		if (*end++ != '/')
			return -1;
		(*use)[(*n)++].milli = (uint16_t)strtoul(end, &end, 10);
		if (*end == ',')
			end++;
		else if (*end && !strchr(";@+=", *end))
			return -1;
	}
	task->numas = 0;
	if (*end == '@')
		task->numas = (uint32_t)strtoul(end + 1, &end, 16);
	task->units = 0;
	if (*end == '+')
		task->units = (uint8_t)strtoul(end + 1, &end, 16);
	task->devs = 0;
	if (*end == '=') {
		end++;
		task->devs =
		    parse_devices(&state->nodes.node[task->node], &end);
	}
	if (*end && *end != ';')
		return -1;
	*s = end;
	return 0;
}

struct placement *state_placement_parse(struct state *state, const char *text,
                                        struct err *err)
{
	struct placement *place = NULL;
	struct snap_task *task = NULL;
	struct snap_cpu_use *use = NULL;
	size_t ntasks = 0, task_cap = 0, nuse = 0, use_cap = 0;
	const char *s = text;

	for (;;) {
		task = GROW(task, ntasks + 1, &task_cap);
		if (task_parse(state, &s, &task[ntasks], &use, &nuse,
		               &use_cap) < 0) {
			err_set(err, EINVAL, "bad placement '%s'", text);
			goto out;
		}
		ntasks++;
		if (*s != ';')
			break;
		s++;
	}
	task[ntasks] = (struct snap_task){ .cpu_first = (uint32_t)nuse };
	place = placement_new((uint32_t)ntasks, task, use);
out:
	free(task);
	free(use);
	return place;
}

/* head.c - the lines above a live view: the cluster, jobs, bars of pools */
#include "aiq/head.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "libcommon/clean.h"
#include "libcommon/mem.h"

enum { BAR = 20 }; /* width of a bar in columns */

void head_take_status(struct live_head *head, const json_t *status)
{
	const char *cluster =
		       json_string_value(json_object_get(status, "cluster")),
		   *state;
	json_t *jobs = json_object_get(status, "jobs"), *count;
	struct buf text = { 0 };

	json_object_foreach(jobs, state, count)
		if (json_integer_value(count))
			buf_printf(&text, "%s%lld %s", text.len ? ", " : "",
			           (long long)json_integer_value(count), state);
	free(head->cluster);
	head->cluster = xstrdup(cluster ? cluster : "");
	free(head->jobs);
	head->jobs = buf_take(&text);
}

static void free_pools(struct live_head *head)
{
	for (size_t i = 0; i < head->npools; i++)
		free(head->pool[i].name);
	head->npools = 0;
}

void head_free(struct live_head *head)
{
	free_pools(head);
	free(head->pool);
	free(head->cluster);
	free(head->jobs);
	*head = (struct live_head){ 0 };
}

static struct head_pool *find_pool(struct live_head *head, const char *name,
                                   size_t len)
{
	struct head_pool *pool;

	for (size_t i = 0; i < head->npools; i++)
		if (!strncmp(head->pool[i].name, name, len) &&
		    !head->pool[i].name[len])
			return &head->pool[i];
	head->pool = GROW(head->pool, head->npools, &head->cap);
	pool = &head->pool[head->npools++];
	*pool = (struct head_pool){ .name = xstrndup(name, len) };
	pool->name[text_clean(pool->name, len)] = '\0';
	return pool;
}

/* Returns the value of a label in a line of metrics, and its length. name is
 * the label with =" behind it. NULL: the line has no such label. */
static const char *label(const char *line, const char *name, size_t *ret_len)
{
	const char *at = strstr(line, name);

	if (!at)
		return NULL;
	at += strlen(name);
	*ret_len = strcspn(at, "\"");
	return at;
}

/* Add a line of metrics if it looks like this:
 * aisched_pool_gpus{pool="a",gpu_type="x",state="idle"} 8 */
static void take_line(struct live_head *head, const char *line)
{
	static const char *const parts[PART_N] = {
		[PART_ALLOCATED] = "allocated", [PART_HELD] = "held",
		[PART_RESERVED] = "reserved",   [PART_IDLE] = "idle",
		[PART_DRAINED] = "drained",     [PART_DOWN] = "down",
	};
	bool gpus = !strncmp(line, "aisched_pool_gpus{", 18);
	const char *pool, *state, *value = strrchr(line, ' ');
	size_t pool_len, state_len;

	if (!value || (!gpus && strncmp(line, "aisched_pool_cpus{", 18) != 0))
		return;
	pool = label(line, "pool=\"", &pool_len);
	state = label(line, "state=\"", &state_len);
	for (int i = 0; pool && state && i < PART_N; i++) {
		struct head_pool *found;

		if (strlen(parts[i]) != state_len ||
		    strncmp(parts[i], state, state_len) != 0)
			continue;
		found = find_pool(head, pool, pool_len);
		(gpus ? found->gpus : found->cpus)[i] += strtod(value, NULL);
	}
}

void head_take_metrics(struct live_head *head, const char *text, size_t len)
{
	const char *end = text + len;

	free_pools(head);
	while (text < end) {
		const char *eol = memchr(text, '\n', (size_t)(end - text));
		char *line;

		if (!eol)
			return;
		if (!strncmp(text, "aisched_pool_", 13)) {
			line = xstrndup(text, (size_t)(eol - text));
			take_line(head, line);
			free(line);
		}
		text = eol + 1;
	}
}

static double total(const double *part)
{
	double sum = 0;

	for (int i = 0; i < PART_N; i++)
		sum += part[i];
	return sum;
}

static void put_part(struct buf *out, char c, double part, double all,
                     int *left)
{
	int n = all > 0 ? (int)(part / all * BAR + 0.5) : 0;

	for (; n > 0 && *left > 0; n--, (*left)--)
		buf_addc(out, c);
}

void head_bar(const struct head_pool *pool, struct buf *out)
{
	bool gpus = total(pool->gpus) > 0;
	const double *part = gpus ? pool->gpus : pool->cpus;
	double all = total(part), off = part[PART_DRAINED] + part[PART_DOWN];
	double on = all - off;
	int left = BAR;

	buf_printf(out, "%-8s %s [", pool->name, gpus ? "gpus" : "cpus");
	put_part(out, '#', part[PART_ALLOCATED], all, &left);
	put_part(out, '=', part[PART_HELD] + part[PART_RESERVED], all, &left);
	put_part(out, '-', part[PART_IDLE], all, &left);
	if (off > 0)
		buf_addc(out, '|');
	put_part(out, 'x', off, all, &left);
	buf_printf(out, "] %.10g/%.10g %.0f %%", part[PART_ALLOCATED], on,
	           on > 0 ? part[PART_ALLOCATED] / on * 100 : 0);
	if (part[PART_HELD] + part[PART_RESERVED] > 0)
		buf_printf(out, ", %.10g held",
		           part[PART_HELD] + part[PART_RESERVED]);
	if (off > 0)
		buf_printf(out, ", %.10g out", off);
}

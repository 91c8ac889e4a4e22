/* layout.c - where the tasks of a step are */
#include "pod/layout.h"

#include <jansson.h>
#include <stdlib.h>

#include "libcommon/mem.h"
#include "libcommon/step_msg.h"

static int64_t *numbers(const json_t *list, size_t n, int64_t max)
{
	int64_t *to = xcalloc(n, sizeof(*to));

	for (size_t i = 0; i < n; i++) {
		const json_t *item = json_array_get(list, i);

		to[i] = json_integer_value(item);
		if (!json_is_integer(item) || to[i] < 0 || to[i] > max) {
			free(to);
			return NULL;
		}
	}
	return to;
}

static int read_lists(const struct pod_job *job, const json_t *obj,
                      struct pod_layout *ret)
{
	const json_t *pods = json_object_get(obj, "pods");
	size_t n = json_array_size(pods);
	int64_t *gpus;

	if (!n || n > (size_t)job->pods)
		return -1;
	ret->n = n;
	ret->pod = numbers(pods, n, job->pods - 1);
	ret->tasks = numbers(json_object_get(obj, "tasks"), n, STEP_TASKS_MAX);
	gpus = numbers(json_object_get(obj, "gpus"), n, INT64_MAX);
	ret->gpus = (uint64_t *)gpus;
	return ret->pod && ret->tasks && gpus ? 0 : -1;
}

static int read_all(const struct pod_job *job, json_t *obj, int64_t tasks,
                    struct pod_layout *ret)
{
	json_int_t step, self, each;
	int has;

	if (json_unpack(obj, "{s:I s:I s:I s:b}", "step", &step, "node", &self,
	                "gpus_task", &each, "has_gpus", &has) < 0 ||
	    read_lists(job, obj, ret) < 0 || step < 0 || self < 0 ||
	    self >= (json_int_t)ret->n || each < -1 || each > 64)
		return -1;
	ret->step = step;
	ret->self = self;
	ret->gpus_task = each;
	ret->has_gpus = has;
	for (size_t i = 0; i < ret->n; i++)
		tasks -= ret->tasks[i];
	return tasks == 0 && ret->tasks[self] ? 0 : -1;
}

int pod_layout_read(const struct pod_job *job, const char *text, int64_t tasks,
                    struct pod_layout *ret, struct err *err)
{
	json_t *obj = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	int rc;

	*ret = (struct pod_layout){ 0 };
	rc = read_all(job, obj, tasks, ret);
	json_decref(obj);
	return rc < 0 ? err_set(err, EINVAL, "bad request for a step") : 0;
}

void pod_layout_free(struct pod_layout *layout)
{
	free(layout->pod);
	free(layout->tasks);
	free(layout->gpus);
}

int64_t pod_layout_first(const struct pod_layout *layout)
{
	int64_t first = 0;

	for (int64_t i = 0; i < layout->self; i++)
		first += layout->tasks[i];
	return first;
}

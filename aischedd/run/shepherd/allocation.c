/* allocation.c - the environment that the client of an allocation gets */
#include "aischedd/run/shepherd/allocation.h"

#include <string.h>

#include "aischedd/run/shepherd/env.h"
#include "aischedd/run/shepherd/vars.h"
#include "libcommon/mem.h"

/* Variables whose names end like this are not for the client, which is no task
 * of the job: they identify one task, or mark a process as the job's. */
static const char *const withheld[] = {
	"RUN_ID",        "NODEID",
	"PROCID",        "LOCALID",
	"GTIDS",         "TASK_PID",
	"PRIO_PROCESS",  "NODENAME",
	"TOPOLOGY_ADDR", "TOPOLOGY_ADDR_PATTERN"
};

static bool is_for_client(const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < ARRAY_SIZE(withheld); i++) {
		size_t n = strlen(withheld[i]);

		if (len >= n && !strcmp(name + len - n, withheld[i]))
			return false;
	}
	return !strncmp(name, "SLURM", 5) || !strncmp(name, "AISCHED_", 8) ||
	       !strcmp(name, "CUDA_VISIBLE_DEVICES") ||
	       !strcmp(name, "ROCR_VISIBLE_DEVICES") ||
	       !strcmp(name, "GPU_DEVICE_ORDINAL");
}

static void add(void *arg, const char *name, const char *value)
{
	if (is_for_client(name))
		json_array_append_new(arg, json_sprintf("%s=%s", name, value));
}

json_t *allocation_env(const struct shepherd *s)
{
	const struct env_of e = { .order = &s->order,
		                  .start = s->outcome.start,
		                  .tmpdir = s->tmpdir,
		                  .end_file = s->end_file,
		                  .run_id = s->claim.run_id };
	json_t *list = json_array();

	env_each(&e, add, list);
	return list;
}

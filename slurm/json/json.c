/* json.c - what --json of squeue, sacct and sinfo share */
#include "slurm/json/json.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "libcommon/client/json_out.h"
#include "slurm/command.h"
#include "slurm/job.h"
#include "slurm/rows.h"

json_t *json_number(int64_t n)
{
	return json_pack("{s:b, s:b, s:I}", "set", n != ROW_NONE, "infinite", 0,
	                 "number", (json_int_t)(n == ROW_NONE ? 0 : n));
}

json_t *json_limit(int64_t n)
{
	json_t *ret = json_number(n);

	if (n == ROW_NONE)
		json_object_set_new(ret, "infinite", json_true());
	return ret;
}

json_t *json_exit(const json_t *row)
{
	int64_t code = row_int(row, "exit_code");
	int64_t signo = row_int(row, "signal");
	const char *name = signo > 0 ? sigabbrev_np((int)signo) : NULL;
	const char *status = !job_is_over(row) ? "PENDING"
	                     : signo > 0       ? "SIGNALED"
	                     : code > 0        ? "ERROR"
	                                       : "SUCCESS";

	return json_pack("{s:[s], s:o, s:{s:o, s:s}}", "status", status,
	                 "return_code", json_number(code < 0 ? ROW_NONE : code),
	                 "signal", "id",
	                 json_number(signo > 0 ? signo : ROW_NONE), "name",
	                 name ? name : "");
}

json_t *json_text(const json_t *row, const char *key)
{
	return json_string(row_text(row, key));
}

void json_print(const char *name, json_t *list, const char *cluster)
{
	json_t *all = json_pack(
	    "{s:o, s:o, s:{s:s, s:{s:s, s:s, s:{s:s, s:s, s:s}}}, s:[], s:[]}",
	    name, list, "last_update", json_number(time(NULL)), "meta",
	    "schema", "aisched/1", "slurm", "cluster", cluster, "release",
	    SLURM_VERSION, "version", "major", "24", "minor", "05", "micro",
	    "0", "errors", "warnings");

	json_out(all, JSON_INDENT(2), stdout);
	putchar('\n');
	json_decref(all);
}

/* show.c - show jobs, the configuration and lists of hosts */
#include <math.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "libcommon/clean.h"
#include "libcommon/hostlist.h"
#include "libcommon/limits.h"
#include "libcommon/mem.h"
#include "libcommon/names.h"
#include "libcommon/parse.h"
#include "libcommon/step_msg.h"
#include "slurm/job.h"
#include "slurm/rows.h"
#include "slurm/scontrol/scontrol.h"
#include "slurm/sinfo.h"
#include "slurm/steps.h"
#include "slurm/words.h"

/* as Slurm's MinJobAge: show ended jobs for this long */
enum { MIN_JOB_AGE_S = 300 };

/* --- jobs ----------------------------------------------------------------- */

/* The text of a job's record of "Key=value" lines. */
struct shown_job {
	struct buf text;
	bool one_line, begun;
	const char *task; /* the one task of an array to show; NULL: all */
};

static void new_line(struct shown_job *r)
{
	buf_puts(&r->text, r->one_line ? " " : "\n   ");
	r->begun = false;
}

__attribute__((format(printf, 2, 3))) static void put(struct shown_job *r,
                                                      const char *fmt, ...)
{
	char text[4096];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (r->begun)
		buf_addc(&r->text, ' ');
	r->begun = true;
	if (n >= (int)sizeof(text))
		n = sizeof(text) - 1;
	buf_add(&r->text, text, n > 0 ? text_clean(text, (size_t)n) : 0);
}

static const char *or_null(const json_t *row, const char *key)
{
	const char *s = row_text(row, key);

	return *s ? s : "(null)";
}

static void put_time(struct shown_job *r, const char *key, int64_t time,
                     const char *none)
{
	struct buf text = { 0 };

	put_moment(time, &text);
	put(r, "%s=%s", key, text.len ? text.data : none);
	buf_free(&text);
}

static void put_span(struct shown_job *r, const char *key, int64_t seconds)
{
	struct buf text = { 0 };

	if (seconds == ROW_NONE)
		buf_puts(&text, "UNLIMITED");
	else
		put_clock(seconds, &text);
	put(r, "%s=%s", key, text.data);
	buf_free(&text);
}

static void put_ids(struct shown_job *r, const json_t *row)
{
	int64_t array = row_int(row, "array_job_id");
	int64_t task = row_int(row, "array_task_id");
	const char *tasks = row_text(row, "array_tasks");
	const char *limit = strchr(tasks, '%');

	put(r, "JobId=%lld", (long long)row_int(row, "job_id"));
	if (array != ROW_NONE && task != ROW_NONE)
		put(r, "ArrayJobId=%lld ArrayTaskId=%lld", (long long)array,
		    (long long)task);
	else if (*tasks)
		put(r, "ArrayJobId=%lld ArrayTaskId=%s", (long long)array,
		    r->task ? r->task : tasks);
	if (limit)
		put(r, "ArrayTaskThrottle=%s", limit + 1);
	put(r, "JobName=%s", row_text(row, "name"));
	new_line(r);
}

static void put_owner(struct shown_job *r, const json_t *row)
{
	int64_t gid = row_int(row, "gid"), nice = row_int(row, "nice");
	struct buf group = { 0 };

	put_group(gid, &group);
	put(r, "UserId=%s(%lld) GroupId=%s(%lld) MCS_label=N/A",
	    row_text(row, "user"), (long long)row_int(row, "uid"),
	    group.len ? group.data : "", (long long)gid);
	buf_free(&group);
	new_line(r);
	put(r, "Priority=%lld Nice=%lld Account=%s QOS=%s",
	    (long long)job_priority(row),
	    nice == ROW_NONE ? 0LL : (long long)nice, or_null(row, "account"),
	    row_text(row, "class"));
	new_line(r);
}

static void put_state(struct shown_job *r, const json_t *row, bool details)
{
	int64_t code = row_int(row, "exit_code"),
		signal = row_int(row, "signal");
	int64_t requeue = row_int(row, "requeue");
	struct buf dependency = { 0 };

	put_job_dependency(row, &dependency);
	put(r, "JobState=%s Reason=%s Dependency=%s", row_text(row, "state"),
	    job_reason(row), dependency.len ? dependency.data : "(null)");
	buf_free(&dependency);
	new_line(r);
	put(r,
	    "Requeue=%d Restarts=%lld BatchFlag=1 Reboot=0 ExitCode=%lld:%lld",
	    requeue != 0, (long long)row_int(row, "restarts"),
	    signal > 0 || code < 0 ? 0 : (long long)code,
	    signal > 0 ? (long long)signal : 0);
	new_line(r);
	if (details) {
		put(r, "DerivedExitCode=%lld:0", (long long)job_derived(row));
		new_line(r);
	}
	put_span(r, "RunTime", row_int(row, "elapsed"));
	put_span(r, "TimeLimit", row_int(row, "time_limit"));
	put(r, "TimeMin=N/A");
	new_line(r);
	put_time(r, "SubmitTime", row_int(row, "submit_time"), "Unknown");
	put_time(r, "EligibleTime", row_int(row, "eligible_time"), "Unknown");
	new_line(r);
	put_time(r, "AccrueTime", row_int(row, "eligible_time"), "Unknown");
	new_line(r);
	put_time(r, "StartTime", job_start(row), "Unknown");
	put_time(r, "EndTime", job_end(row), "Unknown");
	put_time(r, "Deadline", row_int(row, "deadline"), "N/A");
	new_line(r);
}

static void put_place(struct shown_job *r, const json_t *row)
{
	put(r, "Partition=%s AllocNode:Sid=%s:0", row_text(row, "queue"),
	    or_null(row, "submit_host"));
	new_line(r);
	put(r, "ReqNodeList=%s ExcNodeList=%s", or_null(row, "req_nodes"),
	    or_null(row, "exclude"));
	new_line(r);
	put(r, "NodeList=%s", row_text(row, "nodelist"));
	new_line(r);
	if (*row_text(row, "batch_host")) {
		put(r, "BatchHost=%s", row_text(row, "batch_host"));
		new_line(r);
	}
}

/* Find the numbers of the GPUs that the job has on a node, like "0-1", in the
 * text "n0: GPU 0-1; n1: GPU 2". Returns their length, 0: none are known. */
static size_t find_gpus(const char *devices, const char *node, const char **ret)
{
	size_t len = strlen(node);

	for (const char *s = devices; *s; s += strspn(s, "; ")) {
		const char *gpu = strstr(s, "GPU ");
		size_t end = strcspn(s, ";");

		if (!strncmp(s, node, len) && s[len] == ':' && gpu &&
		    gpu < s + end) {
			*ret = gpu + strlen("GPU ");
			return strspn(*ret, "0123456789,-");
		}
		s += end;
	}
	return 0;
}

/* Append "gpu:TYPE:N", nothing if n is 0. */
static void put_gres(struct buf *out, const json_t *row, int64_t n)
{
	const char *type = row_text(row, "gpu_type");

	if (n > 0)
		buf_printf(out, "gpu:%s%s%lld", type, *type ? ":" : "",
		           (long long)n);
}

/* Put what the job has on one node. Which CPUs it has there is not known. */
static void put_node(struct shown_job *r, const json_t *row, const char *node,
                     int64_t tasks)
{
	int64_t all = row_int(row, "tasks"), mem = job_mem_mib(row);
	double gpus = row_real(row, "gpus") * (double)tasks;
	struct buf gres = { 0 };
	const char *ids = NULL;
	size_t len = find_gpus(row_text(row, "devices"), node, &ids);

	put_gres(&gres, row, (int64_t)ceil(gpus));
	if (gres.len && len)
		buf_printf(&gres, "(IDX:%.*s)", (int)len, ids);
	new_line(r);
	put(r, "%sNodes=%s CPU_IDs= Mem=%lld GRES=%s", "  ", node,
	    (long long)(all > 0 ? mem / all * tasks : mem),
	    gres.len ? gres.data : "");
	buf_free(&gres);
}

static void put_devices(struct shown_job *r, const json_t *row)
{
	json_t *nodes = json_object_get(row, "nodes"), *tasks;
	double gpus = row_real(row, "gpus") * row_real(row, "tasks");
	struct buf gres = { 0 };
	const char *node;

	put_gres(&gres, row, (int64_t)ceil(gpus));
	put(r, "JOB_GRES=%s", gres.len ? gres.data : "(null)");
	buf_free(&gres);
	json_object_foreach(nodes, node, tasks)
		put_node(r, row, node, json_integer_value(tasks));
	new_line(r);
}

static void put_resources(struct shown_job *r, const json_t *row, bool details)
{
	const struct style style = { 0 };
	double cpus = row_real(row, "cpus");
	struct buf tres = { 0 }, memory = { 0 }, tmp = { 0 };

	put_job_tres(row, &style, &tres);
	put_job_memory(row, &style, &memory);
	put_job_tmp(row, &style, &tmp);
	put(r,
	    "NumNodes=%lld NumCPUs=%lld NumTasks=%lld CPUs/Task=%lld "
	    "ReqB:S:C:T=0:0:*:*",
	    (long long)row_int(row, "num_nodes"), (long long)job_cpus(row),
	    (long long)job_tasks(row), cpus < 1 ? 1LL : (long long)cpus);
	new_line(r);
	put(r, "TRES=%s", tres.data);
	new_line(r);
	put(r, "Socks/Node=* NtasksPerN:B:S:C=0:0:*:* CoreSpec=*");
	new_line(r);
	if (details)
		put_devices(r, row);
	put(r, "MinCPUsNode=%lld MinMemory%s=%s MinTmpDiskNode=%s",
	    cpus < 1 ? 1LL : (long long)cpus,
	    row_int(row, "mem_per_cpu") != ROW_NONE ? "CPU" : "Node",
	    memory.data, tmp.data);
	new_line(r);
	put(r, "Features=%s DelayBoot=00:00:00", or_null(row, "constraint"));
	new_line(r);
	if (*row_text(row, "reservation")) {
		put(r, "Reservation=%s", row_text(row, "reservation"));
		new_line(r);
	}
	put(r, "OverSubscribe=%s Contiguous=0 Licenses=%s Network=(null)",
	    row_int(row, "exclusive") == 1 ? "NO" : "OK",
	    or_null(row, "licenses"));
	new_line(r);
	buf_free(&tres);
	buf_free(&memory);
	buf_free(&tmp);
}

static void put_files(struct shown_job *r, const json_t *row)
{
	const char *input = row_text(row, "input");
	const char *error = row_text(row, "error");

	put(r, "Command=%s", or_null(row, "command"));
	new_line(r);
	put(r, "WorkDir=%s", row_text(row, "workdir"));
	new_line(r);
	if (*row_text(row, "comment")) {
		put(r, "Comment=%s", row_text(row, "comment"));
		new_line(r);
	}
	put(r, "StdErr=%s", *error ? error : row_text(row, "output"));
	new_line(r);
	put(r, "StdIn=%s", *input ? input : "/dev/null");
	new_line(r);
	put(r, "StdOut=%s", row_text(row, "output"));
	if (row_int(row, "kill_invalid") == 1) {
		new_line(r);
		put(r, "KillOInInvalidDependent=Yes");
	}
}

/* id: as the user gave it, NULL: none */
static void print_job(const struct scontrol *s, const char *id,
                      const json_t *row)
{
	const char *task = id ? strchr(id, '_') : NULL;
	struct shown_job r = { .one_line = s->one_line,
		               .task =
		                   task && task[1] != '[' ? task + 1 : NULL };

	put_ids(&r, row);
	put_owner(&r, row);
	put_state(&r, row, s->details);
	put_place(&r, row);
	put_resources(&r, row, s->details);
	put_files(&r, row);
	printf("%s\n%s", r.text.data, s->one_line ? "" : "\n");
	buf_free(&r.text);
}

/* Whether the daemon knows the array of a task's id. */
static bool knows_array(struct scontrol *s, const char *id)
{
	json_t *fields = json_pack("[s]", "job_id"), *rows = NULL;
	json_t *req = json_pack("{s:s, s:b, s:[s%]}", "op", "jobs", "all", 1,
	                        "ids", id, (size_t)strcspn(id, "_"));
	bool known =
	    rows_read(s->client, req, fields, &rows, NULL, NULL) == 0 &&
	    json_array_size(rows) > 0;

	json_decref(fields);
	json_decref(rows);
	return known;
}

static int print_jobs(struct scontrol *s, const char *id, const json_t *rows)
{
	const json_t *row;
	size_t i;

	json_array_foreach(rows, i, row)
		print_job(s, id, row);
	if (json_array_size(rows))
		return EXIT_SUCCESS;
	if (!id) {
		puts("No jobs in the system");
		return EXIT_SUCCESS;
	}
	if (strchr(id, '_') && knows_array(s, id)) {
		printf("Job %s not found\n", id);
		return EXIT_FAILURE;
	}
	fputs("slurm_load_jobs error: " WORDS_NO_JOB "\n", stderr);
	return EXIT_FAILURE;
}

/* Extend the request to jobs of all states, also to those that ended within
 * MIN_JOB_AGE_S. */
static void ask_for_ended(json_t *req)
{
	json_t *states = json_array();

	for (int i = 0; i < JOB_NSTATES; i++)
		json_array_append_new(
		    states, json_string(job_state_name((enum job_state)i)));
	json_object_set_new(req, "states", states);
	json_object_set_new(req, "since",
	                    json_integer(time(NULL) - MIN_JOB_AGE_S));
}

static int show_job(struct scontrol *s, const char *id)
{
	static const char needs[] =
	    "job_id array_job_id array_task_id array_tasks name user uid gid "
	    "nice priority account class state reason dependency requeue "
	    "restarts exit_code signal elapsed time_limit submit_time "
	    "eligible_time start_time expected_start begin_time end_time "
	    "deadline queue dependency_never kill_invalid "
	    "submit_host req_nodes exclude nodelist batch_host num_nodes cpus "
	    "alloc_cpus tasks shared_tasks alloc_mem_mib mem_per_node mem_per_cpu "
	    "gpus constraint reservation tmp_mib exclusive licenses command workdir comment error "
	    "input output nodes devices gpu_type";
	json_t *fields = json_array(), *rows = NULL, *req;
	int status = EXIT_FAILURE;
	struct err err;

	if (!scontrol_connect(s, "slurm_load_jobs")) {
		json_decref(fields);
		return EXIT_FAILURE;
	}
	rows_add_fields(fields, needs);
	req = json_pack("{s:s, s:b}", "op", "jobs", "all", 1);
	if (id)
		json_object_set_new(req, "ids", json_pack("[s]", id));
	else
		ask_for_ended(req);
	if (rows_read(s->client, req, fields, &rows, NULL, &err) == 0 &&
	    (!s->details || steps_read(s->client, rows, &err) == 0))
		status = print_jobs(s, id, rows);
	else
		fprintf(stderr, "%s error: %s\n",
		        err.code == EINVAL ? "scontrol_print_job"
		                           : "slurm_load_jobs",
		        err.code == EINVAL ? WORDS_NO_JOB : words_of_job(&err));
	json_decref(fields);
	json_decref(rows);
	return status;
}

/* --- names of hosts ------------------------------------------------------- */

static const char *nodes_of_job(void)
{
	static const char *const names[] = { "SLURM_JOB_NODELIST",
		                             "SLURM_NODELIST" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const char *value = getenv(names[i]);

		if (value && *value)
			return value;
	}
	return NULL;
}

static int show_hostnames(struct scontrol *s, const char *list)
{
	struct hostlist hosts;
	struct err err;

	(void)s;
	if (!list)
		list = nodes_of_job();
	if (!list || !*list) {
		command_error("host list is empty");
		return EXIT_SUCCESS;
	}
	if (hostlist_parse(&hosts, list, &err) < 0) {
		command_error("Invalid hostlist: %s", list);
		return EXIT_FAILURE;
	}
	for (size_t i = 0; i < hosts.n; i++)
		puts(hosts.name[i]);
	hostlist_free(&hosts);
	return EXIT_SUCCESS;
}

static int show_hostlist(struct scontrol *s, const char *list)
{
	struct buf text = { 0 };
	struct hostlist hosts;

	(void)s;
	if (!list || hostlist_parse(&hosts, list, NULL) < 0) {
		command_error("Invalid hostlist: %s", list ? list : "");
		return EXIT_FAILURE;
	}
	hostlist_format((const char *const *)hosts.name, hosts.n, &text);
	puts(text.data ? text.data : "");
	buf_free(&text);
	hostlist_free(&hosts);
	return EXIT_SUCCESS;
}

/* --- config --------------------------------------------------------------- */

/* The keys of `show config` that clients read. Where the value is NULL,
 * put_config() computes it. */
static const char *const config[][2] = {
	{ "AccountingStorageType", "accounting_storage/slurmdbd" },
	{ "AuthType", "auth/munge" },
	{ "ClusterName", NULL },
	{ "EnforcePartLimits", "ALL" },
	{ "JobAcctGatherType", "jobacct_gather/linux" },
	{ "JobRequeue", "1" },
	{ "KillOnBadExit", "0" },
	{ "KillWait", NULL },
	{ "MaxArraySize", NULL },
	{ "MaxStepCount", "40000" },
	{ "MaxTasksPerNode", NULL },
	{ "MinJobAge", "300 sec" },
	{ "OverTimeLimit", "0 min" },
	{ "SchedulerType", "sched/backfill" },
	{ "SelectType", "select/cons_tres" },
	{ "SLURM_VERSION", SLURM_VERSION },
	{ "SlurmctldHost[0]", NULL },
};

/* Append the value of a key for which the table has none. */
static void put_config(const char *name, const char *cluster, int64_t grace_s,
                       struct buf *out)
{
	char host[256] = "localhost";

	if (!strcmp(name, "ClusterName")) {
		buf_puts(out, cluster);
	} else if (!strcmp(name, "KillWait")) {
		buf_printf(out, "%lld sec", (long long)grace_s);
	} else if (!strcmp(name, "MaxArraySize")) {
		buf_i64(out, LIMIT_ARRAY);
	} else if (!strcmp(name, "MaxTasksPerNode")) {
		buf_i64(out, STEP_TASKS_MAX);
	} else {
		gethostname(host, sizeof(host) - 1);
		buf_puts(out, host);
	}
}

/* Set *ret to the grace time of the default queue, 0 if there is none. */
static int read_grace(struct client *client, int64_t *ret, struct err *err)
{
	json_t *partitions, *nodes, *row;
	size_t i;

	*ret = 0;
	if (partitions_read(client, &partitions, &nodes, err) < 0)
		return -1;
	json_array_foreach(partitions, i, row)
		if (row_int(row, "is_default") == 1)
			*ret = row_int(row, "grace");
	json_decref(partitions);
	json_decref(nodes);
	return 0;
}

static int show_config(struct scontrol *s, const char *name)
{
	struct buf text = { 0 };
	int64_t grace_s = 0;
	struct err err;
	char *cluster;

	(void)name;
	if (!scontrol_connect(s, "slurm_load_ctl_conf"))
		return EXIT_FAILURE;
	cluster = command_cluster(s->client, &err);
	if (!cluster || read_grace(s->client, &grace_s, &err) < 0) {
		fprintf(stderr, "slurm_load_ctl_conf error: %s\n",
		        words_of_job(&err));
		free(cluster);
		return EXIT_FAILURE;
	}
	put_moment(time(NULL), &text);
	printf("Configuration data as of %s\n", text.data);
	for (size_t i = 0; i < ARRAY_SIZE(config); i++) {
		buf_clear(&text);
		if (config[i][1])
			buf_puts(&text, config[i][1]);
		else
			put_config(config[i][0], cluster, grace_s, &text);
		printf("%-23s = %s\n", config[i][0], text.data);
	}
	buf_free(&text);
	free(cluster);
	return EXIT_SUCCESS;
}

/* --- show ----------------------------------------------------------------- */

static int show_topology(struct scontrol *s, const char *what)
{
	(void)s, (void)what;
	command_error("No topology information available");
	return EXIT_SUCCESS;
}

static int refuse_show(struct scontrol *s, const char *what)
{
	(void)s, (void)what;
	command_error("this is not supported: accounts are queues, and "
	              "licences are in aischedd.conf");
	return EXIT_FAILURE;
}

/* Entities to show, with the fewest letters to which each may be
 * shortened. */
static const struct {
	const char *name;
	size_t least;
	int (*show)(struct scontrol *s, const char *what);
} kinds[] = {
	{ "jobs", 1, show_job },
	{ "jobid", 1, show_job },
	{ "hostnames", 5, show_hostnames },
	{ "hostlistsorted", 5, show_hostlist },
	{ "configuration", 1, show_config },
	{ "nodes", 1, scontrol_show_node },
	{ "partitions", 2, scontrol_show_partition },
	{ "reservations", 1, scontrol_show_reservation },
	{ "steps", 2, scontrol_show_step },
	{ "topology", 1, show_topology },
	{ "assoc_mgr", 2, refuse_show },
	{ "licenses", 2, refuse_show },
};

bool scontrol_is_word(const char *name, size_t least, const char *word,
                      size_t len)
{
	return len >= least && len <= strlen(name) &&
	       !strncasecmp(name, word, len);
}

/* Run "show job 12" or "show job=12". */
int scontrol_show(struct scontrol *s, char **words)
{
	const char *kind = words[1], *what = words[2];
	size_t len = strcspn(kind, "=");

	if (what && words[3]) {
		fprintf(stderr, "too many arguments for keyword:show\n");
		return EXIT_FAILURE;
	}
	if (kind[len])
		what = kind + len + 1;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (scontrol_is_word(kinds[i].name, kinds[i].least, kind, len))
			return kinds[i].show(s, what);
	fprintf(stderr, "invalid entity:%s for keyword:show \n", kind);
	return EXIT_FAILURE;
}

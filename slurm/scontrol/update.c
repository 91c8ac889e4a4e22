/* update.c - change jobs, and drain nodes */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "libcommon/limits.h"
#include "libcommon/mem.h"
#include "libcommon/parse.h"
#include "slurm/rows.h"
#include "slurm/sbatch.h"
#include "slurm/scontrol/scontrol.h"
#include "slurm/words.h"

enum { SHORTEST = 3 }; /* fewest letters of a shortened name */

/* --- values --------------------------------------------------------------- */

/* Append a value in the form that the daemon's request has. */
typedef void convert_fn(const char *value, struct buf *out);

static void as_is(const char *value, struct buf *out)
{
	buf_puts(out, value);
}

/* Append the MIN of "MIN-MAX". */
static void least(const char *value, struct buf *out)
{
	buf_add(out, value, strcspn(value, "-"));
}

static void qos(const char *value, struct buf *out)
{
	buf_puts(out, strcasecmp(value, "normal") != 0 ? value : "");
}

static void time_limit(const char *value, struct buf *out)
{
	buf_puts(out, !strcasecmp(value, "INFINITE") || !strcmp(value, "-1")
	                  ? "UNLIMITED"
	                  : value);
}

static const struct {
	const char *name;  /* Slurm's name */
	const char *field; /* name in the daemon's request */
	convert_fn *convert;
} settings[] = {
	{ "Account", "account", as_is },
	{ "ArrayTaskThrottle", "array_limit", as_is },
	{ "Comment", "comment", as_is },
	{ "CPUsPerTask", "cpus-per-task", as_is },
	{ "Deadline", "deadline", as_is },
	{ "Dependency", "dependency", sbatch_put_dependency },
	{ "EligibleTime", "begin", as_is },
	{ "ExcNodeList", "exclude", as_is },
	{ "Features", "constraint", as_is },
	{ "Gres", "gres", as_is },
	{ "JobName", "job-name", as_is },
	{ "Licenses", "licenses", as_is },
	{ "MailType", "mail-type", as_is },
	{ "MailUser", "mail-user", as_is },
	{ "MinMemoryCPU", "mem-per-cpu", as_is },
	{ "MinMemoryNode", "mem", as_is },
	{ "MinTmpDiskNode", "tmp", as_is },
	{ "Name", "job-name", as_is },
	{ "Nice", "nice", as_is },
	{ "NodeList", "nodelist", as_is },
	{ "NumNodes", "nodes", least },
	{ "NumTasks", "ntasks", as_is },
	{ "NumCPUs", "cpus-per-task", as_is },
	{ "Partition", "queue", as_is },
	{ "Priority", "priority", as_is },
	{ "QOS", "class", qos },
	{ "ReqNodeList", "nodelist", as_is },
	{ "ReqNodes", "nodes", least },
	{ "Requeue", "requeue", as_is },
	{ "ReservationName", "reservation", as_is },
	{ "StartTime", "begin", as_is },
	{ "StdOut", "output", as_is },
	{ "TasksPerNode", "ntasks-per-node", as_is },
	{ "TimeLimit", "time", time_limit },
	{ "WorkDir", "chdir", as_is },
};

/* --- the words of the command --------------------------------------------- */

/* A change of jobs, collected from the words of the command. */
struct change_of_jobs {
	char *ids[2];     /* JobId=..., for scontrol_ids() */
	const char *name; /* JobName=, if it selects the jobs */
	json_t *set;
	int sign; /* 1 for TimeLimit+=, -1 for -=, else 0 */
	int64_t minutes;
	int64_t cpus; /* NumCPUs=, 0: not given */
};

/* Returns the length of the name in "NAME=5", "NAME+=5" or "NAME-=5". */
static size_t name_of(const char *word)
{
	size_t len = strcspn(word, "=");

	return len && word[len] && strchr("+-", word[len - 1]) ? len - 1 : len;
}

static bool is_name(const char *name, const char *word, size_t len)
{
	return len >= SHORTEST && len <= strlen(name) &&
	       !strncasecmp(name, word, len);
}

static int take_step(struct change_of_jobs *c, char sign, const char *value)
{
	int64_t seconds;

	if (parse_duration(value, &seconds, NULL) < 0 ||
	    seconds == TIME_UNLIMITED) {
		command_error("Invalid TimeLimit value");
		return -1;
	}
	c->sign = sign == '+' ? 1 : -1;
	c->minutes = seconds / 60;
	return 0;
}

/* Take the MIN of "MIN[-MAX]": the CPUs of all tasks together. */
static int take_cpus(struct change_of_jobs *c, const char *value)
{
	struct buf text = { 0 };
	bool number;

	least(value, &text);
	number = text.len &&
	         parse_int(text.data, 0, UINT32_MAX, &c->cpus, NULL) == 0;
	buf_free(&text);
	if (number && c->cpus > 0)
		return 0;
	if (!number)
		command_error("Invalid numeric value \"%s\" for NumCPUs.",
		              value);
	command_error("Invalid NumCPUs value: %s", value);
	return -1;
}

static int take_setting(struct change_of_jobs *c, size_t i, const char *value)
{
	const char *field = settings[i].field;
	int64_t seconds;
	struct buf text = { 0 };

	/* Slurm's Requeue=0|1 is two options of the daemon: requeue and
	 * no-requeue. */
	if (!strcmp(field, "requeue") && !strcmp(value, "0")) {
		field = "no-requeue";
		value = "yes";
	}
	settings[i].convert(value, &text);
	if (!text.data)
		buf_puts(&text, "");
	if (!strcmp(settings[i].field, "time") &&
	    parse_duration(text.data, &seconds, NULL) < 0) {
		command_error("Invalid TimeLimit value");
		buf_free(&text);
		return -1;
	}
	json_object_set_new(c->set, field, json_string(text.data));
	buf_free(&text);
	return 0;
}

static int refuse(const char *word)
{
	fprintf(stderr,
	        "Update of this parameter is not supported: %s\n"
	        "Request aborted\n",
	        word);
	return -1;
}

static int take_word(struct change_of_jobs *c, char *word)
{
	size_t len = name_of(word), i = 0;
	const char *equals = strchr(word, '=');
	bool is_step = equals && equals != word + len;

	if (!equals)
		return refuse(word);
	if (is_name("JobId", word, len)) {
		c->ids[0] = word;
		return 0;
	}
	while (i < ARRAY_SIZE(settings) &&
	       !is_name(settings[i].name, word, len))
		i++;
	if (i == ARRAY_SIZE(settings))
		return refuse(word);
	if (!strcmp(settings[i].field, "time") &&
	    (is_step || strchr("+-", equals[1] ? equals[1] : ' ')))
		return take_step(c, is_step ? equals[-1] : equals[1],
		                 equals + 1 + !is_step);
	if (!is_step && !strcmp(settings[i].name, "NumCPUs"))
		return take_cpus(c, equals + 1);
	return is_step ? refuse(word) : take_setting(c, i, equals + 1);
}

/* --- jobs ----------------------------------------------------------------- */

static const char *words_of(const struct err *err, const char **ret_first)
{
	*ret_first = NULL;
	if (err->code == ENOENT && strstr(err->text, "there is no job"))
		return WORDS_NO_JOB;
	if (strstr(err->text, "only while it is pending"))
		return "Job is no longer pending execution";
	if (strstr(err->text, "has ended"))
		return "Job has already finished";
	if (err->code == EPERM || err->code == EACCES)
		return "Access/permission denied";
	return words_of_submit(err, ret_first);
}

static int tell(const struct scontrol *s, const char *job,
                const struct err *err)
{
	const char *first, *words = words_of(err, &first);

	if (s->quiet)
		return EXIT_FAILURE;
	if (first)
		command_error("%s", first);
	fprintf(stderr, "%s for job %s\n", words, job);
	return EXIT_FAILURE;
}

/* Read one number of the job from the daemon's listing. Fails with ENOENT if
 * the job has none. */
static int read_of_job(struct scontrol *s, const char *job, const char *field,
                       int64_t *ret, struct err *err)
{
	json_t *fields = json_pack("[s]", field), *rows = NULL;
	json_t *req =
	    json_pack("{s:s, s:[s], s:b}", "op", "jobs", "ids", job, "all", 1);
	int rc = rows_read(s->client, req, fields, &rows, NULL, err);

	if (rc == 0)
		*ret = row_int(json_array_get(rows, 0), field);
	if (rc == 0 && *ret == ROW_NONE)
		rc = err_set(err, ENOENT, "there is no job %s with a %s", job,
		             field);
	json_decref(fields);
	json_decref(rows);
	return rc;
}

static void set_number(json_t *set, const char *field, int64_t n)
{
	char text[32];

	snprintf(text, sizeof(text), "%lld", (long long)n);
	json_object_set_new(set, field, json_string(text));
}

/* Add to the request the time limit that TimeLimit+= or -= gives this job. */
static int add_step(struct scontrol *s, const struct change_of_jobs *c,
                    const char *job, struct err *err)
{
	int64_t limit;

	if (read_of_job(s, job, "time_limit", &limit, err) < 0)
		return -1;
	limit = limit / 60 + c->sign * c->minutes;
	if (limit <= 0) {
		command_error("TimeLimit decrement larger than current time "
		              "limit (%lld > %lld)",
		              (long long)c->minutes,
		              (long long)(limit + c->minutes));
		err->code = 0;
		return -1;
	}
	set_number(c->set, "time", limit);
	return 0;
}

/* Add to the request the CPUs of each task, so that the job has NumCPUs at
 * least. */
static int add_cpus(struct scontrol *s, const struct change_of_jobs *c,
                    const char *job, struct err *err)
{
	const char *said = json_string_value(json_object_get(c->set, "ntasks"));
	int64_t tasks;

	if ((!said || parse_int(said, 1, UINT32_MAX, &tasks, NULL) < 0) &&
	    read_of_job(s, job, "tasks", &tasks, err) < 0)
		return -1;
	set_number(c->set, "cpus-per-task", (c->cpus + tasks - 1) / tasks);
	return 0;
}

static int change_one(struct scontrol *s, const struct change_of_jobs *c,
                      const char *job)
{
	int status = EXIT_SUCCESS;
	json_t *req, *answer, *item;
	struct err err;
	size_t i;

	if (c->sign && add_step(s, c, job, &err) < 0)
		return err.code ? tell(s, job, &err) : EXIT_FAILURE;
	if (c->cpus && add_cpus(s, c, job, &err) < 0)
		return tell(s, job, &err);
	req = json_pack("{s:s, s:[s], s:O}", "op", "update", "ids", job, "set",
	                c->set);
	answer = client_call(s->client, req, NULL, 0, NULL, NULL, &err);
	json_decref(req);
	if (!answer)
		return tell(s, job, &err);
	json_array_foreach(json_object_get(answer, "failed"), i, item) {
		err.code = (int)row_int(item, "code");
		snprintf(err.text, sizeof(err.text), "%s",
		         row_text(item, "text"));
		status = tell(s, job, &err);
	}
	json_decref(answer);
	return status;
}

json_t *scontrol_ids_of_name(struct scontrol *s, const char *name)
{
	json_t *fields = json_pack("[s]", "job_id"), *rows = NULL, *row;
	json_t *req = json_pack("{s:s, s:[s]}", "op", "jobs", "names", name);
	json_t *ids = NULL;
	struct err err;
	size_t i;

	if (rows_read(s->client, req, fields, &rows, NULL, &err) < 0)
		fprintf(stderr, "slurm_load_jobs error: %s\n",
		        words_of_job(&err));
	else
		ids = json_array();
	json_array_foreach(rows, i, row)
		json_array_append_new(
		    ids,
		    json_sprintf("%lld", (long long)row_int(row, "job_id")));
	json_decref(fields);
	json_decref(rows);
	return ids;
}

static int change(struct scontrol *s, struct change_of_jobs *c)
{
	const char *name =
	    json_string_value(json_object_get(c->set, "job-name"));
	int status = EXIT_SUCCESS;
	json_t *ids, *id;
	size_t i;

	if (!c->ids[0] && name)
		c->name = name;
	if (!c->ids[0] && !c->name) {
		fputs("No valid entity in update command\nInput line must "
		      "include \"NodeName\", \"PartitionName\", "
		      "\"Reservation\", \"JobId\", or \"SlurmctldDebug\"\n",
		      stderr);
		return EXIT_FAILURE;
	}
	if (json_object_size(c->set) + (c->sign != 0) + (c->cpus != 0) ==
	    (c->name != NULL)) {
		fputs("No changes specified\n", stderr);
		return EXIT_FAILURE;
	}
	if (!scontrol_connect(s, "slurm_update"))
		return EXIT_FAILURE;
	ids =
	    c->ids[0] ? scontrol_ids(c->ids) : scontrol_ids_of_name(s, c->name);
	if (ids && c->name && !json_array_size(ids))
		fprintf(stderr, "No job with name %s found\n", c->name);
	if (c->name)
		json_object_del(c->set, "job-name");
	if (!json_array_size(ids))
		status = EXIT_FAILURE;
	json_array_foreach(ids, i, id)
		if (change_one(s, c, json_string_value(id)))
			status = EXIT_FAILURE;
	json_decref(ids);
	return status;
}

static int update_jobs(struct scontrol *s, char **words)
{
	struct change_of_jobs c = { .set = json_object() };
	int status = EXIT_SUCCESS;

	/* "update job 12 ..." means "update job=12 ...". */
	if (words[1] && is_name("JobId", words[0], strlen(words[0]))) {
		c.ids[0] = words[1];
		words += 2;
	}
	for (; *words && !status; words++)
		if (take_word(&c, *words) < 0)
			status = EXIT_FAILURE;
	if (!status)
		status = change(s, &c);
	json_decref(c.set);
	return status;
}

/* --- nodes ---------------------------------------------------------------- */

static int send(struct scontrol *s, json_t *req)
{
	json_t *answer = NULL;
	struct err err;

	if (scontrol_connect(s, "slurm_update"))
		answer = client_call(s->client, req, NULL, 0, NULL, NULL, &err);
	if (!answer && s->client)
		fprintf(stderr, "slurm_update error: %s\n",
		        err.code == ENOENT ? "Invalid node name specified"
		                           : words_of_job(&err));
	json_decref(req);
	json_decref(answer);
	return answer ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* Drain or resume nodes: "NodeName=n0 State=drain Reason='disk full'",
 * "NodeName=n0 State=resume". */
static int update_nodes(struct scontrol *s, char **words)
{
	const char *nodes = strchr(words[0], '=') + 1, *state = "",
		   *reason = "";
	bool drains;

	for (words++; *words; words++) {
		size_t len = name_of(*words);
		const char *value = strchr(*words, '=');

		if (value && is_name("State", *words, len))
			state = value + 1;
		else if (value && is_name("Reason", *words, len))
			reason = value + 1;
		else
			return refuse(*words), EXIT_FAILURE;
	}
	drains = !strcasecmp(state, "drain");
	if (drains && !*reason) {
		fputs("You must specify a reason when DOWNING or DRAINING a "
		      "node. Request denied\n",
		      stderr);
		return EXIT_FAILURE;
	}
	if (drains)
		return send(s, json_pack("{s:s, s:s, s:s}", "op", "drain",
		                         "nodes", nodes, "reason", reason));
	if (!strcasecmp(state, "resume") || !strcasecmp(state, "undrain"))
		return send(s, json_pack("{s:s, s:s}", "op", "undrain", "nodes",
		                         nodes));
	fprintf(stderr,
	        "Update of this parameter is not supported: State=%s\n"
	        "Request aborted\n",
	        state);
	return EXIT_FAILURE;
}

int scontrol_update(struct scontrol *s, char **words)
{
	static const char *const refused[] = { "PartitionName",
		                               "ReservationName", "StepId",
		                               "FrontendName" };

	if (is_name("NodeName", words[1], name_of(words[1])) &&
	    strchr(words[1], '='))
		return update_nodes(s, words + 1);
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++)
		if (!strncasecmp(refused[i], words[1], strlen(refused[i])))
			return scontrol_refuse(s, words);
	return update_jobs(s, words + 1);
}

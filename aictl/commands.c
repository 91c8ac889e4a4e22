/* commands.c - the commands of aictl */
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "aictl/aictl.h"
#include "aictl/command.h"
#include "libcommon/buf.h"
#include "libcommon/client/json_out.h"
#include "libcommon/clock.h"
#include "libcommon/jobid.h"
#include "libcommon/parse.h"

enum {
	MANY = INT_MAX, /* no maximum of operands */
	WAIT_MAX_S = 24 * 60 * 60
};

/* Returns a list of those words that are valid job ids. Reports the others, and
 * sets *status. */
static json_t *take_ids(const struct ctl *ctl, int n, char **word, int *status)
{
	json_t *ids = json_array();

	for (int i = 0; i < n; i++) {
		struct jobid id;
		struct err why;

		if (jobid_parse(&id, word[i], &why) < 0) {
			ctl_warn(ctl, "%s", why.text);
			*status = EXIT_FAILURE;
			continue;
		}
		idset_free(&id.tasks);
		json_array_append_new(ids, json_string(word[i]));
	}
	return ids;
}

static int control(struct ctl *ctl, const char *action, int n, char **word)
{
	int status = EXIT_SUCCESS;
	json_t *ids = take_ids(ctl, n, word, &status);

	if (json_array_size(ids) &&
	    ctl_finish(
		ctl, ctl_ask(ctl, json_pack("{s:s, s:s, s:O}", "op", "control",
	                                    "action", action, "ids", ids))))
		status = EXIT_FAILURE;
	json_decref(ids);
	return status;
}

/* Run a command that is an action on jobs, such as hold; argv[0] is
 * the action. */
static int run_action(struct ctl *ctl, int argc, char **argv)
{
	return control(ctl, argv[0], argc - 1, argv + 1);
}

/* Run requeue. Ignore SIGTERM: a job that requeues itself gets it before the
 * answer has come. */
static int run_requeue(struct ctl *ctl, int argc, char **argv)
{
	signal(SIGTERM, SIG_IGN);
	return control(ctl, ctl->hold ? "requeuehold" : "requeue", argc - 1,
	               argv + 1);
}

/* Add settings such as limit=2:00 to the object, as {"limit": "2:00"}. Reports
 * errors, and returns -1. */
static int take_settings(const struct ctl *ctl, json_t *set, int n, char **word)
{
	for (int i = 0; i < n; i++) {
		size_t len = strcspn(word[i], "=");

		if (!len || !word[i][len]) {
			ctl_warn(ctl, "'%s' is not FIELD=VALUE", word[i]);
			return -1;
		}
		if (json_object_setn_new(set, word[i], len,
		                         json_string(word[i] + len + 1)) < 0) {
			ctl_warn(ctl, "'%s' is not UTF-8", word[i]);
			return -1;
		}
	}
	return 0;
}

static int run_update(struct ctl *ctl, int argc, char **argv)
{
	int status = EXIT_SUCCESS, first = 1;
	json_t *ids, *set;

	while (first < argc && !strchr(argv[first], '='))
		first++;
	if (first == 1 || first == argc) {
		ctl_warn(ctl, "update takes JOB... FIELD=VALUE...");
		return EXIT_USAGE;
	}
	set = json_object();
	if (take_settings(ctl, set, argc - first, argv + first) < 0) {
		json_decref(set);
		return EXIT_USAGE;
	}
	ids = take_ids(ctl, first - 1, argv + 1, &status);
	if (json_array_size(ids) &&
	    ctl_finish(ctl,
	               ctl_ask(ctl, json_pack("{s:s, s:O, s:O}", "op", "update",
	                                      "ids", ids, "set", set))))
		status = EXIT_FAILURE;
	json_decref(ids);
	json_decref(set);
	return status;
}

/* Returns a request {"op": argv[0], "nodes": all other words as
 * one hostlist}. */
static json_t *node_request(int argc, char **argv)
{
	struct buf nodes = { 0 };
	json_t *req;

	for (int i = 1; i < argc; i++)
		buf_printf(&nodes, "%s%s", i > 1 ? "," : "", argv[i]);
	req = json_pack("{s:s, s:s}", "op", argv[0], "nodes", nodes.data);
	buf_free(&nodes);
	return req;
}

static int run_drain(struct ctl *ctl, int argc, char **argv)
{
	json_t *req;

	if (!ctl->reason || !*ctl->reason) {
		ctl_warn(ctl, "drain needs a reason: drain NODE... -r REASON");
		return EXIT_USAGE;
	}
	req = node_request(argc, argv);
	json_object_set_new(req, "reason", json_string(ctl->reason));
	return ctl_finish(ctl, ctl_ask(ctl, req));
}

static int run_undrain(struct ctl *ctl, int argc, char **argv)
{
	return ctl_finish(ctl, ctl_ask(ctl, node_request(argc, argv)));
}

static int run_queue(struct ctl *ctl, int argc, char **argv)
{
	const char *state = !strcmp(argv[1], "open")    ? "open"
	                    : !strcmp(argv[1], "close") ? "closed"
	                                                : NULL;

	(void)argc;
	if (!state) {
		ctl_warn(ctl, "queue takes 'open' or 'close', not '%s'",
		         argv[1]);
		return EXIT_USAGE;
	}
	return ctl_finish(
	    ctl, ctl_ask(ctl, json_pack("{s:s, s:s, s:s}", "op", "queue",
	                                "name", argv[2], "state", state)));
}

static int run_reload(struct ctl *ctl, int argc, char **argv)
{
	json_t *answer = ctl_ask(ctl, json_pack("{s:s}", "op", "reload"));
	const json_t *warnings = json_object_get(answer, "warnings"), *text;
	size_t i;

	(void)argc, (void)argv;
	json_array_foreach(warnings, i, text)
		ctl_warn(ctl, "warning: %s", json_string_value(text));
	return ctl_finish(ctl, answer);
}

/* Send pings until the daemon answers, or wait_s seconds have passed. */
static json_t *ping(struct ctl *ctl, struct err *err)
{
	const struct timespec pause = { .tv_nsec = 20 * 1000 * 1000 };
	json_t *req = json_pack("{s:s}", "op", "ping"), *answer;
	int64_t end = clock_ms() + (int64_t)ctl->wait_s * 1000;

	while (!(answer = ctl_call(ctl, req, NULL, NULL, err)) &&
	       clock_ms() < end) {
		ctl_disconnect(ctl);
		nanosleep(&pause, NULL);
	}
	json_decref(req);
	return answer;
}

static int run_ping(struct ctl *ctl, int argc, char **argv)
{
	const char *version = "?", *cluster = "?";
	struct err why;
	json_t *answer = ping(ctl, &why);
	json_int_t pid = 0;

	(void)argc, (void)argv;
	if (!answer) {
		ctl_warn(ctl, "%s", why.text);
		return EXIT_FAILURE;
	}
	if (ctl->json) {
		json_out(answer, JSON_COMPACT, stdout);
		putchar('\n');
	} else {
		answer_clean(answer);
		json_unpack(answer, "{s?s, s?s, s?I}", "version", &version,
		            "cluster", &cluster, "pid", &pid);
		printf("aischedd %s of cluster %s answers, pid %lld\n", version,
		       cluster, (long long)pid);
	}
	return ctl_finish(ctl, answer);
}

static int run_status(struct ctl *ctl, int argc, char **argv)
{
	json_t *answer = ctl_ask(ctl, json_pack("{s:s}", "op", "status"));

	(void)argc, (void)argv;
	if (answer && !ctl->json) {
		answer_clean(answer);
		status_print(answer);
	}
	return ctl_finish(ctl, answer);
}

static int put_part(const void *data, size_t len, void *arg)
{
	(void)arg;
	return fwrite(data, 1, len, stdout) == len ? 0 : -1;
}

/* Run dump or metrics: print the text in the parts of the answer. */
static int run_text(struct ctl *ctl, int argc, char **argv)
{
	json_t *req = json_pack("{s:s}", "op", argv[0]);
	struct err why;
	json_t *answer = ctl_call(ctl, req, put_part, NULL, &why);

	(void)argc;
	if (!answer)
		ctl_warn(ctl, "%s", why.text);
	json_decref(req);
	return ctl_finish(ctl, answer);
}

static int run_shutdown(struct ctl *ctl, int argc, char **argv)
{
	(void)argc, (void)argv;
	return ctl_finish(ctl,
	                  ctl_ask(ctl, json_pack("{s:s}", "op", "shutdown")));
}

static int run_help(struct ctl *ctl, int argc, char **argv)
{
	char *all;

	if (argc > 1)
		return command_help(ctl, argv[1]);
	all = commands_help();
	fputs(all, stdout);
	free(all);
	return EXIT_SUCCESS;
}

static int run_quit(struct ctl *ctl, int argc, char **argv)
{
	(void)argc, (void)argv;
	ctl->quit = true;
	return EXIT_SUCCESS;
}

static int set_wait(void *ctx, const struct opt *opt, const char *value,
                    struct err *err)
{
	struct ctl *ctl = ctx;
	int64_t seconds;

	(void)opt;
	if (parse_duration(value, &seconds, err) < 0)
		return -1;
	if (seconds < 0 || seconds > WAIT_MAX_S)
		return err_set(err, ERANGE,
		               "'%s' is more than a day: give at most 24h",
		               value);
	ctl->wait_s = seconds;
	return 0;
}

static const struct opt requeue_opts[] = {
	{ 0, "hold", NULL, "keep them from starting again", opt_set_true,
	  .offset = offsetof(struct ctl, hold) },
	OPT_END
};

static const struct opt drain_opts[] = {
	{ 'r', "reason", "REASON", "why, shown with the nodes", opt_set_text,
	  .offset = offsetof(struct ctl, reason) },
	OPT_END
};

static const struct opt ping_opts[] = {
	{ 0, "wait", "TIME", "keep trying this long: 10s", .set = set_wait },
	OPT_END
};

/* clang-format off */
const struct command commands[] = {
	{ "hold", "JOB...", "keep pending jobs from starting",
	  run_action, .least = 1, .most = MANY, .kind = WORDS_JOBS },
	{ "release", "JOB...", "let held jobs start",
	  run_action, .least = 1, .most = MANY, .kind = WORDS_JOBS },
	{ "suspend", "JOB...", "stop running jobs; they keep memory and GPUs",
	  run_action, .least = 1, .most = MANY, .kind = WORDS_JOBS },
	{ "resume", "JOB...", "let suspended jobs resume",
	  run_action, .least = 1, .most = MANY, .kind = WORDS_JOBS },
	{ "requeue", "[--hold] JOB...", "requeue running or ended jobs",
	  run_requeue, .opts = requeue_opts, .least = 1, .most = MANY, .kind = WORDS_JOBS },
	{ "preempt", "JOB...", "suspend, requeue or cancel, as their queue says",
	  run_action, .least = 1, .most = MANY, .kind = WORDS_JOBS },
	{ "top", "JOB...", "put pending jobs before all others of their queue",
	  run_action, .least = 1, .most = MANY, .kind = WORDS_JOBS },
	{ "update", "JOB... FIELD=VALUE...", "change the options of jobs",
	  run_update, .least = 2, .most = MANY, .kind = WORDS_JOBS },
	{ "exec", "JOB[.RANK] COMMAND...", "run a command in a job that runs",
	  run_exec, .opts = exec_opts, .least = 2, .most = MANY,
	  .kind = WORDS_JOBS, .theirs = 2 },
	{ "forward", "JOB [LOCAL:]PORT",
	  "connect a port of this machine to one of a job", run_forward,
	  .least = 2, .most = 2, .kind = WORDS_JOBS },
	{ "drain", "NODE... -r REASON", "start no further jobs on nodes",
	  run_drain, .opts = drain_opts,
	  .least = 1, .most = MANY, .kind = WORDS_NODES },
	{ "undrain", "NODE...", "use nodes again",
	  run_undrain, .least = 1, .most = MANY, .kind = WORDS_NODES },
	{ "queue", "open|close QUEUE", "open a queue for new jobs, or close it",
	  run_queue, .least = 2, .most = 2, .kind = WORDS_QUEUES },
	{ "reserve", "create|list|delete",
	  "reserve nodes for users, or for maintenance", run_reserve,
	  .opts = reserve_opts, .least = 1, .most = 2, .kind = WORDS_RESERVE },
	{ "cron", "COMMAND ...",
	  "recurring work: entries, files, times", run_cron, .opts = cron_opts,
	  .most = MANY, .kind = WORDS_CRON },
	{ "reload", "", "read the configuration again, whole or not at all",
	  .run = run_reload },
	{ "ping", "[--wait=TIME]", "ask whether the daemon answers",
	  .run = run_ping, .opts = ping_opts },
	{ "status", "", "show sizes, counts and times of the daemon",
	  .run = run_status },
	{ "audit", "", "list who did what",
	  .run = run_audit, .opts = audit_opts },
	{ "accounting", "check",
	  "compare the sums of use with the attempts", run_accounting,
	  .least = 1, .most = 1 },
	{ "history", "archive|purge",
	  "remove ended jobs, and keep them in a file", run_history,
	  .opts = history_opts, .least = 1, .most = 2 },
	{ "what-if", "-c FILE",
	  "what another configuration would have made of the past",
	  .run = run_whatif, .opts = whatif_opts },
	{ "metrics", "", "print the metrics in Prometheus' text format",
	  .run = run_text },
	{ "dump", "", "print the snapshot that the scheduler sees",
	  .run = run_text },
	{ "shutdown", "", "end the daemon; running jobs go on",
	  .run = run_shutdown },
	{ "help", "[COMMAND]", "list the commands",
	  run_help, .most = 1, .kind = WORDS_COMMANDS },
	{ "quit", "", "leave the prompt or the script", .run = run_quit },
	{ .name = NULL }
};
/* clang-format on */

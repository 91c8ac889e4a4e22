/* aicancel - cancel jobs, or send them a signal */
#include <err.h>
#include <stdlib.h>

#include "aicancel/aicancel.h"
#include "libcommon/client/client.h"
#include "libcommon/client/filter_opt.h"
#include "libcommon/client/json_out.h"
#include "libcommon/client/retry.h"
#include "libcommon/jobid.h"
#include "libcommon/limits.h"

static bool has_filter(const struct cancel *cancel)
{
	return cancel->users || cancel->queues || cancel->states ||
	       cancel->names || cancel->labels || cancel->all;
}

/* Returns a list of the operands that are valid job ids. Reports the others,
 * and sets *status. */
static json_t *read_ids(char **operand, int n, int *status)
{
	json_t *ids = json_array();

	for (int i = 0; i < n; i++) {
		struct jobid id;
		struct err why;

		if (jobid_parse(&id, operand[i], &why) < 0) {
			warnx("%s", why.text);
			*status = EXIT_FAILURE;
			continue;
		}
		idset_free(&id.tasks);
		json_array_append_new(ids, json_string(operand[i]));
	}
	return ids;
}

static json_t *make_request(const struct cancel *cancel, json_t *ids)
{
	json_t *req =
	    json_pack("{s:s, s:i}", "op", "cancel", "signal", cancel->signo);

	if (cancel->wait)
		json_object_set_new(req, "list", json_true());
	if (!has_filter(cancel)) {
		json_object_set(req, "ids", ids);
		return req;
	}
	if (cancel->users)
		json_object_set(req, "users", cancel->users);
	if (cancel->queues)
		json_object_set(req, "queues", cancel->queues);
	if (cancel->states)
		json_object_set(req, "states", cancel->states);
	if (cancel->names)
		json_object_set(req, "names", cancel->names);
	if (cancel->labels)
		json_object_set(req, "labels", cancel->labels);
	if (cancel->all)
		json_object_set_new(req, "all", json_true());
	return req;
}

static int report_failed(const json_t *answer)
{
	const json_t *failed = json_object_get(answer, "failed"), *item;
	size_t i;

	json_array_foreach(failed, i, item) {
		const char *text =
		    json_string_value(json_object_get(item, "text"));

		warnx("%s", text ? text : "the daemon gives no reason");
	}
	return json_array_size(failed) ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* Wait until the jobs have ended, and add their states to the answer. */
static int wait_ended(struct retry *retry, json_t *answer, struct err *err)
{
	json_t *ids = json_object_get(answer, "ids");
	json_t *jobs = json_array();
	int rc = 0;

	for (size_t i = 0; !rc && i < json_array_size(ids); i += LIMIT_IDS) {
		json_t *req = json_pack("{s:s, s:[]}", "op", "wait", "ids");
		json_t *some = json_object_get(req, "ids"), *ended;

		for (size_t j = i;
		     j < i + LIMIT_IDS && j < json_array_size(ids); j++)
			json_array_append(some, json_array_get(ids, j));
		ended = retry_call(retry, req, NULL, NULL, err);
		json_decref(req);
		if (!ended)
			rc = -1;
		json_array_extend(jobs, json_object_get(ended, "jobs"));
		json_decref(ended);
	}
	json_object_set_new(answer, "jobs", jobs);
	return rc;
}

static int run(const struct cancel *cancel, json_t *ids, int *status,
               struct err *err)
{
	struct retry retry = { .address = cancel->socket, .patience_s = -1 };
	json_t *req, *answer;
	int rc = 0;

	retry.client = client_open(cancel->socket, err);
	if (!retry.client)
		return -1;
	if (filter_check_users(retry.client, cancel->users, false, err) < 0) {
		retry_close(&retry);
		return -1;
	}
	/* Do not repeat this request if the connection is lost: jobs might get
	 * a signal twice. Only requests to wait may be repeated. */
	req = make_request(cancel, ids);
	answer = client_call(retry.client, req, NULL, 0, NULL, NULL, err);
	json_decref(req);
	if (report_failed(answer) != EXIT_SUCCESS)
		*status = EXIT_FAILURE;
	if (!answer || (cancel->wait && wait_ended(&retry, answer, err) < 0))
		rc = -1;
	if (answer && cancel->json) {
		json_out(answer, JSON_COMPACT, stdout);
		putchar('\n');
	}
	json_decref(answer);
	retry_close(&retry);
	return rc;
}

int main(int argc, char **argv)
{
	struct cancel cancel = { 0 };
	int first = opt_parse(&aicancel_prog, &cancel, argc, argv);
	int status = EXIT_SUCCESS;
	json_t *ids = NULL;
	struct err why;

	if (first == argc && !has_filter(&cancel))
		errx(EXIT_USAGE, "no job given\nTry 'aicancel --help'.");
	if (first < argc && has_filter(&cancel))
		errx(EXIT_USAGE, "give jobs or a filter, not both\n"
		                 "Try 'aicancel --help'.");
	if (argc - first > LIMIT_IDS)
		errx(EXIT_USAGE,
		     "more than %d jobs named: name fewer, or use a filter",
		     LIMIT_IDS);
	ids = read_ids(argv + first, argc - first, &status);
	if ((json_array_size(ids) || has_filter(&cancel)) &&
	    run(&cancel, ids, &status, &why) < 0) {
		warnx("%s", why.text);
		status = EXIT_FAILURE;
	}
	json_decref(ids);
	json_decref(cancel.users);
	json_decref(cancel.queues);
	json_decref(cancel.states);
	json_decref(cancel.names);
	json_decref(cancel.labels);
	return status;
}

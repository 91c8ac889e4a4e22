/* aiq - look at jobs, queues and nodes */
#include <err.h>
#include <stdlib.h>
#include <string.h>

#include "aiq/aiq.h"
#include "aiq/columns.h"
#include "aiq/efficiency.h"
#include "aiq/list.h"
#include "aiq/replay.h"
#include "aiq/report.h"
#include "libcommon/client/follow.h"
#include "libcommon/client/table.h"
#include "libcommon/jobid.h"
#include "libcommon/limits.h"

static int check_page(const struct aiq *aiq, bool jobs, struct err *err)
{
	if ((aiq->sort || aiq->after || aiq->limit >= 0) &&
	    (!jobs || aiq->attempts || aiq->noperands))
		return err_set(err, EINVAL,
		               "--sort, --limit and --after go with listings "
		               "of jobs, without JOB");
	if (aiq->history && aiq->sort && aiq->limit < 0 &&
	    strcmp(aiq->sort + (*aiq->sort == '-'), "end_time") != 0)
		return err_set(err, EINVAL,
		               "--sort with --history takes --limit, unless it "
		               "is by end_time");
	if (aiq->after && aiq->limit < 0)
		return err_set(err, EINVAL, "--after goes with --limit");
	return 0;
}

/* Check --report, and the options that need it. */
static int check_report(const struct aiq *aiq, struct err *err)
{
	if (!aiq->report) {
		if (aiq->by || aiq->pools || aiq->classes)
			return err_set(err, EINVAL,
			               "--by, --pool and --class go with "
			               "--report");
		if (aiq->top >= 0 && !aiq->efficiency)
			return err_set(err, EINVAL,
			               "--top goes with --report and "
			               "--efficiency");
		if (aiq->csv && !aiq->history && !aiq->efficiency)
			return err_set(err, EINVAL,
			               "--csv goes with --history, --report "
			               "and --efficiency");
		if (aiq->csv && (aiq->json || aiq->watch))
			return err_set(err, EINVAL,
			               "--csv and --%s exclude each other",
			               aiq->json ? "json" : "watch");
		return 0;
	}
	if (aiq->states || aiq->names || aiq->nodes || aiq->labels ||
	    aiq->attempts || aiq->watch || aiq->noperands || aiq->limit >= 0 ||
	    aiq->after)
		return err_set(err, EINVAL,
		               "--report takes no JOB, and no filter but "
		               "--user, --queue, --account, --pool and "
		               "--class");
	if (aiq->csv && aiq->json)
		return err_set(err, EINVAL,
		               "--csv and --json exclude each other");
	if (aiq->since && aiq->until && aiq->since > aiq->until)
		return err_set(err, EINVAL, "--since is after --until");
	return report_check(aiq, err);
}

/* Which kinds of options are given; each kind excludes others. */
struct asked {
	bool jobs;   /* the listing is one of jobs */
	bool whose;  /* --user or --queue */
	bool filter; /* any other filter of jobs */
	bool file;   /* --log or --script */
};

static int check_files(const struct aiq *aiq, const struct asked *a,
                       struct err *err)
{
	if (aiq->file && (!aiq->history || aiq->watch || aiq->sort ||
	                  aiq->limit >= 0 || aiq->after || aiq->cron))
		return err_set(err, EINVAL,
		               "--file goes with --history and filters only");
	if (efficiency_check(aiq, err) < 0)
		return -1;
	if (!aiq->log && (aiq->follow || aiq->task >= 0))
		return err_set(err, EINVAL,
		               "--follow and --task go with --log");
	if (a->file && aiq->noperands != 1)
		return err_set(err, EINVAL, "--%s takes one JOB",
		               aiq->log ? "log" : "script");
	if (a->file &&
	    (a->whose || a->filter || aiq->json || aiq->watch || aiq->format))
		return err_set(err, EINVAL,
		               aiq->log
		                   ? "--log goes with --task and --follow only"
		                   : "--script goes with JOB only");
	if (aiq->tasks && !aiq->efficiency &&
	    (!aiq->noperands || a->file || aiq->view != &view_jobs))
		return err_set(err, EINVAL, "--tasks goes with JOB only");
	return 0;
}

static int check_views(const struct aiq *aiq, const struct asked *a,
                       struct err *err)
{
	if (!aiq->web && (aiq->open || aiq->list || aiq->logout))
		return err_set(err, EINVAL,
		               "--open, --list and --logout go with --web");
	if (aiq->web &&
	    (a->whose || a->filter || aiq->noperands || aiq->watch ||
	     aiq->format || aiq->open + aiq->list + aiq->logout > 1))
		return err_set(err, EINVAL,
		               "--web goes with one of --open, --list and "
		               "--logout only");
	if (!aiq->history && (aiq->since || aiq->until))
		return err_set(err, EINVAL,
		               "--since and --until go with --history, "
		               "--report and --efficiency");
	if (aiq->attempts &&
	    (!aiq->history || aiq->names || aiq->labels || aiq->watch))
		return err_set(err, EINVAL,
		               "--attempts goes with --history, and not with "
		               "--name, --label or --watch");
	if (aiq->view == &view_shares && (a->filter || aiq->noperands))
		return err_set(err, EINVAL,
		               "--shares takes no JOB, and no filter but "
		               "--user and --queue");
	if (!a->jobs && aiq->view != &view_shares &&
	    (a->whose || a->filter || aiq->noperands))
		return err_set(err, EINVAL,
		               "--%s takes no JOB and no filter of jobs",
		               aiq->view->op);
	if (aiq->cron && (aiq->noperands || aiq->attempts))
		return err_set(err, EINVAL,
		               "--cron takes no JOB, and not --attempts");
	return 0;
}

static int check_operands(const struct aiq *aiq, struct err *err)
{
	if (aiq->noperands > LIMIT_IDS)
		return err_set(err, EINVAL,
		               "more than %d jobs are named: name fewer",
		               LIMIT_IDS);
	for (size_t i = 0; i < aiq->noperands; i++) {
		struct jobid id;

		if (jobid_parse(&id, aiq->operand[i], err) < 0)
			return -1;
		idset_free(&id.tasks);
	}
	return 0;
}

/* Check which options go together. */
static int check(const struct aiq *aiq, struct err *err)
{
	const struct asked a = {
		.jobs = aiq->view == &view_jobs || aiq->history,
		.whose = aiq->users || aiq->queues,
		.file = aiq->log || aiq->script,
		.filter = aiq->states || aiq->names || aiq->nodes ||
		          aiq->accounts || aiq->labels || aiq->all || aiq->cron
	};

	if (replay_check(aiq, err) < 0 || check_report(aiq, err) < 0)
		return -1;
	if (aiq->report)
		return 0;
	if (check_files(aiq, &a, err) < 0 || check_views(aiq, &a, err) < 0)
		return -1;
	if (!aiq->efficiency && check_page(aiq, a.jobs && !a.file, err) < 0)
		return -1;
	if (aiq->watch && (aiq->noperands || aiq->limit >= 0))
		return err_set(err, EINVAL,
		               "--watch takes no JOB, --limit or --after");
	if (aiq->watch && aiq->json)
		return err_set(err, EINVAL,
		               "--watch and --json exclude each "
		               "other");
	return check_operands(aiq, err);
}

static int put_part(const void *data, size_t len, void *arg)
{
	return fwrite(data, 1, len, arg) == len ? 0 : -1;
}

static int print_script(const struct aiq *aiq, struct client *client,
                        struct err *err)
{
	json_t *req =
	    json_pack("{s:s, s:s}", "op", "script", "id", aiq->operand[0]);
	json_t *answer =
	    client_call(client, req, NULL, 0, put_part, stdout, err);

	json_decref(req);
	json_decref(answer);
	return answer ? 0 : -1;
}

static int run(const struct aiq *aiq, const struct format *format,
               struct err *err)
{
	bool describe = aiq->view == &view_jobs && aiq->noperands &&
	                !aiq->json && !aiq->format;
	struct client *client;
	int rc;

	if (aiq->watch)
		return watch_run(aiq, err);
	if (aiq->log)
		return follow_job(aiq->socket, aiq->operand[0], (long)aiq->task,
		                  aiq->follow, err);
	if (aiq->file && !aiq->efficiency)
		return list_print(aiq, NULL, format, stdout, terminal_width(),
		                  err);
	client = client_open(aiq->socket, err);
	if (!client)
		return -1;
	if (aiq->web)
		rc = link_run(aiq, client, err);
	else if (aiq->replay)
		rc = replay_print(aiq, client, stdout, err);
	else if (aiq->report)
		rc = report_print(aiq, client, err);
	else if (aiq->efficiency)
		rc = efficiency_print(aiq, client, err);
	else if (aiq->script)
		rc = print_script(aiq, client, err);
	else if (describe)
		rc = show_jobs(aiq, client, err);
	else
		rc = list_print(aiq, client, format, stdout, terminal_width(),
		                err);
	client_close(client);
	return rc;
}

int main(int argc, char **argv)
{
	struct aiq aiq = {
		.task = -1, .period_s = WATCH_S, .limit = -1, .top = -1
	};
	int first = opt_parse(&aiq_prog, &aiq, argc, argv);
	struct format format;
	bool sheet;
	int status = EXIT_SUCCESS;
	char *sort = NULL;
	struct err why;

	aiq.operand = argv + first;
	aiq.noperands = (size_t)(argc - first);
	if (!aiq.view)
		aiq.view = &view_jobs;
	if (aiq.attempts && aiq.history)
		aiq.view = &view_attempts;
	sheet = aiq.report || aiq.efficiency; /* these have other columns */
	if (check(&aiq, &why) < 0 ||
	    format_parse(&format, aiq.view, sheet ? NULL : aiq.format, &why) <
	        0 ||
	    (aiq.sort && !sheet &&
	     !(sort = format_sort(aiq.view, aiq.sort, &why))))
		errx(EXIT_USAGE, "%s\nTry 'aiq --help'.", why.text);
	if (!sheet)
		aiq.sort = sort;
	if (run(&aiq, &format, &why) < 0) {
		fflush(stdout); /* print the rows before the error */
		warnx("%s", why.text);
		status = EXIT_FAILURE;
	}
	format_free(&format);
	free(sort);
	json_decref(aiq.users);
	json_decref(aiq.queues);
	json_decref(aiq.states);
	json_decref(aiq.names);
	json_decref(aiq.nodes);
	json_decref(aiq.accounts);
	json_decref(aiq.labels);
	json_decref(aiq.pools);
	json_decref(aiq.classes);
	if (fflush(stdout) || ferror(stdout))
		err(EXIT_FAILURE, "stdout");
	return status;
}

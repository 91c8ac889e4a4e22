/*
 * sdiag.c - statistics of the daemon, printed as Slurm's sdiag does
 *
 * The counters are the daemon's metrics, which are 0 when it starts. One pass
 * of its scheduler does the work of both Slurm's main scheduler and its
 * backfill scheduler.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "libcommon/buf.h"
#include "libcommon/mem.h"
#include "slurm/command.h"
#include "slurm/rows.h"
#include "slurm/words.h"

struct sdiag {
	json_t *clusters;
	bool reset;
};

/* --- metrics -------------------------------------------------------------- */

static int keep_part(const void *data, size_t len, void *arg)
{
	buf_add(arg, data, len);
	return 0;
}

/* Add up the metric's values in the text. If label is not NULL, take only
 * the values whose labels contain it. */
static double sum_of(const char *text, const char *metric, const char *label)
{
	size_t len = strlen(metric);
	double sum = 0;

	for (const char *s = text, *eol; *s; s = eol + (*eol == '\n')) {
		size_t name = strcspn(s, "{ \n"), labels = 0;

		eol = s + strcspn(s, "\n");
		if (name != len || strncmp(s, metric, len) != 0)
			continue;
		if (s[len] == '{')
			labels = strcspn(s + len, "}\n");
		if (!label || memmem(s + len, labels, label, strlen(label)))
			sum += strtod(s + len + labels + (s[len] == '{'), NULL);
	}
	return sum;
}

/* --- printing ------------------------------------------------------------- */

static void put_stars(void)
{
	puts("*******************************************************");
}

static void put_time(const char *what, int64_t at)
{
	time_t t = at;
	char text[64];
	struct tm tm;

	strftime(text, sizeof(text), "%a %b %d %H:%M:%S %Y",
	         localtime_r(&t, &tm));
	printf("%s %s (%lld)\n", what, text, (long long)at);
}

static void put_jobs(const char *metrics, const json_t *status, int64_t now)
{
	const json_t *jobs = json_object_get(status, "jobs");
	double ended = sum_of(metrics, "aisched_jobs_ended_total", NULL);
	double cancelled =
	    sum_of(metrics, "aisched_jobs_ended_total", "state=\"CANCELLED\"");
	double failed =
	    sum_of(metrics, "aisched_jobs_ended_total", "state=\"NODE_FAIL\"") +
	    sum_of(metrics, "aisched_jobs_ended_total", "state=\"BOOT_FAIL\"");

	printf("Jobs submitted: %.0f\nJobs started:   %.0f\n",
	       sum_of(metrics, "aisched_jobs_submitted_total", NULL),
	       sum_of(metrics, "aisched_jobs_started_total", NULL));
	printf("Jobs completed: %.0f\nJobs canceled:  %.0f\n"
	       "Jobs failed:    %.0f\n\n",
	       ended - cancelled - failed, cancelled, failed);
	put_time("Job states ts: ", now);
	printf("Jobs pending:   %lld\nJobs running:   %lld\n\n",
	       (long long)row_int(jobs, "pending"),
	       (long long)row_int(jobs, "running"));
}

static void put_cycles(const json_t *status, int64_t rows)
{
	const json_t *pass = json_object_get(status, "pass_ms");
	double passes = row_real(status, "passes");
	int64_t uptime = row_int(status, "uptime_s");

	printf("\tLast cycle:   %.0f\n\tMax cycle:    %.0f\n"
	       "\tTotal cycles: %.0f\n\tMean cycle:   %.0f\n",
	       row_real(pass, "last") * 1000, row_real(pass, "max") * 1000,
	       passes, row_real(pass, "mean") * 1000);
	if (uptime >= 60)
		printf("\tCycles per minute: %.0f\n",
		       passes * 60 / (double)uptime);
	printf("\tLast queue length: %lld\n", (long long)rows);
}

static void print(const char *metrics, const json_t *status)
{
	int64_t now = time(NULL);
	int64_t rows = (int64_t)sum_of(metrics, "aisched_pass_rows", NULL);

	put_stars();
	put_time("sdiag output at", now);
	put_time("Data since     ", now - row_int(status, "uptime_s"));
	put_stars();
	printf("Server thread count:  %lld\nAgent queue size:     0\n"
	       "Agent count:          0\nAgent thread count:   0\n"
	       "DBD Agent queue size: 0\n\n",
	       (long long)row_int(status, "connections"));
	put_jobs(metrics, status, now);
	puts("Main schedule statistics (microseconds):");
	put_cycles(status, rows);
	puts("\nBackfilling stats");
	put_cycles(status, rows);
}

/* --- the command ---------------------------------------------------------- */

static int run(const struct sdiag *s, struct err *err)
{
	struct client *client = command_connect(err);
	json_t *req = json_pack("{s:s}", "op", "status"), *status = NULL,
	       *answer = NULL;
	struct buf metrics = { 0 };

	if (client && command_check_clusters(client, s->clusters, err) == 0)
		status = client_call(client, req, NULL, 0, NULL, NULL, err);
	json_object_set_new(req, "op", json_string("metrics"));
	if (status)
		answer =
		    client_call(client, req, NULL, 0, keep_part, &metrics, err);
	if (answer)
		print(metrics.data ? metrics.data : "", status);
	json_decref(req);
	json_decref(status);
	buf_free(&metrics);
	client_close(client);
	json_decref(answer);
	return answer ? 0 : -1;
}

int sdiag_main(int argc, char **argv)
{
	/* clang-format off */
	static const struct opt opts[] = {
		{ 'a', "all", NULL, "all there is", .set = command_ignore },
		{ 'M', "cluster", "CLUSTER", "this cluster's own name, or all", command_add_items, .offset = offsetof(struct sdiag, clusters) },
		{ 'r', "reset", NULL, NULL, opt_set_true, .offset = offsetof(struct sdiag, reset) },
		{ 'i', "sort-by-id", NULL, NULL, .set = command_ignore },
		{ 't', "sort-by-time", NULL, NULL, .set = command_ignore },
		{ 'T', "sort-by-time2", NULL, NULL, .set = command_ignore },
		OPT_END
	};
	/* clang-format on */
	static const struct command_line line = {
		.name = "sdiag",
		.usage = "[OPTION]...",
		.opts = opts,
		.usage_status = 1,
	};
	struct sdiag s = { 0 };
	int rc = EXIT_FAILURE;
	struct err err;

	command_parse(&line, &s, argc, argv);
	if (s.reset)
		command_error("--reset is not supported: counts begin with the "
		              "daemon");
	else if (run(&s, &err) < 0)
		fprintf(stderr, "slurm_get_statistics: %s\n",
		        words_of_job(&err));
	else
		rc = EXIT_SUCCESS;
	json_decref(s.clusters);
	return rc;
}

/* seff.c - print how much of its allocation a job used, as Slurm's seff does */
#include <stdlib.h>
#include <string.h>

#include "libcommon/clean.h"
#include "libcommon/mem.h"
#include "slurm/command.h"
#include "slurm/job.h"
#include "slurm/rows.h"
#include "slurm/words.h"

enum { DAY = 86400, HOUR = 3600, MINUTE = 60 };

static void put_span(const char *name, int64_t s)
{
	printf("%s: ", name);
	if (s >= DAY)
		printf("%lld-", (long long)(s / DAY));
	printf("%02lld:%02lld:%02lld\n", (long long)(s % DAY / HOUR),
	       (long long)(s % HOUR / MINUTE), (long long)(s % MINUTE));
}

static void put_size(double mib)
{
	if (mib >= 1024)
		printf("%.2f GB", mib / 1024);
	else
		printf("%.2f MB", mib);
}

static double part(double used, double had)
{
	return had > 0 ? 100 * used / had : 0;
}

static int64_t at_least_0(int64_t n)
{
	return n > 0 ? n : 0;
}

static void put_cpu(const json_t *row, int64_t cpus)
{
	int64_t ran = at_least_0(row_int(row, "elapsed"));
	int64_t core = ran * cpus;

	put_span("CPU Utilized", at_least_0(row_int(row, "cpu_seconds")));
	printf("CPU Efficiency: %.2f%% of ",
	       part(row_real(row, "cpu_seconds"), (double)core));
	if (core >= DAY)
		printf("%lld-", (long long)(core / DAY));
	printf("%02lld:%02lld:%02lld core-walltime\n",
	       (long long)(core % DAY / HOUR),
	       (long long)(core % HOUR / MINUTE), (long long)(core % MINUTE));
	put_span("Job Wall-clock time", ran);
}

static void put_memory(const json_t *row)
{
	double had = row_real(row, "alloc_mem_mib");
	double used = row_real(row, "peak_mem_mib");

	printf("Memory Utilized: ");
	put_size(used);
	printf("\nMemory Efficiency: %.2f%% of ", part(used, had));
	put_size(had);
	putchar('\n');
}

/* Print the lines about GPUs, which Slurm's seff lacks, as far as their use is
 * known. */
static void put_gpus(const json_t *row)
{
	int64_t held = at_least_0(row_int(row, "held_gpu_seconds"));
	int64_t mem = row_int(row, "gpu_mem_mib");

	if (json_is_number(json_object_get(row, "gpu_util")))
		printf("GPU Efficiency: %.2f%% of %lld-%02lld:%02lld:%02lld "
		       "GPU-walltime\n",
		       100 * row_real(row, "gpu_util"), (long long)(held / DAY),
		       (long long)(held % DAY / HOUR),
		       (long long)(held % HOUR / MINUTE),
		       (long long)(held % MINUTE));
	if (mem == ROW_NONE)
		return;
	printf("GPU Memory Utilized: ");
	put_size((double)mem);
	printf(" of ");
	put_size(row_real(row, "gpu_mem_total_mib"));
	putchar('\n');
}

static void put_job(const json_t *row, const char *cluster)
{
	int64_t cpus = job_cpus(row);
	const char *state = row_text(row, "state");

	printf("Job ID: %lld\n", (long long)row_int(row, "job_id"));
	if (row_int(row, "array_job_id") != ROW_NONE)
		printf("Array Job ID: %s\n", row_text(row, "display_id"));
	printf("Cluster: %s\nUser/Group: %s\n", cluster, row_text(row, "user"));
	if (!strcmp(state, "PENDING") || !strcmp(state, "RUNNING"))
		printf("State: %s\n", state);
	else
		printf("State: %s (exit code %lld)\n", state,
		       (long long)at_least_0(row_int(row, "exit_code")));
	printf("%s: %lld\n", cpus == 1 ? "Cores" : "Cores per node",
	       (long long)cpus);
	if (!strcmp(state, "PENDING")) {
		printf("Efficiency not available for jobs in the PENDING "
		       "state.\n");
		return;
	}
	put_cpu(row, cpus);
	put_memory(row);
	put_gpus(row);
	if (!strcmp(state, "RUNNING"))
		printf("WARNING: Efficiency statistics may be misleading for "
		       "RUNNING jobs.\n");
}

static int show(const char *id, struct err *err)
{
	struct client *client = command_connect(err);
	char *cluster = client ? command_cluster(client, err) : NULL;
	json_t *fields = json_array(), *rows = NULL;
	json_t *req =
	    json_pack("{s:s, s:[s], s:b}", "op", "jobs", "ids", id, "all", 1);
	int rc = -1;

	rows_add_fields(fields, "job_id array_job_id display_id user state "
	                        "exit_code alloc_cpus alloc_mem_mib elapsed "
	                        "cpu_seconds peak_mem_mib held_gpu_seconds "
	                        "gpu_util gpu_mem_mib gpu_mem_total_mib");
	if (!cluster)
		json_decref(req);
	else
		rc = rows_read(client, req, fields, &rows, NULL, err);
	if (rc == 0 && !json_array_size(rows))
		rc = err_set(err, ENOENT, "Job not found.");
	if (rc == 0) {
		cluster[text_clean(cluster, strlen(cluster))] = '\0';
		answer_clean(rows);
		put_job(json_array_get(rows, 0), cluster);
	}
	json_decref(rows);
	json_decref(fields);
	free(cluster);
	client_close(client);
	return rc;
}

int seff_main(int argc, char **argv)
{
	static const struct opt opts[] = { OPT_END };
	static const struct command_line line = {
		.name = "seff",
		.usage = "JOB",
		.opts = opts,
		.usage_status = 1,
	};
	int first = command_parse(&line, NULL, argc, argv);
	struct err err;

	json_object_seed(1); /* a fixed seed is safe: the keys are our own */
	if (first + 1 != argc) {
		fprintf(stderr, "Usage: seff JOB\n");
		return EXIT_FAILURE;
	}
	if (show(argv[first], &err) == 0)
		return EXIT_SUCCESS;
	if (words_is_unreachable(&err))
		command_error("%s", words_of_job(&err));
	else
		fprintf(stderr, "%s\n",
		        err.code == ENOENT ? "Job not found." : err.text);
	return EXIT_FAILURE;
}

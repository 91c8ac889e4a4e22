/*
 * sprio.c - the factors that order pending jobs
 *
 * The points of aisched's policy are printed in the columns of similar factors
 * of Slurm: SITE is the priority from class, --priority and --nice; AGE comes
 * from the time the job has waited, FAIRSHARE from its user's use, JOBSIZE from
 * what it requests.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "libcommon/jobid.h"
#include "libcommon/mem.h"
#include "slurm/command.h"
#include "slurm/format.h"
#include "slurm/rows.h"
#include "slurm/select.h"
#include "slurm/sort.h"
#include "slurm/words.h"

/* Print points as a whole number, as Slurm does. */
VALUE(v_points)
{
	UNUSED;
	buf_i64(out, llround(row_real(row, field->needs)));
}

VALUE(v_number)
{
	int64_t n = row_int(row, field->needs);

	UNUSED;
	buf_i64(out, n == ROW_NONE ? 0 : n);
}

VALUE(v_id)
{
	UNUSED;
	buf_puts(out, row_text(row, "display_id"));
}

/* clang-format off */
static const struct slurm_field fields[] = {
	{ 'A', "Age", "AGE", "age", v_points, NULL, 0, 0 },
	{ 'B', "Assoc", "ASSOC", "", v_none, "0", 0, 0 },
	{ 'c', "Cluster", "CLUSTER", "", v_none, "", 0, 0 },
	{ 'F', "FairShare", "FAIRSHARE", "fair_share", v_points, NULL, 0, 0 },
	{ 'i', "JobID", "JOBID", "job_id", v_id, NULL, 0, 0 },
	{ 'J', "JobSize", "JOBSIZE", "size", v_points, NULL, 0, 0 },
	{ 'N', "Nice", "NICE", "nice", v_number, NULL, 0, 0 },
	{ 'P', "Part", "PARTITION", "", v_none, "0", 0, 0 },
	{ 'Q', "QOSPart", "QOS", "", v_none, "0", 0, 0 },
	{ 'r', "Partition", "PARTITION", "queue", v_text, NULL, 0, 0 },
	{ 'S', "Site", "SITE", "own", v_points, NULL, 0, 0 },
	{ 'T', "TRES", "TRES", "", v_none, "", 0, 0 },
	{ 'u', "User", "USER", "user", v_text, NULL, 0, 0 },
	{ 'Y', "Priority", "PRIORITY", "total", v_points, NULL, 0, 0 },
	{ 0, NULL, NULL, NULL, NULL, NULL, 0, 0 },
};
/* clang-format on */

#define USUAL "%.15i %9r %.10Y %.10S %.10A %.10F %.10J"
#define USERS "%.15i %9r %.8u %.10Y %.10S %.10A %.10F %.10J"
#define LONG                                                              \
	"%.15i %9r %.8u %.10Y %.10S %.10A %.10B %.10F %.10J %.10P %.10Q " \
	"%.11N %.20T"

struct sprio {
	struct select by; /* first, as SELECT_AT() requires */
	struct format_wish wish;
	const char *sort;
	json_t *clusters;
	bool no_header, is_long;
	bool wants_jobs, named; /* -j was given, with ids */
};

static int set_ids(void *ctx, const struct opt *opt, const char *value,
                   struct err *err)
{
	struct sprio *s = ctx;
	const json_t *item;
	size_t i;

	s->wants_jobs = true;
	s->named = value != NULL;
	if (command_add_items(ctx, opt, value ? value : "", err) < 0)
		return -1;
	json_array_foreach(s->by.ids, i, item) {
		struct jobid id;

		if (jobid_parse(&id, json_string_value(item), NULL) < 0)
			return err_set(err, EINVAL, "Invalid job id: %s",
			               json_string_value(item));
		idset_free(&id.tasks);
	}
	return 0;
}

static int refuse(void *ctx, const struct opt *opt, const char *value,
                  struct err *err)
{
	(void)ctx, (void)value;
	return err_set(err, EOPNOTSUPP,
	               "--%s is not supported: the weights are in "
	               "aischedd.conf",
	               opt->name);
}

#define AT(member) .offset = offsetof(struct sprio, member)
#define IGNORED(letter, name)                                   \
	{                                                       \
		letter, name, NULL, NULL, .set = command_ignore \
	}

/* clang-format off */
static const struct opt opts[] = {
	{ 'M', "clusters", "CLUSTER,...", "this cluster's own name, or all", command_add_items, AT(clusters) },
	IGNORED(0, "federation"),
	{ 'o', "format", "FORMAT", "columns by letters: \"%.15i %Y\"", format_set_letters, AT(wish) },
	{ 'j', "jobs", "JOB,...", "these jobs", set_ids, SELECT_AT(ids), .optional = true },
	IGNORED(0, "local"),
	{ 'l', "long", NULL, "more columns", opt_set_true, AT(is_long) },
	{ 'h', "noheader", NULL, "print no header line", opt_set_true, AT(no_header) },
	{ 'n', "norm", NULL, NULL, .set = refuse },
	{ 'p', "partition", "QUEUE,...", "jobs of these queues", command_add_items, SELECT_AT(queues) },
	IGNORED(0, "sibling"),
	{ 'S', "sort", "[-]LETTER,...", "order, by letters of --format", opt_set_text, AT(sort) },
	{ 'u', "user", "USER,...", "jobs of these users", .set = select_add_users },
	IGNORED('v', "verbose"),
	{ 'w', "weights", NULL, NULL, .set = refuse },
	OPT_END
};
/* clang-format on */

static const struct command_line line = {
	.name = "sprio",
	.usage = "[OPTION]...",
	.opts = opts,
	.env = "SPRIO_",
	.usage_status = 1,
};

/* Returns the rows with their points. As in Slurm, jobs without points, such as
 * held ones, are left out. Takes rows. */
static json_t *with_points(json_t *rows)
{
	json_t *ret = json_array(), *row, *score;
	size_t i;

	json_array_foreach(rows, i, row) {
		score = json_object_get(row, "score");
		if (!json_is_object(score))
			continue;
		json_object_set(row, "own", json_object_get(score, "priority"));
		json_object_update_missing(row, score);
		json_array_append(ret, row);
	}
	json_decref(rows);
	return ret;
}

static void print_rows(const struct sprio *s, const json_t *rows)
{
	const char *usual = s->is_long ? LONG : s->by.users ? USERS : USUAL;
	const struct style style = { 0 };
	const char *order = s->sort ? s->sort : "i";
	const json_t **row = sort_rows(fields, order, 'i', rows);
	struct slurm_format format;

	format_letters(&format, fields, "job",
	               s->wish.letters ? s->wish.letters : usual);
	if (!s->no_header)
		format_put_header(&format, stdout);
	for (size_t i = 0; row[i]; i++)
		format_put_row(&format, row[i], &style, stdout);
	format_free(&format);
	free(row);
}

static int run(struct sprio *s, struct err *err)
{
	struct client *client = command_connect(err);
	json_t *needs = json_array(), *rows = NULL;
	size_t missing;
	int rc = client ? command_check_clusters(client, s->clusters, err) : -1;

	rows_add_fields(needs, "job_id display_id queue user nice score");
	if (rc == 0)
		rc = select_read(&s->by, client, needs, &rows, &missing, err);
	json_decref(needs);
	client_close(client);
	if (rc < 0)
		return -1;
	rows = with_points(rows);
	if (s->named && !json_array_size(rows))
		puts("Unable to find jobs matching user/id(s) specified");
	else
		print_rows(s, rows);
	json_decref(rows);
	return 0;
}

int sprio_main(int argc, char **argv)
{
	struct sprio s = { 0 };
	int first = command_parse(&line, &s, argc, argv), rc = EXIT_FAILURE;
	struct err err;

	/* As for -s of squeue, getopt() does not take the next argument. */
	if (first < argc && s.wants_jobs && !s.named)
		command_apply(&line, command_find(&line, "jobs"), &s,
		              argv[first++]);
	if (first < argc)
		command_error("Unrecognized option: %s", argv[first]);
	else if (run(&s, &err) < 0)
		fprintf(stderr, "slurm_load_jobs error: %s\n",
		        words_of_job(&err));
	else
		rc = EXIT_SUCCESS;
	select_free(&s.by);
	json_decref(s.clusters);
	return rc;
}

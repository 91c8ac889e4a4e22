/*
 * sreport.c - the resources that users and accounts have used
 *
 * The sums come from the daemon's listing `report`, which counts by hours. The
 * account of a job is only a text in aisched, so accounts form no tree: all of
 * them are children of root, whose row is the sum. The capacity of the cluster
 * is not recorded, so there is no utilization and no percentage.
 */
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "libcommon/mem.h"
#include "libcommon/parse.h"
#include "slurm/acct/columns.h"
#include "slurm/acct/when.h"
#include "slurm/command.h"
#include "slurm/job.h"
#include "slurm/rows.h"
#include "slurm/words.h"

enum { HOUR = 3600, TOP = 10 };

VALUE(v_proper)
{
	const char *user = row_text(row, "user");
	const struct passwd *pw = *user ? getpwnam(user) : NULL;

	UNUSED;
	if (pw && pw->pw_gecos)
		buf_add(out, pw->pw_gecos, strcspn(pw->pw_gecos, ","));
}

VALUE(v_used)
{
	UNUSED;
	buf_printf(out, "%.0f", row_real(row, "used"));
}

/* clang-format off */
static const struct slurm_field fields[] = {
	{ 0, "Accounts", "Account", "account", v_text, "(null)", 1, 15 },
	{ 0, "Cluster", "Cluster", "cluster", v_text, NULL, 1, 9 },
	{ 0, "Energy", "Energy", "", v_none, "0", 1, 8 },
	{ 0, "Login", "Login", "user", v_text, NULL, 1, 9 },
	{ 0, "Proper", "Proper Name", "user", v_proper, NULL, 1, 15 },
	{ 0, "TresName", "TRES Name", "tres", v_text, NULL, 1, 14 },
	{ 0, "Used", "Used", "used", v_used, NULL, 1, 8 },
	{ 0, NULL, NULL, NULL, NULL, NULL, 0, 0 },
};
/* clang-format on */

struct sreport {
	struct acct_columns columns;
	const char *time_format, *tres, *format;
	json_t *accounts, *users, *clusters;
	int64_t since, until; /* rounded to whole hours */
	int64_t top;
	double unit; /* seconds in one unit of -t */
	const char *unit_name;
};

/* --- units ---------------------------------------------------------------- */

static const struct {
	const char *name, *title;
	double seconds;
} units[] = {
	{ "Seconds", "Seconds", 1 },
	{ "Minutes", "Minutes", 60 },
	{ "Hours", "Hours", 3600 },
};

static int set_unit(struct sreport *s)
{
	const char *name = s->time_format ? s->time_format : "Minutes";

	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		if (!*name ||
		    strncasecmp(units[i].name, name, strlen(name)) != 0)
			continue;
		s->unit = units[i].seconds;
		s->unit_name = units[i].title;
		return 0;
	}
	if (!strncasecmp(name, "per", 3) || strcasestr(name, "per"))
		command_error("time format %s is not supported: what the "
		              "cluster could have given is not recorded",
		              name);
	else
		fprintf(stderr, "unknown time format %s\n", name);
	return -1;
}

/* The columns of `report`, with factors that turn them into seconds of a CPU, a
 * GPU or a MiB. */
static const struct tres {
	const char *name, *key;
	double factor;
} all_tres[] = {
	{ "cpu", "cpu_hours", 3600 },
	{ "mem", "mem_gib_hours", 3600 * 1024 },
	{ "billing", "cpu_hours", 3600 },
	{ "gres/gpu", "gpu_hours", 3600 },
};

static const struct tres *find_tres(const char *name, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(all_tres); i++)
		if (strlen(all_tres[i].name) == len &&
		    !strncasecmp(all_tres[i].name, name, len))
			return &all_tres[i];
	return NULL;
}

/* --- rows ----------------------------------------------------------------- */

/* Append the rows of a user or account: one for each resource of -T. */
static void add_row(const struct sreport *s, const json_t *row,
                    const char *account, const char *cluster, json_t *to)
{
	const char *list = s->tres ? s->tres : "cpu";

	for (const char *at = list; *at; at += *at == ',') {
		size_t len = strcspn(at, ",");
		const struct tres *tres = find_tres(at, len);

		at += len;
		if (!tres)
			continue;
		json_array_append_new(
		    to, json_pack(
			    "{s:s, s:s, s:s, s:s, s:f}", "cluster", cluster,
			    "account", account, "user", row_text(row, "user"),
			    "tres", tres->name, "used",
			    row_real(row, tres->key) * tres->factor / s->unit));
	}
}

static int by_name(const void *a, const void *b)
{
	static const char *const keys[] = { "account", "user" };
	const json_t *x = *(json_t *const *)a, *y = *(json_t *const *)b;
	int order = 0;

	for (size_t i = 0; !order && i < ARRAY_SIZE(keys); i++)
		order = strcmp(row_text(x, keys[i]), row_text(y, keys[i]));
	return order;
}

static int by_use(const void *a, const void *b)
{
	double x = row_real(*(json_t *const *)a, "cpu_hours");
	double y = row_real(*(json_t *const *)b, "cpu_hours");

	return x != y ? (x < y) - (x > y) : by_name(a, b);
}

static json_t *sum_up(const json_t *rows, const char *account)
{
	json_t *sum = json_object(), *row;
	size_t i, k;

	for (k = 0; k < ARRAY_SIZE(all_tres); k++) {
		const char *key = all_tres[k].key;
		double n = 0;

		json_array_foreach(rows, i, row)
			if (!account ||
			    !strcmp(row_text(row, "account"), account))
				n += row_real(row, key);
		json_object_set_new(sum, key, json_real(n));
	}
	return sum;
}

/* Append root, then each account, followed by its users. */
static void tell_accounts(const struct sreport *s, const json_t *rows,
                          const char *cluster, json_t *to)
{
	const char *last = NULL;
	json_t *sum = sum_up(rows, NULL), *row;
	size_t i;

	if (json_array_size(rows))
		add_row(s, sum, "root", cluster, to);
	json_decref(sum);
	json_array_foreach(rows, i, row) {
		const char *account = row_text(row, "account");

		if (!last || strcmp(last, account) != 0) {
			sum = sum_up(rows, account);
			add_row(s, sum, account, cluster, to);
			json_decref(sum);
		}
		last = account;
		add_row(s, row, account, cluster, to);
	}
}

static void tell_users(const struct sreport *s, const json_t *rows,
                       const char *cluster, json_t *to)
{
	json_t *row;
	size_t i;

	json_array_foreach(rows, i, row)
		if (!s->top || i < (size_t)s->top)
			add_row(s, row, row_text(row, "account"), cluster, to);
}

/* --- the reports ---------------------------------------------------------- */

typedef void tell_fn(const struct sreport *s, const json_t *rows,
                     const char *cluster, json_t *to);

static const struct known_report {
	const char *kind, *name; /* both may be shortened */
	const char *title, *format;
	tell_fn *tell;
	int (*order)(const void *a, const void *b);
	int64_t top;
} reports[] = {
	{ "cluster", "AccountUtilizationByUser",
	  "Cluster/Account/User Utilization", "Cluster,Accounts,Login,Proper",
	  tell_accounts, by_name, 0 },
	{ "cluster", "UserUtilizationByAccount",
	  "Cluster/User/Account Utilization", "Cluster,Login,Proper,Accounts",
	  tell_users, by_use, 0 },
	{ "user", "TopUsage", NULL, "Cluster,Login,Proper,Accounts", tell_users,
	  by_use, TOP },
};

/* Slurm's reports for which aisched does not record the data. */
static const char *const refused[][2] = {
	{ "cluster", "Utilization" },
	{ "cluster", "UserUtilizationByWckey" },
	{ "cluster", "WCKeyUtilizationByUser" },
	{ "job", "SizesByAccount" },
	{ "job", "SizesByAccountAndWcKey" },
	{ "job", "SizesByWckey" },
	{ "reservation", "Utilization" },
};

static bool begins(const char *whole, const char *text)
{
	return *text && !strncasecmp(whole, text, strlen(text));
}

static const struct known_report *find_report(const char *kind,
                                              const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(reports); i++)
		if (begins(reports[i].kind, kind) &&
		    begins(reports[i].name, name))
			return &reports[i];
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++)
		if (begins(refused[i][0], kind) &&
		    begins(refused[i][1], name)) {
			command_error("%s %s is not supported: what it tells "
			              "is not recorded",
			              refused[i][0], refused[i][1]);
			return NULL;
		}
	if (begins("cluster", kind) || begins("user", kind))
		fprintf(
		    stderr, "Not valid report %s\nValid %s reports are, %s\n",
		    name, begins("user", kind) ? "user" : "cluster",
		    begins("user", kind) ? "\"Top\""
					 : "\"AccountUtilizationByUser\" and "
					   "\"UserUtilizationByAccount\"");
	else
		fprintf(stderr, "invalid keyword: %s\n", kind);
	return NULL;
}

/* --- conditions ----------------------------------------------------------- */

typedef int condition_fn(struct sreport *s, const char *value);

static int add_names(json_t **list, const char *text)
{
	struct opt opt = { .offset = 0 };

	return command_add_items(list, &opt, text, NULL);
}

static int set_accounts(struct sreport *s, const char *value)
{
	return add_names(&s->accounts, value);
}

static int set_clusters(struct sreport *s, const char *value)
{
	return add_names(&s->clusters, value);
}

static int set_users(struct sreport *s, const char *value)
{
	return add_names(&s->users, value);
}

static int set_when(const char *text, int64_t *ret)
{
	struct err err;

	if (when_parse(text, time(NULL), ret, &err) == 0)
		return 0;
	fprintf(stderr, "Invalid time specification (pos=0): %s\n", text);
	return -1;
}

static int set_end(struct sreport *s, const char *value)
{
	return set_when(value, &s->until);
}

static int set_start(struct sreport *s, const char *value)
{
	return set_when(value, &s->since);
}

static int set_format(struct sreport *s, const char *value)
{
	s->format = value;
	return 0;
}

static int set_top(struct sreport *s, const char *value)
{
	return parse_int(value, 1, 100000, &s->top, NULL);
}

static int take_word(struct sreport *s, const char *word)
{
	static const struct {
		const char *name; /* may be shortened */
		condition_fn *set;
	} known[] = {
		{ "accounts", set_accounts }, { "clusters", set_clusters },
		{ "end", set_end },           { "format", set_format },
		{ "start", set_start },       { "topcount", set_top },
		{ "users", set_users },
	};
	const char *value = strchr(word, '=');
	char *name = xstrndup(word, strcspn(word, "="));
	condition_fn *set = NULL;

	int rc = -1;

	for (size_t i = 0; value && i < ARRAY_SIZE(known) && !set; i++)
		if (begins(known[i].name, name))
			set = known[i].set;
	if (!set) {
		fprintf(stderr,
		        " Unknown condition: %s\n"
		        "Use keyword set to modify value\n",
		        word);
	} else {
		rc = set(s, value + 1);
	}
	free(name);
	return rc;
}

/* Round the period to whole hours, at least one. */
static void round_times(struct sreport *s)
{
	s->since -= s->since % HOUR;
	s->until -= s->until % HOUR;
	if (s->until - s->since < HOUR)
		s->until = s->since + HOUR;
}

/* Make the columns that Format= names or, without it, those of the report.
 * Names may be shortened: "cl,used%12". */
static int make_columns(struct sreport *s, const struct known_report *r)
{
	char *usual = xasprintf("%s%s", r->format,
	                        s->tres ? ",TresName,Used" : ",Used,Energy");
	const char *list = s->format ? s->format : usual;
	struct buf full = { 0 };
	int rc = 0;

	for (const char *at = list; *at && rc == 0; at += *at == ',') {
		size_t len = strcspn(at, ","), n = strcspn(at, ",%");
		const struct slurm_field *f = fields;

		while (f->name && (!n || strncasecmp(f->name, at, n) != 0))
			f++;
		if (!f->name) {
			fprintf(stderr, " Unknown field '%.*s'\n", (int)n, at);
			rc = -1;
		} else {
			buf_printf(&full, "%s%s%.*s", full.len ? "," : "",
			           f->name, (int)(len - n), at + n);
		}
		at += len;
	}
	if (rc == 0)
		rc = columns_make(&s->columns, full.data ? full.data : "");
	buf_free(&full);
	free(usual);
	return rc;
}

/* --- the command ---------------------------------------------------------- */

static void put_line(void)
{
	for (int i = 0; i < 80; i++)
		putchar('-');
	putchar('\n');
}

static void put_title(const struct sreport *s, const struct known_report *r)
{
	struct buf from = { 0 }, to = { 0 };

	put_moment(s->since, &from);
	put_moment(s->until - 1, &to);
	put_line();
	if (r->title)
		printf("%s", r->title);
	else
		printf("Top %lld Users", (long long)s->top);
	printf(" %s - %s (%lld secs)\nUsage reported in %s %s\n", from.data,
	       to.data, (long long)(s->until - s->since),
	       s->tres ? "TRES" : "CPU", s->unit_name);
	put_line();
	buf_free(&from);
	buf_free(&to);
}

static void print(const struct sreport *s, const struct known_report *r,
                  json_t *rows, const char *cluster)
{
	size_t n = json_array_size(rows), i;
	const json_t **row = xcalloc(n + 1, sizeof(*row));
	json_t *sorted = json_array(), *told = json_array(), *item;

	for (i = 0; i < n; i++)
		row[i] = json_array_get(rows, i);
	qsort(row, n, sizeof(const json_t *), r->order);
	for (i = 0; i < n; i++)
		json_array_append(sorted, (json_t *)(uintptr_t)row[i]);
	r->tell(s, sorted, cluster, told);
	if (!s->columns.no_header)
		put_title(s, r);
	columns_header(&s->columns);
	json_array_foreach(told, i, item)
		columns_row(&s->columns, item);
	json_decref(sorted);
	json_decref(told);
	free(row);
}

static json_t *make_request(const struct sreport *s)
{
	json_t *req =
	    json_pack("{s:s, s:[s, s], s:I, s:I}", "op", "report", "by", "user",
	              "account", "since", (json_int_t)s->since, "until",
	              (json_int_t)s->until);

	if (s->accounts)
		json_object_set(req, "accounts", s->accounts);
	if (s->users)
		json_object_set(req, "users", s->users);
	return req;
}

static int run(const struct sreport *s, const struct known_report *r,
               struct err *err)
{
	struct client *client = command_connect(err);
	char *cluster = client ? command_cluster(client, err) : NULL;
	json_t *rows = NULL;
	int rc =
	    cluster ? command_check_clusters(client, s->clusters, err) : -1;

	if (rc == 0)
		rc = rows_read(client, make_request(s), NULL, &rows, NULL, err);
	if (rc == 0)
		print(s, r, rows, cluster);
	json_decref(rows);
	free(cluster);
	client_close(client);
	return rc;
}

#define AT(member) .offset = offsetof(struct sreport, member)
#define IGNORED(letter, name)                                   \
	{                                                       \
		letter, name, NULL, NULL, .set = command_ignore \
	}

/* clang-format off */
static const struct opt opts[] = {
	IGNORED('a', "all_clusters"),
	{ 'M', "cluster", "CLUSTER,...", "this cluster's own name, or all", command_add_items, AT(clusters) },
	IGNORED(0, "federation"), IGNORED(0, "local"),
	{ 'n', "noheader", NULL, "print no header", opt_set_true, AT(columns.no_header) },
	{ 'p', "parsable", NULL, "columns end with |", opt_set_true, AT(columns.parsable) },
	{ 'P', "parsable2", NULL, "| between columns", opt_set_true, AT(columns.parsable2) },
	IGNORED('Q', "quiet"),
	{ 't', NULL, "UNIT", "Seconds, Minutes or Hours", opt_set_text, AT(time_format) },
	{ 'T', "tres", "TRES,...", "cpu, mem, billing, gres/gpu", opt_set_text, AT(tres) },
	IGNORED('v', "verbose"),
	OPT_END
};
/* clang-format on */

static const struct command_line line = {
	.name = "sreport",
	.usage = "[OPTION]... KIND REPORT [NAME=VALUE]...",
	.opts = opts,
	.usage_status = 1,
};

static bool knows_tres(const char *list)
{
	for (const char *s = list; s && *s; s += *s == ',') {
		size_t len = strcspn(s, ",");

		if (!find_tres(s, len))
			return false;
		s += len;
	}
	return true;
}

static int make(struct sreport *s, int argc, char **argv)
{
	const struct known_report *r;
	struct err err;

	if (argc < 2) {
		if (argc)
			fprintf(stderr, "too few arguments for keyword:%s\n",
			        argv[0]);
		else
			command_error("give a report: there is no prompt");
		return -1;
	}
	r = find_report(argv[0], argv[1]);
	if (!r || set_unit(s) < 0)
		return -1;
	if (!knows_tres(s->tres)) {
		fprintf(stderr, "sreport: fatal: No valid TRES given\n");
		return -1;
	}
	s->top = r->top;
	for (int i = 2; i < argc; i++)
		if (strcasecmp(argv[i], "where") != 0 &&
		    take_word(s, argv[i]) < 0)
			return -1;
	round_times(s);
	if (make_columns(s, r) < 0)
		return -1;
	if (run(s, r, &err) == 0)
		return 0;
	command_error("%s", words_of_job(&err));
	return -1;
}

int sreport_main(int argc, char **argv)
{
	struct sreport s = { .columns = { .table = fields, .of = 1 } };
	int first = command_parse(&line, &s, argc, argv), rc;

	s.until = when_midnight(time(NULL));
	s.since = when_midnight(s.until - 1);
	rc = make(&s, argc - first, argv + first);
	columns_free(&s.columns);
	json_decref(s.accounts);
	json_decref(s.users);
	json_decref(s.clusters);
	return rc < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

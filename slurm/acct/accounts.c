/*
 * accounts.c - sacctmgr and sshare, which only list
 *
 * Queues are printed as Slurm's accounts with shares. The account of a job is
 * only a text in aisched, to which no user belongs; so users have no default
 * account, and there are no associations.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "libcommon/mem.h"
#include "slurm/acct/columns.h"
#include "slurm/command.h"
#include "slurm/rows.h"
#include "slurm/words.h"

enum { OF_USER = 1, OF_ACCOUNT = 2, OF_QOS = 4, OF_CLUSTER = 8, OF_SHARE = 16 };

VALUE(v_part)
{
	UNUSED;
	if (json_is_number(json_object_get(row, field->needs)))
		buf_printf(out, "%f", row_real(row, field->needs));
}

VALUE(v_seconds)
{
	UNUSED;
	buf_printf(out, "%.0f", row_real(row, field->needs) * 3600);
}

VALUE(v_shares)
{
	const json_t *user = json_object_get(row, "user");

	UNUSED;
	buf_puts(out, json_is_string(user) ? "parent" : "1");
}

/* clang-format off */
static const struct slurm_field fields[] = {
	{ 0, "Account", "Account", "account", v_text, NULL, OF_USER | OF_ACCOUNT | OF_SHARE, 20 },
	{ 0, "AdminLevel", "Admin", "", v_none, "None", OF_USER, 9 },
	{ 0, "Cluster", "Cluster", "cluster", v_text, NULL, OF_USER | OF_CLUSTER | OF_SHARE, 10 },
	{ 0, "ControlHost", "ControlHost", "", v_none, "127.0.0.1", OF_CLUSTER, 15 },
	{ 0, "ControlPort", "ControlPort", "", v_none, "0", OF_CLUSTER, 12 },
	{ 0, "DefaultAccount", "Def Acct", "", v_none, NULL, OF_USER, 10 },
	{ 0, "Description", "Descr", "account", v_text, NULL, OF_ACCOUNT, 20 },
	{ 0, "EffectvUsage", "EffectvUsage", "share", v_part, NULL, OF_SHARE, 13 },
	{ 0, "FairShare", "FairShare", "factor", v_part, NULL, OF_SHARE, 10 },
	{ 0, "Name", "Name", "name", v_text, NULL, OF_QOS, 10 },
	{ 0, "NormShares", "NormShares", "", v_none, NULL, OF_SHARE, 11 },
	{ 0, "Organization", "Org", "account", v_text, NULL, OF_ACCOUNT, 20 },
	{ 0, "Partition", "Partition", "", v_none, NULL, OF_USER | OF_SHARE, 12 },
	{ 0, "Priority", "Priority", "", v_none, "0", OF_QOS, 10 },
	{ 0, "QOS", "QOS", "", v_none, "normal", OF_USER | OF_CLUSTER, 20 },
	{ 0, "RawShares", "RawShares", "", v_shares, NULL, OF_SHARE, 10 },
	{ 0, "RawUsage", "RawUsage", "cpu_hours", v_seconds, NULL, OF_SHARE, 11 },
	{ 0, "User", "User", "user", v_text, NULL, OF_USER | OF_SHARE, 10 },
	{ 0, NULL, NULL, NULL, NULL, NULL, 0, 0 },
};
/* clang-format on */

struct accounts {
	struct acct_columns columns;
	const char *format;
	json_t *users, *queues, *clusters;
	bool mine, everyone; /* options of sshare */
};

/* --- rows ----------------------------------------------------------------- */

/* Add to a row of the daemon's listing `shares` the keys that the fields
 * use. */
static json_t *usual(json_t *row, const char *cluster)
{
	json_object_set_new(row, "cluster", json_string(cluster));
	json_object_set(row, "account", json_object_get(row, "queue"));
	return row;
}

static bool is_among(const json_t *list, const char *text)
{
	const json_t *item;
	size_t i;

	json_array_foreach(list, i, item)
		if (!strcasecmp(json_string_value(item), text))
			return true;
	return !json_array_size(list);
}

static json_t *read_shares(struct client *client, struct err *err)
{
	json_t *names = json_array(), *rows = NULL;
	json_t *req = json_pack("{s:s}", "op", "shares");

	rows_add_fields(names, "queue user share factor cpu_hours");
	if (rows_read(client, req, names, &rows, NULL, err) < 0)
		rows = NULL;
	json_decref(names);
	return rows;
}

static void print_shares(const struct accounts *a, const json_t *rows,
                         const char *cluster)
{
	json_t *row;
	size_t i;

	columns_header(&a->columns);
	json_array_foreach(rows, i, row) {
		const char *user = row_text(row, "user");

		if (!is_among(a->queues, row_text(row, "queue")) ||
		    (*user && !a->everyone && !a->users) ||
		    (a->users && !is_among(a->users, user)))
			continue;
		columns_row(&a->columns, usual(row, cluster));
	}
}

/* Print each user once: those in the listing, and those named on the command
 * line. */
static void print_users(const struct accounts *a, const json_t *rows,
                        const char *cluster)
{
	json_t *seen = json_object(), *row, *all = json_array();
	size_t i;

	json_array_foreach(rows, i, row)
		if (*row_text(row, "user"))
			json_array_append(all, json_object_get(row, "user"));
	json_array_extend(all, a->users);
	columns_header(&a->columns);
	json_array_foreach(all, i, row) {
		const char *name = json_string_value(row);
		json_t *one;

		if (!is_among(a->users, name) || json_object_get(seen, name))
			continue;
		json_object_set_new(seen, name, json_true());
		one = json_pack("{s:s, s:s}", "user", name, "cluster", cluster);
		columns_row(&a->columns, one);
		json_decref(one);
	}
	json_decref(seen);
	json_decref(all);
}

static void print_accounts(const struct accounts *a, const json_t *rows,
                           const char *cluster)
{
	json_t *row;
	size_t i;

	columns_header(&a->columns);
	json_array_foreach(rows, i, row)
		if (!*row_text(row, "user") &&
		    is_among(a->queues, row_text(row, "queue")))
			columns_row(&a->columns, usual(row, cluster));
}

static void print_one(const struct accounts *a, const json_t *rows,
                      const char *cluster)
{
	json_t *row =
	    json_pack("{s:s, s:s}", "cluster", cluster, "name", "normal");

	(void)rows;
	columns_header(&a->columns);
	columns_row(&a->columns, row);
	json_decref(row);
}

static void print_none(const struct accounts *a, const json_t *rows,
                       const char *cluster)
{
	(void)rows, (void)cluster;
	columns_header(&a->columns);
}

typedef void print_fn(const struct accounts *a, const json_t *rows,
                      const char *cluster);

static int run(const struct accounts *a, print_fn *print)
{
	struct err err;
	struct client *client = command_connect(&err);
	char *cluster = client ? command_cluster(client, &err) : NULL;
	json_t *rows = NULL;
	int rc = EXIT_FAILURE;

	if (cluster && command_check_clusters(client, a->clusters, &err) == 0)
		rows = read_shares(client, &err);
	if (rows) {
		print(a, rows, cluster);
		rc = EXIT_SUCCESS;
	} else {
		command_error("%s", words_of_job(&err));
	}
	json_decref(rows);
	free(cluster);
	client_close(client);
	return rc;
}

static void accounts_free(struct accounts *a)
{
	columns_free(&a->columns);
	json_decref(a->users);
	json_decref(a->queues);
	json_decref(a->clusters);
}

#define AT(member) .offset = offsetof(struct accounts, member)
#define IGNORED(letter, name)                                   \
	{                                                       \
		letter, name, NULL, NULL, .set = command_ignore \
	}

/* --- sshare --------------------------------------------------------------- */

/* clang-format off */
static const struct opt share_opts[] = {
	{ 'A', "accounts", "QUEUE,...", "these queues", command_add_items, AT(queues) },
	{ 'a', "all", NULL, "their users, too", opt_set_true, AT(everyone) },
	{ 'M', "clusters", "CLUSTER,...", "this cluster's own name, or all", command_add_items, AT(clusters) },
	{ 'o', "format", "NAME[%WIDTH],...", "columns", opt_set_text, AT(format) },
	IGNORED('l', "long"), IGNORED('m', "partition"),
	{ 'n', "noheader", NULL, "print no header line", opt_set_true, AT(columns.no_header) },
	{ 'p', "parsable", NULL, "columns end with |", opt_set_true, AT(columns.parsable) },
	{ 'P', "parsable2", NULL, "| between columns", opt_set_true, AT(columns.parsable2) },
	{ 'u', "users", "USER,...", "these users", command_add_items, AT(users) },
	{ 'U', "Users", NULL, "associations of users: there are none", opt_set_true, AT(mine) },
	IGNORED('v', "verbose"),
	OPT_END
};
/* clang-format on */

int sshare_main(int argc, char **argv)
{
	static const struct command_line line = {
		.name = "sshare",
		.usage = "[OPTION]...",
		.opts = share_opts,
		.usage_status = 1,
	};
	struct accounts a = { .columns = { .table = fields, .of = OF_SHARE } };
	int rc = EXIT_FAILURE;

	json_object_seed(1); /* a fixed seed is safe: the keys are our own */
	command_parse(&line, &a, argc, argv);
	if (columns_make(&a.columns,
	                 a.format ? a.format
	                          : "Account,User,RawShares,NormShares,"
	                            "RawUsage,EffectvUsage,FairShare") == 0)
		rc = run(&a, a.mine ? print_none : print_shares);
	accounts_free(&a);
	return rc;
}

/* --- sacctmgr ------------------------------------------------------------- */

/* clang-format off */
static const struct opt manager_opts[] = {
	IGNORED('i', "immediate"), IGNORED('s', "associations"),
	{ 'n', "noheader", NULL, "print no header line", opt_set_true, AT(columns.no_header) },
	{ 'p', "parsable", NULL, "columns end with |", opt_set_true, AT(columns.parsable) },
	{ 'P', "parsable2", NULL, "| between columns", opt_set_true, AT(columns.parsable2) },
	IGNORED('Q', "quiet"), IGNORED('r', "readonly"), IGNORED('v', "verbose"),
	OPT_END
};
/* clang-format on */

static const struct entity {
	const char *name; /* may be shortened */
	unsigned of;
	print_fn *print;
	const char *format;
} entities[] = {
	{ "accounts", OF_ACCOUNT, print_accounts,
	  "Account,Description,Organization" },
	{ "associations", OF_USER, print_none,
	  "Cluster,Account,User,Partition,QOS" },
	{ "clusters", OF_CLUSTER, print_one,
	  "Cluster,ControlHost,ControlPort,QOS" },
	{ "qos", OF_QOS, print_one, "Name,Priority" },
	{ "users", OF_USER, print_users, "User,DefaultAccount,AdminLevel" },
};

static const struct entity *find_entity(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(entities); i++)
		if (!strncasecmp(name, entities[i].name, strlen(name)))
			return &entities[i];
	return NULL;
}

static void add_names(json_t **list, const char *text)
{
	struct opt opt = { .offset = 0 };

	command_add_items(list, &opt, text, NULL);
}

/* Take a word of the command line: "where", "format=a,b", "user=x", or a
 * name. */
static void take_word(struct accounts *a, const struct entity *e,
                      const char *word)
{
	const char *value = strchr(word, '=');
	size_t len = value ? (size_t)(value - word) : 0;
	bool names_users = e->of == OF_USER;

	if (!strcasecmp(word, "where") || !strcasecmp(word, "withassoc"))
		return;
	if (len && !strncasecmp(word, "format", len))
		a->format = value + 1;
	else if (len && !strncasecmp(word, "users", len))
		add_names(&a->users, value + 1);
	else if (len && !strncasecmp(word, "accounts", len))
		add_names(&a->queues, value + 1);
	else if (len && (!strncasecmp(word, "names", len)))
		add_names(names_users ? &a->users : &a->queues, value + 1);
	else if (!len)
		add_names(names_users ? &a->users : &a->queues, word);
}

static int refuse(const char *what)
{
	command_error("%s: accounts are queues of aischedd.conf; their admin "
	              "changes that file, then `aictl reload`",
	              what);
	return EXIT_FAILURE;
}

int sacctmgr_main(int argc, char **argv)
{
	static const struct command_line line = {
		.name = "sacctmgr",
		.usage = "[OPTION]... list|show ENTITY [WORD]...",
		.opts = manager_opts,
		.usage_status = 1,
	};
	struct accounts a = { .columns = { .table = fields } };
	int first = command_parse(&line, &a, argc, argv), rc = EXIT_FAILURE;
	const char *verb = first < argc ? argv[first] : "";
	const struct entity *e =
	    first + 1 < argc ? find_entity(argv[first + 1]) : NULL;

	json_object_seed(1); /* a fixed seed is safe: the keys are our own */
	if (strcasecmp(verb, "list") != 0 && strcasecmp(verb, "show") != 0)
		return refuse(*verb ? verb : "no command");
	if (!e) {
		command_error("there is nothing called '%s' to %s: accounts, "
		              "associations, clusters, qos, users",
		              first + 1 < argc ? argv[first + 1] : "", verb);
		return EXIT_FAILURE;
	}
	for (int i = first + 2; i < argc; i++)
		take_word(&a, e, argv[i]);
	a.columns.of = e->of;
	if (columns_make(&a.columns, a.format ? a.format : e->format) == 0)
		rc = run(&a, e->print);
	accounts_free(&a);
	return rc;
}

/* sinfo.c - list partitions and nodes */
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "libcommon/hostlist.h"
#include "libcommon/mem.h"
#include "libcommon/parse.h"
#include "slurm/command.h"
#include "slurm/job.h"
#include "slurm/json/json.h"
#include "slurm/json/json_node.h"
#include "slurm/rows.h"
#include "slurm/sinfo.h"
#include "slurm/words.h"

#define USUAL       "%9P %.5a %.10l %.6D %.6t %N"
#define LONG        "%9P %.5a %.10l %.10s %.4r %.8h %.10g %.6D %.11T %N"
#define SUMMARY     "%9P %.5a %.10l %.16F %N"
#define REASONS     "%20E %9u %19H %N"
#define REASON_LONG "%20E %12U %19H %6t %N"
#define BY_NODE     "N %.6D %.9P %6t"
#define NODE_LONG   "N %.6D %.9P %.11T %4c %.8z %.6m %.8d %.6w %.8f %20E"

struct sinfo {
	json_t *partitions, *nodes, *states, *clusters; /* NULL: not given */
	struct format_wish wish;
	bool no_header, is_long, by_node, summary, reasons, dead, exact, json;
	bool reservations;
	int64_t every;
};

/* --- the command line ----------------------------------------------------- */

static int bad_state(const char *name, struct err *err)
{
	command_error("Bad state string: \"%s\"", name);
	return err_set(err, EINVAL,
	               "valid states: unknown,down,idle,allocated,mixed,future,"
	               "drain,drained,draining,reserved,completing,fail,maint");
}

static int set_states(void *ctx, const struct opt *opt, const char *value,
                      struct err *err)
{
	static const char *const known[] = {
		"all",     "alloc",   "allocated", "down",       "drain",
		"drained", "drng",    "draining",  "idle",       "mix",
		"mixed",   "resv",    "reserved",  "unk",        "unknown",
		"fail",    "failing", "comp",      "completing", "maint",
		"planned", "future",
	};
	struct sinfo *s = ctx;
	const json_t *item;
	size_t i;

	(void)opt;
	if (command_add_items(ctx, opt, value, err) < 0)
		return -1;
	json_array_foreach(s->states, i, item) {
		const char *name = json_string_value(item);
		bool good = false;

		for (size_t k = 0; k < ARRAY_SIZE(known); k++)
			good = good || !strcasecmp(known[k], name);
		if (!good)
			return bad_state(name, err);
	}
	return 0;
}

static int set_nodes(void *ctx, const struct opt *opt, const char *value,
                     struct err *err)
{
	struct sinfo *s = ctx;
	struct hostlist hosts;

	(void)opt;
	if (hostlist_parse(&hosts, value, err) < 0)
		return -1;
	if (!s->nodes)
		s->nodes = json_array();
	for (size_t i = 0; i < hosts.n; i++)
		json_array_append_new(s->nodes, json_string(hosts.name[i]));
	hostlist_free(&hosts);
	return 0;
}

static int set_every(void *ctx, const struct opt *opt, const char *value,
                     struct err *err)
{
	struct sinfo *s = ctx;

	(void)opt;
	if (parse_int(value, 1, 1000000, &s->every, NULL) < 0)
		return err_set(err, EINVAL,
		               "Error: invalid entry for --iterate=%s", value);
	return 0;
}

static int set_json(void *ctx, const struct opt *opt, const char *value,
                    struct err *err)
{
	struct sinfo *s = ctx;

	(void)opt, (void)value, (void)err;
	s->json = true;
	return 0;
}

#define AT(member) .offset = offsetof(struct sinfo, member)

/* clang-format off */
static const struct opt opts[] = {
	{ 'a', "all", NULL, NULL, .set = command_ignore },
	{ 'd', "dead", NULL, "nodes that are down", opt_set_true, AT(dead) },
	{ 'e', "exact", NULL, "do not group nodes of different sizes", opt_set_true, AT(exact) },
	{ 'o', "format", "FORMAT", "columns by letters: \"%P %D\"", format_set_letters, AT(wish) },
	{ 'O', "Format", "NAME[:[.]WIDTH],...", "columns by names", format_set_names, AT(wish) },
	{ 0, "hide", NULL, NULL, .set = command_ignore },
	{ 'i', "iterate", "SECONDS", "repeat at this interval", .set = set_every },
	{ 0, "json", "data_parser", "print JSON, in one shape", .set = set_json, .optional = true },
	{ 'R', "list-reasons", NULL, "why nodes are down or drained", opt_set_true, AT(reasons) },
	{ 0, "local", NULL, NULL, .set = command_ignore },
	{ 'l', "long", NULL, "more columns", opt_set_true, AT(is_long) },
	{ 'M', "clusters", "CLUSTER,...", "this cluster's own name, or all", command_add_items, AT(clusters) },
	{ 0, "cluster", "CLUSTER,...", NULL, command_add_items, AT(clusters) },
	{ 'N', "Node", NULL, "a line for each node", opt_set_true, AT(by_node) },
	{ 0, "noconvert", NULL, NULL, .set = command_ignore },
	{ 'h', "noheader", NULL, "print no header line", opt_set_true, AT(no_header) },
	{ 'n', "nodes", "NODES", "these nodes", .set = set_nodes },
	{ 'p', "partition", "QUEUE,...", "these queues", command_add_items, AT(partitions) },
	{ 'r', "responding", NULL, NULL, .set = command_ignore },
	{ 'T', "reservation", NULL, "reservations, in place of nodes", opt_set_true, AT(reservations) },
	{ 'S', "sort", "LETTERS", NULL, .set = command_ignore },
	{ 't', "states", "STATE,...", "nodes in these states", set_states, AT(states) },
	{ 's', "summarize", NULL, "a line for each queue", opt_set_true, AT(summary) },
	{ 'v', "verbose", NULL, NULL, .set = command_ignore },
	OPT_END
};
/* clang-format on */

static const struct command_line line = {
	.name = "sinfo",
	.usage = "[OPTION]...",
	.opts = opts,
	.env = "SINFO_",
	.usage_status = 1,
};

/* --- groups --------------------------------------------------------------- */

static bool has(const json_t *list, const char *text)
{
	const json_t *item;
	size_t i;

	json_array_foreach(list, i, item)
		if (!strcasecmp(json_string_value(item), text) ||
		    !strcasecmp(json_string_value(item), "all"))
			return true;
	return !list;
}

static bool wants_node(const struct sinfo *s, const json_t *node)
{
	const char *state = row_text(node, "state");
	bool out = !strcmp(state, "DOWN") || !strncmp(state, "DRAIN", 5);

	if (s->reasons && (!out || !*row_text(node, "reason")))
		return false;
	if (s->dead && strcmp(state, "DOWN") != 0)
		return false;
	return has(s->nodes, row_text(node, "name")) &&
	       (has(s->states, node_state(node, true)) ||
	        has(s->states, node_state(node, false)));
}

/* Returns the values of a node by which rows are formed, as a text that the
 * caller frees: nodes with equal texts are in the same row of sinfo. */
static char *key_of(const struct sinfo *s, const struct slurm_format *format,
                    const json_t *row)
{
	const struct style style = { 0 };
	struct buf key = { 0 };

	if (s->by_node)
		buf_printf(&key, "%s %s", row_text(row, "name"),
		           row_text(row, "partition"));
	for (size_t i = 0; i < format->n; i++) {
		const struct slurm_field *field = format->column[i].field;

		buf_addc(&key, '\n');
		if (s->exact && !strcmp(field->needs, "cpus"))
			buf_i64(&key, row_int(row, "cpus"));
		else if (s->exact && !strcmp(field->needs, "memory_mib"))
			buf_i64(&key, row_int(row, "memory_mib"));
		else if (!node_field_gathers(field))
			field->value(row, field, &style, &key);
	}
	return buf_take(&key);
}

static json_t *new_row(const json_t *partition, const json_t *node)
{
	json_t *row =
	    node ? json_copy((json_t *)(uintptr_t)node) : json_object();

	json_object_set(row, "partition", json_object_get(partition, "name"));
	json_object_set(row, "partition_state",
	                json_object_get(partition, "state"));
	json_object_set(row, "is_default",
	                json_object_get(partition, "is_default"));
	json_object_set(row, "max_time",
	                json_object_get(partition, "max_time"));
	json_object_set(row, "default_time",
	                json_object_get(partition, "default_time"));
	json_object_set_new(row, "nodes", json_array());
	return row;
}

/* Whether the list has the node. A node of several partitions may be added to
 * the same row for each of them, but is counted once. */
static bool holds(const json_t *nodes, const json_t *node)
{
	const json_t *other;
	size_t i;

	json_array_foreach(nodes, i, other)
		if (other == node)
			return true;
	return false;
}

/* Add a node to the row with the same key, or as a new row. */
static void add_node(const struct sinfo *s, const struct slurm_format *format,
                     const json_t *partition, json_t *node, json_t *rows)
{
	json_t *row = new_row(partition, node), *other;
	char *key;
	size_t i;

	if (node)
		json_array_append(json_object_get(row, "nodes"), node);
	key = key_of(s, format, row);
	json_object_set_new(row, "key", json_string(key));
	free(key);
	json_array_foreach(rows, i, other) {
		if (strcmp(row_text(other, "key"), row_text(row, "key")) != 0)
			continue;
		if (node && !holds(json_object_get(other, "nodes"), node))
			json_array_append(json_object_get(other, "nodes"),
			                  node);
		json_decref(row);
		return;
	}
	json_array_append_new(rows, row);
}

static bool shows_partitions(const struct slurm_format *format)
{
	for (size_t i = 0; i < format->n; i++)
		if (node_field_is_of_partition(format->column[i].field))
			return true;
	return false;
}

static json_t *make_rows(const struct sinfo *s,
                         const struct slurm_format *format, json_t *partitions,
                         json_t *nodes)
{
	bool apart = s->by_node || shows_partitions(format);
	json_t *rows = json_array(), *partition, *node;
	size_t i, k;

	json_array_foreach(nodes, k, node)
		json_object_set_new(node, "taken", json_false());
	json_array_foreach(partitions, i, partition) {
		bool any = false;

		if (!has(s->partitions, row_text(partition, "name")))
			continue;
		json_array_foreach(nodes, k, node) {
			if (!partition_has(partition, node) ||
			    !wants_node(s, node) ||
			    (!apart && row_int(node, "taken") == 1))
				continue;
			add_node(s, format, partition, node, rows);
			json_object_set_new(node, "taken", json_true());
			any = true;
		}
		if (!any && apart && !s->by_node && !s->reasons)
			add_node(s, format, partition, NULL, rows);
	}
	return rows;
}

/* --- the listing ---------------------------------------------------------- */

/* Whether -O names all columns. */
static bool is_all(const char *names)
{
	return !strncasecmp(names, "all", strcspn(names, ":")) &&
	       strcspn(names, ":") == strlen("all");
}

static void make_format(const struct sinfo *s, const json_t *nodes,
                        struct slurm_format *format)
{
	size_t width = strlen("NODELIST "), i;
	const json_t *node;
	char *text;

	if (s->wish.names && is_all(s->wish.names)) {
		format_letters(format, node_fields, "node", "%all");
		return;
	}
	if (s->wish.names) {
		format_names(format, node_fields, OF_SINFO, "job",
		             s->wish.names);
		return;
	}
	if (s->wish.letters || !s->by_node || s->reasons || s->summary) {
		format_letters(format, node_fields, "node",
		               s->wish.letters ? s->wish.letters
		               : s->reasons ? s->is_long ? REASON_LONG : REASONS
		               : s->summary ? SUMMARY
		               : s->is_long ? LONG
		                            : USUAL);
		return;
	}
	json_array_foreach(nodes, i, node)
		if (strlen(row_text(node, "name")) > width)
			width = strlen(row_text(node, "name"));
	text = xasprintf("%%%zu%s", width, s->is_long ? NODE_LONG : BY_NODE);
	format_letters(format, node_fields, "node", text);
	free(text);
}

/* Whether the node is in one of the requested partitions. */
static bool is_in(const struct sinfo *s, const json_t *partitions,
                  const json_t *node)
{
	const json_t *partition;
	size_t i;

	json_array_foreach(partitions, i, partition)
		if (has(s->partitions, row_text(partition, "name")) &&
		    partition_has(partition, node))
			return true;
	return !s->partitions;
}

static int print_json(const struct sinfo *s, struct client *client,
                      struct err *err)
{
	char *cluster = command_cluster(client, err);
	json_t *partitions = NULL, *nodes = NULL, *node, *list = json_array();
	size_t i;

	if (!cluster || partitions_read(client, &partitions, &nodes, err) < 0) {
		json_decref(list);
		free(cluster);
		return -1;
	}
	json_array_foreach(nodes, i, node)
		if (wants_node(s, node) && is_in(s, partitions, node))
			json_array_append_new(list,
			                      json_node(node, partitions));
	json_print("nodes", list, cluster);
	json_decref(partitions);
	json_decref(nodes);
	free(cluster);
	return 0;
}

static int print_once(const struct sinfo *s, struct client *client,
                      struct err *err)
{
	json_t *partitions = NULL, *nodes = NULL, *rows;
	const struct style style = { .no_convert = true };
	struct slurm_format format;
	size_t i;
	json_t *row;

	if (partitions_read(client, &partitions, &nodes, err) < 0)
		return -1;
	make_format(s, nodes, &format);
	rows = make_rows(s, &format, partitions, nodes);
	if (s->every || s->is_long)
		command_put_date();
	if (!s->no_header)
		format_put_header(&format, stdout);
	json_array_foreach(rows, i, row)
		format_put_row(&format, row, &style, stdout);
	format_free(&format);
	json_decref(rows);
	json_decref(partitions);
	json_decref(nodes);
	return 0;
}

static void put_reservation(const json_t *row, int width)
{
	int64_t start = row_int(row, "start_time");
	int64_t end = row_int(row, "end_time");
	struct buf from = { 0 }, to = { 0 }, span = { 0 };

	put_moment(start, &from);
	put_moment(end, &to);
	put_clock(end - start, &span);
	printf("%-*s  %8s  %19s  %19s  %11s  %s\n", width,
	       row_text(row, "name"),
	       row_int(row, "active") == 1 ? "ACTIVE" : "INACTIVE", from.data,
	       to.data, span.data, row_text(row, "nodes"));
	buf_free(&from);
	buf_free(&to);
	buf_free(&span);
}

static int print_reservations(const struct sinfo *s, struct client *client,
                              struct err *err)
{
	json_t *req = json_pack("{s:s}", "op", "reservations"), *answer, *row;
	const json_t *list;
	int width = (int)strlen("RESV_NAME");
	size_t i;

	answer = client_call(client, req, NULL, 0, NULL, NULL, err);
	json_decref(req);
	if (!answer)
		return -1;
	answer_clean(answer);
	list = json_object_get(answer, "reservations");
	json_array_foreach(list, i, row)
		if ((int)strlen(row_text(row, "name")) > width)
			width = (int)strlen(row_text(row, "name"));
	if (!json_array_size(list))
		puts("No reservations in the system");
	else if (!s->no_header)
		printf("%-*s  %8s  %19s  %19s  %11s  %s\n", width, "RESV_NAME",
		       "STATE", "START_TIME", "END_TIME", "DURATION",
		       "NODELIST");
	json_array_foreach(list, i, row)
		put_reservation(row, width);
	json_decref(answer);
	return 0;
}

int sinfo_main(int argc, char **argv)
{
	struct sinfo s = { 0 };
	struct client *client;
	struct err err;
	int rc;

	command_parse(&line, &s, argc, argv);
	client = command_connect(&err);
	rc = client ? command_check_clusters(client, s.clusters, &err) : -1;
	while (rc == 0) {
		rc = s.json           ? print_json(&s, client, &err)
		     : s.reservations ? print_reservations(&s, client, &err)
		                      : print_once(&s, client, &err);
		if (!s.every)
			break;
		fflush(stdout);
		sleep((unsigned)s.every);
		puts("");
	}
	client_close(client);
	if (rc < 0 && words_is_unreachable(&err))
		fprintf(stderr, "slurm_load_partitions: %s\n",
		        words_of_job(&err));
	else if (rc < 0)
		command_error("%s", err.text);
	json_decref(s.partitions);
	json_decref(s.nodes);
	json_decref(s.states);
	json_decref(s.clusters);
	return rc < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

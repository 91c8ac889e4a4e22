/* reserve.c - show, make and delete reservations */
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "libcommon/hostlist.h"
#include "libcommon/mem.h"
#include "libcommon/parse.h"
#include "slurm/job.h"
#include "slurm/rows.h"
#include "slurm/scontrol/scontrol.h"
#include "slurm/words.h"

/* --- show ----------------------------------------------------------------- */

static int64_t cpus_of(const json_t *nodes, const struct hostlist *hosts)
{
	const json_t *node;
	int64_t cpus = 0;
	size_t i;

	json_array_foreach(nodes, i, node)
		for (size_t k = 0; k < hosts->n; k++)
			if (!strcmp(hosts->name[k], row_text(node, "name")))
				cpus += row_int(node, "cpus");
	return cpus;
}

static void put_list(const json_t *list, bool groups, struct buf *out)
{
	const json_t *item;
	size_t i;

	json_array_foreach(list, i, item) {
		const char *name = json_string_value(item);

		if ((*name == '@') == groups)
			buf_printf(out, "%s%s", out->len ? "," : "",
			           name + groups);
	}
	if (!out->len)
		buf_puts(out, "(null)");
}

static const char *flags_of(const json_t *row)
{
	const char *repeat = row_text(row, "repeat");
	bool maintenance = !json_array_size(json_object_get(row, "users"));

	if (!strcmp(repeat, "daily"))
		return maintenance ? "MAINT,DAILY,SPEC_NODES"
		                   : "DAILY,SPEC_NODES";
	if (!strcmp(repeat, "weekly"))
		return maintenance ? "MAINT,WEEKLY,SPEC_NODES"
		                   : "WEEKLY,SPEC_NODES";
	return maintenance ? "MAINT,SPEC_NODES" : "SPEC_NODES";
}

static void print_one(const struct scontrol *s, const json_t *row,
                      const json_t *nodes)
{
	const char *next = s->one_line ? " " : "\n   ";
	int64_t start = row_int(row, "start_time");
	int64_t end = row_int(row, "end_time"), cpus;
	struct buf from = { 0 }, to = { 0 }, span = { 0 }, users = { 0 },
		   groups = { 0 };
	struct hostlist hosts = { 0 };

	if (hostlist_parse(&hosts, row_text(row, "nodes"), NULL) < 0)
		hosts.n = 0;
	cpus = cpus_of(nodes, &hosts);
	put_moment(start, &from);
	put_moment(end, &to);
	put_clock(end - start, &span);
	put_list(json_object_get(row, "users"), false, &users);
	put_list(json_object_get(row, "users"), true, &groups);
	printf("ReservationName=%s StartTime=%s EndTime=%s Duration=%s%s",
	       row_text(row, "name"), from.data, to.data, span.data, next);
	printf("Nodes=%s NodeCnt=%zu CoreCnt=%lld Features=(null) "
	       "PartitionName=(null) Flags=%s%sTRES=cpu=%lld%s",
	       row_text(row, "nodes"), hosts.n, (long long)cpus, flags_of(row),
	       next, (long long)cpus, next);
	printf("Users=%s Groups=%s Accounts=(null) Licenses=(null) State=%s "
	       "BurstBuffer=(null) Watts=n/a%sMaxStartDelay=(null)\n%s",
	       users.data, groups.data,
	       row_int(row, "active") == 1 ? "ACTIVE" : "INACTIVE", next,
	       s->one_line ? "" : "\n");
	buf_free(&from);
	buf_free(&to);
	buf_free(&span);
	buf_free(&users);
	buf_free(&groups);
	hostlist_free(&hosts);
}

static json_t *read_nodes(struct scontrol *s, struct err *err)
{
	json_t *fields = json_pack("[s, s]", "name", "cpus"), *rows = NULL;

	if (rows_read(s->client, json_pack("{s:s}", "op", "nodes"), fields,
	              &rows, NULL, err) < 0)
		rows = NULL;
	json_decref(fields);
	return rows;
}

int scontrol_show_reservation(struct scontrol *s, const char *name)
{
	json_t *req, *answer, *nodes = NULL, *row;
	struct err err;
	bool any = false;
	size_t i;

	if (!scontrol_connect(s, "slurm_load_reservations"))
		return EXIT_FAILURE;
	req = json_pack("{s:s}", "op", "reservations");
	answer = client_call(s->client, req, NULL, 0, NULL, NULL, &err);
	json_decref(req);
	nodes = answer ? read_nodes(s, &err) : NULL;
	if (!nodes) {
		json_decref(answer);
		fprintf(stderr, "slurm_load_reservations error: %s\n",
		        words_of_job(&err));
		return EXIT_FAILURE;
	}
	answer_clean(answer);
	json_array_foreach(json_object_get(answer, "reservations"), i, row) {
		if (name && strcmp(name, row_text(row, "name")) != 0)
			continue;
		any = true;
		print_one(s, row, nodes);
	}
	json_decref(answer);
	json_decref(nodes);
	if (!any && name)
		printf("Reservation %s not found\n", name);
	else if (!any)
		puts("No reservations in the system");
	return any || !name ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* --- create, delete ------------------------------------------------------- */

struct reservation_asked {
	const char *name, *nodes, *count, *users, *flags;
	int64_t start, end, seconds; /* 0: not given */
};

static int refuse(const char *word)
{
	fprintf(stderr,
	        "Update of this parameter is not supported: %s\n"
	        "Request aborted\n",
	        word);
	return -1;
}

static int take_time(const char *value, int64_t *ret)
{
	if (parse_time(value, time(NULL), ret, NULL) == 0)
		return 0;
	command_error("Invalid time specification: %s", value);
	return -1;
}

static int take_word(struct reservation_asked *a, const char *word)
{
	const char *value = strchr(word, '=');
	const struct {
		const char *name;
		const char **ret;
	} texts[] = {
		{ "reservation", &a->name },     { "nodes", &a->nodes },
		{ "reservationname", &a->name }, { "nodecnt", &a->count },
		{ "users", &a->users },          { "flags", &a->flags },
	};
	char *name = xstrndup(word, strcspn(word, "="));
	int rc = -1;

	for (size_t i = 0; value && i < ARRAY_SIZE(texts); i++)
		if (!strcasecmp(texts[i].name, name)) {
			*texts[i].ret = value + 1;
			rc = 0;
		}
	if (value && !strcasecmp(name, "starttime"))
		rc = take_time(value + 1, &a->start);
	else if (value && !strcasecmp(name, "endtime"))
		rc = take_time(value + 1, &a->end);
	else if (value && !strcasecmp(name, "duration"))
		rc = parse_duration(value + 1, &a->seconds, NULL);
	else if (rc < 0)
		refuse(word);
	free(name);
	return rc;
}

static bool has_flag(const struct reservation_asked *a, const char *flag)
{
	return a->flags && strcasestr(a->flags, flag);
}

static json_t *make_request(const struct reservation_asked *a)
{
	int64_t start = a->start ? a->start : time(NULL), count;
	json_t *users = NULL, *req;
	struct opt at = { .offset = 0 };

	command_add_items(&users, &at, a->users ? a->users : "", NULL);
	req = json_pack("{s:s, s:s, s:I, s:I, s:s, s:o}", "op", "reserve",
	                "name", a->name, "start", (json_int_t)start, "end",
	                (json_int_t)(a->end ? a->end : start + a->seconds),
	                "repeat",
	                has_flag(a, "daily")    ? "daily"
	                : has_flag(a, "weekly") ? "weekly"
	                                        : "never",
	                "users", users);
	if (a->nodes)
		json_object_set_new(req, "nodes", json_string(a->nodes));
	else if (a->count && parse_int(a->count, 1, 1000000, &count, NULL) == 0)
		json_object_set_new(req, "count", json_integer(count));
	return req;
}

static int ask(struct scontrol *s, json_t *req, struct err *err)
{
	json_t *answer = client_call(s->client, req, NULL, 0, NULL, NULL, err);
	int rc = answer ? 0 : -1;

	json_decref(req);
	json_decref(answer);
	return rc;
}

/* Returns the name of an option that is required and missing, or NULL. */
static const char *missing(const struct reservation_asked *a)
{
	if (!a->name)
		return "ReservationName";
	if (!a->nodes && !a->count)
		return "Nodes or NodeCnt";
	if (!a->end && !a->seconds)
		return "EndTime or Duration";
	return a->users || has_flag(a, "maint") ? NULL : "Users or Flags=MAINT";
}

/* Create a reservation: "create reservation ReservationName=r1 StartTime=now
 * Duration=60 ..." */
int scontrol_create(struct scontrol *s, char **words)
{
	struct reservation_asked a = { 0 };
	struct err err;
	size_t i = 1;

	if (strncasecmp(words[1], "res", 3) != 0)
		return scontrol_refuse(s, words);
	i += !strchr(words[1], '=');
	for (; words[i]; i++)
		if (take_word(&a, words[i]) < 0)
			return EXIT_FAILURE;
	if (missing(&a)) {
		command_error("A reservation needs %s", missing(&a));
		return EXIT_FAILURE;
	}
	if (!scontrol_connect(s, "slurm_create_reservation"))
		return EXIT_FAILURE;
	if (ask(s, make_request(&a), &err) < 0) {
		fprintf(stderr, "Error creating the reservation: %s\n",
		        words_of_job(&err));
		return EXIT_FAILURE;
	}
	printf("Reservation created: %s\n", a.name);
	return EXIT_SUCCESS;
}

/* Delete a reservation: "delete ReservationName=r1" */
int scontrol_delete(struct scontrol *s, char **words)
{
	const char *name = strchr(words[1], '=');
	struct err err;

	if (strncasecmp(words[1], "res", 3) != 0)
		return scontrol_refuse(s, words);
	if (!scontrol_connect(s, "delete_reservation"))
		return EXIT_FAILURE;
	if (!name)
		err_set(&err, ENOENT, "no name");
	else if (ask(s,
	             json_pack("{s:s, s:s}", "op", "unreserve", "name",
	                       name + 1),
	             &err) == 0)
		return EXIT_SUCCESS;
	fprintf(stderr, "delete_reservation %s: %s\n", words[1],
	        err.code == ENOENT ? "Requested reservation is invalid"
	                           : words_of_job(&err));
	return EXIT_FAILURE;
}

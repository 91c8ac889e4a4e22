/* step_msg.c - requests for steps, from srun to the shepherd of a job */
#include "libcommon/step_msg.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "libcommon/parse.h"

enum { MAX_WIDTH = 10 };

static void put_text(struct buf *out, const char *text)
{
	buf_add(out, text ? text : "", text ? strlen(text) + 1 : 1);
}

void step_request_pack(const struct step_request *req, char *const *argv,
                       char *const *env, struct buf *out)
{
	json_int_t argc = 0;
	json_t *obj;
	char *text;

	while (argv[argc])
		argc++;
	obj = json_pack(
	    "{s:I s:I s:I s:I s:I s:I s:I s:I s:I s:I s:[I I I] s:I}", "tasks",
	    (json_int_t)req->tasks, "flags", (json_int_t)req->flags, "cpus",
	    (json_int_t)req->cpus, "mem", (json_int_t)req->mem_mib, "gpus",
	    (json_int_t)req->gpus, "limit", (json_int_t)req->limit_s, "umask",
	    (json_int_t)req->umask, "rank", (json_int_t)req->rank, "rows",
	    (json_int_t)req->rows, "columns", (json_int_t)req->columns, "task",
	    (json_int_t)req->task[0], (json_int_t)req->task[1],
	    (json_int_t)req->task[2], "argc", argc);
	text = json_dumps(obj, JSON_COMPACT);
	put_text(out, text);
	free(text);
	json_decref(obj);
	put_text(out, req->name);
	put_text(out, req->job_name);
	put_text(out, req->cwd);
	for (int i = 0; i < 3; i++)
		put_text(out, req->file[i]);
	for (; *argv; argv++)
		put_text(out, *argv);
	for (; *env; env++)
		put_text(out, *env);
}

const char *step_next_text(const char **at, const char *end)
{
	const char *text = *at;
	const char *nul =
	    text < end ? memchr(text, '\0', (size_t)(end - text)) : NULL;

	if (!nul)
		return NULL;
	*at = nul + 1;
	return text;
}

static bool in_range(int64_t value, int64_t min, int64_t max)
{
	return value >= min && value <= max;
}

static bool is_valid(const struct step_request *r)
{
	for (int i = 0; i < 3; i++)
		if (!in_range(r->task[i], STEP_ALL_TASKS, STEP_TASKS_MAX))
			return false;
	return in_range(r->tasks, 1, STEP_TASKS_MAX) &&
	       in_range(r->flags, 0, 2 * STEP_AS_TASK - 1) &&
	       in_range(r->cpus, 0, STEP_TASKS_MAX) &&
	       in_range(r->mem_mib, 0, INT64_C(1) << 40) &&
	       in_range(r->gpus, -1, 64) &&
	       in_range(r->limit_s, 0, MAX_SECONDS) &&
	       in_range(r->umask, 0, 0777) &&
	       in_range(r->rank, 0, UINT32_MAX) &&
	       in_range(r->rows, 0, UINT16_MAX) &&
	       in_range(r->columns, 0, UINT16_MAX) &&
	       in_range(r->argc, 1, STEP_REQUEST_MAX) &&
	       !((r->flags & STEP_PTY) && r->tasks > 1);
}

static int numbers(const char *text, struct step_request *ret)
{
	json_t *obj = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	json_int_t n[11], rank = 0, rows = 0, columns = 0;
	int rc = json_unpack_ex(
	    obj, NULL, 0,
	    "{s:I s:I s:I s:I s:I s:I s:I s?I s?I s?I "
	    "s:[I I I] s:I}",
	    "tasks", &n[0], "flags", &n[1], "cpus", &n[2], "mem", &n[3], "gpus",
	    &n[4], "limit", &n[5], "umask", &n[6], "rank", &rank, "rows", &rows,
	    "columns", &columns, "task", &n[7], &n[8], &n[9], "argc", &n[10]);

	json_decref(obj);
	if (rc < 0)
		return -1;
	*ret = (struct step_request){ .tasks = n[0],
		                      .flags = n[1],
		                      .cpus = n[2],
		                      .mem_mib = n[3],
		                      .gpus = n[4],
		                      .limit_s = n[5],
		                      .umask = n[6],
		                      .rank = rank,
		                      .rows = rows,
		                      .columns = columns,
		                      .task = { n[7], n[8], n[9] },
		                      .argc = n[10] };
	return is_valid(ret) ? 0 : -1;
}

int step_request_parse(const char *data, size_t len, struct step_request *ret,
                       struct err *err)
{
	const char *at = data, *end = data + len;
	const char *head = step_next_text(&at, end);
	const char **text[] = { &ret->name,    &ret->job_name, &ret->cwd,
		                &ret->file[0], &ret->file[1],  &ret->file[2] };

	if (!head || numbers(head, ret) < 0)
		return err_set(err, EINVAL, "bad request for a step");
	for (size_t i = 0; i < sizeof(text) / sizeof(*text); i++) {
		*text[i] = step_next_text(&at, end);
		if (!*text[i])
			return err_set(err, EINVAL,
			               "the names in the request for a step "
			               "are too long");
	}
	ret->texts = at;
	ret->texts_len = (size_t)(end - at);
	return 0;
}

void step_size_terminal(const struct step_request *req, int fd)
{
	struct winsize size = { .ws_row = (unsigned short)req->rows,
		                .ws_col = (unsigned short)req->columns };

	if (req->rows && req->columns)
		ioctl(fd, TIOCSWINSZ, &size);
}

void step_file_expand(const char *pattern, uint64_t job, uint32_t step,
                      uint32_t task, struct buf *out)
{
	for (const char *p = pattern; *p; p++) {
		const char *q = p + 1;
		int width = 0;

		if (*p != '%') {
			buf_addc(out, *p);
			continue;
		}
		for (; *q >= '0' && *q <= '9'; q++)
			width = width < MAX_WIDTH ? width * 10 + *q - '0'
			                          : MAX_WIDTH;
		width = width < MAX_WIDTH ? width : MAX_WIDTH;
		if (*q == 't')
			buf_printf(out, "%0*" PRIu32, width, task);
		else if (*q == 's')
			buf_printf(out, "%0*" PRIu32, width, step);
		else if (*q == 'J')
			buf_printf(out, "%" PRIu64 ".%" PRIu32, job, step);
		else if (*q == '%')
			buf_addc(out, '%');
		else
			q = p, buf_addc(out, *p);
		p = q;
	}
}

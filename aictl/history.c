/* history.c - archive ended jobs, and remove them from the history */
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include "aictl/aictl.h"
#include "aictl/command.h"
#include "libcommon/buf.h"
#include "libcommon/client/json_out.h"
#include "libcommon/job_fields.h"
#include "libcommon/map.h"
#include "libcommon/mem.h"
#include "libcommon/parse.h"

#define AT(member) .offset = offsetof(struct ctl, history.member)

const struct opt history_opts[] = { { 0, "before", "TIME",
	                              "jobs that ended before TIME",
	                              opt_set_text, AT(before) },
	                            OPT_END };

/* State while an archive is written. */
struct archive {
	const char *path;
	gzFile file;
	const char *prefix; /* "{\"KIND\":", written before each row */
	struct map jobs;    /* ids of the jobs written so far */
	bool attempts;      /* rows are attempts: write only those of `jobs` */
	struct buf rest;    /* an incomplete line */
	uint64_t njobs, nattempts;
	bool failed;
};

static void progress(const char *what, uint64_t n)
{
	if (isatty(STDERR_FILENO)) {
		fprintf(stderr, "\r\033[K%s %llu", what, (unsigned long long)n);
		fflush(stderr);
	}
}

static void end_progress(void)
{
	if (isatty(STDERR_FILENO))
		fputs("\r\033[K", stderr);
}

/* --- writing ----------------------------------------------------------- */

static void put_line(struct archive *a, const char *line, size_t len)
{
	static const char key[] = "{\"job_id\":";
	uint64_t id = len > sizeof(key) && !strncmp(line, key, sizeof(key) - 1)
	                  ? strtoull(line + sizeof(key) - 1, NULL, 10)
	                  : 0;

	if (a->attempts && !map_find(&a->jobs, id))
		return;
	if (!a->attempts)
		map_set(&a->jobs, id, a);
	if (gzputs(a->file, a->prefix) < 0 ||
	    gzwrite(a->file, line, (unsigned)len) != (int)len ||
	    gzputs(a->file, "}\n") < 0)
		a->failed = true;
	if (a->attempts)
		a->nattempts++;
	else
		a->njobs++;
	if ((a->njobs + a->nattempts) % 1000 == 0)
		progress("archived", a->njobs + a->nattempts);
}

static int take_part(const void *data, size_t len, void *arg)
{
	struct archive *a = arg;
	const char *at, *eol;

	buf_add(&a->rest, data, len);
	at = a->rest.data;
	while ((eol = memchr(at, '\n',
	                     a->rest.len - (size_t)(at - a->rest.data)))) {
		put_line(a, at, (size_t)(eol - at));
		at = eol + 1;
	}
	a->rest.len -= (size_t)(at - a->rest.data);
	memmove(a->rest.data, at, a->rest.len);
	return a->failed ? -1 : 0;
}

static int put_jobs(struct ctl *ctl, struct archive *a, int64_t before,
                    struct err *err)
{
	static const char *const fields[] = {
#define X(name, usual, shown) #name,
		JOB_FIELDS(X)
#undef X
	};
	json_t *names = json_array(), *req, *answer;

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		json_array_append_new(names, json_string(fields[i]));
	req = json_pack("{s:s, s:b, s:b, s:I, s:o, s:s}", "op", "jobs", "all",
	                1, "history", 1, "until", (json_int_t)before - 1,
	                "fields", names, "format", "json");
	a->prefix = "{\"job\":";
	answer = ctl_call(ctl, req, take_part, a, err);
	json_decref(req);
	json_decref(answer);
	return answer ? 0 : -1;
}

/* Write the attempts of the jobs. All attempts are requested, without a
 * bound of their end: if a clock was set back, an attempt may have ended
 * after its job. */
static int put_attempts(struct ctl *ctl, struct archive *a, struct err *err)
{
	json_t *req = json_pack("{s:s, s:b, s:s}", "op", "attempts", "all", 1,
	                        "format", "json");
	json_t *answer;

	a->prefix = "{\"attempt\":";
	a->attempts = true;
	answer = ctl_call(ctl, req, take_part, a, err);
	json_decref(req);
	json_decref(answer);
	return answer ? 0 : -1;
}

static int sync_folder(const char *path, struct err *err)
{
	char *copy = xstrdup(path);
	int fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int rc = fd < 0 || fsync(fd) < 0 ? err_sys(err, "%s", path) : 0;

	if (fd >= 0)
		close(fd);
	free(copy);
	return rc;
}

/* Write the whole archive; it is synced to disk when this returns 0. */
static int fill(struct ctl *ctl, struct archive *a, int fd, int64_t before,
                struct err *err)
{
	int copy = dup(fd), rc = -1;

	a->file = gzdopen(copy, "wb");
	if (!a->file) {
		close(copy);
		return err_set(err, ENOMEM, "%s: out of memory", a->path);
	}
	gzprintf(a->file, "{\"archive\":1,\"before\":%lld,\"made\":%lld}\n",
	         (long long)before, (long long)time(NULL));
	if (put_jobs(ctl, a, before, err) == 0 &&
	    put_attempts(ctl, a, err) == 0)
		rc = 0;
	if (gzclose(a->file) != Z_OK || a->failed || (!rc && fsync(fd) < 0))
		rc = err_sys(err, "cannot write '%s'", a->path);
	return rc < 0 ? -1 : sync_folder(a->path, err);
}

static int write_archive(struct ctl *ctl, struct archive *a, int64_t before,
                         struct err *err)
{
	int fd = open(a->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	int rc;

	if (fd < 0)
		return err_sys(err, "cannot make '%s'", a->path);
	rc = fill(ctl, a, fd, before, err);
	close(fd);
	if (rc < 0)
		unlink(a->path);
	map_free(&a->jobs);
	buf_free(&a->rest);
	return rc;
}

/* --- removing ---------------------------------------------------------- */

/* Remove the jobs, with as many requests as that takes. Each request fails
 * unless there are `expect` jobs in all; -1: any number. */
static int purge(struct ctl *ctl, int64_t before, int64_t expect,
                 uint64_t *ret_gone, struct err *err)
{
	bool more = true;

	*ret_gone = 0;
	while (more) {
		json_t *req = json_pack("{s:s, s:I}", "op", "history", "before",
		                        (json_int_t)before);
		json_t *answer;

		if (expect >= 0)
			json_object_set_new(
			    req, "expect",
			    json_integer(expect - (json_int_t)*ret_gone));
		answer = ctl_call(ctl, req, NULL, NULL, err);
		json_decref(req);
		if (!answer)
			return -1;
		*ret_gone += (uint64_t)json_integer_value(
		    json_object_get(answer, "gone"));
		more = json_is_true(json_object_get(answer, "more"));
		json_decref(answer);
		progress("removed", *ret_gone);
	}
	return 0;
}

static void say(const struct ctl *ctl, const struct archive *a, uint64_t gone)
{
	json_t *answer = json_pack("{s:I}", "removed", (json_int_t)gone);

	if (a->path) {
		json_object_set_new(answer, "jobs",
		                    json_integer((json_int_t)a->njobs));
		json_object_set_new(answer, "attempts",
		                    json_integer((json_int_t)a->nattempts));
	}
	if (ctl->json) {
		json_out(answer, JSON_COMPACT, stdout);
		putchar('\n');
	} else if (a->path) {
		printf("%llu jobs and %llu attempts are in %s\n",
		       (unsigned long long)a->njobs,
		       (unsigned long long)a->nattempts, a->path);
	} else {
		printf("%llu jobs removed\n", (unsigned long long)gone);
	}
	json_decref(answer);
}

static int take_before(const struct ctl *ctl, int64_t *ret, struct err *err)
{
	int64_t now = time(NULL);

	if (!ctl->history.before)
		return err_set(err, EINVAL,
		               "--before TIME is missing, like --before "
		               "2026-01-01 or --before now");
	if (parse_time(ctl->history.before, now, ret, err) < 0)
		return err_wrap(err, "--before");
	if (*ret > now)
		return err_set(err, EINVAL, "--before: '%s' is in the future",
		               ctl->history.before);
	if (*ret == now)
		(*ret)++; /* include jobs that end in this second */
	return 0;
}

int run_history(struct ctl *ctl, int argc, char **argv)
{
	bool archives = !strcmp(argv[1], "archive");
	struct archive a = { .path = archives ? argv[2] : NULL };
	uint64_t gone = 0;
	int64_t before;
	struct err why;
	int rc;

	if ((!archives && strcmp(argv[1], "purge") != 0) ||
	    argc != 2 + archives) {
		ctl_warn(ctl, "history takes 'archive --before TIME FILE' or "
		              "'purge --before TIME'");
		return EXIT_USAGE;
	}
	if (take_before(ctl, &before, &why) < 0) {
		ctl_warn(ctl, "history: %s", why.text);
		return EXIT_USAGE;
	}
	rc = archives ? write_archive(ctl, &a, before, &why) : 0;
	if (!rc)
		rc = purge(ctl, before, archives ? (int64_t)a.njobs : -1, &gone,
		           &why);
	end_progress();
	if (!rc || gone)
		say(ctl, &a, gone);
	if (rc < 0)
		ctl_warn(ctl, "%s", why.text);
	return rc < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* sbcast.c - copy a file to the node of a job, which is this machine */
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libcommon/mem.h"
#include "slurm/command.h"
#include "slurm/rows.h"
#include "slurm/words.h"

enum { STATUS_LOOKUP = 255 };

struct sbcast {
	const char *job;
	bool force, preserve;
};

#define AT(member) .offset = offsetof(struct sbcast, member)

/* clang-format off */
static const struct opt opts[] = {
	{ 'C', "compress", "HOW", NULL, .set = command_ignore, .optional = true },
	{ 0, "exclude", "PATHS", NULL, .set = command_ignore },
	{ 'F', "fanout", "N", NULL, .set = command_ignore },
	{ 'f', "force", NULL, "replace DEST", opt_set_true, AT(force) },
	{ 'j', "jobid", "JOB[.STEP]", "the job, by default that of SLURM_JOB_ID", opt_set_text, AT(job) },
	{ 'p', "preserve", NULL, "keep modes and times", opt_set_true, AT(preserve) },
	{ 0, "send-libs", "HOW", NULL, .set = command_ignore, .optional = true },
	{ 's', "size", "SIZE", NULL, .set = command_ignore },
	{ 't', "timeout", "SECONDS", NULL, .set = command_ignore },
	{ 'v', "verbose", NULL, NULL, .set = command_ignore },
	OPT_END
};
/* clang-format on */

static const struct command_line line = {
	.name = "sbcast",
	.usage = "[OPTION]... SOURCE DEST",
	.opts = opts,
	.env = "SBCAST_",
	.usage_status = 1,
};

/* --- the job -------------------------------------------------------------- */

/* Returns Slurm's message for a job whose node cannot be found. */
static const char *words_of(const struct err *err)
{
	switch (err->code) {
	case EAGAIN:
		return "Job is pending execution";
	case ESHUTDOWN:
		return "Job/step already completing or completed";
	case EINVAL:
		return WORDS_NO_JOB;
	default:
		return words_of_job(err);
	}
}

/* Returns the name of the job's node, which the caller frees; NULL, after
 * printing why, if there is none. */
static char *find_node(const char *text)
{
	char *id = xstrndup(text, strcspn(text, ".")), *node = NULL;
	json_t *req = json_pack("{s:s, s:s}", "op", "step", "id", id), *answer;
	struct err err;
	struct client *client = command_connect(&err);

	answer = client && req
	             ? client_call(client, req, NULL, 0, NULL, NULL, &err)
	             : NULL;
	if (!req)
		err_set(&err, EINVAL, "not UTF-8");
	if (answer)
		node = xstrdup(row_text(answer, "node"));
	else
		command_error("Slurm job %s lookup error: %s", text,
		              words_of(&err));
	json_decref(req);
	json_decref(answer);
	client_close(client);
	free(id);
	return node;
}

/* --- the copy ------------------------------------------------------------- */

/* Returns the path of the copy, which the caller frees. In a folder, the copy
 * is named like the source. */
static char *full_name(const char *source, const char *dest)
{
	char *copy = xstrdup(source), *name;
	struct stat st;

	if (stat(dest, &st) == 0 && S_ISDIR(st.st_mode))
		name = xasprintf("%s/%s", dest, basename(copy));
	else
		name = xstrdup(dest);
	free(copy);
	return name;
}

static int copy_bytes(int from, int to)
{
	char part[65536];
	ssize_t n;

	while ((n = read(from, part, sizeof(part))) > 0)
		for (ssize_t at = 0, w; at < n; at += w) {
			w = write(to, part + at, (size_t)(n - at));
			if (w < 0)
				return -1;
		}
	return n < 0 ? -1 : 0;
}

static int finish(const struct sbcast *s, int fd, const struct stat *st,
                  const char *temp, const char *name)
{
	const struct timespec times[] = { st->st_atim, st->st_mtim };

	if (fchmod(fd, st->st_mode & 0777) < 0 ||
	    (s->preserve && futimens(fd, times) < 0))
		return -1;
	return s->force ? rename(temp, name) : link(temp, name);
}

/* Write a temporary file and rename it, so that readers never see half of a
 * copy. Returns 0 or an errno. */
static int copy_to(const struct sbcast *s, int from, const struct stat *st,
                   const char *name)
{
	char *temp = xasprintf("%s.XXXXXX", name);
	int fd = mkstemp(temp), code = 0;

	if (fd < 0 || copy_bytes(from, fd) < 0 ||
	    finish(s, fd, st, temp, name) < 0)
		code = errno;
	if (fd >= 0) {
		close(fd);
		if (!s->force || code)
			unlink(temp);
	}
	free(temp);
	return code;
}

static int send_file(const struct sbcast *s, const char *source,
                     const char *dest)
{
	int from = open(source, O_RDONLY | O_CLOEXEC | O_NONBLOCK), code;
	char *node, *name;
	struct stat st;

	if (from < 0 || fstat(from, &st) < 0) {
		command_error("Can't open `%s`: %s", source, strerror(errno));
		return STATUS_LOOKUP;
	}
	if (!S_ISREG(st.st_mode)) {
		command_error("Can't mmap file `%s`, No such device.", source);
		close(from);
		return STATUS_LOOKUP;
	}
	node = find_node(s->job);
	if (!node) {
		close(from);
		return STATUS_LOOKUP;
	}
	name = full_name(source, dest);
	code = copy_to(s, from, &st, name);
	if (code)
		command_error("REQUEST_FILE_BCAST(%s): %s", node,
		              strerror(code));
	free(node);
	free(name);
	close(from);
	return code;
}

int sbcast_main(int argc, char **argv)
{
	struct sbcast s = { 0 };
	int first = command_parse(&line, &s, argc, argv);

	if (!s.job)
		s.job = getenv("SLURM_JOB_ID");
	if (first + 2 != argc) {
		fprintf(stderr, "Need two file names, have %d names\n",
		        argc - first);
		fputs("Try \"sbcast --help\" for more information\n", stderr);
		return EXIT_FAILURE;
	}
	if (!s.job || !*s.job) {
		command_error("Need a job id to run this command.  Run from "
		              "within a Slurm job or use the --jobid option.");
		return EXIT_FAILURE;
	}
	return send_file(&s, argv[first], argv[first + 1]);
}

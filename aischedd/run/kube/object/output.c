/* output.c - redirect the output of tasks to files of the user */
#include "aischedd/run/kube/object/output.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "aischedd/run/kube/object/init.h"
#include "aischedd/run/kube/object/job.h"
#include "aischedd/run/kube/object/mount.h"
#include "aischedd/run/kube/object/object.h"
#include "aischedd/run/output.h"
#include "libcommon/mem.h"

/* A time later than that of any file. */
#define FOR_EVER "99999999999"

/*
 * Shell text that redirects input and output. As in the local runner, it makes
 * missing folders, and a file that cannot be opened is the user's fault. It
 * truncates a file only if the file is older than the attempt: so pods that
 * share a file, or replace each other, do not lose each other's lines.
 */
const char kube_output_script[] =
    "aisched_fail()\n"
    "{\n"
    "\taisched_why=\"cannot open $1 '$2': ${3##*: }\"\n"
    "\techo \"" KUBE_LAST_UNABLE "$aisched_why\" >" KUBE_LAST_FILE "\n"
    "\techo \"aischedd: error: $aisched_why\" >&2\n"
    "\texit 1\n"
    "}\n"
    "aisched_open()\n"
    "{\n"
    "\t[ -d \"${1%/*}/\" ] || mkdir -p \"${1%/*}\" || return\n"
    "\tif [ \"$aisched_since\" = 0 ] ||\n"
    "\t\t! aisched_age=$(stat -c %Y \"$1\" 2>/dev/null) ||\n"
    "\t\t[ \"$aisched_age\" -ge \"$aisched_since\" ]; then\n"
    "\t\ttrue >>\"$1\"\n"
    "\telse\n"
    "\t\ttrue >\"$1\"\n"
    "\tfi\n"
    "}\n"
    "aisched_why=$({ true <\"$aisched_in\"; } 2>&1) ||\n"
    "\taisched_fail input \"$aisched_in\" \"$aisched_why\"\n"
    "for aisched_file in \"$aisched_out\" \"$aisched_err\"; do\n"
    "\t[ -z \"$aisched_file\" ] && continue\n"
    "\taisched_why=$(aisched_open \"$aisched_file\" 2>&1) ||\n"
    "\t\taisched_fail output \"$aisched_file\" \"$aisched_why\"\n"
    "done\n"
    "[ -z \"$aisched_out\" ] || exec >>\"$aisched_out\"\n"
    "[ -z \"$aisched_err\" ] || exec 2>>\"$aisched_err\"\n"
    "# In a log of the cluster two streams would lose their order.\n"
    "[ -z \"$aisched_join\" ] || exec 2>&1\n";

/* Append a pattern of an output file, or a part of one, with its % fields
 * replaced. */
static void expand(const char *pattern, const struct run_job *job,
                   struct buf *out)
{
	const struct output_name name = { .job = job->job,
		                          .array_job = job->array_job,
		                          .array_task = job->array_task,
		                          .name = job->spec->name,
		                          .user = job->user,
		                          .node = job->ntasks
		                                      ? job->node_name[0]
		                                      : "" };

	output_expand(pattern, job->spec->workdir, &name, out);
}

bool kube_output_is_file(const struct spec *spec, const char *path)
{
	struct kube_mount_file at;

	if (!strcmp(path, "/dev/null"))
		return true;
	if (!kube_mount_find(spec->mount, path, &at))
		return false;
	free(at.file);
	free(at.claim);
	return true;
}

static bool goes_to_file(const struct run_job *job, const char *pattern)
{
	struct buf path = { 0 };
	bool does;

	expand(pattern, job, &path);
	does = kube_output_is_file(job->spec, path.data);
	buf_free(&path);
	return does;
}

bool kube_output_all_files(const struct run_job *job)
{
	const struct spec *spec = job->spec;

	return goes_to_file(job, spec->output) &&
	       (!spec->error || goes_to_file(job, spec->error));
}

/* --- write shell text --- */

static void add_quoted(struct buf *out, const char *text)
{
	buf_addc(out, '\'');
	for (; *text; text++)
		if (*text == '\'')
			buf_puts(out, "'\\''");
		else
			buf_addc(out, *text);
	buf_addc(out, '\'');
}

/* Append a part of a pattern, without %t in it, quoted for the shell. The part
 * is passed to expand() with a '/' in front, so that expand() does not put the
 * working directory before it. */
static void add_piece(struct buf *out, const char *pattern, size_t len,
                      const struct run_job *job)
{
	char *piece = xasprintf("/%.*s", (int)len, pattern);
	struct buf text = { 0 };

	expand(piece, job, &text);
	add_quoted(out, text.data + 1);
	buf_free(&text);
	free(piece);
}

/* Append the shell assignment of a file name: aisched_out='/data/7-'"$(printf
 * %02d "$JOB_COMPLETION_INDEX")". The shell puts in the number of the task,
 * which is known only in the container. */
static void add_name(struct buf *out, const char *var, const char *pattern,
                     const struct run_job *job)
{
	const char *task, *end;
	int width;

	buf_printf(out, "%s=", var);
	if (*pattern != '/') {
		add_quoted(out, job->spec->workdir);
		buf_addc(out, '/');
	}
	while ((task = output_task(pattern, &end, &width))) {
		add_piece(out, pattern, (size_t)(task - pattern), job);
		buf_printf(out,
		           "\"$(printf %%0%dd \"$JOB_COMPLETION_INDEX\")\"",
		           width);
		pattern = end;
	}
	add_piece(out, pattern, strlen(pattern), job);
	buf_addc(out, '\n');
}

/* Whether several pods of this attempt may write to the same file. */
static bool may_share(const struct run_job *job)
{
	return job->ntasks > 1 || job->req->tasks > 1 ||
	       kube_object_job_replace(job->spec) > 0;
}

void kube_output_env(struct buf *out, const struct run_job *job, int64_t now)
{
	const struct spec *spec = job->spec;
	add_name(out, "aisched_in", spec->input ? spec->input : "/dev/null",
	         job);
	if (goes_to_file(job, spec->output))
		add_name(out, "aisched_out", spec->output, job);
	if (spec->error && goes_to_file(job, spec->error))
		add_name(out, "aisched_err", spec->error, job);
	else if (!spec->error)
		buf_puts(out, "aisched_join=yes\n");
	if (job->append || spec->append == 1)
		buf_puts(out, "aisched_since=0\n");
	else if (may_share(job))
		buf_printf(out, "aisched_since=%" PRId64 "\n", now);
	else
		buf_puts(out, "aisched_since=" FOR_EVER "\n");
}

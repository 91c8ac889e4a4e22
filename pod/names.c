/* names.c - Slurm's commands inside a pod */
#include "pod/names.h"

#include <errno.h>
#include <fcntl.h>
#include <nss.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libcommon/hostlist.h"
#include "pod/relay.h"
#include "slurm/command.h"
#include "slurm/srun_step.h"

/* --- srun ----------------------------------------------------------------- */

static struct pod_job job; /* the job of this pod */

static int no_such_job(const char *id)
{
	command_error("Unable to confirm allocation for job %s: Invalid job id "
	              "specified",
	              id);
	fprintf(stderr,
	        "srun: Check SLURM_JOB_ID environment variable. Expired or "
	        "invalid job %s\n",
	        id);
	return -1;
}

static const char *const *names_of_nodes(struct arena *arena)
{
	const char **name = arena_array(arena, const char *, (size_t)job.pods);

	for (int64_t i = 0; i < job.pods; i++) {
		char text[POD_NAME_MAX];

		pod_job_node(&job, i, text);
		name[i] = arena_strdup(arena, text);
	}
	return name;
}

/*
 * Set the number of tasks if no option of srun gives it: for each node one, or
 * as many as --ntasks-per-node says. Ignore --ntasks-per-node if srun has more
 * tasks than it allows: their number may come from SLURM_NTASKS, which counts
 * all tasks of the job.
 */
static void complete(struct srun *s)
{
	int64_t nodes = s->nodes ? s->nodes : job.pods;

	if (!s->tasks)
		s->tasks = nodes * (s->tasks_per_node ? s->tasks_per_node : 1);
	if (s->nodes > s->tasks)
		s->nodes = s->tasks;
	if (!s->tasks_per_node || s->tasks <= nodes * s->tasks_per_node)
		return;
	if (s->tasks / nodes != s->tasks_per_node)
		fprintf(stderr,
		        "srun: Warning: can't honor --ntasks-per-node set to "
		        "%lld which doesn't match the requested tasks %lld "
		        "with the number of requested nodes %lld. Ignoring "
		        "--ntasks-per-node.\n",
		        (long long)s->tasks_per_node, (long long)s->tasks,
		        (long long)nodes);
	s->tasks_per_node = 0;
}

static int connect_to(const struct srun *srun, struct err *err)
{
	return relay_start(&job, srun, err);
}

static int find(struct srun *s, struct srun_job *ret)
{
	struct err err;
	char id[24];

	if (pod_job_read(&job, &err) < 0) {
		command_error("%s", err.text);
		return -1;
	}
	snprintf(id, sizeof(id), "%lld", (long long)job.id);
	if (s->job && strcmp(s->job, id) != 0)
		return no_such_job(s->job);
	complete(s);
	*ret = (struct srun_job){ .id = job.id,
		                  .nodes = names_of_nodes(s->arena),
		                  .nnodes = job.pods,
		                  .connect = connect_to,
		                  .remote = true };
	ret->node = xstrdup(ret->nodes[pod_job_self(&job)]);
	return 0;
}

/* Run the step in the job of this pod. Used if srun's environment names
 * no job. */
static int alone(struct srun *s, char *const *argv)
{
	struct srun_job to;

	return find(s, &to) < 0 ? EXIT_FAILURE : srun_step(s, &to, argv);
}

static int srun(int argc, char **argv)
{
	static const struct srun_way way = { find, alone };

	/* Look up users in files only: a static program must not load other
	 * NSS modules, which are of the image's libc. */
	__nss_configure_lookup("passwd", "files");
	return srun_run(&way, argc, argv);
}

/* --- scontrol ------------------------------------------------------------- */

static int show_names(const char *text, bool expand)
{
	struct hostlist list = { 0 };
	struct buf out = { 0 };
	struct err err;

	if (!text || !*text) {
		command_error("host list is empty");
		return EXIT_SUCCESS;
	}
	if (hostlist_parse(&list, text, &err) < 0) {
		command_error("%s", err.text);
		return EXIT_FAILURE;
	}
	for (size_t i = 0; expand && i < list.n; i++)
		puts(list.name[i]);
	if (!expand) {
		hostlist_format((const char *const *)list.name, list.n, &out);
		puts(out.data ? out.data : "");
	}
	buf_free(&out);
	hostlist_free(&list);
	return EXIT_SUCCESS;
}

static int needs_daemon(int argc, char **argv)
{
	(void)argc, (void)argv;
	command_error("a pod does not reach aischedd; run this where jobs are "
	              "submitted");
	return EXIT_FAILURE;
}

static int scontrol(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[2] : "";
	const char *list = argc > 3 ? argv[3] : getenv("SLURM_JOB_NODELIST");

	if (argc > 2 && !strcmp(argv[1], "show")) {
		if (!strncmp(what, "hostname", 8))
			return show_names(list, true);
		if (!strncmp(what, "hostlist", 8))
			return show_names(list, false);
	}
	return needs_daemon(argc, argv);
}

/* --- the table of commands ------------------------------------------------ */

static const struct slurm_command table[] = {
	{ "sacct", needs_daemon },
	{ "sbatch", needs_daemon },
	{ "scancel", needs_daemon },
	{ "scontrol", scontrol },
	{ "sinfo", needs_daemon },
	{ "squeue", needs_daemon },
	{ "srun", srun },
	{ NULL, NULL },
};

int pod_command(const char *name, int argc, char **argv)
{
	for (const struct slurm_command *c = table; c->name; c++)
		if (!strcmp(c->name, name))
			return c->run(argc, argv);
	return -1;
}

/* --- installing ----------------------------------------------------------- */

static int copy(const char *from, const char *to)
{
	int in = open(from, O_RDONLY | O_CLOEXEC);
	int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
	struct stat st;
	off_t left;
	int rc = -1;

	if (in >= 0 && out >= 0 && fstat(in, &st) == 0) {
		for (left = st.st_size; left > 0;) {
			ssize_t n = sendfile(out, in, NULL, (size_t)left);

			if (n <= 0)
				break;
			left -= n;
		}
		rc = left ? -1 : fchmod(out, 0755);
	}
	if (in >= 0)
		close(in);
	if (out >= 0)
		close(out);
	return rc;
}

int pod_install(const char *program, const char *folder)
{
	char *to = xasprintf("%s/aisched-pod", folder);

	/* The init container may run more than once: replace the file. */
	unlink(to);
	if (copy(program, to) < 0)
		goto failed;
	for (const struct slurm_command *c = table; c->name; c++) {
		free(to);
		to = xasprintf("%s/%s", folder, c->name);
		unlink(to);
		if (symlink("aisched-pod", to) < 0)
			goto failed;
	}
	free(to);
	return EXIT_SUCCESS;
failed:
	command_error("cannot make '%s': %s", to, strerror(errno));
	free(to);
	return EXIT_FAILURE;
}

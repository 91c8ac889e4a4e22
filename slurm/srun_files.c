/*
 * srun_files.c - the files of a step
 *
 * A file with the same name for all tasks is opened once, by srun. A file whose
 * name has %t, %s or %J is opened by each task, because only the task knows
 * what these stand for.
 */
#include "slurm/srun_files.h"

#include <ctype.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "libcommon/parse.h"

static const char *variable(const char *name, const char *otherwise)
{
	const char *value = getenv(name);

	return value && *value ? value : otherwise;
}

/* Append what %LETTER stands for, padded with zeros to width. Returns false if
 * the letter is unknown or stands for something else in each task. */
static bool expand_one(char letter, int width, const struct srun_job *job,
                       struct buf *out)
{
	struct passwd *pw;

	switch (letter) {
	case 'j':
		buf_printf(out, "%0*lld", width, (long long)job->id);
		return true;
	case 'A':
		buf_puts(out, variable("SLURM_ARRAY_JOB_ID",
		                       variable("SLURM_JOB_ID", "0")));
		return true;
	case 'a':
		buf_puts(out, variable("SLURM_ARRAY_TASK_ID", "4294967294"));
		return true;
	case 'x':
		buf_puts(out, variable("SLURM_JOB_NAME", ""));
		return true;
	case 'N':
		buf_add(out, job->node, strcspn(job->node, "."));
		return true;
	case 'n':
		buf_printf(out, "%0*d", width, 0);
		return true;
	case 'u':
		pw = getpwuid(geteuid());
		buf_puts(out, pw ? pw->pw_name : variable("USER", ""));
		return true;
	default:
		return false;
	}
}

/* Expand what srun knows. Returns whether something is left for the tasks to
 * expand. */
static bool expand(const char *pattern, const struct srun_job *job,
                   struct buf *out)
{
	bool left = false;

	for (const char *p = pattern; *p; p++) {
		const char *q = p + 1;
		int width = 0;

		if (*p != '%') {
			buf_addc(out, *p);
			continue;
		}
		for (; isdigit((unsigned char)*q); q++)
			width = width < 10 ? width * 10 + *q - '0' : 10;
		if (expand_one(*q, width < 10 ? width : 10, job, out)) {
			p = q;
			continue;
		}
		left = left || (*q && strchr("tsJ%", *q));
		buf_addc(out, '%');
		if (*q == '%') {
			buf_addc(out, '%');
			p = q;
		}
	}
	return left;
}

static bool absolute(const char *name, struct buf *out, struct err *err)
{
	char *cwd;

	if (*name == '/')
		return true;
	cwd = getcwd(NULL, 0);
	if (!cwd) {
		err_sys(err, "cannot find the working directory");
		return false;
	}
	buf_printf(out, "%s/", cwd);
	free(cwd);
	return true;
}

static int open_one(const struct srun *srun, const struct srun_job *job, int i,
                    struct srun_files *f, struct err *err)
{
	static const char *const names[] = { "stdin", "stdout", "stderr" };
	struct buf *name = &f->name[i];
	int flags =
	    O_WRONLY | O_CREAT | O_APPEND | (srun->append ? 0 : O_TRUNC);
	struct buf path = { 0 };

	if (!absolute(srun->file[i], name, err))
		return -1;
	if (expand(srun->file[i], job, name))
		return 0;
	step_file_expand(name->data, (uint64_t)job->id, 0, 0, &path);
	buf_free(name);
	f->fd[i] =
	    open(path.data, (i == 0 ? O_RDONLY : flags) | O_CLOEXEC, 0666);
	buf_free(&path);
	return f->fd[i] >= 0 ? 0
	                     : err_sys(err, "Could not open %s file", names[i]);
}

static bool is_null(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) &&
	       st.st_rdev == makedev(1, 3);
}

static int open_null(struct srun_files *f, int i, struct err *err)
{
	f->fd[i] = open("/dev/null", O_RDWR | O_CLOEXEC);
	return f->fd[i] < 0 ? err_sys(err, "cannot open /dev/null") : 0;
}

static int choose(const struct srun *srun, const struct srun_job *job, int i,
                  struct srun_files *f, struct err *err)
{
	const char *text = srun->file[i];
	bool ours = true;

	f->fd[i] = i;
	f->task[i] = STEP_ALL_TASKS;
	if (text && !strcmp(text, "none"))
		return open_null(f, i, err);
	if (text && strcmp(text, "all") != 0 &&
	    parse_int(text, 0, STEP_TASKS_MAX - 1, &f->task[i], NULL) < 0) {
		ours = false;
		if (open_one(srun, job, i, f, err) < 0)
			return -1;
	}
	/* Without -e, standard error goes to the file of -o, as in Slurm. */
	if (i == 2 && !text && srun->file[1] &&
	    !strchr("0123456789", *srun->file[1]) &&
	    strcmp(srun->file[1], "all") != 0) {
		f->fd[2] = f->fd[1];
		f->task[2] = f->task[1];
		if (f->name[1].len)
			buf_puts(&f->name[2], f->name[1].data);
		f->copies[2] = job->remote && f->copies[1];
		return 0;
	}
	/* Do not pass root's terminal to the processes of a user, which could
	 * read from it: copy through pipes. */
	if (job->remote || (geteuid() == 0 && !srun->pty && isatty(f->fd[i])))
		f->copies[i] = !f->name[i].len && !is_null(f->fd[i]);
	else if (i == 0)
		f->copies[0] =
		    ours && f->task[0] < 0 && srun->tasks > 1 && !is_null(0);
	else
		f->copies[i] = srun->label && !f->name[i].len;
	return 0;
}

int srun_files_open(const struct srun *srun, const struct srun_job *job,
                    struct srun_files *ret, struct err *err)
{
	*ret = (struct srun_files){ 0 };
	for (int i = 0; i < 3; i++)
		if (choose(srun, job, i, ret, err) < 0)
			return -1;
	return 0;
}

void srun_files_free(struct srun_files *files)
{
	for (int i = 0; i < 3; i++)
		buf_free(&files->name[i]);
}

/* step_record.c - the record of a job's steps */
#include "aischedd/run/shepherd/step_record.h"

#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "libcommon/clean.h"

enum { NAME_BYTES = 64 };

/* Append a line to the record. If the disk is full, only this line is lost. */
static void add_line(const struct shepherd *s, json_t *obj)
{
	int fd = openat(s->dirfd, STEP_RECORD,
	                O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC,
	                0600);
	char *text = json_dumps(obj, JSON_COMPACT);

	if (fd >= 0 && text && dprintf(fd, "%s\n", text) < 0)
		errno = 0;
	if (fd >= 0)
		close(fd);
	free(text);
	json_decref(obj);
}

void step_record_begin(const struct shepherd *s, const struct job_step *step)
{
	char *name = xstrndup(step->req.name, NAME_BYTES);

	name[text_clean(name, strlen(name))] = '\0';
	add_line(s, json_pack("{s:I s:s s:I s:I s:I s:i s:I}", "step",
	                      (json_int_t)step->id, "name", name, "tasks",
	                      (json_int_t)step->req.tasks, "cpus",
	                      (json_int_t)(step->cpus_milli + 999) / 1000,
	                      "mem_mib", (json_int_t)step->mem_mib, "gpus",
	                      __builtin_popcountll(step->gpus), "start",
	                      (json_int_t)step->start));
	free(name);
}

/* Returns the wait status of the task with the highest exit code, where a
 * signal counts as 128 plus its number, as in srun. */
static int worst_status(const struct job_step *step)
{
	int worst = 0, code = 0;

	for (uint32_t i = 0; i < step->begun; i++) {
		int status = step->task[i].status;
		int has = WIFSIGNALED(status) ? 128 + WTERMSIG(status)
		                              : WEXITSTATUS(status);

		if (has > code) {
			code = has;
			worst = status;
		}
	}
	return worst;
}

void step_record_end(const struct shepherd *s, const struct job_step *step)
{
	int worst = worst_status(step);

	add_line(s,
	         json_pack("{s:I s:I s:i s:i s:s s:I s:I}", "step",
	                   (json_int_t)step->id, "end", (json_int_t)time(NULL),
	                   "exit_code",
	                   WIFEXITED(worst) ? WEXITSTATUS(worst) : 0, "signal",
	                   WIFSIGNALED(worst) ? WTERMSIG(worst) : 0, "why",
	                   step->by_time                    ? "time"
	                   : step->stopping || step->by_job ? "cancel"
	                                                    : "",
	                   "cpu_ms", (json_int_t)step->cpu_us / 1000,
	                   "peak_kib", (json_int_t)step->peak_kib));
}

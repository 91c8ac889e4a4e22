/*
 * batch.h - prepare and send a script and the job that runs it
 *
 * aisub and sbatch use this code after they have read their options.
 */
#ifndef LIBCOMMON_CLIENT_BATCH_H
#define LIBCOMMON_CLIENT_BATCH_H

#include <jansson.h>
#include <stdbool.h>

#include "libcommon/buf.h"
#include "libcommon/client/retry.h"
#include "libcommon/err.h"
#include "libcommon/spec/spec_opt.h"

/* Open a script: in the current folder or, if it is not there and its name has
 * no slash, in a folder of $PATH. Returns -1 with errno set. */
int batch_open(const char *name);

/* Read a whole script; messages call it `name`. Fails with E2BIG if it has more
 * than LIMIT_SCRIPT_MAX bytes, or like read(2). */
int batch_read(int fd, const char *name, struct buf *ret, struct err *err);

/* Facts about a job that are not options. */
struct batch_job {
	const char *name; /* name of the job, unless an option gives one */
	/* the command that `aiq JOB` shows; NULL: none */
	const char *command;
	bool once;   /* run the script once, not in each task */
	char **args; /* arguments of the script; ends with NULL */
};

/* Set the fields of the job that no option has set. Fails with EINVAL if an
 * argument is not UTF-8, or like getcwd(3). */
int batch_complete(struct submit *submit, const struct batch_job *job,
                   struct err *err);

/* Check with folder_check() that the output files of the job can be created,
 * unless they may be on another machine or in a container. */
int batch_check_files(const struct submit *submit, struct err *err);

/* Check that the options of recurring work are compatible with the others.
 * Fails with EINVAL. */
int batch_check_cron(const struct submit *submit, struct err *err);

/* Returns the options of recurring work as requests have them: {"cron":
 * text, ...}. */
json_t *batch_cron(const struct submit_cron *cron);

/*
 * Choose what the request leaves open (choose.h), append the environment to
 * `script`, and submit the job with both. The job is submitted only once, even
 * if the connection is lost and the request repeated. Returns the daemon's
 * answer. Fails like retry_call() and export_env().
 */
json_t *batch_send(struct retry *retry, const struct submit *submit,
                   struct buf *script, struct err *err);

#endif

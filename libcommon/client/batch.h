/*
 * batch.h - prepare and send a script and the job that runs it
 *
 * The part that aisub and sbatch share, once the options are known.
 */
#ifndef LIBCOMMON_CLIENT_BATCH_H
#define LIBCOMMON_CLIENT_BATCH_H

#include <jansson.h>
#include <stdbool.h>

#include "libcommon/buf.h"
#include "libcommon/client/retry.h"
#include "libcommon/err.h"
#include "libcommon/spec/spec_opt.h"

/* Open a script as the shell finds commands: here, then in $PATH.  Returns -1
 * with errno set. */
int batch_open(const char *name);

/* Read all of it, at most LIMIT_SCRIPT_MAX.  name is for messages.  Fails with
 * E2BIG or as read(). */
int batch_read(int fd, const char *name, struct buf *ret, struct err *err);

/* Facts about a job that are not options. */
struct batch_job {
	const char *name;    /* unless an option gives one */
	const char *command; /* for people; NULL: none */
	bool once;           /* run the script once, not in each task */
	char **args;         /* of the script; ends with NULL */
};

/* Set what the options left open. Fails with EINVAL if an argument is not
 * UTF-8, or as getcwd(). */
int batch_complete(struct submit *submit, const struct batch_job *job,
                   struct err *err);

/* Check that the files of the job could be made; as folder_check(). */
int batch_check_files(const struct submit *submit, struct err *err);

/* Check that the options of recurring work are compatible with the others.
 * Fails with EINVAL. */
int batch_check_cron(const struct submit *submit, struct err *err);

/* Returns these options in the daemon's form: {"cron": text, ...}. */
json_t *batch_cron(const struct submit_cron *cron);

/*
 * Choose what the request leaves open, see choose.h, and send the job with its
 * script, behind which the environment is put.  It is submitted once, however
 * often the connection is lost.  Fails as retry_call() and export_env() do.
 */
json_t *batch_send(struct retry *retry, const struct submit *submit,
                   struct buf *script, struct err *err);

#endif

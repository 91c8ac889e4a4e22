/*
 * command.h - run commands of users in the pods of their jobs
 *
 * Each command gets the environment of the job, and a session of its own, which
 * is ended when the user disconnects.
 */
#ifndef AISCHEDD_RUN_KUBE_EXEC_COMMAND_H
#define AISCHEDD_RUN_KUBE_EXEC_COMMAND_H

#include <stdint.h>
#include <sys/queue.h>

#include "aischedd/run/runner.h"

struct kube;

struct kube_commands {
	TAILQ_HEAD(, kube_command) list;
	int64_t hang_up_ms; /* how long to wait for the end of a command whose
	                       user has left; 0: the default */
};

extern const struct runner_exec kube_command_calls;

void kube_command_free_all(struct kube *kube);

#endif

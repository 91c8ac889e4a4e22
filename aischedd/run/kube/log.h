/*
 * log.h - read the logs of containers while their pods exist
 */
#ifndef AISCHEDD_RUN_KUBE_LOG_H
#define AISCHEDD_RUN_KUBE_LOG_H

#include <stdbool.h>
#include <sys/queue.h>

#include "aischedd/run/log_file.h"
#include "aischedd/run/runner.h"
#include "libcommon/buf.h"

struct kube;

struct kube_logs {
	char *folder; /* folder of saved logs */
	TAILQ_HEAD(, run_log) readers;
};

/* Append the API path of a pod's log, with times, from the unix second `since`
 * on (-1: the whole log). The path ends in a query, to which the caller may add
 * parameters. */
void kube_log_path(const char *namespace, const char *pod,
                   const char *container, int64_t since, struct buf *path);

/* See runner_ops. */
struct run_log *kube_log_open(struct runner *r, const struct log_id *id,
                              bool follow, struct log_lines *lines,
                              const struct run_reader *reader);
void kube_log_pause(struct run_log *log, bool pause);
void kube_log_close(struct run_log *log);

/* Have kube_log_step() called soon. To be called when pods have changed. */
void kube_log_look(struct kube *kube);
/* Continue or end all readers. Called when pods have changed, and each
 * second. */
void kube_log_step(struct kube *kube);
void kube_log_free_all(struct kube *kube);

#endif

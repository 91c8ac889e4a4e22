/*
 * log.h - what containers print, while their pods are there
 *
 * log.c has it followed, for whoever wants to read it now; keep.c
 * keeps it when an attempt has ended.
 */
#ifndef AISCHEDD_RUN_KUBE_LOG_H
#define AISCHEDD_RUN_KUBE_LOG_H

#include "aischedd/run/kube/kube.h"
#include "aischedd/run/log_file.h"

/* Of the log of a pod, with times; more of a query may be added. */
void kube_log_path(const struct kube *kube, const char *pod,
                   const char *container, struct buf *path);

/* --- log_pods.c --- */

struct log_pod {
	struct log_id id;
	const struct kube_pod *pod; /* borrowed */
	bool gone;                  /* nobody has its output any more */
};

/* Those of an attempt that run or have run, in the order of their output; on
 * the heap. */
size_t kube_log_pods(struct kube *kube, const struct kube_owner *owner,
                     struct log_pod **ret);

/* See struct runner_ops. */
bool kube_log_next(struct runner *r, struct log_id *id, bool wait);

/* --- log.c: see struct runner_ops --- */

struct run_log *kube_log_open(struct runner *r, const struct log_id *id,
                              bool follow, struct log_lines *lines,
                              const struct run_reader *reader);
void kube_log_pause(struct run_log *log, bool pause);
void kube_log_close(struct run_log *log);

/* Pods have changed: soon step() is called, as it is each second. */
void kube_logs_look(struct kube *kube);
void kube_logs_step(struct kube *kube);
void kube_logs_free(struct kube *kube);

/* --- keep.c --- */

/* The logs of all pods that an attempt has now are read, and kept; when that
 * is done the attempt looks again. */
struct kube_keep *kube_keep_begin(struct kube *kube,
                                  const struct kube_owner *owner);
bool kube_keep_is_done(const struct kube_keep *keep);

/* Why one is not kept, for a person; NULL: all are. */
const char *kube_keep_lost(const struct kube_keep *keep);
void kube_keep_free(struct kube_keep *keep); /* NULL is fine */

#endif

/*
 * kube_log.h - what containers print, while their pods are there
 *
 * kube_log.c has it followed, for whoever wants to read it now; kube_keep.c
 * keeps it when an attempt has ended.
 */
#ifndef AISCHEDD_RUN_KUBE_LOG_H
#define AISCHEDD_RUN_KUBE_LOG_H

#include "aischedd/run/kube.h"
#include "aischedd/run/log_file.h"

/* Of the log of a pod, with times; more of a query may be added. */
void kube_log_path(const struct kube *kube, const char *pod, struct buf *path);

/* --- kube_log.c: see struct runner_ops --- */

int64_t kube_log_task(struct runner *r, uint64_t job, uint32_t attempt,
                      uint32_t from);
struct run_log *kube_log_open(struct runner *r, const struct log_id *id,
                              bool follow, struct log_lines *lines,
                              const struct run_reader *reader);
void kube_log_pause(struct run_log *log, bool pause);
void kube_log_close(struct run_log *log);

/* Pods have changed: soon step() is called, as it is each second. */
void kube_logs_look(struct kube *kube);
void kube_logs_step(struct kube *kube);
void kube_logs_free(struct kube *kube);

/* --- kube_keep.c --- */

/*
 * Whether the logs of its pods, which have ended, are kept, or cannot be.  If
 * not they are being read: it is stepped when they have been.
 */
bool kube_attempt_keep(struct kube_attempt *a);

/* Why one is not kept, for a person; NULL: all are. */
const char *kube_attempt_unkept(const struct kube_attempt *a);

void kube_attempt_keep_free(struct kube_attempt *a);

#endif

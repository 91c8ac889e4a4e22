/*
 * plugin.h - run a program that prints credentials, a kubeconfig's exec
 *
 * The program runs beside the loop, as the daemon's user, without a terminal,
 * in a process group of its own; it has a deadline. It prints an
 * ExecCredential.
 */
#ifndef AISCHEDD_RUN_KUBE_CLIENT_PLUGIN_H
#define AISCHEDD_RUN_KUBE_CLIENT_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#include "aischedd/run/kube/client/kubeconfig.h"
#include "libcommon/err.h"

struct event_base;

struct kube_credential;

/* cred: owned by the callee; NULL: it failed, and err has the reason
 * (EACCES). */
typedef void kube_plugin_fn(struct kube_credential *cred, const struct err *err,
                            void *arg);

struct kube_plugin_run;

/*
 * config, which has a plugin, is borrowed for the call. fn is called once, from
 * the loop, and frees the run, unless it is cancelled before. Returns NULL if
 * the program cannot be started.
 */
struct kube_plugin_run *kube_plugin_start(struct event_base *base,
                                          const struct kube_config *config,
                                          int64_t deadline_ms,
                                          kube_plugin_fn *fn, void *arg,
                                          struct err *err);
void kube_plugin_cancel(struct kube_plugin_run *run); /* NULL is allowed */

#endif

/*
 * plugin.h - credentials from a program, as a kubeconfig's exec names it
 *
 * The program runs beside the loop, as the daemon's user, with nobody to ask,
 * in a process group of its own; it has a deadline.  What it prints is an
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

/* cred: the receiver's; NULL: it failed, err says how (EACCES). */
typedef void kube_plugin_fn(struct kube_credential *cred, const struct err *err,
                            void *arg);

struct kube_plugin_run;

/*
 * config (with a plugin) is borrowed for the call.  fn is called once, from the
 * loop, unless the run is cancelled before; the run is not used after.
 * Fails: the program cannot be started; NULL.
 */
struct kube_plugin_run *kube_plugin_start(struct event_base *base,
                                          const struct kube_config *config,
                                          int64_t deadline_ms,
                                          kube_plugin_fn *fn, void *arg,
                                          struct err *err);
void kube_plugin_cancel(struct kube_plugin_run *run); /* NULL is fine */

#endif

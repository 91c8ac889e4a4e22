/*
 * plugin.h - run the exec program of a kubeconfig to get credentials
 *
 * The program runs as a child of the daemon, as the daemon's user, without a
 * terminal, in a process group of its own; it has a deadline. It prints an
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

/* cred: owned by the callee; NULL: the program failed, for the reason in err
 * (EACCES). */
typedef void kube_plugin_fn(struct kube_credential *cred, const struct err *err,
                            void *arg);

struct kube_plugin_run;

/*
 * Start the program of config, which is borrowed until this returns. fn is
 * called once, from the loop; then the run is freed. If the run is cancelled
 * before, fn is not called. Returns NULL if the program cannot be started.
 */
struct kube_plugin_run *kube_plugin_start(struct event_base *base,
                                          const struct kube_config *config,
                                          int64_t deadline_ms,
                                          kube_plugin_fn *fn, void *arg,
                                          struct err *err);
void kube_plugin_cancel(struct kube_plugin_run *run); /* NULL is allowed */

#endif

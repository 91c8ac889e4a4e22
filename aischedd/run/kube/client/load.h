/*
 * load.h - read a kubeconfig, and the files it names, in a thread
 *
 * These files may be on a network disk whose server is down, so that reading
 * them blocks. Therefore a thread reads them. The thread is not stopped at the
 * deadline.
 */
#ifndef AISCHEDD_RUN_KUBE_CLIENT_LOAD_H
#define AISCHEDD_RUN_KUBE_CLIENT_LOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "aischedd/run/kube/client/kubeconfig.h"
#include "libcommon/err.h"

struct event_base;
struct kube_load;

/*
 * config: owned by the callee; NULL: none, for the reason in err. over: this is
 * the last call; false: the deadline has passed, and fn is called again when
 * the files have been read.
 */
typedef void kube_load_fn(struct kube_config *config, const struct err *err,
                          bool over, void *arg);

/* Begin to read. path, context: as for kube_config_load(). fn is called on the
 * loop. Returns NULL with *err set if no thread can be started. */
struct kube_load *kube_load_start(struct event_base *base, const char *path,
                                  const char *context, int64_t deadline_ms,
                                  kube_load_fn *fn, void *arg, struct err *err);

/* Free `load`; the last call of fn does not free it. Afterwards fn is no longer
 * called. NULL is allowed. */
void kube_load_free(struct kube_load *load);

#endif

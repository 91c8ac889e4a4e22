/*
 * exec.h - a command in the container of a pod
 *
 * By the API's exec, which the node's kubelet carries out; so it needs nothing
 * of ours in the image. The command lives on if its connection is lost.
 */
#ifndef AISCHEDD_RUN_KUBE_EXEC_EXEC_H
#define AISCHEDD_RUN_KUBE_EXEC_EXEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libcommon/err.h"

struct kube;
struct kube_exec;

enum {
	KUBE_EXEC_MAX = 65536 /* bytes of a command: it becomes part of a URL */
};

struct kube_exec_wish {
	const char *pod, *container;
	const char *const *argv; /* ends with NULL; borrowed for the call */
	bool input, tty;
};

struct kube_exec_ops {
	/* A piece of its stdout (1) or stderr (2). */
	void (*output)(int stream, const void *data, size_t len, void *arg);
	/* There is room for more input. */
	void (*drained)(void *arg);
	/* It has ended with this exit status; or err says why it did not begin,
	 * or why its end is not known. Frees it. */
	void (*end)(int status, const struct err *err, void *arg);
};

/* Does not fail. */
struct kube_exec *kube_exec_open(struct kube *kube,
                                 const struct kube_exec_wish *wish,
                                 const struct kube_exec_ops *ops, void *arg);

/* end() will not be called; allowed in the functions above, too. */
void kube_exec_close(struct kube_exec *e);

/* Input that comes before the command has begun is lost: wait for drained(). */
void kube_exec_input(struct kube_exec *e, const void *data, size_t len);
void kube_exec_end_input(struct kube_exec *e);
void kube_exec_resize(struct kube_exec *e, uint16_t rows, uint16_t columns);
bool kube_exec_is_full(const struct kube_exec *e);
void kube_exec_pause(struct kube_exec *e, bool pause);

#endif

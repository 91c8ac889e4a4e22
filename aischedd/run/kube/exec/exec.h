/*
 * exec.h - run a command in the container of a pod
 *
 * Uses the exec call of the API, which the node's kubelet carries out, so the
 * image needs no program of ours. If the connection is lost, the command keeps
 * running.
 */
#ifndef AISCHEDD_RUN_KUBE_EXEC_EXEC_H
#define AISCHEDD_RUN_KUBE_EXEC_EXEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libcommon/err.h"

struct kube;
struct kube_exec;

struct kube_exec_wish {
	const char *namespace, *pod, *container;
	/* Ends with NULL, and becomes part of a URL. Borrowed until
	 * kube_exec_open() returns. */
	const char *const *argv;
	bool input, tty;
};

struct kube_exec_ops {
	/* The command printed to its stdout (1) or stderr (2). */
	void (*output)(int stream, const void *data, size_t len, void *arg);
	/* The node takes input, for the first time or again. */
	void (*drained)(void *arg);
	/* The command has ended with this exit status. If err is not NULL, it
	 * says why the command was not started, or why its end is not known.
	 * Afterwards the kube_exec is freed. */
	void (*end)(int status, const struct err *err, void *arg);
};

/* Start the command. Does not fail: errors go to end(). */
struct kube_exec *kube_exec_open(struct kube *kube,
                                 const struct kube_exec_wish *wish,
                                 const struct kube_exec_ops *ops, void *arg);

/* Free e without calling end(). Also allowed inside the functions of
 * kube_exec_ops. */
void kube_exec_close(struct kube_exec *e);

/* Send input to the command. Input sent before the first call of drained() is
 * lost, as the command has not begun. */
void kube_exec_input(struct kube_exec *e, const void *data, size_t len);
void kube_exec_end_input(struct kube_exec *e);
void kube_exec_resize(struct kube_exec *e, uint16_t rows, uint16_t columns);
bool kube_exec_is_full(const struct kube_exec *e);
void kube_exec_pause(struct kube_exec *e, bool pause);

#endif

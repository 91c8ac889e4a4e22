/*
 * munged.h - a private munged for a test
 *
 * It has a key and a socket of its own in a new folder; $AISCHED_MUNGE_SOCKET
 * is set to the socket. The kernel kills it when the test dies.
 */
#ifndef TESTS_UNIT_RPC_MUNGED_H
#define TESTS_UNIT_RPC_MUNGED_H

#include <sys/types.h>

struct munged {
	pid_t pid;
	char *dir, *socket;
};

/* Start munged and wait until it answers; if it does not, fail the test. */
void munged_start(struct munged *munged);
void munged_stop(struct munged *munged); /* removes the folder too */

#endif

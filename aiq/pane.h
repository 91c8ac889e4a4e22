/*
 * pane.h - the output of another aiq, as lines: a job, a log
 *
 * The text comes from a program of its own, so the view is never held up by
 * what that waits for.
 */
#ifndef AIQ_PANE_H
#define AIQ_PANE_H

#include <stdbool.h>
#include <sys/types.h>

#include "libcommon/buf.h"
#include "libcommon/err.h"

struct pane {
	int fd; /* -1: nothing is running */
	pid_t pid;
	struct buf text; /* clean: without what a terminal obeys */
	struct buf next; /* read, but not in text yet */
	/* text is added as it arrives, because the program follows */
	bool grows;
	int status; /* of the program that ended last */
};

/* Begin to run this program with the words, NULL at the end; grows: as above.
 * Text stays until the new one is complete. Fails with an errno of pipe() or
 * fork(). */
int pane_start(struct pane *pane, const char *const *word, bool grows,
               struct err *err);

/* Read what has arrived; returns whether the text has changed. */
bool pane_read(struct pane *pane);

/* End the program and forget its text. */
void pane_stop(struct pane *pane);

#endif

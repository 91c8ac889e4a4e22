/*
 * pane.h - the output of another aiq process, such as a job or a log, as lines
 *
 * The live view never blocks while that process waits for the daemon.
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
	struct buf text; /* the output, without control characters */
	struct buf next; /* what was read but is not in text yet */
	/* Output is added to text as it arrives, for programs that run on,
	 * like --log -f. If false, the whole output replaces text when the
	 * program has ended. */
	bool grows;
	int status; /* exit status of the program that ended last */
};

/* Start aiq with these arguments, which end with NULL, and set pane->grows. The
 * present text stays until the new one is complete. Fails with an errno value
 * of pipe(2) or fork(2). */
int pane_start(struct pane *pane, const char *const *word, bool grows,
               struct err *err);

/* Read what has arrived; returns whether the text has changed. */
bool pane_read(struct pane *pane);

/* End the program and forget its text. */
void pane_stop(struct pane *pane);

#endif

/*
 * log_size.h - how large the kept output is
 *
 * It is not counted as it is written. A thread adds up the sizes of all files
 * when metrics are read, but rests before it does so again: for LOG_SIZE_MS,
 * and for a hundred times as long as it took the last time.
 */
#ifndef AISCHEDD_LOG_SIZE_H
#define AISCHEDD_LOG_SIZE_H

#include "aischedd/daemon.h"

enum { LOG_SIZE_MS = 1000 };

/* Returns how many bytes there were when they were added up last, or -1. Starts
 * to add them up again if that is due. */
int64_t log_size(struct daemon *d);

void daemon_free_log_size(struct daemon *d);

#endif

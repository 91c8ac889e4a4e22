/*
 * log_size.h - how large the kept output is
 *
 * The size is not counted while output is written. When metrics are read, a
 * thread adds up the sizes of all files. Before it does so again, it rests for
 * LOG_SIZE_MS plus a hundred times the duration of the last count.
 */
#ifndef AISCHEDD_LOG_SIZE_H
#define AISCHEDD_LOG_SIZE_H

#include "aischedd/daemon.h"

enum { LOG_SIZE_MS = 1000 };

/* Returns the size in bytes that was found the last time, or -1 if none was
 * found yet. Starts to add up the files again if that is due. */
int64_t log_size(struct daemon *d);

void daemon_free_log_size(struct daemon *d);

#endif

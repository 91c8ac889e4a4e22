/*
 * cron_file.h - requests about cron files of other users, while these users are
 * looked up
 */
#ifndef AISCHEDD_OP_CRON_FILE_H
#define AISCHEDD_OP_CRON_FILE_H

#include "aischedd/daemon.h"

/* Free the waiting requests. Call it after daemon_free_crons(), which ends the
 * thread that looks up users. */
void daemon_free_file_asks(struct daemon *d);

#endif

/*
 * cron_file.h - requests for files of recurring work that wait until their
 * owners are looked up
 */
#ifndef AISCHEDD_OP_CRON_FILE_H
#define AISCHEDD_OP_CRON_FILE_H

#include "aischedd/daemon.h"

/* Free the waiting requests. Call it after daemon_free_crons(), which ends the
 * thread that looks up their owners. */
void daemon_free_file_asks(struct daemon *d);

#endif

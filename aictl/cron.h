/*
 * cron.h - what the files about recurring work share
 */
#ifndef AICTL_CRON_H
#define AICTL_CRON_H

#include "aictl/aictl.h"

/* Functions of `aictl cron VERB`: argv[0] is the verb. They report failures,
 * and return the exit status. */
typedef int cron_fn(struct ctl *ctl, int argc, char **argv);

cron_fn cron_list, cron_show, cron_act, cron_run,
    cron_update;                                        /* cron_entry.c */
cron_fn cron_import, cron_print, cron_edit, cron_clear; /* cron_file.c */

#endif

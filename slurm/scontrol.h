/*
 * scontrol.h - what the files of scontrol share
 */
#ifndef SLURM_SCONTROL_H
#define SLURM_SCONTROL_H

#include <stdbool.h>

#include "slurm/command.h"

struct scontrol {
	struct client *client; /* NULL until scontrol_connect() */
	bool one_line, quiet;
};

/* Connect, if that was not done. what is the call of Slurm that fails without
 * a daemon: "slurm_load_jobs". Prints why not, and returns false. */
bool scontrol_connect(struct scontrol *s, const char *what);

/* Each returns the exit status; words end with NULL. */
int scontrol_show(struct scontrol *s, char **words);
int scontrol_show_job(struct scontrol *s, const char *id);
int scontrol_show_partition(struct scontrol *s, const char *name);
int scontrol_show_node(struct scontrol *s, const char *name);

#endif

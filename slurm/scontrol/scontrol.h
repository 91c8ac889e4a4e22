/*
 * scontrol.h - what the files of scontrol share
 */
#ifndef SLURM_SCONTROL_SCONTROL_H
#define SLURM_SCONTROL_SCONTROL_H

#include <stdbool.h>

#include "slurm/command.h"

struct scontrol {
	struct client *client; /* NULL until scontrol_connect() */
	json_t *clusters;      /* NULL: not given */
	bool one_line, quiet;
};

/* Connect, unless that was done before. what is the call of Slurm that fails
 * without a daemon: "slurm_load_jobs". Prints why it failed, and returns false.
 */
bool scontrol_connect(struct scontrol *s, const char *what);

/*
 * Returns the jobs that words name: "12,13_4", "JobId=12". Returns NULL if one
 * is no id, after saying so.
 */
json_t *scontrol_ids(char *const *words);

/* Each returns the exit status; words begin with the verb and end with NULL. */
int scontrol_refuse(struct scontrol *s, char **words);
int scontrol_update(struct scontrol *s, char **words);
int scontrol_create(struct scontrol *s, char **words);
int scontrol_delete(struct scontrol *s, char **words);
int scontrol_show(struct scontrol *s, char **words);
int scontrol_show_job(struct scontrol *s, const char *id);
int scontrol_show_partition(struct scontrol *s, const char *name);
int scontrol_show_node(struct scontrol *s, const char *name);
int scontrol_show_reservation(struct scontrol *s, const char *name);
int scontrol_show_step(struct scontrol *s, const char *what);

#endif

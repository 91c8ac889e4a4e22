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
	bool one_line, quiet, details;
};

/* Connect to the daemon unless already connected. `what` is the function of
 * libslurm that would fail without a daemon, such as "slurm_load_jobs". Returns
 * false after printing why it failed. */
bool scontrol_connect(struct scontrol *s, const char *what);

/*
 * Returns the ids in `words`, such as "12,13_4" or "JobId=12". Returns NULL,
 * after printing why, if one is no id.
 */
json_t *scontrol_ids(char *const *words);
/* Returns the ids of the caller's jobs with this name that have not ended;
 * NULL, after printing why, if they cannot be read. */
json_t *scontrol_ids_of_name(struct scontrol *s, const char *name);

/* Whether the word is a name, perhaps shortened, but to no fewer than `least`
 * letters, in upper or lower case. */
bool scontrol_is_word(const char *name, size_t least, const char *word,
                      size_t len);

/* The verbs of scontrol. Each returns the exit status; words begin with the
 * verb and end with NULL, and there are as many as the verb needs. */
int scontrol_refuse(struct scontrol *s, char **words);
int scontrol_update(struct scontrol *s, char **words);
int scontrol_create(struct scontrol *s, char **words);
int scontrol_delete(struct scontrol *s, char **words);
int scontrol_show(struct scontrol *s, char **words);
int scontrol_show_partition(struct scontrol *s, const char *name);
int scontrol_show_node(struct scontrol *s, const char *name);
int scontrol_show_reservation(struct scontrol *s, const char *name);
int scontrol_show_step(struct scontrol *s, const char *what);

#endif

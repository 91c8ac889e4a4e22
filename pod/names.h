/*
 * names.h - Slurm's commands inside a pod
 *
 * srun runs steps, and scontrol expands and folds host names. The other
 * commands need the daemon, which pods cannot reach; they say so and fail.
 */
#ifndef POD_NAMES_H
#define POD_NAMES_H

/* Run the command with that name. Returns its exit status, or -1 if there is no
 * such command. */
int pod_command(const char *name, int argc, char **argv);

/* Copy the program into the folder, and make a link to it for each command. */
int pod_install(const char *program, const char *folder);

#endif

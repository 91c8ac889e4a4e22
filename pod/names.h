/*
 * names.h - Slurm's commands inside a pod
 *
 * srun runs steps; scontrol tells names of hosts; the others need the daemon,
 * which a pod does not reach, and say so.
 */
#ifndef POD_NAMES_H
#define POD_NAMES_H

/* Run the command of that name. Returns its exit status, -1 if there is none.
 */
int pod_command(const char *name, int argc, char **argv);

/* Copy the program at that path to the folder, with links for all names. */
int pod_install(const char *program, const char *folder);

#endif

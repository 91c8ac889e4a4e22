/*
 * srun_streams.h - copies between srun and the tasks
 */
#ifndef SLURM_SRUN_STREAMS_H
#define SLURM_SRUN_STREAMS_H

#include <poll.h>

#include "slurm/srun_files.h"

struct srun_streams;

struct srun_streams *srun_streams_new(const struct srun_files *files,
                                      int64_t tasks, bool label);
void srun_streams_free(struct srun_streams *streams);
/* Add our ends of a task's pipes, in the order in which the shepherd's message
 * has them. */
void srun_streams_add(struct srun_streams *streams, uint32_t rank,
                      const int *fd, int n);
/* Fill in what to poll for, at most srun_streams_most() entries; returns their
 * number. */
size_t srun_streams_poll(const struct srun_streams *streams,
                         struct pollfd *ret);
size_t srun_streams_most(const struct srun_streams *streams);
void srun_streams_move(struct srun_streams *streams, const struct pollfd *p,
                       size_t n);
/* Print what the tasks have written so far, up to 64 KiB of each. */
void srun_streams_catch_up(struct srun_streams *streams);
/* Whether the output of a task is still open. */
bool srun_streams_open(const struct srun_streams *streams);
/* Close the input of the tasks. */
void srun_streams_close_input(struct srun_streams *streams);

#endif

/*
 * sample.h - print periodically how busy GPUs are
 */
#ifndef GPU_SAMPLE_H
#define GPU_SAMPLE_H

#include <stdint.h>

#include "libcommon/err.h"

/*
 * Print a line at once, and then one each period, until nobody reads standard
 * output any longer:
 *
 *	40 1024 81559 -1 -1 -1
 *
 * `name` has UUIDs of GPUs, or indices in order of bus ids. The line has three
 * numbers for each: how busy the GPU is in percent, MiB in use, and MiB in all;
 * -1: not known. The numbers are from NVIDIA's library or, if there is none,
 * from the files of AMD's driver.
 *
 * A name like "GPU-0000/500" stands for 500 thousandths of the GPU: the line
 * then says what the processes of the cgroup in folder `cgroup`, which may be
 * NULL, use of this part (part.h).
 *
 * If the driver hangs, SIGALRM ends the process. Fails with ENOENT if there is
 * no driver, else like nvml_open().
 */
int sample_gpus(int64_t period_s, const char *cgroup, char *const *name, int n,
                struct err *err);

#endif

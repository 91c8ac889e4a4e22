/*
 * sample.h - what GPUs do now, once in a while
 */
#ifndef GPU_SAMPLE_H
#define GPU_SAMPLE_H

#include <stdint.h>

#include "libcommon/err.h"

/*
 * Print a line at once, and then one each period, as long as somebody reads
 * standard output:
 *
 *	40 1024 81559 -1 -1 -1
 *
 * three numbers for each of the GPUs that are named, by their UUIDs or by their
 * numbers in order of bus ids: how busy it is in percent, MiB in use, MiB in
 * all.  -1: not known.  NVIDIA's library is asked, or the files of AMD's driver
 * where there is no such library.
 *
 * A driver that hangs gets the process killed by a signal.  Fails with ENOENT
 * if there is no driver, else with the error of nvml_open().
 */
int sample_gpus(int64_t period_s, char *const *name, int n, struct err *err);

#endif

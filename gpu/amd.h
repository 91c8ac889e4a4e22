/*
 * amd.h - read the use of AMD GPUs from the sysfs files of their driver
 */
#ifndef GPU_AMD_H
#define GPU_AMD_H

#include <stdint.h>

/* Use of a GPU at this moment; -1: not known. */
struct gpu_now {
	int64_t percent, used_mib, total_mib;
};

/*
 * Open the folders of AMD's GPUs in order of bus ids, at most `most`; returns
 * how many.  AISCHED_SYSFS names the folder that stands in for /sys, for tests.
 * Owns: the caller closes them.
 */
int amd_open(int *ret_dirfd, int most);

/* Read the use of one GPU. */
void amd_read(int dirfd, struct gpu_now *ret);

#endif

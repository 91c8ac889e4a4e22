/*
 * amd.h - read the use of AMD GPUs from the sysfs files of their driver
 */
#ifndef GPU_AMD_H
#define GPU_AMD_H

#include <stdint.h>

/* How busy a GPU is, and its memory in use and in all; -1: not known. */
struct gpu_now {
	int64_t percent, used_mib, total_mib;
};

/*
 * Open the sysfs folders of AMD GPUs, in order of bus ids, at most `most`.
 * Returns how many there are; the caller closes the descriptors. Tests name
 * another folder in place of /sys in AISCHED_SYSFS.
 */
int amd_open(int *ret_dirfd, int most);

/* Read the use of one GPU. */
void amd_read(int dirfd, struct gpu_now *ret);

#endif

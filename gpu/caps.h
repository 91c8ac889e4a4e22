/*
 * caps.h - device files of MIG instances
 *
 * A process that uses a MIG instance must be able to open, besides /dev/nvidiaN
 * of its GPU, two files in /dev/nvidia-caps: that of the GPU instance, and that
 * of the compute instance in it. The driver tells their numbers in /proc, or in
 * the folder that AISCHED_PROC names.
 */
#ifndef GPU_CAPS_H
#define GPU_CAPS_H

/* Returns the major number of the files in /dev/nvidia-caps; -1: unknown. */
int caps_major(void);

/* Get the minor numbers of the files of a GPU instance and of a compute
 * instance in it. `gpu` is the minor number of the GPU. Returns -1 if the
 * driver does not tell them. */
int caps_minors(unsigned gpu, unsigned gpu_instance, unsigned compute_instance,
                int ret[2]);

#endif

/*
 * list.h - the GPUs of this machine
 */
#ifndef GPU_LIST_H
#define GPU_LIST_H

#include <jansson.h>

#include "gpu/nvml.h"
#include "libcommon/limits.h"

struct found_gpu {
	nvmlDevice_t device;
	nvmlPciInfo_t pci;
};

/* Find the GPUs, in order of bus ids; returns how many. */
unsigned find_gpus(const struct nvml *nvml, struct found_gpu ret[LIMIT_GPUS]);

/* clang-format off */
/*
 * Returns the GPUs in order of their bus ids, as CUDA numbers them
 * with CUDA_DEVICE_ORDER=PCI_BUS_ID:
 *
 *	{"driver": "550.54.15", "caps_major": 234, "gpus": [{
 *	 "uuid": "GPU-…", "minor": 0, "bus_id": "00000000:3b:00.0",
 *	 "name": "NVIDIA A100-SXM4-40GB", "memory_mib": 40960, "mig": false,
 *	 "instances": [{"uuid": "MIG-…", "name": "NVIDIA … MIG 1g.5gb",
 *	                "memory_mib": 4864, "slices": 1, "start": 0,
 *	                "size": 1, "caps": [12, 13]}],
 *	 "links": [0, 4, …]}]}
 *
 * "links" has the number of NVLinks to each GPU of the list, direct or through
 * a switch; "minor" is the N of /dev/nvidiaN. "caps_major" and "caps" are the
 * numbers of files in /dev/nvidia-caps (caps.h). Values that the driver does
 * not provide are null. The caller frees the object.
 */
/* clang-format on */
json_t *list_gpus(const struct nvml *nvml);

#endif

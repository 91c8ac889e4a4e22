/*
 * nvml.h - the part of NVIDIA's management library that we use
 *
 * The library is part of the driver and is loaded at run time, so it is not
 * needed to build this program. Types and names are those of its stable
 * API: https://docs.nvidia.com/deploy/nvml-api/
 */
#ifndef GPU_NVML_H
#define GPU_NVML_H

#include "libcommon/err.h"

/* The installed library lacks the function. */
#define NVML_FUNCTION_NOT_FOUND (-1)
#define NVML_LINKS_MAX          36
#define NVML_TEXT               96 /* bytes of a name or UUID */

typedef struct nvmlDevice_st *nvmlDevice_t;
typedef struct nvmlGpuInstance_st *nvmlGpuInstance_t;

typedef struct {
	char busIdLegacy[16];
	unsigned domain, bus, device, pciDeviceId, pciSubSystemId;
	char busId[32]; /* "00000000:3B:00.0" */
} nvmlPciInfo_t;

typedef struct {
	unsigned long long total, free, used; /* bytes */
} nvmlMemory_t;

typedef struct {
	unsigned version; /* NVML_MEMORY_V2 */
	/* bytes; in nvmlMemory_t, `used` includes what the driver reserves */
	unsigned long long total, reserved, free, used;
} nvmlMemory_v2_t;

#define NVML_MEMORY_V2 ((unsigned)sizeof(nvmlMemory_v2_t) | 2U << 24)

typedef struct {
	/* Percent of time in which they were busy lately. */
	unsigned gpu, memory;
} nvmlUtilization_t;

typedef struct {
	unsigned pid;
	unsigned long long usedGpuMemory; /* bytes, or NVML_NOT_AVAILABLE */
	unsigned gpuInstanceId, computeInstanceId;
} nvmlProcessInfo_t;

#define NVML_NOT_AVAILABLE (~0ULL)

typedef struct {
	unsigned pid;
	unsigned long long timeStamp; /* us */
	/* percent of the time up to then */
	unsigned smUtil, memUtil, encUtil, decUtil;
} nvmlProcessUtilizationSample_t;

typedef struct {
	unsigned start, size; /* memory slices */
} nvmlGpuInstancePlacement_t;

typedef struct {
	nvmlDevice_t device;
	unsigned id, profileId;
	nvmlGpuInstancePlacement_t placement;
} nvmlGpuInstanceInfo_t;

typedef struct {
	unsigned multiprocessorCount, sharedCopyEngineCount, sharedDecoderCount,
	    sharedEncoderCount, sharedJpegCount, sharedOfaCount,
	    gpuInstanceSliceCount, computeInstanceSliceCount;
	unsigned long long memorySizeMB;
} nvmlDeviceAttributes_t;

enum { NVML_LINK_TO_GPU = 0, NVML_LINK_TO_SWITCH = 2 };

/* Each function returns 0 or an error code; results are stored through the
 * pointers among its arguments. */
#define NVML_FUNCTIONS(X)                                                      \
	X(nvmlInit_v2, (void))                                                 \
	X(nvmlShutdown, (void))                                                \
	X(nvmlSystemGetDriverVersion, (char *text, unsigned size))             \
	X(nvmlDeviceGetCount_v2, (unsigned *ret))                              \
	X(nvmlDeviceGetHandleByIndex_v2, (unsigned index, nvmlDevice_t *ret))  \
	X(nvmlDeviceGetName, (nvmlDevice_t device, char *text, unsigned size)) \
	X(nvmlDeviceGetUUID, (nvmlDevice_t device, char *text, unsigned size)) \
	X(nvmlDeviceGetMinorNumber, (nvmlDevice_t device, unsigned *ret))      \
	X(nvmlDeviceGetPciInfo_v3, (nvmlDevice_t device, nvmlPciInfo_t * ret)) \
	X(nvmlDeviceGetMemoryInfo, (nvmlDevice_t device, nvmlMemory_t * ret))  \
	X(nvmlDeviceGetMemoryInfo_v2,                                          \
	  (nvmlDevice_t device, nvmlMemory_v2_t * ret))                        \
	X(nvmlDeviceGetUtilizationRates,                                       \
	  (nvmlDevice_t device, nvmlUtilization_t * ret))                      \
	X(nvmlDeviceGetComputeRunningProcesses_v3,                             \
	  (nvmlDevice_t device, unsigned *n, nvmlProcessInfo_t *ret))          \
	X(nvmlDeviceGetProcessUtilization,                                     \
	  (nvmlDevice_t device, nvmlProcessUtilizationSample_t * ret,          \
	   unsigned *n, unsigned long long since_us))                          \
	X(nvmlDeviceGetNvLinkState,                                            \
	  (nvmlDevice_t device, unsigned link, unsigned *ret))                 \
	X(nvmlDeviceGetNvLinkRemoteDeviceType,                                 \
	  (nvmlDevice_t device, unsigned link, int *ret))                      \
	X(nvmlDeviceGetNvLinkRemotePciInfo_v2,                                 \
	  (nvmlDevice_t device, unsigned link, nvmlPciInfo_t *ret))            \
	X(nvmlDeviceGetMigMode,                                                \
	  (nvmlDevice_t device, unsigned *current, unsigned *pending))         \
	X(nvmlDeviceGetMaxMigDeviceCount,                                      \
	  (nvmlDevice_t device, unsigned *ret))                                \
	X(nvmlDeviceGetMigDeviceHandleByIndex,                                 \
	  (nvmlDevice_t device, unsigned index, nvmlDevice_t *ret))            \
	X(nvmlDeviceGetGpuInstanceId, (nvmlDevice_t instance, unsigned *ret))  \
	X(nvmlDeviceGetComputeInstanceId,                                      \
	  (nvmlDevice_t instance, unsigned *ret))                              \
	X(nvmlDeviceGetGpuInstanceById,                                        \
	  (nvmlDevice_t device, unsigned id, nvmlGpuInstance_t *ret))          \
	X(nvmlGpuInstanceGetInfo,                                              \
	  (nvmlGpuInstance_t instance, nvmlGpuInstanceInfo_t * ret))           \
	X(nvmlDeviceGetAttributes_v2,                                          \
	  (nvmlDevice_t instance, nvmlDeviceAttributes_t * ret))

struct nvml {
	void *library;
#define NVML_MEMBER(name, args) int(*name) args;
	NVML_FUNCTIONS(NVML_MEMBER)
#undef NVML_MEMBER
};

/*
 * Load and initialize the library, or the one that AISCHED_NVML names. A
 * function that it lacks is replaced by one that fails with
 * NVML_FUNCTION_NOT_FOUND. Fails with ENOENT if there is no library; with
 * EPERM if we are root and AISCHED_NVML names a file that others could have
 * written; with EIO if the library does not initialize, for example because no
 * driver is loaded.
 */
int nvml_open(struct nvml *ret, struct err *err);
void nvml_close(struct nvml *nvml);

#endif

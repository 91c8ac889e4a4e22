/*
 * gpu_ask.h - ask the driver of GPUs, which may hang
 */
#ifndef AISCHEDD_RUN_LOCAL_GPU_ASK_H
#define AISCHEDD_RUN_LOCAL_GPU_ASK_H

#include <jansson.h>

#include "libcommon/err.h"

/*
 * Returns what aisched-gpu prints (gpu/list.h), or NULL. Owns: the caller frees
 * it. Fails with ETIMEDOUT if it takes longer than ms, with ENOENT if there is
 * no library of a driver or no such program, else with EIO.
 */
json_t *gpu_ask(int ms, struct err *err);

#endif

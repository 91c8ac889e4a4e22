/* gpu_ask.h - ask the GPU driver, which may hang */
#ifndef AISCHEDD_RUN_LOCAL_GPU_ASK_H
#define AISCHEDD_RUN_LOCAL_GPU_ASK_H

#include <jansson.h>

#include "libcommon/err.h"

/*
 * Returns what aisched-gpu prints (gpu/list.h), or NULL; the caller frees it.
 * Fails with ETIMEDOUT if that takes longer than ms, with ENOENT if the program
 * or a driver's library is missing, otherwise with EIO.
 */
json_t *gpu_ask(int ms, struct err *err);

#endif

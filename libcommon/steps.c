/* steps.c - count work */
#include "libcommon/steps.h"

_Thread_local uint64_t steps_so_far;

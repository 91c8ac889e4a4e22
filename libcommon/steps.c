/* steps.c - count the steps of work that each thread does */
#include "libcommon/steps.h"

_Thread_local uint64_t steps_so_far;

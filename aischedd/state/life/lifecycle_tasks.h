/*
 * lifecycle_tasks.h - add tasks to a running job, and remove them
 */
#ifndef AISCHEDD_STATE_LIFE_LIFECYCLE_TASKS_H
#define AISCHEDD_STATE_LIFE_LIFECYCLE_TASKS_H

#include "aischedd/state/life/lifecycle.h"

life_handler life_shrink, life_shrunk, life_grow, life_replaced;
life_handler life_tasks_lost;
life_handler life_found_running, life_found_suspended, life_found_completing;

#endif

/*
 * show_array.h - the sum of an array's tasks
 */
#ifndef AIQ_SHOW_ARRAY_H
#define AIQ_SHOW_ARRAY_H

#include "aiq/show.h"

/* Arrays that the command line names as a whole, without --tasks. */
struct arrays;

struct arrays *arrays_new(const struct aiq *aiq);
void arrays_free(struct arrays *arrays);
/* Add a row to the sum of its array; returns false if it is to be shown
 * separately. */
bool arrays_take(struct arrays *arrays, json_t *job);
/* Print the sums; first: nothing was printed before. */
void arrays_show(const struct arrays *arrays, bool first);

#endif

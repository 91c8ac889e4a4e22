/*
 * show_array.h - the sum of an array's tasks
 */
#ifndef AIQ_SHOW_ARRAY_H
#define AIQ_SHOW_ARRAY_H

#include "aiq/show.h"

/* Sums of the arrays that the command line names as a whole, if --tasks is
 * not given. */
struct arrays;

struct arrays *arrays_new(const struct aiq *aiq);
void arrays_free(struct arrays *arrays);
/* Add a row to the sum of its array. Returns false if the row belongs to none,
 * and is to be shown on its own. */
bool arrays_take(struct arrays *arrays, json_t *job);
/* Print the sums, with an empty line before each; before the first one only if
 * `first` is false. Shows an array of one row as a job. */
int arrays_show(const struct arrays *arrays, struct client *client, bool first,
                struct err *err);

#endif

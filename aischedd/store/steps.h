/*
 * steps.h - the records of steps that shepherds wrote, unchanged
 */
#ifndef AISCHEDD_STORE_STEPS_H
#define AISCHEDD_STORE_STEPS_H

#include "aischedd/store/store.h"

/* Keep the record for the next commit; the text is copied. */
void store_steps(struct store *store, uint64_t job, uint32_t attempt,
                 const struct buf *text);

/* Append the record of the last attempt of an ended job, if it has one. */
int store_steps_get(struct store *store, uint64_t job, struct buf *out,
                    struct err *err);

#endif

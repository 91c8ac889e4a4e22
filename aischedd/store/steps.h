/*
 * steps.h - store the records of job steps that shepherds wrote, unchanged
 */
#ifndef AISCHEDD_STORE_STEPS_H
#define AISCHEDD_STORE_STEPS_H

#include "aischedd/store/store.h"

/* Keep the record of an attempt's steps for the next commit; the text
 * is copied. */
void store_steps(struct store *store, uint64_t job, uint32_t attempt,
                 const struct buf *text);

/* Append to *out the steps' record of an ended job's last attempt; append
 * nothing if it has none. */
int store_steps_get(struct store *store, uint64_t job, struct buf *out,
                    struct err *err);

#endif

/*
 * submit.h - check a job without submitting it
 */
#ifndef AISCHEDD_OP_SUBMIT_H
#define AISCHEDD_OP_SUBMIT_H

#include "aischedd/op/op.h"
#include "libcommon/spec/spec.h"

/* Check whether this user may submit this job, without submitting it.
 * *ahead: number of jobs of the same message that were checked before. Fails
 * as state_check_submit(). */
int submit_check_one(struct daemon *d, const struct peer *peer,
                     const struct spec *spec, uint64_t *ahead,
                     uint32_t *ret_queue, struct err *err);

#endif

/*
 * fields.h - check the fields of a request
 */
#ifndef AISCHEDD_OP_FIELDS_H
#define AISCHEDD_OP_FIELDS_H

#include <jansson.h>

#include "libcommon/err.h"

/*
 * Check that a request has no fields but "op" and those in the list `fields`,
 * such as "ids=l signal=i", which has the name and the kind of each. The kinds
 * are t (text), i (integer), b (true or false), l (list of at most LIMIT_IDS
 * texts), o (object of texts) and j (list of objects). Fails with EPROTO.
 */
int fields_check(const char *fields, json_t *body, struct err *err);

#endif

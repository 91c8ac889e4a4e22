/*
 * fields.h - check the fields of a request
 */
#ifndef AISCHEDD_OP_FIELDS_H
#define AISCHEDD_OP_FIELDS_H

#include <jansson.h>

#include "libcommon/err.h"

/*
 * Check that a request has no fields but "op" and those in the list `fields`,
 * such as "ids=l signal=i", which has the name and the kind of each. Kinds are
 * t a text, i a whole number, b true or false, l a list of at most LIMIT_IDS
 * texts, o an object of texts, j a list of objects. Fails with EPROTO.
 */
int fields_check(const char *fields, json_t *body, struct err *err);

#endif

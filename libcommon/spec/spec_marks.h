/*
 * spec_marks.h - which fields of a request have changed
 *
 * The marks of a spec are a text with a hash of each field that is given:
 * "cpus=00f3…,mem=41ac…". Whoever keeps the marks of a request can tell later
 * which of its fields are different by then, without keeping their values.
 */
#ifndef LIBCOMMON_SPEC_SPEC_MARKS_H
#define LIBCOMMON_SPEC_SPEC_MARKS_H

#include "libcommon/buf.h"
#include "libcommon/spec/spec.h"

/* Append the marks of the spec. */
void spec_marks(const struct spec *spec, struct buf *out);

/* Copy each field from `from` to `to` whose mark differs between `marks` and
 * `others`, or is in only one of them. Texts are not copied, only the pointers
 * to them. */
void spec_take_marked(struct spec *to, const struct spec *from,
                      const char *marks, const char *others);

#endif

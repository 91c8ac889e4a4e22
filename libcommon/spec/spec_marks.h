/*
 * spec_marks.h - which fields of a request have changed
 *
 * The marks of a spec are a text with a hash of each field that is given:
 * "cpus=00f3…,mem=41ac…". A caller that keeps only the marks of a request can
 * compare them with the marks of a later one, to see which fields have changed.
 */
#ifndef LIBCOMMON_SPEC_SPEC_MARKS_H
#define LIBCOMMON_SPEC_SPEC_MARKS_H

#include "libcommon/buf.h"
#include "libcommon/spec/spec.h"

/* Append the marks of the spec. */
void spec_marks(const struct spec *spec, struct buf *out);

/* Copy to `to`, from `from`, each field whose mark in `marks` differs from that
 * in `others`, or is in only one of the two. A text is not copied, only its
 * pointer. */
void spec_take_marked(struct spec *to, const struct spec *from,
                      const char *marks, const char *others);

#endif

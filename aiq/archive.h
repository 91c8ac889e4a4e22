/*
 * archive.h - jobs in a file that `aictl history archive` made
 */
#ifndef AIQ_ARCHIVE_H
#define AIQ_ARCHIVE_H

#include "aiq/aiq.h"

/*
 * Answer a request for jobs or attempts from the file aiq->file, as the daemon
 * would: fn gets the rows as JSON or as values separated by tabs. Returns the
 * last part of the answer. Fails with EINVAL if the file is no archive, or if
 * its last line is missing.
 */
json_t *archive_rows(const struct aiq *aiq, const json_t *req,
                     client_part_fn *fn, void *arg, struct err *err);

#endif

/*
 * archive.h - jobs in a file that `aictl history archive` made
 */
#ifndef AIQ_ARCHIVE_H
#define AIQ_ARCHIVE_H

#include "aiq/aiq.h"

/*
 * Answer a request for jobs or attempts from the file, as the daemon would:
 * rows go to fn as JSON or text between tabs.  Fails with EINVAL if the file is
 * no archive, or has no end.
 */
json_t *archive_rows(const struct aiq *aiq, const json_t *req,
                     client_part_fn *fn, void *arg, struct err *err);

#endif

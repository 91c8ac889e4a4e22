/*
 * folder.h - check that the files of a job can be made
 *
 * The daemon cannot check that: it is not the user, and must not block.
 */
#ifndef LIBCOMMON_CLIENT_FOLDER_H
#define LIBCOMMON_CLIENT_FOLDER_H

#include "libcommon/err.h"

/*
 * Missing folders are made when the job starts, so only the deepest existing
 * one matters; parts after %j and the like are not checked. Fails with EACCES,
 * ENOTDIR, EROFS ...
 */
int folder_check(const char *workdir, const char *file, struct err *err);

#endif

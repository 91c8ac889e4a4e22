/*
 * folder.h - check that the files of a job can be created
 *
 * The daemon cannot check this: it does not run as the user, and must not block
 * on a file system.
 */
#ifndef LIBCOMMON_CLIENT_FOLDER_H
#define LIBCOMMON_CLIENT_FOLDER_H

#include "libcommon/err.h"

/*
 * Check the folder of a job's file, whose name may be relative to workdir.
 * Folders that are missing are made when the job starts, so only the deepest
 * existing one is checked; parts behind %j and the like are not checked. Fails
 * with EACCES, ENOTDIR, EROFS or the like.
 */
int folder_check(const char *workdir, const char *file, struct err *err);

#endif

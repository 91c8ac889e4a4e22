/*
 * folder.h - whether the files of a job could be made at all
 *
 * The daemon could not look: it is not the user, and must not block.
 */
#ifndef LIBCOMMON_FOLDER_H
#define LIBCOMMON_FOLDER_H

#include "libcommon/err.h"

/*
 * Missing folders are made when the job starts, so only the deepest one that
 * exists matters; what %j and others stand for is not looked at.
 * Fails: EACCES, ENOTDIR, EROFS ...
 */
int folder_check(const char *workdir, const char *file, struct err *err);

#endif

/* folder.c - check that the files of a job can be created */
#include "libcommon/client/folder.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libcommon/mem.h"

/* Shorten the path to its parent; returns false if it has none. */
static bool go_up(char *path)
{
	char *slash = strrchr(path, '/');

	if (!slash || !path[1])
		return false;
	slash[slash == path] = '\0';
	return true;
}

/* Check that files can be created in the deepest folder of path that exists. */
static int check_deepest(char *path, struct err *err)
{
	struct stat st;

	do {
		if (stat(path, &st) < 0) {
			if (errno == ENOENT || errno == ENOTDIR)
				continue;
			return err_sys(err, "'%s'", path);
		}
		if (!S_ISDIR(st.st_mode))
			return err_set(err, ENOTDIR, "'%s' is not a folder",
			               path);
		if (access(path, W_OK | X_OK) < 0)
			return err_sys(err, "cannot create files in '%s'",
			               path);
		return 0;
	} while (go_up(path));
	return 0;
}

int folder_check(const char *workdir, const char *file, struct err *err)
{
	char *path =
	    *file == '/' ? xstrdup(file) : xasprintf("%s/%s", workdir, file);
	char *pattern = strchr(path, '%');
	int result = 0;

	if (pattern)
		*pattern = '\0'; /* names from here on depend on the job */
	if ((pattern || access(path, F_OK) < 0) && go_up(path))
		result = check_deepest(path, err);
	free(path);
	if (result < 0 && *file != '/' && access(workdir, F_OK) < 0)
		return err_wrap(err, "working directory '%s' is not there",
		                workdir);
	return result < 0 ? err_wrap(err, "output '%s'", file) : 0;
}

/* nvml.c - load NVIDIA's management library */
#include "gpu/nvml.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libcommon/mem.h"

/* Stands in for a function that the installed library lacks. */
#define LACKS(name, args)                       \
	static int lacks_##name args            \
	{                                       \
		return NVML_FUNCTION_NOT_FOUND; \
	}
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
NVML_FUNCTIONS(LACKS)
#pragma GCC diagnostic pop

/* Refuse to load a library into a process of root if others could have written
 * the file. */
static int check_owner(const char *name, struct err *err)
{
	struct stat st;

	if (geteuid() != 0)
		return 0;
	if (*name != '/' || stat(name, &st) < 0 || !S_ISREG(st.st_mode))
		return err_set(err, EPERM,
		               "AISCHED_NVML: '%s' is not the full path of a "
		               "file",
		               name);
	if (st.st_uid == 0 && !(st.st_mode & (S_IWGRP | S_IWOTH)))
		return 0;
	return err_set(err, EPERM,
	               "AISCHED_NVML: '%s' must be root's, and writable for "
	               "root only",
	               name);
}

int nvml_open(struct nvml *ret, struct err *err)
{
	const char *named = getenv("AISCHED_NVML");
	const char *name = named && *named ? named : "libnvidia-ml.so.1";
	void *library;
	int code;

	if (name == named && check_owner(name, err) < 0)
		return -1;
	library = dlopen(name, RTLD_NOW);
	if (!library)
		return err_set(err, ENOENT, "%s", dlerror());
	*ret = (struct nvml){ .library = library };
#define FIND(name, args)                                           \
	{                                                          \
		void *found = dlsym(library, #name);               \
		if (found)                                         \
			memcpy(&ret->name, &found, sizeof(found)); \
		else                                               \
			ret->name = lacks_##name;                  \
	}
	NVML_FUNCTIONS(FIND)
#undef FIND
	code = ret->nvmlInit_v2();
	if (!code)
		return 0;
	dlclose(library);
	return err_set(err, EIO, "nvmlInit_v2() of %s fails with %d", name,
	               code);
}

void nvml_close(struct nvml *nvml)
{
	nvml->nvmlShutdown();
	dlclose(nvml->library);
}

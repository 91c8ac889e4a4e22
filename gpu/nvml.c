/* nvml.c - load NVIDIA's management library */
#include "gpu/nvml.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

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

int nvml_open(struct nvml *ret, struct err *err)
{
	void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
	int code;

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
	return err_set(err, EIO,
	               "nvmlInit_v2() of libnvidia-ml.so.1 fails "
	               "with %d",
	               code);
}

void nvml_close(struct nvml *nvml)
{
	nvml->nvmlShutdown();
	dlclose(nvml->library);
}

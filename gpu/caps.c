/* caps.c - device files of MIG instances */
#include "gpu/caps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static FILE *open_proc(const char *name)
{
	const char *named = getenv("AISCHED_PROC");
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", named && *named ? named : "/proc",
	         name);
	return fopen(path, "re");
}

int caps_major(void)
{
	FILE *f = open_proc("devices");
	char line[128], name[64];
	int major, found = -1;

	while (f && found < 0 && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%d %63s", &major, name) == 2 &&
		    !strcmp(name, "nvidia-caps"))
			found = major;
	}
	if (f)
		fclose(f);
	return found;
}

/* Returns the number in a file "access" of the driver; -1 if it has none. */
static int minor_in(const char *name)
{
	FILE *f = open_proc(name);
	char line[128];
	int minor, found = -1;

	while (f && found < 0 && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "DeviceFileMinor: %d", &minor) == 1)
			found = minor;
	}
	if (f)
		fclose(f);
	return found;
}

int caps_minors(unsigned gpu, unsigned gpu_instance, unsigned compute_instance,
                int ret[2])
{
	char folder[128], name[192];

	snprintf(folder, sizeof(folder),
	         "driver/nvidia/capabilities/gpu%u/mig/gi%u", gpu,
	         gpu_instance);
	snprintf(name, sizeof(name), "%s/access", folder);
	ret[0] = minor_in(name);
	snprintf(name, sizeof(name), "%s/ci%u/access", folder,
	         compute_instance);
	ret[1] = minor_in(name);
	return ret[0] < 0 || ret[1] < 0 ? -1 : 0;
}

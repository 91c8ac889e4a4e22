/* amd.c - read the use of AMD GPUs from the sysfs files of their driver */
#include "gpu/amd.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libcommon/mem.h"

#define DEVICES     "bus/pci/devices"
#define VENDOR      0x1002
#define DISPLAY     0x03 /* device classes of PCI */
#define ACCELERATOR 0x12

/* Returns the number in a file, or -1. */
static int64_t number_in(int dirfd, const char *name)
{
	int fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC);
	char text[64], *end;
	int64_t value;
	ssize_t n;

	if (fd < 0)
		return -1;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return -1;
	text[n] = '\0';
	value = strtoll(text, &end, 0);
	return end == text || value < 0 ? -1 : value;
}

/* Whether a PCI device is a GPU of AMD whose driver has the files that
 * we read. */
static bool is_gpu(int dirfd)
{
	int64_t kind = number_in(dirfd, "class") >> 16;

	return number_in(dirfd, "vendor") == VENDOR &&
	       (kind == DISPLAY || kind == ACCELERATOR) &&
	       faccessat(dirfd, "mem_info_vram_total", R_OK, 0) == 0;
}

/* Open the folder of a PCI device if the device is a GPU; returns 1 if so, else
 * 0. */
static int add_one(int parent, const char *name, int *ret)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return 0;
	if (is_gpu(fd)) {
		*ret = fd;
		return 1;
	}
	close(fd);
	return 0;
}

int amd_open(int *ret_dirfd, int most)
{
	const char *sys = getenv("AISCHED_SYSFS");
	char *path = xasprintf("%s/" DEVICES, sys && *sys ? sys : "/sys");
	struct dirent **entry = NULL;
	/* Sorting bus ids as texts is right: all have the same length. */
	int n = scandir(path, &entry, NULL, alphasort), found = 0;
	int parent = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	for (int i = 0; i < n; i++) {
		if (parent >= 0 && found < most && *entry[i]->d_name != '.')
			found += add_one(parent, entry[i]->d_name,
			                 &ret_dirfd[found]);
		free(entry[i]);
	}
	free(entry);
	if (parent >= 0)
		close(parent);
	free(path);
	return found;
}

static int64_t mib_of(int64_t bytes)
{
	return bytes < 0 ? -1 : bytes >> 20;
}

void amd_read(int dirfd, struct gpu_now *ret)
{
	ret->percent = number_in(dirfd, "gpu_busy_percent");
	ret->used_mib = mib_of(number_in(dirfd, "mem_info_vram_used"));
	ret->total_mib = mib_of(number_in(dirfd, "mem_info_vram_total"));
}

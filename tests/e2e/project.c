/*
 * project.c - give a folder a project with a quota, as a job's folder gets it
 *
 *	project FOLDER SECRET	gives it one of 4 MiB, and prints its id
 *	project FOLDER		takes the limit back
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "aischedd/run/quota.h"

int main(int argc, char **argv)
{
	int fd = argc > 1 ? open(argv[1], O_RDONLY | O_DIRECTORY) : -1;

	if (fd < 0)
		return 2;
	if (argc == 2)
		quota_close(fd);
	else
		printf("%" PRIu32 "\n",
		       quota_open(fd, (uint32_t)strtoul(argv[2], NULL, 10), 4));
	return 0;
}

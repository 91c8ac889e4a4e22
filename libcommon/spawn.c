/* spawn.c - start programs that an admin names */
#include "libcommon/spawn.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdint.h>

enum { ARGS_MAX = 8 };

int spawn_program(const char *const *argv, int in, int out, pid_t *ret)
{
	const char *args[ARGS_MAX + 4] = { "/bin/sh", "-c",
		                           "unset PWD; exec \"$0\" \"$@\"" };
	const char *const env[] = { "PATH=/usr/local/sbin:/usr/local/bin:"
		                    "/usr/sbin:/usr/bin:/sbin:/bin",
		                    NULL };
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sigset_t all, none;
	int code;

	for (size_t i = 0; i < ARGS_MAX && argv[i]; i++)
		args[3 + i] = argv[i];
	sigfillset(&all);
	sigemptyset(&none);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP |
	                                    POSIX_SPAWN_SETSIGDEF |
	                                    POSIX_SPAWN_SETSIGMASK);
	posix_spawnattr_setsigdefault(&attr, &all);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawn_file_actions_init(&files);
	if (in < 0)
		posix_spawn_file_actions_addopen(&files, 0, "/dev/null",
		                                 O_RDONLY, 0);
	else
		posix_spawn_file_actions_adddup2(&files, in, 0);
	posix_spawn_file_actions_adddup2(&files, out, 1);
	posix_spawn_file_actions_adddup2(&files, out, 2);
	code = posix_spawn(ret, args[0], &files, &attr,
	                   (char **)(uintptr_t)args, (char **)(uintptr_t)env);
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attr);
	return code;
}

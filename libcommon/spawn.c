/* spawn.c - start programs and threads */
#include "libcommon/spawn.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libcommon/mem.h"

/* A shell sets PWD in the environment: unset it again before the
 * program starts. */
static const char *const shell[] = { "/bin/sh", "-c",
	                             "unset PWD; exec \"$0\" \"$@\"" };

static const char **shell_argv(const char *const *argv)
{
	const char **ret;
	size_t n = 0;

	while (argv[n])
		n++;
	ret = xcalloc(ARRAY_SIZE(shell) + n + 1, sizeof(*ret));
	memcpy(ret, shell, sizeof(shell));
	memcpy(ret + ARRAY_SIZE(shell), argv, n * sizeof(*argv));
	return ret;
}

static void add_files(const struct spawn *s, posix_spawn_file_actions_t *files)
{
	for (size_t i = 0; i < s->nfd; i++) {
		if (s->fd[i] < 0)
			posix_spawn_file_actions_addopen(
			    files, (int)i, "/dev/null", O_RDWR, 0);
		else
			posix_spawn_file_actions_adddup2(files, s->fd[i],
			                                 (int)i);
	}
	/* Duplicating a descriptor onto itself keeps it open across exec. */
	if (s->keep)
		posix_spawn_file_actions_adddup2(files, s->keep, s->keep);
}

int spawn(const struct spawn *s, pid_t *ret)
{
	const char **args = s->by_shell ? shell_argv(s->argv) : NULL;
	const char *const *argv = args ? args : s->argv;
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sigset_t all, none;
	int code;

	sigfillset(&all);
	sigemptyset(&none);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setflags(
	    &attr,
	    (short)(s->group | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK));
	posix_spawnattr_setsigdefault(&attr, &all);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawn_file_actions_init(&files);
	add_files(s, &files);
	code =
	    posix_spawn(ret, argv[0], &files, &attr, (char **)(uintptr_t)argv,
	                s->env ? (char **)(uintptr_t)s->env : environ);
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attr);
	free(args);
	return code;
}

int spawn_program(const char *const *argv, int in, int out, pid_t *ret)
{
	static const char *const env[] = {
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:"
		"/bin",
		NULL
	};
	const struct spawn s = { .argv = argv,
		                 .env = env,
		                 .fd = (int[]){ in, out, out },
		                 .nfd = 3,
		                 .group = POSIX_SPAWN_SETPGROUP,
		                 .by_shell = true };

	return spawn(&s, ret);
}

int spawn_thread(void *(*fn)(void *arg), void *arg)
{
	pthread_attr_t attr;
	sigset_t all, was;
	pthread_t thread;
	int code;

	sigfillset(&all);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_sigmask(SIG_SETMASK, &all, &was);
	code = pthread_create(&thread, &attr, fn, arg);
	pthread_sigmask(SIG_SETMASK, &was, NULL);
	pthread_attr_destroy(&attr);
	return code;
}

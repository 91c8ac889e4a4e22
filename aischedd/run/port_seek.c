#include "aischedd/run/port_seek.h"

#include <jansson.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "libcommon/fdpass.h"

#define SEEK_CPU_S 1 /* most CPU time for one port */
#define SEEK_S     5 /* longest time for one port */

/* Let the kernel kill this process if it takes too long, or its parent ends. */
static void limit_self(pid_t parent)
{
	const struct rlimit cpu = { SEEK_CPU_S, SEEK_CPU_S };
	sigset_t alarms;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(EXIT_FAILURE);
	setrlimit(RLIMIT_CPU, &cpu);
	alarm(SEEK_S);
	sigemptyset(&alarms);
	sigaddset(&alarms, SIGALRM);
	sigprocmask(SIG_UNBLOCK, &alarms, NULL);
}

static void answer(int client, json_t *msg, int fd)
{
	char *text = json_dumps(msg, JSON_COMPACT);

	fdpass_send(client, text, strlen(text), &fd, fd >= 0, MSG_DONTWAIT);
}

pid_t port_seek(int client, uint16_t port, uid_t uid, port_each_fn *each,
                void *arg, struct err *err)
{
	pid_t parent = getpid(), pid = fork();
	int fd;

	if (pid < 0)
		return err_sys(err, "cannot start a process");
	if (pid > 0)
		return pid;
	limit_self(parent);
	fd = port_connect(port, uid, each, arg, err);
	if (fd >= 0)
		answer(client, json_pack("{s:i}", "port", port), fd);
	else
		answer(client,
		       json_pack("{s:s s:i}", "error", err->text, "code",
		                 err->code),
		       -1);
	_exit(EXIT_SUCCESS);
}

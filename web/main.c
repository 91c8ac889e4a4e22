/*
 * aisched-web - serve the page, metrics and health of a daemon
 *
 *	aisched-web NLISTENERS UID GID METRICS HEADER UIDS [HOST]...
 *
 * The daemon starts this program with these descriptors: 3 is one end of a
 * socket pair; 4 is a pipe, whose closing tells the daemon that the program has
 * ended; 5 and all following ones are listening sockets. The program first
 * gives up all privileges, and opens no files.
 */
#include <err.h>
#include <errno.h>
#include <event2/event.h>
#include <grp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "libcommon/opt.h"
#include "libcommon/parse.h"
#include "web/serve.h"
#include "web/site.h"

enum { LINK_FD = 3, FIRST_LISTENER = 5 };

static void end(void)
{
	_exit(EXIT_SUCCESS);
}

static void drop_privileges(const char *uid, const char *gid)
{
	const struct rlimit no_files = { 2048, 2048 };
	int64_t u, g;

	if (*uid) {
		if (parse_int(uid, 1, UINT32_MAX, &u, NULL) < 0 ||
		    parse_int(gid, 0, UINT32_MAX, &g, NULL) < 0)
			errx(EXIT_FAILURE, "bad uid or gid");
		if (setgroups(0, NULL) < 0 ||
		    setresgid((gid_t)g, (gid_t)g, (gid_t)g) < 0 ||
		    setresuid((uid_t)u, (uid_t)u, (uid_t)u) < 0)
			err(EXIT_FAILURE, "cannot give up privileges");
	}
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || chdir("/") < 0)
		err(EXIT_FAILURE, "cannot give up privileges");
	setrlimit(RLIMIT_NOFILE, &no_files);
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

int main(int argc, char **argv)
{
	struct event_base *base;
	struct web_link *link;
	struct site_conf conf;
	struct site *site;
	struct err why;
	int64_t n;

	if (argc < 7 || parse_int(argv[1], 1, 64, &n, NULL) < 0)
		errx(EXIT_USAGE, "the daemon starts this program: set http in "
		                 "aischedd.conf");
	drop_privileges(argv[2], argv[3]);
	signal(SIGPIPE, SIG_IGN);
	base = event_base_new();
	if (!base)
		errx(EXIT_FAILURE, "cannot make an event loop");
	link = web_link_new(base, LINK_FD, end);
	conf = (struct site_conf){ .metrics = argv[4],
		                   .proxy_header = argv[5],
		                   .proxy_uids = argv[6],
		                   .hosts = argv + 7 };
	site = site_new(link, &conf);
	for (int i = 0; i < (int)n; i++)
		if (serve_start(site, base, FIRST_LISTENER + i, &why) < 0)
			errx(EXIT_FAILURE, "%s", why.text);
	event_base_dispatch(base);
	return EXIT_FAILURE;
}

/* whatif.c - simulate the past with another configuration */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "aictl/aictl.h"
#include "aictl/command.h"
#include "libcommon/buf.h"
#include "libcommon/mem.h"
#include "libcommon/parse.h"
#include "libcommon/spawn.h"

#define AT(member) .offset = offsetof(struct ctl, whatif.member)

const struct opt whatif_opts[] = {
	{ 'c', "config", "FILE", "the other configuration", opt_set_text,
	  AT(conf) },
	{ 0, "since", "TIME", "jobs that ended since then, or so long ago (7d)",
	  opt_set_text, AT(since) },
	{ 0, "until", "TIME", "jobs that ended until then", opt_set_text,
	  AT(until) },
	OPT_END
};

enum { WORDS = 20 };

/* A temporary folder that only this user can read, and the files in it: the
 * trace of past jobs, and the daemon's present configuration. */
struct workplace {
	char *folder, *past, *now;
};

static int make_work(struct workplace *w, struct err *err)
{
	const char *tmp = getenv("TMPDIR");

	w->folder =
	    xasprintf("%s/aictl.XXXXXX", tmp && *tmp == '/' ? tmp : "/tmp");
	if (!mkdtemp(w->folder)) {
		free(w->folder);
		w->folder = NULL;
		return err_sys(err, "cannot make a folder in '%s'",
		               tmp && *tmp == '/' ? tmp : "/tmp");
	}
	w->past = xasprintf("%s/past.jsonl", w->folder);
	w->now = xasprintf("%s/now.conf", w->folder);
	return 0;
}

static void remove_work(struct workplace *w)
{
	if (w->folder) {
		unlink(w->past);
		unlink(w->now);
		rmdir(w->folder);
	}
	free(w->past);
	free(w->now);
	free(w->folder);
}

static int put_part(const void *data, size_t len, void *arg)
{
	return fwrite(data, 1, len, arg) == len ? 0 : -1;
}

/* Write the daemon's present configuration to a file. */
static int fetch_conf(struct ctl *ctl, const char *path, struct err *err)
{
	json_t *req = json_pack("{s:s}", "op", "config"), *answer = NULL;
	FILE *out = fopen(path, "wxe");

	if (out)
		answer = ctl_call(ctl, req, put_part, out, err);
	json_decref(req);
	if (!out || (fclose(out) && answer)) {
		json_decref(answer);
		return err_sys(err, "cannot write '%s'", path);
	}
	json_decref(answer);
	return answer ? 0
	              : err_wrap(err, "cannot read the daemon's configuration");
}

/* --- the programs ------------------------------------------------------ */

/* Run a program at low priority, with the descriptor out as its stdout. Returns
 * 1 if it failed, in which case it has printed the reason. */
static int run_program(const char *const *argv, int out, struct err *err)
{
	const int fd[] = { -1, out, STDERR_FILENO };
	const struct spawn s = {
		.argv = argv, .fd = fd, .nfd = ARRAY_SIZE(fd), .by_shell = true
	};
	int status, code;
	pid_t pid;

	fflush(stdout);
	code = spawn(&s, &pid);
	if (code)
		return err_set(err, code, "cannot start '%s': %s", argv[3],
		               strerror(code));
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return err_sys(err, "cannot wait for '%s'", argv[3]);
	if (!WIFEXITED(status))
		return err_set(err, EINVAL, "%s was killed", argv[3]);
	return WEXITSTATUS(status) != 0;
}

/* Returns the argument of --since as a time: "7d" becomes "now-7d", other texts
 * are unchanged. The caller frees it. */
static char *since_of(const char *text)
{
	int64_t seconds;
	bool span = text[strspn(text, "0123456789")] &&
	            strchr("smhd", text[strlen(text) - 1]) &&
	            parse_duration(text, &seconds, NULL) == 0;

	return span ? xasprintf("now-%s", text) : xstrdup(text);
}

static int fetch_past(const struct ctl *ctl, const char *path, struct err *err)
{
	const char *argv[WORDS] = { "nice",      "-n",       "10",     "aiq",
		                    "--history", "--replay", "--since" };
	const char *since = ctl->whatif.since ? ctl->whatif.since : "7d";
	char *from = since_of(since);
	int n = 7, rc;
	int out = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (out < 0) {
		free(from);
		return err_sys(err, "cannot write '%s'", path);
	}
	argv[n++] = from;
	if (ctl->whatif.until) {
		argv[n++] = "--until";
		argv[n++] = ctl->whatif.until;
	}
	if (ctl->socket) {
		argv[n++] = "--socket";
		argv[n++] = ctl->socket;
	}
	rc = run_program(argv, out, err);
	close(out);
	free(from);
	return rc;
}

static int simulate(const struct ctl *ctl, const struct workplace *w,
                    struct err *err)
{
	const char *argv[WORDS] = { "nice",      "-n",    "10",
		                    "aisim",     "-c",    ctl->whatif.conf,
		                    "--history", w->past, "--compare",
		                    w->now };

	if (ctl->json)
		argv[10] = "--json";
	return run_program(argv, STDOUT_FILENO, err);
}

int run_whatif(struct ctl *ctl, int argc, char **argv)
{
	struct workplace w = { 0 };
	struct err why;
	int rc;

	(void)argc;
	(void)argv;
	if (!ctl->whatif.conf) {
		ctl_warn(ctl, "what-if needs another configuration: what-if -c "
		              "FILE");
		return EXIT_USAGE;
	}
	if (access(ctl->whatif.conf, R_OK) < 0) {
		ctl_warn(ctl, "cannot read '%s': %s", ctl->whatif.conf,
		         strerror(errno));
		return EXIT_FAILURE;
	}
	rc = make_work(&w, &why);
	if (rc == 0)
		rc = fetch_conf(ctl, w.now, &why);
	/* The simulation takes time, and the daemon closes idle connections. */
	ctl_disconnect(ctl);
	if (rc == 0)
		rc = fetch_past(ctl, w.past, &why);
	if (rc == 0)
		rc = simulate(ctl, &w, &why);
	if (rc < 0)
		ctl_warn(ctl, "%s", why.text);
	remove_work(&w);
	return rc ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* plugin.c - run the exec program of a kubeconfig to get credentials */
#include "aischedd/run/kube/client/plugin.h"

#include <event2/event.h>
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "aischedd/run/kube/client/credential.h"
#include "aischedd/run/kube/client/file.h"
#include "libcommon/buf.h"
#include "libcommon/clock.h"
#include "libcommon/mem.h"
#include "libcommon/spawn.h"

#define MAX_OUTPUT ((size_t)1 << 20)

/* exit status of a shell that did not find the program */
enum { NOT_FOUND = 127 };

/* One of the outputs of the program. */
struct plugin_stream {
	int fd; /* our end of the pipe; -1: closed */
	struct event *readable;
	struct buf text;
};

struct kube_plugin_run {
	char *what; /* "kubeconfig 'F': user 'U': exec 'P'" */
	char *api_version, *hint;
	kube_plugin_fn *fn;
	void *arg;
	pid_t pid;
	int pidfd;
	struct event *ended, *late;
	struct plugin_stream out, says; /* stdout, stderr */
};

/* --- start the program --- */

static void put_text(json_t *obj, const char *key, const char *value)
{
	if (value)
		json_object_set_new(obj, key, json_string(value));
}

/* Returns the variable KUBERNETES_EXEC_INFO for the program: an ExecCredential
 * with the apiVersion that the program is to print and, if wants_cluster is
 * set, the cluster. */
static char *exec_info(const struct kube_config *c)
{
	json_t *spec = json_pack("{s:b}", "interactive", 0);
	json_t *info =
	    json_pack("{s:s s:s s:o}", "apiVersion", c->plugin->api_version,
	              "kind", "ExecCredential", "spec", spec);
	char *text, *variable;

	if (c->plugin->wants_cluster) {
		json_t *cluster = json_object();

		put_text(cluster, "server", c->server);
		put_text(cluster, "tls-server-name", c->tls_name);
		put_text(cluster, "proxy-url", c->proxy);
		if (c->insecure)
			json_object_set_new(cluster, "insecure-skip-tls-verify",
			                    json_true());
		if (c->ca) {
			char *ca = kube_base64_of(c->ca, strlen(c->ca));

			put_text(cluster, "certificate-authority-data", ca);
			free(ca);
		}
		json_object_set_new(spec, "cluster", cluster);
	}
	text = json_dumps(info, JSON_COMPACT);
	variable = xasprintf("KUBERNETES_EXEC_INFO=%s", text ? text : "");
	free(text);
	json_decref(info);
	return variable;
}

static bool has_name(const char *const *env, size_t n, const char *variable)
{
	size_t len = strcspn(variable, "=") + 1;

	for (size_t i = 0; i < n; i++)
		if (!strncmp(env[i], variable, len))
			return true;
	return false;
}

/* Returns the environment of the program. Our variables come first and hide
 * those of the daemon. */
static const char **make_env(const struct kube_config *c, const char *info)
{
	const char **env = NULL;
	size_t n = 0, cap = 0, own;

	env = GROW(env, n, &cap);
	env[n++] = info;
	for (size_t i = 0; c->plugin->env[i]; i++) {
		env = GROW(env, n, &cap);
		env[n++] = c->plugin->env[i];
	}
	own = n;
	for (char **p = environ; *p; p++) {
		if (has_name(env, own, *p))
			continue;
		env = GROW(env, n, &cap);
		env[n++] = *p;
	}
	env = GROW(env, n, &cap);
	env[n] = NULL;
	return env;
}

/* Start the program. Returns 0 or an errno value. On success *ret_out and
 * *ret_says are the read ends of its stdout and stderr. */
static int begin(const struct kube_config *c, const char **env, pid_t *ret_pid,
                 int *ret_pidfd, int *ret_out, int *ret_says)
{
	int out[2] = { -1, -1 }, says[2] = { -1, -1 }, code = 0;
	struct spawn s = { .argv = c->plugin->argv,
		           .env = env,
		           .nfd = 3,
		           .group = POSIX_SPAWN_SETPGROUP,
		           .by_shell = true };

	if (pipe2(out, O_CLOEXEC) < 0 || pipe2(says, O_CLOEXEC) < 0)
		code = errno;
	s.fd = (int[]){ -1, out[1], says[1] };
	if (!code)
		code = spawn(&s, ret_pid);
	if (!code) {
		*ret_pidfd = pidfd_open(*ret_pid, 0);
		if (*ret_pidfd < 0) {
			code = errno;
			kill(-*ret_pid, SIGKILL);
		}
	}
	*ret_out = out[0];
	*ret_says = says[0];
	for (int i = code ? 0 : 1; i < 2; i++) {
		if (out[i] >= 0)
			close(out[i]);
		if (says[i] >= 0)
			close(says[i]);
	}
	return code;
}

/* --- read the output, wait for the end --- */

static void stream_end(struct plugin_stream *s)
{
	if (s->readable)
		event_free(s->readable);
	s->readable = NULL;
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
}

/* Read the output that has arrived. Output beyond MAX_OUTPUT is not read: the
 * stream is ended. */
static void stream_read(struct plugin_stream *s)
{
	ssize_t n;

	do {
		n = read(s->fd, buf_room(&s->text, 4096), 4096);
		if (n > 0)
			buf_grew(&s->text, (size_t)n);
	} while (n > 0 && s->text.len < MAX_OUTPUT);
	if (n >= 0 || (errno != EAGAIN && errno != EINTR))
		stream_end(s);
}

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	stream_read(arg);
}

static void stream_begin(struct plugin_stream *s, struct event_base *base,
                         int fd)
{
	s->fd = fd;
	fcntl(fd, F_SETFL, O_NONBLOCK);
	s->readable = event_new(base, fd, EV_READ | EV_PERSIST, on_readable, s);
	event_add(s->readable, NULL);
}

static void run_free(struct kube_plugin_run *run)
{
	event_free(run->ended);
	event_free(run->late);
	close(run->pidfd);
	stream_end(&run->out);
	stream_end(&run->says);
	buf_free(&run->out.text);
	buf_free(&run->says.text);
	free(run->what);
	free(run->api_version);
	free(run->hint);
	free(run);
}

/*
 * Kill the process group of the program, without waiting for its end: a process
 * that hangs on a dead file server does not die at once. on_ended() cleans up.
 */
static void run_kill(struct kube_plugin_run *run)
{
	kill(-run->pid, SIGKILL);
	run->fn = NULL;
	evtimer_del(run->late);
}

void kube_plugin_cancel(struct kube_plugin_run *run)
{
	if (run)
		run_kill(run);
}

/* Report that the program failed. Adds to err which program it was. */
static void tell_failure(const struct kube_plugin_run *run, kube_plugin_fn *fn,
                         struct err *err)
{
	err_wrap(err, "%s", run->what);
	err->code = EACCES;
	fn(NULL, err, run->arg);
}

/* Set *ret and *ret_len to the last line of text that is not blank. */
static void last_line(struct buf *text, const char **ret, int *ret_len)
{
	const char *s = text->data ? text->data : "";
	size_t len = text->len, begin;

	while (len > 0 && strchr(" \t\r\n", s[len - 1]))
		len--;
	for (begin = len; begin > 0 && s[begin - 1] != '\n';)
		begin--;
	*ret = s + begin;
	*ret_len = (int)(len - begin);
}

static int read_result(struct kube_plugin_run *run, int status,
                       struct kube_credential *ret, struct err *err)
{
	const char *line, *hint = NULL;
	int len;

	if (run->out.fd >= 0)
		stream_read(&run->out);
	if (run->says.fd >= 0)
		stream_read(&run->says);
	if (WIFSIGNALED(status))
		return err_set(err, EACCES, "it was killed by signal %d",
		               WTERMSIG(status));
	if (WEXITSTATUS(status)) {
		last_line(&run->says.text, &line, &len);
		if (WEXITSTATUS(status) == NOT_FOUND)
			hint = run->hint;
		return err_set(err, EACCES, "it ended with status %d%s%.*s%s%s",
		               WEXITSTATUS(status), len ? ": " : "", len, line,
		               hint ? "; " : "", hint ? hint : "");
	}
	return kube_credential_parse(
	    run->out.text.data ? run->out.text.data : "", run->out.text.len,
	    run->api_version, clock_wall_s(), ret, err);
}

static void on_ended(evutil_socket_t fd, short what, void *arg)
{
	struct kube_plugin_run *run = arg;
	struct kube_credential cred;
	struct err err;
	int status;

	(void)fd;
	(void)what;
	waitpid(run->pid, &status, 0);
	if (!run->fn)
		;
	else if (read_result(run, status, &cred, &err) < 0)
		tell_failure(run, run->fn, &err);
	else
		run->fn(&cred, NULL, run->arg);
	run_free(run);
}

static void on_late(evutil_socket_t fd, short what, void *arg)
{
	struct kube_plugin_run *run = arg;
	kube_plugin_fn *fn = run->fn;
	struct err err;

	(void)fd;
	(void)what;
	run_kill(run);
	err_set(&err, EACCES, "it did not end in time and was killed");
	tell_failure(run, fn, &err);
}

/* Returns a new run for the started program, with events for its output and its
 * end. */
static struct kube_plugin_run *run_new(struct event_base *base, pid_t pid,
                                       int pidfd, int out, int says)
{
	struct kube_plugin_run *run = xcalloc(1, sizeof(*run));

	run->pid = pid;
	run->pidfd = pidfd;
	stream_begin(&run->out, base, out);
	stream_begin(&run->says, base, says);
	run->ended = event_new(base, pidfd, EV_READ, on_ended, run);
	event_add(run->ended, NULL);
	run->late = evtimer_new(base, on_late, run);
	return run;
}

struct kube_plugin_run *kube_plugin_start(struct event_base *base,
                                          const struct kube_config *config,
                                          int64_t deadline_ms,
                                          kube_plugin_fn *fn, void *arg,
                                          struct err *err)
{
	const struct timeval after = { .tv_sec = deadline_ms / 1000,
		                       .tv_usec = deadline_ms % 1000 * 1000 };
	const struct kube_plugin *plugin = config->plugin;
	char *info = exec_info(config);
	const char **env = make_env(config, info);
	struct kube_plugin_run *run = NULL;
	int out, says, pidfd = -1, code;
	pid_t pid;

	code = begin(config, env, &pid, &pidfd, &out, &says);
	if (code) {
		err_set(err, code, "%s: user '%s': cannot run exec '%s': %s",
		        config->source, config->user, plugin->argv[0],
		        strerror(code));
	} else {
		run = run_new(base, pid, pidfd, out, says);
		run->what =
		    xasprintf("%s: user '%s': exec '%s'", config->source,
		              config->user, plugin->argv[0]);
		run->api_version = xstrdup(plugin->api_version);
		run->hint = plugin->hint ? xstrdup(plugin->hint) : NULL;
		run->fn = fn;
		run->arg = arg;
		event_add(run->late, &after);
	}
	free(env);
	free(info);
	return run;
}

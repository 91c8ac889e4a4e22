/* batch.c - prepare and send a script and the job that runs it */
#include "libcommon/client/batch.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libcommon/clean.h"
#include "libcommon/client/choose.h"
#include "libcommon/client/folder.h"
#include "libcommon/cron/cron_rule.h"
#include "libcommon/export.h"
#include "libcommon/limits.h"
#include "libcommon/paths.h"
#include "libcommon/rlimits.h"

enum {
	READ_SIZE = 64 * 1024, /* bytes of a script to read at once */
	/* Bytes of a command that are stored, for aiq to show. */
	COMMAND_MAX = 500
};

int batch_open(const char *name)
{
	int fd = open(name, O_RDONLY | O_CLOEXEC);
	const char *path = getenv("PATH");

	if (fd >= 0 || errno != ENOENT || strchr(name, '/') || !path)
		return fd;
	while (fd < 0 && *path) {
		size_t len = strcspn(path, ":");
		char *file = xasprintf("%.*s/%s", (int)len, path, name);

		fd = open(file, O_RDONLY | O_CLOEXEC);
		free(file);
		path += len + (path[len] == ':');
	}
	if (fd < 0)
		errno = ENOENT;
	return fd;
}

int batch_read(int fd, const char *name, struct buf *ret, struct err *err)
{
	for (;;) {
		char *room = buf_room(ret, READ_SIZE);
		ssize_t n = read(fd, room, READ_SIZE);

		if (n == 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return err_sys(err, "cannot read script '%s'", name);
		if (n > 0)
			buf_grew(ret, (size_t)n);
		if (ret->len > LIMIT_SCRIPT_MAX)
			return err_set(err, E2BIG,
			               "script '%s' is longer than %d MiB",
			               name, LIMIT_SCRIPT_MAX >> 20);
	}
}

/* Returns the text that `aiq JOB` shows as the command: one line, cut off if it
 * is long. Returns NULL if there is none, as for a script from standard input,
 * or it is not UTF-8. */
static const char *command_of(const struct submit *submit, const char *text)
{
	size_t len = text ? strlen(text) : 0;
	json_t *utf8 = text ? json_string(text) : NULL;
	char *copy, *ret;

	if (!utf8 || !len) {
		json_decref(utf8);
		return NULL;
	}
	json_decref(utf8);
	if (len > COMMAND_MAX)
		len = COMMAND_MAX;
	while (len < strlen(text) && (text[len] & 0xc0) == 0x80)
		len--; /* do not cut within a UTF-8 sequence */
	copy = xstrndup(text, len);
	ret = arena_strdup(submit->arena, copy);
	free(copy);
	for (char *s = ret; *s; s++)
		memset(s, ' ', text_control(s));
	return ret;
}

/* Make the job's folder absolute: it may be relative to the current folder,
 * which is also its default. */
static int set_workdir(struct submit *submit, struct err *err)
{
	const char *dir = submit->spec.workdir;
	char *cwd, *path;

	if (dir && *dir == '/')
		return 0;
	cwd = getcwd(NULL, 0);
	if (!cwd)
		return err_sys(err, "cannot find the current folder");
	path = dir ? xasprintf("%s/%s", cwd, dir) : xstrdup(cwd);
	submit->spec.workdir = arena_strdup(submit->arena, path);
	free(path);
	free(cwd);
	return 0;
}

static int set_args(struct submit *submit, char **args, struct err *err)
{
	json_t *list = json_array();
	char *text;
	int rc = 0;

	for (size_t i = 0; args[i] && rc == 0; i++)
		if (json_array_append_new(list, json_string(args[i])) < 0)
			rc = err_set(err, EINVAL,
			             "argument %zu of the script, '%s', is "
			             "not UTF-8",
			             i + 1, args[i]);
	text = json_dumps(list, JSON_COMPACT);
	submit->spec.args = arena_strdup(submit->arena, text);
	free(text);
	json_decref(list);
	return rc;
}

/* Returns the resource limits of this process as text; NULL if nothing
 * is limited. */
static const char *own_limits(struct submit *submit)
{
	struct rlimits limits;
	struct buf text = { 0 };
	const char *copy = NULL;

	rlimits_get(&limits);
	rlimits_format(&text, &limits);
	if (text.len)
		copy = arena_strdup(submit->arena, text.data);
	buf_free(&text);
	return copy;
}

int batch_complete(struct submit *submit, const struct batch_job *job,
                   struct err *err)
{
	struct spec *spec = &submit->spec;
	char host[256];
	mode_t mask = umask(077);

	umask(mask);
	spec->umask = mask & 0777;
	spec->rlimits = own_limits(submit);
	if (!spec->name)
		spec->name = job->name;
	spec->command = command_of(submit, job->command);
	if (!spec->output)
		spec->output = spec->array ? "slurm-%A_%a.out" : "slurm-%j.out";
	if (job->once)
		spec->launch_script = 1;
	if (gethostname(host, sizeof(host)) == 0)
		spec->submit_host = arena_strdup(submit->arena, host);
	if (*job->args && set_args(submit, job->args, err) < 0)
		return -1;
	return set_workdir(submit, err);
}

/* Whether the daemon may be on another machine, where files may differ. */
static bool is_remote(const struct submit *submit)
{
	const char *address =
	    submit->socket ? submit->socket : getenv("AISCHED_SOCKET");
	char *host, *port;

	if (!address || address_parse(address, &host, &port, NULL) <= 0)
		return false;
	free(host);
	free(port);
	return true;
}

int batch_check_files(const struct submit *submit, struct err *err)
{
	const struct spec *spec = &submit->spec;

	if (is_remote(submit) || spec->mount)
		return 0; /* the files may be on another machine or in a
		             container: do not check them */
	if (folder_check(spec->workdir, spec->output, err) < 0)
		return -1;
	return spec->error ? folder_check(spec->workdir, spec->error, err) : 0;
}

/* Make a random token. A request that is repeated has the same token, so the
 * daemon accepts the job only once. */
static int make_token(char ret[33], struct err *err)
{
	unsigned char bytes[16];

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return err_sys(err, "getrandom");
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(ret + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

int batch_check_cron(const struct submit *submit, struct err *err)
{
	const char *const *value = (const char *const *)&submit->cron;
	const struct {
		bool given;
		const char *name;
	} others[] = {
		{ submit->wait, "wait" },
		{ submit->follow, "follow" },
		{ submit->spec.begin != SPEC_UNSET, "begin" },
		{ submit->spec.deadline != SPEC_UNSET, "deadline" },
		{ submit->spec.dependency != NULL, "dependency" },
	};

	for (size_t i = 0; !submit->cron.schedule && cron_fields[i]; i++)
		if (value[i])
			return err_set(err, EINVAL, "--%s goes with --cron",
			               cron_fields[i]);
	for (size_t i = 0; submit->cron.schedule && i < ARRAY_SIZE(others); i++)
		if (others[i].given)
			return err_set(err, EINVAL,
			               "--%s does not go with --cron",
			               others[i].name);
	return 0;
}

json_t *batch_cron(const struct submit_cron *cron)
{
	const char *const *value = (const char *const *)cron;
	json_t *set = json_object();

	for (size_t i = 0; cron_fields[i]; i++)
		if (value[i])
			json_object_set_new(set, cron_fields[i],
			                    json_string(value[i]));
	return set;
}

static void add_cron(json_t *req, const struct submit_cron *cron)
{
	if (cron->schedule)
		json_object_set_new(req, "cron", batch_cron(cron));
}

static json_t *send_one(struct retry *retry, const struct submit *submit,
                        struct buf *script, struct err *err)
{
	size_t script_len = script->len;
	json_t *req, *answer;
	char token[33];

	if (make_token(token, err) < 0 ||
	    export_env(script, submit->export_env, environ, err) < 0)
		return NULL;
	req = json_pack("{s:s, s:s, s:[o], s:I, s:I, s:b}", "op", "submit",
	                "token", token, "specs", spec_to_json(&submit->spec),
	                "script_len", (json_int_t)script_len, "env_len",
	                (json_int_t)(script->len - script_len), "test_only",
	                submit->test_only);
	add_cron(req, &submit->cron);
	answer = retry_call(retry, req, script, NULL, err);
	json_decref(req);
	return answer;
}

struct trial {
	struct retry *retry;
	struct buf *script;
};

static json_t *try_one(const struct submit *submit, void *arg, struct err *err)
{
	struct submit test = *submit;
	struct trial *t = arg;
	size_t len = t->script->len;
	json_t *answer;

	test.test_only = true;
	answer = send_one(t->retry, &test, t->script, err);
	t->script->len = len;
	return answer;
}

json_t *batch_send(struct retry *retry, const struct submit *submit,
                   struct buf *script, struct err *err)
{
	struct trial t = { retry, script };
	struct submit chosen = *submit;

	if (choose_needed(submit) &&
	    choose_shape(&chosen, try_one, &t, err) < 0)
		return NULL;
	return send_one(retry, &chosen, script, err);
}

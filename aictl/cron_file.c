/* cron_file.c - a user's file of recurring work: import, print, edit, clear */
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "aictl/command.h"
#include "aictl/cron.h"
#include "aictl/crontab.h"
#include "libcommon/client/batch.h"
#include "libcommon/client/json_out.h"
#include "libcommon/mem.h"

/* --- the request -------------------------------------------------------- */

static int find_user(const struct ctl *ctl, struct crontab_user *ret,
                     struct err *err)
{
	const struct passwd *pw =
	    ctl->cron.user ? getpwnam(ctl->cron.user) : getpwuid(geteuid());

	if (!pw && ctl->cron.user)
		return err_set(err, ENOENT, "there is no user '%s'",
		               ctl->cron.user);
	if (!pw)
		return err_set(err, ENOENT, "uid %u has no name",
		               (unsigned)geteuid());
	*ret =
	    (struct crontab_user){ xstrdup(pw->pw_name), xstrdup(pw->pw_dir) };
	return 0;
}

static void user_fini(struct crontab_user *user)
{
	free((char *)(uintptr_t)user->name);
	free((char *)(uintptr_t)user->home);
}

static json_t *new_request(const struct ctl *ctl)
{
	json_t *req = json_pack("{s:s}", "op", "cron_file");

	if (ctl->cron.user)
		json_object_set_new(req, "user", json_string(ctl->cron.user));
	return req;
}

/* Print the errors in an answer, one for each entry that the daemon refused;
 * returns whether there are any. */
static bool print_errors(const char *name, const json_t *answer)
{
	const json_t *errors = json_object_get(answer, "errors"), *one;
	size_t i;

	json_array_foreach(errors, i, one)
		fprintf(
		    stderr, "%s:%lld: %s\n", name,
		    (long long)json_integer_value(json_object_get(one, "line")),
		    json_string_value(json_object_get(one, "text")));
	return json_array_size(errors) > 0;
}

static void print_answer(const struct ctl *ctl, const json_t *answer)
{
	if (ctl->json) {
		json_out(answer, JSON_COMPACT, stdout);
		putchar('\n');
		return;
	}
	printf("%lld made, %lld kept, %lld deleted\n",
	       (long long)json_integer_value(json_object_get(answer, "made")),
	       (long long)json_integer_value(json_object_get(answer, "kept")),
	       (long long)json_integer_value(json_object_get(answer, "gone")));
}

/* Send a file and its entries; returns the exit status. The errors that the
 * tool has found are sent, too: with any of them the daemon takes nothing, and
 * tells all errors in the order of the file. */
static int send_file(struct ctl *ctl, const char *name, const struct buf *text,
                     struct crontab *tab)
{
	json_t *req = new_request(ctl), *answer;
	struct buf raw = { 0 };
	struct err why;
	int status = EXIT_FAILURE;

	json_object_set(req, "entries", tab->entries);
	json_object_set_new(req, "text_len",
	                    json_integer((json_int_t)text->len));
	if (text->len)
		buf_add(&raw, text->data, text->len);
	if (tab->raw.len)
		buf_add(&raw, tab->raw.data, tab->raw.len);
	answer = ctl_send(ctl, req, &raw, NULL, NULL, &why);
	if (!answer) {
		if (tab->errors.len)
			fputs(tab->errors.data, stderr);
		ctl_warn(ctl, "cron: %s", why.text);
	} else if (!print_errors(name, answer)) {
		print_answer(ctl, answer);
		status = EXIT_SUCCESS;
	}
	json_decref(answer);
	json_decref(req);
	buf_free(&raw);
	return status;
}

/* Replace the user's file by another one, unless that has errors. Returns the
 * exit status. */
static int put_file(struct ctl *ctl, const char *name, const struct buf *text)
{
	struct crontab_user user;
	struct crontab tab;
	int status = EXIT_FAILURE;
	struct err why;

	if (find_user(ctl, &user, &why) < 0) {
		ctl_warn(ctl, "cron: %s", why.text);
		return EXIT_FAILURE;
	}
	crontab_read(&tab, name, text->len ? text->data : "", text->len, &user,
	             time(NULL));
	status = send_file(ctl, name, text, &tab);
	crontab_fini(&tab);
	user_fini(&user);
	return status;
}

static int add_text(const void *data, size_t len, void *arg)
{
	buf_add(arg, data, len);
	return 0;
}

/* Get the user's file as it was imported; *ret_there tells whether there
 * is one. */
static int get_file(struct ctl *ctl, struct buf *ret, bool *ret_there)
{
	json_t *req = new_request(ctl);
	struct err why;
	json_t *answer = ctl_call(ctl, req, add_text, ret, &why);

	*ret_there = json_is_true(json_object_get(answer, "there"));
	if (!answer)
		ctl_warn(ctl, "cron: %s", why.text);
	json_decref(req);
	json_decref(answer);
	return answer ? 0 : -1;
}

/* --- the commands ------------------------------------------------------- */

static int read_file(const char *name, struct buf *ret, struct err *err)
{
	bool is_stdin = !strcmp(name, "-");
	int fd = is_stdin ? STDIN_FILENO : open(name, O_RDONLY | O_CLOEXEC);
	int rc;

	if (fd < 0)
		return err_sys(err, "cannot open '%s'", name);
	rc = batch_read(fd, name, ret, err);
	if (!is_stdin)
		close(fd);
	return rc;
}

int cron_import(struct ctl *ctl, int argc, char **argv)
{
	struct buf text = { 0 };
	int status = EXIT_FAILURE;
	struct err why;

	(void)argc;
	if (read_file(argv[1], &text, &why) < 0)
		ctl_warn(ctl, "cron: %s", why.text);
	else
		status = put_file(
		    ctl, strcmp(argv[1], "-") != 0 ? argv[1] : "stdin", &text);
	buf_free(&text);
	return status;
}

int cron_print(struct ctl *ctl, int argc, char **argv)
{
	struct buf text = { 0 };
	bool there;
	int rc;

	(void)argc, (void)argv;
	rc = get_file(ctl, &text, &there);
	if (rc == 0 && !there) {
		ctl_warn(ctl, "cron: there is no file: `aictl cron import` and "
		              "`aictl cron edit` make one");
		rc = -1;
	}
	if (rc == 0 && text.len)
		fwrite(text.data, 1, text.len, stdout);
	buf_free(&text);
	return rc < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

int cron_clear(struct ctl *ctl, int argc, char **argv)
{
	const struct buf none = { 0 };

	(void)argc, (void)argv;
	return put_file(ctl, "", &none);
}

/* --- edit --------------------------------------------------------------- */

static int write_all(int fd, const struct buf *text)
{
	for (size_t done = 0; done < text->len;) {
		ssize_t n = write(fd, text->data + done, text->len - done);

		if (n < 0)
			return -1;
		done += (size_t)n;
	}
	return 0;
}

/* Write the text to a temporary file that only this user can read. Returns its
 * name, which the caller frees, or NULL. */
static char *make_copy(const struct buf *text, struct err *err)
{
	const char *tmp = getenv("TMPDIR");
	char *path = xasprintf("%s/aictl-cron.XXXXXX", tmp ? tmp : "/tmp");
	int fd = mkstemp(path);

	if (fd < 0 || write_all(fd, text) < 0) {
		err_sys(err, "cannot write '%s'", path);
		if (fd >= 0)
			unlink(path);
		free(path);
		path = NULL;
	}
	if (fd >= 0)
		close(fd);
	return path;
}

/* Run the editor in $VISUAL or $EDITOR, which may have arguments, on a file. */
static int run_editor(const char *path, struct err *err)
{
	const char *editor = getenv("VISUAL");
	char *command;
	int status = 0;
	pid_t pid;

	if (!editor || !*editor)
		editor = getenv("EDITOR");
	if (!editor || !*editor)
		editor = "vi";
	command = xasprintf("%s \"$1\"", editor);
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		execl("/bin/sh", "sh", "-c", command, "sh", path, (char *)NULL);
		_exit(127);
	}
	free(command);
	if (pid < 0)
		return err_sys(err, "fork");
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		return err_set(err, EIO, "editor '%s' failed", editor);
	return 0;
}

static bool wants_again(void)
{
	char answer[16];

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return false;
	printf("Edit again? [y/N] ");
	fflush(stdout);
	return fgets(answer, sizeof(answer), stdin) &&
	       (*answer == 'y' || *answer == 'Y');
}

/* Let the user edit the file until it is accepted, unchanged or given up;
 * returns the exit status. */
static int edit_copy(struct ctl *ctl, const char *path, const struct buf *was)
{
	struct buf text = { 0 };
	int status = EXIT_FAILURE;
	struct err why;

	do {
		buf_clear(&text);
		if (run_editor(path, &why) < 0 ||
		    read_file(path, &text, &why) < 0) {
			ctl_warn(ctl, "cron: %s", why.text);
			break;
		}
		if (text.len == was->len &&
		    (!text.len || !memcmp(text.data, was->data, text.len))) {
			puts("nothing has changed");
			status = EXIT_SUCCESS;
		} else {
			status = put_file(ctl, path, &text);
		}
	} while (status != EXIT_SUCCESS && wants_again());
	buf_free(&text);
	return status;
}

int cron_edit(struct ctl *ctl, int argc, char **argv)
{
	struct buf text = { 0 };
	int status = EXIT_FAILURE;
	struct err why;
	char *path;
	bool there;

	(void)argc, (void)argv;
	if (get_file(ctl, &text, &there) < 0)
		return EXIT_FAILURE;
	path = make_copy(&text, &why);
	if (!path) {
		ctl_warn(ctl, "cron: %s", why.text);
	} else {
		status = edit_copy(ctl, path, &text);
		if (status == EXIT_SUCCESS)
			unlink(path);
		else
			ctl_warn(ctl,
			         "cron: nothing was changed; your copy is "
			         "'%s'",
			         path);
	}
	free(path);
	buf_free(&text);
	return status;
}

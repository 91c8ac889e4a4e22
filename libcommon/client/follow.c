/* follow.c - copy a job's output, even while it is being written */
#include "libcommon/client/follow.h"

#include <err.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libcommon/client/client.h"

enum {
	LOOK_MS = 1000, /* poll interval, because writes by other machines
	                   cause no inotify event */
	/* poll interval until the output is found, or while the daemon
	 * is down */
	SEEK_MS = 100,
	COPY_SIZE = 64 * 1024
};

struct follow {
	const char *address, *job;
	long task;
	bool to_end; /* follow until the job ends */
	/* Connection that asks for the output; NULL: not connected. */
	struct client *ask;
	struct client *end; /* connection with a `wait` request in flight; NULL:
	                       not connected */
	char state[32];     /* state of the job at the last answer */
	bool absent;        /* the output is a file on another machine */
	int fd;             /* the output file, -1: not open yet */
	int inotify;        /* tells when the file grows; -1: there is none */
	int64_t had;        /* bytes received from the daemon */
	struct err broken;  /* why writing failed; code 0: it did not */
};

enum follow_end {
	YES,
	WHOLE,   /* the daemon sent all of it */
	NOT_YET, /* *err says what is missing */
	FAILED
};

/* Close a connection that failed. Returns NOT_YET if the daemon may be
 * restarting, FAILED otherwise. */
static enum follow_end lost(struct client **client, const struct err *err)
{
	bool away = err->code == ECONNRESET || err->code == ETIMEDOUT;

	if (!*client)
		away |= err->code == ECONNREFUSED || err->code == ENOENT;
	client_close(*client);
	*client = NULL;
	return away ? NOT_YET : FAILED;
}

/* --- find the output ------------------------------------------------------ */

/* Open the output file. `where` names the machine or volume that has the file;
 * it is NULL for this machine. */
static enum follow_end open_output(struct follow *f, const char *path,
                                   const char *where, struct err *err)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	struct stat st;

	if (fd < 0) {
		bool missing = errno == ENOENT;

		err_sys(err, "output of job %s, '%s'%s%s", f->job, path,
		        where ? " " : "", where ? where : "");
		f->absent = missing && where;
		return missing ? NOT_YET : FAILED;
	}
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		close(fd);
		err_set(err, ENODATA,
		        "the output of job %s goes to '%s' and is not kept",
		        f->job, path);
		return FAILED;
	}
	f->fd = fd;
	/* Without inotify, only LOOK_MS applies. */
	f->inotify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (f->inotify >= 0)
		inotify_add_watch(f->inotify, path, IN_MODIFY);
	return YES;
}

static int write_all(const char *data, size_t len, struct err *err)
{
	while (len) {
		ssize_t n = write(STDOUT_FILENO, data, len);

		if (n < 0 && errno != EINTR)
			return err_sys(err, "stdout");
		if (n > 0) {
			data += n;
			len -= (size_t)n;
		}
	}
	return 0;
}

static int take_part(const void *data, size_t len, void *arg)
{
	struct follow *f = arg;

	f->had += (int64_t)len;
	return write_all(data, len, &f->broken);
}

/* Ask the daemon for the output. With to_end, the answer may come only when the
 * job has ended. */
static json_t *ask_log(struct follow *f, struct err *err)
{
	json_t *req = json_pack("{s:s, s:s, s:s, s:b, s:I}", "op", "log", "id",
	                        f->job, "stream", "out", "follow", f->to_end,
	                        "skip", (json_int_t)f->had);
	json_t *answer = NULL;

	if (f->task >= 0)
		json_object_set_new(req, "task", json_integer(f->task));
	if (!f->ask)
		f->ask = client_open(f->address, err);
	if (f->ask)
		answer = client_call(f->ask, req, NULL, 0, take_part, f, err);
	json_decref(req);
	if (f->broken.code)
		*err = f->broken;
	return answer;
}

/* Warn if the daemon has dropped the beginning of the output. */
static void say_omitted(const struct follow *f, const json_t *answer)
{
	json_int_t n = json_integer_value(json_object_get(answer, "omitted"));

	if (n > 0)
		warnx("output of job %s: the oldest %" JSON_INTEGER_FORMAT
		      " bytes are not kept",
		      f->job, n);
}

static enum follow_end find_output(struct follow *f, struct err *err)
{
	json_t *answer = ask_log(f, err);
	const char *path, *state;
	enum follow_end v = NOT_YET;

	if (!answer)
		return lost(&f->ask, err);
	if (json_is_true(json_object_get(answer, "whole"))) {
		say_omitted(f, answer);
		json_decref(answer);
		return WHOLE;
	}
	path = json_string_value(json_object_get(answer, "path"));
	state = json_string_value(json_object_get(answer, "state"));
	snprintf(f->state, sizeof(f->state), "%s", state ? state : "");
	if (path)
		v = open_output(
		    f, path,
		    json_string_value(json_object_get(answer, "where")), err);
	if (v == NOT_YET && !strcmp(f->state, "PENDING"))
		err_set(err, EAGAIN, "job %s is PENDING: no output yet",
		        f->job);
	else if (!path)
		err_set(err, ENODATA, "job %s has no output", f->job);
	json_decref(answer);
	return v;
}

/* --- copy ----------------------------------------------------------------- */

/* If the file is shorter than what was read, it was truncated: start again. */
static void check_truncated(struct follow *f)
{
	struct stat st;

	if (fstat(f->fd, &st) == 0 && st.st_size < lseek(f->fd, 0, SEEK_CUR)) {
		warnx("the output of job %s was truncated", f->job);
		lseek(f->fd, 0, SEEK_SET);
	}
}

static int copy(struct follow *f, struct err *err)
{
	char data[COPY_SIZE];
	ssize_t n;

	check_truncated(f);
	while ((n = read(f->fd, data, sizeof(data))) != 0) {
		if (n < 0 && errno != EINTR)
			return err_sys(err, "output of job %s", f->job);
		if (n > 0 && write_all(data, (size_t)n, err) < 0)
			return -1;
	}
	return 0;
}

/* --- follow the output until the job ends --------------------------------- */

static enum follow_end ask_end(struct follow *f, struct err *err)
{
	json_t *req;
	int rc = -1;

	f->end = client_open(f->address, err);
	if (!f->end)
		return lost(&f->end, err);
	req = json_pack("{s:s, s:[s]}", "op", "wait", "ids", f->job);
	rc = client_send(f->end, req, NULL, 0, err);
	json_decref(req);
	return rc < 0 ? lost(&f->end, err) : NOT_YET;
}

/* Whether the job has ended. */
static enum follow_end has_ended(struct follow *f, struct err *err)
{
	struct pollfd pfd = { .events = POLLIN };
	json_t *answer;

	if (!f->end)
		return ask_end(f, err);
	pfd.fd = client_fd(f->end);
	if (poll(&pfd, 1, 0) <= 0)
		return NOT_YET;
	answer = client_recv(f->end, NULL, NULL, err);
	if (!answer)
		return lost(&f->end, err);
	json_decref(answer);
	return YES;
}

/* Wait until the output has grown, the job has ended, or the poll interval
 * is over. */
static void pause_until_change(struct follow *f)
{
	struct pollfd pfd[] = {
		{ .fd = f->inotify, .events = POLLIN },
		{ .fd = f->end ? client_fd(f->end) : -1, .events = POLLIN },
	};
	char events[4096];

	poll(pfd, 2, f->fd >= 0 && f->end ? LOOK_MS : SEEK_MS);
	if (pfd[0].revents && read(f->inotify, events, sizeof(events)) < 0)
		return; /* only drain the events */
}

/* Copy the output until the job has ended. Each round first asks whether the
 * job has ended, then copies; so the last round copies everything that was
 * written before the end. */
static int follow_to_end(struct follow *f, struct err *err)
{
	enum follow_end ended = NOT_YET, found = NOT_YET;

	for (;;) {
		if (ended != YES)
			ended = has_ended(f, err);
		if (ended != FAILED && found != YES)
			found = find_output(f, err);
		if (ended == FAILED || found == FAILED)
			return -1;
		if (found == WHOLE)
			return 0;
		if (found == YES && copy(f, err) < 0)
			return -1;
		if (ended == YES && found == YES)
			return 0;
		if (ended == YES && f->absent)
			return -1;
		if (ended == YES && f->ask)
			return err_set(err, ENODATA,
			               "job %s ended %s and left no output",
			               f->job, f->state);
		pause_until_change(f);
	}
}

int follow_job(const char *address, const char *job, long task, bool follow,
               struct err *err)
{
	struct follow f = { .address = address,
		            .job = job,
		            .task = task,
		            .to_end = follow,
		            .fd = -1,
		            .inotify = -1 };
	enum follow_end found;
	int rc = 0;

	fflush(stdout);
	/* Fail if the daemon is down now. If it goes down later, wait for
	 * it. */
	f.ask = client_open(address, err);
	if (!f.ask)
		return -1;
	if (follow) {
		rc = follow_to_end(&f, err);
	} else {
		found = find_output(&f, err);
		if (found == YES)
			rc = copy(&f, err);
		else if (found != WHOLE)
			rc = -1;
	}
	client_close(f.ask);
	client_close(f.end);
	if (f.inotify >= 0)
		close(f.inotify);
	if (f.fd >= 0)
		close(f.fd);
	return rc;
}

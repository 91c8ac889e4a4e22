/*
 * srun_streams.c - copy between srun's descriptors and pipes of the tasks
 *
 * Used only where tasks cannot have srun's own descriptors: for output with
 * labels, for one input that many tasks read, for tasks on other machines, and
 * to keep root's terminal from a user's processes.
 */
#include "slurm/srun_streams.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CHUNK = 65536, LINE_MAX_ = 65536 };

struct stream {
	int fd; /* -1: closed */
	uint32_t rank;
	int which; /* STDIN_FILENO, ... */
	/* of an output: the line that is not printed yet; of an input: the
	 * bytes to be written to the task */
	struct buf text;
	size_t at;   /* how many bytes of text are written to the task */
	bool inside; /* the start of the line, with its label, is printed */
};

struct srun_streams {
	const struct srun_files *files;
	struct stream *stream;
	size_t n, cap;
	int64_t tasks;
	int64_t inputs; /* how many inputs of tasks were added */
	bool input;     /* srun's standard input is not at its end */
	int width;      /* digits of a label; 0: no labels */
	char *chunk;
};

struct srun_streams *srun_streams_new(const struct srun_files *files,
                                      int64_t tasks, bool label)
{
	struct srun_streams *s = xcalloc(1, sizeof(*s));

	s->files = files;
	s->tasks = tasks;
	s->input = files->copies[0];
	s->width = label ? snprintf(NULL, 0, "%lld", (long long)tasks - 1) : 0;
	s->chunk = xmalloc(CHUNK);
	return s;
}

void srun_streams_free(struct srun_streams *s)
{
	for (size_t i = 0; i < s->n; i++) {
		if (s->stream[i].fd >= 0)
			close(s->stream[i].fd);
		buf_free(&s->stream[i].text);
	}
	free(s->stream);
	free(s->chunk);
	free(s);
}

static void end_stream(struct stream *t)
{
	if (t->fd >= 0)
		close(t->fd);
	t->fd = -1;
	buf_free(&t->text);
}

void srun_streams_add(struct srun_streams *s, uint32_t rank, const int *fd,
                      int n)
{
	int at = 0;

	for (int i = 0; i < 3 && at < n; i++) {
		if (!s->files->copies[i] ||
		    (s->files->task[i] >= 0 && s->files->task[i] != rank))
			continue;
		s->stream = GROW(s->stream, s->n, &s->cap);
		s->stream[s->n++] =
		    (struct stream){ .fd = fd[at++], .rank = rank, .which = i };
		if (i != 0)
			continue;
		s->inputs++;
		fcntl(fd[at - 1], F_SETFL, O_NONBLOCK);
		if (!s->input)
			end_stream(&s->stream[s->n - 1]);
	}
	for (; at < n; at++)
		close(fd[at]);
}

static bool has_backlog(const struct srun_streams *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->stream[i].which == 0 && s->stream[i].text.len)
			return true;
	return false;
}

size_t srun_streams_most(const struct srun_streams *s)
{
	return s->n + 1;
}

size_t srun_streams_poll(const struct srun_streams *s, struct pollfd *ret)
{
	int64_t readers = s->files->task[0] >= 0 ? 1 : s->tasks;
	bool waits = s->input && s->inputs == readers && !has_backlog(s);

	for (size_t i = 0; i < s->n; i++) {
		const struct stream *t = &s->stream[i];

		ret[i] = (struct pollfd){ .fd = t->fd, .events = POLLIN };
		if (t->which != 0)
			continue;
		ret[i].events = POLLOUT;
		if (!t->text.len)
			ret[i].fd = -1;
	}
	ret[s->n] = (struct pollfd){ .fd = waits ? s->files->fd[0] : -1,
		                     .events = POLLIN };
	return s->n + 1;
}

static void write_all(int fd, const char *data, size_t len)
{
	while (len) {
		ssize_t n = write(fd, data, len);

		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n < 0)
			return;
		data += n;
		len -= (size_t)n;
	}
}

/* Print the text of the line with its label, then `end`: a newline or
 * nothing. */
static void put_line(struct srun_streams *s, struct stream *t, const char *end)
{
	struct buf out = { 0 };

	if (s->width && !t->inside)
		buf_printf(&out, "%*u: ", s->width, t->rank);
	buf_add(&out, t->text.data ? t->text.data : "", t->text.len);
	buf_puts(&out, end);
	write_all(s->files->fd[t->which], out.data, out.len);
	t->inside = !*end;
	buf_clear(&t->text);
	buf_free(&out);
}

static void take_output(struct srun_streams *s, struct stream *t)
{
	ssize_t n = read(t->fd, s->chunk, CHUNK);

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n <= 0) {
		if (t->text.len || (t->inside && s->width))
			put_line(s, t, s->width ? "\n" : "");
		end_stream(t);
		return;
	}
	for (const char *p = s->chunk, *end = p + n; p < end;) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));
		size_t len = (size_t)((nl ? nl : end) - p);

		buf_add(&t->text, p, len);
		p += len;
		if (nl)
			put_line(s, t, "\n"), p++;
		else if (t->text.len >= LINE_MAX_)
			put_line(s, t, "");
	}
	/* Print an incomplete line at once if it cannot be mixed with the
	 * output of others, or if it has a '\r' as in progress bars, which
	 * never end their line. */
	if (!s->width && t->text.len &&
	    (s->tasks == 1 || memchr(t->text.data, '\r', t->text.len)))
		put_line(s, t, "");
}

static void put_input(struct stream *t)
{
	ssize_t n = write(t->fd, t->text.data + t->at, t->text.len - t->at);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0) {
		end_stream(t);
		return;
	}
	t->at += (size_t)n;
	if (t->at < t->text.len)
		return;
	t->at = 0;
	buf_clear(&t->text);
}

void srun_streams_close_input(struct srun_streams *s)
{
	s->input = false;
	for (size_t i = 0; i < s->n; i++)
		if (s->stream[i].which == 0)
			end_stream(&s->stream[i]);
}

static void take_input(struct srun_streams *s)
{
	ssize_t n = read(s->files->fd[0], s->chunk, CHUNK);

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n <= 0) {
		srun_streams_close_input(s);
		return;
	}
	for (size_t i = 0; i < s->n; i++) {
		struct stream *t = &s->stream[i];

		if (t->which != 0 || t->fd < 0)
			continue;
		buf_add(&t->text, s->chunk, (size_t)n);
		put_input(t);
	}
}

void srun_streams_move(struct srun_streams *s, const struct pollfd *p, size_t n)
{
	for (size_t i = 0; i + 1 < n; i++) {
		if (!p[i].revents || s->stream[i].fd < 0)
			continue;
		if (s->stream[i].which == 0)
			put_input(&s->stream[i]);
		else
			take_output(s, &s->stream[i]);
	}
	if (n && p[n - 1].revents)
		take_input(s);
}

void srun_streams_catch_up(struct srun_streams *s)
{
	for (size_t i = 0; i < s->n; i++) {
		struct pollfd p = { .fd = s->stream[i].fd, .events = POLLIN };

		if (s->stream[i].which != 0 && poll(&p, 1, 0) > 0)
			take_output(s, &s->stream[i]);
	}
}

bool srun_streams_open(const struct srun_streams *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->stream[i].which != 0 && s->stream[i].fd >= 0)
			return true;
	return false;
}

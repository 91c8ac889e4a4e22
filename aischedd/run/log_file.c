/* log_file.c - kept logs: one file for each task and attempt */
#include "aischedd/run/log_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "aischedd/run/log_lines.h"
#include "libcommon/mem.h"

enum { READ_BUFFER = 32 * 1024, COPY_SIZE = 64 * 1024, DIGITS = 20 };

/* The first gzip member of each file: it has no data, only a comment. No
 * checksum covers the comment, so the number of omitted bytes, which is known
 * last, can be written into it. */
static const unsigned char head[] = "\x1f\x8b\x08\x10\0\0\0\0\0\x03"
				    "aischedd omitted=00000000000000000000\0"
				    "\x03\0\0\0\0\0\0\0\0\0";
enum {
	HEAD_SIZE = sizeof(head) - 1,
	OMITTED_AT = 27 /* offset of the number in the comment */
};

/* A log that is being written to two temporary files, each for half of the
 * limit. When the current file is full, the other one is emptied and becomes
 * the current one. */
struct log_writer {
	char *path;
	char *part_path[2];
	gzFile part[2]; /* NULL: not opened yet */
	int64_t size[2];
	int64_t half, omitted;
	int now;
	/* The time stamp at the beginning of the current line. */
	bool in_stamp;
	char stamp[LOG_STAMP_MAX];
	size_t stamp_len;
};

struct log_reader {
	gzFile file;
	int64_t omitted;
};

static char *folder_of(const char *dir, uint64_t job)
{
	return xasprintf("%s/%" PRIu64, dir, job);
}

static char *path_of(const char *dir, const struct log_id *id)
{
	char again[16] = "";

	if (id->again)
		snprintf(again, sizeof(again), ".%" PRIu32, id->again);
	return xasprintf("%s/%" PRIu64 "/%" PRIu32 ".%" PRIu32 "%s.gz", dir,
	                 id->job, id->attempt, id->task, again);
}

/* --- writing ----------------------------------------------------------- */

static int wrong(gzFile file, const char *path, struct err *err)
{
	int code = Z_OK;
	const char *text = gzerror(file, &code);

	if (code != Z_ERRNO)
		return err_set(err, EIO, "'%s': %s", path, text);
	return err_sys(err, "'%s'", path);
}

/* Create or empty part file i, and write the head to it. */
static int open_part(struct log_writer *w, int i, struct err *err)
{
	const char *path = w->part_path[i];
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0)
		return err_sys(err, "'%s'", path);
	w->size[i] = 0;
	if (write(fd, head, HEAD_SIZE) == (ssize_t)HEAD_SIZE)
		w->part[i] = gzdopen(fd, "wb1");
	if (w->part[i])
		return 0;
	err_sys(err, "'%s'", path);
	close(fd);
	return -1;
}

static int close_part(struct log_writer *w, int i, struct err *err)
{
	gzFile file = w->part[i];

	w->part[i] = NULL;
	errno = EIO;
	if (file && gzclose(file) != Z_OK)
		return err_sys(err, "'%s'", w->part_path[i]);
	return 0;
}

static int make_folder(const char *dir, uint64_t job, struct err *err)
{
	char *folder = folder_of(dir, job);
	int rc = 0;

	if ((mkdir(dir, 0700) < 0 && errno != EEXIST) ||
	    (mkdir(folder, 0700) < 0 && errno != EEXIST))
		rc = err_sys(err, "cannot make '%s'", folder);
	free(folder);
	return rc;
}

struct log_writer *log_writer_new(const char *dir, const struct log_id *id,
                                  int64_t limit, struct err *err)
{
	struct log_writer *w;

	if (make_folder(dir, id->job, err) < 0)
		return NULL;
	w = xcalloc(1, sizeof(*w));
	w->path = path_of(dir, id);
	w->half = limit / 2 > 0 ? limit / 2 : 1;
	w->in_stamp = true;
	for (int i = 0; i < 2; i++)
		w->part_path[i] = xasprintf("%s.%d.tmp", w->path, i);
	if (open_part(w, 0, err) == 0)
		return w;
	log_writer_drop(w);
	return NULL;
}

static int put(struct log_writer *w, const void *data, size_t len,
               struct err *err)
{
	gzFile file = w->part[w->now];

	if (len && gzwrite(file, data, (unsigned)len) != (int)len)
		return wrong(file, w->part_path[w->now], err);
	return 0;
}

/* Empty the other part file and make it the current one. */
static int turn(struct log_writer *w, struct err *err)
{
	int next = !w->now;

	w->omitted += w->size[next];
	if (close_part(w, next, err) < 0 || open_part(w, next, err) < 0)
		return -1;
	w->now = next;
	return 0;
}

static int end_stamp(struct log_writer *w, struct err *err)
{
	w->in_stamp = false;
	/* If the current file is nearly full, switch files now, between two
	 * lines, rather than within the next one. */
	if (w->size[w->now] >= w->half - w->half / 8 && turn(w, err) < 0)
		return -1;
	return put(w, w->stamp, w->stamp_len, err);
}

/* Append text of a line to the current part file. Text that does not fit goes
 * to the other part file, after the line's time stamp. */
static int add_text(struct log_writer *w, const char *data, size_t len,
                    struct err *err)
{
	while (len) {
		int64_t room = w->half - w->size[w->now];
		size_t n = (int64_t)len < room ? len : (size_t)room;

		if (put(w, data, n, err) < 0)
			return -1;
		w->size[w->now] += (int64_t)n;
		data += n;
		len -= n;
		if (len && (turn(w, err) < 0 ||
		            put(w, w->stamp, w->stamp_len, err) < 0))
			return -1;
	}
	return 0;
}

int log_writer_add(struct log_writer *w, const void *data, size_t len,
                   struct err *err)
{
	const char *at = data, *end = at + len;

	while (at < end) {
		const char *eol;
		size_t n;

		if (w->in_stamp) {
			if (w->stamp_len < sizeof(w->stamp))
				w->stamp[w->stamp_len++] = *at;
			if (*at++ == ' ' && end_stamp(w, err) < 0)
				return -1;
			continue;
		}
		eol = memchr(at, '\n', (size_t)(end - at));
		n = (size_t)((eol ? eol + 1 : end) - at);
		if (add_text(w, at, n, err) < 0)
			return -1;
		at += n;
		if (eol) {
			w->in_stamp = true;
			w->stamp_len = 0;
		}
	}
	return 0;
}

/* Append the contents of a file to another one. The result is valid, as a gzip
 * file may consist of several members. */
static int append(const char *to, const char *from, struct err *err)
{
	int out = open(to, O_WRONLY | O_APPEND | O_CLOEXEC);
	int in = open(from, O_RDONLY | O_CLOEXEC);
	char *data = xmalloc(COPY_SIZE);
	ssize_t n = -1;

	while (in >= 0 && out >= 0 && (n = read(in, data, COPY_SIZE)) > 0) {
		errno = ENOSPC; /* the error if fewer bytes are written */
		if (write(out, data, (size_t)n) != n) {
			n = -1;
			break;
		}
	}
	if (n < 0)
		err_sys(err, "'%s'", to);
	free(data);
	if (in >= 0)
		close(in);
	if (out >= 0)
		close(out);
	return n < 0 ? -1 : 0;
}

static int say_omitted(const struct log_writer *w, const char *path,
                       struct err *err)
{
	char digits[DIGITS + 1];
	int fd, rc = 0;

	if (!w->omitted)
		return 0;
	snprintf(digits, sizeof(digits), "%0*" PRId64, DIGITS, w->omitted);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || pwrite(fd, digits, DIGITS, OMITTED_AT) != DIGITS)
		rc = err_sys(err, "'%s'", path);
	if (fd >= 0)
		close(fd);
	return rc;
}

static int finish(struct log_writer *w, struct err *err)
{
	int first = w->part[!w->now] ? !w->now : w->now, second = !first;
	bool both = w->part[second] != NULL;

	if (close_part(w, first, err) < 0 || close_part(w, second, err) < 0)
		return -1;
	if (both && append(w->part_path[first], w->part_path[second], err) < 0)
		return -1;
	if (say_omitted(w, w->part_path[first], err) < 0)
		return -1;
	if (rename(w->part_path[first], w->path) < 0)
		return err_sys(err, "'%s'", w->path);
	return 0;
}

int log_writer_end(struct log_writer *w, struct err *err)
{
	int rc = finish(w, err);

	log_writer_drop(w);
	return rc;
}

void log_writer_drop(struct log_writer *w)
{
	if (!w)
		return;
	for (int i = 0; i < 2; i++) {
		close_part(w, i, NULL);
		unlink(w->part_path[i]);
		free(w->part_path[i]);
	}
	free(w->path);
	free(w);
}

/* --- reading ----------------------------------------------------------- */

static int64_t read_omitted(int fd)
{
	unsigned char data[HEAD_SIZE];
	char digits[DIGITS + 1] = "";

	if (pread(fd, data, sizeof(data), 0) != (ssize_t)sizeof(data) ||
	    memcmp(data, head, OMITTED_AT) != 0)
		return 0;
	memcpy(digits, data + OMITTED_AT, DIGITS);
	return strtoll(digits, NULL, 10);
}

struct log_reader *log_reader_open(const char *dir, const struct log_id *id,
                                   struct err *err)
{
	char *path = path_of(dir, id);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct log_reader *r = NULL;

	if (fd < 0) {
		err_sys(err, "'%s'", path);
	} else {
		r = xcalloc(1, sizeof(*r));
		r->omitted = read_omitted(fd);
		r->file = gzdopen(fd, "rb");
		if (!r->file)
			abort(); /* out of memory */
		gzbuffer(r->file, READ_BUFFER);
	}
	free(path);
	return r;
}

void log_reader_close(struct log_reader *r)
{
	if (!r)
		return;
	gzclose(r->file);
	free(r);
}

int64_t log_reader_omitted(const struct log_reader *r)
{
	return r->omitted;
}

ssize_t log_reader_read(struct log_reader *r, void *data, size_t len,
                        struct err *err)
{
	int n = gzread(r->file, data, (unsigned)len), code = Z_OK;
	const char *text = gzerror(r->file, &code);

	if (n < 0 || code == Z_BUF_ERROR)
		return err_set(err, EIO, "a kept log is damaged: %s", text);
	return n;
}

/* --- list and remove ----------------------------------------------------- */

static bool read_name(const char *name, struct log_id *ret)
{
	int end = 0;

	ret->again = 0;
	if (sscanf(name, "%" SCNu32 ".%" SCNu32 ".%" SCNu32 ".gz%n",
	           &ret->attempt, &ret->task, &ret->again, &end) < 3)
		sscanf(name, "%" SCNu32 ".%" SCNu32 ".gz%n", &ret->attempt,
		       &ret->task, &end);
	return end && !name[end];
}

int log_id_cmp(const struct log_id *a, const struct log_id *b)
{
	if (a->attempt != b->attempt)
		return a->attempt < b->attempt ? -1 : 1;
	if (a->task != b->task)
		return a->task < b->task ? -1 : 1;
	return a->again < b->again ? -1 : a->again > b->again;
}

static int in_order(const void *a, const void *b)
{
	return log_id_cmp(a, b);
}

size_t log_list(const char *dir, uint64_t job, struct log_id **ret)
{
	char *folder = folder_of(dir, job);
	DIR *d = opendir(folder);
	struct dirent *entry;
	size_t n = 0, cap = 0;

	free(folder);
	*ret = NULL;
	while (d && (entry = readdir(d))) {
		struct log_id id = { .job = job };

		if (!read_name(entry->d_name, &id))
			continue;
		*ret = GROW(*ret, n, &cap);
		(*ret)[n++] = id;
	}
	if (d)
		closedir(d);
	if (n)
		qsort(*ret, n, sizeof(**ret), in_order);
	return n;
}

/* Returns the size of all files in the folder together; closes fd. */
static int64_t folder_total(int fd)
{
	DIR *d = fdopendir(fd);
	struct dirent *entry;
	int64_t sum = 0;
	struct stat st;

	if (!d) {
		close(fd);
		return 0;
	}
	while ((entry = readdir(d)))
		if (fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISREG(st.st_mode))
			sum += st.st_size;
	closedir(d);
	return sum;
}

int64_t log_total(const char *dir, const atomic_bool *stop)
{
	DIR *d = opendir(dir);
	struct dirent *entry;
	int64_t sum = 0;

	while (d && !atomic_load(stop) && (entry = readdir(d))) {
		int fd = entry->d_name[0] == '.'
		             ? -1
		             : openat(dirfd(d), entry->d_name,
		                      O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
		                          O_CLOEXEC);

		if (fd >= 0)
			sum += folder_total(fd);
	}
	if (d)
		closedir(d);
	return sum;
}

int log_remove(const char *dir, uint64_t job, struct err *err)
{
	char *folder = folder_of(dir, job);
	DIR *d = opendir(folder);
	struct dirent *entry;
	int rc = 0;

	while (d && (entry = readdir(d)))
		if (entry->d_name[0] != '.')
			unlinkat(dirfd(d), entry->d_name, 0);
	if (d)
		closedir(d);
	if (rmdir(folder) < 0 && errno != ENOENT)
		rc = err_sys(err, "cannot remove '%s'", folder);
	free(folder);
	return rc;
}

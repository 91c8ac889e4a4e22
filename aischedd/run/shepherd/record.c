/* record.c - the durable record of an attempt: claim and outcome */
#include "aischedd/run/shepherd/record.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libcommon/clean.h"
#include "libcommon/parse.h"

#define CLAIM_FILE "claim"

void claim_new(struct claim *ret)
{
	unsigned char random[RUN_ID_LEN / 2];

	*ret = (struct claim){ .pid = getpid() };
	clock_boot_id(ret->boot);
	if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
		memset(random, 0, sizeof(random));
	for (size_t i = 0; i < sizeof(random); i++)
		snprintf(ret->run_id + 2 * i, 3, "%02x", random[i]);
}

static int append_line(int fd, json_t *obj, struct err *err)
{
	char *text = json_dumps(obj, JSON_COMPACT);
	size_t len;
	ssize_t n;

	json_decref(obj);
	if (!text)
		return err_set(err, ENOMEM, "cannot write JSON");
	len = strlen(text);
	text[len++] = '\n'; /* the newline replaces the zero byte */
	n = write(fd, text, len);
	free(text);
	if (n == (ssize_t)len)
		return 0;
	if (n >= 0)
		errno = ENOSPC;
	return err_sys(err, "cannot write to '%s'", CLAIM_FILE);
}

static json_t *claim_to_json(const struct claim *claim)
{
	json_t *dirs = json_array();

	for (enum cgroup_tree t = CG_V2; t < CG_NTREES; t++)
		json_array_append_new(dirs,
		                      claim->cgroup.dir[t]
		                          ? json_string(claim->cgroup.dir[t])
		                          : json_null());
	return json_pack("{s:s s:i s:s s:o}", "boot", claim->boot, "pid",
	                 (int)claim->pid, "run_id", claim->run_id, "cgroups",
	                 dirs);
}

int record_claim(int dirfd, const struct claim *claim, struct err *err)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int fd = openat(dirfd, CLAIM_FILE,
	                O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);

	if (fd < 0)
		return err_sys(err, "cannot create '%s'", CLAIM_FILE);
	if (fcntl(fd, F_SETLKW, &lock) < 0) {
		err_sys(err, "cannot lock '%s'", CLAIM_FILE);
	} else if (append_line(fd, claim_to_json(claim), err) == 0) {
		return fd;
	}
	unlinkat(dirfd, CLAIM_FILE, 0);
	close(fd);
	return -1;
}

int record_sync(int fd, int dirfd, struct err *err)
{
	int parent = openat(dirfd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int status;

	status =
	    parent < 0 || fsync(fd) < 0 || fsync(dirfd) < 0 || fsync(parent) < 0
		? err_sys(err, "cannot make the claim durable")
		: 0;
	if (parent >= 0)
		close(parent);
	return status;
}

/* Errors that are the fault of the machine or of a file server. All others,
 * such as a full disk, an exceeded quota or too many open files, count as the
 * user's fault. */
static const int system_codes[] = { EIO,    ENFILE,    ENOMEM,
	                            ESTALE, EHOSTDOWN, ETIMEDOUT };

enum start_fault fault_of(int code)
{
	for (size_t i = 0; i < ARRAY_SIZE(system_codes); i++)
		if (system_codes[i] == code)
			return FAULT_SYSTEM;
	return FAULT_USER;
}

void outcome_of_task(struct buf *out, uint32_t rank, int exit_code, int signo)
{
	buf_printf(out, "task %" PRIu32, rank);
	if (signo)
		buf_printf(out, " was ended by SIG%s", signal_name(signo));
	else
		buf_printf(out, " ended with exit status %d", exit_code);
}

/* Returns the text with invalid UTF-8 replaced, as JSON does not accept it: if
 * a record could not be written for that reason, the job would run again. */
static json_t *text_to_json(const char *text)
{
	char *utf8 = xstrdup(text);
	json_t *obj;

	utf8[text_clean(utf8, strlen(utf8))] = '\0';
	obj = json_string(utf8);
	free(utf8);
	return obj;
}

json_t *gpu_use_to_json(const struct gpu_use *use)
{
	if (!use->known_ms)
		return NULL;
	return json_pack("[I I I I]", (json_int_t)use->busy_ms,
	                 (json_int_t)use->known_ms, (json_int_t)use->mem_mib,
	                 (json_int_t)use->mem_total_mib);
}

int gpu_use_from_json(struct gpu_use *ret, json_t *obj, struct err *err)
{
	json_int_t busy, known, mem, total;
	json_error_t why;

	*ret = (struct gpu_use){ 0 };
	if (!obj)
		return 0;
	if (json_unpack_ex(obj, &why, JSON_STRICT, "[I I I I]", &busy, &known,
	                   &mem, &total) < 0)
		return err_set(err, EINVAL, "bad use of GPUs: %s", why.text);
	if (busy < 0 || known < busy || mem < 0 || total < mem)
		return err_set(err, EINVAL, "bad use of GPUs");
	*ret = (struct gpu_use){ busy, known, mem, total };
	return 0;
}

json_t *outcome_to_json(const struct outcome *out)
{
	json_t *obj = json_pack(
	    "{s:i s:i s:b s:I s:I s:I}", "exit_code", out->exit_code, "signal",
	    out->signal, "oom", out->oom, "start", (json_int_t)out->start,
	    "end", (json_int_t)out->end, "cpu_ms", (json_int_t)out->cpu_ms);

	if (out->peak_mem_kib != SPEC_UNSET)
		json_object_set_new(obj, "peak_mem_kib",
		                    json_integer(out->peak_mem_kib));
	if (out->gpu.known_ms)
		json_object_set_new(obj, "gpu", gpu_use_to_json(&out->gpu));
	if (out->out_of_disk)
		json_object_set_new(obj, "out_of_disk", json_true());
	if (out->text)
		json_object_set_new(obj, "text", text_to_json(out->text));
	return obj;
}

int outcome_from_json(struct outcome *ret, json_t *obj, struct arena *arena,
                      struct err *err)
{
	json_int_t start, end, cpu_ms, peak = SPEC_UNSET;
	struct outcome out = { 0 };
	const char *text = NULL;
	json_t *gpu = NULL;
	json_error_t why;
	int oom, disk = 0;

	if (json_unpack_ex(obj, &why, JSON_STRICT,
	                   "{s:i s:i s:b s:I s:I s:I s?I s?o s?b s?s}",
	                   "exit_code", &out.exit_code, "signal", &out.signal,
	                   "oom", &oom, "start", &start, "end", &end, "cpu_ms",
	                   &cpu_ms, "peak_mem_kib", &peak, "gpu", &gpu,
	                   "out_of_disk", &disk, "text", &text) < 0)
		return err_set(err, EINVAL, "bad outcome: %s", why.text);
	if (gpu_use_from_json(&out.gpu, gpu, err) < 0)
		return -1;
	out.oom = oom;
	out.out_of_disk = disk;
	out.start = start;
	out.end = end;
	out.cpu_ms = cpu_ms;
	out.peak_mem_kib = peak;
	out.text = text ? arena_strdup(arena, text) : NULL;
	*ret = out;
	return 0;
}

static int end_line(int fd, json_t *obj, struct err *err)
{
	if (append_line(fd, obj, err) < 0)
		return -1;
	return fdatasync(fd) < 0 ? err_sys(err, "cannot make the outcome "
	                                        "durable")
	                         : 0;
}

int record_end(int fd, const struct outcome *out, struct err *err)
{
	return end_line(fd, json_pack("{s:o}", "ended", outcome_to_json(out)),
	                err);
}

int record_fail(int fd, enum start_fault fault, const char *text,
                struct err *err)
{
	return end_line(fd,
	                json_pack("{s:{s:i s:o}}", "failed", "fault",
	                          (int)fault, "text", text_to_json(text)),
	                err);
}

static int claim_from_json(struct claim *ret, json_t *obj, struct arena *arena)
{
	const char *boot, *run_id;
	json_t *dirs;
	int pid;

	if (json_unpack_ex(obj, NULL, JSON_STRICT, "{s:s s:i s:s s:o}", "boot",
	                   &boot, "pid", &pid, "run_id", &run_id, "cgroups",
	                   &dirs) < 0)
		return -1;
	*ret = (struct claim){ .pid = pid };
	snprintf(ret->boot, sizeof(ret->boot), "%s", boot);
	snprintf(ret->run_id, sizeof(ret->run_id), "%s", run_id);
	for (enum cgroup_tree t = CG_V2; t < CG_NTREES; t++) {
		const char *dir = json_string_value(json_array_get(dirs, t));

		ret->cgroup.dir[t] = dir ? arena_strdup(arena, dir) : NULL;
	}
	return 0;
}

static bool second_line(struct record *ret, json_t *obj, struct arena *arena)
{
	json_t *ended = json_object_get(obj, "ended");
	const char *text;
	int fault;

	if (ended && !outcome_from_json(&ret->outcome, ended, arena, NULL)) {
		ret->state = RECORD_ENDED;
		return true;
	}
	if (json_unpack(obj, "{s:{s:i s:s}}", "failed", "fault", &fault, "text",
	                &text) < 0)
		return false;
	ret->state = RECORD_FAILED;
	ret->fault = fault == FAULT_USER || fault == FAULT_POOL
	                 ? (enum start_fault)fault
	                 : FAULT_SYSTEM;
	ret->outcome.text = arena_strdup(arena, text);
	return true;
}

/* Returns the JSON object in the next complete line, or NULL, and
 * advances *at. */
static json_t *take_line(const char **at)
{
	const char *nl = strchr(*at, '\n');
	json_t *obj;

	if (!nl)
		return NULL;
	obj = json_loadb(*at, (size_t)(nl - *at), JSON_REJECT_DUPLICATES, NULL);
	*at = nl + 1;
	return obj;
}

static bool is_locked(int fd, pid_t *ret_by)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	bool is = fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;

	*ret_by = is ? lock.l_pid : 0;
	return is;
}

static int open_claim(int dirfd)
{
	return openat(dirfd, CLAIM_FILE, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
}

pid_t record_shepherd(int dirfd)
{
	int fd = open_claim(dirfd);
	pid_t pid;

	if (fd < 0)
		return 0;
	is_locked(fd, &pid);
	close(fd);
	return pid;
}

void record_read(int dirfd, struct record *ret, struct arena *arena)
{
	int fd = open_claim(dirfd);
	struct buf text = { 0 };
	json_t *first, *second;
	const char *at;
	bool alive;
	pid_t pid;
	ssize_t n;

	*ret = (struct record){ .state = RECORD_NONE };
	if (fd < 0)
		return;
	/* Test the lock before reading: if the shepherd has ended by then, all
	 * that it wrote will be read. */
	alive = is_locked(fd, &pid);
	while ((n = read(fd, buf_room(&text, 4096), 4096)) > 0)
		buf_grew(&text, (size_t)n);
	close(fd);
	at = text.len ? text.data : "";
	first = take_line(&at);
	second = first ? take_line(&at) : NULL;
	if (first && !claim_from_json(&ret->claim, first, arena)) {
		ret->state = alive ? RECORD_ALIVE : RECORD_DEAD;
		if (second)
			second_line(ret, second, arena);
	} else if (alive) {
		ret->state = RECORD_ALIVE;
	}
	json_decref(first);
	json_decref(second);
	buf_free(&text);
}

/* job.c - what a pod knows of its job */
#include "pod/job.h"

#include <arpa/inet.h>
#include <jansson.h>
#include <netdb.h>
#include <nss.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "libcommon/clock.h"
#include "libcommon/mem.h"
#include "libcommon/parse.h"

enum { PATIENCE_MS = 60000, PAUSE_US = 100000 };

static bool read_key(const char *hex, uint8_t ret[POD_KEY])
{
	if (strlen(hex) != 2 * POD_KEY)
		return false;
	for (size_t i = 0; i < POD_KEY; i++) {
		unsigned byte;

		if (sscanf(hex + 2 * i, "%2x", &byte) != 1)
			return false;
		ret[i] = (uint8_t)byte;
	}
	return true;
}

static int parse(const json_t *obj, struct pod_job *ret)
{
	const char *name, *key, *host = NULL;
	json_int_t n[7], port = POD_PORT, signo = 0, after = 0;
	int first = 1;

	if (json_unpack(
		(json_t *)(uintptr_t)obj,
		"{s:I s:I s:I s:I s:I s:I s:I s:s s:s s?s s?I s?I s?I s?b}",
		"job", &n[0], "pods", &n[1], "tasks", &n[2], "cpus", &n[3],
		"mem", &n[4], "gpus", &n[5], "grace", &n[6], "name", &name,
		"key", &key, "host", &host, "port", &port, "signal", &signo,
		"after", &after, "signal_first", &first) < 0 ||
	    n[1] < 1 || n[1] > POD_PODS_MAX || n[2] < 1 || n[3] < 1 ||
	    n[5] < 0 || n[5] > 64 || !read_key(key, ret->key))
		return -1;
	ret->id = n[0];
	ret->pods = n[1];
	ret->tasks = n[2];
	ret->cpus = n[3];
	ret->mem_mib = n[4];
	ret->gpus = n[5];
	ret->grace = n[6];
	ret->name = xstrdup(name);
	ret->port = port;
	ret->signal = signo;
	ret->signal_after = after;
	ret->signal_first = first;
	ret->host = host ? xstrdup(host) : NULL;
	return 0;
}

int pod_job_read(struct pod_job *ret, struct err *err)
{
	const char *path = getenv(POD_JOB_VAR);
	json_error_t why;
	json_t *obj;
	int rc;

	if (!path || !*path)
		path = POD_JOB_FILE;
	*ret = (struct pod_job){ 0 };
	obj = json_load_file(path, JSON_REJECT_DUPLICATES, &why);
	if (!obj)
		return err_set(err, ENOENT,
		               "'%s' cannot be read (%s): this is no pod of a "
		               "job with steps",
		               path, why.text);
	rc = parse(obj, ret);
	json_decref(obj);
	return rc < 0 ? err_set(err, EINVAL,
	                        "'%s' does not say what the job is", path)
	              : 0;
}

void pod_job_free(struct pod_job *job)
{
	free(job->name);
	free(job->host);
}

void pod_job_node(const struct pod_job *job, int64_t pod,
                  char ret[POD_NAME_MAX])
{
	int n = job->pods > 1 && !job->host
	            ? snprintf(ret, POD_NAME_MAX, "%s-%lld.%s", job->name,
	                       (long long)pod, job->name)
	            : snprintf(ret, POD_NAME_MAX, "%s-%lld", job->name,
	                       (long long)pod);

	if (n >= POD_NAME_MAX)
		ret[POD_NAME_MAX - 1] = '\0';
}

int64_t pod_job_self(const struct pod_job *job)
{
	const char *index = getenv("JOB_COMPLETION_INDEX");
	int64_t n;

	if (!index || parse_int(index, 0, job->pods - 1, &n, NULL) < 0)
		return 0;
	return n;
}

/* --- connecting ----------------------------------------------------------- */

static int try_address(const struct addrinfo *a)
{
	int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd >= 0 && connect(fd, a->ai_addr, a->ai_addrlen) < 0) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static int try_once(const char *name, int port, struct err *err)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM,
		                  .ai_flags = AI_NUMERICSERV };
	struct addrinfo *list = NULL;
	char number[8];
	int rc, fd = -1;

	snprintf(number, sizeof(number), "%d", port);
	rc = getaddrinfo(name, number, &hints, &list);
	if (rc)
		return err_set(err, ENOENT, "the name '%s' is not known: %s",
		               name, gai_strerror(rc));
	errno = 0;
	for (const struct addrinfo *a = list; a && fd < 0; a = a->ai_next)
		fd = try_address(a);
	freeaddrinfo(list);
	return fd < 0
	           ? err_sys(err, "the agent in '%s' cannot be reached", name)
	           : fd;
}

int pod_job_connect(const struct pod_job *job, int64_t pod, struct err *err)
{
	int64_t until = clock_ms() + PATIENCE_MS;
	char name[POD_NAME_MAX];
	int port = (int)job->port, fd;

	/* Resolve names from files and DNS only: a static program must not load
	 * other NSS modules, which are of the image's libc. */
	__nss_configure_lookup("hosts", "files dns");
	pod_job_node(job, pod, name);
	if (job->host) {
		snprintf(name, sizeof(name), "%s", job->host);
		port += (int)pod;
	} else if (job->pods == 1 || pod == pod_job_self(job)) {
		snprintf(name, sizeof(name), "127.0.0.1");
	}
	while ((fd = try_once(name, port, err)) < 0 && clock_ms() < until)
		usleep(PAUSE_US);
	return fd;
}

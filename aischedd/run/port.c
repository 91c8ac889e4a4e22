/* port.c - connect to a port at which a process of a job listens */
#include "aischedd/run/port.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "libcommon/mem.h"

enum {
	LISTENERS_MAX = 64, /* sockets that are looked at for one port */
	CONNECT_MS = 200    /* longest wait for a listener to accept */
};

#define STATE_LISTEN 0x0a /* in /proc/net/tcp */

struct listener {
	int family;
	struct in6_addr address; /* IPv4: in the first word */
	unsigned long inode;
};

struct look {
	struct listener all[LISTENERS_MAX];
	size_t n;
	const struct listener *own; /* first listener of the job, or NULL */
};

/* --- the sockets that listen ---------------------------------------------- */

/* Read a line of /proc/net/tcp or tcp6. Returns false if the socket of the line
 * does not listen: then no further line need be read, as the kernel lists
 * listening sockets first. */
static bool read_line(const char *line, int family, uint16_t port,
                      struct look *look)
{
	struct listener l = { .family = family };
	unsigned at, state;
	char address[33];

	if (sscanf(line,
	           " %*[0-9]: %32[0-9A-F]:%x %*[^ ] %x %*s %*s %*s %*s %*s %lu",
	           address, &at, &state, &l.inode) != 4 ||
	    state != STATE_LISTEN)
		return false;
	if (at != port || look->n == LISTENERS_MAX)
		return true;
	for (size_t i = 0; i < strlen(address) / 8; i++) {
		char word[9] = "";

		memcpy(word, address + 8 * i, 8);
		l.address.s6_addr32[i] = (uint32_t)strtoul(word, NULL, 16);
	}
	look->all[look->n++] = l;
	return true;
}

static void read_file(const char *path, int family, uint16_t port,
                      struct look *look)
{
	FILE *file = fopen(path, "re");
	char line[512];

	if (!file)
		return;
	if (fgets(line, sizeof(line), file)) /* names of columns */
		while (fgets(line, sizeof(line), file) &&
		       read_line(line, family, port, look))
			;
	fclose(file);
}

static void find_listeners(uint16_t port, struct look *look)
{
	*look = (struct look){ 0 };
	read_file("/proc/net/tcp", AF_INET, port, look);
	read_file("/proc/net/tcp6", AF_INET6, port, look);
}

/* --- find the socket at which the job listens ----------------------------- */

static const struct listener *find_inode(const struct look *look,
                                         unsigned long inode)
{
	for (size_t i = 0; i < look->n; i++)
		if (look->all[i].inode == inode)
			return &look->all[i];
	return NULL;
}

static void look_at_process(pid_t pid, void *arg)
{
	struct look *look = arg;
	char path[32], link[64];
	struct dirent *e;
	unsigned long inode;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	dir = look->own ? NULL : opendir(path);
	if (!dir)
		return;
	while (!look->own && (e = readdir(dir))) {
		ssize_t n =
		    readlinkat(dirfd(dir), e->d_name, link, sizeof(link) - 1);

		if (n <= 0)
			continue;
		link[n] = '\0';
		if (sscanf(link, "socket:[%lu]", &inode) == 1)
			look->own = find_inode(look, inode);
	}
	closedir(dir);
}

/* --- the connection ------------------------------------------------------- */

static socklen_t address_of(const struct listener *l, uint16_t port,
                            struct sockaddr_storage *ret)
{
	struct sockaddr_in *v4 = (void *)ret;
	struct sockaddr_in6 *v6 = (void *)ret;

	memset(ret, 0, sizeof(*ret));
	ret->ss_family = (sa_family_t)l->family;
	if (l->family == AF_INET) {
		v4->sin_port = htons(port);
		v4->sin_addr.s_addr = l->address.s6_addr32[0];
		if (v4->sin_addr.s_addr == htonl(INADDR_ANY))
			v4->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		return sizeof(*v4);
	}
	v6->sin6_port = htons(port);
	v6->sin6_addr = l->address;
	if (IN6_IS_ADDR_UNSPECIFIED(&l->address))
		v6->sin6_addr = in6addr_loopback;
	return sizeof(*v6);
}

/* Connect fd. Returns false with errno on failure: with ETIMEDOUT already after
 * CONNECT_MS, because the caller has other work. */
static bool begin(int fd, const struct sockaddr_storage *to, socklen_t len)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	int code = 0;
	socklen_t size = sizeof(code);

	if (connect(fd, (const struct sockaddr *)to, len) == 0)
		return true;
	if (errno != EINPROGRESS)
		return false;
	if (poll(&p, 1, CONNECT_MS) <= 0) {
		errno = ETIMEDOUT;
		return false;
	}
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &size) < 0)
		return false;
	errno = code;
	return code == 0;
}

static bool still_listens(const struct listener *own, uint16_t port)
{
	struct look *look = xcalloc(1, sizeof(*look));
	bool ret;

	find_listeners(port, look);
	ret = find_inode(look, own->inode) != NULL;
	free(look);
	return ret;
}

static int connect_to(const struct listener *own, uint16_t port,
                      struct err *err)
{
	struct sockaddr_storage to;
	socklen_t len = address_of(own, port, &to);
	int fd =
	    socket(own->family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	const char *why = "it has just closed it";

	if (fd < 0 || !begin(fd, &to, len))
		why = strerror(errno);
	else if (still_listens(own, port))
		return fd;
	if (fd >= 0)
		close(fd);
	return err_set(err, ECONNREFUSED,
	               "the job listens at port %u, but takes no connection: "
	               "%s",
	               port, why);
}

int port_connect(uint16_t port, port_each_fn *each, void *arg, struct err *err)
{
	struct look *look = xcalloc(1, sizeof(*look));
	int fd;

	find_listeners(port, look);
	if (look->n)
		each(look_at_process, look, arg);
	if (look->own)
		fd = connect_to(look->own, port, err);
	else if (look->n)
		fd =
		    err_set(err, ECONNREFUSED,
		            "port %u is not the job's: another process listens "
		            "there",
		            port);
	else
		fd = err_set(err, ECONNREFUSED,
		             "no process of the job listens at port %u", port);
	free(look);
	return fd;
}

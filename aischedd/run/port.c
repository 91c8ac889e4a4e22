/* port.c - connect to a port at which a process of a job listens */
#include "aischedd/run/port.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "libcommon/mem.h"

enum {
	/* For one port, look at this many sockets of the job's user at most,
	 * and at as many of all other users together. */
	LISTENERS_MAX = 64,
	CONNECT_MS = 200 /* longest wait for a listener to accept */
};

#define STATE_LISTEN 0x0a /* in /proc/net/tcp */

struct listener {
	int family;
	struct in6_addr address; /* IPv4: in the first word */
	unsigned long inode;
};

struct look {
	uint16_t port;
	uid_t uid; /* of the job's user */
	struct listener all[2 * LISTENERS_MAX];
	/* n: sockets in all[]; of_user: sockets of the job's user among them */
	size_t n, of_user;
	const struct listener *own; /* first listener of the job, or NULL */
	/* why the last listener of the job that must not be used is unfit;
	 * NULL: none was found */
	const char *unfit;
};

/* --- the sockets that listen ---------------------------------------------- */

/* Read a line of /proc/net/tcp or tcp6. Returns false if the socket of the line
 * does not listen: then no further line need be read, as the kernel lists
 * listening sockets first. */
static bool read_line(const char *line, int family, struct look *look)
{
	struct listener l = { .family = family };
	unsigned at, state, uid;
	char address[33];
	bool of_user;

	if (sscanf(line,
	           " %*[0-9]: %32[0-9A-F]:%x %*[^ ] %x %*s %*s %*s %u %*s %lu",
	           address, &at, &state, &uid, &l.inode) != 5 ||
	    state != STATE_LISTEN)
		return false;
	of_user = uid == look->uid;
	if (at != look->port ||
	    (of_user ? look->of_user : look->n - look->of_user) ==
	        LISTENERS_MAX)
		return true;
	for (size_t i = 0; i < strlen(address) / 8; i++) {
		char word[9] = "";

		memcpy(word, address + 8 * i, 8);
		l.address.s6_addr32[i] = (uint32_t)strtoul(word, NULL, 16);
	}
	look->all[look->n++] = l;
	look->of_user += of_user;
	return true;
}

static void read_file(const char *path, int family, struct look *look)
{
	FILE *file = fopen(path, "re");
	char line[512];

	if (!file)
		return;
	if (fgets(line, sizeof(line), file)) /* names of columns */
		while (fgets(line, sizeof(line), file) &&
		       read_line(line, family, look))
			;
	fclose(file);
}

static struct look *find_listeners(uint16_t port, uid_t uid)
{
	struct look *look = xcalloc(1, sizeof(*look));

	look->port = port;
	look->uid = uid;
	read_file("/proc/net/tcp", AF_INET, look);
	read_file("/proc/net/tcp6", AF_INET6, look);
	return look;
}

/* --- listeners that must not be used -------------------------------------- */

static bool is_of_interface(const struct sockaddr *a, const struct listener *l)
{
	const struct sockaddr_in *v4 = (const void *)a;
	const struct sockaddr_in6 *v6 = (const void *)a;

	if (!a || a->sa_family != l->family)
		return false;
	return l->family == AF_INET
	           ? v4->sin_addr.s_addr == l->address.s6_addr32[0]
	           : IN6_ARE_ADDR_EQUAL(&v6->sin6_addr, &l->address);
}

/* Whether this machine has the address: with IP_FREEBIND anybody can listen at
 * an address of another machine, to which we must not connect. */
static bool is_here(const struct listener *given)
{
	struct listener l = *given;
	struct ifaddrs *all, *i;
	in_addr_t v4;

	if (l.family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&l.address)) {
		l.family = AF_INET;
		l.address.s6_addr32[0] = l.address.s6_addr32[3];
	}
	v4 = ntohl(l.address.s6_addr32[0]);
	if (l.family == AF_INET
	        ? v4 == INADDR_ANY || v4 >> IN_CLASSA_NSHIFT == IN_LOOPBACKNET
	        : IN6_IS_ADDR_UNSPECIFIED(&l.address) ||
	              IN6_IS_ADDR_LOOPBACK(&l.address))
		return true;
	if (getifaddrs(&all) < 0)
		return false;
	for (i = all; i && !is_of_interface(i->ifa_addr, &l);)
		i = i->ifa_next;
	freeifaddrs(all);
	return i != NULL;
}

/* Whether the socket is bound to a device other than "lo": then another user
 * may listen at the same address. Returns false if this cannot be found out. */
static bool has_device(pid_t pid, int number)
{
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0), fd;
	char name[IFNAMSIZ] = "";
	socklen_t len = sizeof(name);
	bool ret;

	if (pidfd < 0)
		return false;
	fd = (int)syscall(SYS_pidfd_getfd, pidfd, number, 0);
	ret = fd >= 0 &&
	      getsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, name, &len) == 0 &&
	      *name && strcmp(name, "lo") != 0;
	if (fd >= 0)
		close(fd);
	close(pidfd);
	return ret;
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

/* Use listener l, which is descriptor `number` of the job's process pid. If it
 * must not be used, note why. */
static void take(struct look *look, const struct listener *l, pid_t pid,
                 int number)
{
	if (!is_here(l))
		look->unfit = "its address is not one of this machine";
	else if (has_device(pid, number))
		look->unfit = "its socket is bound to a device";
	else
		look->own = l;
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
		const struct listener *l = NULL;

		if (n <= 0)
			continue;
		link[n] = '\0';
		if (sscanf(link, "socket:[%lu]", &inode) == 1)
			l = find_inode(look, inode);
		if (l)
			take(look, l, pid, (int)strtol(e->d_name, NULL, 10));
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

/* Connect fd. Returns false with errno on failure, which is ETIMEDOUT if the
 * listener does not accept within CONNECT_MS. */
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

static bool still_listens(const struct look *before)
{
	struct look *now = find_listeners(before->port, before->uid);
	bool ret = find_inode(now, before->own->inode) != NULL;

	free(now);
	return ret;
}

/* Make a socket that the job's user owns, so that firewall rules for that user
 * apply to it. */
static int socket_of_user(int family, uid_t uid)
{
	uid_t before = (uid_t)setfsuid(uid);
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	setfsuid(before);
	return fd;
}

static int connect_to(const struct look *look, struct err *err)
{
	struct sockaddr_storage to;
	socklen_t len = address_of(look->own, look->port, &to);
	int fd = socket_of_user(look->own->family, look->uid);
	const char *why = "it has just closed it";

	if (fd < 0 || !begin(fd, &to, len))
		why = strerror(errno);
	else if (still_listens(look))
		return fd;
	if (fd >= 0)
		close(fd);
	return err_set(err, ECONNREFUSED,
	               "the job listens at port %u, but takes no connection: "
	               "%s",
	               look->port, why);
}

int port_connect(uint16_t port, uid_t uid, port_each_fn *each, void *arg,
                 struct err *err)
{
	struct look *look = find_listeners(port, uid);
	int fd;

	if (look->n)
		each(look_at_process, look, arg);
	if (look->own)
		fd = connect_to(look, err);
	else if (look->unfit)
		fd = err_set(err, ECONNREFUSED,
		             "the job listens at port %u, but %s", port,
		             look->unfit);
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

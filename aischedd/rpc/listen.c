/* listen.c - sockets to listen on */
#include "aischedd/rpc/listen.h"

#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "libcommon/fdpass.h"
#include "libcommon/mem.h"

enum { BACKLOG = 1024, FLAGS = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK };

static void make_folder(const char *path)
{
	char *folder = xstrdup(path), *slash = strrchr(folder, '/');

	if (slash && slash != folder) {
		*slash = '\0';
		mkdir(folder, 0755); /* if this fails, bind() reports why */
	}
	free(folder);
}

/* Remove a socket file that a daemon left behind when it died. Fails
 * with EADDRINUSE if a daemon still listens there, even if it is too
 * busy to accept. */
static int remove_dead(const struct sockaddr_un *addr, struct err *err)
{
	int fd = socket(AF_UNIX, FLAGS, 0), code = 0;
	struct stat st;

	if (fd < 0)
		return err_sys(err, "socket");
	if (connect(fd, (const struct sockaddr *)addr, sizeof(*addr)) < 0)
		code = errno;
	close(fd);
	if (code == ENOENT)
		return 0;
	if (code == 0 || code == EAGAIN)
		return err_set(err, EADDRINUSE,
		               "another aischedd answers at '%s'",
		               addr->sun_path);
	if (stat(addr->sun_path, &st) == 0 && !S_ISSOCK(st.st_mode))
		return err_set(err, EADDRINUSE, "'%s' is not a socket",
		               addr->sun_path);
	if (code == ECONNREFUSED && unlink(addr->sun_path) == 0)
		return 0;
	errno = code;
	return err_sys(err, "cannot listen at '%s'", addr->sun_path);
}

int listen_unix(const char *path, mode_t mode, gid_t gid, struct err *err)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	size_t len = strlen(path);
	int fd;

	if (len >= sizeof(addr.sun_path))
		return err_set(err, ENAMETOOLONG,
		               "socket path '%s' is too long: at most %zu "
		               "bytes",
		               path, sizeof(addr.sun_path) - 1);
	memcpy(addr.sun_path, path, len + 1);
	make_folder(path);
	if (remove_dead(&addr, err) < 0)
		return -1;
	fd = socket(AF_UNIX, FLAGS, 0);
	if (fd < 0)
		return err_sys(err, "socket");
	fdpass_refuse(fd);
	if (bind(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0)
		err_sys(err, "cannot listen at '%s'", path);
	else if (gid != (gid_t)-1 && chown(path, (uid_t)-1, gid) < 0)
		err_sys(err, "cannot give '%s' to its group", path);
	else if (chmod(path, mode) < 0 || listen(fd, BACKLOG) < 0)
		err_sys(err, "cannot listen at '%s'", path);
	else
		return fd;
	close(fd);
	return -1;
}

static int listen_at(const struct addrinfo *a)
{
	int fd = socket(a->ai_family, FLAGS, a->ai_protocol), on = 1, code;

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (a->ai_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
	if (bind(fd, a->ai_addr, a->ai_addrlen) < 0 ||
	    listen(fd, BACKLOG) < 0) {
		code = errno;
		close(fd);
		errno = code;
		return -1;
	}
	return fd;
}

int listen_tcp(const char *host, const char *port, int ret[LISTEN_MAX],
               struct err *err)
{
	struct addrinfo hints = { .ai_flags = AI_PASSIVE,
		                  .ai_socktype = SOCK_STREAM };
	struct addrinfo *list;
	int n = 0, rc = getaddrinfo(*host ? host : NULL, port, &hints, &list);

	if (rc)
		return err_set(err, EINVAL,
		               "cannot listen at 'tcp://%s:%s': %s", host, port,
		               gai_strerror(rc));
	for (struct addrinfo *a = list; a && n < LISTEN_MAX; a = a->ai_next) {
		ret[n] = listen_at(a);
		if (ret[n] >= 0) {
			n++;
			continue;
		}
		/* "localhost" may resolve to an IPv6 address that the machine
		 * does not have: one address that works is enough. */
		rc = errno;
		if (rc == EAFNOSUPPORT || rc == EADDRNOTAVAIL)
			continue;
		while (n)
			close(ret[--n]);
		break;
	}
	freeaddrinfo(list);
	errno = rc;
	return n ? n
	         : err_sys(err, "cannot listen at 'tcp://%s:%s'", host, port);
}

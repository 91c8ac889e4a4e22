#include "libcommon/fdpass.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83
#endif

union control {
	struct cmsghdr head; /* for its alignment */
	char space[CMSG_SPACE(FDPASS_MAX * sizeof(int))];
};

ssize_t fdpass_send(int sock, const void *data, size_t len, const int *fd,
                    int n, int flags)
{
	union control control = { .space = { 0 } };
	size_t size = (size_t)n * sizeof(int);
	struct iovec part = { (void *)(uintptr_t)data, len };
	struct msghdr msg = { .msg_iov = &part, .msg_iovlen = 1 };

	assert(n >= 0 && n <= FDPASS_MAX);
	if (n) {
		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE(size);
		control.head.cmsg_level = SOL_SOCKET;
		control.head.cmsg_type = SCM_RIGHTS;
		control.head.cmsg_len = CMSG_LEN(size);
		memcpy(CMSG_DATA(&control.head), fd, size);
	}
	return sendmsg(sock, &msg, flags | MSG_NOSIGNAL);
}

bool fdpass_old_kernel;

bool fdpass_refuse(int sock)
{
	int no = 0, yes = 1;

	if (!fdpass_old_kernel &&
	    setsockopt(sock, SOL_SOCKET, SO_PASSRIGHTS, &no, sizeof(no)) == 0)
		return true;
	/* A byte sent with MSG_OOB can have descriptors, too. Unless it is
	 * received in line, MSG_PEEK does not show it, and the kernel drops
	 * it when the bytes around it are read. */
	setsockopt(sock, SOL_SOCKET, SO_OOBINLINE, &yes, sizeof(yes));
	return false;
}

ssize_t fdpass_read(int sock, void *data, size_t size)
{
	struct iovec part = { data, size };
	struct msghdr msg = { .msg_iov = &part, .msg_iovlen = 1 };
	ssize_t len = recvmsg(sock, &msg, MSG_PEEK);

	if (len <= 0)
		return len;
	/* msg has no room for descriptors: MSG_CTRUNC means that the peer sent
	 * some with these bytes. */
	if (msg.msg_flags & MSG_CTRUNC) {
		errno = EPERM;
		return -1;
	}
	/* Receive no more bytes than seen: others may have arrived since. */
	return recv(sock, data, (size_t)len, 0);
}

bool fdpass_drain(int sock)
{
	char bytes[16384];
	ssize_t len;

	shutdown(sock, SHUT_RD);
	do {
		len = fdpass_read(sock, bytes, sizeof(bytes));
	} while (len > 0);
	return len == 0 || errno != EPERM;
}

ssize_t fdpass_recv(int sock, void *data, size_t size, int *fd, int max,
                    int *ret_n, int flags)
{
	union control control;
	struct iovec part = { data, size };
	/* Use CMSG_LEN(): CMSG_SPACE() may have room for one more
	 * descriptor. */
	struct msghdr msg = { .msg_iov = &part,
		              .msg_iovlen = 1,
		              .msg_control = &control,
		              .msg_controllen =
		                  CMSG_LEN((size_t)max * sizeof(int)) };
	const struct cmsghdr *c;
	ssize_t len;

	assert(max > 0 && max <= FDPASS_MAX);
	*ret_n = 0;
	do {
		len = recvmsg(sock, &msg, flags | MSG_CMSG_CLOEXEC);
	} while (len < 0 && errno == EINTR);
	c = len < 0 ? NULL : CMSG_FIRSTHDR(&msg);
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS) {
		*ret_n = (int)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
		memcpy(fd, CMSG_DATA(c), (size_t)*ret_n * sizeof(int));
	}
	if (len >= 0 && msg.msg_flags & MSG_CTRUNC) {
		while (*ret_n > 0)
			close(fd[--*ret_n]);
		*ret_n = -1;
	}
	return len;
}

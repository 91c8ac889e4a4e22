#include "libcommon/client/tcp_peer.h"

#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "libcommon/buf.h"

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

/* Append an address as in /proc/net/tcp or, if `wide`, as in tcp6, where IPv4
 * addresses are mapped. */
static void put_address(struct buf *out, const union address *a, bool wide)
{
	uint32_t word[4] = { 0 };

	if (a->any.sa_family == AF_INET6) {
		memcpy(word, &a->v6.sin6_addr, sizeof(word));
	} else {
		word[2] = htonl(0xffff);
		word[3] = a->v4.sin_addr.s_addr;
	}
	for (int i = wide ? 0 : 3; i < 4; i++)
		buf_printf(out, "%08" PRIX32, word[i]);
	buf_printf(out, ":%04X ",
	           ntohs(a->any.sa_family == AF_INET6 ? a->v6.sin6_port
	                                              : a->v4.sin_port));
}

/* Search a file of /proc/net for the socket with this pair of addresses; *ret
 * becomes its user. */
static bool find(const char *path, const char *addresses, uid_t *ret)
{
	FILE *file = fopen(path, "re");
	unsigned long inode;
	bool found = false;
	char line[512];
	unsigned uid;

	if (!file)
		return false;
	while (!found && fgets(line, sizeof(line), file)) {
		const char *at = strstr(line, addresses);

		/* A socket that was closed has no inode, and its user is
		 * not known. */
		found =
		    at &&
		    sscanf(at + strlen(addresses), "%*x %*s %*s %*s %u %*s %lu",
		           &uid, &inode) == 2 &&
		    inode;
	}
	fclose(file);
	if (found)
		*ret = uid;
	return found;
}

int tcp_peer_user(int conn, uid_t *ret, struct err *err)
{
	union address own, peer;
	socklen_t len = sizeof(own);
	struct buf text = { 0 };
	bool found = false;

	if (getsockname(conn, &own.any, &len) < 0)
		return err_sys(err, "cannot get an address");
	len = sizeof(peer);
	if (getpeername(conn, &peer.any, &len) < 0)
		return err_sys(err, "cannot get an address");
	if (own.any.sa_family == AF_INET) {
		put_address(&text, &peer, false);
		put_address(&text, &own, false);
		found = find("/proc/net/tcp", text.data, ret);
		buf_clear(&text);
	}
	if (!found) {
		put_address(&text, &peer, true);
		put_address(&text, &own, true);
		found = find("/proc/net/tcp6", text.data, ret);
	}
	buf_free(&text);
	return found ? 0
	             : err_set(err, ENOENT,
	                       "nobody holds the other end of the connection");
}

/* raw.c - frames made by hand */
#include "tests/unit/rpc/raw.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "libcommon/auth.h"
#include "libcommon/mem.h"
#include "tests/unit/rpc/rpc_server.h"

static void read_all(int fd, void *data, size_t len)
{
	ck_assert_int_eq(recv(fd, data, len, MSG_WAITALL), len);
}

void raw_send(int fd, const void *data, size_t len)
{
	ck_assert_int_eq(send(fd, data, len, MSG_NOSIGNAL), len);
}

json_t *raw_read(int fd, struct frame_head *ret)
{
	unsigned char bytes[WIRE_HEAD];
	struct err err;
	char *body;
	json_t *json;

	read_all(fd, bytes, sizeof(bytes));
	ck_assert_msg(frame_head_get(ret, bytes, &err) == 0, "%s", err.text);
	body = xmalloc(ret->cred_len + ret->json_len + 1);
	read_all(fd, body, ret->cred_len + ret->json_len);
	json = json_loadb(body + ret->cred_len, ret->json_len, 0, NULL);
	ck_assert_ptr_nonnull(json);
	free(body);
	return json;
}

static int tcp_connect(void)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	struct timeval limit = { .tv_sec = 30 };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ck_assert_int_ge(fd, 0);
	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	addr.sin_port =
	    htons((uint16_t)strtol(strrchr(server.tcp, ':') + 1, NULL, 10));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&addr, sizeof(addr)),
	                 0);
	return fd;
}

static int raw_connect(void)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	struct timeval limit = { .tv_sec = 30 };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ck_assert_int_ge(fd, 0);
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", server.path);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&addr, sizeof(addr)),
	                 0);
	return fd;
}

static struct raw take_hello(int fd)
{
	struct raw raw = { .fd = fd };
	struct frame_head head;
	json_t *hello = raw_read(raw.fd, &head);
	const char *nonce, *cluster, *version;

	ck_assert_int_eq(json_unpack(hello, "{s:s s:s s:s}", "nonce", &nonce,
	                             "cluster", &cluster, "version", &version),
	                 0);
	ck_assert_str_eq(cluster, "demo");
	ck_assert_uint_eq(strlen(nonce), WIRE_NONCE);
	memcpy(raw.nonce, nonce, sizeof(raw.nonce));
	json_decref(hello);
	return raw;
}

struct raw raw_open(void)
{
	return take_hello(raw_connect());
}

struct raw raw_open_tcp(void)
{
	return take_hello(tcp_connect());
}

void raw_ping(const struct raw *raw)
{
	static const char json[] = "{\"op\":\"ping\"}";
	struct frame_head head = { FRAME_REQUEST, 1, 0, sizeof(json) - 1, 0 };
	unsigned char bytes[WIRE_HEAD];

	frame_head_put(bytes, &head);
	raw_send(raw->fd, bytes, sizeof(bytes));
	raw_send(raw->fd, json, head.json_len);
	json_decref(raw_read(raw->fd, &head));
	ck_assert_int_eq(head.kind, FRAME_REPLY);
}

void raw_refused(int fd, int code, const char *text)
{
	struct frame_head head;
	json_t *body = raw_read(fd, &head);
	const char *got_text;
	int got_code;

	ck_assert_int_eq(head.kind, FRAME_REPLY);
	ck_assert_int_eq(json_unpack(body, "{s:{s:i s:s}}", "error", "code",
	                             &got_code, "text", &got_text),
	                 0);
	ck_assert_msg(got_code == code && strstr(got_text, text), "%d %s",
	              got_code, got_text);
	json_decref(body);
}

void raw_closed(int fd)
{
	char c;

	ck_assert_int_le(recv(fd, &c, 1, 0), 0);
}

void raw_frame(struct buf *out, uint32_t seq, const char *cred,
               const char *json)
{
	struct frame_head head = {
		.kind = FRAME_REQUEST,
		.seq = seq,
		.cred_len = (uint32_t)strlen(cred),
		.json_len = (uint32_t)strlen(json),
	};

	frame_head_put((unsigned char *)buf_room(out, WIRE_HEAD), &head);
	buf_grew(out, WIRE_HEAD);
	buf_puts(out, cred);
	buf_puts(out, json);
}

char *raw_cred(enum frame_kind kind, const char *cluster, const char *nonce,
               uint32_t seq, const char *json)
{
	unsigned char digest[WIRE_DIGEST];
	struct err err;
	char *cred;

	frame_digest(digest, kind, cluster, nonce, seq, 0, json, strlen(json),
	             NULL, 0);
	cred = auth_encode(NULL, digest, &err);
	ck_assert_msg(cred != NULL, "%s", err.text);
	return cred;
}

void raw_request(const struct raw *raw, const char *json, size_t raw_len)
{
	struct frame_head head = {
		.kind = FRAME_REQUEST,
		.seq = 1,
		.json_len = (uint32_t)strlen(json),
		.raw_len = (uint32_t)raw_len,
	};
	unsigned char digest[WIRE_DIGEST], bytes[WIRE_HEAD];
	char *zero = xcalloc(1, raw_len + 1), *cred;
	struct err err;

	frame_digest(digest, FRAME_REQUEST, "demo", raw->nonce, 1, 0, json,
	             head.json_len, zero, raw_len);
	cred = auth_encode(NULL, digest, &err);
	ck_assert_msg(cred != NULL, "%s", err.text);
	head.cred_len = (uint32_t)strlen(cred);
	frame_head_put(bytes, &head);
	raw_send(raw->fd, bytes, sizeof(bytes));
	raw_send(raw->fd, cred, head.cred_len);
	raw_send(raw->fd, json, head.json_len);
	free(cred);
	free(zero);
}

void raw_bare(int fd, unsigned char version, const struct frame_head *head,
              const char *body)
{
	unsigned char bytes[WIRE_HEAD];

	frame_head_put(bytes, head);
	bytes[4] = version;
	if (version)
		raw_send(fd, bytes, sizeof(bytes));
	raw_send(fd, body, strlen(body));
}

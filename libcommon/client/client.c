/* client.c - a tool's connection to the daemon */
#include "libcommon/client/client.h"

#include <err.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "libcommon/auth.h"
#include "libcommon/buf.h"
#include "libcommon/clean.h"
#include "libcommon/clock.h"
#include "libcommon/conf/conf.h"
#include "libcommon/limits.h"
#include "libcommon/mem.h"
#include "libcommon/msg.h"
#include "libcommon/paths.h"
#include "libcommon/wire.h"

enum { CONNECT_S = 5, HELLO_S = 10, READ_SIZE = 64 * 1024, TELL_MS = 5000 };

struct client {
	int fd;
	bool tcp;
	char *address; /* for messages */
	char *cluster, *nonce;
	uint32_t sent, answered; /* sequence numbers of requests */
	uint32_t bare; /* number of the last request without a credential */
	struct buf in; /* bytes that were read; those before `at` are used */
	size_t at;
	int64_t tell_ms; /* when to warn that no answer has come, by clock_ms();
	                    -1: never */
};

/* A frame; its bodies point into client->in, until the next frame is read. */
struct in_frame {
	struct frame_head head;
	const char *cred, *json, *raw;
};

static int lost(const struct client *client, const char *how, struct err *err)
{
	return err_set(err, ECONNRESET,
	               "the connection to aischedd at '%s' was lost: %s",
	               client->address, how);
}

/* Warn once if the answer is late: on a full disk the daemon cannot confirm a
 * request before there is space. Returns how many ms to wait; -1: for ever. */
static int64_t tell_late(struct client *client)
{
	int64_t left = client->tell_ms - clock_ms();

	if (client->tell_ms < 0 || left > 0)
		return client->tell_ms < 0 ? -1 : left;
	warnx("warning: aischedd at '%s' has not answered for %d s: still "
	      "waiting; `aictl status` says whether its disk is full",
	      client->address, TELL_MS / 1000);
	client->tell_ms = -1;
	return -1;
}

/* Wait for data until deadline_ms (-1: for ever), and read what has arrived.
 * Fails with ETIMEDOUT or ECONNRESET. */
static int fill(struct client *client, int64_t deadline_ms, struct err *err)
{
	for (;;) {
		char *room = buf_room(&client->in, READ_SIZE);
		ssize_t n = recv(client->fd, room, READ_SIZE, 0);
		struct pollfd pfd = { .fd = client->fd, .events = POLLIN };
		int64_t wait;

		if (n > 0) {
			buf_grew(&client->in, (size_t)n);
			return 0;
		}
		if (n == 0)
			return lost(client, "closed by the daemon", err);
		if (errno != EAGAIN && errno != EINTR)
			return lost(client, strerror(errno), err);
		wait = deadline_ms < 0 ? tell_late(client)
		                       : deadline_ms - clock_ms();
		if (deadline_ms >= 0 && wait <= 0)
			return err_set(err, ETIMEDOUT,
			               "aischedd at '%s' does not answer",
			               client->address);
		poll(&pfd, 1, (int)wait);
	}
}

/* Send data, and read what arrives meanwhile: the daemon may read no more
 * requests until we have read its answers. If we only sent, both could wait
 * for ever. */
static int send_all(struct client *client, const char *data, size_t len,
                    struct err *err)
{
	while (len) {
		ssize_t n = send(client->fd, data, len, MSG_NOSIGNAL);
		struct pollfd pfd = {
			.fd = client->fd,
			.events = POLLIN | POLLOUT,
		};

		if (n >= 0) {
			data += n;
			len -= (size_t)n;
			continue;
		}
		if (errno != EAGAIN && errno != EINTR)
			return lost(client, strerror(errno), err);
		poll(&pfd, 1, -1);
		if ((pfd.revents & POLLIN) && fill(client, -1, err) < 0)
			return -1;
	}
	return 0;
}

/* Read until client->in has at least len bytes from client->at on. */
static int need(struct client *client, size_t len, int64_t deadline_ms,
                struct err *err)
{
	while (client->in.len - client->at < len)
		if (fill(client, deadline_ms, err) < 0)
			return -1;
	return 0;
}

static int frame_read(struct client *client, int64_t deadline_ms,
                      struct in_frame *ret, struct err *err)
{
	struct buf *in = &client->in;
	size_t total;

	/* Drop used bytes when they are more than half of the buffer. */
	if (client->at > in->len / 2) {
		memmove(in->data, in->data + client->at, in->len - client->at);
		in->len -= client->at;
		client->at = 0;
	}
	if (need(client, WIRE_HEAD, deadline_ms, err) < 0)
		return -1;
	if (frame_head_get(&ret->head,
	                   (const unsigned char *)in->data + client->at,
	                   err) < 0)
		return err_wrap(err, "the answer from '%s'", client->address);
	client->at += WIRE_HEAD;
	total =
	    (size_t)ret->head.cred_len + ret->head.json_len + ret->head.raw_len;
	if (need(client, total, deadline_ms, err) < 0)
		return -1;
	ret->cred = in->data + client->at;
	ret->json = ret->cred + ret->head.cred_len;
	ret->raw = ret->json + ret->head.json_len;
	client->at += total;
	return 0;
}

/* Copy the error of an answer {"error": {...}} into *err. Returns false if the
 * answer is no refusal. proven: the sender is known to be the daemon. */
static bool is_refusal(json_t *body, bool proven, struct err *err)
{
	json_t *error = json_object_get(body, "error");
	const char *text = NULL;
	int code = 0;

	if (!error)
		return false;
	if (json_unpack(error, "{s:i, s:s}", "code", &code, "text", &text) < 0)
		err_set(err, EPROTO, "the daemon refused without a reason");
	else
		err_set(err, code ? code : EPROTO, "%s%s", text,
		        proven ? "" : " (the sender is not proven)");
	return true;
}

static int take_hello(struct client *client, struct err *err)
{
	int64_t deadline = clock_ms() + (int64_t)HELLO_S * 1000;
	const char *cluster, *nonce;
	struct in_frame frame;
	json_t *body;
	int rc = 0;

	if (frame_read(client, deadline, &frame, err) < 0)
		return -1;
	body = json_loadb(frame.json, frame.head.json_len, 0, NULL);
	/* A hello has no credential, so over TCP its sender is not proven. */
	if (body && is_refusal(body, !client->tcp, err)) {
		rc = -1;
	} else if (frame.head.kind != FRAME_HELLO ||
	           json_unpack(body, "{s:s, s:s}", "cluster", &cluster, "nonce",
	                       &nonce) < 0) {
		rc = err_set(err, EPROTO, "the server at '%s' is not aischedd",
		             client->address);
	} else {
		client->cluster = xstrdup(cluster);
		client->nonce = xstrdup(nonce);
	}
	json_decref(body);
	return rc;
}

/* Connect within CONNECT_S, then make the socket non-blocking. */
static int connect_fd(int fd, const struct sockaddr *addr, socklen_t len)
{
	struct timeval limit = { .tv_sec = CONNECT_S };

	if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) <
	        0 ||
	    connect(fd, addr, len) < 0 || fcntl(fd, F_SETFL, O_NONBLOCK) < 0) {
		if (errno == EINPROGRESS || errno == EAGAIN)
			errno = ETIMEDOUT;
		return -1;
	}
	return 0;
}

static int no_daemon(const char *address, int code, struct err *err)
{
	return err_set(err, code,
	               "cannot reach aischedd at '%s': %s; is it running? "
	               "`aischedd` starts it, $AISCHED_SOCKET or --socket "
	               "names another",
	               address, strerror(code));
}

static int open_unix(struct client *client, struct err *err)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	size_t len = strlen(client->address);

	if (len >= sizeof(addr.sun_path))
		return err_set(err, ENAMETOOLONG,
		               "socket path '%s' is too long: at most %zu "
		               "bytes",
		               client->address, sizeof(addr.sun_path) - 1);
	memcpy(addr.sun_path, client->address, len + 1);
	client->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (client->fd < 0)
		return err_sys(err, "socket");
	if (connect_fd(client->fd, (struct sockaddr *)&addr, sizeof(addr)) < 0)
		return no_daemon(client->address, errno, err);
	return 0;
}

static int open_tcp(struct client *client, const char *host, const char *port,
                    struct err *err)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *list;
	int rc = getaddrinfo(*host ? host : "localhost", port, &hints, &list);
	int code = 0, on = 1;

	if (rc)
		return err_set(err, EINVAL, "cannot find '%s': %s",
		               client->address, gai_strerror(rc));
	for (struct addrinfo *a = list; a && client->fd < 0; a = a->ai_next) {
		int fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC,
		                a->ai_protocol);

		if (fd >= 0 && connect_fd(fd, a->ai_addr, a->ai_addrlen) == 0) {
			client->fd = fd;
			break;
		}
		code = errno;
		if (fd >= 0)
			close(fd);
	}
	freeaddrinfo(list);
	if (client->fd < 0)
		return no_daemon(client->address, code, err);
	/* With keepalive, reads fail some time after the other machine has
	 * gone down. */
	setsockopt(client->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	setsockopt(client->fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	client->tcp = true;
	return 0;
}

/* Check that the daemon runs as root or as this user: the default socket may be
 * in a folder in /tmp, which anybody could have made. */
static int check_owner(struct client *client, struct err *err)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	if (getsockopt(client->fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
		return err_sys(err, "'%s'", client->address);
	if (peer.uid && peer.uid != geteuid())
		return err_set(err, EACCES,
		               "'%s' is served by uid %u, neither root nor "
		               "you; use --socket to insist",
		               client->address, (unsigned)peer.uid);
	return 0;
}

static int open_default(struct client *client, struct err *err)
{
	client->address = conf_default_socket();
	if (access(client->address, F_OK) < 0) {
		free(client->address);
		client->address = xstrdup(system_socket);
	}
	if (open_unix(client, err) < 0)
		return -1;
	return check_owner(client, err);
}

static int open_address(struct client *client, const char *address,
                        struct err *err)
{
	char *host, *port;
	int tcp = address_parse(address, &host, &port, err);

	client->address = xstrdup(address);
	if (tcp < 0)
		return -1;
	if (!tcp)
		return open_unix(client, err);
	tcp = open_tcp(client, host, port, err);
	free(host);
	free(port);
	return tcp;
}

struct client *client_open(const char *address, struct err *err)
{
	struct client *client = xcalloc(1, sizeof(*client));
	int rc;

	client->fd = -1;
	client->tell_ms = -1;
	if (!address || !*address)
		address = getenv("AISCHED_SOCKET");
	if (address && *address)
		rc = open_address(client, address, err);
	else
		rc = open_default(client, err);
	if (rc < 0 || take_hello(client, err) < 0) {
		client_close(client);
		return NULL;
	}
	return client;
}

void client_close(struct client *client)
{
	if (!client)
		return;
	if (client->fd >= 0)
		close(client->fd);
	buf_free(&client->in);
	free(client->address);
	free(client->cluster);
	free(client->nonce);
	free(client);
}

int client_fd(const struct client *client)
{
	return client->fd;
}

static int op_of(json_t *req)
{
	const char *name = json_string_value(json_object_get(req, "op"));

	return name ? op_parse(name) : -1;
}

/* These requests wait for jobs or for commands in them, so a late answer is
 * normal. */
static bool takes_long(int op)
{
	return op == OP_wait || op == OP_log || op == OP_alloc ||
	       op == OP_relay || op == OP_relay_input;
}

int client_send(struct client *client, json_t *req, const void *raw,
                size_t raw_len, struct err *err)
{
	int op = op_of(req);
	bool bare = op >= 0 && op_role((enum op)op) == ROLE_NOBODY;
	char *json = json_dumps(req, JSON_COMPACT), *cred = NULL;
	size_t json_len = json ? strlen(json) : 0;
	struct frame_head head = {
		.kind = FRAME_REQUEST,
		.seq = client->sent + 1,
		.json_len = (uint32_t)json_len,
		.raw_len = (uint32_t)raw_len,
	};
	unsigned char digest[WIRE_DIGEST];
	struct buf out = { 0 };
	int rc = -1;

	if (!json) {
		err_set(err, EINVAL,
		        "the request has a text that is not UTF-8");
		goto out;
	}
	if (json_len > LIMIT_JSON || raw_len > LIMIT_RAW) {
		err_set(err, EMSGSIZE, "the request is too long to send");
		goto out;
	}
	frame_digest(digest, FRAME_REQUEST, client->cluster, client->nonce,
	             head.seq, 0, json, head.json_len, raw, raw_len);
	if (!bare && !(cred = auth_encode(NULL, digest, err)))
		goto out;
	head.cred_len = cred ? (uint32_t)strlen(cred) : 0;
	frame_head_put((unsigned char *)buf_room(&out, WIRE_HEAD), &head);
	buf_grew(&out, WIRE_HEAD);
	buf_add(&out, cred, head.cred_len);
	buf_add(&out, json, head.json_len);
	client->sent++;
	client->tell_ms = takes_long(op) ? -1 : clock_ms() + TELL_MS;
	if (bare)
		client->bare = client->sent;
	rc = send_all(client, out.data, out.len, err);
	if (rc == 0)
		rc = send_all(client, raw, raw_len, err);
out:
	buf_free(&out);
	free(cred);
	free(json);
	return rc;
}

/* Whether the daemon may have this uid: that of root, of the caller, or of the
 * user in $AISCHED_DAEMON_USER. */
static bool is_daemon_uid(uid_t uid)
{
	const char *name = getenv("AISCHED_DAEMON_USER");
	const struct passwd *pw = name && *name ? getpwnam(name) : NULL;

	return uid == 0 || uid == geteuid() || (pw && pw->pw_uid == uid);
}

/* Check with its credential that a frame is from the daemon, belongs to this
 * request, and has this index in the answer. */
static int check_proof(struct client *client, const struct in_frame *frame,
                       uint32_t part, struct err *err)
{
	const struct frame_head *head = &frame->head;
	unsigned char want[WIRE_DIGEST], got[WIRE_DIGEST];
	char *cred = xstrndup(frame->cred, head->cred_len);
	uid_t uid;
	gid_t gid;
	int rc = auth_decode(NULL, cred, &uid, &gid, got, err);

	free(cred);
	if (rc < 0)
		return err_wrap(err, "the answer of aischedd");
	frame_digest(want, head->kind, client->cluster, client->nonce,
	             head->seq, part, frame->json, head->json_len, frame->raw,
	             head->raw_len);
	if (memcmp(want, got, WIRE_DIGEST))
		return err_set(err, EACCES,
		               "the answer from '%s' is not aischedd's: its "
		               "credential belongs to another answer",
		               client->address);
	if (!is_daemon_uid(uid))
		return err_set(err, EACCES,
		               "the answer from '%s' is by uid %u, neither "
		               "root nor you; $AISCHED_DAEMON_USER names the "
		               "daemon's user",
		               client->address, (unsigned)uid);
	return 0;
}

/* Returns the JSON of the last frame of an answer; NULL for a refusal. `proven`
 * is false if the answer came over TCP without a credential. Such an answer
 * must be a refusal or the answer to a ping: the daemon may refuse a request
 * before it knows who the client is. */
static json_t *last_frame(struct client *client, const struct in_frame *frame,
                          bool proven, struct err *err)
{
	const char *where = client->address;
	json_t *body = json_loadb(frame->json, frame->head.json_len, 0, NULL);

	if (!body) {
		err_set(err, EPROTO, "the answer from '%s' is not JSON", where);
		return NULL;
	}
	if (is_refusal(body, proven, err)) {
		/* *err is set */
	} else if (!proven && frame->head.seq != client->bare) {
		err_set(err, EACCES,
		        "the answer from '%s' carries no credential", where);
	} else {
		return body;
	}
	json_decref(body);
	return NULL;
}

json_t *client_recv(struct client *client, client_part_fn *part, void *arg,
                    struct err *err)
{
	uint32_t seq = ++client->answered;

	for (uint32_t i = 1;; i++) {
		struct in_frame frame;
		bool proven = !client->tcp;

		if (frame_read(client, -1, &frame, err) < 0)
			return NULL;
		if (frame.head.seq != seq || (frame.head.kind != FRAME_PART &&
		                              frame.head.kind != FRAME_REPLY)) {
			err_set(err, EPROTO,
			        "aischedd at '%s' answered out of turn",
			        client->address);
			return NULL;
		}
		if (client->tcp && frame.head.cred_len) {
			if (check_proof(client, &frame, i, err) < 0)
				return NULL;
			proven = true;
		}
		if (frame.head.kind == FRAME_REPLY)
			return last_frame(client, &frame, proven, err);
		if (!proven) {
			err_set(err, EACCES,
			        "the answer from '%s' carries no credential",
			        client->address);
			return NULL;
		}
		if (part && part(frame.raw, frame.head.raw_len, arg) < 0) {
			err_set(err, ECANCELED, "stopped reading the answer");
			return NULL;
		}
	}
}

json_t *client_call(struct client *client, json_t *req, const void *raw,
                    size_t raw_len, client_part_fn *part, void *arg,
                    struct err *err)
{
	if (client_send(client, req, raw, raw_len, err) < 0)
		return NULL;
	return client_recv(client, part, arg, err);
}

static void clean_members(json_t *object)
{
	json_t *clean = json_object(), *value;
	const char *key;

	json_object_foreach(object, key, value) {
		char *copy = xstrdup(key);

		answer_clean(value);
		copy[text_clean(copy, strlen(copy))] = '\0';
		json_object_set(clean, copy, value);
		free(copy);
	}
	json_object_clear(object);
	json_object_update(object, clean);
	json_decref(clean);
}

void answer_clean(json_t *answer)
{
	json_t *item;
	size_t i;

	if (json_is_object(answer))
		clean_members(answer);
	json_array_foreach(answer, i, item)
		answer_clean(item);
	if (json_is_string(answer)) {
		char *copy = xstrdup(json_string_value(answer));

		json_string_setn(answer, copy, text_clean(copy, strlen(copy)));
		free(copy);
	}
}

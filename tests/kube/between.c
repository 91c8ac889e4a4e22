/*
 * between.c - a proxy that causes faults between a daemon and an API server
 *
 *	between ADDRESS:PORT URL FOLDER RULE LOG
 *
 * Listens at the address, without TLS, and passes all calls on to URL with the
 * certificate FOLDER/admin.crt.  Each call that changes something, except those
 * about the Lease, adds a line "METHOD PATH" to LOG; a test empties LOG to
 * count from 1 again.  LOG stays locked until this call is answered, or
 * until PID is dead.  The file RULE, which is read at every call, is empty or
 * has one line:
 *
 *	kill PID before|after N	kill PID when the Nth call of LOG arrives, or
 *				when the server has answered it, before PID gets
 *				the answer
 *	slow MS			delay each call
 *	say CODE TEXT		answer calls with TEXT in "METHOD PATH" with
 *				this HTTP status; the version in the answer is
 *				that of an old server
 *	late CODE TEXT		the same, a second later
 *	cut BYTES TEXT		close the connection after BYTES of the answer
 *				to a call with TEXT
 *	mute TEXT		pass on no more of the answers to calls with
 *				TEXT, and keep their connections open; each such
 *				call adds a line to LOG as well
 *
 * Each connection has a process of its own.
 */
#include <arpa/inet.h>
#include <curl/curl.h>
#include <err.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "libcommon/buf.h"

enum rule_kind {
	RULE_NONE,
	RULE_KILL,
	RULE_SLOW,
	RULE_SAY,
	RULE_LATE,
	RULE_CUT,
	RULE_MUTE
};

struct rule {
	enum rule_kind kind;
	long n, pid;
	bool after;
	char text[128];
};

static const char *url, *folder, *rule_file, *log_file;

/* This process's connections to the daemon and to the API server, and its
 * current call. */
static int client;
static CURL *server;
static curl_socket_t server_fd;
static char call[512];
/* the log's lock, held until a call that changes something is answered */
static int lock = -1;
static long number; /* number of the call in the log */
static bool muted;

/* --- rules --- */

static struct rule rule_read(void)
{
	struct rule rule = { 0 };
	FILE *f = fopen(rule_file, "r");
	char line[256] = "", when[8];

	if (!f)
		return rule;
	if (!fgets(line, sizeof(line), f))
		line[0] = '\0';
	fclose(f);
	if (sscanf(line, "kill %ld %7s %ld", &rule.pid, when, &rule.n) == 3)
		rule.kind = RULE_KILL;
	else if (sscanf(line, "slow %ld", &rule.n) == 1)
		rule.kind = RULE_SLOW;
	else if (sscanf(line, "say %ld %127[^\n]", &rule.n, rule.text) == 2)
		rule.kind = RULE_SAY;
	else if (sscanf(line, "late %ld %127[^\n]", &rule.n, rule.text) == 2)
		rule.kind = RULE_LATE;
	else if (sscanf(line, "cut %ld %127[^\n]", &rule.n, rule.text) == 2)
		rule.kind = RULE_CUT;
	else if (sscanf(line, "mute %127[^\n]", rule.text) == 1)
		rule.kind = RULE_MUTE;
	rule.after = rule.kind == RULE_KILL && !strcmp(when, "after");
	return rule;
}

static bool is_about(const struct rule *rule, enum rule_kind kind)
{
	return rule->kind == kind && strstr(call, rule->text);
}

static bool is_effect(void)
{
	return strncmp(call, "GET ", 4) != 0 && !strstr(call, "/leases");
}

/* Write the call to the log, and keep the log locked until unlock(). Sets
 * number. */
static void count(void)
{
	char line[sizeof(call) + 1];
	FILE *f;

	number = 1;

	lock = open(log_file, O_RDWR | O_APPEND | O_CREAT, 0644);
	if (lock < 0 || flock(lock, LOCK_EX) < 0)
		err(1, "%s", log_file);
	f = fdopen(dup(lock), "r+");
	if (!f)
		err(1, "%s", log_file);
	rewind(f);
	while (fgets(line, sizeof(line), f))
		number++;
	fseek(f, 0, SEEK_END);
	fprintf(f, "%s\n", call);
	fclose(f);
}

/* Pass nothing more from the server to the client, and log that. */
static void mute(void)
{
	FILE *f = fopen(log_file, "a");

	muted = true;
	if (!f)
		err(1, "%s", log_file);
	fprintf(f, "%s\n", call);
	fclose(f);
}

static void unlock(void)
{
	if (lock >= 0)
		close(lock);
	lock = -1;
}

/* Kill the daemon, wait until it is dead, and exit. Only then is the log
 * unlocked, so the next process that locks it finds the daemon dead. */
static void kill_daemon(const struct rule *rule)
{
	int fd = (int)syscall(SYS_pidfd_open, (pid_t)rule->pid, 0);
	struct pollfd p = { .fd = fd, .events = POLLIN };

	kill((pid_t)rule->pid, SIGKILL);
	if (fd >= 0)
		poll(&p, 1, -1);
	exit(0);
}

/* --- read and write --- */

static void to_client(const char *data, size_t len)
{
	while (len) {
		ssize_t n = write(client, data, len);

		if (n <= 0)
			exit(0);
		data += n;
		len -= (size_t)n;
	}
}

static void to_server(const char *data, size_t len)
{
	while (len) {
		struct pollfd p = { .fd = server_fd, .events = POLLOUT };
		size_t n = 0;
		CURLcode rc = curl_easy_send(server, data, len, &n);

		if (rc == CURLE_AGAIN)
			poll(&p, 1, -1);
		else if (rc)
			exit(0);
		data += n;
		len -= n;
	}
}

static void connect_server(void)
{
	char ca[256], cert[256], key[256];

	if (server)
		return;
	snprintf(ca, sizeof(ca), "%s/ca.crt", folder);
	snprintf(cert, sizeof(cert), "%s/admin.crt", folder);
	snprintf(key, sizeof(key), "%s/admin.key", folder);
	server = curl_easy_init();
	curl_easy_setopt(server, CURLOPT_URL, url);
	curl_easy_setopt(server, CURLOPT_CONNECT_ONLY, 1L);
	curl_easy_setopt(server, CURLOPT_HTTP_VERSION,
	                 (long)CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(server, CURLOPT_CAINFO, ca);
	curl_easy_setopt(server, CURLOPT_SSLCERT, cert);
	curl_easy_setopt(server, CURLOPT_SSLKEY, key);
	if (curl_easy_perform(server) ||
	    curl_easy_getinfo(server, CURLINFO_ACTIVESOCKET, &server_fd))
		exit(0); /* which the client sees as a failed connection */
}

/* --- one call --- */

/* Read a whole call, with its body. Returns false at the end of the
 * connection. */
static bool read_call(struct buf *in)
{
	char data[16384];

	buf_clear(in);
	for (;;) {
		const char *end = in->len ? strstr(in->data, "\r\n\r\n") : NULL;
		const char *length;
		ssize_t n;

		if (end) {
			length = strcasestr(in->data, "\r\nContent-Length:");
			if (!length || length > end ||
			    in->len >= (size_t)(end + 4 - in->data) +
			                   strtoul(length + 17, NULL, 10))
				return true;
		}
		n = read(client, data, sizeof(data));
		if (n <= 0)
			return false;
		buf_add(in, data, (size_t)n);
	}
}

static void say(long code)
{
	char body[256], head[256];
	int len = snprintf(body, sizeof(body),
	                   "{\"kind\": \"Status\", \"apiVersion\": \"v1\", "
	                   "\"status\": \"Failure\", \"code\": %ld, "
	                   "\"message\": \"trouble on request\", "
	                   "\"major\": \"1\", \"minor\": \"27\"}",
	                   code);

	len = snprintf(head, sizeof(head),
	               "HTTP/1.1 %ld Trouble\r\nContent-Type: "
	               "application/json\r\nContent-Length: %d\r\n%s\r\n",
	               code, len, code == 429 ? "Retry-After: 1\r\n" : "");
	to_client(head, (size_t)len);
	to_client(body, strlen(body));
}

static void hear_client(struct buf *in)
{
	struct rule rule;

	if (!read_call(in))
		exit(0);
	snprintf(call, sizeof(call), "%.*s", (int)strcspn(in->data, "\r"),
	         in->data);
	call[strlen(call) - strlen(" HTTP/1.1")] = '\0';
	unlock();
	rule = rule_read();
	if (rule.kind == RULE_SLOW)
		usleep((useconds_t)rule.n * 1000);
	if (is_effect()) {
		count();
		rule = rule_read(); /* the rule may have changed since */
		/* Kill before passing the call on, so that calls that the
		 * daemon has sent in the meantime have no effect either. */
		if (rule.kind == RULE_KILL && number >= rule.n + rule.after)
			kill_daemon(&rule);
	}
	if (is_about(&rule, RULE_LATE))
		sleep(1);
	if (is_about(&rule, RULE_SAY) || is_about(&rule, RULE_LATE)) {
		say(rule.n);
		unlock();
		return;
	}
	connect_server();
	to_server(in->data, in->len);
}

static void hear_server(void)
{
	struct rule rule = rule_read();
	char data[16384];
	CURLcode rc;
	size_t n;

	while (!(rc = curl_easy_recv(server, data, sizeof(data), &n)) && n) {
		if (lock >= 0 && rule.kind == RULE_KILL && number >= rule.n)
			kill_daemon(&rule);
		if (!muted && is_about(&rule, RULE_MUTE))
			mute();
		if (is_about(&rule, RULE_CUT)) {
			to_client(data,
			          n < (size_t)rule.n ? n : (size_t)rule.n);
			exit(0);
		}
		if (!muted)
			to_client(data, n);
		unlock();
	}
	if (rc != CURLE_AGAIN)
		exit(0);
}

static void serve(void)
{
	struct buf in = { 0 };

	for (;;) {
		struct pollfd p[] = {
			{ .fd = client, .events = POLLIN },
			{ .fd = server ? server_fd : -1, .events = POLLIN },
		};

		if (poll(p, 2, -1) < 0)
			exit(0);
		if (p[1].revents)
			hear_server();
		if (p[0].revents)
			hear_client(&in);
	}
}

static int listen_at(const char *address)
{
	struct sockaddr_in sin = { .sin_family = AF_INET };
	char ip[64];
	unsigned port;
	int one = 1, fd;

	if (sscanf(address, "%63[0-9.]:%u", ip, &port) != 2 ||
	    inet_pton(AF_INET, ip, &sin.sin_addr) != 1)
		errx(2, "'%s' is no ADDRESS:PORT", address);
	sin.sin_port = htons((uint16_t)port);
	fd = socket(AF_INET, SOCK_STREAM, 0);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (struct sockaddr *)&sin, sizeof(sin)) < 0 ||
	    listen(fd, 64) < 0)
		err(1, "%s", address);
	return fd;
}

int main(int argc, char **argv)
{
	int fd;

	if (argc != 6)
		errx(2, "usage: between ADDRESS:PORT URL FOLDER RULE LOG");
	fd = listen_at(argv[1]);
	url = argv[2];
	folder = argv[3];
	rule_file = argv[4];
	log_file = argv[5];
	signal(SIGCHLD, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	curl_global_init(CURL_GLOBAL_DEFAULT);
	while ((client = accept(fd, NULL, NULL)) >= 0) {
		if (fork() == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			close(fd);
			serve();
		}
		close(client);
	}
	err(1, "accept");
}

/* test_client.c - the client without a daemon, or with a false one */
#include "libcommon/client/client.h"

#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libcommon/auth.h"
#include "libcommon/conf/conf.h"
#include "libcommon/limits.h"
#include "libcommon/mem.h"
#include "tests/unit/rpc/raw.h"
#include "tests/unit/rpc/rpc_server.h"

START_TEST(client_says_what_to_do_without_daemon)
{
	struct err err;
	char *want = xasprintf("cannot reach aischedd at '%s/none': No such "
	                       "file or directory; is it running? `aischedd` "
	                       "starts it, $AISCHED_SOCKET or --socket names "
	                       "another",
	                       munged.dir);
	char *none = xasprintf("%s/none", munged.dir), *port = free_port();

	ck_assert_ptr_null(client_open(none, &err));
	ck_assert_int_eq(err.code, ENOENT);
	ck_assert_str_eq(err.text, want);
	setenv("AISCHED_SOCKET", none, 1);
	ck_assert_ptr_null(client_open(NULL, &err));
	ck_assert_str_eq(err.text, want);
	ck_assert_ptr_null(client_open(port, &err));
	ck_assert_int_eq(err.code, ECONNREFUSED);
	free(want);
	free(none);
	free(port);
}
END_TEST

START_TEST(ping_needs_no_munged)
{
	struct client *client = open_client(_i ? server.tcp : server.path);
	struct err err;

	kill(munged.pid, SIGKILL);
	waitpid(munged.pid, NULL, 0);
	unlink(munged.socket);
	json_decref(ask(client, "ping"));
	err = refused(client, "submit");
	ck_assert_int_eq(err.code, EAGAIN);
	ck_assert_ptr_nonnull(strstr(err.text, "munged cannot be reached"));
	ck_assert_ptr_nonnull(strstr(err.text, munged.socket));
	json_decref(ask(client, "ping"));
	client_close(client);
}
END_TEST

/* A false daemon on TCP that serves one request: it sends a hello, reads the
 * request, and answers. */
struct impostor {
	int listen_fd;
	char *address;
	const char *hello; /* bytes; NULL: a correct one */
	bool refuses;      /* hello is the JSON of a refusal */
	enum { NO_PROOF, OTHER_BODY, OTHER_PART, STRANGER, PROOF } proof;
	int late_fd; /* > 0: do not answer until this can be read */
	char late[256];
	pthread_t thread;
};

static const char nonce[] = "00112233445566778899aabbccddeeff";

static void send_frame(int fd, const struct frame_head *head, const char *cred,
                       const char *json)
{
	struct buf out = { 0 };

	frame_head_put((unsigned char *)buf_room(&out, WIRE_HEAD), head);
	buf_grew(&out, WIRE_HEAD);
	buf_puts(&out, cred);
	buf_puts(&out, json);
	raw_send(fd, out.data, out.len);
	buf_free(&out);
}

/* Returns a credential of user nobody, if root runs the test. */
static char *strangers_cred(const unsigned char *digest)
{
	static char cred[LIMIT_CRED];
	int fd[2];
	char *made;
	ssize_t n;

	ck_assert_int_eq(pipe(fd), 0);
	if (fork() == 0) {
		if (setuid(65534) < 0)
			_exit(1);
		made = auth_encode(NULL, digest, NULL);
		_exit(!made || write(fd[1], made, strlen(made)) < 0);
	}
	close(fd[1]);
	n = read(fd[0], cred, sizeof(cred) - 1);
	ck_assert_int_gt(n, 0);
	close(fd[0]);
	return xstrdup(cred);
}

static void *impostor_run(void *arg)
{
	static const char good[] = "{\"ok\":1}";
	struct impostor *imp = arg;
	int fd = accept(imp->listen_fd, NULL, NULL);
	char *hello =
	    xasprintf("{\"cluster\":\"demo\",\"nonce\":\"%s\"}", nonce);
	struct frame_head head = { .kind = FRAME_HELLO,
		                   .json_len = (uint32_t)strlen(hello) };
	unsigned char digest[WIRE_DIGEST];
	char *cred = NULL;

	if (imp->refuses) {
		head = (struct frame_head){ .kind = FRAME_REPLY,
			                    .json_len =
			                        (uint32_t)strlen(imp->hello) };
		send_frame(fd, &head, "", imp->hello);
		goto out;
	}
	if (imp->hello) {
		send(fd, imp->hello, strlen(imp->hello) + 1, MSG_NOSIGNAL);
		goto out;
	}
	send_frame(fd, &head, "", hello);
	json_decref(raw_read(fd, &head));
	/* Read a whole line: stderr is not buffered, so it is written in
	 * pieces. */
	for (size_t n = 0; imp->late_fd && !strchr(imp->late, '\n'); n++)
		ck_assert_int_eq(read(imp->late_fd, imp->late + n, 1), 1);
	head = (struct frame_head){ .kind = FRAME_REPLY,
		                    .seq = 1,
		                    .json_len = sizeof(good) - 1 };
	frame_digest(digest, FRAME_REPLY, "demo", nonce, 1,
	             imp->proof == OTHER_PART ? 2 : 1, good,
	             imp->proof == OTHER_BODY ? 2 : head.json_len, NULL, 0);
	if (imp->proof == STRANGER)
		cred = strangers_cred(digest);
	else if (imp->proof != NO_PROOF)
		cred = auth_encode(NULL, digest, NULL);
	head.cred_len = cred ? (uint32_t)strlen(cred) : 0;
	send_frame(fd, &head, cred ? cred : "", good);
out:
	free(cred);
	free(hello);
	close(fd);
	return NULL;
}

static void impostor_start(struct impostor *imp)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	socklen_t len = sizeof(addr);

	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	imp->listen_fd = socket(AF_INET, SOCK_STREAM, 0);
	ck_assert_int_eq(bind(imp->listen_fd, (struct sockaddr *)&addr, len),
	                 0);
	ck_assert_int_eq(listen(imp->listen_fd, 1), 0);
	getsockname(imp->listen_fd, (struct sockaddr *)&addr, &len);
	imp->address = xasprintf("127.0.0.1:%d", ntohs(addr.sin_port));
	pthread_create(&imp->thread, NULL, impostor_run, imp);
}

static void impostor_stop(struct impostor *imp)
{
	pthread_join(imp->thread, NULL);
	close(imp->listen_fd);
	free(imp->address);
}

/* A daemon that cannot commit does not answer until it can. */
START_TEST(client_says_that_an_answer_is_late)
{
	struct impostor imp = { .proof = PROOF };
	json_t *req = json_pack("{s:s}", "op", "cancel"), *answer;
	int out[2], was = dup(STDERR_FILENO);
	struct client *client;
	struct err err = { 0 };

	ck_assert_int_eq(pipe(out), 0);
	imp.late_fd = out[0];
	impostor_start(&imp);
	client = open_client(imp.address);
	dup2(out[1], STDERR_FILENO);
	answer = client_call(client, req, NULL, 0, NULL, NULL, &err);
	dup2(was, STDERR_FILENO);
	ck_assert_msg(answer != NULL, "%s", err.text);
	ck_assert_msg(strstr(imp.late, "has not answered for 5 s: still "
	                               "waiting"),
	              "%s", imp.late);
	json_decref(answer);
	json_decref(req);
	client_close(client);
	impostor_stop(&imp);
	close(out[0]);
	close(out[1]);
	close(was);
}
END_TEST

static const struct {
	const char *text; /* NULL: the answer is accepted */
	int proof;
} impostors[] = {
	{ "carries no credential", NO_PROOF },
	{ "its credential belongs to another", OTHER_BODY },
	{ "its credential belongs to another", OTHER_PART },
	{ "by uid 65534, neither root nor you", STRANGER },
	{ NULL, PROOF },
};

START_TEST(client_knows_the_daemon_over_tcp)
{
	struct impostor imp = { .proof = impostors[_i].proof };
	json_t *req = json_pack("{s:s}", "op", "status"), *answer;
	struct client *client;
	struct err err = { 0 };

	if (imp.proof == STRANGER && geteuid() != 0)
		return;
	impostor_start(&imp);
	client = open_client(imp.address);
	answer = client_call(client, req, NULL, 0, NULL, NULL, &err);
	if (!impostors[_i].text) {
		ck_assert_msg(answer != NULL, "%s", err.text);
	} else {
		ck_assert_ptr_null(answer);
		ck_assert_int_eq(err.code, EACCES);
		ck_assert_msg(strstr(err.text, impostors[_i].text) != NULL,
		              "%s", err.text);
	}
	json_decref(answer);
	json_decref(req);
	client_close(client);
	impostor_stop(&imp);
}
END_TEST

static const struct {
	const char *hello;
	int code;
	const char *text;
} hellos[] = {
	{ "", ECONNRESET, "was lost: closed by the daemon" },
	{ "220 mail.example.org ESMTP", EPROTO, "not a frame of aisched" },
	{ "AISC\2 a newer daemon says", EPROTONOSUPPORT,
	  "speaks version 2 of the protocol, this one version 1" },
};

START_TEST(client_does_not_take_any_hello)
{
	struct impostor imp = { .hello = hellos[_i].hello };
	struct err err;

	impostor_start(&imp);
	ck_assert_ptr_null(client_open(imp.address, &err));
	ck_assert_int_eq(err.code, hellos[_i].code);
	ck_assert_msg(strstr(err.text, hellos[_i].text) != NULL, "%s",
	              err.text);
	impostor_stop(&imp);
}
END_TEST

/* A refusal without proof is not trusted: the client prints its text without
 * control characters, and says that the sender is not proven. */
START_TEST(refusal_instead_of_hello_is_not_proven)
{
	struct impostor imp = {
		.hello = "{\"error\":{\"code\":1,\"text\":"
			 "\"run \\u009b31m this\\u202e\"}}",
		.refuses = true,
	};
	struct err err;

	impostor_start(&imp);
	ck_assert_ptr_null(client_open(imp.address, &err));
	ck_assert_str_eq(err.text, "run ?31m this? (the sender is not proven)");
	impostor_stop(&imp);
}
END_TEST

/* Change the effective user, until the next call. */
static void become(uid_t uid)
{
	ck_assert_int_eq(seteuid(0), 0);
	ck_assert_int_eq(seteuid(uid), 0);
}

static void *hang_up(void *listen_fd)
{
	close(accept(*(int *)listen_fd, NULL, NULL));
	return NULL;
}

/* The owner of the socket at the default address of user 65534; the client's
 * error: EACCES before it connects, or ECONNRESET after. */
static const struct {
	uid_t owner;
	int code;
} owners[] = {
	{ 0, ECONNRESET },
	{ 65534, ECONNRESET },
	{ 1, EACCES },
};

START_TEST(default_socket_must_be_ours_or_roots)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char *folder = xasprintf("%s/aisched", munged.dir), *path;
	pthread_t thread;
	struct err err;

	if (geteuid() != 0)
		return; /* only root can change users */
	setenv("XDG_RUNTIME_DIR", munged.dir, 1);
	ck_assert_int_eq(chown(munged.dir, 65534, 65534), 0);
	ck_assert_int_eq(mkdir(folder, 0755), 0);
	become(65534);
	path = conf_default_socket();
	become(0);
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	ck_assert_int_eq(chmod(path, 0666), 0);
	become(owners[_i].owner); /* SO_PEERCRED reports who called listen() */
	ck_assert_int_eq(listen(fd, 1), 0);
	pthread_create(&thread, NULL, hang_up, &fd);
	become(65534);
	ck_assert_ptr_null(client_open(NULL, &err));
	become(0);
	ck_assert_msg(err.code == owners[_i].code, "%s", err.text);
	pthread_join(thread, NULL);
	free(folder);
	free(path);
	close(fd);
}
END_TEST

static const struct {
	const char *from, *to;
} answers[] = {
	{ "{\"version\":\"1\\u001b[2J\",\"pid\":7}",
	  "{\"version\":\"1?[2J\",\"pid\":7}" },
	{ "{\"z\":{\"\\u009b31m\":[\"a\\u202eb\",null,true,1.5]},\"a\":\"\\n\"}",
	  "{\"z\":{\"?31m\":[\"a?b\",null,true,1.5]},\"a\":\"?\"}" },
	{ "[\"\\r\",{},[],\"caf\\u00e9\"]", "[\"?\",{},[],\"caf\u00e9\"]" },
};

START_TEST(answers_are_clean_for_a_terminal)
{
	json_t *answer = json_loads(answers[_i].from, 0, NULL);
	char *text;

	answer_clean(answer);
	text = json_dumps(answer, JSON_COMPACT);
	ck_assert_str_eq(text, answers[_i].to);
	free(text);
	json_decref(answer);
}
END_TEST

SUITE(client)
{
	tcase_add_checked_fixture(tc, server_set_up, server_tear_down);
	tcase_add_test(tc, client_says_what_to_do_without_daemon);
	tcase_add_loop_test(tc, ping_needs_no_munged, 0, 2);
	tcase_add_test(tc, client_says_that_an_answer_is_late);
	tcase_add_loop_test(tc, client_knows_the_daemon_over_tcp, 0,
	                    ARRAY_SIZE(impostors));
	tcase_add_test(tc, refusal_instead_of_hello_is_not_proven);
	tcase_add_loop_test(tc, client_does_not_take_any_hello, 0,
	                    ARRAY_SIZE(hellos));
	tcase_add_loop_test(tc, answers_are_clean_for_a_terminal, 0,
	                    ARRAY_SIZE(answers));
	tcase_add_loop_test(tc, default_socket_must_be_ours_or_roots, 0,
	                    ARRAY_SIZE(owners));
}

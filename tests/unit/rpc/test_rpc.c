/* test_rpc.c - the server with well-behaved clients */
#include <event2/event.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "libcommon/limits.h"
#include "libcommon/mem.h"
#include "tests/unit/rpc/rpc_server.h"

/* Returns the TCP or the Unix address; most tests run with both. */
static const char *address_of(int i)
{
	return i ? server.tcp : server.path;
}

START_TEST(handler_knows_who_asks)
{
	struct client *client = open_client(address_of(_i));
	json_t *answer = ask(client, "submit");
	int uid, ngroups;
	const char *user, *group;

	ck_assert_int_eq(json_unpack(answer, "{s:s s:i s:i s:s}", "user", &user,
	                             "uid", &uid, "ngroups", &ngroups, "group",
	                             &group),
	                 0);
	ck_assert_uint_eq((uid_t)uid, geteuid());
	ck_assert_int_ge(ngroups, 1);
	if (uid == 0)
		ck_assert_str_eq(user, "root");
	ck_assert_str_ne(group, "");
	json_decref(answer);
	client_close(client);
}
END_TEST

START_TEST(raw_bytes_arrive_whole)
{
	static const size_t sizes[] = { 0, 1, 65536, 65537, 40 << 20 };
	struct client *client = open_client(address_of(_i));
	json_t *req = json_pack("{s:s}", "op", "submit"), *answer;
	char *raw = xmalloc(40 << 20);
	struct err err;

	for (size_t i = 0; i < 40 << 20; i++)
		raw[i] = (char)(i * 7 >> 3);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		answer =
		    client_call(client, req, raw, sizes[i], NULL, NULL, &err);
		ck_assert_msg(answer != NULL, "%s", err.text);
		ck_assert_int_eq(number(answer, "sum"), sum(raw, sizes[i]));
	}
	free(raw);
	json_decref(req);
	client_close(client);
}
END_TEST

static int check_part(const void *data, size_t len, void *arg)
{
	const char *p = data;
	int64_t *at = arg;
	bool same = true;

	for (size_t i = 0; i < len; i++)
		same &= p[i] == (char)((*at)++ % 251);
	ck_assert(same);
	return 0;
}

START_TEST(parts_arrive_in_order)
{
	struct client *client = open_client(address_of(_i));
	json_t *req = json_pack("{s:s, s:i}", "op", "jobs", "bytes", 5000001);
	int64_t at = 0;
	struct err err;
	json_t *answer =
	    client_call(client, req, NULL, 0, check_part, &at, &err);

	ck_assert_msg(answer != NULL, "%s", err.text);
	ck_assert_int_eq(number(answer, "rows"), 5000001);
	ck_assert_int_eq(at, 5000001);
	json_decref(req);
	client_close(client);
}
END_TEST

START_TEST(refusal_has_its_code_and_text)
{
	struct client *client = open_client(address_of(_i));
	struct err err = refused(client, "shutdown");

	ck_assert_int_eq(err.code, EPERM);
	ck_assert_str_eq(err.text, "'shutdown' is not for you?");
	err = refused(client, "nonsense");
	ck_assert_int_eq(err.code, ENOSYS);
	ck_assert_str_eq(err.text, "no such request: 'nonsense'");
	json_decref(ask(client, "submit"));
	client_close(client);
}
END_TEST

/* Send more requests than the server accepts and the buffers hold, before any
 * answer is read. */
START_TEST(answers_come_in_order_of_requests)
{
	enum { N = 300 };
	struct client *client = open_client(address_of(_i));
	char *raw = xcalloc(1, 50000);
	struct err err;
	json_t *answer;

	for (int i = 0; i < N; i++) {
		json_t *req = json_pack("{s:s, s:i}", "op", "submit", "i", i);

		ck_assert_int_eq(client_send(client, req, raw, 50000, &err), 0);
		json_decref(req);
	}
	for (int i = 0; i < N; i++) {
		answer = client_recv(client, NULL, NULL, &err);
		ck_assert_msg(answer != NULL, "%s", err.text);
		ck_assert_int_eq(json_integer_value(json_object_get(
				     json_object_get(answer, "body"), "i")),
		                 i);
		json_decref(answer);
	}
	free(raw);
	client_close(client);
}
END_TEST

START_TEST(quick_answer_waits_for_the_slow_one)
{
	struct client *client = open_client(address_of(_i));
	json_t *wait = json_pack("{s:s}", "op", "wait"), *answer;
	json_t *list = json_pack("{s:s, s:i}", "op", "jobs", "bytes", 900000);
	int64_t at = 0;
	struct err err;

	ck_assert_int_eq(client_send(client, wait, NULL, 0, &err), 0);
	ck_assert_int_eq(client_send(client, list, NULL, 0, &err), 0);
	wait_until(&server.waiting, 1);
	release_held();
	answer = client_recv(client, NULL, NULL, &err);
	ck_assert_ptr_nonnull(json_object_get(answer, "was"));
	json_decref(answer);
	answer = client_recv(client, check_part, &at, &err);
	ck_assert_int_eq(number(answer, "rows"), 900000);
	json_decref(wait);
	json_decref(list);
	client_close(client);
}
END_TEST

START_TEST(handler_is_told_who_left)
{
	struct client *client = open_client(address_of(_i));
	json_t *req = json_pack("{s:s}", "op", "wait");
	struct err err;

	ck_assert_int_eq(client_send(client, req, NULL, 0, &err), 0);
	json_decref(req);
	wait_until(&server.waiting, 1);
	client_close(client);
	wait_until(&server.gone, 1);
}
END_TEST

/* A server that stops sends the answers that were given before. */
START_TEST(stop_sends_what_was_answered)
{
	struct client *client = open_client(address_of(_i));
	struct err err;
	json_t *answer;

	for (int i = 0; i < 5; i++) {
		json_t *req = json_pack("{s:s}", "op", "submit");

		ck_assert_int_eq(client_send(client, req, NULL, 0, &err), 0);
		json_decref(req);
	}
	wait_until(&server.asked, 5);
	server_restart(&patient);
	for (int i = 0; i < 5; i++) {
		answer = client_recv(client, NULL, NULL, &err);
		ck_assert_msg(answer != NULL, "%s", err.text);
		json_decref(answer);
	}
	client_close(client);
}
END_TEST

START_TEST(socket_is_for_everybody)
{
	struct stat st;

	ck_assert_int_eq(stat(server.path, &st), 0);
	ck_assert_int_eq(st.st_mode & 07777, 0666);
}
END_TEST

static void listen_fails(const char *address, int code, const char *text)
{
	struct err err;

	ck_assert_ptr_null(listen_at(&address, 1, &err));
	ck_assert_msg(err.code == code && strstr(err.text, text), "%d %s",
	              err.code, err.text);
}

START_TEST(second_daemon_is_refused)
{
	char *file = xasprintf("%s/key", munged.dir);

	listen_fails(server.path, EADDRINUSE, "another aischedd answers at");
	listen_fails(server.tcp, EADDRINUSE, "cannot listen at 'tcp://127");
	listen_fails(file, EADDRINUSE, "is not a socket");
	listen_fails("/nonexistent/folder/socket", ENOENT, "cannot listen at");
	listen_fails("tcp://nowhere.invalid:1", EINVAL, "cannot listen at");
	listen_fails("tcp://7117", EINVAL, "use tcp://HOST:PORT");
	ping_works();
	free(file);
}
END_TEST

START_TEST(socket_of_the_dead_is_replaced)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	char *path = xasprintf("%s/dead", munged.dir);
	const char *address = path;
	struct rpc *rpc;
	struct err err;

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	close(fd);
	server_stop();
	server.base = event_base_new();
	rpc = listen_at(&address, 1, &err);
	ck_assert_msg(rpc != NULL, "%s", err.text);
	rpc_free(rpc);
	event_base_free(server.base);
	free(path);
	server_start(&patient);
}
END_TEST

SUITE(rpc)
{
	tcase_add_checked_fixture(tc, server_set_up, server_tear_down);
	tcase_add_loop_test(tc, handler_knows_who_asks, 0, 2);
	tcase_add_loop_test(tc, raw_bytes_arrive_whole, 0, 2);
	tcase_add_loop_test(tc, parts_arrive_in_order, 0, 2);
	tcase_add_loop_test(tc, refusal_has_its_code_and_text, 0, 2);
	tcase_add_loop_test(tc, answers_come_in_order_of_requests, 0, 2);
	tcase_add_loop_test(tc, quick_answer_waits_for_the_slow_one, 0, 2);
	tcase_add_loop_test(tc, handler_is_told_who_left, 0, 2);
	tcase_add_loop_test(tc, stop_sends_what_was_answered, 0, 2);
	tcase_add_test(tc, socket_is_for_everybody);
	tcase_add_test(tc, second_daemon_is_refused);
	tcase_add_test(tc, socket_of_the_dead_is_replaced);
}

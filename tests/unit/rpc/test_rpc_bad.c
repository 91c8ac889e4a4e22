/* test_rpc_bad.c - the server with frames that are forged or malformed */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "libcommon/fdpass.h"
#include "libcommon/limits.h"
#include "libcommon/mem.h"
#include "tests/unit/rpc/raw.h"
#include "tests/unit/rpc/rpc_server.h"

static const char request[] = "{\"op\":\"submit\"}";
static const char other_request[] = "{\"op\":\"submit\",\"evil\":1}";

/* Values in a credential, one of which does not fit the request sent
 * with it. */
static const struct forgery {
	const char *name;
	enum frame_kind kind;
	const char *cluster, *nonce; /* NULL: those of the connection */
	uint32_t seq;
	const char *json;
} forgeries[] = {
	{ "another body", FRAME_REQUEST, "demo", NULL, 1, other_request },
	{ "another connection", FRAME_REQUEST, "demo",
	  "0123456789abcdef0123456789abcdef", 1, request },
	{ "another cluster", FRAME_REQUEST, "prod", NULL, 1, request },
	{ "another request of the connection", FRAME_REQUEST, "demo", NULL, 2,
	  request },
	{ "an answer turned round", FRAME_REPLY, "demo", NULL, 1, request },
};

START_TEST(credential_fits_one_request)
{
	const struct forgery *f = &forgeries[_i];
	struct raw raw = raw_open();
	struct buf out = { 0 };
	char *cred = raw_cred(f->kind, f->cluster,
	                      f->nonce ? f->nonce : raw.nonce, f->seq, f->json);

	raw_frame(&out, 1, cred, request);
	raw_send(raw.fd, out.data, out.len);
	raw_refused(raw.fd, EACCES, "does not belong to this request");
	raw_closed(raw.fd);
	ck_assert_int_eq(server.asked, 0);
	buf_free(&out);
	free(cred);
	close(raw.fd);
}
END_TEST

/* The close of a descriptor that a peer sends may block the loop. */
START_TEST(descriptors_are_refused)
{
	struct raw raw = raw_open();
	int sent = fdpass_refuse(raw.fd) ? -1 : 1;

	ck_assert_int_eq(fdpass_send(raw.fd, "x", 1, &raw.fd, 1, 0), sent);
	close(raw.fd);
}
END_TEST

START_TEST(good_frame_made_by_hand_is_taken)
{
	struct raw raw = raw_open();
	struct buf out = { 0 };
	char *cred = raw_cred(FRAME_REQUEST, "demo", raw.nonce, 1, request);
	struct frame_head head;
	json_t *answer;

	raw_frame(&out, 1, cred, request);
	for (size_t i = 0; i < out.len; i++) /* byte by byte */
		ck_assert_int_eq(send(raw.fd, out.data + i, 1, 0), 1);
	answer = raw_read(raw.fd, &head);
	ck_assert_ptr_nonnull(json_object_get(answer, "user"));
	ck_assert_uint_eq(head.seq, 1);
	ck_assert_uint_eq(head.cred_len, 0);
	json_decref(answer);
	buf_free(&out);
	free(cred);
	close(raw.fd);
}
END_TEST

START_TEST(frame_sent_twice_is_taken_once)
{
	struct raw raw = raw_open();
	struct buf out = { 0 };
	char *cred = raw_cred(FRAME_REQUEST, "demo", raw.nonce, 1, request);
	struct frame_head head;

	raw_frame(&out, 1, cred, request);
	raw_send(raw.fd, out.data, out.len);
	raw_send(raw.fd, out.data, out.len);
	json_decref(raw_read(raw.fd, &head));
	raw_refused(raw.fd, EPROTO, "received request 1 instead of 2");
	raw_closed(raw.fd);
	ck_assert_int_eq(server.asked, 1);
	buf_free(&out);
	free(cred);
	close(raw.fd);
}
END_TEST

START_TEST(credential_is_taken_once)
{
	struct raw raw = raw_open();
	struct buf out = { 0 };
	char *cred = raw_cred(FRAME_REQUEST, "demo", raw.nonce, 1, request);
	struct frame_head head;

	raw_frame(&out, 1, cred, request);
	raw_send(raw.fd, out.data, out.len);
	json_decref(raw_read(raw.fd, &head));
	buf_clear(&out);
	raw_frame(&out, 2, cred, request);
	raw_send(raw.fd, out.data, out.len);
	raw_refused(raw.fd, EACCES, "Replayed");
	raw_closed(raw.fd);
	ck_assert_int_eq(server.asked, 1);
	buf_free(&out);
	free(cred);
	close(raw.fd);
}
END_TEST

/* Frames without a valid credential. */
static const struct bad {
	const char *name;
	unsigned char version; /* 0: only the body is sent */
	struct frame_head head;
	const char *body;
	int code;
	const char *text;
} bad[] = {
	/* clang-format off */
	{ "not ours", 0, { 0 }, "GET /metrics HTTP/1.1\r\n",
	  EPROTO, "not a frame" },
	{ "version", 7, { FRAME_REQUEST, 1, 0, 1, 0 }, "",
	  EPROTONOSUPPORT, "version 7 of the protocol, this one version 1" },
	{ "kind", 1, { FRAME_REPLY, 1, 0, 1, 0 }, "",
	  EPROTO, "a frame is not a request" },
	{ "sequence", 1, { FRAME_REQUEST, 0, 0, 1, 0 }, "",
	  EPROTO, "received request 0 instead of 1" },
	{ "long credential", 1, { FRAME_REQUEST, 1, LIMIT_CRED + 1, 1, 0 }, "",
	  EMSGSIZE, "credential is too long: 4097 bytes, at most 4096" },
	{ "long JSON", 1, { FRAME_REQUEST, 1, 1, LIMIT_JSON + 1, 0 }, "",
	  EMSGSIZE, "JSON is too long" },
	{ "long raw", 1, { FRAME_REQUEST, 1, 1, 1, LIMIT_RAW + 1 }, "",
	  EMSGSIZE, "raw part is too long" },
	{ "long for a stranger", 1, { FRAME_REQUEST, 1, 0, LIMIT_BARE, 1 }, "",
	  EMSGSIZE, "without a credential is too long" },
	{ "forged", 1, { FRAME_REQUEST, 1, 7, 65536, 0 }, "MUNGE:x",
	  EACCES, "munged: " },
	{ "not JSON", 1, { FRAME_REQUEST, 1, 0, 1, 0 }, "{",
	  EPROTO, "not JSON" },
	{ "no JSON", 1, { FRAME_REQUEST, 1, 0, 0, 0 }, "",
	  EPROTO, "not JSON" },
	{ "no object", 1, { FRAME_REQUEST, 1, 0, 2, 0 }, "[]",
	  EPROTO, "the request has no \"op\"" },
	{ "key twice", 1, { FRAME_REQUEST, 1, 0, 25, 0 },
	  "{\"op\":\"ping\",\"op\":\"ping\"}",
	  EPROTO, "not JSON: duplicate object key" },
	/* clang-format on */
};

START_TEST(bad_frame_gets_one_answer)
{
	struct raw raw = raw_open();

	raw_bare(raw.fd, bad[_i].version, &bad[_i].head, bad[_i].body);
	raw_refused(raw.fd, bad[_i].code, bad[_i].text);
	raw_closed(raw.fd);
	close(raw.fd);
	ck_assert_int_eq(server.asked, 0);
	ping_works();
}
END_TEST

START_TEST(cut_frame_is_told_so)
{
	struct raw raw = raw_open();
	struct buf out = { 0 };

	raw_frame(&out, 1, "", "{\"op\":\"ping\"}");
	out.len -= (size_t)_i;
	raw_send(raw.fd, out.data, out.len);
	shutdown(raw.fd, SHUT_WR);
	raw_refused(raw.fd, EPROTO, "cut short");
	raw_closed(raw.fd);
	close(raw.fd);
	buf_free(&out);
	ck_assert_int_eq(server.asked, 0);
}
END_TEST

START_TEST(stranger_may_only_ping)
{
	struct raw raw = raw_open();
	struct buf out = { 0 };
	struct frame_head head;

	raw_frame(&out, 1, "", request);
	raw_frame(&out, 2, "", "{\"op\":\"ping\"}");
	raw_send(raw.fd, out.data, out.len);
	raw_refused(raw.fd, EACCES, "'submit' came without a credential");
	json_decref(raw_read(raw.fd, &head));
	ck_assert_uint_eq(head.seq, 2);
	ck_assert_int_eq(server.asked, 1);
	buf_free(&out);
	close(raw.fd);
}
END_TEST

START_TEST(only_submit_takes_raw_bytes)
{
	struct client *client = open_client(server.path);
	json_t *req = json_pack("{s:s}", "op", "jobs"), *answer;
	struct err err;

	answer = client_call(client, req, "x", 1, NULL, NULL, &err);
	ck_assert_ptr_null(answer);
	ck_assert_str_eq(err.text, "request 'jobs' takes no raw bytes");
	json_decref(req);
	client_close(client);
}
END_TEST

START_TEST(request_has_so_many_values)
{
	struct client *client = open_client(server.path);
	json_t *ids = json_array(), *req, *answer;
	struct err err;

	for (int i = 0; i < LIMIT_VALUES; i++)
		json_array_append_new(ids, json_integer(0));
	req = json_pack("{s:s, s:o}", "op", "submit", "ids", ids);
	answer = client_call(client, req, "x", 1, NULL, NULL, &err);
	ck_assert_msg(answer != NULL, "%s", err.text);
	json_decref(answer);
	ck_assert_ptr_null(client_call(client, req, NULL, 0, NULL, NULL, &err));
	ck_assert_int_eq(err.code, EMSGSIZE);
	ck_assert_ptr_nonnull(strstr(err.text, "more than 65536 values"));
	json_decref(req);
	client_close(client);
}
END_TEST

SUITE(rpc_bad)
{
	tcase_add_checked_fixture(tc, server_set_up, server_tear_down);
	tcase_add_loop_test(tc, credential_fits_one_request, 0,
	                    ARRAY_SIZE(forgeries));
	tcase_add_test(tc, descriptors_are_refused);
	tcase_add_test(tc, good_frame_made_by_hand_is_taken);
	tcase_add_test(tc, frame_sent_twice_is_taken_once);
	tcase_add_test(tc, credential_is_taken_once);
	tcase_add_loop_test(tc, bad_frame_gets_one_answer, 0, ARRAY_SIZE(bad));
	tcase_add_loop_test(tc, cut_frame_is_told_so, 1, 33);
	tcase_add_test(tc, stranger_may_only_ping);
	tcase_add_test(tc, only_submit_takes_raw_bytes);
	tcase_add_test(tc, request_has_so_many_values);
}

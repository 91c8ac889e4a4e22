#include <stdbool.h>
#include <string.h>

#include "libcommon/limits.h"
#include "libcommon/mem.h"
#include "libcommon/wire.h"
#include "tests/unit/check.h"

/* A frame saved when version 1 was defined: it must stay valid. */
static const unsigned char saved[WIRE_HEAD] = {
	'A', 'I', 'S', 'C', 1, 2, 0x01, 0x02, 0, 0,
	0,   7,   0,   0,   1, 0, 0,    1,    0, 0,
};
static const struct frame_head saved_head = {
	.kind = FRAME_REQUEST,
	.cred_len = 0x102,
	.seq = 7,
	.json_len = 0x100,
	.raw_len = 0x10000,
};

START_TEST(head_is_as_saved)
{
	unsigned char data[WIRE_HEAD];
	struct frame_head head;
	struct err err;

	frame_head_put(data, &saved_head);
	ck_assert_mem_eq(data, saved, WIRE_HEAD);
	ck_assert_int_eq(frame_head_get(&head, saved, &err), 0);
	ck_assert_int_eq(head.kind, saved_head.kind);
	ck_assert_uint_eq(head.cred_len, saved_head.cred_len);
	ck_assert_uint_eq(head.seq, saved_head.seq);
	ck_assert_uint_eq(head.json_len, saved_head.json_len);
	ck_assert_uint_eq(head.raw_len, saved_head.raw_len);
}
END_TEST

/* The saved head with one byte changed */
static const struct {
	int at, value, want;
	const char *text;
} bad[] = {
	{ 0, 'B', EPROTO, "not a frame of aisched" },
	{ 4, 2, EPROTONOSUPPORT, "version 2 of the protocol" },
	{ 5, 0, EPROTO, "unknown kind of frame: 0" },
	{ 5, 5, EPROTO, "unknown kind of frame: 5" },
	{ 6, 0x20, EMSGSIZE, "credential is too long: 8194 bytes" },
	{ 12, 1, EMSGSIZE, "JSON is too long" },
	{ 16, 0xff, EMSGSIZE, "raw part is too long" },
};

START_TEST(bad_head_is_refused)
{
	unsigned char data[WIRE_HEAD];
	struct frame_head head = { .seq = 99 };
	struct err err;

	memcpy(data, saved, WIRE_HEAD);
	data[bad[_i].at] = (unsigned char)bad[_i].value;
	ck_assert_int_eq(frame_head_get(&head, data, &err), -1);
	ck_assert_int_eq(err.code, bad[_i].want);
	ck_assert_msg(strstr(err.text, bad[_i].text) != NULL, "%s", err.text);
	ck_assert_uint_eq(head.seq, 99);
}
END_TEST

START_TEST(limits_themselves_are_allowed)
{
	struct frame_head most = {
		.kind = FRAME_REPLY,
		.cred_len = LIMIT_CRED,
		.json_len = LIMIT_JSON,
		.raw_len = LIMIT_RAW,
	};
	unsigned char data[WIRE_HEAD];
	struct frame_head head;

	frame_head_put(data, &most);
	ck_assert_int_eq(frame_head_get(&head, data, NULL), 0);
	ck_assert_uint_eq(head.raw_len, LIMIT_RAW);
}
END_TEST

/* Two frames that differ in one thing, and what that is */
static const struct variant {
	const char *what;
	enum frame_kind kind;
	const char *cluster, *nonce;
	uint32_t seq, part;
	const char *json, *raw;
} variants[] = {
	{ "nothing", FRAME_REPLY, "demo", "n1", 1, 1, "{}", "raw" },
	{ "kind", FRAME_PART, "demo", "n1", 1, 1, "{}", "raw" },
	{ "cluster", FRAME_REPLY, "prod", "n1", 1, 1, "{}", "raw" },
	{ "nonce", FRAME_REPLY, "demo", "n2", 1, 1, "{}", "raw" },
	{ "cluster's end", FRAME_REPLY, "demon", "1", 1, 1, "{}", "raw" },
	{ "sequence", FRAME_REPLY, "demo", "n1", 2, 1, "{}", "raw" },
	{ "part", FRAME_REPLY, "demo", "n1", 1, 2, "{}", "raw" },
	{ "JSON", FRAME_REPLY, "demo", "n1", 1, 1, "[]", "raw" },
	{ "JSON's end", FRAME_REPLY, "demo", "n1", 1, 1, "{}r", "aw" },
	{ "raw", FRAME_REPLY, "demo", "n1", 1, 1, "{}", "war" },
};

static void digest(const struct variant *v, unsigned char ret[WIRE_DIGEST])
{
	frame_digest(ret, v->kind, v->cluster, v->nonce, v->seq, v->part,
	             v->json, strlen(v->json), v->raw, strlen(v->raw));
}

START_TEST(digest_depends_on_all)
{
	unsigned char first[WIRE_DIGEST], other[WIRE_DIGEST];
	bool same;

	digest(&variants[0], first);
	digest(&variants[_i], other);
	same = !memcmp(first, other, WIRE_DIGEST);
	ck_assert_msg(same == (_i == 0), "%s", variants[_i].what);
}
END_TEST

START_TEST(digest_of_pieces_is_that_of_the_whole)
{
	struct frame_head head = {
		.kind = FRAME_REPLY, .seq = 1, .json_len = 2, .raw_len = 3
	};
	unsigned char whole[WIRE_DIGEST], pieces[WIRE_DIGEST];
	struct frame_hash hash;

	digest(&variants[0], whole);
	frame_hash_begin(&hash, &head, "demo", "n1", 1);
	for (const char *p = "{}raw"; *p; p++)
		frame_hash_add(&hash, p, 1);
	frame_hash_add(&hash, NULL, 0);
	frame_hash_end(&hash, pieces);
	ck_assert_mem_eq(whole, pieces, WIRE_DIGEST);
}
END_TEST

SUITE(wire)
{
	tcase_add_test(tc, head_is_as_saved);
	tcase_add_loop_test(tc, bad_head_is_refused, 0, ARRAY_SIZE(bad));
	tcase_add_test(tc, limits_themselves_are_allowed);
	tcase_add_loop_test(tc, digest_depends_on_all, 0, ARRAY_SIZE(variants));
	tcase_add_test(tc, digest_of_pieces_is_that_of_the_whole);
}

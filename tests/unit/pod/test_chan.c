#include "pod/chan.h"

#include <string.h>

#include "libcommon/mem.h"
#include "tests/unit/check.h"

static const uint8_t key[POD_KEY] = { 1, 2, 3 };
static struct pod_chan client, server;

static long take(struct pod_chan *chan, const void *data, size_t len)
{
	struct pod_frame f;

	return pod_chan_take(chan, data, len, &f);
}

static void setup(void)
{
	pod_chan_init(&client, key, true);
	pod_chan_init(&server, key, false);
	ck_assert_int_eq(take(&client, server.hello, POD_HELLO), POD_HELLO);
	ck_assert_int_eq(take(&server, client.hello, POD_HELLO), POD_HELLO);
}

static void prove(void)
{
	struct buf out = { 0 };

	pod_chan_put(&client, &out, POD_PROOF, NULL, 0, NULL, 0);
	ck_assert_int_eq(take(&server, out.data, out.len), (long)out.len);
	buf_free(&out);
}

START_TEST(frames_arrive)
{
	struct buf out = { 0 };
	struct pod_frame f;

	prove();
	pod_chan_put(&client, &out, POD_INPUT, "ab", 2, "cde", 3);
	for (size_t n = 0; n < out.len; n++)
		ck_assert_int_eq(take(&server, out.data, n), 0);
	ck_assert_int_eq(
	    pod_chan_take(&server, (uint8_t *)out.data, out.len, &f),
	    (long)out.len);
	ck_assert_int_eq(f.type, POD_INPUT);
	ck_assert_mem_eq(f.data, "abcde", 5);
	/* A frame that is repeated is refused. */
	ck_assert_int_eq(take(&server, out.data, out.len), -1);
	buf_free(&out);
}
END_TEST

START_TEST(no_bit_can_be_changed)
{
	struct buf out = { 0 };

	prove();
	pod_chan_put(&client, &out, POD_ASK, "{}", 2, NULL, 0);
	for (size_t i = 0; i < 8 * out.len; i++) {
		struct pod_chan chan = server;

		out.data[i / 8] ^= (char)(1 << i % 8);
		/* If the changed byte is in the length, the frame may only
		 * seem incomplete. */
		ck_assert_int_le(take(&chan, out.data, out.len), 0);
		out.data[i / 8] ^= (char)(1 << i % 8);
	}
	ck_assert_int_gt(take(&server, out.data, out.len), 0);
	buf_free(&out);
}
END_TEST

START_TEST(nothing_comes_before_the_proof)
{
	static const uint8_t types[] = { POD_ASK,   POD_LAUNCH, POD_ORDER,
		                         POD_INPUT, POD_SIZE,   POD_DONE,
		                         POD_ROOM,  POD_TELL,   POD_OUTPUT };

	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		struct pod_chan from = client, to = server;
		struct buf out = { 0 };

		pod_chan_put(&from, &out, types[i], NULL, 0, NULL, 0);
		ck_assert_int_eq(take(&to, out.data, out.len), -1);
		buf_free(&out);
	}
	/* A frame that is too long is refused before its bytes arrive. */
	ck_assert_int_eq(take(&server, "\0\0\0\2", 4), -1);
}
END_TEST

START_TEST(who_has_another_key_is_not_heard)
{
	static const uint8_t other[POD_KEY] = { 1, 2, 4 };
	struct buf out = { 0 };

	pod_chan_init(&client, other, true);
	pod_chan_init(&server, key, false);
	ck_assert_int_gt(take(&client, server.hello, POD_HELLO), 0);
	ck_assert_int_gt(take(&server, client.hello, POD_HELLO), 0);
	pod_chan_put(&client, &out, POD_PROOF, NULL, 0, NULL, 0);
	ck_assert_int_eq(take(&server, out.data, out.len), -1);
	buf_free(&out);
}
END_TEST

START_TEST(another_connection_is_another_one)
{
	struct buf out = { 0 };

	pod_chan_put(&client, &out, POD_PROOF, NULL, 0, NULL, 0);
	pod_chan_init(&server, key, false);
	ck_assert_int_gt(take(&server, client.hello, POD_HELLO), 0);
	ck_assert_int_eq(take(&server, out.data, out.len), -1);
	buf_free(&out);
}
END_TEST

START_TEST(frames_cannot_be_turned_around)
{
	struct buf out = { 0 };

	pod_chan_put(&client, &out, POD_PROOF, NULL, 0, NULL, 0);
	ck_assert_int_eq(take(&client, out.data, out.len), -1);
	buf_free(&out);
}
END_TEST

START_TEST(other_words_are_not_listened_to)
{
	pod_chan_init(&server, key, false);
	ck_assert_int_eq(take(&server, "GET / HTTP/1.1\r\n", 16), -1);
	ck_assert_int_eq(take(&server, "a", 1), 0);
	ck_assert_int_eq(take(&server, "b", 1), -1);
}
END_TEST

SUITE(pod_chan)
{
	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, frames_arrive);
	tcase_add_test(tc, no_bit_can_be_changed);
	tcase_add_test(tc, nothing_comes_before_the_proof);
	tcase_add_test(tc, who_has_another_key_is_not_heard);
	tcase_add_test(tc, another_connection_is_another_one);
	tcase_add_test(tc, frames_cannot_be_turned_around);
	tcase_add_test(tc, other_words_are_not_listened_to);
}

/* chan.c - authenticated frames between the pods of a job */
#include "pod/chan.h"

#include <assert.h>
#include <sha2.h>
#include <string.h>
#include <sys/random.h>

enum { BLOCK = 64, HEAD = 4 };

static const char magic[8] = "aispod1\n";

/* --- HMAC-SHA-256 --------------------------------------------------------- */

struct hmac {
	SHA2_CTX in, out;
};

static void hmac_begin(struct hmac *h, const uint8_t key[POD_KEY])
{
	uint8_t in[BLOCK], out[BLOCK];

	memset(in, 0x36, sizeof(in));
	memset(out, 0x5c, sizeof(out));
	for (size_t i = 0; i < POD_KEY; i++) {
		in[i] ^= key[i];
		out[i] ^= key[i];
	}
	SHA256Init(&h->in);
	SHA256Update(&h->in, in, sizeof(in));
	SHA256Init(&h->out);
	SHA256Update(&h->out, out, sizeof(out));
}

static void hmac_add(struct hmac *h, const void *data, size_t len)
{
	if (len)
		SHA256Update(&h->in, data, len);
}

static void hmac_end(struct hmac *h, uint8_t ret[SHA256_DIGEST_LENGTH])
{
	uint8_t inner[SHA256_DIGEST_LENGTH];

	SHA256Final(inner, &h->in);
	SHA256Update(&h->out, inner, sizeof(inner));
	SHA256Final(ret, &h->out);
}

/* --- the channel ---------------------------------------------------------- */

void pod_chan_init(struct pod_chan *chan, const uint8_t key[POD_KEY],
                   bool client)
{
	*chan = (struct pod_chan){ .client = client };
	memcpy(chan->key, key, POD_KEY);
	memcpy(chan->hello, magic, sizeof(magic));
	if (getentropy(chan->hello + sizeof(magic), POD_HELLO - sizeof(magic)) <
	    0)
		assert(!"the kernel has random bytes");
}

static void derive(const struct pod_chan *chan, char direction,
                   const uint8_t *of_client, const uint8_t *of_server,
                   uint8_t ret[POD_KEY])
{
	struct hmac h;

	hmac_begin(&h, chan->key);
	hmac_add(&h, &direction, 1);
	hmac_add(&h, of_client, POD_HELLO);
	hmac_add(&h, of_server, POD_HELLO);
	hmac_end(&h, ret);
}

static void meet(struct pod_chan *chan, const uint8_t *other)
{
	const uint8_t *client = chan->client ? chan->hello : other;
	const uint8_t *server = chan->client ? other : chan->hello;
	uint8_t *up = chan->client ? chan->send_key : chan->hear_key;
	uint8_t *down = chan->client ? chan->hear_key : chan->send_key;

	derive(chan, 'c', client, server, up);
	derive(chan, 's', client, server, down);
	chan->met = true;
}

static void put_32(uint8_t *to, uint32_t n)
{
	for (int i = 0; i < 4; i++)
		to[i] = (uint8_t)(n >> (24 - 8 * i));
}

static uint32_t get_32(const uint8_t *from)
{
	uint32_t n = 0;

	for (int i = 0; i < 4; i++)
		n = n << 8 | from[i];
	return n;
}

/* Begin the MAC of frame n with the number n. */
static void count(struct hmac *h, const uint8_t key[POD_KEY], uint64_t n)
{
	uint8_t number[8];

	put_32(number, (uint32_t)(n >> 32));
	put_32(number + 4, (uint32_t)n);
	hmac_begin(h, key);
	hmac_add(h, number, sizeof(number));
}

void pod_chan_put(struct pod_chan *chan, struct buf *out, uint8_t type,
                  const void *head, size_t head_len, const void *data,
                  size_t len)
{
	uint8_t begin[HEAD + 1], mac[SHA256_DIGEST_LENGTH];
	struct hmac h;

	assert(chan->met && 1 + head_len + len <= POD_FRAME_MAX);
	put_32(begin, (uint32_t)(1 + head_len + len));
	begin[HEAD] = type;
	count(&h, chan->send_key, chan->sent++);
	hmac_add(&h, begin, sizeof(begin));
	hmac_add(&h, head, head_len);
	hmac_add(&h, data, len);
	hmac_end(&h, mac);
	buf_add(out, begin, sizeof(begin));
	if (head_len)
		buf_add(out, head, head_len);
	if (len)
		buf_add(out, data, len);
	buf_add(out, mac, POD_MAC);
}

/* Compare in a time that does not depend on the content. */
static bool same(const uint8_t *a, const uint8_t *b, size_t len)
{
	uint8_t differs = 0;

	for (size_t i = 0; i < len; i++)
		differs |= a[i] ^ b[i];
	return !differs;
}

static long take_hello(struct pod_chan *chan, const uint8_t *data, size_t len)
{
	size_t here = len < sizeof(magic) ? len : sizeof(magic);

	if (memcmp(data, magic, here) != 0)
		return -1;
	if (len < POD_HELLO)
		return 0;
	meet(chan, data);
	return POD_HELLO;
}

long pod_chan_take(struct pod_chan *chan, const uint8_t *data, size_t len,
                   struct pod_frame *ret)
{
	size_t most = chan->heard ? POD_FRAME_MAX : 1, size;
	uint8_t mac[SHA256_DIGEST_LENGTH];
	struct hmac h;

	*ret = (struct pod_frame){ 0 };
	if (!len)
		return 0;
	if (!chan->met)
		return take_hello(chan, data, len);
	if (len < HEAD)
		return 0;
	size = get_32(data);
	if (size < 1 || size > most)
		return -1;
	if (len < HEAD + size + POD_MAC)
		return 0;
	count(&h, chan->hear_key, chan->heard);
	hmac_add(&h, data, HEAD + size);
	hmac_end(&h, mac);
	if (!same(mac, data + HEAD + size, POD_MAC))
		return -1;
	if (!chan->heard && data[HEAD] != POD_PROOF)
		return -1;
	chan->heard++;
	*ret = (struct pod_frame){ data[HEAD], data + HEAD + 1, size - 1 };
	return (long)(HEAD + size + POD_MAC);
}

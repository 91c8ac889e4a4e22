/* wire.c - frames of the protocol between the daemon and its clients */
#include "libcommon/wire.h"

#include <string.h>

#include "libcommon/limits.h"

static const unsigned char magic[4] = { 'A', 'I', 'S', 'C' };

static unsigned char *put_be(unsigned char *p, uint32_t value, int bytes)
{
	for (int i = bytes - 1; i >= 0; i--)
		*p++ = (unsigned char)(value >> 8 * i);
	return p;
}

static uint32_t get_be(const unsigned char *p, int bytes)
{
	uint32_t value = 0;

	while (bytes--)
		value = value << 8 | *p++;
	return value;
}

void frame_head_put(unsigned char ret[WIRE_HEAD], const struct frame_head *head)
{
	unsigned char *p = ret;

	memcpy(p, magic, sizeof(magic));
	p = put_be(p + sizeof(magic), WIRE_VERSION, 1);
	p = put_be(p, head->kind, 1);
	p = put_be(p, head->cred_len, 2);
	p = put_be(p, head->seq, 4);
	p = put_be(p, head->json_len, 4);
	put_be(p, head->raw_len, 4);
}

static int too_long(const char *what, uint32_t len, uint32_t max,
                    struct err *err)
{
	return err_set(err, EMSGSIZE,
	               "the frame's %s is too long: %u bytes, at most %u", what,
	               len, max);
}

int frame_head_get(struct frame_head *ret, const unsigned char *data,
                   struct err *err)
{
	unsigned version = data[4], kind = data[5];
	struct frame_head head = {
		.cred_len = get_be(data + 6, 2),
		.seq = get_be(data + 8, 4),
		.json_len = get_be(data + 12, 4),
		.raw_len = get_be(data + 16, 4),
	};

	if (memcmp(data, magic, sizeof(magic)))
		return err_set(err, EPROTO, "not a frame of aisched");
	if (version != WIRE_VERSION)
		return err_set(err, EPROTONOSUPPORT,
		               "the other side speaks version %u of the "
		               "protocol, this one version %d: install the "
		               "same aisched on both",
		               version, WIRE_VERSION);
	if (kind < FRAME_HELLO || kind > FRAME_REPLY)
		return err_set(err, EPROTO, "unknown kind of frame: %u", kind);
	if (head.cred_len > LIMIT_CRED)
		return too_long("credential", head.cred_len, LIMIT_CRED, err);
	if (head.json_len > LIMIT_JSON)
		return too_long("JSON", head.json_len, LIMIT_JSON, err);
	if (head.raw_len > LIMIT_RAW)
		return too_long("raw part", head.raw_len, LIMIT_RAW, err);
	head.kind = (enum frame_kind)kind;
	*ret = head;
	return 0;
}

/* The lengths of all variable parts are hashed before the parts, so that no two
 * frames hash the same bytes. */
void frame_hash_begin(struct frame_hash *hash, const struct frame_head *head,
                      const char *cluster, const char *nonce, uint32_t part)
{
	unsigned char fixed[26], *p = fixed;
	size_t cluster_len = strlen(cluster), nonce_len = strlen(nonce);

	p = put_be(p, WIRE_VERSION, 1);
	p = put_be(p, head->kind, 1);
	p = put_be(p, (uint32_t)cluster_len, 4);
	p = put_be(p, (uint32_t)nonce_len, 4);
	p = put_be(p, head->seq, 4);
	p = put_be(p, part, 4);
	p = put_be(p, head->json_len, 4);
	put_be(p, head->raw_len, 4);
	SHA256Init(&hash->sha);
	frame_hash_add(hash, fixed, sizeof(fixed));
	frame_hash_add(hash, cluster, cluster_len);
	frame_hash_add(hash, nonce, nonce_len);
}

void frame_hash_add(struct frame_hash *hash, const void *data, size_t len)
{
	if (len)
		SHA256Update(&hash->sha, data, len);
}

void frame_hash_end(struct frame_hash *hash, unsigned char ret[WIRE_DIGEST])
{
	SHA256Final(ret, &hash->sha);
}

void frame_digest(unsigned char ret[WIRE_DIGEST], enum frame_kind kind,
                  const char *cluster, const char *nonce, uint32_t seq,
                  uint32_t part, const void *json, size_t json_len,
                  const void *raw, size_t raw_len)
{
	struct frame_head head = {
		.kind = kind,
		.seq = seq,
		.json_len = (uint32_t)json_len,
		.raw_len = (uint32_t)raw_len,
	};
	struct frame_hash hash;

	frame_hash_begin(&hash, &head, cluster, nonce, part);
	frame_hash_add(&hash, json, json_len);
	frame_hash_add(&hash, raw, raw_len);
	frame_hash_end(&hash, ret);
}

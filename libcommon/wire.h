/*
 * wire.h - frames
 *
 * On the wire: a head of WIRE_HEAD bytes, then the credential, the JSON and
 * the raw bytes, with the lengths that the head gives.  All numbers are big
 * endian.
 *
 *   0 magic "AISC"   4 version (1)  5 kind     6 length of the credential (16)
 *   8 sequence (32)  12 length of the JSON (32)  16 length of raw (32)
 *
 * The server speaks first: FRAME_HELLO carries {"cluster", "nonce",
 * "version"}; the client numbers its requests from 1 on each connection and
 * may send the next before the last is answered.  Frames of an answer carry
 * the number of their request; the last one is FRAME_REPLY.
 *
 * The payload of a credential is frame_digest(): SHA-256 over version, kind,
 * cluster, nonce, sequence, part (0 for requests; the how-manieth frame of
 * an answer) and both bodies with their lengths.  So it can be neither
 * replayed, on this connection or another, nor moved to another body, nor
 * turned round.  It comes first so that nothing large is read before it has
 * been decoded.
 */
#ifndef LIBCOMMON_WIRE_H
#define LIBCOMMON_WIRE_H

#include <sha2.h>
#include <stddef.h>
#include <stdint.h>

#include "libcommon/err.h"

enum {
	WIRE_HEAD = 20,
	WIRE_VERSION = 1,
	WIRE_DIGEST = 32,
	WIRE_NONCE = 32 /* hex digits */
};

enum frame_kind { FRAME_HELLO = 1, FRAME_REQUEST, FRAME_PART, FRAME_REPLY };

struct frame_head {
	enum frame_kind kind;
	uint32_t seq;
	uint32_t cred_len, json_len, raw_len;
};

void frame_head_put(unsigned char ret[WIRE_HEAD],
                    const struct frame_head *head);

/*
 * Refuses a frame that is too long before anything is allocated for it. Fails
 * with EPROTO (not ours, unknown kind), EPROTONOSUPPORT (version; the text
 * names both), or EMSGSIZE (over LIMIT_CRED, LIMIT_JSON, LIMIT_RAW).
 */
int frame_head_get(struct frame_head *ret, const unsigned char *data,
                   struct err *err);

void frame_digest(unsigned char ret[WIRE_DIGEST], enum frame_kind kind,
                  const char *cluster, const char *nonce, uint32_t seq,
                  uint32_t part, const void *json, size_t json_len,
                  const void *raw, size_t raw_len);

/* The digest of bodies that arrive piece by piece: begin, then add the JSON and
 * the raw bytes in any pieces, then end. */
struct frame_hash {
	SHA2_CTX sha;
};

void frame_hash_begin(struct frame_hash *hash, const struct frame_head *head,
                      const char *cluster, const char *nonce, uint32_t part);
void frame_hash_add(struct frame_hash *hash, const void *data, size_t len);
void frame_hash_end(struct frame_hash *hash, unsigned char ret[WIRE_DIGEST]);

#endif

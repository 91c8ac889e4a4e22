/*
 * wire.h - frames of the protocol between the daemon and its clients
 *
 * On the wire: a head of WIRE_HEAD bytes, then the credential, the JSON and
 * the raw bytes, with the lengths that the head gives. All numbers are big
 * endian. The head has these fields, by their offsets; (16) and (32) are
 * numbers of bits:
 *
 *   0 magic "AISC"   4 version 1    5 kind     6 length of the credential (16)
 *   8 sequence (32)  12 length of the JSON (32)  16 length of raw (32)
 *
 * The server sends the first frame: FRAME_HELLO carries {"cluster", "nonce",
 * "version"}. The client numbers its requests from 1 on each connection, and
 * may send a request before the previous one is answered. Frames of an answer
 * carry the number of their request; the last of them is FRAME_REPLY.
 *
 * The payload of a credential is frame_digest(): SHA-256 over version, kind,
 * cluster, nonce, sequence, part (0 for requests; for answers the index of the
 * frame) and both bodies with their lengths. So a credential cannot be
 * replayed, on this connection or another, nor be used for another body or for
 * a frame in the other direction. The credential comes first, so that the peer
 * is known before anything large is read.
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
 * Parse the head of a frame. Fails with EPROTO (wrong magic, unknown kind),
 * EPROTONOSUPPORT (another version; the text names both), or EMSGSIZE (over
 * LIMIT_CRED, LIMIT_JSON or LIMIT_RAW), so that nothing is allocated for a
 * frame that is too long.
 */
int frame_head_get(struct frame_head *ret, const unsigned char *data,
                   struct err *err);

void frame_digest(unsigned char ret[WIRE_DIGEST], enum frame_kind kind,
                  const char *cluster, const char *nonce, uint32_t seq,
                  uint32_t part, const void *json, size_t json_len,
                  const void *raw, size_t raw_len);

/* Compute the digest of bodies that arrive piece by piece: begin, then add the
 * JSON and the raw bytes, each in any number of pieces, then end. */
struct frame_hash {
	SHA2_CTX sha;
};

void frame_hash_begin(struct frame_hash *hash, const struct frame_head *head,
                      const char *cluster, const char *nonce, uint32_t part);
void frame_hash_add(struct frame_hash *hash, const void *data, size_t len);
void frame_hash_end(struct frame_hash *hash, unsigned char ret[WIRE_DIGEST]);

#endif

/* raw.h - connections over which a test sends handmade frames to its server */
#ifndef TESTS_UNIT_RPC_RAW_H
#define TESTS_UNIT_RPC_RAW_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "libcommon/buf.h"
#include "libcommon/wire.h"

/* A connection for handmade frames. */
struct raw {
	int fd;
	char nonce[WIRE_NONCE + 1];
};

struct raw raw_open(void);
struct raw raw_open_tcp(void);
void raw_ping(const struct raw *raw); /* send a first request, ping */
void raw_send(int fd, const void *data, size_t len);
/* read the next frame; returns its JSON */
json_t *raw_read(int fd, struct frame_head *ret);
void raw_refused(int fd, int code, const char *text);
void raw_closed(int fd); /* the server must have closed it */

/* Append a request with this credential. */
void raw_frame(struct buf *out, uint32_t seq, const char *cred,
               const char *json);

/* Returns a credential for a frame without raw bytes; the caller frees it. */
char *raw_cred(enum frame_kind kind, const char *cluster, const char *nonce,
               uint32_t seq, const char *json);

/* Send a request with a valid credential that announces raw_len raw bytes, all
 * zero, without sending these. */
void raw_request(const struct raw *raw, const char *json, size_t raw_len);

/* Send a head and a body as they are; version 0: only the body. */
void raw_bare(int fd, unsigned char version, const struct frame_head *head,
              const char *body);

#endif

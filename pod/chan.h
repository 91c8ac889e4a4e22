/*
 * chan.h - authenticated frames between the pods of a job
 *
 * Each side first sends POD_HELLO bytes: a magic word and a nonce. From both
 * nonces and the key of the job each side derives two keys, one for each
 * direction, so that recorded bytes cannot be replayed. Then come frames:
 *
 *	length of type and payload (4 bytes, big-endian) | type | payload | MAC
 *
 * The MAC (HMAC-SHA-256, cut to 16 bytes) covers the number of earlier frames,
 * the length, type and payload. The first frame of each side is empty and
 * proves that the side has the key; longer frames that come before it are
 * refused. Frames are not encrypted: whoever can read the network of the pods
 * can read them.
 *
 * The functions do no I/O; pod_chan_init() gets random bytes for the nonce.
 */
#ifndef POD_CHAN_H
#define POD_CHAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libcommon/buf.h"

enum {
	POD_KEY = 32,
	POD_HELLO = 32,
	POD_MAC = 16,
	POD_FRAME_MAX = 9 << 20 /* above STEP_REQUEST_MAX */
};

/* From srun: */
#define POD_PROOF 'K' /* empty; the agent answers with the same */
/* JSON: request resources for a step from the first pod. */
#define POD_ASK    'A'
#define POD_LAUNCH 'L' /* JSON, zero byte, request of the step */
#define POD_ORDER  'S' /* JSON: {"signal": N} or {"stop": SECONDS} */
#define POD_INPUT  'I' /* rank (4 bytes), bytes of stdin; no bytes: its end */
#define POD_SIZE   'W' /* rows and columns of the terminal, 2 bytes each */
#define POD_DONE   'D' /* empty: nothing is left of the step */
/* To srun: */
#define POD_ROOM 'H' /* JSON: {"waits": TEXT} or the layout of the step */
#define POD_TELL 'T' /* JSON, as in libcommon/step_msg.h */
/* Rank (4 bytes), 1 or 2 for stdout or stderr, bytes; no bytes: its end. */
#define POD_OUTPUT 'O'

struct pod_chan {
	uint8_t key[POD_KEY];
	uint8_t hello[POD_HELLO]; /* ours */
	uint8_t send_key[POD_KEY], hear_key[POD_KEY];
	uint64_t sent, heard; /* frames */
	bool client;
	bool met; /* the hello of the other side was received */
};

struct pod_frame {
	uint8_t type;
	const uint8_t *data;
	size_t len;
};

/* Begin a connection; the caller then sends chan->hello. */
void pod_chan_init(struct pod_chan *chan, const uint8_t key[POD_KEY],
                   bool client);

/* Append a frame whose payload is `head` and then `data`, which may be empty.
 * The hello of the other side must have been received. */
void pod_chan_put(struct pod_chan *chan, struct buf *out, uint8_t type,
                  const void *head, size_t head_len, const void *data,
                  size_t len);

/*
 * Parse the hello or the frame at the beginning of the bytes that the other
 * side sent. For a hello, ret->type becomes 0; a frame points into data.
 * Returns the bytes used; 0 if more are needed; -1 if the sender does not have
 * the key.
 */
long pod_chan_take(struct pod_chan *chan, const uint8_t *data, size_t len,
                   struct pod_frame *ret);

#endif

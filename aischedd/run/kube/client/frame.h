/*
 * frame.h - the frames of a WebSocket (RFC 6455), read and made by a client
 *
 * Pure. A message from the server is passed on in parts, as they arrive, so
 * that a large one needs no memory here.
 */
#ifndef AISCHEDD_RUN_KUBE_CLIENT_FRAME_H
#define AISCHEDD_RUN_KUBE_CLIENT_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libcommon/buf.h"
#include "libcommon/err.h"

enum kube_opcode {
	FRAME_MORE = 0, /* continues a message */
	FRAME_TEXT = 1,
	FRAME_BINARY = 2,
	FRAME_CLOSE = 8, /* this and the next ones are control frames */
	FRAME_PING = 9,
	FRAME_PONG = 10
};

enum { FRAME_CONTROL_MAX = 125 /* bytes of a control frame */ };

struct kube_frame_ops {
	/* Called for each part of a message; first, last: it is the first or
	 * the last one. Returning -1 with *err set ends the reading. */
	int (*data)(const void *data, size_t len, bool first, bool last,
	            void *arg, struct err *err);
	int (*control)(enum kube_opcode opcode, const void *data, size_t len,
	               void *arg, struct err *err);
};

/* The state between two calls of kube_frames_feed(); all zero at first. */
struct kube_frames {
	uint8_t head[10], nhead;
	bool in_frame, in_message, told; /* told: data() was called for the
	                                    message */
	uint64_t left; /* bytes of the frame's body that have not arrived */
	uint8_t control[FRAME_CONTROL_MAX], ncontrol;
};

/* Read bytes from the server, and pass messages and control frames to ops.
 * Fails with EPROTO if the bytes violate the protocol, or with the error of a
 * function of ops. */
int kube_frames_feed(struct kube_frames *f, const void *data, size_t len,
                     const struct kube_frame_ops *ops, void *arg,
                     struct err *err);

/* Append a frame that is a whole message, masked with these 4 bytes. */
void kube_frame_add(struct buf *out, enum kube_opcode opcode,
                    const uint8_t mask[4], const void *data, size_t len);

#endif

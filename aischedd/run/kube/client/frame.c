/* frame.c - the frames of a WebSocket (RFC 6455), read and made by a client */
#include "aischedd/run/kube/client/frame.h"

#include <string.h>

enum {
	/* bytes of a frame's header without extended length and mask */
	HEAD = 2,
	LEN16 = 126,
	/* in the length field: the length is in the next 8 bytes */
	LEN64 = 127,
	FIN = 0x80,
	RESERVED = 0x70,
	OPCODE = 0x0f,
	MASKED = 0x80,
	LENGTH = 0x7f
};

static unsigned length_bytes(uint8_t second)
{
	return (second & LENGTH) == LEN16   ? 2
	       : (second & LENGTH) == LEN64 ? 8
	                                    : 0;
}

static bool is_control(const struct kube_frames *f)
{
	return (f->head[0] & OPCODE) >= FRAME_CLOSE;
}

static int check_control(const struct kube_frames *f, struct err *err)
{
	if ((f->head[0] & OPCODE) > FRAME_PONG)
		return err_set(err, EPROTO, "a frame of unknown kind %d",
		               f->head[0] & OPCODE);
	if (!(f->head[0] & FIN) || f->left > FRAME_CONTROL_MAX)
		return err_set(err, EPROTO, "a control frame in parts");
	return 0;
}

static int check_data(struct kube_frames *f, struct err *err)
{
	int opcode = f->head[0] & OPCODE;

	if (opcode > FRAME_BINARY)
		return err_set(err, EPROTO, "a frame of unknown kind %d",
		               opcode);
	if ((opcode == FRAME_MORE) != f->in_message)
		return err_set(err, EPROTO,
		               f->in_message ? "a message within another"
		                             : "the middle of a message");
	if (!f->in_message)
		f->told = false;
	f->in_message = true;
	return 0;
}

static int begin(struct kube_frames *f, struct err *err)
{
	unsigned n = length_bytes(f->head[1]);

	if (f->head[0] & RESERVED)
		return err_set(err, EPROTO, "a frame of an extension");
	if (f->head[1] & MASKED)
		return err_set(err, EPROTO, "a frame that is masked");
	f->left = n ? 0 : f->head[1] & LENGTH;
	for (unsigned i = 0; i < n; i++)
		f->left = f->left << 8 | f->head[HEAD + i];
	if (f->left >> 63)
		return err_set(err, EPROTO, "a frame of a negative length");
	f->in_frame = true;
	f->ncontrol = 0;
	return is_control(f) ? check_control(f, err) : check_data(f, err);
}

static int end_control(struct kube_frames *f, const struct kube_frame_ops *ops,
                       void *arg, struct err *err)
{
	f->in_frame = false;
	return ops->control((enum kube_opcode)(f->head[0] & OPCODE), f->control,
	                    f->ncontrol, arg, err);
}

/* Handle len bytes of the frame's body; 0 for a frame without body. */
static int take_body(struct kube_frames *f, const uint8_t *data, size_t len,
                     const struct kube_frame_ops *ops, void *arg,
                     struct err *err)
{
	bool first, last;

	f->left -= len;
	if (is_control(f)) {
		if (len)
			memcpy(f->control + f->ncontrol, data, len);
		f->ncontrol += (uint8_t)len;
		return f->left ? 0 : end_control(f, ops, arg, err);
	}
	f->in_frame = f->left > 0;
	last = !f->left && (f->head[0] & FIN);
	if (last)
		f->in_message = false;
	if (!len && !last)
		return 0;
	first = !f->told;
	f->told = true;
	return ops->data(data, len, first, last, arg, err);
}

int kube_frames_feed(struct kube_frames *f, const void *data, size_t len,
                     const struct kube_frame_ops *ops, void *arg,
                     struct err *err)
{
	const uint8_t *at = data, *end = at + len;
	size_t n;

	while (at < end) {
		if (!f->in_frame) {
			f->head[f->nhead++] = *at++;
			if (f->nhead < HEAD ||
			    f->nhead < HEAD + length_bytes(f->head[1]))
				continue;
			f->nhead = 0;
			if (begin(f, err) < 0)
				return -1;
			if (f->left)
				continue;
		}
		n = (size_t)(end - at);
		if (n > f->left)
			n = (size_t)f->left;
		if (take_body(f, at, n, ops, arg, err) < 0)
			return -1;
		at += n;
	}
	return 0;
}

void kube_frame_add(struct buf *out, enum kube_opcode opcode,
                    const uint8_t mask[4], const void *data, size_t len)
{
	unsigned n = len < LEN16 ? 0 : len <= UINT16_MAX ? 2 : 8;
	const uint8_t *from = data;
	uint8_t *to;

	buf_addc(out, (char)(FIN | opcode));
	buf_addc(out, (char)(MASKED | (!n       ? (uint8_t)len
	                               : n == 2 ? LEN16
	                                        : LEN64)));
	while (n--)
		buf_addc(out, (char)((uint64_t)len >> 8 * n));
	buf_add(out, mask, 4);
	to = (uint8_t *)buf_room(out, len);
	for (size_t i = 0; i < len; i++)
		to[i] = from[i] ^ mask[i % 4];
	buf_grew(out, len);
}

/*
 * link.h - a non-blocking connection between pods
 */
#ifndef POD_LINK_H
#define POD_LINK_H

#include <jansson.h>

#include "libcommon/err.h"
#include "pod/chan.h"

struct pod_link {
	int fd; /* -1: lost */
	struct pod_chan chan;
	struct buf in, out;
	/* Bytes of `in` that were used, and bytes of `out` that were sent. */
	size_t in_at, out_at;
};

/* If more bytes than this are unsent, the caller should stop reading whatever
 * it sends over the link. */
enum { POD_LINK_FULL = 1 << 20 };

/* Take ownership of the descriptor, make it non-blocking, and send
 * the hello. */
void pod_link_init(struct pod_link *link, int fd, const uint8_t key[POD_KEY],
                   bool client);
void pod_link_fini(struct pod_link *link);

/* Read the bytes that have arrived. Returns false if the connection has ended.
 */
bool pod_link_read(struct pod_link *link);

/* Get the next frame, which is valid until the next call for this link.
 * Returns false if there is none. Closes the link if the bytes received have
 * no valid MAC. */
bool pod_link_next(struct pod_link *link, struct pod_frame *ret);

void pod_link_put(struct pod_link *link, uint8_t type, const void *head,
                  size_t head_len, const void *data, size_t len);
/* Send a frame with JSON, and free the object. */
void pod_link_tell(struct pod_link *link, uint8_t type, json_t *obj);
/* Returns the JSON of a frame, or NULL if it has none. */
json_t *pod_link_json(const struct pod_frame *frame);

/* Send as much as possible; closes the link if the connection has ended. */
void pod_link_flush(struct pod_link *link);
size_t pod_link_unsent(const struct pod_link *link);
void pod_link_close(struct pod_link *link);

#endif

/* request.h - look up a request in the table of requests, and serve it */
#ifndef AISCHEDD_OP_REQUEST_H
#define AISCHEDD_OP_REQUEST_H

#include "aischedd/daemon.h"

/* Check that the peer may send the request and that all its fields are known,
 * then call its function (op.h). arg is the daemon. */
void daemon_request(struct ask *ask, const struct request_in *in, void *arg);

/* Whether a peer is root or an admin; arg is the daemon. */
bool daemon_is_admin(const struct peer *peer, void *arg);

#endif

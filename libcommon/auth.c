/* auth.c - MUNGE credentials */
#include "libcommon/auth.h"

#include <munge.h>
#include <stdlib.h>
#include <string.h>

/*
 * Seconds that may pass from encoding to decoding, including the difference of
 * two machines' clocks. munged must remember each credential for this long, so
 * a short time is cheap. A short time is also safe, because the nonce of the
 * connection prevents replays.
 */
enum { CRED_TTL_S = 60 };

static munge_ctx_t context(const char *socket)
{
	munge_ctx_t ctx = munge_ctx_create();

	if (!ctx)
		return NULL; /* munge_encode() and munge_decode() then use their
		                defaults */
	if (!socket || !*socket)
		socket = getenv("AISCHED_MUNGE_SOCKET");
	if (socket && *socket)
		munge_ctx_set(ctx, MUNGE_OPT_SOCKET, socket);
	munge_ctx_set(ctx, MUNGE_OPT_TTL, CRED_TTL_S);
	return ctx;
}

static int why(munge_ctx_t ctx, munge_err_t e, int code, struct err *err)
{
	const char *text = ctx ? munge_ctx_strerror(ctx) : NULL;

	if (!text)
		text = munge_strerror(e);
	if (e == EMUNGE_SOCKET)
		return err_set(err, EAGAIN,
		               "munged cannot be reached: %s; is it running? "
		               "$AISCHED_MUNGE_SOCKET names another socket",
		               text);
	if (e == EMUNGE_CRED_EXPIRED || e == EMUNGE_CRED_REWOUND)
		return err_set(err, code,
		               "munged: %s; are the clocks of both machines "
		               "in step?",
		               text);
	return err_set(err, code, "munged: %s", text);
}

char *auth_encode(const char *socket, const unsigned char digest[WIRE_DIGEST],
                  struct err *err)
{
	munge_ctx_t ctx = context(socket);
	char *cred = NULL;
	munge_err_t e = munge_encode(&cred, ctx, digest, WIRE_DIGEST);

	if (e != EMUNGE_SUCCESS) {
		why(ctx, e, EPERM, err);
		free(cred);
		cred = NULL;
	}
	munge_ctx_destroy(ctx);
	return cred;
}

/*
 * munge_decode() returns the payload even of expired and replayed
 * credentials; treat these like forged ones. (If munged's answer is lost,
 * libmunge repeats the request and marks it as a retry, which munged does not
 * count as a replay.)
 */
int auth_decode(const char *socket, const char *cred, uid_t *ret_uid,
                gid_t *ret_gid, unsigned char ret_digest[WIRE_DIGEST],
                struct err *err)
{
	munge_ctx_t ctx = context(socket);
	void *payload = NULL;
	int len = 0, rc = 0;
	uid_t uid;
	gid_t gid;
	munge_err_t e = munge_decode(cred, ctx, &payload, &len, &uid, &gid);

	if (e != EMUNGE_SUCCESS) {
		rc = why(ctx, e, EACCES, err);
	} else if (len != WIRE_DIGEST) {
		rc = err_set(err, EACCES,
		             "the credential was not made for aisched");
	} else {
		memcpy(ret_digest, payload, WIRE_DIGEST);
		*ret_uid = uid;
		*ret_gid = gid;
	}
	free(payload);
	munge_ctx_destroy(ctx);
	return rc;
}

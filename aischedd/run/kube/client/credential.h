/*
 * credential.h - read the credentials that a program prints: an ExecCredential
 */
#ifndef AISCHEDD_RUN_KUBE_CLIENT_CREDENTIAL_H
#define AISCHEDD_RUN_KUBE_CLIENT_CREDENTIAL_H

#include <stddef.h>
#include <stdint.h>

#include "libcommon/err.h"

/* A token, or a certificate with its key (PEM), or both; heap strings. */
struct kube_credential {
	char *token, *cert, *key;
	int64_t expires; /* unix seconds; 0: not given */
};

void kube_credential_fini(struct kube_credential *cred);

/* Parse an ExecCredential. now: unix seconds. Fails with EPROTO if the text is
 * not an ExecCredential, or if the credential has already expired. */
int kube_credential_parse(const char *text, size_t len, const char *api_version,
                          int64_t now, struct kube_credential *ret,
                          struct err *err);

#endif

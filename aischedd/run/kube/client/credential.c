/* credential.c - read the credentials that a program prints */
#include "aischedd/run/kube/client/credential.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aischedd/run/kube/client/file.h"
#include "aischedd/run/kube/client/json.h"
#include "aischedd/run/kube/client/kubeconfig.h"
#include "libcommon/mem.h"

void kube_credential_fini(struct kube_credential *cred)
{
	free(cred->token);
	free(cred->cert);
	free(cred->key);
	*cred = (struct kube_credential){ 0 };
}

static int check_parts(const char *token, const char *cert, const char *key,
                       struct err *err)
{
	struct arena *arena;
	int rc = 0;

	if (!token && !cert)
		return err_set(err, EPROTO,
		               "it printed neither a token nor a certificate");
	if (!cert != !key)
		return err_set(err, EPROTO,
		               "it printed only one of clientCertificateData "
		               "and clientKeyData");
	arena = arena_new();
	if ((token && !kube_token(token, arena, err)) ||
	    (cert && kube_pem_check(cert, PEM_CERTIFICATE, err) < 0) ||
	    (key && kube_pem_check(key, PEM_KEY, err) < 0))
		rc = err_wrap(err, "its output");
	arena_free(arena);
	return rc;
}

static const char *or_null(const char *s)
{
	return s && *s ? s : NULL;
}

static int read_credential(const json_t *json, const char *api_version,
                           int64_t now, struct kube_credential *ret,
                           struct err *err)
{
	struct kube_reader r = { .obj = json };
	const char *version = kube_text(&r, "apiVersion");
	const char *kind = kube_text(&r, "kind");
	const char *token = or_null(kube_text(&r, "status.token"));
	const char *cert =
	    or_null(kube_text(&r, "status.clientCertificateData"));
	const char *key = or_null(kube_text(&r, "status.clientKeyData"));
	int64_t expires = kube_time(&r, "status.expirationTimestamp") / 1000000;

	if (r.err.code)
		return err_set(err, EPROTO, "its output: %s", r.err.text);
	if (!kind || strcmp(kind, "ExecCredential") || !version ||
	    strcmp(version, api_version))
		return err_set(err, EPROTO,
		               "it printed no ExecCredential of %s",
		               api_version);
	if (check_parts(token, cert, key, err) < 0)
		return -1;
	if (expires && expires <= now)
		return err_set(err, EPROTO,
		               "its credential has expired already; is this "
		               "machine's clock right?");
	*ret = (struct kube_credential){
		.token =
		    token ? xstrndup(token, strcspn(token, " \r\n\t")) : NULL,
		.cert = cert ? xstrdup(cert) : NULL,
		.key = key ? xstrdup(key) : NULL,
		.expires = expires,
	};
	return 0;
}

int kube_credential_parse(const char *text, size_t len, const char *api_version,
                          int64_t now, struct kube_credential *ret,
                          struct err *err)
{
	json_t *json = json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL);
	int rc = -1;

	if (json)
		rc = read_credential(json, api_version, now, ret, err);
	else
		err_set(err, EPROTO, "it printed no JSON");
	json_decref(json);
	return rc;
}

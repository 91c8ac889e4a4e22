/* who.c - get the credentials of calls from a kubeconfig or a program */
#include "aischedd/run/kube/client/who.h"

#include "aischedd/run/kube/client/http_priv.h"
#include "libcommon/clock.h"
#include "libcommon/log.h"

/* Renew a credential this many seconds before its end. */
enum { EXPIRES_EARLY = 10 };

void kube_who_renew(struct kube_http *http, uint64_t badge)
{
	if (badge != http->badge)
		return; /* another call has renewed the credentials */
	http->badge++;
	http->stale = true;
	kube_credential_fini(&http->credential);
}

static void use(struct kube_http *http, struct kube_config *config)
{
	if (http->config && kube_config_same(config, http->config)) {
		kube_config_free(config);
		return;
	}
	kube_config_free(http->config);
	http->config = config;
	if (config->warning)
		log_warning("%s", config->warning);
	http->badge++;
	kube_plugin_cancel(http->run);
	http->run = NULL;
	kube_credential_fini(&http->credential);
}

/* Handle the result of reading the kubeconfig. If that failed, the previous
 * configuration stays in use. */
static void on_loaded(struct kube_config *config, const struct err *err,
                      bool over, void *arg)
{
	struct kube_http *http = arg;

	http->awaits_load = false;
	if (over) {
		kube_load_free(http->load);
		http->load = NULL;
	} else if (http->config) {
		log_warning("%s; what was read before stays in force",
		            err->text);
	}
	if (config)
		use(http, config);
	else if (!http->config)
		kube_http_failed(http, http->loaded_ms, -1, err);
	http->loaded_ms = clock_boot_ms();
	kube_http_pump(http);
}

/* Begin to read the kubeconfig, whose credentials may have changed. Calls wait
 * until it is read, but not longer than file_ms. */
static void load(struct kube_http *http)
{
	struct err err;

	http->loaded_ms = clock_boot_ms();
	http->awaits_load = true;
	http->stale = false;
	http->load =
	    kube_load_start(http->base, http->path, http->context,
	                    http->limits.file_ms, on_loaded, http, &err);
	if (http->load)
		return;
	http->awaits_load = false;
	if (!http->config)
		kube_http_failed(http, http->loaded_ms, -1, &err);
}

/* Returns when to renew a credential: EXPIRES_EARLY seconds before it expires,
 * or after half of the time until then, whichever is later. */
static int64_t renew_time(const struct kube_credential *cred, int64_t now)
{
	int64_t half = (cred->expires - now) / 2;

	return cred->expires - (half < EXPIRES_EARLY ? half : EXPIRES_EARLY);
}

static void on_plugin(struct kube_credential *cred, const struct err *err,
                      void *arg)
{
	struct kube_http *http = arg;

	http->run = NULL;
	if (!cred) {
		kube_http_failed(http, clock_boot_ms(), -1, err);
		return;
	}
	kube_credential_fini(&http->credential);
	http->credential = *cred;
	http->renew_at = renew_time(cred, clock_wall_s());
	http->badge++;
	kube_http_pump(http);
}

static bool has_credential(const struct kube_http *http)
{
	const struct kube_credential *cred = &http->credential;

	return (cred->token || cred->cert) &&
	       (!cred->expires || clock_wall_s() < http->renew_at);
}

bool kube_who_is_ready(struct kube_http *http, int64_t now)
{
	bool open = now >= http->closed_until;
	struct err err;

	if (open && !http->load &&
	    (!http->config || http->stale ||
	     now - http->loaded_ms >= http->limits.reload_ms))
		load(http);
	if (!http->config || http->awaits_load)
		return false;
	if (!http->config->plugin || has_credential(http))
		return true;
	if (!open || http->run)
		return false;
	http->run =
	    kube_plugin_start(http->base, http->config, http->limits.plugin_ms,
	                      on_plugin, http, &err);
	if (!http->run)
		kube_http_failed(http, now, -1, &err);
	return false;
}

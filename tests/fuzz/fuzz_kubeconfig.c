#include <assert.h>
#include <string.h>

#include "aischedd/run/kube/client/kubeconfig.h"
#include "tests/fuzz/fuzz.h"

/* A kubeconfig that is accepted must have all that a connection needs, and give
 * the same result if read again. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	struct kube_config *config, *again;
	struct err err = { 0 };

	config = kube_config_parse(text, size, "/none/f", NULL, &err);
	if (!config) {
		assert(err.code && !strncmp(err.text, "kubeconfig '/none/f'",
		                            strlen("kubeconfig '/none/f'")));
		return 0;
	}
	assert(*config->host && *config->port && config->prefix);
	assert(!config->cert == !config->key);
	assert(!config->plugin || config->plugin->argv[0]);
	again = kube_config_parse(text, size, "/none/f", NULL, &err);
	assert(again && kube_config_same(config, again));
	kube_config_free(again);
	kube_config_free(config);
	return 0;
}

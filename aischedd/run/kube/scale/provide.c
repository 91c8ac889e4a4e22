/* provide.c - have the cluster's autoscaler add nodes, by ProvisioningRequests
 */
#include "aischedd/run/kube/scale/provide.h"

#include <errno.h>
#include <stdlib.h>

#include "aischedd/run/kube/answer.h"
#include "aischedd/run/kube/kube.h"
#include "aischedd/run/kube/object/provision.h"
#include "libcommon/clock.h"

/* How often a request is read. */
enum { LOOK_MS = 3000 };

void kube_provide_step(struct kube *kube, struct standin_job *j, uint32_t n)
{
	const struct standin_request *r = &j->request;
	char name[KUBE_PROVISION_SIZE];

	if (r->refused || (r->made && clock_boot_ms() < r->look_ms))
		return;
	kube_provision_name(name, j->want, j->uid);
	if (!r->templated)
		kube_standin_ask(kube, j, STANDIN_TEMPLATE, NULL,
		                 kube_provision_template(j->want, j->uid));
	else if (!r->made)
		kube_standin_ask(
		    kube, j, STANDIN_REQUEST, NULL,
		    kube_provision_request(j->want, j->uid, r->conf, n));
	else
		kube_standin_ask(kube, j, STANDIN_LOOK, name, NULL);
}

/* Tell the daemon that no nodes come. The daemon then no longer wants them, and
 * waits before it wants some again. */
static void refuse(struct kube *kube, struct standin_job *j, const char *why)
{
	j->request.refused = true;
	kube->fn(&(struct run_event){ .kind = RUN_SCALE_REFUSED,
	                              .scale = j->scale,
	                              .text = why },
	         kube->arg);
}

/* The PodTemplate or the request could not be made. */
static void not_made(struct kube *kube, struct standin_job *j,
                     enum standin_kind kind, const struct err *err)
{
	struct err *why = &kube->standins.refused;

	j->rest_ms = clock_boot_ms() + KUBE_REST_MS;
	if (err->code == ESTALE ||
	    (err->code == ENOENT && kind == STANDIN_TEMPLATE))
		return; /* its Job or namespace is gone, or changes */
	*why = *err;
	if (err->code == ENOENT)
		err_set(why, ENOENT,
		        "scale '%s': the cluster has no ProvisioningRequests: "
		        "install their CRD, and run cluster-autoscaler with "
		        "--enable-provisioning-requests",
		        j->scale);
	if (!kube_answer_is_passing(err))
		refuse(kube, j, why->text);
}

/* The request was read. */
static void looked(struct kube *kube, struct standin_job *j,
                   const struct kube_answer *answer)
{
	char *why = NULL;

	if (!answer->err)
		why = kube_provision_failure(answer->body);
	else if (answer->err->code == ENOENT)
		j->request.made = false; /* somebody deleted it */
	if (why)
		refuse(kube, j, why);
	free(why);
}

void kube_provide_answered(struct kube *kube, struct standin_job *j,
                           enum standin_kind kind,
                           const struct kube_answer *answer)
{
	const struct err *err = answer->err;

	j->asking = false;
	if (!j->uid || !j->request.conf)
		return; /* it is no longer wanted */
	j->request.look_ms = clock_boot_ms() + LOOK_MS;
	if (kind == STANDIN_LOOK) {
		looked(kube, j, answer);
	} else if (err && err->code != EEXIST) {
		not_made(kube, j, kind, err);
	} else if (kind == STANDIN_TEMPLATE) {
		j->request.templated = true;
	} else {
		j->request.made = true;
		kube->standins.refused.code = 0;
	}
}

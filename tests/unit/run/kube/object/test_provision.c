/* test_provision.c - ProvisioningRequests, which ask an autoscaler for nodes */
#include "aischedd/run/kube/object/provision.h"

#include <stdlib.h>
#include <string.h>

#include "aischedd/run/kube/client/json.h"
#include "aischedd/run/kube/object/standin.h"
#include "libcommon/mem.h"
#include "tests/unit/check.h"

static const struct conf_pool pool = { .name = "gpu",
	                               .namespace = "ns",
	                               .gpu_resource = "nvidia.com/gpu" };
static const struct kube_home home = { &pool, "My.Cluster", "store1", 600,
	                               false, NULL,         "ns",     0 };

#define UID "12345678-90ab-cdef-1234-567890abcdef"

static struct conf_scale burst = { .name = "burst",
	                           .delay = 300,
	                           .by = SCALE_PROVISIONING };
static json_t *standins; /* the Job of that template */

static void setup(void)
{
	struct run_standin what = { .conf = &burst,
		                    .cpu_milli = 1500,
		                    .mem_mib = 1024,
		                    .n = 2,
		                    .there = 1 };

	burst.provisioning_class = "check-capacity.autoscaling.x-k8s.io";
	standins = kube_standin_job(&home, &what);
}

static const char *at(const json_t *obj, const char *path)
{
	struct kube_reader r = { .obj = obj };

	return kube_text(&r, path);
}

static void teardown(void)
{
	json_decref(standins);
}

START_TEST(a_request_is_for_pods_of_its_template)
{
	json_t *template = kube_provision_template(standins, UID);
	json_t *request = kube_provision_request(standins, UID, &burst, 3);
	json_t *spec = json_object_get(request, "spec");
	char *text = json_dumps(spec, JSON_COMPACT);

	ck_assert_str_eq(text, "{\"provisioningClassName\":"
	                       "\"check-capacity.autoscaling.x-k8s.io\","
	                       "\"podSets\":[{\"podTemplateRef\":{\"name\":"
	                       "\"aj-my-cluster-standin-burst-12345678\"},"
	                       "\"count\":3}]}");
	ck_assert_str_eq(at(template, "metadata.name"),
	                 "aj-my-cluster-standin-burst-12345678");
	ck_assert(json_equal(
	    json_object_get(template, "template"),
	    json_object_get(json_object_get(standins, "spec"), "template")));
	free(text);
	json_decref(request);
	json_decref(template);
}
END_TEST

START_TEST(a_request_and_its_template_go_with_their_job)
{
	json_t *made[] = { kube_provision_template(standins, UID),
		           kube_provision_request(standins, UID, &burst, 3) };

	for (size_t i = 0; i < ARRAY_SIZE(made); i++) {
		json_t *meta = json_object_get(made[i], "metadata");
		json_t *owner =
		    json_array_get(json_object_get(meta, "ownerReferences"), 0);

		ck_assert_str_eq(at(owner, "kind"), "Job");
		ck_assert_str_eq(at(owner, "name"),
		                 "aj-my-cluster-standin-burst");
		ck_assert_str_eq(at(owner, "uid"), UID);
		ck_assert_str_eq(at(meta, "namespace"), "ns");
		ck_assert_str_eq(kube_standin_is(made[i], &home), "burst");
		json_decref(made[i]);
	}
}
END_TEST

START_TEST(a_request_that_is_tried_again_and_again_has_an_end)
{
	json_t *request;

	burst.provisioning_class =
	    "best-effort-atomic-scale-up.autoscaling.x-k8s.io";
	request = kube_provision_request(standins, UID, &burst, 3);
	ck_assert_str_eq(at(request, "spec.parameters.ValidUntilSeconds"),
	                 "600");
	json_decref(request);
}
END_TEST

START_TEST(names_of_requests_end_with_the_uid)
{
	struct kube_home long_one = home;
	struct run_standin what = { .conf = &burst };
	char name[KUBE_PROVISION_SIZE];
	json_t *obj;

	long_one.cluster = "a-very-long-name-of-a-cluster";
	burst.name = "a-template-with-a-very-long-name";
	obj = kube_standin_job(&long_one, &what);
	kube_provision_name(name, obj, UID);
	ck_assert_str_eq(name + strlen(name) - 9, "-12345678");
	ck_assert_uint_le(strlen(name), 253);
	burst.name = "burst";
	json_decref(obj);
}
END_TEST

START_TEST(a_request_for_more_nodes_is_another_but_not_as_nodes_come)
{
	struct run_standin what = { .conf = &burst,
		                    .cpu_milli = 1500,
		                    .mem_mib = 1024,
		                    .n = 1,
		                    .there = 2 };
	json_t *other = kube_standin_job(&home, &what);

	ck_assert(json_equal(standins, other));
	json_decref(other);
	what.n = 2;
	other = kube_standin_job(&home, &what);
	ck_assert(!json_equal(standins, other));
	json_decref(other);
}
END_TEST

static const struct {
	const char *conditions, *want; /* want: NULL: it may be met */
} outcomes[] = {
	{ "[]", NULL },
	{ "[{'type': 'Accepted', 'status': 'True', 'message': 'm'}]", NULL },
	{ "[{'type': 'Provisioned', 'status': 'False'}]", NULL },
	{ "[{'type': 'Provisioned', 'status': 'True'}]", NULL },
	{ "[{'type': 'Failed', 'status': 'False', 'message': 'm'}]", NULL },
	{ "[{'type': 'Failed', 'status': 'Unknown'}]", NULL },
	{ "[{'type': 'Failed', 'status': 'True', 'message': 'no zone'}]",
	  "ProvisioningRequest 'r': Failed: no zone" },
	{ "[{'type': 'Provisioned', 'status': 'True'},"
	  " {'type': 'BookingExpired', 'status': 'True'}]",
	  "ProvisioningRequest 'r': BookingExpired" },
	{ "[{'type': 'CapacityRevoked', 'status': 'True', 'message': ''}]",
	  "ProvisioningRequest 'r': CapacityRevoked" },
	/* of others, who may write what they like */
	{ "{'type': 'Failed'}", NULL },
	{ "[null, 7, {'type': 7, 'status': [], 'message': {}}]", NULL },
	{ "[{'type': 'Failed', 'status': 'True', 'message': 7}]",
	  "ProvisioningRequest 'r': Failed" },
};

START_TEST(requests_fail)
{
	char *why, *text = xasprintf("{'metadata': {'name': 'r'}, 'status': "
	                             "{'conditions': %s}}",
	                             outcomes[_i].conditions);
	json_t *request;

	for (char *p = text; *p; p++)
		*p = *p == '\'' ? '"' : *p;
	request = json_loads(text, 0, NULL);
	why = kube_provision_failure(request);

	if (outcomes[_i].want)
		ck_assert_str_eq(why, outcomes[_i].want);
	else
		ck_assert_ptr_null(why);
	free(why);
	json_decref(request);
	free(text);
}
END_TEST

SUITE(kube_provision)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, a_request_is_for_pods_of_its_template);
	tcase_add_test(tc, a_request_and_its_template_go_with_their_job);
	tcase_add_test(tc, a_request_that_is_tried_again_and_again_has_an_end);
	tcase_add_test(tc, names_of_requests_end_with_the_uid);
	tcase_add_test(
	    tc, a_request_for_more_nodes_is_another_but_not_as_nodes_come);
	tcase_add_loop_test(tc, requests_fail, 0, ARRAY_SIZE(outcomes));
}

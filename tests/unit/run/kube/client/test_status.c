#include "aischedd/run/kube/client/status.h"

#include <stdlib.h>
#include <string.h>

#include "libcommon/mem.h"
#include "tests/unit/check.h"

static const struct {
	const char *path;
	enum kube_method method;
	/* verb, group, resource, subresource, namespace, name */
	const char *want;
} targets[] = {
	{ "/api/v1/nodes", KUBE_GET, "list|nodes||||" },
	{ "/api/v1/nodes?watch=1&resourceVersion=1", KUBE_GET,
	  "watch|nodes||||" },
	{ "/api/v1/nodes/n1", KUBE_GET, "get|nodes||||n1" },
	{ "/api/v1/namespaces/ns/pods/p/binding?fieldManager=a", KUBE_POST,
	  "create|pods||binding|ns|p" },
	{ "/apis/batch/v1/namespaces/ns/jobs", KUBE_POST,
	  "create|jobs|batch||ns|" },
	{ "/apis/batch/v1/namespaces/ns/jobs/j", KUBE_MERGE,
	  "patch|jobs|batch||ns|j" },
	{ "/apis/batch/v1/namespaces/ns/jobs/j", KUBE_DELETE,
	  "delete|jobs|batch||ns|j" },
	{ "/apis/batch/v1/namespaces/ns/jobs", KUBE_DELETE,
	  "deletecollection|jobs|batch||ns|" },
	{ "/apis/coordination.k8s.io/v1/namespaces/ns/leases/l", KUBE_PUT,
	  "update|leases|coordination.k8s.io||ns|l" },
	{ "/api/v1/namespaces/ns", KUBE_GET, "get|namespaces||||ns" },
	{ "/api/v1/namespaces", KUBE_GET, "list|namespaces||||" },
	{ "/version", KUBE_GET, "list|||||" },
	{ "", KUBE_JSON_PATCH, "patch|||||" },
};

START_TEST(target_case)
{
	struct kube_target t;
	char *got;

	kube_target_parse(&t, targets[_i].method, targets[_i].path);
	got = xasprintf("%s|%s|%s|%s|%s|%s", t.verb, t.resource, t.group, t.sub,
	                t.namespace, t.name);
	ck_assert_str_eq(got, targets[_i].want);
	free(got);
}
END_TEST

static const struct {
	const char *name;
	int code;
	const char *body; /* NULL: none */
	enum kube_refusal refusal;
	int errnum;
	int wait_ms;
	const char *text;
} answers[] = {
	{ "exists", 409,
	  "{\"reason\": \"AlreadyExists\", \"message\": \"jobs.batch \\\"j\\\" "
	  "already exists\"}",
	  KUBE_FINAL, EEXIST, -1,
	  "cannot create jobs in namespace 'ns': jobs.batch \"j\" already "
	  "exists" },
	{ "conflict", 409, "{\"reason\": \"Conflict\", \"message\": \"no\"}",
	  KUBE_FINAL, ESTALE, -1, "cannot create jobs in namespace 'ns': no" },
	{ "forbidden by RBAC", 403,
	  "{\"reason\": \"Forbidden\", \"message\": \"jobs.batch is forbidden: "
	  "User \\\"bob\\\" cannot create resource \\\"jobs\\\" in API group "
	  "\\\"batch\\\" in the namespace \\\"ns\\\"\"}",
	  KUBE_FINAL, EPERM, -1,
	  "user 'bob' may not create jobs in namespace 'ns'; allow it with the "
	  "rule {apiGroups: [\"batch\"], resources: [jobs], verbs: [create]}" },
	{ "quota", 403,
	  "{\"reason\": \"Forbidden\", \"message\": \"jobs.batch \\\"j\\\" is "
	  "forbidden: exceeded quota: q\"}",
	  KUBE_FINAL, EDQUOT, -1,
	  "cannot create jobs in namespace 'ns': jobs.batch \"j\" is "
	  "forbidden: exceeded quota: q" },
	{ "forbidden by a policy", 403, "{\"message\": \"policy says no\"}",
	  KUBE_FINAL, EPERM, -1,
	  "cannot create jobs in namespace 'ns': policy says no" },
	{ "too many", 429,
	  "{\"reason\": \"TooManyRequests\", \"message\": \"slow\", "
	  "\"details\": {\"retryAfterSeconds\": 3}}",
	  KUBE_BUSY, EAGAIN, 3000,
	  "cannot create jobs in namespace 'ns': slow" },
	{ "a disruption budget", 429,
	  "{\"message\": \"no\", \"details\": {\"causes\": [{\"reason\": "
	  "\"DisruptionBudget\"}]}}",
	  KUBE_FINAL, EAGAIN, -1, "cannot create jobs in namespace 'ns': no" },
	{ "a page of a load balancer", 503, NULL, KUBE_BUSY, EIO, -1,
	  "cannot create jobs in namespace 'ns': HTTP status 503" },
	{ "internal", 500, "{\"message\": \"webhook\"}", KUBE_AGAIN, EIO, -1,
	  "cannot create jobs in namespace 'ns': webhook" },
	{ "timeout", 504, "{}", KUBE_AGAIN, ETIMEDOUT, -1,
	  "cannot create jobs in namespace 'ns': HTTP status 504" },
	{ "unknown", 401, "[]", KUBE_STRANGER, EACCES, -1,
	  "cannot create jobs in namespace 'ns': HTTP status 401" },
	{ "invalid", 422, "{\"reason\": \"Invalid\", \"message\": 7}",
	  KUBE_FINAL, EINVAL, -1,
	  "cannot create jobs in namespace 'ns': HTTP status 422 Invalid" },
	{ "absurd wait", 429, "{\"details\": {\"retryAfterSeconds\": 1000000}}",
	  KUBE_BUSY, EAGAIN, -1,
	  "cannot create jobs in namespace 'ns': HTTP status 429" },
};

START_TEST(answer_case)
{
	json_t *body =
	    answers[_i].body ? json_loads(answers[_i].body, 0, NULL) : NULL;
	struct kube_status status;
	struct err err = { 0 };

	kube_status_read(answers[_i].code, body, KUBE_POST,
	                 "/apis/batch/v1/namespaces/ns/jobs", &status, &err);
	json_decref(body);
	ck_assert_str_eq(err.text, answers[_i].text);
	ck_assert_int_eq(err.code, answers[_i].errnum);
	ck_assert_int_eq(status.refusal, answers[_i].refusal);
	ck_assert_int_eq(status.wait_ms, answers[_i].wait_ms);
}
END_TEST

SUITE(kube_status)
{
	tcase_add_loop_test(tc, target_case, 0, ARRAY_SIZE(targets));
	tcase_add_loop_test(tc, answer_case, 0, ARRAY_SIZE(answers));
}

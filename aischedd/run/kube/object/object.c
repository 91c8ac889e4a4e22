/* object.c - names, labels and owners of a job's objects, and patches */
#include "aischedd/run/kube/object/object.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aischedd/run/kube/client/json.h"
#include "libcommon/buf.h"
#include "libcommon/spec/ports.h"

/* --- names and labels --- */

void kube_object_name(char ret[KUBE_NAME_SIZE], const char *cluster,
                      uint64_t job, uint32_t attempt)
{
	char end[12];

	snprintf(end, sizeof(end), "%" PRIu32, attempt);
	jobid_object(ret, cluster, job, end);
}

void kube_object_number(json_t *obj, const char *key, uint64_t n)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, n);
	json_object_set_new(obj, key, json_string(text));
}

static void put_amount(json_t *list, const char *key, int64_t n,
                       const char *unit)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRId64 "%s", n, unit);
	json_object_set_new(list, key, json_string(text));
}

void kube_object_amounts(json_t *list, int64_t cpu_milli, int64_t mem_mib,
                         int64_t tmp_mib)
{
	put_amount(list, "cpu", cpu_milli, "m");
	put_amount(list, "memory", mem_mib, "Mi");
	if (tmp_mib)
		put_amount(list, "ephemeral-storage", tmp_mib, "Mi");
}

json_t *kube_object_labels(const struct kube_home *home,
                           const struct run_job *job)
{
	json_t *labels = json_object();

	kube_object_number(labels, KUBE_LABEL_JOB, job->job);
	json_object_set_new(labels, KUBE_LABEL_QUEUE, json_string(job->queue));
	json_object_set_new(labels, KUBE_LABEL_CLUSTER,
	                    json_string(home->cluster));
	return labels;
}

json_t *kube_object_notes(const struct kube_home *home,
                          const struct run_job *job)
{
	json_t *notes = json_object();

	kube_object_number(notes, KUBE_NOTE_ATTEMPT, job->attempt);
	json_object_set_new(notes, KUBE_NOTE_STORE, json_string(home->store));
	json_object_set_new(notes, KUBE_NOTE_POOL,
	                    json_string(home->pool->name));
	return notes;
}

json_t *kube_object_new(const struct kube_home *home, const struct run_job *job,
                        const char *version, const char *kind)
{
	char name[KUBE_NAME_SIZE];

	kube_object_name(name, home->cluster, job->job, job->attempt);
	return json_pack("{s:s, s:s, s:{s:s, s:s, s:o, s:o}}", "apiVersion",
	                 version, "kind", kind, "metadata", "name", name,
	                 "namespace", home->namespace, "labels",
	                 kube_object_labels(home, job), "annotations",
	                 kube_object_notes(home, job));
}

json_t *kube_object_literal(const char *text)
{
	struct buf out = { 0 };
	json_t *value;

	buf_puts(&out, "");
	for (; *text; text++) {
		if (*text == '$')
			buf_addc(&out, '$');
		buf_addc(&out, *text);
	}
	value = json_stringn(out.data, out.len);
	buf_free(&out);
	return value;
}

void kube_object_own(json_t *obj, const char *name, const char *uid)
{
	json_object_set_new(json_object_get(obj, "metadata"), "ownerReferences",
	                    json_pack("[{s:s, s:s, s:s, s:s}]", "apiVersion",
	                              "batch/v1", "kind", "Job", "name", name,
	                              "uid", uid));
}

static bool read_number(const json_t *map, const char *key, uint64_t max,
                        uint64_t *ret)
{
	const char *s = kube_text_at(map, key);
	char *end;

	if (!s || !isdigit((unsigned char)*s))
		return false;
	errno = 0;
	*ret = strtoull(s, &end, 10);
	return !*end && !errno && *ret <= max;
}

static bool says(const json_t *map, const char *key, const char *value)
{
	const char *s = kube_text_at(map, key);

	return s && !strcmp(s, value);
}

bool kube_object_is_ours(const json_t *obj, const struct kube_home *home,
                         struct kube_owner *ret)
{
	const json_t *meta = json_object_get(obj, "metadata");
	const json_t *labels = json_object_get(meta, "labels");
	const json_t *notes = json_object_get(meta, "annotations");
	uint64_t attempt;

	if (!says(labels, KUBE_LABEL_CLUSTER, home->cluster) ||
	    !says(notes, KUBE_NOTE_STORE, home->store) ||
	    !says(notes, KUBE_NOTE_POOL, home->pool->name) ||
	    !read_number(labels, KUBE_LABEL_JOB, UINT64_MAX, &ret->job) ||
	    !read_number(notes, KUBE_NOTE_ATTEMPT, UINT32_MAX, &attempt))
		return false;
	ret->attempt = (uint32_t)attempt;
	return true;
}

/* Returns the labels that select the pods of the attempt. */
static json_t *pods_of(const struct kube_home *home, const struct run_job *job)
{
	char name[KUBE_NAME_SIZE];

	kube_object_name(name, home->cluster, job->job, job->attempt);
	return json_pack("{s:s}", "batch.kubernetes.io/job-name", name);
}

json_t *kube_object_service(const struct kube_home *home,
                            const struct run_job *job)
{
	json_t *obj = kube_object_new(home, job, "v1", "Service");

	/* Publish the names of pods that are not ready yet: ranks look for each
	 * other while they start. */
	json_object_set_new(obj, "spec",
	                    json_pack("{s:s, s:b, s:o}", "clusterIP", "None",
	                              "publishNotReadyAddresses", true,
	                              "selector", pods_of(home, job)));
	return obj;
}

static json_t *port_list(const char *at)
{
	json_t *list = json_array();
	struct port p;

	while (ports_next(&at, &p))
		json_array_append_new(
		    list,
		    json_pack("{s:s%, s:i, s:i, s:s}", "name", p.name,
		              p.name_len, "port", (int)p.number, "targetPort",
		              (int)p.number, "protocol", "TCP"));
	return list;
}

/* Returns a rule that lets anybody connect to the ports of --port. */
static json_t *rule_of_ports(const char *at)
{
	json_t *list = json_array();
	struct port p;

	while (ports_next(&at, &p))
		json_array_append_new(list,
		                      json_pack("{s:s, s:i}", "protocol", "TCP",
		                                "port", (int)p.number));
	return json_pack("{s:o}", "ports", list);
}

json_t *kube_object_policy(const struct kube_home *home,
                           const struct run_job *job)
{
	json_t *obj =
	    kube_object_new(home, job, "networking.k8s.io/v1", "NetworkPolicy");
	json_t *pods, *rules;

	pods = json_pack("{s:o}", "matchLabels", pods_of(home, job));
	rules = json_pack("[{s:[{s:O}]}]", "from", "podSelector", pods);
	if (job->spec->ports)
		json_array_append_new(rules, rule_of_ports(job->spec->ports));
	json_object_set_new(obj, "spec",
	                    json_pack("{s:o, s:[s], s:o}", "podSelector", pods,
	                              "policyTypes", "Ingress", "ingress",
	                              rules));
	return obj;
}

json_t *kube_object_ports(const struct kube_home *home,
                          const struct run_job *job)
{
	struct run_job all = *job;
	struct buf name = { 0 };
	json_t *obj, *meta, *pods = json_object();

	all.attempt = 0;
	obj = kube_object_new(home, &all, "v1", "Service");
	meta = json_object_get(obj, "metadata");
	ports_service(home->cluster, job->job, &name);
	json_object_set_new(meta, "name", json_string(name.data));
	buf_free(&name);
	json_object_set_new(json_object_get(meta, "labels"), KUBE_LABEL_PORTS,
	                    json_string(""));
	kube_object_number(pods, KUBE_LABEL_JOB, job->job);
	json_object_set_new(pods, KUBE_LABEL_CLUSTER,
	                    json_string(home->cluster));
	json_object_set_new(pods, "batch.kubernetes.io/job-completion-index",
	                    json_string("0"));
	json_object_set_new(obj, "spec",
	                    json_pack("{s:s, s:o, s:o}", "type", "ClusterIP",
	                              "ports", port_list(job->spec->ports),
	                              "selector", pods));
	return obj;
}

/* --- make patches --- */

json_t *kube_object_binding(const char *namespace, const char *pod,
                            const char *uid, const char *node)
{
	return json_pack("{s:s, s:s, s:{s:s, s:s, s:s}, s:{s:s, s:s, s:s}}",
	                 "apiVersion", "v1", "kind", "Binding", "metadata",
	                 "name", pod, "namespace", namespace, "uid", uid,
	                 "target", "apiVersion", "v1", "kind", "Node", "name",
	                 node);
}

json_t *kube_object_deletion(const char *uid, int64_t grace_s)
{
	json_t *obj = json_pack("{s:s, s:s, s:s, s:{s:s}}", "apiVersion", "v1",
	                        "kind", "DeleteOptions", "propagationPolicy",
	                        "Background", "preconditions", "uid", uid);

	if (grace_s >= 0)
		json_object_set_new(obj, "gracePeriodSeconds",
		                    json_integer((json_int_t)grace_s));
	return obj;
}

json_t *kube_object_leave(const char *uid, const char *why)
{
	return json_pack("{s:{s:s, s:{s:s}}, s:{s:i}}", "metadata", "uid", uid,
	                 "annotations", KUBE_NOTE_LEAVE, why, "spec",
	                 "activeDeadlineSeconds", 1);
}

json_t *kube_object_failure(const char *uid, const char *reason,
                            const char *why)
{
	return json_pack(
	    "{s:{s:s}, s:{s:s, s:s, s:s, s:[{s:s, s:s, s:s, s:s}]}}",
	    "metadata", "uid", uid, "status", "phase", "Failed", "reason",
	    reason, "message", why, "conditions", "type", KUBE_DISRUPTED,
	    "status", "True", "reason", "DeletionByAisched", "message", why);
}

json_t *kube_object_indexes(const char *uid, uint32_t n)
{
	return json_pack("{s:{s:s}, s:{s:i, s:i}}", "metadata", "uid", uid,
	                 "spec", "parallelism", (int)n, "completions", (int)n);
}

void kube_object_export(struct buf *out, const char *name, const char *value)
{
	buf_printf(out, "export SLURM_%s='%s' AISCHED_%s='%s'\n", name, value,
	           name, value);
}

void kube_object_export_n(struct buf *out, const char *name, int64_t n)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRId64, n);
	kube_object_export(out, name, text);
}

void kube_object_export_each(struct buf *out, const char *name, int64_t n,
                             uint32_t pods)
{
	char text[48];

	snprintf(text, sizeof(text),
	         pods > 1 ? "%" PRId64 "(x%" PRIu32 ")" : "%" PRId64, n, pods);
	kube_object_export(out, name, text);
}

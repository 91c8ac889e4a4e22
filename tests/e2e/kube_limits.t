#!/bin/sh
# A LimitRange of the namespace: what it would add to pods is set by the daemon,
# or told, and what it refuses is told at once, for jobs and for Jobs made with
# kubectl.

. "$top_srcdir/tests/e2e/lib.sh"
. "$top_srcdir/tests/kube/control_plane.sh"

ns="jobs"
k="kube --namespace $ns"

# ITEM: makes this the only LimitRange of the namespace
limit()
{
	$k delete limitrange --all >/dev/null 2>&1
	$k create -f - >/dev/null <<-END
		{"apiVersion": "v1", "kind": "LimitRange",
		"metadata": {"name": "limit"}, "spec": {"limits": [{$1}]}}
	END
}

# NAME RESOURCES: creates a Job with kubectl
make_job()
{
	$k create -f - >/dev/null <<-END
		{"apiVersion": "batch/v1", "kind": "Job", "metadata":
			{"name": "$1", "labels": {"aisched.io/queue": "default"}},
		"spec": {"suspend": true, "template": {"spec": {
			"schedulerName": "aisched", "restartPolicy": "Never",
			"terminationGracePeriodSeconds": 1,
			"containers": [{"name": "a", "image": "a",
				"resources": {$2}}]}}}}
	END
}

# JOB PATH: prints what its pod has in resources
resource()
{
	$k get pods -l "aisched.io/job-id=$1" -o \
		"jsonpath={.items[0].spec.containers[0].resources.$2}"
}

# JOB TEXT: whether aiq says so
says()
{
	aiq "$1" | tr -s ' \n' ' ' | grep -qF -- "$2"
}

# NAME: whether it has a job; sets $id to its number
has_id()
{
	id=$($k get job "$1" -o 'jsonpath={.metadata.labels.aisched\.io/job-id}')
	[ -n "$id" ]
}

# NAME REASON TEXT: whether an Event about the Job says so
told()
{
	$k get events.events.k8s.io -o json | jq -e --arg name "$1" \
		--arg reason "$2" --arg text "$3" 'any(.items[];
		.regarding.name == $name and .reason == $reason and
		(.note | contains($text)))' >/dev/null
}

ok "a control plane starts" kube_start || bail "there is no control plane"
ok "with nodes" eval "kwok_start && kube_nodes 2 gpu 8"
kube create namespace "$ns" >/dev/null
configure "
queue default { grace = \"1s\" }
pool gpu { runner = kubernetes  kubeconfig = \"$kube/admin.conf\"
	namespace = \"$ns\"  image = \"local/box:1\"  run_as_root = yes }
scheduling { start_timeout = \"1h\" }"
start_daemon || bail "aischedd does not start"

# --- defaults -----------------------------------------------------------------

limit '"type": "Container", "default": {"memory": "2Gi"}, "defaultRequest":
	{"cpu": "4", "memory": "1Gi", "ephemeral-storage": "5Gi"}'
id=$(aisub --parsable --mem 0 --wrap true)
ok "a job that has a node alone runs" wait_for is_state "$id" RUNNING
is "with all memory of the node" "$(resource "$id" limits.memory)" \
	"$(kube get node gpu-0 -o 'jsonpath={.status.allocatable.memory}')"
is "its requests are the planned ones" "$(resource "$id" requests.cpu)" 1
is "also that of disk" "$(resource "$id" requests.ephemeral-storage)" 0
aicancel --wait "$id"

make_job small ''
wait_for has_id small
ok "a Job to which they add more than was planned is told so" wait_for told \
	small StartFailed "asks for more than the Job did when it was queued: 4000m CPU"
ok "and what to do" told small StartFailed "if a LimitRange or a webhook adds"
$k delete job small >/dev/null

# --- what is refused ----------------------------------------------------------

limit '"type": "Container", "max": {"cpu": "2"}'
id=$(aisub --parsable -c 4 --wrap true)
ok "a job that is refused says why" wait_for says "$id" \
	"maximum cpu usage per Container is 2, but limit is 4"
aicancel --wait "$id"
make_job large '"limits": {"cpu": "4", "memory": "1Gi"}'
wait_for has_id large
ok "so does a Job" wait_for says "$id" \
	"maximum cpu usage per Container is 2, but limit is 4"
is "it waits, its nodes are free" "$(state_of "$id")" PENDING
ok "its owner is told" wait_for told large StartFailed \
	"the cluster makes none of its pods: Error creating: pods"
$k create quota none --hard=pods=0 >/dev/null
$k delete limitrange --all >/dev/null
aictl release "$id" >/dev/null 2>&1
ok "a quota that refuses it is told, too" wait_for says "$id" \
	"exceeded quota: none"
$k delete quota none >/dev/null
ok "allowed, it runs" wait_for is_state "$id" RUNNING
aicancel "$id"

done_testing

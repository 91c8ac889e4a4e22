#!/bin/sh
# Services in the queue: Deployments, StatefulSets and plain pods with a queue
# and our scheduling gate wait, run and are evicted like any other job, whichever
# program is killed, and whoever changes their number.

. "$top_srcdir/tests/e2e/lib.sh"
. "$top_srcdir/tests/kube/control_plane.sh"

ns="jobs"
k="kube --namespace $ns"
gate='"schedulingGates": [{"name": "aisched.io/queue"}],'

# NAME GPUS [ANNOTATIONS [GATES]]: prints metadata and spec of a pod of queue
# $queue
pod_of()
{
	cat <<-END
		"metadata": {"name": "$1", "labels": {"app": "$1",
			"aisched.io/queue": "${queue:-team}"${labels-}},
			"annotations": {${3-}}},
		"spec": {"schedulerName": "${scheduler:-aisched}", ${4-$gate}
			"terminationGracePeriodSeconds": 1,
			"containers": [{"name": "a", "image": "a",
				"resources": {"limits": {
				"nvidia.com/gpu": "$2"}}}]}
	END
}

# NAME GPUS [ANNOTATIONS [GATES]]: creates a pod
make_pod()
{
	echo "{\"apiVersion\": \"v1\", \"kind\": \"Pod\", $(pod_of "$@")}" |
		$k create -f - >/dev/null
}

# KIND NAME REPLICAS: creates a Deployment or StatefulSet of pods with one GPU
make_set()
{
	$k create -f - >/dev/null <<-END
		{"apiVersion": "apps/v1", "kind": "$1",
		"metadata": {"name": "$2"}, "spec": {"replicas": $3,
			"selector": {"matchLabels": {"app": "$2"}},
			"template": {$(pod_of "$2" 1)}}}
	END
}

# NAME PATH: prints a field of a pod
pod_says()
{
	$k get pod "$1" -o "jsonpath={$2}" 2>/dev/null
}

# NAME: whether the pod has a job number; sets $id to the number
has_id()
{
	id=$(pod_says "$1" '.metadata.labels.aisched\.io/job-id')
	[ -n "$id" ]
}

# NAME: waits until the pod has a job number, and prints the number
id_of()
{
	wait_for has_id "$1" && echo "$id"
}

# JOB FIELD: prints it as aiq shows it
field()
{
	aiq --no-header -o "$2" "$1"
}

# NAME REASON: whether an Event about the pod has this reason; sets $note to its
# message
says()
{
	note=$($k get events.events.k8s.io -o json | jq -r --arg pod "$1" \
		--arg reason "$2" '[.items[] | select(.regarding.kind == "Pod"
		and .regarding.name == $pod and .reason == $reason) | .note] |
		last // ""')
	[ -n "$note" ]
}

no_pod()
{
	! $k get pod "$1" >/dev/null 2>&1
}

# APP N: whether N of its pods run
has_running()
{
	[ "$($k get pods -l "app=$1" -o json | jq '[.items[] | select(
		.status.phase == "Running" and
		(.metadata.deletionTimestamp | not))] | length')" = "$2" ]
}

# APP N: whether N of its pods wait behind the gate
has_gated()
{
	[ "$($k get pods -l "app=$1" -o json | jq '[.items[] | select(
		.spec.schedulingGates)] | length')" = "$2" ]
}

# STATE N: whether N jobs of queue "team" are in this state
has_jobs()
{
	[ "$(aiq --all --no-header -q "${queue:-team}" -o state |
		grep -c "$1")" = "$2" ]
}

ok "a control plane starts" kube_start || bail "there is no control plane"
ok "with nodes" eval "kwok_start && kube_nodes 2 gpu 4"
kube create namespace "$ns" >/dev/null
kube create namespace elsewhere >/dev/null

configure "
class serve { priority = 9  users = {\"k8s:jobs\"} }
class closed { users = {\"nobody\"} }
queue default { grace = \"1s\" }
queue team { grace = \"1s\"  default_time = \"1h\"  quota { gpus = 4 }
	limit { gpus = 4 }  users = {\"k8s:jobs\"} }
queue others { grace = \"1s\"  users = {\"nobody\"} }
queue brief { grace = \"1s\"  max_time = \"1h\" }
queue loose { grace = \"1s\"  quota { gpus = 4 } }
queue batch { grace = \"1s\"  quota { gpus = 4 }  preempt = \"requeue\" }
pool gpu { runner = kubernetes  kubeconfig = \"$kube/admin.conf\"
	namespace = \"$ns\"  image = \"local/box:1\"  run_as_root = yes }
scheduling { start_timeout = \"30s\" }"
start_daemon || bail "aischedd does not start"
two_nodes()
{
	[ "$(aiq --nodes --no-header -o state | grep -ci idle)" = 2 ]
}
ok "its nodes are seen" wait_for two_nodes

# --- a pod that runs ----------------------------------------------------------

make_pod one 2
id=$(id_of one)
ok "a pod becomes a job" wait_for is_state "$id" RUNNING
is "of its namespace" "$(field "$id" user)" k8s:jobs
is "with its name" "$(field "$id" name)" one
is "in its queue" "$(field "$id" queue)" team
is "with what it asks for" "$(field "$id" gpus)" 2
is "without a time limit" "$(field "$id" time_limit)" -
is "it is on the node of the plan" "$(pod_says one .spec.nodeName)" \
	"$(field "$id" nodelist)"
is "its gate is gone" "$(pod_says one .spec.schedulingGates)" ""
ok "an Event says that it was started" wait_for says one Started
$k annotate pod one sim.aisched.io/runtime=100ms >/dev/null
ok "when it ends, the job does" wait_for is_state "$id" COMPLETED
is "and stays to be looked at" "$(pod_says one .status.phase)" Succeeded

make_pod bad 1
id=$(id_of bad)
ok "another runs" wait_for is_state "$id" RUNNING
$k annotate pod bad sim.aisched.io/runtime=100ms \
	sim.aisched.io/exit-code=7 >/dev/null
ok "fails" wait_for is_state "$id" FAILED
is "as its container did" "$(field "$id" exit)" 7

# --- pods that wait, and end before they run ----------------------------------

make_pod big 4
big=$(id_of big)
ok "one has all that the queue may have" wait_for is_state "$big" RUNNING
make_pod waits 1
waits=$(id_of waits)
ok "an Event tells the next one why it waits" wait_for says waits \
	"$(field "$waits" reason)"
like "in a sentence" "$note" "team"
is "it waits behind its gate" \
	"$(pod_says waits '.spec.schedulingGates[0].name')" aisched.io/queue
$k label pod waits aisched.io/class=serve >/dev/null
ok "a class that it is given while it waits counts" wait_for says waits Changed
is "as aiq shows" "$(field "$waits" class)" serve
$k delete pod waits >/dev/null
ok "deleted while it waits, it is cancelled" wait_for is_state "$waits" \
	CANCELLED
$k delete pod big --wait=false >/dev/null
ok "as is one that runs" wait_for is_state "$big" CANCELLED

# --- pods that are refused ----------------------------------------------------

queue=nowhere make_pod lost 1
ok "a pod without a queue is refused" wait_for says lost Refused
like "which is told" "$note" nowhere
queue=others make_pod closed 1
ok "and one in a queue of others" wait_for says closed Refused
labels=', "aisched.io/class": "none"' make_pod classless 1
ok "and one without a class" wait_for says classless Refused
like "which is told, too" "$note" "there is no class 'none'"
labels=', "aisched.io/class": "closed"' make_pod outside 1
ok "and one in a class of others" wait_for says outside Refused
like "with its user" "$note" "user 'k8s:jobs' may not use class 'closed'"
make_pod ungated 1 "" ""
ok "and one without a gate" wait_for says ungated Refused
like "which is told what to do" "$note" "spec.schedulingGates"
scheduler=default-scheduler make_pod strange 1
ok "and one for another scheduler" wait_for says strange Refused
like "with the field" "$note" "set spec.schedulerName to 'aisched'"
make_pod even 1 "" "$gate"'"topologySpreadConstraints": [{"maxSkew": 1,
	"topologyKey": "kubernetes.io/hostname",
	"whenUnsatisfiable": "DoNotSchedule",
	"matchLabelKeys": ["batch.kubernetes.io/job-name"],
	"labelSelector": {"matchLabels": {"app": "even"}}}],'
ok "and one that must be spread with pods of other jobs" wait_for says even \
	Refused
like "with the field, too" "$note" "topologySpreadConstraints: each pod is a job"
make_pod again 1 '"aisched.io/requeue": "yes"'
ok "and one that wants to be requeued" wait_for says again Refused
queue=brief make_pod endless 1
ok "and one that runs longer than its queue allows" wait_for says endless \
	Refused
make_pod kept 1 "" '"schedulingGates": [{"name": "aisched.io/queue"},
	{"name": "example.org/later"}],'
$k create -f - >/dev/null <<END
	{"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "of-job",
	"labels": {"aisched.io/queue": "team"}},
	"spec": {"suspend": true, "template": {$(queue=team pod_of of-job 1 "" \
		'"restartPolicy": "Never",')}}}
END
k="kube --namespace elsewhere" make_pod far 1
job_has_id()
{
	id=$($k get job of-job -o \
		'jsonpath={.metadata.labels.aisched\.io/job-id}')
	[ -n "$id" ]
}
ok "a Job is taken as a Job" wait_for job_has_id
ok "and runs" wait_for is_state "$id" RUNNING
is "its pods are no jobs of their own" "$(aiq --all --no-header -o name)" of-job
aicancel "$id"
ok "until it is cancelled" wait_for is_state "$id" CANCELLED
is "a pod that has gates of others waits for them" "$(pod_says kept \
	'.metadata.labels.aisched\.io/job-id')" ""
is "one of another namespace is not taken" "$(kube --namespace elsewhere \
	get pod far -o 'jsonpath={.metadata.labels.aisched\.io/job-id}')" ""
$k patch pod kept --type=json -p '[{"op": "remove",
	"path": "/spec/schedulingGates/1"}]' >/dev/null
kept=$(id_of kept)
ok "and is queued when they are gone" wait_for is_state "$kept" RUNNING
$k delete pods --all --wait=false >/dev/null
ok "all are deleted" wait_for is_state "$kept" CANCELLED

# --- Deployments --------------------------------------------------------------

make_set Deployment web 2
ok "the pods of a Deployment run" wait_for has_running web 2
ok "each as a job" wait_for has_jobs RUNNING 2
$k scale deployment web --replicas=6 >/dev/null
ok "scaled up, it gets as many as its queue may have" wait_for has_running web 4
ok "the others wait" wait_for has_gated web 2
ok "in the queue" wait_for has_jobs PENDING 2
$k scale deployment web --replicas=3 >/dev/null
ok "scaled down, those that waited go first" wait_for has_jobs PENDING 0
ok "and those that ran" wait_for has_running web 3
ok "with their jobs" wait_for has_jobs RUNNING 3

# APP: prints the name of one of its pods that run and are to stay
one_of()
{
	$k get pods -l "app=$1" -o json | jq -r '[.items[] | select(
		.status.phase == "Running" and .metadata.deletionTimestamp == null) |
		.metadata.name] | first'
}

name=$(one_of web)
id=$(id_of "$name")
aictl preempt "$id" >/dev/null
ok "one that is evicted is preempted" wait_for is_state "$id" PREEMPTED
ok "its pod is deleted" wait_for no_pod "$name"
ok "which is told" wait_for says "$name" Preempted
ok "and another one runs in its place" wait_for has_running web 3
name=$(one_of web)
id=$(id_of "$name")
aicancel "$id"
ok "one that is cancelled is deleted" wait_for no_pod "$name"
ok "it is cancelled" wait_for is_state "$id" CANCELLED
fails "none is requeued, as its Deployment makes another" 1 "no-requeue" \
	aictl requeue "$(id_of "$(one_of web)")"
$k scale deployment web --replicas=0 >/dev/null
ok "scaled to nothing, there is no job" wait_for has_jobs . 0

# --- a HorizontalPodAutoscaler ------------------------------------------------

# It reads an external metric, from objects of this kind: the API server's list of
# them is what an adapter for metrics would answer.
kube create -f - >/dev/null <<-END
	{"apiVersion": "apiextensions.k8s.io/v1",
	"kind": "CustomResourceDefinition", "metadata": {
		"name": "waiting.external.metrics.k8s.io", "annotations":
		{"api-approved.kubernetes.io": "unapproved, for a test"}},
	"spec": {"group": "external.metrics.k8s.io", "scope": "Namespaced",
		"names": {"kind": "ExternalMetricValue", "plural": "waiting",
			"listKind": "ExternalMetricValueList"},
		"versions": [{"name": "v1beta1", "served": true, "storage": true,
			"schema": {"openAPIV3Schema": {"type": "object",
			"properties": {"value": {"type": "string"}}}}}]}}
END
kube wait --for condition=Established --timeout=60s \
	crd/waiting.external.metrics.k8s.io >/dev/null

# N: N requests wait for the service
requests_wait()
{
	$k apply -f - >/dev/null <<-END
		{"apiVersion": "external.metrics.k8s.io/v1beta1",
		"kind": "ExternalMetricValue", "metadata": {"name": "web"},
		"value": "$1"}
	END
}

# N: whether the autoscaler wants N pods
wants()
{
	[ "$($k get hpa web -o 'jsonpath={.status.desiredReplicas}')" = "$1" ]
}

requests_wait 15
$k create -f - >/dev/null <<-END
	{"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
	"metadata": {"name": "web"}, "spec": {"minReplicas": 1, "maxReplicas": 9,
	"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment",
		"name": "web"},
	"behavior": {"scaleDown": {"stabilizationWindowSeconds": 0}},
	"metrics": [{"type": "External", "external": {
		"metric": {"name": "waiting"},
		"target": {"type": "AverageValue", "averageValue": "10"}}}]}}
END
$k scale deployment web --replicas=1 >/dev/null
ok "an autoscaler wants two pods for 15 requests" wait_for wants 2
ok "which run" wait_for has_running web 2
requests_wait 60
ok "for more requests, it wants more than the queue may have" wait_for wants 6
ok "which has as many as it may" wait_for has_running web 4
ok "the others wait" wait_for has_gated web 2
ok "as jobs" wait_for has_jobs PENDING 2
requests_wait 25
ok "for fewer, it wants fewer" wait_for wants 3
ok "those that waited go first" wait_for has_jobs PENDING 0
ok "and one that ran" wait_for has_running web 3
ok "with its job" wait_for has_jobs RUNNING 3
$k delete hpa web >/dev/null
$k scale deployment web --replicas=0 >/dev/null
ok "without autoscaler and pods there is no job" wait_for has_jobs . 0

# --- StatefulSets, and a queue that takes its quota back ----------------------

queue=loose make_set StatefulSet db 2
ok "the pods of a StatefulSet run" wait_for has_running db 2
queue=loose make_set Deployment over 6
ok "beyond the quota of their queue" wait_for has_running over 6
id=$(aisub --parsable -q batch --gpus-per-task 4 --wrap true)
ok "a queue that takes its quota back gets it" wait_for is_state "$id" RUNNING
queue=loose
ok "pods that ran beyond theirs are replaced by others that wait" \
	wait_for has_jobs PENDING 4
aicancel "$id"
ok "until there is room again" wait_for has_jobs RUNNING 8

# --- the daemon is killed -----------------------------------------------------

uids()
{
	$k get pods -l app -o "jsonpath={range .items[*]}{.metadata.uid}{'\n'}{end}" |
		sort
}

before=$(uids)
name=db-0
id=$(id_of "$name")
kill_daemon
start_daemon || bail "aischedd does not come back"
ok "what ran, runs" wait_for has_jobs RUNNING 8
is "in the same pods" "$(uids)" "$before"
is "as the same jobs" "$(id_of "$name")" "$id"
kill_daemon
gone=$(id_of db-1)
$k scale statefulset db --replicas=1 >/dev/null
ok "a pod goes while no daemon runs" wait_for no_pod db-1
queue=loose make_pod meanwhile 1
start_daemon || bail "aischedd does not come back"
ok "its job is cancelled" wait_for is_state "$gone" CANCELLED
id=$(id_of meanwhile)
ok "one that was made meanwhile runs" wait_for is_state "$id" RUNNING
kill_daemon
$k annotate pod meanwhile sim.aisched.io/runtime=100ms \
	sim.aisched.io/exit-code=3 >/dev/null
ended_meanwhile()
{
	[ "$(pod_says meanwhile .status.phase)" = Failed ]
}
ok "a pod ends while no daemon runs" wait_for ended_meanwhile
start_daemon || bail "aischedd does not come back"
ok "as its job does" wait_for is_state "$id" FAILED
is "with the same exit status" "$(field "$id" exit)" 3

done_testing

#!/bin/sh
# A kubelet refuses a pod that is bound to its node: its job is placed elsewhere,
# or later, and loses no attempt; other jobs may use the node.

. "$top_srcdir/tests/e2e/lib.sh"
. "$top_srcdir/tests/kube/control_plane.sh"

ns="jobs"
k="kube --namespace $ns"

# JOB: prints the names of its pods that have not ended
pods()
{
	$k get pods -l "aisched.io/job-id=$1" -o \
		'jsonpath={range .items[?(@.status.phase=="Pending")]}{.metadata.name} {end}'
}

# JOB: prints the nodes of these pods
nodes_of()
{
	$k get pods -l "aisched.io/job-id=$1" -o \
		'jsonpath={range .items[?(@.status.phase=="Pending")]}{.spec.nodeName} {end}'
}

# JOB: whether its pod is bound
is_bound()
{
	[ -n "$(nodes_of "$1" | tr -d ' ')" ]
}

# JOB NODE: whether its pod is bound to the node
is_on()
{
	[ "$(nodes_of "$1")" = "$2 " ]
}

# JOB STATUS: gives its pod this status, as a kubelet would
kubelet_says()
{
	# shellcheck disable=SC2046 # one name
	$k patch pod $(pods "$1") --subresource=status --type=merge \
		-p "{\"status\": {$2}}" >/dev/null
}

refuse()
{
	kubelet_says "$1" "\"phase\": \"Failed\", \"reason\": \"$2\", \"message\":
		\"Pod was rejected: Resources cannot be allocated with Topology locality\""
}

kube_start || bail "the control plane does not start"
kube create namespace "$ns" >/dev/null
part_kill controllers
controllers_start --node-monitor-grace-period=24h
# No kubelet acts on pods, so this test does.
# shellcheck disable=SC2034 # kube_nodes uses it
kube_alone=1
ok "two nodes" kube_nodes 2 n 4
configure "
queue default { grace = \"1s\" }
pool gpu { runner = kubernetes  kubeconfig = \"$kube/admin.conf\"
	namespace = \"$ns\"  image = \"local/box:1\"  run_as_root = yes }"
start_daemon || bail "aischedd does not start"
ok "nothing was refused so far" wait_for status_has "starts refused 0 gpu"

one=$(aisub --parsable --gpus 2 --cpus-per-task 1 --mem 1G --wrap true)
ok "a job is bound to a node" wait_for is_bound "$one"
first=$(nodes_of "$one" | tr -d ' ')
other=n-$((1 - ${first#n-}))
ok "whose kubelet refuses it" refuse "$one" TopologyAffinityError
ok "it goes to another node" wait_for is_on "$one" "$other"
two=$(aisub --parsable --gpus 2 --cpus-per-task 1 --mem 1G --wrap true)
ok "as does one that asks for the same" wait_for is_on "$two" "$other"
three=$(aisub --parsable --gpus 2 --cpus-per-task 2 --mem 1G --wrap true)
ok "others get the first node" wait_for is_on "$three" "$first"
ok "aictl status counts" status_has "starts refused 1 gpu"
is "the job has not restarted" "$(aiq "$one" -h -o restarts | xargs)" 0
ok "the other node refuses the job, too" refuse "$one" UnexpectedAdmissionError
ok "so the first is tried again" wait_for is_on "$one" "$first"
kubelet_says "$one" '"phase": "Running", "containerStatuses": [{"name": "job",
	"image": "x", "imageID": "x", "ready": true, "restartCount": 0,
	"state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}}}]'
ok "where it runs" wait_for is_state "$one" RUNNING
ok "aictl status has counted" status_has "starts refused 2 gpu"

# --- a Job made with kubectl -------------------------------------------------

$k create -f - >/dev/null <<-END
	{"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "made",
	"labels": {"aisched.io/queue": "default"}},
	"spec": {"suspend": true, "backoffLimit": 1, "template": {
		"spec": {"restartPolicy": "Never", "schedulerName": "aisched",
		"terminationGracePeriodSeconds": 1,
		"containers": [{"name": "a", "image": "a",
			"resources": {"limits": {"nvidia.com/gpu": "2"}}}]}}}}
END
# Prints the job number of the Job.
made()
{
	$k get job made -o 'jsonpath={.metadata.labels.aisched\.io/job-id}'
}

# Prints the pod of the Job that has not ended, if it is bound.
bound()
{
	$k get pods -l job-name=made -o \
		'jsonpath={.items[?(@.status.phase=="Pending")]}' |
		jq -r 'select(.spec.nodeName).metadata.name'
}

# POD: whether the Job has another pod, which is bound
has_next()
{
	pod=$(bound) && [ -n "$pod" ] && [ "$pod" != "$1" ]
}
ok "a Job gets a node" wait_for has_next ""
old=$pod
$k patch pod "$old" --subresource=status --type=merge -p '{"status": {
	"phase": "Failed", "reason": "TopologyAffinityError"}}' >/dev/null
ok "whose kubelet refuses its pod" wait_for status_has "starts refused 3 gpu"
ok "its next pod gets a node later" wait_for has_next "$old"
is "the Job has not restarted" "$(aiq "$(made)" -h -o restarts | xargs)" 0
done_testing

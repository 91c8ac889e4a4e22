#!/bin/sh
# The daemon is killed between any two of the calls with which it gives GPUs to a
# Job made with kubectl: some by a ResourceClaim that its pods share, others by
# claims that the cluster makes from a template. No GPU is given twice, and none
# stays allocated. KILL_WHEN (tests/kube/killed.sh) runs only half of this.

. "$top_srcdir/tests/e2e/lib.sh"
. "$top_srcdir/tests/kube/control_plane.sh"

ns="team"
. "$top_srcdir/tests/kube/killed.sh"

ok "a control plane starts" kube_start || bail "there is no control plane"
ok "with a node" eval "kwok_start && kube_nodes 1 dra 0"
kube_slice dra-0 1 1 a gpu-0:0:0 gpu-1:0:0 gpu-2:0:0
kube create namespace "$ns" >/dev/null
between_start

configure "
queue default { grace = \"1s\" }
pool gpu { runner = kubernetes  kubeconfig = \"$kube/between.conf\"
	namespace = \"$ns\"  image = \"local/box:1\"  run_as_root = yes
	device_driver = \"gpu.test\"  device_class = \"gpu.test\" }
scheduling { resume_cooldown = \"0s\"  max_evictions_per_hour = 60 }"
start_daemon || bail "aischedd does not start"

request='{"devices": {"requests": [{"name": "r", "exactly":
	{"deviceClassName": "gpu.test"}}]}}'
$k create -f - >/dev/null <<-END
	{"apiVersion": "v1", "kind": "List", "items": [
	{"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate",
		"metadata": {"name": "one"}, "spec": {"spec": $request}},
	{"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
		"metadata": {"name": "both"}, "spec": $request}]}
END

# Creates a Job of two pods, which share a GPU and have another one each.
make_job()
{
	$k create -f - >/dev/null <<-END
		{"apiVersion": "batch/v1", "kind": "Job", "metadata": {
			"name": "shares", "labels":
			{"aisched.io/queue": "default"}},
		"spec": {"suspend": true, "parallelism": 2, "completions": 2,
		"template": {"metadata": {"labels": {"app": "shares"}},
			"spec": {"restartPolicy": "Never",
			"terminationGracePeriodSeconds": 1,
			"schedulerName": "aisched",
			"resourceClaims": [
			{"name": "own", "resourceClaimTemplateName": "one"},
			{"name": "both", "resourceClaimName": "both"}],
			"containers": [{"name": "a", "image": "a",
				"resources": {"claims": [{"name": "own"},
				{"name": "both"}]}}]}}}}
	END
}

# Prints the GPUs of each running pod of the Job, a line each, sorted
devices()
{
	$k get pods,resourceclaims -o json | jq -r '
		[.items[] | select(.kind == "ResourceClaim")] as $claims |
		.items[] | select(.kind == "Pod" and
			.metadata.labels.app == "shares" and
			.status.phase == "Running") | .metadata.uid as $uid |
		[$claims[] | select(any(.status.reservedFor[]?; .uid == $uid)) |
			.status.allocation.devices.results[].device] | sort |
		join(" ")' | sort
}

# Prints the GPUs that are allocated, sorted
allocated()
{
	$k get resourceclaims -o json | jq -r '[.items[] |
		.status.allocation.devices.results[]?.device] | sort |
		join(" ")'
}

# JOB: whether the job runs, and its pods have GPUs
has_all()
{
	id=$($k get job shares -o \
		'jsonpath={.metadata.labels.aisched\.io/job-id}')
	[ -n "$id" ] && is_state "$id" RUNNING && [ "$(devices)" = \
		"gpu-0 gpu-1
gpu-0 gpu-2" ]
}

none_is_allocated()
{
	[ -z "$(allocated)" ] && [ -z "$($k get pods -o name)" ]
}

starts()
{
	armed make_job
	reaches "a Job with claims" has_all
	is "each GPU is allocated once" "$(allocated)" "gpu-0 gpu-1 gpu-2"
	$k delete job shares --wait=false >/dev/null
	ok "no GPU is left" wait_for none_is_allocated
}

# JOB: whether the job has all GPUs
takes_all()
{
	is_state "$1" RUNNING && [ "$(allocated)" = "gpu-0 gpu-1 gpu-2" ]
}

evictions()
{
	make_job
	wait_for has_all
	submit_armed --class interactive --gpus-per-task 3 --wrap true
	better=$new
	reaches "another job that takes its GPUs" takes_all "$better"
	is "which it has lost" "$(devices)" ""
	aicancel "$better"
	ok "it gets GPUs again" wait_for has_all
	$k delete job shares --wait=false >/dev/null
	ok "no GPU is left to it" wait_for none_is_allocated
}
each_call starts
each_call evictions

done_testing

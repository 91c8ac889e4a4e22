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

claims=/apis/resource.k8s.io/v1/namespaces/$ns/resourceclaims

# Prints the GPUs of each running pod of the Job, a line each, sorted
devices()
{
	table "$api/pods?labelSelector=app=shares" status:phase metadata:uid \
		>"$dir/pods" || return 1
	table "$claims" status:reservedFor:uid \
		status:allocation:devices:results:device >"$dir/claims" ||
		return 1
	while read -r phase uid; do
		[ "$phase" != Running ] || grep "$uid" "$dir/claims" |
			cut -d ' ' -f 2 | tr , '\n' | sort | xargs
	done <"$dir/pods" | sort
}

# Prints the GPUs that are allocated, sorted
allocated()
{
	table "$claims" \
		status:allocation:devices:results:device >"$dir/claims" &&
		tr , '\n' <"$dir/claims" | grep -vx - | sort | xargs
}

# JOB: whether the job runs, and its pods have GPUs
has_all()
{
	id=$(table "$batch/jobs/shares" metadata:labels:aisched.io/job-id) &&
		is_state "$id" RUNNING && [ "$(devices)" = \
		"gpu-0 gpu-1
gpu-0 gpu-2" ]
}

none_is_allocated()
{
	left=$(allocated) && [ -z "$left" ] &&
		left=$(list "$api/pods") && [ -z "$left" ]
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

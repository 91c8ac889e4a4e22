#!/bin/sh
# Parts of GPUs whose driver gives only whole ones: all tasks with part of a GPU
# share one claim (gpu_sharing = claims). kubectl writes the slices in place of a
# driver.

. "$top_srcdir/tests/e2e/lib.sh"
. "$top_srcdir/tests/kube/control_plane.sh"

ns="jobs"
k="kube --namespace $ns"

# FREE: whether aiq shows that many free GPUs of the node, of two
free_are()
{
	[ "$(aiq --nodes -h -o gpus,gpus_free | xargs)" = "2 $1" ]
}

# JOB: prints the GPU of each of its pods that runs, and how many pods reserve its
# claim, a line each
shares()
{
	$k get pods,resourceclaims -o json | jq -r --arg job "$1" '
		[.items[] | select(.kind == "ResourceClaim")] as $claims |
		.items[] | select(.kind == "Pod" and
			.metadata.labels["aisched.io/job-id"] == $job and
			.status.phase == "Running") | .metadata.uid as $uid |
		$claims[] | select(any(.status.reservedFor[]?; .uid == $uid)) |
		"\(.status.allocation.devices.results[].device) \(
			.status.reservedFor | length)"' | sort
}

# JOB TEXT: whether shares() prints TEXT
shares_are()
{
	[ "$(shares "$1")" = "$2" ]
}

# Prints the names of the claims
claims()
{
	$k get resourceclaims -o 'jsonpath={.items[*].metadata.name}'
}

# NAMES: whether claims() prints them
claims_are()
{
	[ "$(claims)" = "$1" ]
}

nothing_is_left()
{
	[ -z "$($k get resourceclaims,jobs,pods -o name)" ]
}

ok "a control plane starts" kube_start || bail "there is no control plane"
ok "with a node" eval "kwok_start && kube_nodes 1 n 0"
kube create namespace "$ns" >/dev/null
kube_slice n-0 1 1 a gpu-0:0:0 gpu-1:0:0

# NAMESPACES: writes the configuration
configure_for()
{
	configure "
queue default { grace = \"1s\" }
device rdma { class = \"rdma.test\" }
pool gpu { runner = kubernetes  kubeconfig = \"$kube/admin.conf\"
	$1  image = \"local/box:1\"  run_as_root = yes
	device_driver = \"gpu.test\"  device_class = \"gpu.test\"
	gpu_sharing = claims }
scheduling { resume_cooldown = \"0s\"  max_evictions_per_hour = 60 }"
}
configure_for 'namespaces = {"jobs", "more"}'
fails "pods of several namespaces share no claim" 1 \
	"with gpu_sharing = claims only one" "$aischedd" --check-config -c "$conf"
configure_for "namespace = \"$ns\""
start_daemon || bail "aischedd does not start"
ok "a node has GPUs" wait_for free_are 2
ok "that nothing limits memory is told" wait_for status_has \
	"nothing keeps a task from using more memory of a GPU than its part"

fails "no other devices are given beside a part" 1 \
	"--device: pool 'gpu': a part of a GPU is given by the claim of all" \
	aisub --gpus-per-task 0.5 --device rdma --wrap true

half="--gpus-per-task 0.5 --wrap true"
# shellcheck disable=SC2086 # options
id=$(aisub --parsable $half)
ok "a job gets half a GPU" wait_for is_state "$id" RUNNING
is "by a claim" "$(shares "$id")" "gpu-0 1"
first=$(claims)
like "which is named after cluster, node and GPU" "$first" \
	'^aj-test-share-n-0-gpu-0-[0-9a-f]{8}$'
ok "half of that GPU is free" wait_for free_are 1.5
gang=$(aisub --parsable -n 2 --gpus-per-task 0.25 --wrap true)
ok "two tasks get the rest" wait_for is_state "$gang" RUNNING
is "of the same claim" "$(shares "$gang")" "gpu-0 3
gpu-0 3"
ok "the other GPU is free" wait_for free_are 1
whole=$(aisub --parsable --gpus-per-task 1 --wrap true)
ok "a job gets all of it" wait_for is_state "$whole" RUNNING
is "by a claim of its own" "$(shares "$whole")" "gpu-1 1"
third=$(aisub --parsable --gpus-per-task 0.1 --wrap true)
is "then there is no part left" "$(state_of "$third")" PENDING
kill_daemon
start_daemon
ok "the daemon was killed: nothing is free" wait_for free_are 0
is "all are as they were" "$(shares "$id")
$(shares "$gang")
$(shares "$whole")" "gpu-0 3
gpu-0 3
gpu-0 3
gpu-1 1"
aicancel --wait "$id"
ok "one has ended: the next gets a part" wait_for is_state "$third" RUNNING
is "of that claim" "$(shares "$third")" "gpu-0 3"
aicancel --wait "$whole"
next=$(aisub --parsable --gpus-per-task 2 --wrap true)
is "a job that needs both GPUs waits" "$(state_of "$next")" PENDING
aicancel --wait "$third" "$gang"
ok "until no part is left" wait_for is_state "$next" RUNNING
ok "the claim is deleted with the last" wait_for claims_are "aj-test-$next-1-0"
aicancel --wait "$next"
ok "nothing is left" wait_for nothing_is_left

# --- devices are free once the pod is gone ----------------------------------------

# shellcheck disable=SC2086 # options
id=$(aisub --parsable $half)
ok "a job has half a GPU" wait_for is_state "$id" RUNNING
part_hang controllers
aicancel "$id"
ok "it ends, but its claim is not freed yet" wait_for is_state "$id" CANCELLED
ok "so the GPU is not" wait_for free_are 1
next=$(aisub --parsable --gpus-per-task 2 --wrap true)
is "a job that needs it waits" "$(state_of "$next")" PENDING
part_wake controllers
ok "until it is" wait_for is_state "$next" RUNNING
aicancel --wait "$next"
ok "nothing is left of these" wait_for nothing_is_left

done_testing

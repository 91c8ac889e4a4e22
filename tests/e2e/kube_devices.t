#!/bin/sh
# GPUs that a driver gives by claims (Dynamic Resource Allocation): what nodes
# show, what jobs get, and who else has something. The slices of the driver are
# written by kubectl.

. "$top_srcdir/tests/e2e/lib.sh"
. "$top_srcdir/tests/kube/control_plane.sh"

ns="jobs"

# NODE: prints its GPUs and how many are free
gpus()
{
	aiq --nodes -h -o name,gpus,gpus_free | awk -v node="$1" \
		'$1 == node { print $2, $3 }'
}

# NODE GPUS: whether it has them
gpus_are()
{
	[ "$(gpus "$1")" = "$2" ]
}

# CLAIM: prints its devices
devices_of()
{
	kube -n "$ns" get resourceclaim "$1" -o \
		'jsonpath={range .status.allocation.devices.results[*]}{.pool}/{.device} {end}'
}

# JOB: prints the devices of all its claims, one claim a line
devices()
{
	kube -n "$ns" get resourceclaims -l "aisched.io/job-id=$1" -o \
		'jsonpath={range .items[*]}{range .status.allocation.devices.results[*]}{.device} {end}{"\n"}{end}'
}

nothing_is_left()
{
	[ -z "$(kube -n "$ns" get resourceclaims,jobs,pods -o name)" ]
}

# TEXT: whether the daemon's status has it
status_has()
{
	aictl status | grep -qF -- "$1"
}

# NAME DEVICE: makes a claim of somebody else that has the device
other_claim()
{
	kube create -f - >/dev/null <<-END
		{"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
		"metadata": {"name": "$1", "namespace": "default"},
		"spec": {"devices": {"requests": [{"name": "r",
		"exactly": {"deviceClassName": "gpu.test"}}]}}}
	END
	kube -n default patch resourceclaim "$1" --subresource status \
		--type merge -p "{\"status\": {\"allocation\": {\"devices\":
		{\"results\": [{\"request\": \"r\", \"driver\": \"gpu.test\",
		\"pool\": \"${2%/*}\", \"device\": \"${2#*/}\"}]}}}}" >/dev/null
}

ok "a control plane starts" kube_start || bail "there is no control plane"
ok "with nodes" eval "kwok_start && kube_nodes 3 n 0 && kube_nodes 1 p 4"
kube create namespace "$ns" >/dev/null
kube_slice n-0 1 1 a gpu-0:0:0 gpu-1:0:0 gpu-2:1:1 gpu-3:1:1
kube_slice n-1 4 2 a gpu-0:0:0

configure "
queue default { grace = \"1s\" }
pool gpu { runner = kubernetes  kubeconfig = \"$kube/admin.conf\"
	namespace = \"$ns\"  image = \"local/box:1\"  run_as_root = yes
	device_driver = \"gpu.test\"  device_class = \"gpu.test\" }
scheduling { resume_cooldown = \"0s\"  max_evictions_per_hour = 60 }"
start_daemon || bail "aischedd does not start"

# --- what nodes show ----------------------------------------------------------

ok "a node has the GPUs of its slice" wait_for gpus_are n-0 "4 4"
ok "one that shows half of them has none" wait_for gpus_are n-1 "0 0"
ok "which is told" wait_for status_has \
	"node 'n-1' shows half of its devices (1 of 2 slices of generation 4)"
kube_slice n-1 4 2 b gpu-1:0:0 gpu-10:0:0 \
	'gpu-2:0:0:"taints": [{"key": "bad", "effect": "NoExecute"}]'
ok "it shows the rest" wait_for gpus_are n-1 "4 3"
other_claim theirs n-1/gpu-1
ok "what others have is not free" wait_for gpus_are n-1 "4 2"
is "one with a plugin is as before" "$(gpus p-0)" "4 4"
is "the product is the type" "$(aiq --nodes -h -o name,gpu_type |
	awk '$1 == "n-0" { print $2 }')" "Test-GPU"

# --- one pod ------------------------------------------------------------------

id=$(aisub --parsable --gpus-per-task 3 --nodelist n-0 --wrap true)
ok "a job runs" wait_for is_state "$id" RUNNING
claim=aj-test-$id-1-0
is "its claim has the GPUs of the plan" "$(devices_of "$claim")" \
	"n-0/gpu-0 n-0/gpu-1 n-0/gpu-2 "
like "aiq names them" "$(aiq "$id")" "n-0: GPU 0-2 .NUMA 0-1, links 0-1"
is "the pod names the claim" "$(kube -n "$ns" get pods \
	-l "aisched.io/job-id=$id" -o \
	'jsonpath={.items[0].spec.resourceClaims[0].resourceClaimName}')" \
	"$claim"
is "and is the one it is for" "$(kube -n "$ns" get resourceclaim "$claim" -o \
	'jsonpath={.status.reservedFor[*].uid}')" "$(kube -n "$ns" get pods \
	-l "aisched.io/job-id=$id" -o 'jsonpath={.items[*].metadata.uid}')"
is "the others are free" "$(gpus n-0)" "4 1"
stop_daemon
start_daemon
ok "the daemon is back: it runs" wait_for gpus_are n-0 "4 1"
is "where it ran" "$(state_of "$id")" RUNNING
second=$(aisub --parsable --gpus-per-task 1 --nodelist n-0 --wrap true)
ok "another gets the rest" wait_for is_state "$second" RUNNING
is "which is another one" "$(devices "$second")" "gpu-3 "

# --- devices come back when the cluster says so ---------------------------------

part_hang controllers
aicancel "$id"
ok "a job ends, its devices are still taken" wait_for is_state "$id" CANCELLED
third=$(aisub --parsable --gpus-per-task 3 --nodelist n-0 --wrap true)
is "in the eyes of all" "$(gpus n-0)" "4 0"
is "so the next one waits" "$(state_of "$third")" PENDING
part_wake controllers
ok "until they are free" wait_for is_state "$third" RUNNING
is "then it has them" "$(devices "$third")" "gpu-0 gpu-1 gpu-2 "
better=$(aisub --parsable --class interactive --gpus-per-task 4 \
	--nodelist n-0 --wrap true)
ok "a better one takes them all" wait_for is_state "$better" RUNNING
is "after they were given back" "$(devices "$better")" \
	"gpu-0 gpu-1 gpu-2 gpu-3 "
aicancel --wait "$better" "$second" "$third"
ok "nothing is left" wait_for nothing_is_left

# --- several pods ---------------------------------------------------------------

id=$(aisub --parsable -n 2 --gpus-per-task 2 --nodelist n-0 --wrap true)
ok "a gang runs" wait_for is_state "$id" RUNNING
is "each pod has its own" "$(devices "$id")" "gpu-0 gpu-1 
gpu-2 gpu-3 "
is "by its status" "$(kube -n "$ns" get pods -l "aisched.io/job-id=$id" -o \
	'jsonpath={range .items[*]}{.status.extendedResourceClaimStatus.resourceClaimName} {end}')" \
	"aj-test-$id-1-0 aj-test-$id-1-1 "
aicancel --wait "$id"
ok "nothing is left of it" wait_for nothing_is_left

# --- together -----------------------------------------------------------------------

# NODE: whether it is not there
is_gone()
{
	! aiq --nodes -h -o name | grep -q "^$1 "
}

fails "where kubelets choose no NUMA node can be demanded" 1 \
	"pool 'gpu': its nodes choose devices themselves" \
	aisub --gpus-per-task 2 --numa strict --wrap true
fails "nor a link group" 1 "links strict cannot be had there" \
	aisub --gpus-per-task 2 --links strict --wrap true
ok "what is only wished for may be" aisub --test-only --gpus-per-task 2 \
	--numa prefer --wrap true
kube delete node p-0 >/dev/null
ok "the node with a plugin goes" wait_for is_gone p-0
second=$(aisub --parsable --gpus-per-task 1 --nodelist n-0 --wrap true)
ok "a GPU is taken" wait_for is_state "$second" RUNNING
id=$(aisub --parsable --gpus-per-task 2 --numa strict --links strict \
	--nodelist n-0 --wrap true)
ok "now they can be demanded" wait_for is_state "$id" RUNNING
is "two of one NUMA node are given" "$(devices "$second"), $(devices "$id")" \
	"gpu-0 , gpu-2 gpu-3 "
aicancel --wait "$id" "$second"
ok "nothing is left of them" wait_for nothing_is_left
kube_nodes 1 p 4
ok "the other node is back" wait_for gpus_are p-0 "4 4"

# --- what is not given ------------------------------------------------------------

kube_slice n-0 2 1 a gpu-0:0:0 gpu-1:0:0 gpu-3:1:1
ok "a device goes, the others keep their numbers" wait_for gpus_are n-0 "4 3"
id=$(aisub --parsable --gpus-per-task 3 --nodelist n-0 --wrap true)
ok "a job gets them" wait_for is_state "$id" RUNNING
is "by the right names" "$(devices "$id")" "gpu-0 gpu-1 gpu-3 "
aicancel --wait "$id"
kube_slice p-0 1 1 a gpu-0:0:0
ok "a node with a plugin, too, gives none" wait_for status_has \
	"node 'p-0' has GPUs by plugin and by DRA: one of them must go"
like "and is drained" "$(aiq --nodes -h -o name,state,reason)" \
	"p-0 *DRAIN[A-Z]* *has GPUs by plugin and by DRA"
kube delete resourceslice p-0-a >/dev/null
kube taint node n-2 aisched.io/dedicated- >/dev/null
kube_slice n-2 1 1 a gpu-0:0:0
ok "a node that others may use gives none" wait_for status_has \
	"node 'n-2' may have its GPUs given by other schedulers"
kube taint node n-2 aisched.io/dedicated=true:NoSchedule >/dev/null
ok "until it is tainted" wait_for gpus_are n-2 "1 1"
kube patch node n-2 --subresource status --type merge -p \
	'{"status": {"nodeInfo": {"containerRuntimeVersion":
	"containerd://1.6.20"}}}' >/dev/null
ok "one whose runtime is too old has none" wait_for status_has \
	"node 'n-2' has containerd://1.6.20, which gives pods no devices"

done_testing

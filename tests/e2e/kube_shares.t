#!/bin/sh
# Parts of GPUs through claims that consume some of a device's capacity. kubectl
# writes the slices in place of a driver.

. "$top_srcdir/tests/e2e/lib.sh"
. "$top_srcdir/tests/kube/control_plane.sh"

ns="jobs"

# GPUS FREE NODE: whether aiq shows these numbers of the node
gpus_are()
{
	[ "$(aiq --nodes -h -o name,gpus,gpus_free | awk -v node="$3" \
		'$1 == node { print $2, $3 }')" = "$1 $2" ]
}

# JOB: prints the devices of its claims, each with what the claim consumes
shares()
{
	kube -n "$ns" get resourceclaims -l "aisched.io/job-id=$1" -o \
		'jsonpath={range .items[*]}{range .status.allocation.devices.results[*]}{.device}={.consumedCapacity.memory}{"\n"}{end}{end}' |
		sort | tr '\n' ' '
}

# JOB: prints the UUIDs of its parts
share_ids()
{
	kube -n "$ns" get resourceclaims -l "aisched.io/job-id=$1" -o \
		'jsonpath={range .items[*]}{range .status.allocation.devices.results[*]}{.shareID}{"\n"}{end}{end}'
}

nothing_is_left()
{
	[ -z "$(kube -n "$ns" get resourceclaims,jobs,pods -o name)" ]
}

# NAME DEVICE MEMORY: makes a claim of another user, which consumes that much
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
		\"pool\": \"${2%/*}\", \"device\": \"${2#*/}\",
		\"shareID\": \"11111111-1111-4111-8111-111111111111\",
		\"consumedCapacity\": {\"memory\": \"$3\"}}]}}}}" >/dev/null
}

# MEMORY [POLICY]: prints what a slice says of a GPU with that much, which may be
# shared
shared()
{
	policy=
	[ -z "${2-}" ] || policy=", \"requestPolicy\": {$2}"
	echo "0:0:\"allowMultipleAllocations\": true, \"capacity\": {\"memory\":
		{\"value\": \"$1\"$policy}}"
}

# SHARING: writes the configuration
configure_for()
{
	configure "
queue default { grace = \"1s\" }
pool gpu { runner = kubernetes  kubeconfig = \"$kube/admin.conf\"
	namespace = \"$ns\"  image = \"local/box:1\"  run_as_root = yes
	device_driver = \"gpu.test\"  device_class = \"gpu.test\"
	gpu_sharing = $1 }
scheduling { resume_cooldown = \"0s\"  max_evictions_per_hour = 60 }"
}

ok "a control plane starts" kube_start || bail "there is no control plane"
ok "with nodes" eval "kwok_start && kube_nodes 3 n 0"
kube create namespace "$ns" >/dev/null
kube_slice n-0 1 1 a "gpu-0:$(shared 80Gi)" "gpu-1:$(shared 80Gi)"
kube_slice n-1 1 1 a gpu-0:0:0
configure_for none
start_daemon || bail "aischedd does not start"

# --- what a pool shares -------------------------------------------------------

ok "GPUs that pods may share are not given to jobs" wait_for status_has \
	"node 'n-0' shows only GPUs that pods may share"
fails "nor are parts of GPUs" 1 "where a GPU is not shared" \
	aisub --gpus-per-task 0.5 --wrap true
configure_for capacity
fails "a reload does not change that" 1 \
	"changing gpu_sharing of pool 'gpu' needs a restart" aictl reload
stop_daemon
start_daemon
ok "a restart does" wait_for gpus_are 2 2 n-0 || bail "there are no GPUs"

# --- parts --------------------------------------------------------------------

half="--gpus-per-task 0.5 --nodelist n-0 --wrap true"
# shellcheck disable=SC2086 # options
id=$(aisub --parsable $half)
ok "a job gets half a GPU" wait_for is_state "$id" RUNNING
is "its claim has half of the memory" "$(shares "$id")" "gpu-0=40Gi "
is "which it requests" "$(kube -n "$ns" get resourceclaim "aj-test-$id-1-0" -o \
	'jsonpath={.spec.devices.requests[*].exactly.capacity.requests.memory}')" \
	40Gi
like "with a UUID" "$(share_ids "$id")" \
	'^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$'
like "aiq says so" "$(aiq "$id")" "n-0: 0.5 of GPU 0"
ok "half of that GPU is free" wait_for gpus_are 2 1.5 n-0
second=$(aisub --parsable --gpu-memory 20G --nodelist n-0 --wrap true)
ok "another job gets what it asks for" wait_for is_state "$second" RUNNING
is "of the same GPU" "$(shares "$second")" "gpu-0=20Gi "
ok "as the slice says how much it has" wait_for gpus_are 2 1.25 n-0
third=$(aisub --parsable --gpus-per-task 1 --nodelist n-0 --wrap true)
ok "a whole one is of the other GPU" wait_for is_state "$third" RUNNING
is "and takes all of it" "$(shares "$third")" "gpu-1=80Gi "
uuids=$(share_ids "$id")
stop_daemon
start_daemon
ok "the daemon is back: a quarter is free" wait_for gpus_are 2 0.25 n-0
is "the parts are as they were" "$(shares "$id")$(shares "$second")" \
	"gpu-0=40Gi gpu-0=20Gi "
# shellcheck disable=SC2086 # options
fourth=$(aisub --parsable $half)
is "half a GPU is more than is free" "$(state_of "$fourth")" PENDING
aicancel --wait "$second"
ok "until a part is given back" wait_for is_state "$fourth" RUNNING
is "which the job gets" "$(shares "$fourth")" "gpu-0=40Gi "
differs()
{
	[ "$(share_ids "$fourth")" != "$uuids" ]
}
ok "as a part of its own" differs
aicancel --wait "$id" "$third" "$fourth"
ok "nothing is left" wait_for nothing_is_left

id=$(aisub --parsable -n 4 --gpus-per-task 0.5 --nodelist n-0 --wrap true)
ok "a gang has four halves" wait_for is_state "$id" RUNNING
is "two of each GPU" "$(shares "$id")" \
	"gpu-0=40Gi gpu-0=40Gi gpu-1=40Gi gpu-1=40Gi "
is "each has a UUID" "$(share_ids "$id" | sort -u | wc -l)" 4
aicancel --wait "$id"
ok "nothing is left of it" wait_for nothing_is_left

# --- claims of others -----------------------------------------------------------

other_claim theirs n-0/gpu-0 50Gi
ok "what others have of a GPU is not free" wait_for gpus_are 2 1.375 n-0
id=$(aisub --parsable -n 2 --gpus-per-task 0.5 --nodelist n-0 --wrap true)
ok "jobs get the rest" wait_for is_state "$id" RUNNING
is "of which there is enough" "$(shares "$id")" "gpu-1=40Gi gpu-1=40Gi "
second=$(aisub --parsable --gpu-memory 30G --nodelist n-0 --wrap true)
ok "even to the last" wait_for is_state "$second" RUNNING
is "of what the others left" "$(shares "$second")" "gpu-0=30Gi "
third=$(aisub --parsable --gpu-memory 1G --nodelist n-0 --wrap true)
is "then none is left" "$(state_of "$third")" PENDING
kube -n default delete resourceclaim theirs >/dev/null
ok "until they give it back" wait_for is_state "$third" RUNNING
aicancel --wait "$id" "$second" "$third"

# --- what a driver allows -------------------------------------------------------

kube_slice n-2 1 1 a "gpu-0:$(shared 100Gi \
	'"default": "30Gi", "validRange":
	{"min": "30Gi", "step": "30Gi", "max": "90Gi"}')"
ok "another node gives parts in steps" wait_for gpus_are 1 1 n-2
id=$(aisub --parsable --gpus-per-task 0.4 --nodelist n-2 --wrap true)
ok "a job gets a part of it" wait_for is_state "$id" RUNNING
is "rounded up" "$(shares "$id")" "gpu-0=60Gi "
ok "all of which counts" wait_for gpus_are 1 0.4 n-2
second=$(aisub --parsable --gpu-memory 30G --nodelist n-2 --wrap true)
ok "a smaller part is free" wait_for is_state "$second" RUNNING
is "and no more" "$(shares "$second")" "gpu-0=30Gi "
aicancel --wait "$id" "$second"
id=$(aisub --parsable --gpus-per-task 1 --nodelist n-2 --wrap true)
ok "more than the driver allows is not had" wait_for grep -q \
	"job start_failed job=$id .*does not let a claim have 1 of GPU 'gpu-0'" \
	"$dir/log"
aicancel --wait "$id"
ok "nothing is left of these" wait_for nothing_is_left

# --- nodes that share no GPUs -----------------------------------------------------

kube delete resourceslice n-0-a n-2-a >/dev/null
ok "the nodes with such GPUs lose them" \
	eval "wait_for gpus_are 0 0 n-0 && wait_for gpus_are 0 0 n-2"
ok "one without is left" wait_for gpus_are 1 1 n-1
fails "parts are refused" 1 \
	"pool 'gpu': its driver does not share GPUs (no consumable capacity)" \
	aisub --gpus-per-task 0.5 --wrap true
kube_slice n-0 1 1 a "gpu-0:$(shared 80Gi)"
ok "a node with such GPUs comes" wait_for gpus_are 2 1 n-0
id=$(aisub --parsable --gpus-per-task 0.5 --wrap true)
ok "now there are parts" wait_for is_state "$id" RUNNING
is "of that node" "$(shares "$id")" "gpu-0=40Gi "
second=$(aisub --parsable --gpus-per-task 0.6 --nodelist n-0,n-1 --wrap true)
ok "the other node refuses parts" wait_for grep -q \
	"job start_failed job=$second .*node 'n-1' gives no parts of GPU 'gpu-0'" \
	"$dir/log"
third=$(aisub --parsable --gpus-per-task 1 --nodelist n-1 --wrap true)
ok "but not whole GPUs" wait_for is_state "$third" RUNNING
aicancel --wait "$id"
ok "the job waits for the node that gives parts" \
	wait_for is_state "$second" RUNNING
is "and gets what it asks for" "$(shares "$second")" "gpu-0=48Gi "

done_testing

#!/bin/sh
# Partitions of GPUs (MIG) that a driver lists as devices, in a real control plane
# with simulated nodes: jobs get them by claims. kubectl writes the slices in place
# of a driver.

. "$top_srcdir/tests/e2e/lib.sh"
. "$top_srcdir/tests/kube/control_plane.sh"

ns="jobs"
k="kube --namespace $ns"

# NAME [FIELD]...: prints a whole GPU as a device, with these fields of its own
gpu()
{
	name=$1
	shift
	echo "{\"name\": \"$name\", \"attributes\": {\"type\": {\"string\": \"gpu\"},
		\"uuid\": {\"string\": \"GPU-${name#gpu-}\"},
		\"productName\": {\"string\": \"Test GPU\"}}${1:+, $1}}"
}

# GPU:PROFILE:START:SIZE [FIELD]: prints a partition as a device
part()
{
	of=${1%%:*} rest=${1#*:}
	profile=${rest%%:*} rest=${rest#*:}
	slices=
	i=${rest%:*}
	while [ "$i" -lt $((${rest%:*} + ${rest#*:})) ]; do
		slices="$slices, \"memorySlice$i\": {\"value\": \"1\"}"
		i=$((i + 1))
	done
	echo "{\"name\": \"gpu-$of-mig-$(echo "$profile" | tr -d .+)-${rest%:*}\",
		\"attributes\": {\"type\": {\"string\": \"mig\"},
		\"parentUUID\": {\"string\": \"GPU-$of\"},
		\"profile\": {\"string\": \"$profile\"},
		\"productName\": {\"string\": \"Test GPU\"}},
		\"capacity\": {\"memory\": {\"value\": \"10Gi\"}$slices}${2:+, $2}}"
}

# NODE GENERATION COUNT NAME FIELD: makes or replaces one of COUNT slices of a node
slice_of()
{
	kube apply -f - >/dev/null <<-END
		{"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice",
		"metadata": {"name": "$1-$4"},
		"spec": {"driver": "gpu.test", "nodeName": "$1",
		"pool": {"name": "$1", "generation": $2,
			"resourceSliceCount": $3}, $5}}
	END
}

# DEVICE...: prints the field of a slice with these devices
devices_field()
{
	list=$1
	shift
	for device; do
		list="$list, $device"
	done
	echo "\"devices\": [$list]"
}

# NODE GENERATION DEVICE...: makes or replaces the only slice of a node
slice()
{
	node=$1 gen=$2
	shift 2
	slice_of "$node" "$gen" 1 a "$(devices_field "$@")"
}

# MEMORY SLICE...: prints counters: that much memory, and these memory slices
counters()
{
	text="\"memory\": {\"value\": \"$1\"}"
	shift
	for i; do
		text="$text, \"memory-slice-$i\": {\"value\": \"1\"}"
	done
	echo "\"counters\": {$text}"
}

# SET COUNTERS: prints the field of a device that consumes these
consumes()
{
	echo "\"consumesCounters\": [{\"counterSet\": \"$1\", $2}]"
}

# JOB: prints the devices of its claims, sorted
devices()
{
	$k get resourceclaims -l "aisched.io/job-id=$1" -o \
		'jsonpath={range .items[*]}{range .status.allocation.devices.results[*]}{.device}{"\n"}{end}{end}' |
		sort | tr '\n' ' '
}

# NAME DEVICE: makes a claim of another user, to which the device is allocated
other_claim()
{
	kube create -f - >/dev/null <<-END
		{"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
		"metadata": {"name": "$1", "namespace": "default"},
		"spec": {"devices": {"requests": [{"name": "r",
		"exactly": {"deviceClassName": "mig.test"}}]}}}
	END
	kube -n default patch resourceclaim "$1" --subresource status \
		--type merge -p "{\"status\": {\"allocation\": {\"devices\":
		{\"results\": [{\"request\": \"r\", \"driver\": \"gpu.test\",
		\"pool\": \"${2%/*}\", \"device\": \"${2#*/}\"}]}}}}" >/dev/null
}

# JOB TEXT: whether the reason why the job waits has TEXT
waits_for()
{
	aiq --no-header -o reason_text "$1" | grep -qF -- "$2"
}

nothing_is_left()
{
	[ -z "$($k get resourceclaims,jobs,pods -o name)" ]
}

ok "a control plane starts" kube_start || bail "there is no control plane"
ok "with nodes" eval "kwok_start && kube_nodes 2 mig 0"
kube create namespace "$ns" >/dev/null
slice mig-0 1 "$(gpu gpu-2)" "$(part 0:3g.40gb:0:4)" "$(part 0:3g.40gb:4:4)" \
	"$(part 1:4g.40gb:0:4)" "$(part 1:1g.10gb:4:1)" "$(part 1:1g.10gb:5:1)"

configure "
queue default { grace = \"1s\" }
pool gpu { runner = kubernetes  kubeconfig = \"$kube/admin.conf\"
	namespace = \"$ns\"  image = \"local/box:1\"  run_as_root = yes
	device_driver = \"gpu.test\"  device_class = \"gpu.test\"
	mig_class = \"mig.test\" }
scheduling { resume_cooldown = \"0s\"  max_evictions_per_hour = 60 }"
start_daemon || bail "aischedd does not start"

# --- what jobs get ------------------------------------------------------------

ok "the partitions of a node are seen" wait_for node_has mig-0 \
	'parts=3g.40gb@0/3g.40gb@4,4g.40gb@0/1g.10gb@4/1g.10gb@5,-'
id=$(aisub --parsable --gpus-per-task 3g.40gb:1 --wrap true)
ok "a job gets one" wait_for is_state "$id" RUNNING
is "by name" "$(devices "$id")" "gpu-0-mig-3g40gb-4 "
claim=aj-test-$id-1-0
is "from a claim of the class of partitions" "$($k get resourceclaim "$claim" \
	-o 'jsonpath={.spec.devices.requests[*].exactly.deviceClassName}')" \
	mig.test
is "which its pod names" "$($k get pods -l "aisched.io/job-id=$id" -o \
	'jsonpath={.items[0].spec.resourceClaims[0].resourceClaimName}')" \
	"$claim"
like "aiq names it" "$(aiq "$id")" "mig-0: 3g.40gb of GPU 0"
fails "one that no node has is refused" 1 "MIG profile 2g.20gb" \
	aisub --gpus-per-task 2g.20gb:1 --wrap true
gang=$(aisub --parsable -n 2 --gpus-per-task 1g.10gb:1 --wrap true)
ok "a gang gets one for each task" wait_for is_state "$gang" RUNNING
is "of the same GPU" "$(devices "$gang")" \
	"gpu-1-mig-1g10gb-4 gpu-1-mig-1g10gb-5 "
is "its pods request the class" "$($k get pods -l "aisched.io/job-id=$gang" \
	-o json | jq -r '.items[0].spec.containers[0].resources.limits |
	."deviceclass.resource.kubernetes.io/mig.test"')" 1
is "and have their claims in the status" "$($k get pods -l \
	"aisched.io/job-id=$gang" -o 'jsonpath={range .items[*]}{.status.extendedResourceClaimStatus.resourceClaimName} {end}')" \
	"aj-test-$gang-1-0 aj-test-$gang-1-1 "
whole=$(aisub --parsable --gpus-per-task 1 --wrap true)
ok "another job gets the GPU without partitions" \
	wait_for is_state "$whole" RUNNING
is "as a whole" "$(devices "$whole")" "gpu-2 "
none=$(aisub --parsable --gpus-per-task 1 --wrap true)
ok "one more waits: a GPU with partitions is not given as a whole" \
	wait_for waits_for "$none" "needs 1 GPU"
aicancel "$none" "$whole"

# --- a restart ----------------------------------------------------------------

stop_daemon
start_daemon
ok "the daemon is back: the jobs run" wait_for is_state "$gang" RUNNING
second=$(aisub --parsable --gpus-per-task 3g.40gb:1 --wrap true)
ok "another job gets the partition that is left" \
	wait_for is_state "$second" RUNNING
is "and no other" "$(devices "$second")" "gpu-0-mig-3g40gb-0 "
third=$(aisub --parsable --gpus-per-task 3g.40gb:1 --wrap true)
ok "a third job waits" wait_for waits_for "$third" "needs a 3g.40gb"
aicancel "$second"
ok "until one is free" wait_for is_state "$third" RUNNING
is "which is the same one" "$(devices "$third")" "gpu-0-mig-3g40gb-0 "
aicancel "$gang"

# --- what others have ---------------------------------------------------------

other_claim theirs mig-0/gpu-1-mig-1g10gb-5
ok "a partition that others have is held" wait_for node_has mig-0 \
	'4g.40gb@0/1g.10gb@4/1g.10gb@5!'
two=$(aisub --parsable -n 2 --gpus-per-task 1g.10gb:1 --wrap true)
ok "so it is not given" wait_for waits_for "$two" "1g.10gb"
kube -n default delete resourceclaim theirs >/dev/null
ok "until it is free" wait_for is_state "$two" RUNNING
aicancel "$two" "$third"

# --- slices that change -------------------------------------------------------

# The job has 4-7 of GPU 0.
slice mig-0 2 "$(part 0:7g.80gb:0:8)" "$(part 1:3g.40gb:0:4)"
ok "a partition over one in use is not listed" wait_for node_has mig-0 \
	'parts=-,3g.40gb@0'
aicancel "$id"
ok "until that is free" wait_for node_has mig-0 'parts=7g.80gb@0,3g.40gb@0'
slice mig-0 3 "$(part 0:3g.40gb:0:4)" "$(part 0:2g.20gb:2:2)"
ok "partitions that overlap are told" wait_for status_has \
	"node 'mig-0' lists partition 'gpu-0-mig-2g20gb-2' on memory slices that another one has"
ok "and the node gives none" wait_for node_has mig-0 'parts=3g.40gb@0!'
slice mig-0 4 "$(part 0:3g.40gb:2:4)"
ok "so is one where it cannot be" wait_for status_has \
	"'gpu-0-mig-3g40gb-2' where its profile 3g.40gb cannot be"
slice mig-0 5 "$(part 0:3g.40gb:0:0)"
ok "and one without its place" wait_for status_has \
	"'gpu-0-mig-3g40gb-0' without its memory slices"
slice mig-0 6 "$(gpu gpu-0)" "$(part 0:3g.40gb:0:4)"
ok "and a GPU beside its own partition" wait_for status_has \
	"lists GPU 'gpu-0' and partition 'gpu-0-mig-3g40gb-0' of it"
slice mig-0 7 "$(part 0:3g.40gb:0:4)" "$(part 0:1c.3g.40gb:4:4)"
ok "a profile that is not known is told" wait_for status_has \
	"'gpu-0-mig-1c3g40gb-4', of a MIG profile that aisched does not know"
id=$(aisub --parsable --gpus-per-task 3g.40gb:1 --wrap true)
ok "the other is given" wait_for is_state "$id" RUNNING
aicancel --wait "$id"
ok "nothing is left" wait_for nothing_is_left

# --- counters -----------------------------------------------------------------

# GENERATION SETS DEVICE...: makes or replaces the slices of mig-1
counted()
{
	gen=$1 shared=$2
	shift 2
	slice_of mig-1 "$gen" 2 a "\"sharedCounters\": [$shared]"
	slice_of mig-1 "$gen" 2 b "$(devices_field "$@")"
}

all=$(counters 80Gi 0 1 2 3 4 5 6 7)
half=$(counters 40Gi 4 5 6 7)
sets="{\"name\": \"s-8\", $all}, {\"name\": \"s-9\", $all}"
eight=$(gpu gpu-8 "$(consumes s-8 "$all")")
nine=$(gpu gpu-9 "$(consumes s-9 "$all")")
part=$(part 8:3g.40gb:4:4 "$(consumes s-8 "$half")")
counted 1 "$sets" "$eight" "$nine" "$part"
gpus_of()
{
	aiq --nodes -h -o name,gpus,gpus_free | awk -v node="$1" \
		'$1 == node { print $2, $3 }'
}
gpus_are()
{
	[ "$(gpus_of mig-1)" = "$1" ]
}
ok "GPUs that consume all of their counters are whole" wait_for gpus_are "2 2"
other_claim part mig-1/gpu-8-mig-3g40gb-4
ok "one of which others have a part is held" wait_for gpus_are "2 1"
id=$(aisub --parsable --gpus-per-task 1 --nodelist mig-1 --wrap true)
ok "a job gets the other one" wait_for is_state "$id" RUNNING
is "as a whole" "$(devices "$id")" "gpu-9 "
next=$(aisub --parsable --gpus-per-task 1 --nodelist mig-1 --wrap true)
is "the next one waits" "$(state_of "$next")" PENDING
kube -n default delete resourceclaim part >/dev/null
ok "until the part is free" wait_for is_state "$next" RUNNING
is "then it has the GPU" "$(devices "$next")" "gpu-8 "
aicancel --wait "$id" "$next"
ok "both are free" wait_for gpus_are "2 2"

# Others claim a part while the job's Job is made.
has_job()
{
	[ -n "$($k get jobs -o name)" ]
}
part_hang controllers
id=$(aisub --parsable --gpus-per-task 2 --nodelist mig-1 --wrap true)
ok "a job is to have both" wait_for has_job
other_claim part mig-1/gpu-8-mig-3g40gb-4
ok "others take a part of one" wait_for gpus_are "2 -1"
part_wake controllers
says_so()
{
	aiq "$id" | grep -qF "in namespace 'default' has a GPU of node 'mig-1'"
}
ok "so it does not start" wait_for says_so
is "and has none" "$(devices "$id" | tr -d '\n')" ""
aicancel --wait "$id"
kube -n default delete resourceclaim part >/dev/null
ok "both are free again" wait_for gpus_are "2 2"

counted 2 "{\"name\": \"s-8\", $all}" "$eight" "$nine" "$part"
ok "counters that no slice lists are told" wait_for status_has \
	"lists device 'gpu-9' with counters of 's-9', which no slice lists"
ok "and no GPU is given" wait_for gpus_are "2 0"
counted 3 "$sets" "$eight" "$(gpu gpu-9 "$(consumes s-8 "$all")")"
ok "so are two GPUs with the same ones" wait_for status_has \
	"lists GPUs 'gpu-8' and 'gpu-9' with the same counters"
counted 4 "$sets" "$eight" "$nine" \
	"$(part 8:3g.40gb:4:4 "$(consumes s-9 "$half")")"
ok "and a partition with those of another GPU" wait_for status_has \
	"lists GPU 'gpu-8' and partition 'gpu-8-mig-3g40gb-4' of it, without counters that they share"
counted 5 "$sets" "$eight" "$nine" "$part"
ok "right ones are given again" wait_for gpus_are "2 2"

# --- Jobs made with kubectl ---------------------------------------------------

kube_limited_job "$ns" mine '"nvidia.com/mig-3g.40gb": "1"'
ok "a Job that counts partitions is queued" wait_for kube_job_id "$ns" mine
mine=$id
says_why()
{
	aiq "$mine" | grep -q "gives its GPUs by claims"
}
ok "but not bound where claims give them" wait_for says_why
aicancel "$id"
done_testing

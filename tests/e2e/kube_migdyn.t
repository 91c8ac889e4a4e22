#!/bin/sh
# Partitions of GPUs (MIG) that a driver makes as they are claimed, in a real
# control plane with simulated nodes. kubectl writes the slices in place of
# NVIDIA's driver, with the devices and counters that it lists for two H100, and
# for two A100 of which one has MIG mode on.

. "$top_srcdir/tests/e2e/lib.sh"
. "$top_srcdir/tests/kube/control_plane.sh"

ns="jobs"
k="kube --namespace $ns"

# The partitions of a GPU: name, number that the driver gives to the profile,
# memory slices, first places; then multiprocessors, copy engines, decoders, JPEG
# and OFA engines, memory in MiB.
h100='[["1g.10gb", 19, 1, [0,1,2,3,4,5,6], 16, 1, 1, 1, 0, 9984],
	["1g.10gb+me", 20, 1, [0,1,2,3,4,5,6], 16, 1, 1, 1, 1, 9984],
	["1g.20gb", 15, 2, [0,2,4,6], 26, 1, 1, 1, 0, 20096],
	["2g.20gb", 14, 2, [0,2,4], 32, 2, 2, 2, 0, 20096],
	["3g.40gb", 9, 4, [0,4], 60, 3, 3, 3, 0, 40448],
	["4g.40gb", 5, 4, [0], 64, 4, 4, 4, 0, 40448],
	["7g.80gb", 0, 8, [0], 132, 8, 7, 7, 1, 81152]]'
a100='[["1g.5gb", 19, 1, [0,1,2,3,4,5,6], 14, 1, 0, 0, 0, 4864],
	["1g.5gb+me", 20, 1, [0,1,2,3,4,5,6], 14, 1, 1, 1, 1, 4864],
	["1g.10gb", 15, 2, [0,2,4,6], 14, 1, 1, 0, 0, 9856],
	["2g.10gb", 14, 2, [0,2,4], 28, 2, 1, 0, 0, 9856],
	["3g.20gb", 9, 4, [0,4], 42, 3, 2, 0, 0, 19968],
	["4g.20gb", 5, 4, [0], 56, 4, 2, 0, 0, 19968],
	["7g.40gb", 0, 8, [0], 98, 7, 5, 1, 1, 40192]]'

# PARTITIONS PRODUCT GPU...: prints slices of a node; each GPU is its number and
# what is listed: both (the GPU and its partitions), split, whole
slices()
{
	partitions=$1 product=$2
	shift 2
	jq -n --argjson table "$partitions" --arg product "$product" \
		'def amounts: {multiprocessors: .[4], "copy-engines": .[5],
			decoders: .[6], encoders: 0, "jpeg-engines": .[7],
			"ofa-engines": .[8], memory: "\(.[9])Mi"};
		def units($from; $n): [range($from; $from + $n) |
			{"memory-slice-\(.)": 1}] | add;
		def counters: map_values({value: "\(.)"});
		def set($gpu): "gpu-\($gpu)-counter-set";
		def consumes($gpu): [{counterSet: set($gpu),
			counters: counters}];
		def text: {string: .};
		def all: ($table[-1] | amounts) + units(0; $table[-1][2]);
		def gpu($g; $bare): {name: "gpu-\($g)", attributes: {
			type: ("gpu" | text), uuid: ("GPU-\($g)" | text),
			productName: ($product | text)}} + if $bare then {}
			else {consumesCounters: (all | consumes($g))} end;
		def parts($g): $table[] | . as $p | $p[3][] | {
			name: "gpu-\($g)-mig-\($p[0] | gsub("[.]"; "") |
				gsub("[+]"; "-"))-\($p[1])-\(.)",
			attributes: {type: ("mig" | text),
				parentUUID: ("GPU-\($g)" | text),
				profile: ($p[0] | text),
				productName: ($product | text)},
			consumesCounters: ((($p | amounts) + units(.; $p[2])) |
				consumes($g))};
		[$ARGS.positional[] | split(":")] as $gpus |
		[{sharedCounters: [$gpus[] | select(.[1] != "whole") |
			{name: set(.[0]), counters: (all | counters)}]},
		($gpus[] | {devices: [
			(select(.[1] != "split") |
				gpu(.[0]; .[1] == "whole")),
			(select(.[1] != "whole") | parts(.[0]))]})]' \
		--args "$@"
}

# NODE GENERATION [FILTER]: writes the slices that it reads to the API server,
# after this change to them
publish()
{
	jq --arg node "$1" --argjson generation "$2" "${3:-.}"' | length as $n |
		{apiVersion: "v1", kind: "List", items: [to_entries[] |
		{apiVersion: "resource.k8s.io/v1", kind: "ResourceSlice",
		metadata: {name: "\($node)-\(.key)"},
		spec: ({driver: "gpu.test", nodeName: $node, pool: {name: $node,
			generation: $generation, resourceSliceCount: $n}} +
			.value)}]}' | kube apply -f - >/dev/null
}

# JOB: prints the devices of its claims, sorted
devices()
{
	$k get resourceclaims -l "aisched.io/job-id=$1" -o \
		'jsonpath={range .items[*]}{range .status.allocation.devices.results[*]}{.device}{"\n"}{end}{end}' |
		sort | tr '\n' ' '
}

# NAME NODE/DEVICE...: makes a claim of another user, to which they are allocated
other_claim()
{
	name=$1 requests="" results=""
	shift
	for device; do
		requests="$requests${requests:+, }{\"name\": \"r${device##*/}\",
			\"exactly\": {\"deviceClassName\": \"mig.test\"}}"
		results="$results${results:+, }{\"request\": \"r${device##*/}\",
			\"driver\": \"gpu.test\", \"pool\": \"${device%/*}\",
			\"device\": \"${device#*/}\"}"
	done
	kube create -f - >/dev/null <<-END
		{"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
		"metadata": {"name": "$name", "namespace": "default"},
		"spec": {"devices": {"requests": [$requests]}}}
	END
	kube -n default patch resourceclaim "$name" --subresource status \
		--type merge -p "{\"status\": {\"allocation\":
			{\"devices\": {\"results\": [$results]}}}}" >/dev/null
}

no_other_claim()
{
	kube -n default delete resourceclaim "$@" >/dev/null
}

# Whether no counter is overdrawn: for each set, what the devices of all claims
# consume, by the slices, is at most what it has.
none_twice()
{
	kube get resourceslices,resourceclaims -A -o json >"$dir/all.json"
	jq -e 'def n: if endswith("Mi") then (.[:-2] | tonumber) else
			tonumber end;
		[.items[] | select(.kind == "ResourceSlice") | .spec] as $s |
		([$s[] | .pool.name as $pool | .devices[]? |
			{key: "\($pool)/\(.name)", value: .}] | from_entries)
			as $device |
		[.items[] | .status.allocation.devices.results[]? |
			"\(.pool)/\(.device)"] as $given |
		($given | length) == ($given | unique | length) and
		all($s[] | .pool.name as $pool | .sharedCounters[]? |
			.name as $set | .counters | to_entries[] |
			.key as $key | (.value.value | n) >= ([$given[] |
			select(startswith("\($pool)/")) |
			$device[.].consumesCounters[]? |
			select(.counterSet == $set) |
			(.counters[$key].value // "0") | n] | add // 0); .)' \
		"$dir/all.json" >/dev/null
}

# JOB TEXT: whether the reason why the job waits has TEXT
waits_for()
{
	aiq --no-header -o reason_text "$1" | grep -qF -- "$2"
}

# NODE GPUS FREE: whether aiq shows that the node has this many, and are free
gpus_are()
{
	aiq --nodes -h -o name,gpus,gpus_free | awk -v node="$1" \
		'$1 == node { print $2, $3 }' | grep -qx "$2 $3"
}

# PROFILE [OPTION]...: submits a job for such a partition of h-0
part()
{
	profile=$1
	shift
	aisub --parsable --gpus-per-task "$profile:1" --nodelist h-0 "$@" \
		--wrap true
}

nothing_is_left()
{
	[ -z "$($k get resourceclaims,jobs,pods -o name)" ]
}

ok "a control plane starts" kube_start || bail "there is no control plane"
ok "with nodes" eval "kwok_start && kube_nodes 1 h 0 && kube_nodes 1 a 0"
kube create namespace "$ns" >/dev/null
slices "$h100" "NVIDIA H100 80GB HBM3" 0:both 1:both >"$dir/h100.json"
publish h-0 1 <"$dir/h100.json"
configure "
queue default { grace = \"1s\" }
pool gpu { runner = kubernetes  kubeconfig = \"$kube/admin.conf\"
	namespace = \"$ns\"  image = \"local/box:1\"  run_as_root = yes
	device_driver = \"gpu.test\"  device_class = \"gpu.test\"
	mig_class = \"mig.test\" }
scheduling { resume_cooldown = \"0s\"  max_evictions_per_hour = 60 }"
start_daemon || bail "aischedd does not start"

# --- what jobs get ------------------------------------------------------------

ok "the model of the GPUs is found" wait_for node_has h-0 "mig=h100-80"
ok "and both are free" wait_for gpus_are h-0 2 2
half=$(part 3g.40gb)
ok "a job gets a partition" wait_for is_state "$half" RUNNING
is "where the larger 4g.40gb still fits" "$(devices "$half")" \
	"gpu-0-mig-3g40gb-9-4 "
is "by a claim of the class of partitions" "$($k get resourceclaims -o \
	'jsonpath={.items[*].spec.devices.requests[*].exactly.deviceClassName}')" \
	mig.test
like "aiq names it" "$(aiq "$half")" "h-0: 3g.40gb of GPU 0"
small=$(part 1g.10gb -n 2)
ok "a gang gets one for each task" wait_for is_state "$small" RUNNING
is "beside it, with a half left for others" "$(devices "$small")" \
	"gpu-0-mig-1g10gb-19-2 gpu-0-mig-1g10gb-19-3 "
whole=$(aisub --parsable --gpus-per-task 1 --nodelist h-0 --wrap true)
ok "another job gets a whole GPU" wait_for is_state "$whole" RUNNING
is "that has no partitions" "$(devices "$whole")" "gpu-1 "
next=$(aisub --parsable --gpus-per-task 1 --nodelist h-0 --wrap true)
ok "the next one waits" wait_for waits_for "$next" "needs 1 GPU"
large=$(part 4g.40gb)
ok "so does one whose place is taken" wait_for waits_for "$large" \
	"needs a 4g.40gb"
ok "nothing is given twice" none_twice

# --- a restart ----------------------------------------------------------------

stop_daemon
start_daemon
ok "the daemon is back: the jobs run" wait_for is_state "$small" RUNNING
ok "the others wait" wait_for waits_for "$large" "needs a 4g.40gb"
two=$(part 2g.20gb)
ok "a job gets what is left" wait_for is_state "$two" RUNNING
is "of the same GPU" "$(devices "$two")" "gpu-0-mig-2g20gb-14-0 "
ok "nothing is given twice after it" none_twice
aicancel "$large" "$small" "$two"
aicancel --wait "$half"
ok "the GPU is whole again when all have ended" \
	wait_for is_state "$next" RUNNING
is "and given" "$(devices "$next")" "gpu-0 "
aicancel --wait "$next" "$whole"
ok "both are free again" wait_for gpus_are h-0 2 2

# --- what others have ---------------------------------------------------------

other_claim theirs h-0/gpu-0-mig-2g20gb-14-4 h-0/gpu-1-mig-1g10gb-me-20-0
ok "units that others have are held, and all with another profile" \
	wait_for node_has h-0 \
	"parts=@4!/@5!,@0!/@1!/@2!/@3!/@4!/@5!/@6!/@7!"
half=$(part 3g.40gb)
small=$(part 1g.10gb)
next=$(aisub --parsable --gpus-per-task 1 --nodelist h-0 --wrap true)
ok "jobs get other units" wait_for is_state "$half" RUNNING
ok "of the GPU" wait_for is_state "$small" RUNNING
is "the large one where it fits" "$(devices "$half")" "gpu-0-mig-3g40gb-9-0 "
is "the small one beside it" "$(devices "$small")" "gpu-0-mig-1g10gb-19-6 "
ok "no GPU is whole" wait_for waits_for "$next" "needs 1 GPU"
ok "nothing is given twice beside others" none_twice
no_other_claim theirs
ok "until others have none" wait_for is_state "$next" RUNNING
is "then it is given" "$(devices "$next")" "gpu-1 "
aicancel --wait "$half" "$small" "$next"

other_claim theirs h-0/gpu-1
ok "a whole GPU of others is held" wait_for gpus_are h-0 2 1
gang=$(part 1g.10gb -n 7)
ok "seven partitions fit on the other" wait_for is_state "$gang" RUNNING
ok "each once" none_twice
is "and no more" "$(devices "$gang" | wc -w)" 7
next=$(part 1g.10gb)
ok "an eighth waits" wait_for waits_for "$next" "needs a 1g.10gb"
no_other_claim theirs
ok "for the GPU of others" wait_for is_state "$next" RUNNING
aicancel "$gang"

# --- slices that change -------------------------------------------------------

# The job has a partition of GPU 1.
jq 'del(.[2].devices[1:])' "$dir/h100.json" >"$dir/bare.json"
publish h-0 2 <"$dir/bare.json"
ok "a GPU whose partitions are gone is not divided" \
	wait_for node_has h-0 "parts=-,whole"
is "the job keeps its own" "$(state_of "$next")" RUNNING
whole=$(aisub --parsable --gpus-per-task 1 --tasks-per-node 2 -n 2 \
	--nodelist h-0 --wrap true)
ok "so the GPU is not given" wait_for waits_for "$whole" "1 of"
aicancel --wait "$next"
ok "until the job has ended" wait_for is_state "$whole" RUNNING
aicancel --wait "$whole"

# GENERATION FILTER: publishes slices that lie
lie()
{
	publish h-0 "$1" "$2" <"$dir/h100.json"
}
lie 3 '.[1].devices |= map(if .name == "gpu-0-mig-2g20gb-14-0" then
	.consumesCounters[0].counters["memory-slice-8"] = {value: "1"}
	else . end)'
ok "a partition on a ninth memory slice is told" wait_for status_has \
	"node 'h-0' lists partition 'gpu-0-mig-2g20gb-14-0' on memory slices that are not from 0 to 7"
ok "and no GPU is given" wait_for gpus_are h-0 2 0
lie 4 '.[0].sharedCounters[0].counters |= (. +
	([range(5) | {"more-\(.)": {value: "1"}}] | add))'
ok "so are too many amounts" wait_for status_has \
	"lists counters 'gpu-0-counter-set' with more than 8 amounts"
lie 5 '.[0].sharedCounters[1].counters.multiprocessors.value = "110" |
	.[2].devices |= map(if .name == "gpu-1" or
		.attributes.profile.string == "7g.80gb"
		then .consumesCounters[0].counters.multiprocessors.value = "110"
		else . end)'
ok "and amounts that do not suffice for all memory slices" wait_for \
	status_has "lists counters 'gpu-1-counter-set' with too little of 'multiprocessors'"
lie 6 '.[1].devices |= map(if .name == "gpu-0-mig-3g40gb-9-4" then
	.consumesCounters[0].counters |= (del(.["memory-slice-7"]) +
		{"memory-slice-0": {value: "1"}}) else . end)'
ok "and a partition on slices that are not beside each other" wait_for \
	status_has "'gpu-0-mig-3g40gb-9-4' on memory slices that are not"
lie 7 '.[1].devices |= map(if .attributes.profile.string == "4g.40gb" then
	.attributes.profile.string = "5g.40gb" else . end)'
ok "partitions of no known model are told" wait_for status_has \
	"lists partitions of GPU 'gpu-0' that are not those of a MIG model"
ok "that GPU is given as a whole" wait_for node_has h-0 "parts=whole,-"
publish h-0 8 <"$dir/h100.json"
ok "right slices are used again" wait_for gpus_are h-0 2 2

# --- a driver that lists partitions only --------------------------------------

slices "$a100" "NVIDIA A100-SXM4-40GB" 0:split 1:whole | publish a-0 1
ok "GPUs are given in the way that the driver lists" wait_for node_has a-0 \
	"parts=split,whole"
ok "by another model" node_has a-0 "mig=a100-40"
ids=
for gpus in 1 1 4g.20gb:1 3g.20gb:1; do
	ids="$ids $(aisub --parsable --gpus-per-task "$gpus" --nodelist a-0 \
		--wrap true)"
done
# shellcheck disable=SC2086 # one word for each job
set -- $ids
ok "a whole one" wait_for is_state "$1" RUNNING
is "has no partitions" "$(devices "$1")" "gpu-1 "
ok "the other is not given whole" wait_for waits_for "$2" "needs 1 GPU"
ok "but in partitions" wait_for is_state "$4" RUNNING
is "of which one is here" "$(devices "$3")" "gpu-0-mig-4g20gb-5-0 "
is "and one there" "$(devices "$4")" "gpu-0-mig-3g20gb-9-4 "
ok "nothing is given twice there" none_twice
aicancel "$@"
ok "nothing is left" wait_for nothing_is_left
done_testing

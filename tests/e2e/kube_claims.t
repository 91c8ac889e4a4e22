#!/bin/sh
# GPUs for Jobs made with kubectl whose pods name ResourceClaims, or templates of
# them. kubectl writes the slices in place of a driver.

. "$top_srcdir/tests/e2e/lib.sh"
. "$top_srcdir/tests/kube/control_plane.sh"

ns="jobs"
k="kube --namespace $ns"

# NODE GPUS FREE: whether aiq shows these numbers of the node
gpus_are()
{
	[ "$(aiq --nodes -h -o name,gpus,gpus_free | awk -v node="$1" \
		'$1 == node { print $2, $3 }')" = "$2 $3" ]
}

# KIND NAME DEVICES: creates a ResourceClaim or a ResourceClaimTemplate, whose
# spec.devices is DEVICES
make_claim()
{
	claim_spec="{\"devices\": $3}"
	[ "$1" = ResourceClaim ] || claim_spec="{\"spec\": $claim_spec}"
	$k create -f - >/dev/null <<-END
		{"apiVersion": "resource.k8s.io/v1", "kind": "$1",
		"metadata": {"name": "$2"}, "spec": $claim_spec}
	END
}

# COUNT [FIELD]: prints requests for that many GPUs, with this field
gpus()
{
	echo "{\"requests\": [{\"name\": \"r\", \"exactly\": {
		\"deviceClassName\": \"gpu.test\", \"count\": $1 ${2:+, $2}}}]}"
}

# ATTRIBUTE: prints requests for two GPUs that have the same value of it
alike()
{
	gpus 2 | jq -c --arg attribute "$1" \
		'.constraints = [{"matchAttribute": $attribute}]'
}

# NAME CLAIM [SPEC [ANNOTATIONS]]: creates a Job whose pods ask for this entry of
# resourceClaims
make_job()
{
	$k create -f - >/dev/null <<-END
		{"apiVersion": "batch/v1", "kind": "Job", "metadata": {
			"name": "$1", "labels": {"aisched.io/queue": "default"},
			"annotations": {${4-}}},
		"spec": {"suspend": true, ${3-} "template": {
			"metadata": {"labels": {"app": "$1"}},
			"spec": {"restartPolicy": "Never",
			"terminationGracePeriodSeconds": 1,
			"schedulerName": "aisched",
			"resourceClaims": [{"name": "g", $2}],
			"containers": [{"name": "a", "image": "a",
				"resources": {"claims": [{"name": "g"}]}}]}}}}
	END
}

template='"resourceClaimTemplateName":'
named='"resourceClaimName":'

# NAME: whether the Job has a job number; sets $id to the number
has_id()
{
	id=$($k get job "$1" -o 'jsonpath={.metadata.labels.aisched\.io/job-id}')
	[ -n "$id" ]
}

# NAME: waits until the Job has a job number, and prints the number
id_of()
{
	wait_for has_id "$1" && echo "$id"
}

# NAME: prints the devices of each pod of the Job that runs, a line each, sorted
devices()
{
	$k get pods,resourceclaims -o json | jq -r --arg app "$1" '
		[.items[] | select(.kind == "ResourceClaim")] as $claims |
		.items[] | select(.kind == "Pod" and .metadata.labels.app == $app
			and .status.phase == "Running") | .metadata.uid as $uid |
		[$claims[] | select(any(.status.reservedFor[]?; .uid == $uid)) |
			.status.allocation.devices.results[] |
			"\(.pool)/\(.device)"] | sort | join(" ")' | sort
}

# NAME TEXT: whether devices() prints TEXT
devices_are()
{
	[ "$(devices "$1")" = "$2" ]
}

# NAME TEXT: whether an Event says that the Job is refused, with TEXT
is_refused()
{
	$k get events.events.k8s.io -o json | jq -e \
		--arg job "$1" --arg text "$2" 'any(.items[];
		.regarding.name == $job and .reason == "Refused" and
		(.note | contains($text)))' >/dev/null
}

# NAME CLAIM TEXT: tests that such a Job is refused, with TEXT
refused()
{
	make_job "$1" "$2"
	ok "$1 is refused" wait_for is_refused "$1" "$3"
	$k delete job "$1" --wait=false >/dev/null
}

# NAME: deletes the Job, and waits until all GPUs are free
remove()
{
	$k delete job "$1" --wait=false >/dev/null
	ok "$1 is deleted: its GPUs are free" wait_for gpus_are n-0 4 4
}

ok "a control plane starts" kube_start || bail "there is no control plane"
ok "with nodes" eval "kwok_start && kube_nodes 2 n 0"
kube create namespace "$ns" >/dev/null
kube_slice n-0 1 1 a gpu-0:0:0 gpu-1:0:0 gpu-2:1:1 gpu-3:1:1
configure "
queue default { grace = \"1s\" }
pool gpu { runner = kubernetes  kubeconfig = \"$kube/admin.conf\"
	namespace = \"$ns\"  image = \"local/box:1\"  run_as_root = yes
	device_driver = \"gpu.test\"  device_class = \"gpu.test\" }
scheduling { resume_cooldown = \"0s\"  max_evictions_per_hour = 60 }"
start_daemon || bail "aischedd does not start"
ok "a node has GPUs" wait_for gpus_are n-0 4 4

# --- templates ----------------------------------------------------------------

make_job early "$template \"one\""
ok "a Job whose template does not exist is refused" wait_for is_refused early \
	"ResourceClaimTemplate 'one' does not exist"
make_claim ResourceClaimTemplate one "$(gpus 1)"
id=$(id_of early)
ok "once it exists, the Job runs" wait_for is_state "$id" RUNNING
is "with a GPU" "$(devices early)" n-0/gpu-0
is "as its job has" "$(aiq -h -o gpus "$id" | xargs)" 1
ok "the others are free" wait_for gpus_are n-0 4 3
own=$(aisub --parsable --gpus-per-task 1 --wrap true)
ok "a job of aisub gets another one" wait_for is_state "$own" RUNNING
ok "which counts, too" wait_for gpus_are n-0 4 2
make_claim ResourceClaimTemplate three "$(gpus 3)"
make_job large "$template \"three\""
large=$(id_of large)
is "a Job that needs more than is free waits" "$(state_of "$large")" PENDING
part_hang controllers
aicancel "$own"
ok "a job ends, but its claim is not freed yet" \
	wait_for is_state "$own" CANCELLED
is "so the Job waits" "$(state_of "$large")" PENDING
part_wake controllers
ok "until it is" wait_for is_state "$large" RUNNING
is "then it has the rest" "$(devices large)" \
	"n-0/gpu-1 n-0/gpu-2 n-0/gpu-3"
$k delete job early --wait=false >/dev/null
remove large

two='"parallelism": 2, "completions": 2, "completionMode": "Indexed",
	"backoffLimit": 9,'
make_job gang "$template \"one\"" "$two"
id=$(id_of gang)
ok "a gang runs" wait_for is_state "$id" RUNNING
both="n-0/gpu-0
n-0/gpu-1"
is "each pod has its own GPU" "$(devices gang)" "$both"
index=$($k get pods -l app=gang -o json | jq -r '.items[] |
	select(.metadata.labels["batch.kubernetes.io/job-completion-index"] ==
	"0") | .metadata.name')
kill_daemon
start_daemon
ok "the daemon was killed: the GPUs are still in use" wait_for gpus_are n-0 4 2
is "the job runs" "$(state_of "$id")" RUNNING
$k annotate pod "$index" sim.aisched.io/runtime=100ms \
	sim.aisched.io/exit-code=1 >/dev/null
is_replaced()
{
	! $k get pods -l app=gang --field-selector status.phase=Running \
		-o name | grep -qx "pod/$index" && devices_are gang "$both"
}
ok "a pod fails: the one in its place has its GPU" wait_for is_replaced
is "there was no restart" "$(aiq -h -o state,restarts "$id" | xargs)" \
	"RUNNING 0"
remove gang

# --- claims by name -----------------------------------------------------------

make_claim ResourceClaim pair "$(gpus 2)"
make_job shares "$named \"pair\"" "$two"
id=$(id_of shares)
ok "pods that share a claim run" wait_for is_state "$id" RUNNING
is "with the same GPUs" "$(devices shares)" "n-0/gpu-0 n-0/gpu-1
n-0/gpu-0 n-0/gpu-1"
is "which count once" "$(aiq -h -o tasks,gpus "$id" | xargs)" "1 2"
ok "two others are free" wait_for gpus_are n-0 4 2
index=$($k get pods -l app=shares -o 'jsonpath={.items[0].metadata.name}')
$k annotate pod "$index" sim.aisched.io/runtime=100ms \
	sim.aisched.io/exit-code=1 >/dev/null
shares_again()
{
	! $k get pods -l app=shares --field-selector status.phase=Running \
		-o name | grep -qx "pod/$index" && [ "$(devices shares)" = \
		"n-0/gpu-0 n-0/gpu-1
n-0/gpu-0 n-0/gpu-1" ]
}
ok "one fails: another one shares them" wait_for shares_again
make_job second "$named \"pair\""
second=$(id_of second)
# JOB TEXT: whether aiq JOB prints TEXT
says()
{
	aiq "$1" | grep -qF -- "$2"
}
ok "another Job cannot have the claim meanwhile" wait_for says "$second" \
	"ResourceClaim 'pair' is in use by job $id"
$k delete job shares --wait=false >/dev/null
ok "but afterwards" wait_for is_state "$second" RUNNING
is "then it has it alone" "$(devices second)" "n-0/gpu-0 n-0/gpu-1"
remove second
$k get resourceclaim pair -o json >pair.json
is "the claim stays, with no GPU" "$(jq -c .status pair.json)" '{}'

# --- a pod without a Job ------------------------------------------------------

$k create -f - >/dev/null <<-END
	{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "alone",
		"labels": {"aisched.io/queue": "default", "app": "alone"}},
	"spec": {"schedulerName": "aisched", "restartPolicy": "Never",
		"terminationGracePeriodSeconds": 1,
		"schedulingGates": [{"name": "aisched.io/queue"}],
		"resourceClaims": [{"name": "g", $template "one"}],
		"containers": [{"name": "a", "image": "a",
			"resources": {"claims": [{"name": "g"}]}}]}}
END
ok "a pod without a Job gets a GPU, too" wait_for devices_are alone n-0/gpu-0
$k delete pod alone --wait=false >/dev/null
ok "until it is deleted" wait_for gpus_are n-0 4 4

# --- alignment ----------------------------------------------------------------

own=$(aisub --parsable --gpus-per-task 1 --wrap true)
ok "a GPU is in use" wait_for is_state "$own" RUNNING
make_claim ResourceClaimTemplate near \
	"$(alike resource.kubernetes.io/numaNode)"
make_job near "$template \"near\""
id=$(id_of near)
ok "GPUs of one NUMA node can be demanded" wait_for is_state "$id" RUNNING
is "and are given" "$(devices near)" "n-0/gpu-2 n-0/gpu-3"
aicancel --wait "$own"
remove near

# --- eviction -----------------------------------------------------------------

make_claim ResourceClaimTemplate four "$(gpus 4)"
make_job evicted "$template \"four\""
id=$(id_of evicted)
ok "a Job has all GPUs" wait_for is_state "$id" RUNNING
better=$(aisub --parsable --class interactive --gpus-per-task 4 --wrap true)
ok "it is evicted" wait_for is_state "$better" RUNNING
is "its GPUs were free before others got them" "$(devices evicted)" ""
is "it waits" "$(state_of "$id")" PENDING
aicancel --wait "$better"
ok "until it can run again" wait_for is_state "$id" RUNNING
remove evicted

# --- what is refused ----------------------------------------------------------

make_claim ResourceClaimTemplate other "$(gpus 1 | sed s/gpu.test/nic.test/)"
refused other "$template \"other\"" \
	"its request 'r' is for class 'nic.test': pool 'gpu' gives 'gpu.test'"
make_claim ResourceClaimTemplate all \
	"$(gpus 1 | sed 's/"count": 1/"allocationMode": "All"/')"
refused all "$template \"all\"" "only ExactCount is supported"
make_claim ResourceClaim selects "$(gpus 1 '"selectors": [{"cel":
	{"expression": "true"}}]')"
refused selects "$named \"selects\"" \
	"ResourceClaim 'selects': its request 'r' has selectors"
make_claim ResourceClaimTemplate first '{"requests": [{"name": "r",
	"firstAvailable": [{"name": "s", "deviceClassName": "gpu.test"}]}]}'
refused first "$template \"first\"" "its request 'r' has firstAvailable"
make_claim ResourceClaimTemplate unlike "$(alike gpu.test/color)"
refused unlike "$template \"unlike\"" "it has matchAttribute 'gpu.test/color'"
refused nothing "$named \"nothing\"" "ResourceClaim 'nothing' does not exist"

done_testing

#!/bin/sh
# Devices other than GPUs that jobs get through claims (Dynamic Resource
# Allocation): what nodes show, what jobs get beside their GPUs, and which devices
# others have. kubectl writes the slices in place of drivers.

. "$top_srcdir/tests/e2e/lib.sh"
. "$top_srcdir/tests/kube/control_plane.sh"

ns="jobs"

# NODE: prints its devices, and how many of them are free
devices()
{
	aiq --nodes -h -o name,devices,devices_free | awk -v node="$1" \
		'$1 == node { print $2, $3 }'
}

# NODE DEVICES: whether devices() prints DEVICES
devices_are()
{
	[ "$(devices "$1")" = "$2" ]
}

# JOB: prints the devices of all its claims, one claim a line
given()
{
	kube -n "$ns" get resourceclaims -l "aisched.io/job-id=$1" -o \
		'jsonpath={range .items[*]}{range .status.allocation.devices.results[*]}{.driver}/{.pool}/{.device} {end}{"\n"}{end}' |
		sed 's/ $//'
}

# JOB TEXT: whether TEXT names all its devices
all_given_are()
{
	[ "$(given "$1" | tr ' ' '\n' | sed '/^$/d; s|.*/||' | sort |
		tr '\n' ' ')" = "$2" ]
}

nothing_is_left()
{
	[ -z "$(kube -n "$ns" get resourceclaims,jobs,pods -o name)" ]
}

# TEXT: whether aictl status prints TEXT
status_has()
{
	aictl status | grep -qF -- "$1"
}

# TEXT: whether aictl status does not print TEXT
status_lacks()
{
	! status_has "$1"
}

# KIND NODE GENERATION COUNT NAME[:FIELDS]...: writes a slice of KIND.test, one of
# COUNT, with these devices; FIELDS are JSON
slice()
{
	slice_of=$1.test slice_node=$2 slice_gen=$3 slice_count=$4
	slice_list=
	shift 4
	for slice_dev; do
		slice_field=${slice_dev#"${slice_dev%%:*}"}
		slice_list="$slice_list${slice_list:+, }{\"name\":
			\"${slice_dev%%:*}\"${slice_field:+, ${slice_field#:}}}"
	done
	kube apply -f - >/dev/null <<-END
		{"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice",
		"metadata": {"name": "$slice_node-$slice_of"},
		"spec": {"driver": "$slice_of", "nodeName": "$slice_node",
		"pool": {"name": "$slice_node", "generation": $slice_gen,
			"resourceSliceCount": $slice_count},
		"devices": [$slice_list]}}
	END
}

# NAME DEVICE: makes a claim of another user, to which the device of driver
# rdma.test is allocated
other_claim()
{
	kube create -f - >/dev/null <<-END
		{"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
		"metadata": {"name": "$1", "namespace": "default"},
		"spec": {"devices": {"requests": [{"name": "r",
		"exactly": {"deviceClassName": "nics"}}]}}}
	END
	kube -n default patch resourceclaim "$1" --subresource status \
		--type merge -p "{\"status\": {\"allocation\": {\"devices\":
		{\"results\": [{\"request\": \"r\", \"driver\": \"rdma.test\",
		\"pool\": \"${2%/*}\", \"device\": \"${2#*/}\"}]}}}}" >/dev/null
}

ok "a control plane starts" kube_start || bail "there is no control plane"
ok "with nodes" eval "kwok_start && kube_nodes 2 n 0 && kube_nodes 1 p 2"
kube create namespace "$ns" >/dev/null
kube create -f - >/dev/null <<-END
	{"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass",
	"metadata": {"name": "nics"}, "spec": {"config": [{"opaque": {
		"driver": "rdma.test", "parameters": {"mtu": 9000}}}]}}
END
kube_slice n-0 1 1 a gpu-0:0:0 gpu-1:0:0
slice rdma n-0 1 1 nic-0 nic-1 nic-2 nic-10
slice fpga n-0 1 1 nic-0
slice rdma n-1 1 2 nic-0 nic-1
slice rdma p-0 1 1 nic-0 nic-1
configure "
queue default { grace = \"1s\" }
device rdma { class = nics  driver = \"rdma.test\" }
device fpga { class = \"fpga.test\" }
pool gpu { runner = kubernetes  kubeconfig = \"$kube/admin.conf\"
	namespace = \"$ns\"  image = \"local/box:1\"  run_as_root = yes
	device_driver = \"gpu.test\"  device_class = \"gpu.test\" }
scheduling { resume_cooldown = \"0s\"  max_evictions_per_hour = 60 }"
start_daemon || bail "aischedd does not start"

# --- what nodes show ----------------------------------------------------------

ok "a node has the devices of its slices" \
	wait_for devices_are n-0 "rdma:4,fpga:1 rdma:4,fpga:1"
ok "one that shows half of them gives none" \
	wait_for devices_are n-1 "rdma:2 -"
ok "which is told" wait_for status_has \
	"node 'n-1' shows half of its rdma (1 of 2 slices of generation 1)"
slice rdma n-1 2 1 nic-0 nic-1 \
	'nic-2:"taints": [{"key": "bad", "effect": "NoExecute"}]' \
	'nic-3:"allowMultipleAllocations": true'
ok "it shows all of them" wait_for devices_are n-1 "rdma:3 rdma:2"
ok "one that claims may share is not given" wait_for status_has \
	"node 'n-1' lists rdma 'nic-3', which several claims may share"
other_claim theirs n-1/nic-0
ok "what others have is not free" wait_for devices_are n-1 "rdma:3 rdma:1"

# --- one pod ------------------------------------------------------------------

id=$(aisub --parsable --gpus-per-task 1 --device rdma:2 --device fpga \
	--nodelist n-0 --wrap true)
ok "a job runs" wait_for is_state "$id" RUNNING
claim=aj-test-$id-1-0
three="rdma.test/n-0/nic-0 rdma.test/n-0/nic-1 fpga.test/n-0/nic-0"
is "one claim has its GPU and its devices" "$(given "$id")" \
	"gpu.test/n-0/gpu-0 $three"
is "of their classes" "$(kube -n "$ns" get resourceclaim "$claim" -o \
	'jsonpath={range .spec.devices.requests[*]}{.exactly.deviceClassName}:{.exactly.count} {end}')" \
	"gpu.test:1 nics:2 fpga.test:1 "
is "with their configuration" "$(kube -n "$ns" get resourceclaim "$claim" -o \
	'jsonpath={.status.allocation.devices.config[*].source} {.status.allocation.devices.config[*].requests[*]} {.status.allocation.devices.config[*].opaque.parameters.mtu}')" \
	"FromClass devices-1 9000"
like "aiq names them" "$(aiq "$id")" \
	"n-0: GPU 0, rdma nic-0,nic-1, fpga nic-0"
is "the pod names the claim" "$(kube -n "$ns" get pods \
	-l "aisched.io/job-id=$id" -o \
	'jsonpath={.items[0].spec.resourceClaims[0].resourceClaimName}')" \
	"$claim"
is "the others are free" "$(devices n-0)" "rdma:4,fpga:1 rdma:2"
next=$(aisub --parsable --device fpga --wrap true)
is "a job that needs more waits" "$(state_of "$next")" PENDING
kill_daemon
start_daemon
ok "the daemon is back: it runs" \
	wait_for devices_are n-0 "rdma:4,fpga:1 rdma:2"
like "with its devices" "$(aiq "$id")" "rdma nic-0,nic-1, fpga nic-0"
second=$(aisub --parsable --device rdma:2 --nodelist n-0 --wrap true)
ok "a job without GPUs gets the rest" wait_for is_state "$second" RUNNING
is "which are others" "$(given "$second")" \
	"rdma.test/n-0/nic-2 rdma.test/n-0/nic-10"
part_hang controllers
aicancel "$id"
ok "a job ends" wait_for is_state "$id" CANCELLED
is "its devices are still taken" "$(devices n-0)" "rdma:4,fpga:1 -"
part_wake controllers
ok "until they are free: the job that waits has one" \
	wait_for is_state "$next" RUNNING
aicancel --wait "$second" "$next"
ok "nothing is left" wait_for nothing_is_left

# --- one beside a GPU -----------------------------------------------------------

# NUMBER [NUMA]: prints the attributes of a device under that PCIe root, in that
# NUMA node
under()
{
	echo "\"attributes\": {\"resource.kubernetes.io/pcieRoot\":
		{\"string\": \"pci0000:0$1\"}${2:+,
		\"resource.kubernetes.io/numaNode\": {\"int\": $2\}}}"
}

# DEVICES [OPTION]...: submits a job whose task has two GPUs and these devices
near()
{
	aisub --parsable --gpus-per-task 2 --wrap true --device "$@"
}

fails "no root of a GPU is known" 1 \
	"pool 'gpu': PCIe roots of its GPUs are not known: \
--device rdma:2:pcie cannot be had there" near rdma:2:pcie
slice gpu n-1 1 1 "gpu-0:$(under 1)" "gpu-1:$(under 2)"
slice rdma n-1 3 1 "nic-0:$(under 1)" "nic-1:$(under 1)" "nic-2:$(under 2)"
ok "devices are under PCIe roots" wait_for devices_are n-1 "rdma:3 rdma:2"
id=$(aisub --parsable --gpus-per-task 1 --nodelist n-1 --wrap true)
ok "a job has a GPU" wait_for is_state "$id" RUNNING
second=$(aisub --parsable --gpus-per-task 1 --device rdma --nodelist n-1 \
	--wrap true)
ok "another has the other one" wait_for is_state "$second" RUNNING
is "and the device beside it" "$(given "$second")" \
	"gpu.test/n-1/gpu-1 rdma.test/n-1/nic-2"
aicancel --wait "$id" "$second"
fails "no root of an fpga is known" 1 \
	"pool 'gpu': PCIe roots of its fpga are not known: \
--device rdma:2:pcie,fpga:pcie cannot be had there" \
	near rdma:2:pcie,fpga:pcie
fails "a plugin chooses GPUs of any NUMA node" 1 \
	"pool 'gpu': its nodes choose devices themselves (device plugin): \
--device rdma:2:numa cannot be had there" near rdma:2:numa
kube delete resourceslice n-1-gpu.test >/dev/null

# --- several pods -------------------------------------------------------------

id=$(aisub --parsable -n 2 --gpus-per-task 1 --device rdma:2 --nodelist n-0 \
	--wrap true)
ok "a gang runs" wait_for is_state "$id" RUNNING
two="gpu.test/n-0/gpu-0 rdma.test/n-0/nic-0 rdma.test/n-0/nic-1
gpu.test/n-0/gpu-1 rdma.test/n-0/nic-2 rdma.test/n-0/nic-10"
is "each pod has its own" "$(given "$id")" "$two"
is "by its status" "$(kube -n "$ns" get pods -l "aisched.io/job-id=$id" -o \
	'jsonpath={range .items[*]}{.status.extendedResourceClaimStatus.resourceClaimName}: {.status.extendedResourceClaimStatus.requestMappings[*].resourceName}{"\n"}{end}' |
	sed 's/deviceclass.resource.kubernetes.io.//g')" \
	"aj-test-$id-1-0: gpu.test nics
aj-test-$id-1-1: gpu.test nics"
aicancel --wait "$id"
id=$(aisub --parsable -n 2 --gpus-per-task 1 --device rdma --nodelist p-0 \
	--wrap true)
ok "where a plugin gives GPUs" wait_for is_state "$id" RUNNING
is "claims give the devices" "$(given "$id")" "rdma.test/p-0/nic-0
rdma.test/p-0/nic-1"
aicancel --wait "$id"
ok "nothing is left of the gangs" wait_for nothing_is_left

# --- fewer tasks, and more, and others ------------------------------------------

# JOB N: whether N of its tasks run
tasks_run()
{
	[ "$(aiq -h -o running_tasks "$1")" = "$2" ]
}

id=$(aisub --parsable -n 2 --min-tasks 1 --device rdma:2 --nodelist n-0 \
	--wrap true)
ok "an elastic job runs" wait_for is_state "$id" RUNNING
better=$(aisub --parsable --class interactive --device rdma:2 \
	--nodelist n-0 --wrap true)
ok "a better one takes the devices of a task" \
	wait_for is_state "$better" RUNNING
is "no device is given twice" "$( { given "$id"; given "$better"; } |
	tr ' ' '\n' | sort | uniq -d)" ""
is "the other task runs on" "$(aiq -h -o state,preemptions,running_tasks \
	"$id" | tr -s ' ')" "RUNNING 0 1"
aicancel --wait "$better"
ok "the task comes back" wait_for tasks_run "$id" 2
ok "with the devices that are free again" wait_for all_given_are "$id" \
	"nic-0 nic-1 nic-10 nic-2 "
aicancel --wait "$id"
ok "nothing is left of it" wait_for nothing_is_left

# JOB INDEX: evicts the pod of the task, as a kubelet would
evict()
{
	kube -n "$ns" patch pod --subresource=status --type=merge \
		"$(kube -n "$ns" get pods --field-selector status.phase=Running \
			-o 'jsonpath={.items[*].metadata.name}' -l \
			"aisched.io/job-id=$1,batch.kubernetes.io/job-completion-index=$2")" \
		-p '{"status": {"phase": "Failed", "reason": "Evicted",
		"conditions": [{"type": "DisruptionTarget", "status": "True",
		"reason": "TerminationByKubelet"}]}}' >/dev/null
}

# JOB NODE: whether a pod of the job runs on the node; sets pod_uid and pod_index
find_pod()
{
	# shellcheck disable=SC2046 # words are wanted
	set -- $(kube -n "$ns" get pods -l "aisched.io/job-id=$1" \
		--field-selector "status.phase=Running,spec.nodeName=$2" -o \
		'jsonpath={.items[*].metadata.uid} {.items[*].metadata.labels.batch\.kubernetes\.io/job-completion-index}')
	[ $# -eq 2 ] && pod_uid=$1 pod_index=$2
}

# JOB NODE UID: whether a pod of the job runs there which is not that one
runs_anew()
{
	find_pod "$1" "$2" && [ "$pod_uid" != "$3" ]
}

id=$(aisub --parsable -n 2 --device rdma --nodelist n-1,p-0 \
	--tasks-per-node 1 --on-task-failure replace --wrap true)
ok "a gang runs on two nodes" wait_for is_state "$id" RUNNING
ok "one of its pods is found" wait_for find_pod "$id" p-0
was=$pod_uid
other_claim late p-0/nic-1
evict "$id" "$pod_index"
ok "a task is placed anew" wait_for runs_anew "$id" p-0 "$was"
is "with the device that is left" "$(given "$id" | sort)" \
	"rdma.test/n-1/nic-1
rdma.test/p-0/nic-0"
is "this is no restart" "$(aiq -h -o state,restarts,attempt "$id" | xargs)" \
	"RUNNING 0 1"
aicancel --wait "$id"
kube -n default delete resourceclaim late theirs >/dev/null
ok "nothing is left of this one" wait_for nothing_is_left

# --- devices that cannot be allocated -------------------------------------------

id=$(aisub --parsable --device rdma:2 --nodelist n-0 --wrap true)
ok "a job runs again" wait_for is_state "$id" RUNNING
slice rdma n-0 2 1 nic-0 nic-2 nic-10 nic-11
ok "the driver no longer lists what it has" wait_for status_has \
	"node 'n-0' no longer lists rdma 'nic-1', which a job has"
is "the job goes on" "$(state_of "$id"), $(devices n-0)" \
	"RUNNING, rdma:5,fpga:1 rdma:3,fpga:1"
second=$(aisub --parsable --device rdma:3 --nodelist n-0 --wrap true)
ok "another has the rest" wait_for is_state "$second" RUNNING
is "by name" "$(given "$second")" "rdma.test/n-0/nic-2 rdma.test/n-0/nic-10 \
rdma.test/n-0/nic-11"
aicancel --wait "$id" "$second"
ok "what is gone is forgotten" \
	wait_for devices_are n-0 "rdma:4,fpga:1 rdma:4,fpga:1"
ok "and no longer told" wait_for status_lacks "no longer lists"
kube taint node n-1 aisched.io/dedicated- >/dev/null
ok "a node that others may use gives none" wait_for status_has \
	"node 'n-1' may have its devices given by other schedulers"
is "all are taken" "$(devices n-1)" "rdma:3 -"

# --- claims of others at the same time ------------------------------------------

# JOB TEXT: whether aiq JOB prints TEXT
says()
{
	aiq "$1" | grep -qF -- "$2"
}

has_job()
{
	[ -n "$(kube -n "$ns" get jobs -o name)" ]
}

ok "nothing is left of earlier ones" wait_for nothing_is_left
part_hang controllers
id=$(aisub --parsable --device rdma:4 --nodelist n-0 --wrap true)
ok "a job is to have devices" wait_for has_job
other_claim early n-0/nic-0
other_claim seen p-0/nic-0
ok "somebody else gives one away" wait_for devices_are p-0 "rdma:2 rdma:1"
part_wake controllers
ok "so it does not start" wait_for says "$id" \
	"in namespace 'default' has rdma 'nic-0' of node 'n-0' that it was to have"
is "and waits" "$(state_of "$id")" PENDING
aicancel --wait "$id"
ok "nothing is left of the job" wait_for nothing_is_left

# --- where GPUs are -------------------------------------------------------------

# TEXT DEVICES [OPTION]...: whether near() refuses a job with TEXT
refuses()
{
	want=$1
	shift
	near "$@" --hold 2>&1 | grep -qF -- "$want"
}

# Two GPUs are alone under their roots, and so is a device.
roots_of_n1()
{
	slice gpu n-1 "$1" 1 "gpu-0:$(under 1 0)" "gpu-1:$(under 2 0)" \
		"gpu-2:$(under 3 1)" "gpu-3:$(under 4 1)"
	slice rdma n-1 "$1" 1 "nic-0:$(under 9 0)" "nic-1:$(under 2 0)" \
		"nic-2:$(under 4 1)" nic-3
}

kube -n default delete resourceclaim early seen >/dev/null
kube delete node p-0 >/dev/null
kube_slice n-0 2 1 a gpu-0:0:0 gpu-1:0:0
slice rdma n-0 3 1 nic-0 nic-1
roots_of_n1 4
kube taint node n-1 aisched.io/dedicated=:NoSchedule >/dev/null
ok "devices and GPUs are somewhere" wait_for devices_are n-1 "rdma:4 rdma:4"
id=$(near rdma:2:pcie)
ok "a job starts where it can have them" wait_for is_state "$id" RUNNING
beside="gpu.test/n-1/gpu-1 gpu.test/n-1/gpu-3 rdma.test/n-1/nic-1 \
rdma.test/n-1/nic-2"
is "each of them beside one of its GPUs" "$(given "$id")" "$beside"
like "aiq names them" "$(aiq "$id")" "GPU 1,3 .NUMA 0-1, links 0., rdma \
nic-1,nic-2"
is "as JSON does" "$(aiq --json -o devices "$id" | jq -r '.jobs[0].devices')" \
	"n-1: GPU 1,3 (NUMA 0-1, links 0), rdma nic-1,nic-2"
second=$(aisub --parsable --gpus-per-task 1 --device rdma:1:pcie --wrap true)
ok "another waits though GPUs and devices are free" wait_for says "$second" \
	"Devices"
like "it says for what" "$(aiq "$second")" \
	"needs 1 rdma beside a GPU of the task; n-0 has 0"
kill_daemon
start_daemon
ok "the daemon is back" wait_for devices_are n-1 "rdma:4 rdma:2"
like "the job has what it had" "$(aiq "$id")" "rdma nic-1,nic-2"
is "the other waits" "$(state_of "$second")" PENDING
slice gpu n-1 5 1 "gpu-0:$(under 1 0)" gpu-1 "gpu-2:$(under 3 1)" \
	"gpu-3:$(under 2 1)"
slice rdma n-1 5 1 "nic-0:$(under 3 0)" nic-1 "nic-2:$(under 8)" nic-3
ok "drivers tell other roots: a job that fits now runs" \
	wait_for is_state "$second" RUNNING
is "with what is together now" "$(given "$second")" \
	"gpu.test/n-1/gpu-2 rdma.test/n-1/nic-0"
is "the first keeps what it has" "$(state_of "$id"), $(given "$id")" \
	"RUNNING, $beside"
aicancel --wait "$id" "$second"
roots_of_n1 6
ok "no NUMA node has three" wait_for refuses "needs 2 GPUs and 1 CPU, with 3 \
rdma, of one NUMA node; the best is on n-1, with 2 GPUs" rdma:3:numa \
	--numa strict
id=$(near rdma:2:numa --numa strict)
ok "one has two" wait_for is_state "$id" RUNNING
is "with the GPUs" "$(given "$id")" "gpu.test/n-1/gpu-0 \
gpu.test/n-1/gpu-1 rdma.test/n-1/nic-0 rdma.test/n-1/nic-1"
aicancel --wait "$id"
fails "without GPUs there is no NUMA node" 1 \
	"pool 'gpu': its jobs are bound to no NUMA nodes, and this one asks for \
no GPUs: --device rdma:numa cannot be had there" \
	aisub --device rdma:numa --wrap true
slice rdma n-1 7 1 nic-0 nic-1 nic-2 nic-3
ok "no driver tells where devices are" wait_for refuses "pool 'gpu': NUMA nodes \
of its rdma are not known: --device rdma:2:numa cannot be had there" rdma:2:numa

sed -i 's/class = nics/class = others/' "$conf"
fails "another class needs a restart" 1 \
	"changing device sections needs a restart" aictl reload

done_testing

#!/bin/sh
# GPUs that jobs get through claims (Dynamic Resource Allocation): what nodes
# show, what jobs get, and which GPUs others have. kubectl writes the slices in
# place of a driver.

. "$top_srcdir/tests/e2e/lib.sh"
. "$top_srcdir/tests/kube/control_plane.sh"

ns="jobs"

# NODE: prints how many GPUs it has and how many of them are free
gpus()
{
	aiq --nodes -h -o name,gpus,gpus_free | awk -v node="$1" \
		'$1 == node { print $2, $3 }'
}

# NODE GPUS: whether gpus() prints GPUS
gpus_are()
{
	[ "$(gpus "$1")" = "$2" ]
}

# CLAIM: prints its devices, with their pools
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

# JOB TEXT: whether devices() prints TEXT
devices_are()
{
	[ "$(devices "$1")" = "$2" ]
}

# JOB: prints the pools and names of all its devices, sorted
places()
{
	kube -n "$ns" get resourceclaims -l "aisched.io/job-id=$1" -o \
		'jsonpath={range .items[*]}{range .status.allocation.devices.results[*]}{.pool}/{.device}{"\n"}{end}{end}' |
		sort | tr '\n' ' '
}

# JOB TEXT: whether places() prints TEXT
places_are()
{
	[ "$(places "$1")" = "$2" ]
}

# NAME DEVICE: makes a claim of another user, to which the device is allocated
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

# START_TIMEOUT [KEY=VALUE]: writes the configuration
configure_for()
{
	configure "
queue default { grace = \"1s\" }
pool gpu { runner = kubernetes  kubeconfig = \"$kube/admin.conf\"
	namespace = \"$ns\"  image = \"local/box:1\"  run_as_root = yes
	device_driver = \"gpu.test\"  device_class = \"gpu.test\" ${2-} }
scheduling { resume_cooldown = \"0s\"  max_evictions_per_hour = 60
	start_timeout = \"$1\" }"
}
configure_for 10m
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
like "aiq names them, but no CPUs: nothing binds these" "$(aiq "$id")" \
	'n-0: GPU 0-2 .NUMA 0-1, links 0-1.$'
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

# --- devices are free once the pod is gone --------------------------------------

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

# --- a pod that is gone before it names its claim -------------------------------

# The cluster's controller looks at a claim when that changes, and when a pod ends
# that names it. This claim is one of ours of a job that has ended, reserved for a
# pod that does not name it.
id=$(aisub --parsable --gpus-per-task 1 --nodelist n-0 --wrap true)
ok "a job has a GPU" wait_for is_state "$id" RUNNING
kube -n "$ns" get resourceclaim "aj-test-$id-1-0" -o json >"$dir/claim"
aicancel --wait "$id"
ok "its claim is gone" wait_for nothing_is_left
kube -n "$ns" create -f - >/dev/null <<-END
	{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "alone"},
	"spec": {"schedulerName": "nobody", "containers": [
		{"name": "main", "image": "local/box:1"}]}}
END
uid=$(kube -n "$ns" get pod alone -o 'jsonpath={.metadata.uid}')
jq 'del(.status) | .metadata |= {name, namespace, labels, annotations,
	finalizers}' "$dir/claim" | kube create -f - >/dev/null
jq --arg uid "$uid" '{status: (.status + {reservedFor: [{resource: "pods",
	name: "alone", uid: $uid}]})}' "$dir/claim" |
	kube -n "$ns" patch resourceclaim "aj-test-$id-1-0" --type merge \
		--subresource status --patch-file /dev/stdin >/dev/null
ok "it is back" wait_for gpus_are n-0 "4 3"
second=$(aisub --parsable --gpus-per-task 1 --nodelist n-0 --wrap true)
ok "the controller has seen it" wait_for is_state "$second" RUNNING
aicancel --wait "$second"
ok "when that has freed a later one" wait_for gpus_are n-0 "4 3"
kube -n "$ns" delete pod alone --now >/dev/null
ok "the GPU is free when the pod is gone" eval "deadline_s=150; wait_for \
	gpus_are n-0 '4 4'"
kube -n "$ns" delete resourceclaim "aj-test-$id-1-0" >/dev/null
ok "nothing is left of the pod" wait_for nothing_is_left

# --- several pods ---------------------------------------------------------------

id=$(aisub --parsable -n 2 --gpus-per-task 2 --nodelist n-0 --wrap true)
ok "a gang runs" wait_for is_state "$id" RUNNING
is "by one claim, in which each pod has a request" "$(kube -n "$ns" get \
	resourceclaims -l "aisched.io/job-id=$id" -o \
	'jsonpath={range .items[*].status.allocation.devices.results[*]}{.request}={.device} {end}')" \
	"gpus-0=gpu-0 gpus-0=gpu-1 gpus-1=gpu-2 gpus-1=gpu-3 "
is "which its status names" "$(kube -n "$ns" get pods -l "aisched.io/job-id=$id" -o \
	'jsonpath={range .items[*].status.extendedResourceClaimStatus}{.resourceClaimName}/{.requestMappings[*].requestName} {end}')" \
	"aj-test-$id-1-0/gpus-0 aj-test-$id-1-0/gpus-1 "
aicancel --wait "$id"
ok "nothing is left of it" wait_for nothing_is_left

# --- fewer tasks, and more ------------------------------------------------------

four="n-0/gpu-0 n-0/gpu-1 n-0/gpu-2 n-0/gpu-3 "

# JOB JOB: prints the pools and devices of both, sorted
places_of_both()
{
	{ places "$1"; places "$2"; } | tr ' ' '\n' | sed '/^$/d' | sort |
		tr '\n' ' '
}

second=$(aisub --parsable --gpus-per-task 2 --nodelist n-0 --wrap true)
ok "half a node is taken" wait_for is_state "$second" RUNNING
id=$(aisub --parsable -n 2 --min-tasks 1 --gpus-per-task 2 --nodelist n-0,n-1 \
	--wrap true)
spread="n-0/gpu-2 n-0/gpu-3 n-1/gpu-0 n-1/gpu-10 "
ok "an elastic job is on two" wait_for places_are "$id" "$spread"
better=$(aisub --parsable --class interactive --gpus-per-task 2 \
	--nodelist n-1 --wrap true)
ok "a better one takes the GPUs of a task" wait_for is_state "$better" RUNNING
is "no GPU is given twice" "$(places_of_both "$id" "$better")" "$spread"
aicancel --wait "$second"
ok "the task comes back on the other node" wait_for places_are "$id" "$four"
is "the job never stopped" "$(aiq -h -o state,restarts,preemptions "$id" |
	tr -s ' ')" "RUNNING 0 0"
aicancel --wait "$better" "$id"
ok "nothing is left of them" wait_for nothing_is_left

id=$(aisub --parsable -n 2 --min-tasks 1 --gpus-per-task 2 --nodelist n-0 \
	--wrap true)
ok "both tasks are on one" wait_for is_state "$id" RUNNING
better=$(aisub --parsable --class interactive --gpus-per-task 2 \
	--nodelist n-0 --wrap true)
ok "a better one takes the GPUs of one of them" \
	wait_for is_state "$better" RUNNING
is "the other runs on" "$(aiq -h -o state,preemptions,running_tasks "$id" |
	tr -s ' ')" "RUNNING 0 1"
aicancel --wait "$better" "$id"
ok "nothing is left of these" wait_for nothing_is_left

# --- a pod takes the place of another -------------------------------------------

# JOB INDEX: lets that task fail
fail_task()
{
	kube -n "$ns" annotate pods --overwrite -l \
		"aisched.io/job-id=$1,batch.kubernetes.io/job-completion-index=$2" \
		sim.aisched.io/runtime=100ms sim.aisched.io/exit-code=3 \
		>/dev/null
}

# JOB: prints the phases of the pods for which its claims are reserved
reserved()
{
	kube -n "$ns" get resourceclaims -l "aisched.io/job-id=$1" -o \
		'jsonpath={range .items[*]}{.status.reservedFor[*].name}{"\n"}{end}' |
		while read -r pod; do
			kube -n "$ns" get pod "$pod" -o \
				'jsonpath={.status.phase} '
		done
}

reserved_are()
{
	[ "$(reserved "$1")" = "$2" ]
}

id=$(aisub --parsable -n 2 --gpus-per-task 2 --nodelist n-0 \
	--on-task-failure replace --max-restarts 1 --wrap true)
ok "a gang runs whose tasks may be replaced" wait_for is_state "$id" RUNNING
both=$(devices "$id")
fail_task "$id" 1
replaced()
{
	[ "$(aiq -h -o replaced_tasks "$1")" = 1 ]
}
ok "one is" wait_for replaced "$id"
ok "its new pod has a claim" wait_for reserved_are "$id" "Running Running "
is "with the GPUs of the old one" "$(devices "$id")" "$both"
is "the job never stopped" "$(state_of "$id")" RUNNING
aicancel --wait "$id"
ok "nothing is left of it" wait_for nothing_is_left

# --- a node is lost -------------------------------------------------------------

# JOB INDEX: prints the uid and the node of the running pod of the task
runs()
{
	kube -n "$ns" get pods --field-selector status.phase=Running -l \
		"aisched.io/job-id=$1,batch.kubernetes.io/job-completion-index=$2" \
		-o 'jsonpath={.items[*].metadata.uid} {.items[*].spec.nodeName}'
}

# JOB INDEX UID: whether the task runs in another pod than that
runs_anew()
{
	now=$(runs "$1" "$2")
	[ -n "${now% *}" ] && [ "${now% *}" != "$3" ]
}

# JOB N: whether N of its tasks run
tasks_run()
{
	[ "$(aiq -h -o running_tasks "$1")" = "$2" ]
}

# JOB INDEX: prints the uid of the task's claim
claim_of()
{
	kube -n "$ns" get resourceclaim "aj-test-$1-1-$2" -o \
		'jsonpath={.metadata.uid}'
}

# JOB INDEX: prints pod and claim of the task
pair_of()
{
	echo "$(runs "$1" "$2") $(claim_of "$1" "$2")"
}

# JOB INDEX NODE: prints what is wrong with the claim of the task on that node
wrong_claim()
{
	wrong_uid=$(runs "$1" "$2")
	[ "$(devices_of "aj-test-$1-1-$2")" = "$3/gpu-0 $3/gpu-1 " ] ||
		echo "it has $(devices_of "aj-test-$1-1-$2")"
	kube -n "$ns" get resourceclaim "aj-test-$1-1-$2" -o \
		'jsonpath={.status.reservedFor[*].uid}' |
		grep -qx "${wrong_uid% *}" || echo "it is for another pod"
}

# NODE: loses the node, and what its driver has published
lose_node()
{
	kube delete node "$1" >/dev/null
	kube delete resourceslice "$1-a" >/dev/null
}

# JOB INDEX: evicts the pod of the task, as a kubelet would
evict()
{
	kube -n "$ns" patch pod --subresource=status --type=merge \
		"$(kube -n "$ns" get pods --field-selector status.phase=Running \
			-o 'jsonpath={.items[*].metadata.name}' -l \
			"aisched.io/job-id=$1,batch.kubernetes.io/job-completion-index=$2")" \
		-p '{"status": {"phase": "Failed", "reason": "Evicted",
		"message": "low on memory", "conditions": [
		{"type": "DisruptionTarget", "status": "True",
		"reason": "TerminationByKubelet"}]}}' >/dev/null
}

# TEXT: whether the log has a line about a lost task of $id with TEXT
is_lost()
{
	grep "job lose job=$id " "$log" | grep -qF -- "$1"
}

kube_nodes 4 l 0
for node in l-0 l-1 l-2 l-3; do
	kube_slice $node 1 1 a gpu-0:0:0 gpu-1:0:0
done
ok "more nodes come" wait_for gpus_are l-3 "2 2"
id=$(aisub --parsable -n 3 --gpus-per-task 2 -x 'n-[0-2],p-0' \
	--on-task-failure replace --wrap true)
ok "a gang is on three of them" wait_for is_state "$id" RUNNING
was=$(runs "$id" 1) old=$(claim_of "$id" 1)
others="$(pair_of "$id" 0), $(pair_of "$id" 2)"
lose_node "${was#* }"
ok "one is lost: its task runs in another pod" \
	wait_for "runs_anew $id 1 ${was% *} && tasks_run $id 3"
now=$(runs "$id" 1)
is "with a claim for GPUs of another node" "$(wrong_claim "$id" 1 "${now#* }")" ""
ok "which is a new one" [ "$(claim_of "$id" 1)" != "$old" ]
is "the other tasks keep pods and claims" \
	"$(pair_of "$id" 0), $(pair_of "$id" 2)" "$others"
is "no GPU is given twice" "$(places "$id" | tr ' ' '\n' | sort | uniq -d)" ""
is "this is no restart" "$(aiq -h -o state,restarts,attempt "$id" | xargs)" \
	"RUNNING 0 1"

old=$(claim_of "$id" 1)
lose_node "${now#* }"
ok "another one is lost: there is no room for its task" \
	wait_for "tasks_run $id 2"
kill_daemon
start_daemon
kube_nodes 1 m 0
kube_slice m-0 1 1 a gpu-0:0:0 gpu-1:0:0
ok "the next daemon places it on a node that comes" \
	wait_for "runs_anew $id 1 ${now% *} && tasks_run $id 3"
is "with a claim for its GPUs" "$(wrong_claim "$id" 1 m-0)" ""
ok "which is new, too" [ "$(claim_of "$id" 1)" != "$old" ]
is "the others still have theirs" \
	"$(pair_of "$id" 0), $(pair_of "$id" 2)" "$others"

was=$(runs "$id" 2)
part_hang controllers
evict "$id" 2
ok "a kubelet evicts a task" wait_for is_lost "Evicted: low on memory"
ok "its GPUs are still taken" wait_for gpus_are "${was#* }" "2 0"
part_wake controllers
ok "until they are free: then it is back" \
	wait_for "runs_anew $id 2 ${was% *} && tasks_run $id 3"
is "with its GPUs" "$(wrong_claim "$id" 2 "${was#* }")" ""
is "this was no restart" "$(aiq -h -o state,restarts,attempt "$id" | xargs)" \
	"RUNNING 0 1"
aicancel --wait "$id"
ok "nothing is left of the gang" wait_for nothing_is_left

id=$(aisub --parsable -n 2 --min-tasks 1 --gpus-per-task 2 \
	-x 'n-[0-2],p-0' --wrap true)
ok "an elastic job runs" wait_for \
	"runs_anew $id 0 none && runs_anew $id 1 none && tasks_run $id 2"
kept=$(pair_of "$id" 0) was=$(runs "$id" 1)
lose_node "${was#* }"
ok "a node of it is lost: it grows onto another one" \
	wait_for "runs_anew $id 1 ${was% *} && tasks_run $id 2"
now=$(runs "$id" 1)
is "with a claim for GPUs there" "$(wrong_claim "$id" 1 "${now#* }")" ""
is "its other task keeps pod and claim" "$(pair_of "$id" 0)" "$kept"
aicancel --wait "$id"
ok "nothing is left of it, either" wait_for nothing_is_left

# --- GPUs that are linked -----------------------------------------------------------

# NODE: whether aiq does not list the node
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

# --- devices that cannot be allocated ---------------------------------------------

kube_slice n-0 2 1 a gpu-0:0:0 gpu-1:0:0 gpu-3:1:1
ok "a device goes, the others keep their numbers" wait_for gpus_are n-0 "4 3"
ok "which is told" wait_for status_has \
	"node 'n-0' lists 3 of 4 GPUs: GPU 2 (gpu-2) is missing"
id=$(aisub --parsable --gpus-per-task 3 --nodelist n-0 --wrap true)
ok "a job gets them" wait_for is_state "$id" RUNNING
is "by the right names" "$(devices "$id")" "gpu-0 gpu-1 gpu-3 "
aicancel --wait "$id"
kube_slice n-0 3 1 a gpu-0:0:0 gpu-1:0:0 gpu-2:1:1 gpu-3:1:1
ok "it is back" wait_for gpus_are n-0 "4 4"
ok "no GPU is missing" wait_for status_lacks "is missing"
id=$(aisub --parsable --gpus-per-task 3 --nodelist n-0 --wrap true)
ok "a job has it" wait_for is_state "$id" RUNNING
kube_slice n-0 4 1 a gpu-0:0:0 gpu-1:0:0 gpu-3:1:1 gpu-77:1:1
ok "it goes, another comes" wait_for gpus_are n-0 "5 2"
is "the job goes on" "$(state_of "$id")" RUNNING
kube_slice n-0 5 1 a gpu-0:0:0 gpu-1:0:0 gpu-2:1:1 gpu-3:1:1 gpu-77:1:1
second=$(aisub --parsable --gpus-per-task 2 --nodelist n-0 --wrap true)
ok "both are there: another job runs" wait_for is_state "$second" RUNNING
is "with what the first one does not have" "$(devices "$second")" \
	"gpu-3 gpu-77 "
aicancel --wait "$id" "$second"
ok "all are free" wait_for gpus_are n-0 "5 5"
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

# --- claims of others at the same time --------------------------------------------

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
id=$(aisub --parsable --gpus-per-task 4 --nodelist n-0 --wrap true)
ok "a job is to have GPUs" wait_for has_job
other_claim early-0 n-0/gpu-0
other_claim early-1 n-0/gpu-1
other_claim seen n-1/gpu-0
ok "somebody else gives them away" wait_for gpus_are n-1 "4 1"
part_wake controllers
ok "so it does not start" wait_for says "$id" \
	"in namespace 'default' has a GPU of node 'n-0' that it was to have"
is "and waits" "$(state_of "$id")" PENDING
is "without a GPU" "$(devices "$id" | tr -d '\n')" ""
aicancel --wait "$id"
kube -n default delete resourceclaim early-0 early-1 seen >/dev/null
ok "they are back" wait_for gpus_are n-0 "5 5"
ok "nothing is left of the job" wait_for nothing_is_left

# --- a driver that hangs ------------------------------------------------------------

# JOB: whether its pod is bound
is_bound()
{
	kube -n "$ns" get pods -l "aisched.io/job-id=$1" -o \
		'jsonpath={.items[*].spec.nodeName}' | grep -q .
}

# JOB: prints its pods on n-0
pods_there()
{
	kube -n "$ns" get pods -l "aisched.io/job-id=$1" \
		--field-selector spec.nodeName=n-0 -o name
}

# JOB: whether no GPU of n-0 is free, or the daemon has deleted the pod of the job
# there, before or meanwhile
are_kept()
{
	there=$(pods_there "$1")
	[ "$(gpus n-0)" = "5 0" ] || [ -z "$there" ] ||
		[ "$(pods_there "$1")" != "$there" ]
}

part_hang kwok
id=$(aisub --parsable --gpus-per-task 5 --nodelist n-0 --wrap true)
ok "a pod is bound" wait_for is_bound "$id"
configure_for 2s
ok "two seconds must do" aictl reload
ok "if it does not run by then, it is given up" wait_for says "$id" \
	"pods did not run within 2 s"
ok "its GPUs are kept as long as it is there" are_kept "$id"
aicancel --wait "$id"
ok "though the job is over" are_kept "$id"
part_wake kwok
ok "then they are free" wait_for gpus_are n-0 "5 5"
configure_for 10m
ok "later jobs have more time" aictl reload

# --- the option devices ---------------------------------------------------------------

configure_for 10m 'devices = plugin'
fails "another way needs a restart" 1 \
	"changing devices of pool 'gpu' needs a restart" aictl reload
id=$(aisub --parsable --gpus-per-task 2 --nodelist n-0 --wrap true)
ok "a job has GPUs by a claim" wait_for is_state "$id" RUNNING
stop_daemon
start_daemon
ok "the node has none by the other way" wait_for gpus_are n-0 "0 -2"
is "the job runs on" "$(state_of "$id")" RUNNING
stop_daemon
configure_for 10m 'devices = dra'
start_daemon
ok "they are known again, and who has them" wait_for gpus_are n-0 "5 3"
is "for it runs" "$(state_of "$id")" RUNNING
ok "a node with a plugin has none now" wait_for gpus_are p-0 "0 0"
aicancel --wait "$id"

# --- Jobs made with kubectl -----------------------------------------------------------

# NAME LIMITS POD: creates a Job
make_job()
{
	kube -n "$ns" create -f - >/dev/null <<-END
		{"apiVersion": "batch/v1", "kind": "Job", "metadata": {
			"name": "$1", "labels": {"aisched.io/queue": "default"}},
		"spec": {"suspend": true, "template": {"spec": {
			"restartPolicy": "Never", $3
			"schedulerName": "aisched",
			"containers": [{"name": "a", "image": "a",
				"resources": {"limits": {$2}}}]}}}}
	END
}

# NAME TEXT: whether an Event says that the Job is refused, with TEXT
is_refused()
{
	kube -n "$ns" get events.events.k8s.io -o json | jq -e \
		--arg job "$1" --arg text "$2" 'any(.items[];
		.regarding.name == $job and .reason == "Refused" and
		(.note | contains($text)))' >/dev/null
}

make_job counts '"nvidia.com/gpu": "1"' ''
ok "a Job that counts GPUs is refused where they are given by claims" \
	wait_for is_refused counts \
	"pool 'gpu' gives GPUs by claims, not by resource 'nvidia.com/gpu'"
make_job class '"deviceclass.resource.kubernetes.io/gpu.test": "1"' ''
ok "and one that asks for the class" wait_for is_refused class \
	"does not count resource 'deviceclass.resource.kubernetes.io/gpu.test'"

done_testing

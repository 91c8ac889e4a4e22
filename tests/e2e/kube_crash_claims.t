#!/bin/sh
# The daemon is killed between any two of the calls with which it allocates GPUs
# through claims (POST, PUT, PATCH, Binding) or ends a job. No GPU is given to
# two jobs, and none stays allocated. KILL_WHEN (tests/kube/killed.sh) runs only
# half of this.

. "$top_srcdir/tests/e2e/lib.sh"
. "$top_srcdir/tests/kube/control_plane.sh"

ns="team"
. "$top_srcdir/tests/kube/killed.sh"

ok "a control plane starts" kube_start || bail "there is no control plane"
ok "with a node" eval "kwok_start && kube_nodes 1 dra 0"
share='0:0:"allowMultipleAllocations": true,
	"capacity": {"memory": {"value": "80Gi"}}'
kube_slice dra-0 1 1 a "gpu-0:$share" "gpu-1:$share"
kube create namespace "$ns" >/dev/null
between_start

# SHARING: writes the configuration
configure_for()
{
	configure "
queue default { grace = \"1s\" }
pool gpu { runner = kubernetes  kubeconfig = \"$kube/between.conf\"
	namespace = \"$ns\"  image = \"local/box:1\"  run_as_root = yes
	device_driver = \"gpu.test\"  gpu_sharing = $1 }
scheduling { resume_cooldown = \"0s\"  max_evictions_per_hour = 60 }"
}
configure_for capacity
start_daemon || bail "aischedd does not start"

claims=/apis/resource.k8s.io/v1/namespaces/$ns/resourceclaims

# JOB: prints the GPUs that its claims have, sorted
devices()
{
	table "$claims?labelSelector=aisched.io/job-id=$1" \
		status:allocation:devices:results:device |
		tr , '\n' | grep -vx - | sort | tr '\n' ' '
}

no_claim_is_left()
{
	nothing_is_left && left=$(list "$claims") && [ -z "$left" ]
}

claims()
{
	submit_armed -n 2 --gpus-per-task 1 --nodelist dra-0 \
		--wrap true
	id=$new
	reaches "a gang with claims" runs "$id" 2
	is "each GPU is given once" "$(devices "$id")" "gpu-0 gpu-1 "
	submit_armed --class interactive --gpus-per-task 2 \
		--nodelist dra-0 --wrap true
	better=$new
	reaches "it is preempted" runs "$better" 1
	is "the GPUs are the other one's" "$(devices "$id")/$(devices "$better")" \
		"/gpu-0 gpu-1 "
	aicancel "$id"
	aicancel "$better"
	ok "no claim is left" wait_for no_claim_is_left
}

# JOB: prints what its claims consume of each GPU, sorted
shares()
{
	table "$claims?labelSelector=aisched.io/job-id=$1" \
		status:allocation:devices:results:device \
		status:allocation:devices:results:consumedCapacity:memory |
		sort | tr ' \n' '= '
}

parts()
{
	submit_armed -n 2 --gpus-per-task 0.5 --nodelist dra-0 --wrap true
	id=$new
	reaches "a gang with parts" runs "$id" 2
	is "each has its part" "$(shares "$id")" "gpu-0=40Gi gpu-0=40Gi "
	aicancel "$id"
	ok "no part is left" wait_for no_claim_is_left
}

# UNIT...: prints partitions of one unit of a GPU as devices
partitions_of()
{
	between_them=
	for unit; do
		echo "$between_them{\"name\": \"mig-$unit\", \"attributes\": {
			\"type\": {\"string\": \"mig\"},
			\"parentUUID\": {\"string\": \"GPU-0\"},
			\"profile\": {\"string\": \"1g.10gb\"}},
			\"capacity\": {\"memorySlice$unit\": {\"value\": \"1\"}}}"
		between_them=", "
	done
}

partitions()
{
	submit_armed -n 2 --gpus-per-task 1g.10gb:1 --nodelist mig-0 --wrap true
	id=$new
	reaches "a gang with partitions" runs "$id" 2
	is "each is given once" "$(devices "$id")" "mig-0 mig-1 "
	aicancel "$id"
	ok "no partition is left" wait_for no_claim_is_left
}

# JOB INDEX: evicts the pod of the task, as a kubelet would
evict()
{
	$k patch pod --subresource=status --type=merge \
		"$($k get pods -o 'jsonpath={.items[*].metadata.name}' \
			--field-selector status.phase=Running -l \
			"aisched.io/job-id=$1,batch.kubernetes.io/job-completion-index=$2")" \
		-p '{"status": {"phase": "Failed", "reason": "Evicted",
		"conditions": [{"type": "DisruptionTarget", "status": "True",
		"reason": "TerminationByKubelet"}]}}' >/dev/null
}

# JOB: prints the node of the pod for which each claim is reserved, and the nodes of
# the claim's GPUs
places()
{
	table "$claims?labelSelector=aisched.io/job-id=$1" \
		status:reservedFor:name status:allocation:devices:results:pool |
		tr , ' ' | while read -r pod pools; do
			echo "$(table "$api/pods/$pod" spec:nodeName) $pools"
		done
}

# JOB: prints what is wrong with its claims: each of two must have both GPUs of
# the node of its pod
wrong_claims()
{
	places "$1" | awk '
		{ seen[$1]++ }
		NF != 3 || $1 != $2 || $1 != $3 || seen[$1] > 1 { print }
		END { if (NR != 2) print NR " claims" }'
}

# A task of a gang is lost: it moves to another node, as its own is not free yet.
losses()
{
	id=$(aisub --parsable -n 2 --gpus-per-task 2 --nodelist 'more-[0-2]' \
		--on-task-failure replace --wrap true)
	wait_for runs "$id" 2
	arm
	evict "$id" 1
	reaches "a task placed anew" runs "$id" 2
	is "each has the GPUs of its node" "$(wrong_claims "$id")" ""
	is "this is no restart" "$(fields "$id" restarts,attempt | xargs)" "0 1"
	aicancel "$id"
	ok "none of its claims is left" wait_for no_claim_is_left
}
each_call claims
each_call parts
kube_nodes 1 mig 0
kube create -f - >/dev/null <<-END
	{"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice",
	"metadata": {"name": "mig-0"}, "spec": {"driver": "gpu.test",
	"nodeName": "mig-0", "pool": {"name": "mig-0", "generation": 1,
		"resourceSliceCount": 1}, "devices": [$(partitions_of 0 1)]}}
END
has_partitions()
{
	aictl dump | grep '^node mig-0 ' | grep -q 1g.10gb@1
}
ok "a node with partitions is seen" wait_for has_partitions
each_call partitions
kube_nodes 3 more 0
for node in more-0 more-1 more-2; do
	kube_slice $node 1 1 a "gpu-0:$share" "gpu-1:$share"
done
each_call losses

# --- a job shrinks before a pod that has GPUs is bound ------------------------------

# JOB TEXT: whether devices() prints TEXT
devices_are()
{
	[ "$(devices "$1")" = "$2" ]
}

# JOB N: whether N of its tasks are to run
has_tasks()
{
	[ "$(fields "$1" running_tasks)" = "$2" ]
}

four="gpu-0 gpu-0 gpu-1 gpu-1 "
other=$(aisub --parsable --gpus-per-task 2 --nodelist more-1 --wrap true)
ok "a job runs" wait_for runs "$other" 1
id=$(aisub --parsable -n 2 --min-tasks 1 --gpus-per-task 2 \
	--nodelist 'more-[0-1]' --wrap true)
ok "half an elastic job runs beside it" wait_for runs "$id" 1
between say 404 /binding
aicancel "$other"
ok "it grows: a pod has GPUs, and is not bound" wait_for \
	eval "has_tasks $id 2 && devices_are $id \"$four\""
better=$(aisub --parsable --class interactive --gpus-per-task 2 \
	--nodelist more-1 --wrap true)
ok "it must shrink" wait_for has_tasks "$id" 1
between
ok "the GPUs go to the better job" wait_for runs "$better" 1
is "it keeps its others" "$(devices "$id")" "gpu-0 gpu-1 "
is "and runs" "$(fields "$id" state,restarts,attempt | xargs)" "RUNNING 0 1"
aicancel "$better"
ok "it grows again" wait_for has_tasks "$id" 2
ok "and has GPUs" wait_for devices_are "$id" "$four"
aicancel "$id"
ok "no claim is left of it" wait_for no_claim_is_left

# --- one claim for all parts of a GPU -------------------------------------------

# Two jobs share a GPU by one claim, which goes with the second.
shared()
{
	submit_armed --gpus-per-task 0.5 --nodelist whole-0 --wrap true
	id=$new
	reaches "half a GPU" runs "$id" 1
	submit_armed --gpus-per-task 0.5 --nodelist whole-0 --wrap true
	other=$new
	reaches "the other half" runs "$other" 1
	is "they share a claim" "$($k get resourceclaims -o 'jsonpath={range .items[*]}{.status.allocation.devices.results[*].device} {.status.reservedFor[*].resource}{"\n"}{end}')" \
		"gpu-0 pods pods"
	aicancel "$id"
	aicancel "$other"
	ok "it is deleted with the last" wait_for no_claim_is_left
}
stop_daemon
configure_for claims
kube_nodes 1 whole 0
kube_slice whole-0 1 1 a gpu-0:0:0
start_daemon || bail "aischedd does not start with gpu_sharing = claims"
each_call shared

done_testing

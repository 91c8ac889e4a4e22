#!/bin/sh
# Failures of a cluster: admins and users are told, other jobs continue, and
# everything recovers.

. "$top_srcdir/tests/e2e/lib.sh"
. "$top_srcdir/tests/kube/control_plane.sh"

ns="jobs"
k="kube --namespace $ns"

nothing_is_left()
{
	[ -z "$($k get jobs,pods,secrets,services -l aisched.io/cluster=test \
		-o name)" ]
}

well()
{
	! status_has "Pool 'gpu'"
}

# JOB TEXT: whether aiq JOB prints TEXT
says()
{
	aiq "$1" | grep -qF -- "$2"
}

# TEXT: whether the daemon's log contains TEXT
logged()
{
	grep -qF -- "$1" "$log"
}

# JOB [FIELD]: prints a field of its pods, one a line
pods()
{
	$k get pods -l "aisched.io/job-id=$1" -o \
		"jsonpath={range .items[*]}{${2:-.metadata.name}}{'\n'}{end}" |
		sort
}

# JOB COUNT: whether COUNT of its pods run
pods_run()
{
	[ "$(pods "$1" .status.phase | grep -c Running)" -eq "$2" ]
}

# JOB PHASE STATUS: gives its pod this status, as a kubelet would
pod_ends()
{
	$k patch pod "$(pods "$1")" --subresource=status --type=merge \
		-p "{\"status\": {\"phase\": \"$2\", $3}}" >/dev/null
}

# NAME RESOURCE VERB: allows the user "little" to use VERB on RESOURCE
allow()
{
	$k create role "$1" --resource="$2" --verb="$3" >/dev/null &&
		$k create rolebinding "$1" --role="$1" --user=little >/dev/null
}

# JOB: cancels it and tests that it ends and everything made for it is deleted
end()
{
	aicancel "$1"
	ok "it ends" wait_for is_state "$1" CANCELLED
	ok "without a trace" wait_for nothing_is_left
}

ok "a control plane starts" kube_start || bail "there is no control plane"
ok "with nodes" eval "kwok_start && kube_nodes 3 gpu 8"
between_start
kube_user little /CN=little
kube_cert stranger /CN=stranger

# START_TIMEOUT: writes the configuration
configure_for()
{
	configure "
queue default { grace = \"1s\" }
pool here { runner = local }
pool gpu { runner = kubernetes  kubeconfig = \"$kube/used.conf\"
	namespace = \"$ns\"  image = \"local/box:1\"  run_as_root = yes }
scheduling { start_timeout = \"$1\"  node_timeout = \"2s\" }"
}
configure_for 10m
start_daemon || bail "aischedd does not start"

# [OPTION]...: submits a job to the cluster
sub()
{
	aisub --parsable --pool gpu "$@" --wrap true
}

# --- mistakes of the admin --------------------------------------------------

ok "a kubeconfig that is missing is named" wait_for status_has "used.conf'"
id=$(aisub --parsable --pool here --wrap true)
ok "other pools go on" wait_for is_state "$id" COMPLETED
id=$(sub)
ok "jobs for this one wait, and are told" wait_for says "$id" \
	"RunnerDown: the runner of pool 'gpu' is not ready: kubeconfig"

sed "s,$kube/ca.crt,$kube/stranger.crt," "$kube/little.conf" >"$kube/new.conf"
mv "$kube/new.conf" "$kube/used.conf"
ok "then the certificate is refused" wait_for status_has \
	"the certificate of API server '$kube_url' is refused"
ok "of the job, too" wait_for says "$id" "is not ready: the certificate of API server"
ok "and in the log" wait_for logged "the certificate of API server '$kube_url' is"
cp "$kube/little.conf" "$kube/new.conf"
mv "$kube/new.conf" "$kube/used.conf"
ok "then the right to look at nodes is missing" wait_for status_has \
	"user 'little' may not list nodes; allow it with the rule {apiGroups: \
[\"\"], resources: [nodes], verbs: [list]}"
kube create clusterrole see --resource=nodes,pods,jobs.batch \
	--verb=list,watch >/dev/null
kube create clusterrolebinding see --clusterrole=see --user=little >/dev/null
kube create clusterrole lease --resource=leases.coordination.k8s.io \
	--verb=get,create,update >/dev/null
kube create clusterrolebinding lease --clusterrole=lease --user=little \
	>/dev/null
ok "then it is the namespace" wait_for status_has 'namespaces "jobs" not found'
ok "which the job is told" wait_for says "$id" 'namespaces "jobs" not found'
kube create namespace "$ns" >/dev/null
ok "then the right to make Jobs" wait_for says "$id" \
	"user 'little' may not create jobs in namespace 'jobs'; allow it with"
ok "which the status says, too" wait_for status_has "may not create jobs"
allow make jobs.batch create,get,delete
allow bind pods/binding create
ok "then Secrets" wait_for says "$id" "may not create secrets"
allow hide secrets,services create
ok "with that, it runs" wait_for is_state "$id" RUNNING
ok "last, volumes cannot be seen" wait_for status_has \
	"may not list persistentvolumeclaims"
kube create clusterrole volumes --verb=list,watch --resource=\
persistentvolumeclaims,persistentvolumes,storageclasses.storage.k8s.io >/dev/null
kube create clusterrolebinding volumes --clusterrole=volumes --user=little \
	>/dev/null
ok "and GPUs that drivers tell" wait_for status_has \
	"may not list resourceslices"
kube create clusterrole devices --verb=list,watch --resource=\
resourceslices.resource.k8s.io,resourceclaims.resource.k8s.io,\
deviceclasses.resource.k8s.io >/dev/null
kube create clusterrolebinding devices --clusterrole=devices --user=little \
	>/dev/null
ok "and all is well" wait_for well

aicancel "$id"
ok "it may not be ended: that is said of the job" wait_for says "$id" \
	"user 'little' may not patch pods"
ok "in the status" wait_for status_has "may not patch pods"
ok "and in the log" logged "may not patch pods"
is "it has not ended" "$(state_of "$id")" COMPLETING
allow stop pods patch,delete
ok "until it may" wait_for is_state "$id" CANCELLED
ok "without a trace" wait_for nothing_is_left
ok "all is well again" wait_for well

# --- faults of the API server ------------------------------------------------

cp "$kube/between.conf" "$kube/new.conf"
mv "$kube/new.conf" "$kube/used.conf"
between say 200 /version
# shellcheck disable=SC2119
restart || bail "aischedd does not start again"
ok "a server that is too old is told" wait_for status_has \
	"the cluster is Kubernetes 1.27, which is too old: 1.29 or newer is"
id=$(sub)
ok "and the job" wait_for says "$id" "which is too old: 1.29 or newer"
between
ok "until it is newer" wait_for is_state "$id" RUNNING
end "$id"

between late 403 storageclasses
# shellcheck disable=SC2119
restart || bail "aischedd does not start again"
ok "the last answer is that it may not list classes of volumes" \
	wait_for status_has "storageclass"
id=$(sub)
ok "a job without volumes runs" wait_for is_state "$id" RUNNING
between
end "$id"

# CALLS: whether the proxy has logged that many calls
called()
{
	[ "$(wc -l <"$kube/between.calls")" -ge "$1" ]
}

# Mute the watch for longer than the daemon tolerates.
between mute "GET /api/v1/nodes?watch"
kube cordon gpu-1 >/dev/null
ok "the watch of nodes says nothing any more" wait_for called 1
between

# --- objects of others -------------------------------------------------------

$k create quota none --hard=count/jobs.batch=0 >/dev/null
quota_counts()
{
	$k get quota none -o jsonpath='{.status.used}' | grep -q .
}
wait_for quota_counts
id=$(sub)
ok "a quota on Jobs is a reason to wait" wait_for says "$id" "exceeded quota"
ok "no more than that" wait_for is_state "$id" PENDING
$k delete quota none >/dev/null
ok "until there is none" wait_for is_state "$id" RUNNING
end "$id"

allow why events list
$k create quota none --hard=pods=0 >/dev/null
wait_for quota_counts
id=$(sub)
ok "so is one on pods" wait_for says "$id" "exceeded quota: none"
$k delete quota none >/dev/null
ok "until there is none" wait_for is_state "$id" RUNNING
end "$id"

name=aj-test-$((id + 1))
for attempt in 1 2 3; do
	$k create job "$name-$attempt" --image=theirs >/dev/null
done
name=$name-3
id=$(sub)
ok "a Job of that name that is not ours is named" wait_for logged \
	"Job '$name' in namespace 'jobs' exists and is not ours: delete it"
ok "also of the job, as long as it waits" wait_for logged \
	"job wait job=$id attempt=3: Job '$name' in namespace 'jobs' exists"
ok "the next attempt runs" wait_for is_state "$id" RUNNING
is "theirs is left alone" "$($k get job "$name" \
	-o 'jsonpath={.spec.template.spec.containers[0].image}')" theirs

# Forge a Job: it has the labels and the pods of a Job of aischedd, but aischedd
# did not make it.
$k get job "aj-test-$id-4" -o json | sed -e "s,\"aj-test-$id-4\",\"forged\",
	/\"\(uid\|controller-uid\|batch.kubernetes.io.controller-uid\)\":/d" |
	$k create -f - >/dev/null
forged()
{
	pods "$id" | grep forged
}
ok "pods are forged" wait_for forged
aicancel "$id"
ok "our own end" wait_for is_state "$id" CANCELLED
is "a pod that only says it is ours is left alone" "$($k get pod "$(forged)" \
	-o 'jsonpath={.spec.nodeName}{.spec.activeDeadlineSeconds}')" ""
is "and so is a Job" "$($k get job forged \
	-o 'jsonpath={.metadata.name}{.metadata.deletionTimestamp}')" forged
$k delete job forged "aj-test-$id-1" "aj-test-$id-2" "$name" >/dev/null

between slow 2000
id=$(sub)
ok "each call takes two seconds: a job runs" wait_for is_state "$id" RUNNING
aicancel "$id"
ok "and ends" wait_for is_state "$id" CANCELLED
between

for code in 429 500 503 409; do
	wait_for nothing_is_left
	between say "$code" POST
	id=$(sub)
	ok "it is answered with $code, and asked again" wait_for called 2
	between
	ok "until the job runs" wait_for is_state "$id" RUNNING
	aicancel "$id"
done
between say 422 jobs
id=$(sub)
ok "what is wrong is not tried again" wait_for is_state "$id" FAILED
like "but told" "$(aiq "$id")" "trouble on request"
between


# --- states of pods ----------------------------------------------------------

ended='"containerStatuses": [{"name": "job", "image": "a", "imageID": "",
	"ready": false, "restartCount": 0, "state": {"terminated":
	{"exitCode": 0, "reason": "OOMKilled"}}}]'
id=$(sub)
ok "a job runs" wait_for pods_run "$id" 1
pod_ends "$id" Succeeded "$ended"
ok "some process of it had no memory: that is its end" \
	wait_for is_state "$id" OUT_OF_MEMORY

id=$(sub --requeue)
wait_for pods_run "$id" 1
pod_ends "$id" Failed '"reason": "Evicted", "message":
	"Pod ephemeral local storage usage exceeds the total limit of containers 1Gi. "'
ok "one stores too much: it fails, and does not start again" \
	wait_for is_state "$id" FAILED
is "which is the reason" "$(aiq --no-header -o reason "$id")" OutOfDisk
like "and is told" "$(aiq "$id")" "exceeds the total limit of containers 1Gi"

id=$(sub --no-requeue)
wait_for pods_run "$id" 1
pod_ends "$id" Failed '"reason": "Evicted", "message": "low on disk"'
ok "one is evicted" wait_for is_state "$id" NODE_FAIL
like "and is told why" "$(aiq "$id")" "Evicted: low on disk"
id=$(sub --requeue)
wait_for pods_run "$id" 1
pod_ends "$id" Failed '"reason": "Evicted", "message": "low on disk"'
restarted()
{
	[ "$(aiq --no-header -o restarts "$1")" = "$2" ]
}
ok "one that may starts again" eval \
	"wait_for restarted $id 1 && wait_for pods_run $id 1"
end "$id"

id=$(sub --no-requeue)
wait_for pods_run "$id" 1
$k delete job "aj-test-$id-1" >/dev/null
ok "somebody deletes a Job" wait_for is_state "$id" NODE_FAIL
like "which is told" "$(aiq "$id")" "was deleted"

# A kubelet that does not end the pod.
id=$(sub --no-requeue)
wait_for pods_run "$id" 1
$k annotate pod "$(pods "$id")" sim.aisched.io/deaf=yes >/dev/null
aicancel "$id"
job_is_gone()
{
	! $k get job "aj-test-$1-1"
}
ok "a node does not end a job: it is deleted" wait_for job_is_gone "$id"
ok "then its pod is, whatever the node says" wait_for is_state "$id" CANCELLED
ok "without a trace" wait_for nothing_is_left

# The start times out while all pods are bound but only one of them runs.
part_hang kwok
id=$(sub -n 2 -N 2 --requeue)
bound()
{
	[ "$(pods "$1" .spec.nodeName | grep -c .)" -eq 2 ]
}
wait_for bound "$id"
runs=$(pods "$id" | head -n 1)
late=$(pods "$id" | sed -n 2p)
late_node=$($k get pod "$late" -o 'jsonpath={.spec.nodeName}')
$k patch pod "$runs" --subresource=status --type=merge -p '{"status": {
	"phase": "Running", "containerStatuses": [{"name": "job", "image": "a",
	"imageID": "", "ready": true, "restartCount": 0, "state": {"running":
	{"startedAt": "2026-01-01T00:00:00Z"}}}]}}' >/dev/null
configure_for 1s
aictl reload
asked_to_leave()
{
	[ "$(pods "$1" '.metadata.annotations.aisched\.io/leave' |
		grep -c "$2")" -eq 2 ]
}
ok "a gang that does not run in time is taken down" \
	wait_for asked_to_leave "$id" start
is "also the one that runs, with its grace" "$($k get pod "$runs" -o \
	'jsonpath={.spec.activeDeadlineSeconds}{.metadata.deletionTimestamp}')" 1
is "it waits for the end of both" "$(state_of "$id")" CONFIGURING
part_wake kwok
ok "and says which pod was late" wait_for logged "job wait job=$id attempt=1:\
 1 of 2 pods did not run within 1 s, the first $late on node"
ok "and blames its node alone" logged \
	"job=$id attempt=1 node=$late_node tasks=1: 1 of 2 pods did not run"
configure_for 10m
aictl reload
ok "it starts again, whole" eval \
	"wait_for is_state $id RUNNING && wait_for pods_run $id 2"
is "without a trace of the first" "$(pods "$id" |
	grep -c -e "$late" -e "$runs")" 0

# --- states of nodes ---------------------------------------------------------

node_is()
{
	aiq --nodes --no-header -o name,state | grep "^$1 " | grep -qi "$2"
}
deadline_s=$((deadline_s * 2))
ok "the watch that is silent is noticed, and what it does not say known" \
	wait_for node_is gpu-1 drain
deadline_s=$((deadline_s / 2))
kube uncordon gpu-1 >/dev/null
ok "another goes on" wait_for node_is gpu-1 idle

# The kubelet of the node has stopped answering.
part_hang kwok
kube patch node "$(pods "$id" .spec.nodeName | head -n 1)" \
	--subresource=status --type=merge -p '{"status": {"conditions":
		[{"type": "Ready", "status": "Unknown", "message": "silent"}]}}' \
	>/dev/null
ok "a node is not ready for too long: the gang is lost" \
	wait_for restarted "$id" 1
ok "it is told so" logged "the node is lost"
part_wake kwok
ok "and runs elsewhere, or again" eval \
	"wait_for is_state $id RUNNING && wait_for pods_run $id 2"
end "$id"

id=$(sub -n 2 --gpus-per-task 8 -w gpu-0,gpu-1)
ok "on two nodes" wait_for is_state "$id" RUNNING
kube delete node gpu-1 >/dev/null
ok "one of which is removed" wait_for is_state "$id" NODE_FAIL
like "it says so" "$(aiq "$id")" "gpu-1"
ok "nothing is left" wait_for nothing_is_left
kube_nodes 1 other 8

# --- the API server goes away -----------------------------------------------

id=$(sub)
wait_for is_state "$id" RUNNING
between cut 100 watch=1
pod=$(pods "$id")
$k annotate pod "$pod" a=b >/dev/null
kube annotate node gpu-0 a=b >/dev/null
between say 410 watch=1
pod_ends "$id" Failed "$(echo "$ended" | sed 's/0, "reason.*"/7/')"
ok "news that break off are listed anew" wait_for is_state "$id" FAILED
is "and nothing was missed" "$(aiq --no-header -o exit "$id")" 7
between

id=$(sub)
ok "a job runs" wait_for is_state "$id" RUNNING
part_kill etcd
late=$(sub)
etcd_start
ok "etcd was away: the next runs as well" wait_for is_state "$late" RUNNING
aicancel "$late"
part_hang apiserver
ok "the API server hangs: the job runs on" is_state "$id" RUNNING
part_wake apiserver
part_kill apiserver
part_kill etcd
part_kill controllers
ok "then it is gone" wait_for status_has "cannot be reached"
late=$(sub)
ok "which is told of a job that is to start" \
	wait_for says "$late" "cannot be reached"
etcd_start
# shellcheck disable=SC2119
apiserver_start
# shellcheck disable=SC2119
controllers_start
ok "it is back, with its database" wait_for well
aicancel "$late"
is "the job has run all the time" "$(aiq --no-header -o state,restarts "$id" |
	tr -s ' ')" "RUNNING 0"
end "$id"

# --- credentials -------------------------------------------------------------

$k create serviceaccount daemon >/dev/null
kube create clusterrolebinding daemon --clusterrole=cluster-admin \
	--serviceaccount="$ns:daemon" >/dev/null

# NAME: prints a token that is valid until the Secret with that name is deleted
token()
{
	$k create secret generic "$1" >/dev/null
	$k create token daemon --bound-object-kind Secret \
		--bound-object-name "$1" >"$kube/token.new"
	mv "$kube/token.new" "$kube/token"
}
token first
kube_config "$kube/new.conf" "{\"tokenFile\": \"$kube/token\"}"
mv "$kube/new.conf" "$kube/used.conf"
# shellcheck disable=SC2119
restart || bail "aischedd does not start again"
id=$(sub)
ok "with a token" wait_for is_state "$id" RUNNING
$k delete secret first >/dev/null
ok "that no longer holds" wait_for status_has \
	"does not accept the credentials of user 'user'"
is "the job runs on" "$(state_of "$id")" RUNNING
token second
ok "until there is a new one" wait_for well
end "$id"

done_testing

#!/bin/sh
# Volumes of jobs: on which nodes claims can be mounted, by how many pods, and
# claims whose volume is made once the node is known. A few lines here replace
# the provisioner.
# shellcheck disable=SC2016 # wait_for expands

. "$top_srcdir/tests/e2e/lib.sh"
. "$top_srcdir/tests/kube/control_plane.sh"

ns="jobs"
k="kube --namespace $ns"

# NAME CLASS MODE [VOLUME]: makes a claim
claim()
{
	$k create -f - >/dev/null <<-END
		{"apiVersion": "v1", "kind": "PersistentVolumeClaim",
		"metadata": {"name": "$1"}, "spec": {"accessModes": ["$3"],
		"storageClassName": "$2", "volumeName": "${4-}",
		"resources": {"requests": {"storage": "1Mi"}}}}
	END
}

# NAME CLASS MODE NODE [CLAIM]: makes a volume that can be reached from one
# node, or from any if NODE is ""
volume()
{
	volume_more=
	[ -z "$4" ] || volume_more="\"nodeAffinity\": {\"required\":
		{\"nodeSelectorTerms\": [{\"matchExpressions\": [{
		\"key\": \"kubernetes.io/hostname\", \"operator\": \"In\",
		\"values\": [\"$4\"]}]}]}},"
	[ -z "${5-}" ] || volume_more="$volume_more \"claimRef\":
		{\"namespace\": \"$ns\", \"name\": \"$5\"},"
	kube create -f - >/dev/null <<-END
		{"apiVersion": "v1", "kind": "PersistentVolume",
		"metadata": {"name": "$1"}, "spec": {"accessModes": ["$3"],
		"storageClassName": "$2", "capacity": {"storage": "1Mi"},
		$volume_more "hostPath": {"path": "/tmp"}}}
	END
}

# NAME PROVISIONER MODE: makes a StorageClass
class()
{
	kube create -f - >/dev/null <<-END
		{"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
		"metadata": {"name": "$1"}, "provisioner": "$2",
		"volumeBindingMode": "$3"}
	END
}

# CLAIM: prints the node that was selected for its volume
selected()
{
	$k get pvc "$1" -o \
		'jsonpath={.metadata.annotations.volume\.kubernetes\.io/selected-node}'
}

# CLAIM PHASE: whether the claim has that phase
claim_is()
{
	[ "$($k get pvc "$1" -o 'jsonpath={.status.phase}')" = "$2" ]
}

# JOB: prints the nodes of its pods
nodes()
{
	$k get pods -l "aisched.io/job-id=$1" -o \
		'jsonpath={range .items[*]}{.spec.nodeName}{"\n"}{end}' | sort -u
}

# CLAIM [OPTION]...: submits a job that mounts it
sub()
{
	sub_claim=$1
	shift
	aisub --parsable --mount "pvc:$sub_claim:/data" "$@" --wrap true
}

# JOB TEXT: whether it waits for a volume, and aiq JOB prints TEXT
waits_for()
{
	[ "$(aiq -h -o reason "$1")" = Volume ] && aiq "$1" | grep -qF -- "$2"
}

# NAME JOB TEXT: tests that the job waits for a volume with TEXT
waits()
{
	ok "$1" wait_for waits_for "$2" "$3" || diag "$(aiq "$2")"
}

runs()
{
	ok "$1" wait_for is_state "$2" RUNNING || diag "$(aiq "$2")"
}

ok "a control plane starts" kube_start || bail "there is no control plane"
ok "with nodes" eval "kwok_start && kube_nodes 4 gpu 8"
for i in 0 1 2 3; do
	kube label --overwrite node "gpu-$i" kubernetes.io/hostname="gpu-$i" \
		>/dev/null
done
kube create namespace "$ns" >/dev/null
configure "
queue default { grace = \"1s\" }
pool gpu { runner = kubernetes  kubeconfig = \"$kube/admin.conf\"
	namespace = \"$ns\"  image = \"local/box:1\"  run_as_root = yes
	order = spread  allow_mounts = {\"pvc:*\"} }
scheduling { start_timeout = \"60s\" }"
start_daemon || bail "aischedd does not start"

# --- claims that are bound -----------------------------------------------------

id=$(sub data)
waits "a claim that is not there" "$id" \
	"there is no volume claim 'data' in pool 'gpu'"
other=$(aisub --parsable --wrap true)
runs "keeps nobody else" "$other"
claim data "" ReadWriteMany pv-data
waits "one without its volume" "$id" "volume claim 'data' is not bound"
volume pv-data "" ReadWriteMany gpu-2 data
runs "a claim that is bound is mounted" "$id"
is "where its volume is" "$(nodes "$id")" gpu-2
gang=$(sub data -n 3)
runs "a gang" "$gang"
is "is there as well" "$(nodes "$gang")" gpu-2
fails "elsewhere it could never be" 1 "it excludes all nodes that it could use" \
	aisub --mount pvc:data:/data --exclude gpu-2 --wrap true
aicancel --wait "$id" "$gang" "$other"

volume pv-far "" ReadWriteMany mars
claim far "" ReadWriteMany pv-far
ok "a volume of no node" wait_for claim_is far Bound
id=$(sub far)
waits "is told" "$id" \
	"volume claim 'far' is on a volume that no node of pool 'gpu' reaches"
aicancel --wait "$id"
kube delete pv pv-far --wait=false >/dev/null
kube patch pv pv-far -p '{"metadata": {"finalizers": null}}' >/dev/null
ok "a claim that lost its volume" wait_for claim_is far Lost
id=$(sub far)
waits "likewise" "$id" "volume claim 'far' has lost its volume"
aicancel --wait "$id"

# --- claims for one node or one pod ---------------------------------------------

volume pv-once "" ReadWriteOnce ""
claim once "" ReadWriteOnce pv-once
ok "a claim for one node" wait_for claim_is once Bound
first=$(sub once -n 2)
runs "a gang mounts it" "$first"
is "on one node" "$(nodes "$first" | wc -l)" 1
at=$(nodes "$first")
second=$(sub once)
runs "a second job" "$second"
is "follows it" "$(nodes "$second")" "$at"
away=$(sub once --exclude "$at")
waits "one that may not waits" "$away" \
	"has it on node '$at'"
many=$(sub once -n 2 -N 2)
waits "one that wants two nodes" "$many" \
	"volume claim 'once' is ReadWriteOnce, but the job asks for 2 nodes"
aicancel --wait "$first" "$second" "$many"
runs "that runs elsewhere later" "$away"
unlike "on another node" "$(nodes "$away")" "$at"
aicancel --wait "$away"
both=$(aisub --parsable --array 0-3 --mount pvc:once:/data --wrap true)
ok "tasks of an array" wait_for eval \
	'[ "$(aiq -h -o state '"$both"' | grep -c RUNNING)" = 4 ]'
one_node()
{
	[ "$($k get pods -o 'jsonpath={range .items[*]}{.spec.nodeName}{"\n"}{end}' |
		sort -u | wc -l)" = 1 ]
}
ok "share its node" wait_for one_node
aicancel --wait "$both"

volume pv-pod "" ReadWriteOncePod ""
claim pod "" ReadWriteOncePod pv-pod
ok "a claim for one pod" wait_for claim_is pod Bound
first=$(sub pod)
runs "a job mounts it" "$first"
second=$(sub pod)
waits "another waits" "$second" \
	"volume claim 'pod' is ReadWriteOncePod, and job $first uses it"
many=$(sub pod -n 2)
waits "a gang cannot" "$many" "but the job has 2 tasks"
kill_daemon
start_daemon || bail "aischedd does not come back"
waits "after a restart, too" "$second" "job $first uses it"
aicancel --wait "$first"
runs "then it is its turn" "$second"
aicancel --wait "$second" "$many"

$k create -f - >/dev/null <<-END
	{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "stranger"},
	"spec": {"nodeName": "gpu-1", "tolerations": [{"operator": "Exists"}],
	"containers": [{"name": "a", "image": "a", "resources":
	{"requests": {"cpu": 3}}}], "volumes": [{"name": "v",
	"persistentVolumeClaim": {"claimName": "once"}}, {"name": "w",
	"persistentVolumeClaim": {"claimName": "pod"}}]}}
END
ok "a pod of others runs" wait_for eval \
	'aiq --nodes -h -o name,cpus_free | tr -s " " | grep -qx "gpu-1 61"'
id=$(sub pod)
waits "it has the claim" "$id" \
	"volume claim 'pod' is ReadWriteOncePod, and pod 'stranger' uses it"
id2=$(sub once)
runs "or has its node" "$id2"
is "where it goes" "$(nodes "$id2")" gpu-1
$k delete pod stranger --grace-period=0 --force >/dev/null 2>&1
runs "it is gone" "$id"
aicancel --wait "$id" "$id2"

# --- volumes made for the first pod ----------------------------------------------

class late test/none WaitForFirstConsumer
class never kubernetes.io/no-provisioner WaitForFirstConsumer
class now test/none Immediate
claim scratch late ReadWriteOnce
claim static never ReadWriteOnce
claim eager now ReadWriteOnce
claim lacking nosuch ReadWriteOnce
id=$(sub static)
waits "a class that makes no volume" "$id" \
	"StorageClass 'never' makes none, and no free one suits it"
id2=$(sub eager)
waits "one that makes it at once" "$id2" "StorageClass 'now' makes one at once"
id3=$(sub lacking)
waits "one that is not there" "$id3" "its StorageClass 'nosuch' is not there"
aicancel --wait "$id" "$id2" "$id3"

id=$(sub scratch -n 2)
ok "a class that waits for the first pod is told its node" wait_for eval \
	'[ -n "$(selected scratch)" ]'
at=$(selected scratch)
ok "the job waits" is_state "$id" CONFIGURING
ok "and says for what" wait_for eval "aiq $id | grep -q \
	\"volume claim 'scratch' waits for its volume on node '$at'\""
is "its pods have no node" "$(nodes "$id")" ""
kill_daemon
start_daemon || bail "aischedd does not come back"
volume pv-scratch late ReadWriteOnce "$at" scratch
runs "when it is made, the job runs" "$id"
is "there" "$(nodes "$id")" "$at"
aicancel --wait "$id"
id=$(sub scratch)
runs "the next one" "$id"
is "is there, too" "$(nodes "$id")" "$at"
aicancel --wait "$id"

claim broken late ReadWriteOnce
id=$(sub broken)
ok "a provisioner that cannot" wait_for eval '[ -n "$(selected broken)" ]'
$k annotate pvc broken volume.kubernetes.io/selected-node- >/dev/null
ok "fails the start, which is told" wait_for eval \
	'grep -q "start_failed job=$id .*no volume could be made for its claims" "$log"'
ok "it is tried again" wait_for eval '[ -n "$(selected broken)" ]'
volume pv-broken late ReadWriteOnce "$(selected broken)" broken
runs "and runs" "$id"
aicancel --wait "$id"

claim moved late ReadWriteOnce
id=$(sub moved)
ok "a volume that is made elsewhere" wait_for eval '[ -n "$(selected moved)" ]'
case $(selected moved) in
gpu-0) elsewhere=gpu-1 ;;
*) elsewhere=gpu-0 ;;
esac
volume pv-moved late ReadWriteOnce "$elsewhere" moved
runs "takes the job along" "$id"
is "to its node" "$(nodes "$id")" "$elsewhere"
aicancel --wait "$id"

# --- volumes that admins made ----------------------------------------------------

id=$(sub static)
waits "no volume is free" "$id" "no free one suits it"
kube create -f - >/dev/null <<END
	{"apiVersion": "v1", "kind": "PersistentVolume",
	"metadata": {"name": "pv-small"}, "spec": {"capacity": {"storage": "1Ki"},
	"accessModes": ["ReadWriteOnce"], "storageClassName": "never",
	"hostPath": {"path": "/tmp"}}}
END
volume pv-shared never ReadOnlyMany gpu-1
volume pv-kept never ReadWriteOnce gpu-2 somebody
volume pv-far never ReadWriteOnce mars
ok "nor one that suits" is_state "$id" PENDING
volume pv-disk1 never ReadWriteOnce gpu-3
runs "with one that does" "$id"
is "it runs where that is" "$(nodes "$id")" gpu-3
is "and has it" "$($k get pvc static -o 'jsonpath={.spec.volumeName}')" pv-disk1
claim static2 never ReadWriteOnce
claim static3 never ReadWriteOnce
id2=$(sub static2 --hold)
id3=$(sub static3 --hold)
volume pv-disk2 never ReadWriteOnce gpu-3
volume pv-disk3 never ReadWriteOnce gpu-3
ok "more of them" wait_for eval \
	'[ "$(kube get pv pv-disk3 -o "jsonpath={.status.phase}")" = Available ]'
aictl release "$id2" "$id3"
runs "one" "$id2"
runs "and one" "$id3"
is "each has its own" "$($k get pvc static2 static3 -o \
	'jsonpath={range .items[*]}{.spec.volumeName} {.status.phase}{"\n"}{end}' |
	sort | xargs)" "pv-disk2 Bound pv-disk3 Bound"
aicancel --wait "$id" "$id2" "$id3"

# --- Jobs made with kubectl ---------------------------------------------------------

claim theirs late ReadWriteOnce
# NAME CLAIM: creates a Job that mounts the claim
their_job()
{
	$k create -f - >/dev/null <<-END
		{"apiVersion": "batch/v1", "kind": "Job", "metadata":
		{"name": "$1", "labels": {"aisched.io/queue": "default"}},
		"spec": {"suspend": true, "template": {"spec": {
		"schedulerName": "aisched", "restartPolicy": "Never",
		"terminationGracePeriodSeconds": 1,
		"containers": [{"name": "a", "image": "a"}],
		"volumes": [{"name": "v", "persistentVolumeClaim":
		{"claimName": "$2"}}]}}}}
	END
}
their_job bound data
their_job unbound theirs
# NAME: prints the nodes of the Job's pods
their_nodes()
{
	$k get pods -l "job-name=$1" -o 'jsonpath={.items[*].spec.nodeName}'
}
ok "one that mounts a claim" wait_for eval '[ "$(their_nodes bound)" = gpu-2 ]'
ok "one whose volume is to be made" wait_for eval '[ -n "$(selected theirs)" ]'
is "waits" "$(their_nodes unbound)" ""
volume pv-theirs late ReadWriteOnce "$(selected theirs)" theirs
ok "and runs where it is" wait_for eval \
	'[ "$(their_nodes unbound)" = "$(selected theirs)" ]'
$k delete job bound unbound >/dev/null

# --- a daemon without rights for volumes ----------------------------------------------

stop_daemon
kube create serviceaccount little --namespace "$ns" >/dev/null
kube create -f - >/dev/null <<-END
	{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
	"metadata": {"name": "little"}, "rules": [
	{"apiGroups": [""], "resources": ["nodes", "pods", "pods/binding",
		"secrets", "services", "pods/log"], "verbs": ["*"]},
	{"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["*"]},
	{"apiGroups": ["coordination.k8s.io"], "resources": ["leases"],
		"verbs": ["*"]}]}
END
kube create clusterrolebinding little --clusterrole=little \
	--serviceaccount="$ns:little" >/dev/null
kube_account "$ns" little "$kube/little.conf"
sed -i 's/admin.conf/little.conf/' "$conf"
# It is the same cluster: say so, as jobs run there.
rm "$dir/state/pools/gpu"
start_daemon || bail "aischedd does not start"
id=$(sub data)
waits "claims that may not be read" "$id" \
	"the volume claims of pool 'gpu' are not known"
like "are a line at the pool" "$(aictl status)" \
	"Pool 'gpu': .*may not list (persistentvolume|storageclass)"
other=$(aisub --parsable --wrap true)
runs "jobs without volumes run" "$other"
aicancel --wait "$id" "$other"

done_testing

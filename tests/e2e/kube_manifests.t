#!/bin/sh
# The manifests of contrib/kubernetes: the API server accepts them, their
# policies keep others from bypassing the queue, and they allow the daemon
# exactly what it needs.

. "$top_srcdir/tests/e2e/lib.sh"
. "$top_srcdir/tests/kube/control_plane.sh"

manifests=$top_srcdir/contrib/kubernetes
ns=aisched-jobs
daemon=system:serviceaccount:aisched-system:aischedd

# JOB: prints its pods, one per line
pods()
{
	kube --namespace "$ns" get pods -l "aisched.io/job-id=$1" -o name
}

nothing_is_left()
{
	[ -z "$(kube --namespace "$ns" get jobs,pods,secrets,services -o name)" ]
}

# USER SPEC LABELS POD_SPEC [POD_LABELS [ANNOTATIONS]]: whether the user may
# make a Job with these values; with a dry run
try_job()
{
	kube --namespace "$ns" --as "$1" create --dry-run=server -f - <<-END
		{"apiVersion": "batch/v1", "kind": "Job",
		"metadata": {"name": "try", "labels": {$3},
			"annotations": {${6-}}},
		"spec": {$2 "template": {"metadata": {"labels": {${5-}}},
			"spec": {"restartPolicy": "Never", $4
			"containers": [{"name": "a", "image": "a"}]}}}}
	END
}

# USER NAMESPACE LABELS SPEC [ANNOTATIONS [METADATA]]: whether the user may make a
# pod with these values
try_pod()
{
	kube --namespace "$2" --as "$1" create --dry-run=server -f - <<-END
		{"apiVersion": "v1", "kind": "Pod",
		"metadata": {"name": "try", "labels": {$3}, ${6-}
			"annotations": {${5-}}},
		"spec": {$4 "containers": [{"name": "a", "image": "a"}]}}
	END
}

# NAME TEXT COMMAND [WORD]...: tests that the policies refuse the command with
# TEXT
denied()
{
	denied_name=$1
	denied_text=$2
	shift 2
	run "$@"
	[ "$rc" -ne 0 ] || err="it was allowed"
	like "$denied_name" "$err" "denied request: .*$denied_text"
}

# Prints how many requests of any user were forbidden so far.
forbidden()
{
	kube get --raw /metrics | awk '
		/^authorization_attempts_total/ && !/"allowed"/ { n += $2 }
		END { print n + 0 }'
}

# NAME yes|no VERB WHAT [OPTION]...: tests that the daemon has (yes) or lacks
# (no) the right to VERB WHAT
may()
{
	may_name=$1
	may_want=$2
	shift 2
	is "$may_name" "$(kube auth can-i --as "$daemon" "$@" 2>/dev/null)" \
		"$may_want"
}

ok "a control plane starts" kube_start || bail "there is no control plane"
ok "with nodes" eval "kwok_start && kube_nodes 2 gpu 8"

# --- the manifests are valid ------------------------------------------------

ok "the namespaces are made" kube apply --server-side \
	-f "$manifests/namespaces.yaml"
ok "all of it is taken on trial" kube apply --server-side --dry-run=server \
	--validate=strict -k "$manifests"
ok "and in earnest" kube apply --server-side --validate=strict -k "$manifests"
kube --namespace aisched-system create secret generic munge-key \
	--from-file="munge.key=$dir/munge/key" >/dev/null
daemon_pod_is_there()
{
	kube --namespace aisched-system get pod aischedd-0
}
ok "the pod of the daemon is admitted" wait_for daemon_pod_is_there
ok "its configuration is right" "$aischedd" --check-config \
	-c "$manifests/aischedd.conf"

policies_are_read()
{
	[ "$(kube get validatingadmissionpolicies -o \
		'jsonpath={.items[*].status.observedGeneration}')" = "1 1 1 1 1 1" ]
}
ok "its policies are read" wait_for policies_are_read
is "without a warning" "$(kube get validatingadmissionpolicies -o \
	'jsonpath={.items[*].status.typeChecking.expressionWarnings}')" ""

# FIRST LAST: prints the commands of README.md from a line that begins with
# FIRST to one that begins with LAST
shown()
{
	sed -n "/^    $1/,/^    .*$2/s/^    //p" "$manifests/README.md"
}
mkdir -p "$dir/site/aisched/contrib"
cp -R "$manifests" "$dir/site/aisched/contrib/kubernetes"
echo '#ours' | cat "$manifests/aischedd.conf" - >"$dir/site/aischedd.conf"
shown '# kustomization.yaml' disableNameSuffixHash \
	>"$dir/site/kustomization.yaml"
run "$kube_bin/kubectl" kustomize "$dir/site"
like "a site has an image of its own" "$out" \
	"image: registry.example/aisched:v1"
like "and a configuration" "$out" '#ours'

# --- what other users may do ------------------------------------------------

# alice has the rights of an admin in every namespace, but may not change nodes.
# She also has the rights whose use the policies forbid.
kube create clusterrole pods-anyhow --verb=get,create,update,patch \
	--resource=pods/binding,pods/resize,resourceclaims/status \
	--resource=resourceclaims,resourceclaims/binding >/dev/null
for role in admin pods-anyhow; do
	kube create clusterrolebinding "alice-$role" --clusterrole="$role" \
		--user=alice >/dev/null
done
kube create clusterrolebinding root --clusterrole=cluster-admin \
	--user=root >/dev/null
queue='"aisched.io/queue": "vision"'
suspend='"suspend": true,'
ours='"schedulerName": "aisched",'

# Makes a Job of alice that has a finalizer and is being deleted
make_ending()
{
	kube --namespace "$ns" --as alice create -f - >/dev/null <<-END
		{"apiVersion": "batch/v1", "kind": "Job", "metadata": {
			"name": "ends", "labels": {$queue},
			"finalizers": ["example.com/stay"]},
		"spec": {"suspend": true, "template": {"spec": {$ours
			"restartPolicy": "Never",
			"containers": [{"name": "a", "image": "a"}]}}}}
	END
	kube --namespace "$ns" --as alice delete job ends --wait=false >/dev/null
}

# KIND NAME [LABELS [ANNOTATIONS]]: whether alice may make such an object
try_object()
{
	case $1 in
	Service) object_rest=', "spec": {"ports": [{"port": 80}]}' ;;
	ResourceClaim) object_rest=", $claim_spec" ;;
	*) object_rest= ;;
	esac
	[ "$1" = ResourceClaim ] && object_api=resource.k8s.io/v1 || object_api=v1
	kube --namespace "$ns" --as alice create --dry-run=server -f - <<-END
		{"apiVersion": "$object_api", "kind": "$1", "metadata": {
			"name": "$2", "labels": {${3-}},
			"annotations": {${4-}}} $object_rest}
	END
}
claim_spec='"spec": {"devices": {"requests": [{"name": "gpus", "exactly":
	{"deviceClassName": "gpu.test"}}]}}'

# Make a pod that the policies take for a pod of a Job; it stays pending.
controller=system:serviceaccount:kube-system:job-controller
kube --namespace "$ns" --as "$controller" create -f - >/dev/null <<-END
	{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "waits"},
	"spec": {"schedulerName": "aisched", "containers": [{"name": "a",
		"image": "a", "resources": {"requests": {"cpu": "1"}}}]}}
	END
echo '{"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "waits"},
	"target": {"kind": "Node", "name": "gpu-0"}}' >binding

# USER: whether the user may bind a pod; with a dry run
try_bind()
{
	kube --as "$1" create -f binding \
		--raw "/api/v1/namespaces/$ns/pods/waits/binding?dryRun=All"
}

# Whether the policies refuse one request of each kind.
policies_hold()
{
	! try_bind alice && ! try_pod alice "$ns" '' '' &&
		! try_job alice "$suspend" '' "$ours" &&
		! try_pod alice default '' '"tolerations":
			[{"key": "aisched.io/dedicated", "operator": "Exists"}],'
}
ok "the policies are in force" wait_for policies_hold
ok "a Job that waits in a queue is allowed" \
	try_job alice "$suspend" "$queue" "$ours"
shown 'apiVersion: batch' limits: >"$dir/train.yaml"
ok "as that of README.md is" kube --namespace "$ns" --as alice create \
	--dry-run=server -f "$dir/train.yaml"
denied "not one without a queue" "label aisched.io/queue" \
	try_job alice "$suspend" "" "$ours"
denied "nor one that starts by itself" "suspend true" \
	try_job alice "" "$queue" "$ours"
denied "nor with another scheduler" "schedulerName" \
	try_job alice "$suspend" "$queue" ""
denied "nor with a node" "nodeName" \
	try_job alice "$suspend" "$queue" "$ours \"nodeName\": \"gpu-0\","
denied "nor one that looks like ours" "job-id" \
	try_job alice "$suspend" "$queue, \"aisched.io/job-id\": \"1\"" "$ours"
denied "nor one whose pods do" "job-id of pods" \
	try_job alice "$suspend" "$queue" "$ours" '"aisched.io/job-id": "1"'
denied "nor one that stands in for a node" "makes stand-ins" \
	try_job alice "$suspend" "$queue, \"aisched.io/standin\": \"s\"" "$ours"
denied "nor one whose pods do" "makes stand-ins" \
	try_job alice "$suspend" "$queue" "$ours" '"aisched.io/standin": "s"'

denied "nor one of another daemon" "label aisched.io/cluster" \
	try_job alice "$suspend" "$queue, \"aisched.io/cluster\": \"c\"" "$ours"
denied "nor one of somebody else" "must be your name" \
	try_job alice "$suspend" "$queue" "$ours" '' '"aisched.io/user": "bob"'
ok "but one of hers" \
	try_job alice "$suspend" "$queue" "$ours" '' '"aisched.io/user": "alice"'

make_ending
denied "nor may one that is being deleted become one of ours" "job-id" \
	kube --namespace "$ns" --as alice label job ends aisched.io/job-id=1
denied "nor by annotations" "whose a Job is" \
	kube --namespace "$ns" --as alice annotate job ends aisched.io/tasks=1
ok "but its finalizers can be removed" kube --namespace "$ns" --as alice \
	patch job ends --type merge -p '{"metadata": {"finalizers": null}}'

gate='"schedulingGates": [{"name": "aisched.io/queue"}],'
sets=system:serviceaccount:kube-system:replicaset-controller
denied "a pod of no Job" "without a Job" try_pod alice "$ns" "" "$ours"
denied "with a queue" "spec.schedulingGates" \
	try_pod alice "$ns" "$queue" "$ours"
denied "or a gate" "label aisched.io/queue" \
	try_pod alice "$ns" "" "$ours $gate"
ok "but not with both" try_pod alice "$ns" "$queue" "$ours $gate"
ok "or of a Deployment" try_pod "$sets" "$ns" "$queue" "$ours $gate"
denied "which must have both" "without a Job" \
	try_pod "$sets" "$ns" "$queue" "$ours"
manager=system:kube-controller-manager
kube create clusterrolebinding manager --clusterrole=admin --user=$manager \
	>/dev/null
denied "also if all controllers have one name" "without a Job" \
	try_pod $manager "$ns" "$queue" "$ours"
ok "other than those of a Job" try_pod $manager "$ns" "" "$ours" "" \
	'"ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job",
		"name": "j", "uid": "u", "controller": true}],'
denied "nor a pod that looks like one of ours" "job-id" \
	try_pod alice "$ns" "$queue, \"aisched.io/job-id\": \"1\"" "$ours $gate"
denied "nor by annotations" "whose a pod is" \
	try_pod alice "$ns" "$queue" "$ours $gate" '"aisched.io/store": "s"'
denied "nor one of somebody else" "must be your name" \
	try_pod alice "$ns" "$queue" "$ours $gate" '"aisched.io/user": "bob"'
ok "but one of hers" \
	try_pod alice "$ns" "$queue" "$ours $gate" '"aisched.io/user": "alice"'
denied "nor one for another scheduler" "schedulerName" \
	try_pod alice "$ns" "" ""
denied "nor one on a node" "nodeName" \
	try_pod alice "$ns" "" "$ours \"nodeName\": \"gpu-0\","
ok "elsewhere pods are as they like" try_pod alice default "" ""
denied "but may not use the nodes of ours" "not be tolerated" \
	try_pod alice default "" '"tolerations":
		[{"key": "aisched.io/dedicated", "operator": "Exists"}],'
all='"tolerations": [{"operator": "Exists"}],'
denied "nor by a label of ours" "not be tolerated" \
	try_pod alice default '"aisched.io/standin": "s"' "$ours"'"tolerations":
		[{"key": "aisched.io/dedicated", "operator": "Exists"}],'
denied "nor those of everybody" "every taint must not be tolerated" \
	try_pod alice default "" "$all"
denied "nor with an effect" "every taint must not be tolerated" \
	try_pod alice default "" '"tolerations":
		[{"operator": "Exists", "effect": "NoSchedule"}],'
ok "unless it opens none of ours" try_pod alice default "" '"tolerations": [
	{"operator": "Exists", "effect": "NoExecute"},
	{"key": "nvidia.com/gpu", "operator": "Exists"}],'
denied "nor a node by its name" "nodeName must not be set" \
	try_pod alice default "" '"nodeName": "gpu-0",'
kube --namespace default --as alice run later --image=a >/dev/null
denied "nor by a toleration that comes later" "every taint" \
	kube --namespace default --as alice patch pod later --type json -p \
	'[{"op": "add", "path": "/spec/tolerations/-",
		"value": {"operator": "Exists"}}]'
kube --namespace default delete pod later --grace-period=0 --force \
	>/dev/null 2>&1
denied "nor through a Deployment" "every taint" try_pod "$sets" default "" "$all"
ok "DaemonSets may tolerate all" try_pod \
	system:serviceaccount:kube-system:daemon-set-controller default "" "$all"
ok "and the cluster's own pods" try_pod "$sets" kube-system "" "$all"
kube label namespace default aisched.io/system= >/dev/null
ok "and where an admin says so" try_pod "$sets" default "" "$all"
denied "but not the taint of ours" "not be tolerated" \
	try_pod "$sets" default "" '"tolerations":
		[{"key": "aisched.io/dedicated", "operator": "Exists"}],'
kube label namespace default aisched.io/system- >/dev/null
ok "whoever may change nodes may use them" try_pod root default "" \
	"$all \"nodeName\": \"gpu-0\","
ok "a node makes its static pods" kube --namespace default --as system:node:gpu-0 \
	--as-group system:nodes --as-group system:authenticated create \
	--dry-run=server -f - <<-END
	{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "static",
		"annotations": {"kubernetes.io/config.mirror": "x",
			"kubernetes.io/config.source": "file"},
		"ownerReferences": [{"apiVersion": "v1", "kind": "Node",
			"name": "gpu-0", "controller": true, "uid":
			"$(kube get node gpu-0 -o 'jsonpath={.metadata.uid}')"}]},
	"spec": {"nodeName": "gpu-0", $all
		"containers": [{"name": "a", "image": "a"}]}}
	END

for kind in Secret Service ResourceClaim; do
	ok "a $kind of hers is allowed" try_object $kind own
	denied "but none labelled as ours" "labels objects" \
		try_object $kind own '"aisched.io/cluster": "c"'
	denied "nor with our annotations" "whose an object is" \
		try_object $kind own '' '"aisched.io/store": "s"'
	denied "nor of a name of ours" "names that begin with aj-" \
		try_object $kind aj-kubernetes-1-1
done

denied "others bind none" "only aischedd binds" try_bind alice
denied "and resize none" "and resizes" kube --namespace "$ns" --as alice \
	patch pod waits --subresource resize -p '{"spec": {"containers": [
		{"name": "a", "resources": {"requests": {"cpu": "8"}}}]}}'
kube --namespace "$ns" delete pod waits --grace-period=0 --force \
	>/dev/null 2>&1

# --- a daemon with the rights of the manifests ------------------------------

ok "the daemon has an account" \
	kube_account aisched-system aischedd "$kube/daemon.conf"
configure "$(sed -e '/^\(cluster\|state_dir\|listen\) /d' -e "
	s,runner = kubernetes,&  kubeconfig = \"$kube/daemon.conf\"," -e '
	s,allow_mounts,run_as_root = yes  device_driver = "gpu.test"  &,
	' "$manifests/aischedd.conf")
scale burst { max = 1  cpus = 1  memory = 1G  labels = {\"group=burst\"}
	by = standin  priority_class = \"aisched-standins\" }"
before=$(forbidden)
start_daemon || bail "aischedd does not start"
id=$(aisub --parsable -n 2 --gpus-per-task 1 --port web=80 --wrap 'echo hi')
ok "a job runs" wait_for is_state "$id" RUNNING
is "in two pods" "$(pods "$id" | wc -l)" 2

pod=$(pods "$id" | head -n 1)
job=$(kube --namespace "$ns" get jobs -o name)
denied "others cannot let it grow" "grow" kube --namespace "$ns" --as alice \
	patch "$job" -p '{"spec": {"parallelism": 3, "completions": 3}}'
secret=$(kube --namespace "$ns" get secrets -o name)
fails "nor change its script" 1 "immutable" kube --namespace "$ns" --as alice \
	patch "$secret" -p '{"data": {"script": "eA=="}}'
service=$(kube --namespace "$ns" get services -o name | head -n 1)
denied "nor where its Service leads" "only aischedd changes" \
	kube --namespace "$ns" --as alice patch "$service" \
	-p '{"spec": {"selector": {"app": "hers"}}}'
ok "but may change what is theirs to say" kube --namespace "$ns" --as alice \
	annotate "$pod" note=mine

kube --namespace "$ns" annotate pods --all sim.aisched.io/runtime=100ms \
	sim.aisched.io/exit-code=0 >/dev/null
ok "it ends" wait_for is_state "$id" COMPLETED
is "what its pods said is kept" "$(aiq --log "$id")" "hello from kwok
hello from kwok"
ok "and leaves nothing behind" wait_for nothing_is_left
id=$(aisub --parsable --wrap 'echo hi')
ok "another runs" wait_for is_state "$id" RUNNING
aicancel "$id"
ok "and is cancelled" wait_for is_state "$id" CANCELLED
ok "nothing is left, either" wait_for nothing_is_left

if [ "$(id -u)" -eq 0 ]; then
	kube label namespace "$ns" --overwrite \
		pod-security.kubernetes.io/enforce=restricted >/dev/null
	id=$(as_user nobody aisub --parsable -o /dev/null --wrap true)
	ok "a job of a user meets the restricted profile" \
		wait_for is_state "$id" RUNNING
	aicancel "$id"
	kube label namespace "$ns" --overwrite \
		pod-security.kubernetes.io/enforce=baseline >/dev/null
	ok "and leaves nothing" wait_for nothing_is_left
fi

# --- a Job of another user --------------------------------------------------

kube --namespace "$ns" --as alice create -f - >/dev/null <<-END
	{"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "hers",
	"labels": {"aisched.io/queue": "vision"}, "annotations": {
		"aisched.io/user": "alice", "aisched.io/hold": "yes"}},
	"spec": {"suspend": true, "template": {"spec": {
		"schedulerName": "aisched", "restartPolicy": "Never",
		"containers": [{"name": "a", "image": "a"}]}}}}
	END
held()
{
	# shellcheck disable=SC2046 # as words
	set -- $(aiq --all --no-header -o job_id,name,user,reason)
	id=$1
	[ "$2 $3 $4" = "hers k8s:user:alice JobHeldUser" ] &&
		kube --namespace "$ns" get job hers -o yaml |
		grep -q 'aisched.io/job-id: .'
}
ok "her Job is queued" wait_for held
her()
{
	kube --namespace "$ns" --as alice "$@"
}
denied "she cannot start it" "only aischedd resumes" \
	her patch job hers -p '{"spec": {"suspend": false}}'
denied "nor give it to another queue" "queue cannot change" \
	her label job hers --overwrite aisched.io/queue=language
denied "nor make it another job" "job-id" \
	her label job hers --overwrite aisched.io/job-id=7
denied "nor give it away" "must be your name" \
	her annotate job hers --overwrite aisched.io/user=bob
denied "nor say whose it is" "whose a Job is" \
	her annotate job hers --overwrite aisched.io/store=mine
denied "nor how it ends" "whose a Job is" \
	her annotate job hers --overwrite aisched.io/least-tasks=1
ok "but note something" her annotate job hers note=mine
aictl release "$id" >/dev/null
ok "it runs" wait_for is_state "$id" RUNNING
is_told()
{
	kube --namespace "$ns" get events -o \
		'jsonpath={.items[*].reason}' | grep -q Started
}
ok "which is told" wait_for is_told
ok "she may delete it" her delete job hers --wait=false
ok "and it is cancelled" wait_for is_state "$id" CANCELLED
ok "again nothing is left" wait_for nothing_is_left

# --- a Deployment of another user -------------------------------------------

shown 'apiVersion: apps' limits: |
	sed -e 's/replicas: 2/replicas: 1/' \
		-e 's,aisched.io/class: interactive,aisched.io/hold: "yes",' \
		>"$dir/chat.yaml"
ok "the Deployment of README.md is taken" her create -f "$dir/chat.yaml"
her_pod()
{
	pod=$(her get pods -l app=chat -o name)
	id=$(her get pods -l app=chat -o \
		'jsonpath={.items[*].metadata.labels.aisched\.io/job-id}')
	[ -n "$id" ]
}
ok "its pod is queued" wait_for her_pod
denied "she cannot open its gate" "only aischedd opens the gate" \
	her patch "$pod" --type merge -p '{"spec": {"schedulingGates": null}}'
denied "nor give it to another queue" "queue of a pod cannot change" \
	her label "$pod" --overwrite aisched.io/queue=language
denied "nor make it another job" "job-id" \
	her label "$pod" --overwrite aisched.io/job-id=7
denied "nor say whose it is" "whose a pod is" \
	her annotate "$pod" --overwrite aisched.io/store=mine
denied "nor give it away" "must be your name" \
	her annotate "$pod" --overwrite aisched.io/user=bob
ok "but give it another class" \
	her label "$pod" aisched.io/class=interactive
aictl release "$id" >/dev/null
ok "it runs" wait_for is_state "$id" RUNNING
ok "she may delete it" her delete deployment chat
ok "and its job is cancelled" wait_for is_state "$id" CANCELLED
ok "nothing is left of it" wait_for nothing_is_left

# A node is to be added, which is kept for the daemon.
stands_in()
{
	[ "$(kube --namespace "$ns" get pods -l aisched.io/standin=burst -o json |
		jq -r '.items[] | .status.conditions[0].reason, .spec.priority,
			.spec.tolerations[0].key' | xargs)" = \
		"Unschedulable -10 aisched.io/dedicated" ]
}
id=$(aisub --parsable -C group=burst --mem 1G --wrap true)
ok "a pod stands in for a node" wait_for stands_in
aicancel "$id"
ok "and goes with the job" wait_for nothing_is_left

# Whether the daemon knows the node whose GPUs are devices of a DRA driver.
gpus_are_shown()
{
	aiq --nodes --no-header -o name,gpus | grep -Eq '^dra-0 +2'
}
kube_nodes 1 dra 0
kube_slice dra-0 1 1 a gpu-0:0:0 gpu-1:0:0
ok "a node shows GPUs by name" wait_for gpus_are_shown
id=$(aisub --parsable -n 2 --gpus-per-task 1 --nodelist dra-0 --wrap true)
ok "tasks get GPUs by claims" wait_for is_state "$id" RUNNING
claim=$(kube --namespace "$ns" get resourceclaims -o name | head -n 1)
denied "others cannot change which" "which GPUs a pod has" \
	her patch "$claim" --subresource status --type merge \
	-p '{"status": {"reservedFor": null, "allocation": null}}'
denied "nor say that they are of another job" "labels objects" \
	her label "$claim" --overwrite aisched.io/job-id=1
denied "nor that they are others" "whose an object is" \
	her annotate "$claim" --overwrite aisched.io/gpus=0=a/gpu-1
denied "nor that they are free" "in use until the pod has ended" \
	her patch "$claim" --type merge -p '{"metadata": {"finalizers": null}}'
ok "but note something" her annotate "$claim" note=mine
no_claim_is_left()
{
	[ -z "$(kube --namespace "$ns" get resourceclaims -o name)" ]
}
aicancel --wait "$id"
ok "when the job has ended, the controller frees them" wait_for no_claim_is_left

# A Job of alice with a claim that the cluster makes from a template.
kube --namespace "$ns" --as alice create -f - >/dev/null <<-END
	{"apiVersion": "v1", "kind": "List", "items": [
	{"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate",
		"metadata": {"name": "one"}, "spec":
		{$(echo "$claim_spec" | sed s/gpu.test/gpu.nvidia.com/)}},
	{"apiVersion": "batch/v1", "kind": "Job", "metadata": {
		"name": "claims", "labels": {$queue}},
		"spec": {$suspend "template": {"spec": {$ours
		"restartPolicy": "Never",
		"terminationGracePeriodSeconds": 1,
		"resourceClaims": [{"name": "g",
			"resourceClaimTemplateName": "one"}],
		"containers": [{"name": "a", "image": "a"}]}}}}]}
END
ok "a Job made with kubectl is queued" wait_for kube_job_id "$ns" claims
ok "and gets a GPU by its claim" wait_for is_state "$id" RUNNING
claim=$(kube --namespace "$ns" get resourceclaims -o name)
denied "nobody else says which" "which GPUs a pod has" \
	her patch "$claim" --subresource status --type merge \
	-p '{"status": {"reservedFor": null, "allocation": null}}'
kube --namespace "$ns" --as alice delete job claims --wait=false >/dev/null
ok "until it is deleted" wait_for no_claim_is_left

is_cordoned()
{
	[ "$(kube get node gpu-1 -o \
		'jsonpath={.spec.unschedulable}')" = true ]
}
aictl drain gpu-1 -r "bad fan" >/dev/null
ok "a node that is drained is cordoned" wait_for is_cordoned
is "nothing was forbidden" "$(forbidden)" "$before"

# --- rights that the daemon lacks -------------------------------------------

may "it makes Secrets" yes create secrets --namespace "$ns"
may "but reads none" no get secrets --namespace "$ns"
may "nor makes them elsewhere" no create secrets --namespace aisched-system
may "nor Jobs" no create jobs --namespace default
may "it reads no logs of others" no get pods --subresource log \
	--namespace default
may "it runs commands in pods" yes create pods --subresource exec \
	--namespace "$ns"
may "which some clusters ask otherwise" yes get pods --subresource exec \
	--namespace "$ns"
may "but not in those of others" no create pods --subresource exec \
	--namespace default
may "it makes no pods" no create pods --namespace "$ns"
may "it deletes none of others" no delete pods --namespace default
may "it says where a volume is made" yes patch persistentvolumeclaims \
	--namespace "$ns"
may "but makes no claims" no create persistentvolumeclaims --namespace "$ns"
may "and sees none elsewhere" no list persistentvolumeclaims --namespace default
may "volumes it only reads" no patch persistentvolumes
may "it makes claims of devices" yes create resourceclaims.resource.k8s.io \
	--namespace "$ns"
may "but not elsewhere" no create resourceclaims.resource.k8s.io \
	--namespace default
may "and deletes them" yes delete resourceclaims.resource.k8s.io \
	--namespace "$ns"
# kubectl cannot ask about a resource that the cluster does not have.
is "it asks an autoscaler" "$(kube create -o 'jsonpath={.status.allowed}' \
	-f - <<-END
	{"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
	"spec": {"user": "$daemon", "resourceAttributes": {"verb": "create",
		"namespace": "$ns", "group": "autoscaling.x-k8s.io",
		"resource": "provisioningrequests"}}}
END
)" true
may "with a template of pods" yes create podtemplates --namespace "$ns"
may "but not elsewhere" no create podtemplates --namespace default
may "it cordons nodes" yes patch nodes
may "but leaves them be" no delete nodes
may "it writes Events" yes create events.events.k8s.io --namespace "$ns"
may "but not elsewhere" no create events.events.k8s.io --namespace default

# --- a second namespace, without rights at first ------------------------------

kube create namespace team-a >/dev/null
stop_daemon
sed -i 's/namespace = "aisched-jobs"/namespaces = {"aisched-jobs", "team-a"}/' \
	"$conf"
echo 'queue team-a { namespace = "team-a" }' >>"$conf"
start_daemon || bail "aischedd does not start with two namespaces"
# Whether aictl status says that the daemon lacks a right in team-a.
is_forbidden()
{
	aictl status | grep -q "may not list jobs in namespace 'team-a'"
}
team_role()
{
	sed s/aisched-jobs/team-a/ "$manifests/role.yaml" | kube "$1" -f - \
		>/dev/null
}
ok "a namespace without rights is told" wait_for is_forbidden
id=$(aisub --parsable --wrap 'echo hi')
ok "jobs of the other run" wait_for is_state "$id" RUNNING
team=$(aisub --parsable -q team-a --wrap 'echo hi')
waits_for_right()
{
	aiq -h -o reason_text "$team" | grep -q "namespace 'team-a'"
}
ok "one of that namespace waits, and says why" wait_for waits_for_right
team_role apply
ok "with rights, the pool has no trouble" wait_for eval "! is_forbidden"
aicancel "$team"
team=$(aisub --parsable -q team-a --wrap 'echo hi')
ok "a job runs there" wait_for is_state "$team" RUNNING
sed -i 's/queue team-a { namespace = "team-a"/queue team-a { namespace = "aisched-jobs"/' \
	"$conf"
aictl reload >/dev/null
is "and stays there when its queue names another one" \
	"$(aiq -h -o namespace "$team")" team-a
stop_daemon
team_role delete
start_daemon || bail "aischedd does not come back"
ok "without the rights the daemon comes back" wait_for is_forbidden
aicancel "$id"
ok "jobs of the other namespace end" wait_for is_state "$id" CANCELLED
is "the job there is not lost" "$(state_of "$team")" RUNNING
aicancel "$team"
is "nor does it end when it is cancelled" "$(state_of "$team")" COMPLETING
team_role apply
ok "the rights are back" wait_for eval "! is_forbidden"
ok "so it ends" wait_for is_state "$team" CANCELLED
ok "once more nothing is left" wait_for nothing_is_left

done_testing

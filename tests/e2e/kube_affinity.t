#!/bin/sh
# Jobs made with kubectl run where their pods may: node selectors, required and
# preferred affinity, affinity to other pods, and tolerations. A Job with a
# field that aischedd does not support is refused with the field's name.

. "$top_srcdir/tests/e2e/lib.sh"
. "$top_srcdir/tests/kube/control_plane.sh"

k="kube --namespace jobs"

# NAME POD [ANNOTATIONS [SPEC]]: creates a Job in queue "team"
make_job()
{
	$k create -f - >/dev/null <<-END
		{"apiVersion": "batch/v1", "kind": "Job",
		"metadata": {"name": "$1", "labels": {
			"aisched.io/queue": "team"}, "annotations": {${3-}}},
		"spec": {"suspend": true, ${4-} "template": {
			"metadata": {"labels": {"app": "$1"}},
			"spec": {"restartPolicy": "Never",
			"terminationGracePeriodSeconds": 1, $2
			"schedulerName": "aisched", "containers": [
			{"name": "a", "image": "a"}]}}}}
	END
}

# EXPRESSIONS: prints JSON of required node affinity
required()
{
	echo "\"affinity\": {\"nodeAffinity\": {
		\"requiredDuringSchedulingIgnoredDuringExecution\": {
		\"nodeSelectorTerms\": [{\"matchExpressions\": [$1]}]}}},"
}

# OPERATOR KEY VALUES WEIGHT: prints a term of preferred node affinity
preferring()
{
	echo "{\"weight\": $4, \"preference\": {\"matchExpressions\": [
		{\"key\": \"$2\", \"operator\": \"$1\", \"values\": $3}]}}"
}

# TERMS: prints preferred node affinity
preferred()
{
	echo "\"affinity\": {\"nodeAffinity\": {
		\"preferredDuringSchedulingIgnoredDuringExecution\": [$1]}},"
}

# [KEYS]: prints a constraint that spreads pods over nodes; with label keys,
# pods that differ in the values of these labels are spread independently
spread()
{
	echo "\"topologySpreadConstraints\": [{\"maxSkew\": 1,
		\"topologyKey\": \"kubernetes.io/hostname\",
		\"whenUnsatisfiable\": \"DoNotSchedule\", \"labelSelector\": {},
		\"matchLabelKeys\": [${1-}]}],"
}

# KIND APP [FIELD]: prints a required affinity to the pods of a Job, by node
pods()
{
	echo "\"affinity\": {\"$1\": {
		\"requiredDuringSchedulingIgnoredDuringExecution\": [{${3-}
		\"topologyKey\": \"kubernetes.io/hostname\",
		\"labelSelector\": {\"matchLabels\": {\"app\": \"$2\"}}}]}},"
}

# NAME NODE: whether its pods run on that node
is_on()
{
	[ "$($k get pods -l "app=$1" -o jsonpath='{range .items[*]}
{.status.phase} {.spec.nodeName}{end}' | grep . | sort -u)" = "Running $2" ]
}

# NAME: whether an Event says that the Job is refused; sets $note to its message
refused()
{
	note=$($k get events.events.k8s.io -o json | jq -r --arg job "$1" \
		'[.items[] | select(.regarding.kind == "Job" and
		.regarding.name == $job and .reason == "Refused") | .note] |
		last // ""')
	[ -n "$note" ]
}

ok "a control plane starts" kube_start || bail "there is no control plane"
ok "with nodes" eval "kwok_start && kube_nodes 1 old 0 cores=8 tier= &&
	kube_nodes 1 new 0 cores=64 tier=fast"
kube_taints='{"key": "team", "value": "ml", "effect": "NoSchedule"}'
ok "and one that is tainted" kube_nodes 1 kept 0 cores=128
# The name "aged" sorts before those of the other nodes: without this taint,
# jobs without preferences would run there.
kube_taints='{"key": "age", "value": "old", "effect": "PreferNoSchedule"}'
ok "and one that is less welcome" kube_nodes 1 aged 0
kube create namespace jobs >/dev/null
configure "
queue team { grace = \"1s\"  users = {\"k8s:jobs\", \"k8s:user:eve\"} }
queue own { grace = \"1s\" }
pool k { runner = kubernetes  kubeconfig = \"$kube/admin.conf\"
	namespace = \"jobs\"  image = \"local/box:1\"  run_as_root = yes
	user_annotation = \"aisched.io/user\" }
node old-0 { pool = k  weight = 2 }
scheduling { start_timeout = \"120s\" }"
start_daemon || bail "aischedd does not start"
has_nodes()
{
	[ "$(aiq --nodes --no-header -o state | grep -ci idle)" = 4 ]
}
ok "its nodes are seen" wait_for has_nodes

# --- nodes where Jobs run ------------------------------------------------------

# Each Job has two pods, so that they run on the right node by chance less
# often.
two='"parallelism": 2, "completions": 2,'
make_job in "$(required '{"key": "cores", "operator": "In",
	"values": ["64", "65"]}')" '' "$two"
make_job notin "$(required '{"key": "tier", "operator": "NotIn",
	"values": ["fast"]}')" '' "$two"
make_job exists "$(required '{"key": "tier", "operator": "Exists"},
	{"key": "cores", "operator": "Gt", "values": ["8"]}')" '' "$two"
make_job lacks "$(required '{"key": "tier", "operator": "DoesNotExist"}')
	\"tolerations\": [{\"key\": \"team\", \"operator\": \"Exists\"}]," '' "$two"
make_job less "$(required '{"key": "cores", "operator": "Lt",
	"values": ["9"]}')" '' "$two"
make_job empty '"nodeSelector": {"tier": ""},' '' "$two"
make_job counts '"nodeSelector": {"kubernetes.io/os": "linux"},' \
	'"aisched.io/constraint": "cores=8*1&cores=64*1"' "$two"
ok "In" wait_for is_on in new-0
ok "NotIn, but not on a tainted node" wait_for is_on notin old-0
ok "Exists and Gt" wait_for is_on exists new-0
ok "DoesNotExist, on a taint that is tolerated" wait_for is_on lacks kept-0
ok "Lt" wait_for is_on less old-0
ok "a label without a value" wait_for is_on empty old-0
ok "counts beside a selector" wait_for is_on counts "new-0
Running old-0"

make_job wishes "$(preferred "$(preferring In tier '["fast"]' 1),
	$(preferring Lt cores '["9"]' 50)")" '' "$two"
make_job aged "$(preferred "$(preferring DoesNotExist cores '[]' 1)")
	\"tolerations\": [{\"key\": \"age\", \"operator\": \"Exists\"}]," '' "$two"
make_job own "$(preferred "$(preferring In tier '["fast"]' 1)")" \
	'"aisched.io/prefer": "tier="' "$two"
ok "preferred affinity, by weight" wait_for is_on wishes old-0
ok "on a node that is less welcome, for one that does not mind" \
	wait_for is_on aged aged-0
ok "after a wish of its annotation" wait_for is_on own old-0
id=$(aisub --parsable -q own --wrap true)
ok "a job of aisub" wait_for is_state "$id" RUNNING
is "runs elsewhere, where the weight is least" \
	"$(aiq --no-header -o nodelist "$id")" new-0
is "weights are shown" "$(aiq --nodes --no-header -o name,weight |
	tr -s ' ' | sort | tr '\n' ,)" "aged-0 1,kept-0 1,new-0 1,old-0 2,"

make_job even "$(required '{"key": "cores", "operator": "In",
	"values": ["8", "64"]}') $(spread '"batch.kubernetes.io/job-name"')" '' "$two"
ok "spread over nodes" wait_for is_on even "new-0
Running old-0"

id=$(aisub --parsable -q own -C '!tier=fast&cores<128' --wrap true)
ok "jobs of aisub say it, too" wait_for is_state "$id" RUNNING
is "and run there" "$(aiq --no-header -o nodelist "$id")" old-0

# --- near other Jobs, and apart from them ----------------------------------------

make_job near "$(pods podAffinity less)" '' "$two"
make_job apart "$(pods podAntiAffinity in)" '' "$two"
make_job shy "$(pods podAntiAffinity later)"
ok "a Job runs near another one" wait_for is_on near old-0
ok "or apart from it" wait_for is_on apart old-0
ok "or apart from one that is not there" wait_for is_on shy new-0
make_job later '' '' "$two"
ok "which keeps apart when it comes" wait_for is_on later old-0
make_job self "$(pods podAntiAffinity self)" '' "$two"
ok "its own pods are apart" wait_for is_on self "new-0
Running old-0"

# --- what is refused -------------------------------------------------------------

make_job fields '"affinity": {"nodeAffinity": {
	"requiredDuringSchedulingIgnoredDuringExecution": {
	"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name",
	"operator": "In", "values": ["old-0"]}]}]}}},'
ok "fields are refused" wait_for refused fields
like "by name" "$note" "matchFields is not supported"
make_job any '"tolerations": [{"operator": "Exists"}],'
ok "a toleration of every taint, too" wait_for refused any
like "which is told" "$note" "tolerations: one is of every taint"
make_job others "$(spread)"
ok "a spread that counts other pods, too" wait_for refused others
like "with what to change" "$note" "add matchLabelKeys"
make_job never "$(required '{"key": "cores", "operator": "Gt",
	"values": ["64"]}')"
ok "and what no node has that may be used" wait_for refused never

make_job lonely "$(pods podAffinity nobody)"
ok "a Job near pods that are not there" wait_for refused lonely
like "is told so" "$note" "podAffinity: its labelSelector matches pods of no Job"
make_job eve "$(pods podAffinity in)" '"aisched.io/user": "eve"'
ok "nor are those of another user there" wait_for refused eve
like "for anybody else" "$note" "matches pods of no Job"
make_job spaces "$(pods podAffinity in '"namespaces": ["jobs"],')"
ok "and one near pods of namespaces" wait_for refused spaces
like "by name" "$note" "podAffinity: namespaces is not supported"

done_testing

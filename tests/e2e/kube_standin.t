#!/bin/sh
# Nodes that an autoscaler adds: stand-ins with the shape of the missing nodes
# wait as unschedulable pods, as long as jobs need these nodes, and take nothing
# from jobs. Here the test makes the nodes, as the autoscaler would.

. "$top_srcdir/tests/e2e/lib.sh"
. "$top_srcdir/tests/kube/control_plane.sh"

ns="jobs"
k="kube --namespace $ns"

ok "a control plane starts" kube_start || bail "there is no control plane"
ok "with a node" eval "kwok_start && kube_nodes 1 first 8 group=burst"
kube create namespace "$ns" >/dev/null

pool="
queue default { grace = \"1s\" }
pool gpu { runner = kubernetes  kubeconfig = \"$kube/admin.conf\"
	namespace = \"$ns\"  image = \"local/box:1\"  run_as_root = yes
	node_selector = \"kubernetes.io/os=linux\" }"
burst="max = 3  cpus = 64  memory = \"512G\"  gpus = 8  gpu_type = \"h100\"
	features = {\"cloud\"}  labels = {\"group=burst\"}  by = standin"

# Prints the names and states of all nodes.
nodes()
{
	aiq --nodes --no-header -o name,state | tr -s ' ' | sort | xargs
}

nodes_are()
{
	[ "$(nodes)" = "$1" ]
}

# N: whether there are N stand-ins, and each is said to be unschedulable
stand_in()
{
	[ "$($k get pods -l aisched.io/standin -o json | jq '[.items[] |
		select(.metadata.deletionTimestamp | not) |
		.status.conditions[]? | select(.type == "PodScheduled" and
		.status == "False" and .reason == "Unschedulable")] |
		length')" = "$1" ] &&
		[ "$($k get jobs -l aisched.io/standin \
			-o 'jsonpath={.items[*].spec.parallelism}')" = "$1" ]
}

nothing_stands_in()
{
	[ -z "$($k get jobs,pods -l aisched.io/standin -o name)" ]
}

# PATH: prints a field of the first stand-in
first()
{
	$k get pods -l aisched.io/standin -o "jsonpath={.items[0]$1}"
}

# JOB REASON: whether the job waits for this reason; sets $told to its sentence
has_reason()
{
	told=$(aiq --no-header -o reason,reason_text "$1")
	case $told in "$2"*) ;; *) false ;; esac
}

# TASKS [OPTION]...: submits a job that needs a node for each task; prints its id
nodes_job()
{
	tasks=$1
	shift
	aisub --parsable -n "$tasks" --gpus-per-task 8 -c 1 --mem 1G -t 10m \
		"$@" --wrap true
}

configure "$pool
scale burst { $burst  delay = \"1h\" }"
start_daemon || bail "aischedd does not start"
ok "a node with the labels is one of the template" wait_for nodes_are \
	"burst-2 POWERED_DOWN burst-3 POWERED_DOWN first-0 IDLE"
ok "nothing stands in before it is needed" nothing_stands_in

# --- a gang that needs two more nodes ------------------------------------------

job=$(nodes_job 3 -C cloud)
ok "a gang waits for its nodes" wait_for has_reason "$job" NodesComing
# One more than two: an autoscaler takes the free node for the first of them.
ok "each has a stand-in, and so has the free node" wait_for stand_in 3
is "in the shape of a node" \
	"$(first .spec.containers[0].resources.requests | jq -cS .)" \
	'{"cpu":"64","memory":"512Gi","nvidia.com/gpu":"8"}'
is "for nodes of the template and the pool" \
	"$(first .spec.affinity | jq -r '.. | .matchExpressions? // empty |
		.[] | "\(.key)=\(.values[0])"' | xargs)" \
	"group=burst kubernetes.io/os=linux"
is "which no scheduler binds" "$(first .spec.schedulerName)" aisched
is "the nodes are being added" "$(nodes)" \
	"burst-2 POWERING_UP burst-3 POWERING_UP first-0 IDLE"

kube_nodes 1 added 8 group=burst
ok "a node that comes takes a place" wait_for nodes_are \
	"added-0 IDLE burst-3 POWERING_UP first-0 IDLE"
ok "the gang still waits" has_reason "$job" NodesComing
ok "for one, beside two that are free" wait_for stand_in 3

# Somebody who may bind pods puts a stand-in in the way.
pod=$(first .metadata.name)
echo "{\"apiVersion\": \"v1\", \"kind\": \"Binding\", \"metadata\":
	{\"name\": \"$pod\"}, \"target\": {\"kind\": \"Node\",
	\"name\": \"first-0\"}}" |
	kube create --raw "/api/v1/namespaces/$ns/pods/$pod/binding" -f - >/dev/null
no_pod()
{
	! $k get pod "$pod" >/dev/null 2>&1
}
ok "a stand-in that somebody binds is deleted" wait_for no_pod
short=$(nodes_job 1 -w first-0 -t 1m)
ok "a short job runs before the gang" wait_for is_state "$short" RUNNING
ok "as its node is not free, one stand-in less is needed" wait_for stand_in 2
aicancel "$short"
ok "and one more when it is" wait_for stand_in 3

kube_nodes 1 last 8 group=burst
ok "the gang runs on the nodes that came" wait_for is_state "$job" RUNNING
ok "and nothing stands in for them" wait_for nothing_stands_in
is "there are no more to add" "$(nodes | tr ' ' '\n' | grep -c POWER)" 0
is "autoscalers leave its pods alone" "$($k get pods -o json | jq -r '.items[0] |
	.metadata.annotations | .["karpenter.sh/do-not-disrupt"],
	.["cluster-autoscaler.kubernetes.io/safe-to-evict"]' | xargs)" \
	"true false"
aicancel "$job"
ok "it ends" wait_for is_state "$job" CANCELLED
kube delete node last-0 >/dev/null
ok "a node that the autoscaler removes can be added again" wait_for nodes_are \
	"added-0 IDLE burst-3 POWERED_DOWN first-0 IDLE"

# burst-0 is another node of the template, and takes the place of burst-3.
kube_nodes 2 burst 8 group=burst
ok "a node with the name of a place that another has taken is listed" wait_for \
	nodes_are "added-0 IDLE burst-0 IDLE burst-1 IDLE first-0 IDLE"
kube delete node burst-0 burst-1 >/dev/null
ok "while it is there" wait_for nodes_are \
	"added-0 IDLE burst-3 POWERED_DOWN first-0 IDLE"

# --- stand-ins that are no longer wanted ----------------------------------------

job=$(nodes_job 3)
ok "another gang waits" wait_for stand_in 3
aicancel "$job"
ok "nothing is left when it is cancelled" wait_for nothing_stands_in
job=$(nodes_job 3)
ok "and another" wait_for stand_in 3
# shellcheck disable=SC2119 # restart takes options
restart
ok "a daemon that is started again keeps the stand-ins" wait_for stand_in 3
configure "$pool"
aictl reload
ok "nothing is left when the template is taken out" wait_for nothing_stands_in
configure "$pool
scale burst { $burst  delay = \"1h\" }"
aictl reload
ok "it stands in again" wait_for stand_in 3
kill_daemon
configure 'queue default { grace = "1s" }
pool here { runner = local }'
start_daemon
ok "nothing is left when the pool is taken out" wait_for nothing_stands_in
kill_daemon
configure "$pool
scale burst { $burst  delay = \"1h\" }"
start_daemon
ok "and again" wait_for stand_in 3
stop_daemon
# Make the deadline earlier, as the test cannot wait for it.
# shellcheck disable=SC2086 # words are wanted
ok "its Job has a deadline" $k patch job -o name \
	"$($k get jobs -l aisched.io/standin -o 'jsonpath={.items[0].metadata.name}')" \
	-p '{"spec": {"activeDeadlineSeconds": 1}}'
ok "by which the cluster removes it" wait_for nothing_stands_in

# --- an autoscaler that adds nothing --------------------------------------------

configure "$pool
scale burst { $burst  delay = \"1s\" }"
start_daemon
has_failed()
{
	has_reason "$job" NodesComing
	case $told in *"not ready within 2 s"*) ;; *) false ;; esac
}
ok "if no node comes, the job says so" wait_for has_failed
like "and the list of nodes" "$(aiq --nodes --no-header -o reason)" \
	"not ready within 2 s"
aicancel "$job"
ok "nothing is left behind" wait_for nothing_stands_in

# --- a cluster that refuses -----------------------------------------------------

$k create quota none --hard=count/jobs.batch=0 >/dev/null
job=$(nodes_job 3)
pool_says()
{
	aictl status | grep -q "Pool 'gpu':.*$1"
}
ok "a quota that forbids them is told at the pool" wait_for pool_says \
	"aj-test-standin-burst.*exceeded quota"
$k delete quota none >/dev/null
ok "when it allows them, they stand in" wait_for stand_in 3
aicancel "$job"
ok "until the job is cancelled" wait_for nothing_stands_in

done_testing

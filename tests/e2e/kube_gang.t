#!/bin/sh
# A failed task is replaced by another pod, in a real control plane with
# simulated nodes.

. "$top_srcdir/tests/e2e/lib.sh"
. "$top_srcdir/tests/kube/control_plane.sh"

ns="gang"
k="kube --namespace $ns"

# JOB INDEX: prints the pods of a task, ended ones first
pods_of_task()
{
	$k get pods -l "aisched.io/job-id=$1,batch.kubernetes.io/job-completion-index=$2" \
		--sort-by=.status.phase -o \
		"jsonpath={range .items[*]}{.status.phase} {.spec.nodeName}{'\n'}{end}"
}

# JOB INDEX RUNTIME EXIT: ends the running pod of a task
end_task()
{
	$k annotate pods -l "aisched.io/job-id=$1,batch.kubernetes.io/job-completion-index=$2" \
		--field-selector status.phase=Running --overwrite \
		sim.aisched.io/runtime="$3" sim.aisched.io/exit-code="$4" \
		>/dev/null
}

replaced()
{
	[ "$(aiq --no-header -o replaced_tasks "$1")" = "$2" ]
}

# JOB: whether its task 1 has failed once and runs again on the same node
replaces()
{
	[ "$(pods_of_task "$1" 1)" = "Failed ${node#* }
$node" ]
}

ok "a control plane starts" kube_start || bail "there is no control plane"
ok "with nodes" eval "kwok_start && kube_nodes 2 gpu 8 pool=gpu"
kube create namespace "$ns" >/dev/null

configure "
queue default { grace = \"2s\" }
pool gpu { runner = kubernetes  kubeconfig = \"$kube/admin.conf\"
	namespace = \"$ns\"  image = \"local/box:1\"  run_as_root = yes
	node_selector = \"pool=gpu\" }"
start_daemon || bail "aischedd does not start"

id=$(aisub --parsable -n 2 --on-task-failure=replace --max-restarts 1 \
	--wrap 'train')
ok "a gang runs" wait_for is_state "$id" RUNNING
node=$(pods_of_task "$id" 1)
end_task "$id" 1 100ms 3
ok "a task of it fails" wait_for replaced "$id" 1
is "the gang goes on" "$(aiq --no-header -o state "$id")" RUNNING
like "aiq says which it was" "$(aiq "$id")" \
	'replaced +1 task; task 1 ended with exit status 3 and starts again'
kill_daemon
start_daemon
ok "another pod takes its place, bound by the next daemon" \
	wait_for replaces "$id"
is "the other was left alone" "$(pods_of_task "$id" 0 | wc -l)" 1
end_task "$id" 1 100ms 4
ok "too many end all" wait_for is_state "$id" FAILED
is "with the status of the last" "$(aiq --no-header -o exit_code "$id")" 4
is "and its name" "$(aiq --no-header -o reason_text "$id")" \
	"task 1 ended with exit status 4"

done_testing

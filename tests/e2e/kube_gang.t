#!/bin/sh
# A task that fails or is lost with its node is replaced by another pod. The
# control plane is real, its nodes are simulated.

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
ok "with nodes" eval \
	"kwok_start && kube_nodes 3 gpu 8 pool=gpu fast=yes &&
	kube_nodes 1 cpu 0 pool=gpu"
kube create namespace "$ns" >/dev/null

configure "
queue default { grace = \"2s\" }
pool gpu { runner = kubernetes  kubeconfig = \"$kube/admin.conf\"
	namespace = \"$ns\"  image = \"local/box:1\"  run_as_root = yes
	node_selector = \"pool=gpu\" }
scheduling { node_timeout = \"1s\" }"
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

# --- nodes are lost ---------------------------------------------------------

# JOB INDEX: prints the uid and the node of the running pod of the task
runs()
{
	$k get pods -l "aisched.io/job-id=$1,batch.kubernetes.io/job-completion-index=$2" \
		--field-selector status.phase=Running -o \
		"jsonpath={range .items[*]}{.metadata.uid} {.spec.nodeName}{'\n'}{end}"
}

# JOB INDEX UID: whether the task runs in another pod than the one with this uid
runs_anew()
{
	now=$(runs "$1" "$2" | cut -d ' ' -f 1)
	[ -n "$now" ] && [ "$now" != "$3" ]
}

# JOB N: whether N tasks of the job run
tasks_run()
{
	[ "$(aiq --no-header -o running_tasks "$1")" = "$2" ]
}

# JOB TEXT...: whether aiq JOB prints each TEXT
says()
{
	said=$(aiq "$1")
	shift
	for text; do
		case $said in *"$text"*) ;; *) return 1 ;; esac
	done
}

# JOB INDEX: whether a pod of the task has succeeded
ended()
{
	pods_of_task "$1" "$2" | grep -q Succeeded
}

# JOB INDEX: evicts the pod of the task, as a kubelet would
evict()
{
	$k patch pod --subresource=status --type=merge \
		"$($k get pods -o name -l "aisched.io/job-id=$1,batch.kubernetes.io/job-completion-index=$2" |
			sed s,pod/,,)" \
		-p '{"status": {"phase": "Failed", "reason": "Evicted",
		"message": "low on memory", "conditions": [
		{"type": "DisruptionTarget", "status": "True",
		"reason": "TerminationByKubelet"}]}}' >/dev/null
}

# Begin all jobs now: the Job controller replaces a pod at the earliest 10 s
# after it created the task's first pod.
id=$(aisub --parsable -n 2 --gpus-per-task 8 --on-task-failure=replace \
	--wrap 'train')
elastic=$(aisub --parsable -n 2 --min-tasks 1 -w cpu-0 --wrap 'train')
ok "a gang runs on two nodes" wait_for is_state "$id" RUNNING
ok "and an elastic job" wait_for is_state "$elastic" RUNNING
first=$(runs "$id" 0)
was=$(runs "$id" 1)
kube delete node "${was#* }" >/dev/null
ok "a node is lost: its task starts anew" \
	wait_for "runs_anew $id 1 ${was%% *} && tasks_run $id 2"
is "the other task keeps its pod" "$(runs "$id" 0)" "$first"
is "this is no restart" \
	"$(aiq --no-header -o state,restarts,attempt "$id" | xargs)" "RUNNING 0 1"
like "the log says why" "$(grep "job lose" "$log")" \
	'job lose job=.* tasks=1: task 1 is lost: pod .* the node is no longer there; it is placed anew'

was=$(runs "$id" 1)
kube delete node "${was#* }" >/dev/null
ok "another one: there is no room for its task" \
	wait_for "tasks_run $id 1 && says $id RUNNING 'held up' 'task 1 is lost'"
later=$(aisub --parsable --gpus-per-task 8 --wrap 'train')
kill_daemon
start_daemon
is "after a restart it waits on" \
	"$(aiq --no-header -o state,running_tasks,attempt "$id" | xargs)" \
	"RUNNING 1 1"
end_task "$id" 0 100ms 0
ok "the other task ends" wait_for ended "$id" 0
kube_nodes 1 new 8 pool=gpu fast=yes
ok "a node comes: the task is before jobs that wait" \
	wait_for runs_anew "$id" 1 "${was%% *}"
is "they wait on" "$(aiq --no-header -o state "$later")" PENDING
end_task "$id" 1 100ms 0
ok "the job has ended when both tasks have" wait_for is_state "$id" COMPLETED
ok "then others run" wait_for is_state "$later" RUNNING

# --- a job that asks for a number of nodes loses one of them -------------------

aicancel "$later"
ok "all GPUs are free" wait_for is_state "$later" CANCELLED
id=$(aisub --parsable -N 2 -n 4 --gpus-per-task 4 -C '[fast*2]' \
	--on-task-failure=replace --wrap 'train')
ok "a gang on two nodes runs" wait_for is_state "$id" RUNNING
lost=$(runs "$id" 3 | cut -d ' ' -f 2)

# Prints the ranks on the node.
ranks_on()
{
	for rank in 0 1 2 3; do
		[ "$(runs "$id" "$rank" | cut -d ' ' -f 2)" != "$1" ] ||
			echo "$rank"
	done | xargs
}

# NODE: whether the daemon can use the node
is_there()
{
	aiq --nodes --no-header -o name,state | grep -q "^$1 *IDLE"
}

ranks=$(ranks_on "$lost")
kube delete node "$lost" >/dev/null
ok "a node is lost with two tasks" wait_for tasks_run "$id" 2
kube_nodes 1 small 4 pool=gpu
ok "a node comes that has room for one" wait_for is_there small-0
kube_nodes 1 apart 8 pool=gpu
ok "and one that its constraint does not count" wait_for is_there apart-0
kube_nodes 1 large 8 pool=gpu fast=yes
are_on_it()
{
	[ "$(ranks_on large-0)" = "$ranks" ]
}
ok "and one that it counts: there they run, with their ranks" wait_for are_on_it
is "this is no restart" \
	"$(aiq --no-header -o state,restarts,attempt "$id" | xargs)" \
	"RUNNING 0 1"
aicancel "$id"

# --- the kubelet evicts a pod -------------------------------------------------

was=$(runs "$elastic" 1)
kept=$(runs "$elastic" 0)
evict "$elastic" 1
ok "an elastic job goes on without an evicted pod, then grows again" \
	wait_for runs_anew "$elastic" 1 "${was%% *}"
like "the log has both" "$(grep "job lose" "$log")" \
	"job lose job=$elastic .* Evicted: low on memory; the job goes on without it"
is "the other task keeps its pod" "$(runs "$elastic" 0)" "$kept"
is "this is no restart" \
	"$(aiq --no-header -o state,restarts,attempt "$elastic" | xargs)" \
	"RUNNING 0 1"

done_testing

#!/bin/sh
# What goes wrong around a cluster: what is said where the admin looks, that
# others go on, and that it mends.

. "$top_srcdir/tests/e2e/lib.sh"
. "$top_srcdir/tests/kube/control_plane.sh"

ns="jobs"
k="kube --namespace $ns"

# NAME: how many of our objects there are.
count()
{
	kube --namespace "$ns" get "$1" -l aisched.io/cluster=test -o name |
		wc -l
}

nothing_is_left()
{
	[ "$(count jobs)$(count pods)$(count secrets)$(count services)" = 0000 ]
}

# TEXT: the daemon's status has it.
status_has()
{
	aictl status | grep -qF -- "$1"
}

# JOB [FIELD]: of its pods, one a line.
pods()
{
	$k get pods -l "aisched.io/job-id=$1" -o \
		"jsonpath={range .items[*]}{${2:-.metadata.name}}{'\n'}{end}" |
		sort
}

# JOB COUNT: so many of its pods run.
pods_run()
{
	[ "$(pods "$1" .status.phase | grep -c Running)" -eq "$2" ]
}

ok "a control plane starts" kube_start || bail "there is no control plane"
ok "with nodes" eval "kwok_start && kube_nodes 2 gpu 8"

configure "
queue default { grace = \"2s\" }
pool here { runner = local }
pool gpu { runner = kubernetes  kubeconfig = \"$kube/used.conf\"
	namespace = \"$ns\"  image = \"local/box:1\"  run_as_root = yes }"
start_daemon || bail "aischedd does not start"

# --- what an admin has to mend ----------------------------------------------

ok "a kubeconfig that is missing is named" wait_for status_has "used.conf'"
id=$(aisub --parsable --pool here --wrap true)
ok "other pools go on" wait_for is_state "$id" COMPLETED
cp "$kube/admin.conf" "$kube/used.conf"
ok "with it, it is a namespace" wait_for status_has \
	'namespaces "jobs" not found'
kube create namespace "$ns" >/dev/null
id=$(aisub --parsable --pool gpu --wrap true)
ok "with that, jobs run" wait_for is_state "$id" RUNNING
unlike "and all is well" "$(aictl status)" "Pool 'gpu'"

part_hang apiserver
ok "the API server hangs: the job runs on" is_state "$id" RUNNING
part_wake apiserver
aicancel "$id"
ok "it wakes, and the job ends" wait_for is_state "$id" CANCELLED
ok "without a trace" wait_for nothing_is_left

# --- others ------------------------------------------------------------------

kube --namespace "$ns" patch lease aischedd-test --type=merge --patch \
	'{"spec": {"holderIdentity": "somebody"}}' >/dev/null
ok "another daemon acts: this one waits" wait_for status_has \
	"'somebody' holds Lease"
ok "until that does not" wait_for eval "! status_has 'holds Lease'"

# --- more, or fewer tasks ----------------------------------------------------

id=$(aisub --parsable --pool gpu -n 4 --min-tasks 1 --gpus-per-task 4 \
	--wrap true)
ok "an elastic job has all there is" wait_for pods_run "$id" 4
other=$(aisub --parsable --pool gpu --class interactive --gpus-per-task 8 \
	--wrap true)
ok "gives some to a better one" wait_for is_state "$other" RUNNING
ok "and goes on with the rest" wait_for pods_run "$id" 2
is "running" "$(state_of "$id")" RUNNING
aicancel "$other"
ok "and grows again" wait_for pods_run "$id" 4
aicancel "$id"
ok "it ends" wait_for is_state "$id" CANCELLED
ok "without a trace" wait_for nothing_is_left

# --- nodes -------------------------------------------------------------------

id=$(aisub --parsable --pool gpu -n 2 --gpus-per-task 8 --wrap true)
ok "on two nodes" wait_for is_state "$id" RUNNING
kube delete node gpu-1 >/dev/null
deadline_s=150 # the cluster takes its time to give up its pods
ok "one of which is lost" wait_for is_state "$id" NODE_FAIL
like "it says so" "$(aiq "$id")" "gpu-1"
ok "nothing is left" wait_for nothing_is_left

done_testing

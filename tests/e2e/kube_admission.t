#!/bin/sh
# A real kubelet refuses a pod for which its node seemed to have room: the job
# waits, and loses no attempt.

. "$top_srcdir/tests/e2e/lib.sh"
. "$top_srcdir/tests/kube/control_plane.sh"
. "$top_srcdir/tests/kube/node.sh"

node_or_skip

# CPUS: has the node say that it has this many CPUs. The kubelet puts that right,
# unless it is suspended.
say()
{
	kube patch node metal --subresource=status --type=merge -p \
		"{\"status\": {\"allocatable\": {\"cpu\": \"$1\"}}}" >/dev/null
}

# Submits a job for which the node is too small.
submitted()
{
	id=$(aisub --parsable --cpus-per-task 500 --mem 32M --wrap true \
		2>/dev/null)
}

# Whether the pod of the job is bound.
is_bound()
{
	kube --namespace jobs get pods -l "aisched.io/job-id=$id" -o \
		'jsonpath={.items[*].spec.nodeName}' | grep -q metal
}

# COUNT: whether aictl status says that this many starts were refused
refused()
{
	aictl status | grep -qF "starts refused $1 gpu"
}

is_decided()
{
	refused 1 || is_state "$id" COMPLETED
}

# Whether the kubelet refuses a job. It runs the job if it hears of the pod
# before it hears of the CPUs.
refuses()
{
	node_kubelet_signal STOP
	say 500
	wait_for submitted && wait_for is_bound
	say 2
	node_kubelet_signal CONT
	wait_for is_decided && refused 1
}

# JOB TEXT: whether aiq JOB prints TEXT
says()
{
	aiq "$1" | grep -qF -- "$2"
}

kube_start || bail "the control plane does not start"
node_start metal || bail "the node does not start"
kube create namespace jobs >/dev/null
wait_for kube --namespace jobs get serviceaccount default
configure "
queue default { grace = \"1s\" }
pool gpu { runner = kubernetes  kubeconfig = \"$kube/admin.conf\"
	namespace = \"jobs\"  image = \"docker.io/local/box:1\"
	run_as_root = yes }"
start_daemon || bail "aischedd does not start"
ok "nothing was refused so far" wait_for refused 0
for _ in 1 2 3 4 5; do
	! refuses || break
done
ok "the kubelet refuses a pod" refused 1
ok "its job waits for a node that is large enough" wait_for says "$id" NeverFits
like "the kubelet has said why" "$(grep "job start_failed job=$id " "$log")" \
	"node 'metal' does not take pod .*: OutOfcpu"
is "the job has not restarted" "$(aiq "$id" -h -o restarts | xargs)" 0
id=$(aisub --parsable --cpus-per-task 0.1 --mem 32M --wrap true)
ok "other jobs run" wait_for is_state "$id" COMPLETED
done_testing

#!/bin/sh
# The daemon is killed between any two of its calls about stand-ins for nodes.
# When the daemon runs again, the job gets its node, and nothing is left behind.

. "$top_srcdir/tests/e2e/lib.sh"
. "$top_srcdir/tests/kube/control_plane.sh"

ns="team"
. "$top_srcdir/tests/kube/killed.sh"

ok "a control plane starts" kube_start || bail "there is no control plane"
kwok_start
kube create namespace "$ns" >/dev/null
between_start

configure "
queue default { grace = \"1s\" }
pool gpu { runner = kubernetes  kubeconfig = \"$kube/between.conf\"
	namespace = \"$ns\"  image = \"local/box:1\"  run_as_root = yes }
scale burst { max = 2  cpus = 64  memory = \"512G\"  gpus = 8
	labels = {\"group=burst\"}  delay = \"1h\"  by = standin }"
start_daemon || bail "aischedd does not start"

# N: whether N stand-ins wait, each said to be unschedulable
stand_in()
{
	[ "$(table "$api/pods?labelSelector=aisched.io/standin" \
		metadata:deletionTimestamp status:conditions:reason |
		grep -c '^- .*Unschedulable')" -eq "$1" ]
}

is_over()
{
	is_state "$new" CANCELLED && nothing_is_left
}

has_no_nodes()
{
	! aiq --nodes --no-header -o state | grep -q IDLE
}

node()
{
	submit_armed -n 2 --gpus-per-task 8 --wrap true
	reaches "a gang waits" stand_in 2
	arm
	kube_nodes 1 "a-$when-$n" 8 group=burst
	reaches "a node comes" stand_in 2
	arm
	kube_nodes 1 "b-$when-$n" 8 group=burst
	reaches "it runs" runs "$new" 2
	armed aicancel "$new"
	reaches "its end" is_over
	kube delete node "a-$when-$n-0" "b-$when-$n-0" >/dev/null
	wait_for has_no_nodes
	submit_armed -n 2 --gpus-per-task 8 --wrap true
	wait_for so_or_dead stand_in 2
	armed aicancel "$new"
	reaches "a cancelled gang" is_over
}
each_call node

done_testing

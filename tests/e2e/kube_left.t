#!/bin/sh
# A pool is taken out of the configuration while its jobs run or wait: they go
# on, none runs twice, and nothing of them stays in the cluster.

. "$top_srcdir/tests/e2e/lib.sh"
. "$top_srcdir/tests/kube/control_plane.sh"

ok "a control plane starts" kube_start || bail "there is no control plane"
ok "with nodes" eval "kwok_start && kube_nodes 2 gpu 8"

# NAME [NAMESPACE]: prints the section of a pool
pool()
{
	cat <<-END
		pool $1 { runner = kubernetes  kubeconfig = "$kube/admin.conf"
			namespace = "${2:-$1}"  image = "local/box:1"
			run_as_root = yes }
	END
}

# POOL...: writes a configuration with these pools
configure_pools()
{
	configure "
		queue default { grace = \"1s\" }
		pool here { runner = local }
		$(for p in "$@"; do pool "$p"; done)"
}

# KIND [NAMESPACE]: prints the names of these objects
names_of()
{
	kube --namespace "${2:-old}" get "$1" -o name
}

nothing_is_left()
{
	[ -z "$(names_of jobs,pods,secrets,services)" ]
}

says_so()
{
	grep -q "pool old: nothing of ours is left there" "$log"
}

for space in old new; do
	kube create namespace "$space" >/dev/null
done
configure_pools old new
start_daemon || bail "aischedd does not start"
runs=$(aisub --parsable -q default --pool old --requeue --wrap true)
waits=$(aisub --parsable -q default --pool old --port web=80 --wrap true)
for id in $runs $waits; do
	ok "a job runs" wait_for is_state "$id" RUNNING
done
aictl requeue --hold "$waits"
ok "another waits, once it has run" wait_for is_state "$waits" PENDING
like "with the address of its port" "$(names_of services)" "aj-test-$waits-ports"
pod=$(names_of pods)

# --- its name is given to another cluster --------------------------------------

cp "$kube/admin.conf" "$kube/other.conf"
kill_daemon
configure "
	queue default { grace = \"1s\" }
	pool here { runner = local }
	$(pool old | sed s/admin.conf/other.conf/)
	$(pool new)"
start_daemon 2>/dev/null
is "the daemon does not start if that would lose the job" $? 1
like "and says why" "$(tail -n 1 "$log")" \
	"pool 'old' still has 1 running job in the cluster of kubeconfig '$kube/admin.conf': give the new cluster another name"
rm "$dir/state/pools/old"
start_daemon || bail "aischedd does not start with a kubeconfig that moved"
ok "if it is the same cluster, the job runs on" wait_for is_state "$runs" \
	RUNNING
is "in its pod" "$(names_of pods)" "$pod"

# --- the pool is gone ---------------------------------------------------------

kill_daemon
configure_pools new
start_daemon || bail "aischedd does not start without the pool"
has_no_service()
{
	[ -z "$(names_of services)" ]
}
ok "the address of the one that waits goes" wait_for has_no_service
is "the one that runs goes on" "$(state_of "$runs")" RUNNING
is "in its pod" "$(names_of pods)" "$pod"
is "which is its first" "$(aiq -h -o restarts "$runs")" 0
is "its nodes take no other" "$(aiq --nodes -h -o name,reason | grep ^old/ |
	sed 's/^[^ ]* *//' | sort -u)" "its pool is no longer configured"
fails "no job may name the pool" 1 "old" \
	aisub -q default --pool old --wrap true
ok "it can be read again" aictl reload
configure_pools old new
fails "but not with the pool" 1 "restart" aictl reload
configure_pools new
kill_daemon
start_daemon || bail "aischedd does not start again"
is "the next daemon finds the job, too" "$(state_of "$runs")" RUNNING
aicancel "$runs"
ok "and can end it" wait_for is_state "$runs" CANCELLED
ok "then nothing is left" wait_for nothing_is_left
ok "which the log says" wait_for says_so
is "the pool is forgotten" "$(ls "$dir/state/pools")" new
ok "the configuration can still be read again" aictl reload
kill_daemon
start_daemon || bail "aischedd does not start a last time"
is "as are its nodes" "$(aiq --nodes -h -o name | grep -c ^old/)" 0
aicancel "$waits"

done_testing

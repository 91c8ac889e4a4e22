#!/bin/sh
# One daemon with this machine and two clusters; and two daemons with the same
# cluster, of which only one runs jobs there.

. "$top_srcdir/tests/e2e/lib.sh"
. "$top_srcdir/tests/kube/control_plane.sh"

ns="jobs"

# one|two: makes kube() and others use this control plane
cluster()
{
	kube=$dir/$1
	kube_ip=127.$((64 + ($$ >> 16))).$((($$ >> 8) & 255)).$(($$ & 255))
	[ "$1" = one ] || kube_ip=127.$((192 + ($$ >> 16))).${kube_ip#*.*.}
	kube_url=https://$kube_ip:6443
	mkdir -p "$kube"
}

# CLUSTER: starts a control plane with simulated nodes and a namespace
begin()
{
	cluster "$1"
	ok "control plane $1 starts" kube_start ||
		bail "there is no control plane"
	kwok_start && kube_nodes 2 "$1" 8
	kube create namespace "$ns" >/dev/null
}

# JOB [FIELD]: prints a field of its pods in this cluster, one a line
pods()
{
	kube --namespace "$ns" get pods -l "aisched.io/job-id=$1" -o \
		"jsonpath={range .items[*]}{${2:-.metadata.name}}{'\n'}{end}"
}

# COMMAND [WORD]...: runs a command that uses the second daemon
second()
{
	AISCHED_SOCKET=$dir/second/socket "$@"
}

begin one
begin two
configure "
queue default { grace = \"1s\" }
queue far { grace = \"1s\"  pools = {\"two\"} }
pool here { runner = local }
pool one { runner = kubernetes  kubeconfig = \"$dir/one/admin.conf\"
	namespace = \"$ns\"  image = \"local/box:1\"  run_as_root = yes }
pool two { runner = kubernetes  kubeconfig = \"$dir/two/admin.conf\"
	namespace = \"$ns\"  image = \"local/box:1\"  run_as_root = yes
	cpu_limit = none  cpu_overcommit = 2.0 }"
start_daemon || bail "aischedd does not start"

export AISUB_QUEUE=default

# --- several pools -----------------------------------------------------------

here=$(aisub --parsable --pool here --wrap 'sleep 1000')
one=$(aisub --parsable --pool one --wrap true)
two=$(aisub --parsable -q far --wrap true)
for id in $here $one $two; do
	ok "each runs" wait_for is_state "$id" RUNNING
done
cluster one
is "in one the one that names it" "$(pods "$one" | wc -l) $(pods "$two" |
	wc -l)" "1 0"
cluster two
is "in the other the one whose queue decides" "$(pods "$one" |
	wc -l) $(pods "$two" | wc -l)" "0 1"
is "where CPUs are overcommitted, a pod asks for fewer, without a limit" \
	"$(pods "$two" '.spec.containers[0].resources' |
	jq -r '.requests.cpu, .limits.cpu')" "500m
null"
is "and nodes have more" "$(aiq --nodes -h -o name,cpus | tr -s ' ' |
	grep '^two')" "two-0 128
two-1 128"
fails "a job is not of two pools" 1 "pool" \
	aisub -q far --pool one --wrap true

part_kill apiserver
ok "a cluster is gone, which is told" wait_for status_has \
	"Pool 'two': API server '$kube_url' cannot be reached"
unlike "of that one" "$(aictl status)" "Pool 'one'"
aicancel "$one"
ok "the others go on" wait_for is_state "$one" CANCELLED
one=$(aisub --parsable --pool one --wrap true)
ok "and begin" wait_for is_state "$one" RUNNING
is "what runs there runs" "$(state_of "$two")" RUNNING
# shellcheck disable=SC2119
apiserver_start
ok "it is back" wait_for eval "! status_has \"Pool 'two'\""
aicancel "$two"
ok "and hears" wait_for is_state "$two" CANCELLED

# --- before a pool has listed its nodes ---------------------------------------

aicancel --wait "$here"
part_kill apiserver
stop_daemon
start_daemon
fails "one whose nodes are known has no other" 1 "there is no node 'nowhere'" \
	aisub --pool here --nodelist nowhere --wrap true
id=$(aisub --parsable --pool two --nodelist two-1 --wrap true)
ok "a job may name a node that may be of a cluster that is away" is_state \
	"$id" PENDING
ok "it may be drained" aictl drain two-0 -r "new disk"
ok "and reserved" aictl reserve create later --start "$(date -d +2days +%FT%T)" \
	--duration 1h --nodes two-0 --maintenance
fails "but not so many of it" 1 "pool 'two' has not listed its nodes yet" \
	aictl reserve create more --start "$(date -d +2days +%FT%T)" \
	--duration 1h --pool two --count 1 --maintenance
ok "one that is not there, too" aictl drain nowhere -r "new disk"
is "nothing of it runs" "$(aiq -h -w two-0 -o job_id)" ""
# shellcheck disable=SC2119
apiserver_start
ok "it is back: the job runs there" wait_for is_state "$id" RUNNING
is "on that node" "$(aiq -h -o nodelist "$id")" two-1
like "the other is drained" "$(aiq --nodes -h -o name,state,reason)" \
	"two-0 *DRAIN[A-Z]* *new disk"
like "the daemon says which is not there" "$(cat "$log")" \
	"node absent node=nowhere pool=two"
fails "now it is known that there is none" 1 "there is no node 'nowhere2'" \
	aictl drain nowhere2 -r "new disk"
aictl undrain two-0
aictl reserve delete later
aicancel --wait "$id"

# --- nodes of the same name ----------------------------------------------------

# NODE: prints its state
node_state()
{
	aiq --nodes -h -o name,state | awk -v node="$1" '$1 == node { print $2 }'
}

# NODE STATE [NODE STATE]...: whether the nodes have these states
nodes_are()
{
	while [ $# -gt 0 ]; do
		[ "$(node_state "$1")" = "$2" ] || return
		shift 2
	done
}

cluster one
kube_nodes 1 two 8
ok "two clusters have a node 'two-0'" wait_for nodes_are \
	one/two-0 IDLE two/two-0 IDLE
is "'two-1' is in one alone" "$(node_state two-1)" IDLE
aictl drain one/two-0 -r "new disk"
is "one of them is drained" "$(node_state one/two-0) $(node_state two/two-0)" \
	"DRAINED IDLE"
id=$(aisub --parsable --pool two --nodelist two-0 --wrap true)
ok "a job runs on the other" wait_for is_state "$id" RUNNING
is "which it names" "$(aiq -h -o nodelist "$id")" two/two-0
is "it is found there" "$(aiq -h -w two/two-0 -o job_id)" "$id"
is "and not here" "$(aiq -h -w one/two-0 -o job_id)" ""
stop_daemon
start_daemon
ok "the daemon is back" wait_for nodes_are one/two-0 DRAINED two/two-0 MIXED
is "the job runs where it ran" "$(state_of "$id") $(aiq -h -o nodelist "$id")" \
	"RUNNING two/two-0"
aicancel --wait "$id"
is "the history knows it" "$(aiq --history -h -w two/two-0 -o job_id,nodelist |
	tr -s ' ')" "$id two/two-0"
ok "a name alone means both" aictl drain two-0 -r "new disk"
is "both are drained" "$(node_state one/two-0) $(node_state two/two-0)" \
	"DRAINED DRAINED"
aictl undrain two-0
kube delete node two-0 >/dev/null
ok "one goes, the other has its name alone" wait_for nodes_are \
	two-0 IDLE

# --- two daemons -------------------------------------------------------------

cluster one
mkdir -p "$dir/second"
sed -e "s,$dir/state\",$dir/second/state\",
	s,\"$AISCHED_SOCKET\",\"$dir/second/socket\"," "$conf" \
	>"$dir/second/conf"
"$aischedd" -c "$dir/second/conf" </dev/null >"$dir/second/log" 2>&1 &
second_pid=$!
wait_for second aictl ping
ok "another daemon waits for the Lease" wait_for second status_has \
	"another daemon runs jobs there"
like "of this one" "$(second aictl status)" "holds Lease 'aischedd-test'"
id=$(second aisub --parsable --pool one --gpus-per-task 1 --wrap true)
kill -STOP "$daemon_pid"
ok "this one does nothing for long: the other acts" wait_for second \
	is_state "$id" RUNNING
is "and leaves alone what is not its own" "$(pods "$one" .status.phase)" \
	Running

aicancel "$one" &
cancel=$!
kill -CONT "$daemon_pid"
wait "$cancel"
ok "this one comes back, and waits for the Lease" wait_for status_has \
	"another daemon runs jobs there"
is "although it is to end a job" "$(state_of "$one")" COMPLETING
is "whose pod nobody has touched" "$(pods "$one" \
	'.status.phase}{.metadata.annotations.aisched\.io/leave')" Running
kill -TERM "$second_pid"
wait "$second_pid"
ok "the other one ends: this one goes on" wait_for is_state "$one" CANCELLED
is "and leaves alone what is not its own" "$(pods "$id" .status.phase)" \
	Running

done_testing

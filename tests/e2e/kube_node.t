#!/bin/sh
# Jobs on a real node: containers run the user's script, and report how it
# ended.

. "$top_srcdir/tests/e2e/lib.sh"
. "$top_srcdir/tests/kube/control_plane.sh"
. "$top_srcdir/tests/kube/node.sh"

lacks=$(node_lacks)
[ -z "$lacks" ] || skip_all "no node: $lacks"

ns="jobs"
work=$dir/seen

# KIND: prints how many objects of this kind aischedd has made
count()
{
	kube --namespace "$ns" get "$1" -l aisched.io/cluster=test -o name |
		wc -l
}

nothing_is_left()
{
	[ "$(count jobs)$(count pods)$(count secrets)$(count services)" = 0000 ]
}

# FILE: whether a job has written to it
written()
{
	[ -s "$work/$1" ]
}

# JOB: prints its state and exit status
exit_of()
{
	aiq --no-header -o state,exit "$1"
}

ok "a control plane starts" kube_start || bail "there is no control plane"
ok "with a node" node_start metal || bail "the node does not start"
kube create namespace "$ns" >/dev/null
wait_for kube --namespace "$ns" get serviceaccount default
mkdir -m 1777 "$work"

configure "
queue default { grace = \"10s\" }
pool here { runner = local }
pool gpu { runner = kubernetes  kubeconfig = \"$kube/admin.conf\"
	namespace = \"$ns\"  image = \"docker.io/local/box:1\"
	run_as_root = yes  allow_mounts = {\"$dir\", \"pvc:scratch\"} }
scheduling { start_timeout = \"60s\" }"
start_daemon || bail "aischedd does not start"

# [WORD]...: submits a job to the cluster, with a folder to which it can write
sub()
{
	aisub --parsable --pool gpu --cpus-per-task 0.1 --mem 32M \
		--mount "$work" "$@"
}

cat >script <<-'END'
	#!/bin/sh
	echo "$AISCHED_JOB_NAME $SLURM_ARRAY_TASK_ID $1 $VARIABLE" >"$2"
	exit 7
END

# --- the same script ---------------------------------------------------------

export VARIABLE="it's me"
id=$(sub -J name script 'two words' "$work/cluster")
ok "a script ends in a container" wait_for is_state "$id" FAILED
like "with its exit code" "$(exit_of "$id")" "FAILED +7"
is "it saw its arguments and environment" "$(cat "$work/cluster")" \
	"name  two words it's me"
id=$(aisub --parsable --pool here -J name script 'two words' "$work/local")
ok "it ends on this machine" wait_for is_state "$id" FAILED
is "and said the same" "$(cat "$work/local")" "$(cat "$work/cluster")"

cat >words <<-'END'
	#!/bin/sh
	for word; do
		echo "<$word>"
	done >"$AISCHED_SUBMIT_DIR/words.out"
END
chmod 755 "$dir"
# shellcheck disable=SC2016 # the kubelet would expand it
id=$(sub --mount "$PWD" words '$(HOME)' '$$' '$(AISCHED_JOB_ID)' '' 'a$b')
ok "words are what they were" wait_for is_state "$id" COMPLETED
# shellcheck disable=SC2016
is "whatever is in them" "$(cat words.out)" '<$(HOME)>
<$$>
<$(AISCHED_JOB_ID)>
<>
<a$b>'

# --- a volume that is made for the job -----------------------------------------

# This replaces a provisioner: the volume is a folder on the claim's node.
made_for()
{
	kube --namespace "$ns" get pvc scratch -o \
		'jsonpath={.metadata.annotations.volume\.kubernetes\.io/selected-node}'
}
mkdir -m 1777 "$dir/volume"
kube create -f - >/dev/null <<-END
	{"apiVersion": "v1", "kind": "List", "items": [
	{"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
	"metadata": {"name": "late"}, "provisioner": "test/none",
	"volumeBindingMode": "WaitForFirstConsumer"},
	{"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata":
	{"name": "scratch", "namespace": "$ns"}, "spec": {"accessModes":
	["ReadWriteOnce"], "storageClassName": "late",
	"resources": {"requests": {"storage": "1Mi"}}}}]}
END
# shellcheck disable=SC2016 # the job and wait_for expand
id=$(aisub --parsable --pool gpu --cpus-per-task 0.1 --mem 32M -n 2 \
	--mount pvc:scratch:/data \
	--wrap 'echo here >/data/$AISCHED_PROCID')
# shellcheck disable=SC2016
ok "a volume is asked for on its node" wait_for eval '[ "$(made_for)" = metal ]'
kube create -f - >/dev/null <<-END
	{"apiVersion": "v1", "kind": "PersistentVolume", "metadata":
	{"name": "scratch"}, "spec": {"accessModes": ["ReadWriteOnce"],
	"storageClassName": "late", "capacity": {"storage": "1Mi"},
	"claimRef": {"namespace": "$ns", "name": "scratch"},
	"nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchFields":
	[{"key": "metadata.name", "operator": "In", "values": ["metal"]}]}]}},
	"hostPath": {"path": "$dir/volume"}}}
END
ok "a gang mounts it" wait_for is_state "$id" COMPLETED
is "and writes there" "$(cat "$dir/volume/0" "$dir/volume/1")" "here
here"

# --- what it may do -----------------------------------------------------------

ln -s / "$work/root"
mkdir "$work/folder"
ln -s folder "$work/inside"
id=$(aisub --parsable --pool gpu --cpus-per-task 0.1 --mem 32M \
	--mount "$work/root:/mnt" --wrap true)
ok "a link out of the allowed folder is not followed" \
	wait_for is_state "$id" FAILED
like "which is told" "$(aiq "$id")" "container cannot start: .*subPath"
id=$(aisub --parsable --pool gpu --cpus-per-task 0.1 --mem 32M \
	--mount "$work/inside:/mnt" --wrap 'echo here >/mnt/file')
ok "one that stays in it is" wait_for is_state "$id" COMPLETED
is "where it leads" "$(cat "$work/folder/file")" here

id=$(as_user nobody aisub --parsable --pool gpu --cpus-per-task 0.1 --mem 32M \
	--mount "$work" \
	--wrap "grep -E 'CapBnd|NoNewPrivs|Seccomp:' /proc/self/status \
		>$work/rights")
ok "a job of a user runs" wait_for is_state "$id" COMPLETED
is "without any capability, and with a seccomp profile" \
	"$(tr -d '\t' <"$work/rights")" "CapBnd:0000000000000000
NoNewPrivs:1
Seccomp:2"

# --- what is shown of the same script here and there --------------------------

cat >same <<-'END'
	#!/bin/sh
	echo "job $AISCHED_JOB_NAME: $# words"
	echo "to standard error" >&2
	[ "$1" = limit ] || awk 'BEGIN {
		for (i = 0; i < 1000000; i++)
			s += i % 2
		print s
	}'
	case $1 in
	seven) exit 7 ;;
	killed) kill -9 $$ ;;
	limit) sleep 1000 ;;
	memory) awk 'BEGIN {
		for (s = "x"; length(s) < 100000000; s = s s)
			;
		system("sleep 1000")
	}' || exit ;;
	esac
END
cases="fine seven killed limit memory"

# POOL CASE: submits the script with this case to the pool
sub_same()
{
	limit=60
	[ "$2" != limit ] || limit=6
	aisub --parsable --pool "$1" -J "$2" -o "$dir/$2.out" --time "${limit}s" \
		--cpus-per-task 0.1 --mem 32M same "$2" "two words"
}

# JOB FILTER: prints a part of the job in the history
kept()
{
	aiq --history --json "$1" | jq -r ".jobs[0] | $2"
}

for case in $cases; do
	sub_same here "$case" >"$dir/$case.here"
	sub_same gpu "$case" >"$dir/$case.gpu"
done
aisub --wait --pool here --cpus-per-task 0.1 --mem 32M -o /dev/null \
	-d "afterany:$(cat "$dir"/*.here "$dir"/*.gpu | paste -sd:)" \
	--wrap true >/dev/null
for case in $cases; do
	a=$(cat "$dir/$case.here")
	b=$(cat "$dir/$case.gpu")
	how='[.state, .reason, .exit_code, .signal] | @tsv'
	[ "$case" != memory ] || how='[.state, .reason] | @tsv'
	is "$case: ends alike" "$(kept "$b" "$how")" "$(kept "$a" "$how")"
	is "and has said the same" "$(aiq --log "$b" |
		grep -v Terminated)" "$(grep -v ': error:' "$dir/$case.out")"
	for id in "$a" "$b"; do
		ok "its time is accounted for" [ "$(kept "$id" \
			'.end_time >= .start_time and .start_time > 0')" = true ]
	done
	# A process killed in a container cannot report what it used.
	used='.cpu_seconds > 0.02 and .peak_mem_mib > 0'
	case $case in
	fine | seven | killed)
		is "and what it used" "$(kept "$a" "$used") \
$(kept "$b" "$used")" "true true"
		;;
	esac
done

# --- signals ------------------------------------------------------------------

cat >./trap <<-'END'
	#!/bin/sh
	trap 'echo got TERM >"$1"; exit 5' TERM
	echo ready >"$1.ready"
	while :; do sleep 0.1; done
END
id=$(sub trap "$work/trap")
ok "a script that traps TERM runs" wait_for written trap.ready
aicancel "$id"
ok "is cancelled" wait_for is_state "$id" CANCELLED
is "and heard it" "$(cat "$work/trap")" "got TERM"

id=$(sub --wrap 'sleep 1000')
ok "one that does not runs" wait_for is_state "$id" RUNNING
aicancel "$id"
ok "and is cancelled, too" wait_for is_state "$id" CANCELLED

cat >./warned <<-'END'
	#!/bin/sh
	trap 'echo got USR1 >"$1"; exit 6' USR1
	while :; do sleep 0.1; done
END
id=$(sub --time 60s --signal B:USR1@50 warned "$work/warned")
ok "one that is to be warned of its end" wait_for is_state "$id" FAILED
is "is" "$(cat "$work/warned")" "got USR1"

cat >./counts <<-'END'
	#!/bin/sh
	trap 'echo USR1 >>"$1"' USR1
	trap 'echo USR2 >>"$1"' USR2
	sh -c 'trap "echo below >>\"$0\"" USR1
		echo ready >>"$0"
		while :; do sleep 0.1; done' "$1" &
	while :; do wait; done
END
id=$(sub -n 2 --time 1h --signal USR2@60 counts "$work/counts")
counted()
{
	[ "$(sort "$work/counts" 2>/dev/null | tr '\n' ' ')" = "$* " ]
}
ok "two pods run a script with a process each" wait_for counted ready ready
wait_for is_state "$id" RUNNING
aicancel --signal USR1 "$id"
ok "all processes get a signal" wait_for counted USR1 USR1 below below ready ready
: >"$work/counts"
aicancel --signal USR2 "$id"
ok "once" wait_for counted USR2 USR2
aicancel --signal KILL "$id"
ok "and one that ends them" wait_for is_state "$id" FAILED
is "as it did" "$(aiq --no-header -o signal "$id")" 9

id=$(sub --wrap 'kill -9 $$')
ok "one that kills itself" wait_for is_state "$id" FAILED

# --- a gang -------------------------------------------------------------------

cat >meet <<-'END'
	#!/bin/sh
	# Rank 0 listens, rank 1 calls; both by the name of rank 0.
	if [ "$RANK" = 0 ]; then
		nc -l -p "$MASTER_PORT" >"$1"
	else
		until echo "rank $RANK of $WORLD_SIZE: $MASTER_ADDR" |
			nc -w 2 "$MASTER_ADDR" "$MASTER_PORT"; do
			sleep 0.2
		done
	fi
END
id=$(sub -n 2 meet "$work/meet")
ok "two ranks" wait_for is_state "$id" COMPLETED
is "meet, by the whole name" "$(cat "$work/meet")" \
	"rank 1 of 2: aj-test-$id-1-0.aj-test-$id-1.$ns.svc.cluster.local"

# --- failures -----------------------------------------------------------------

id=$(sub --image docker.io/local/nothing:1 --wrap true)
image_is_told()
{
	aiq "$id" | grep -q 'held up.*image cannot be pulled so far'
}
ok "an image that is not there is told" wait_for image_is_told
ok "for a while" wait_for is_state "$id" FAILED
like "and named" "$(aiq "$id")" "local/nothing:1"
is "the log has it once as it waits, and once at its end" \
	"$(grep "job=$id .*local/nothing:1" "$log" | cut -d ' ' -f 3,4)" \
	"job wait
job start_failed"

id=$(sub --wrap 'sleep 1000')
ok "a job runs" wait_for is_state "$id" RUNNING
kill_daemon
start_daemon || bail "aischedd does not start again"
ok "and does when the daemon is back" wait_for is_state "$id" RUNNING
aicancel "$id"
ok "nothing is left" wait_for nothing_is_left

done_testing

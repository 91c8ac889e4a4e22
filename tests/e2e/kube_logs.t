#!/bin/sh
# The output of jobs in containers of a real node: it is read while they run,
# and kept after they end.

. "$top_srcdir/tests/e2e/lib.sh"
. "$top_srcdir/tests/kube/control_plane.sh"
. "$top_srcdir/tests/kube/node.sh"

node_or_skip

ns="jobs"
work=$dir/seen

nothing_is_left()
{
	[ -z "$(kube --namespace "$ns" get jobs,pods,secrets,services \
		-l aisched.io/cluster=test -o name)" ]
}

# FILE TEXT: whether the file contains TEXT
has()
{
	grep -qF -- "$2" "$1"
}

ok "a control plane starts" kube_start || bail "there is no control plane"
ok "with a node" node_start metal || bail "the node does not start"
kube create namespace "$ns" >/dev/null
wait_for kube --namespace "$ns" get serviceaccount default
mkdir -m 1777 "$work"

settings="
queue default { grace = \"10s\" }
pool gpu { runner = kubernetes  kubeconfig = \"$kube/admin.conf\"
	namespace = \"$ns\"  image = \"docker.io/local/box:1\"
	run_as_root = yes  allow_mounts = {\"$dir\"}  log_limit = \"64K\" }
scheduling { start_timeout = \"60s\" }"
configure "$settings"
start_daemon || bail "aischedd does not start"

# [WORD]...: submits a job to the cluster, with the folder for gates mounted
sub()
{
	aisub --parsable --cpus-per-task 0.1 --mem 32M --mount "$work" "$@"
}

# NAME: prints a line of shell that waits for open_gate NAME
gate()
{
	echo "until [ -e $work/$1 ]; do sleep 0.1; done"
}

open_gate()
{
	: >"$work/$1"
}

# --- one job -----------------------------------------------------------------

id=$(sub --wrap "echo one; echo two; $(gate a); echo three; printf four")
ok "a job runs" wait_for is_state "$id" RUNNING
wait_for eval "aiq --log $id | grep -q two"
is "what it has printed is read" "$(aiq --log "$id")" "one
two"
aiq --log -f "$id" >"$dir/follow" &
follower=$!
ok "it is followed" wait_for has "$dir/follow" two
open_gate a
ok "until it ends" wait "$follower"
is "to the last byte" "$(od -c "$dir/follow")" \
	"$(printf 'one\ntwo\nthree\nfour' | od -c)"
ok "it is over" wait_for is_state "$id" COMPLETED
ok "and gone" wait_for nothing_is_left
ok "its output is kept" eval "aiq --log $id >$dir/kept"
is "all of it" "$(od -c "$dir/kept")" "$(od -c "$dir/follow")"
ok "following it ends at once" eval "aiq --log -f $id >$dir/kept"
is "with all of it" "$(od -c "$dir/kept")" "$(od -c "$dir/follow")"

# --- several tasks, several attempts -------------------------------------------

# The variables are expanded in the job, where $RANK is that of the task.
cat >speak <<-'END'
	#!/bin/sh
	echo "rank $AISCHED_PROCID of job $AISCHED_JOB_ID, restart" \
		"${SLURM_RESTART_COUNT:-0}"
	until [ -e "$1" ]; do sleep 0.1; done
	echo "rank $AISCHED_PROCID ends"
END
id=$(sub -n 2 speak "$work/b")
ok "a gang runs" wait_for is_state "$id" RUNNING
aiq --log -f "$id" >"$dir/follow" &
follower=$!
open_gate b
ok "it is followed" wait "$follower"
is "task after task" "$(cat "$dir/follow")" "rank 0 of job $id, restart 0
rank 0 ends
rank 1 of job $id, restart 0
rank 1 ends"
is "one task" "$(aiq --log --task 1 "$id")" "rank 1 of job $id, restart 0
rank 1 ends"
fails "one that there is not" 1 "left no output" aiq --log --task 2 "$id"

id=$(sub speak "$work/c")
ok "a job runs" wait_for is_state "$id" RUNNING
wait_for eval "aiq --log $id | grep -q rank"
aiq --log -f "$id" >"$dir/follow" &
follower=$!
ok "it is followed" wait_for has "$dir/follow" "restart 0"
# The job's shell may also write that it was terminated.
aictl requeue "$id" >/dev/null
ok "to its next attempt" wait_for has "$dir/follow" "restart 1"
is "all of it is there" "$(aiq --log "$id" | grep rank)" "rank 0 of job $id, restart 0
rank 0 of job $id, restart 1"
open_gate c
ok "and to its end" wait "$follower"
is "without a line too many" "$(grep rank "$dir/follow")" \
	"rank 0 of job $id, restart 0
rank 0 of job $id, restart 1
rank 0 ends"
ok "the job is over" wait_for is_state "$id" COMPLETED
is "what is kept is the same" "$(aiq --log "$id")" "$(cat "$dir/follow")"

# shellcheck disable=SC2016 # for the shell of the job
id=$(sub -a 3-4 --wrap 'echo task $SLURM_ARRAY_TASK_ID')
ok "an array ends" wait_for eval "is_state ${id}_3 COMPLETED &&
	is_state ${id}_4 COMPLETED"
is "each task has its output" "$(aiq --log "${id}_4")" "task 4"
fails "an array has none" 1 "name one task" aiq --log "$id"

# --- large output ----------------------------------------------------------------

# The last line of a job's output is kept. containerd before 1.7 loses what it
# has not read when the first process of a container ends; that process waits for
# it. In long lines the same bytes are read sooner, also on a busy machine.
cat >lines <<-'END'
	#!/bin/sh
	awk 'BEGIN { for (i = 1; i <= 6000; i++) printf "%099d\n", i }'
END
id=$(sub lines)
ok "a job prints more than is kept" wait_for is_state "$id" COMPLETED
ok "its output is read" eval "aiq --log $id >$dir/kept 2>$dir/said"
ok "no more of it than the limit" [ "$(wc -c <"$dir/kept")" -le 65536 ]
is "to its end, whole lines" "$(cksum <"$dir/kept")" \
	"$(sh lines | tail -n "$(wc -l <"$dir/kept")" | cksum)"
like "and what is missing is said" "$(cat "$dir/said")" \
	"$((600000 - $(wc -c <"$dir/kept"))) bytes are not kept"

# Prints the resident memory of the daemon, in KiB.
memory()
{
	awk '/^VmRSS/ { print $2 }' "/proc/$daemon_pid/status"
}

# Print five megabytes. With the time that the kubelet writes before each line,
# the log stays below ten megabytes, at which the kubelet rotates it.
cat >much <<-'END'
	#!/bin/sh
	awk 'BEGIN { for (i = 1; i <= 10000; i++) printf "%0500d\n", i }'
	echo all
	until [ -e "$1" ]; do sleep 0.1; done
END
mkfifo "$dir/fifo"
id=$(sub much "$work/d")
ok "one prints much" wait_for eval \
	"kube -n $ns logs -l aisched.io/job-id=$id --tail 1 | grep -q all"
before=$(memory)
aiq --log -f "$id" >"$dir/fifo" &
follower=$!
{
	head -c 1000 >"$dir/slow"
	# The daemon answers other requests while it waits for the reader.
	for _ in 1 2 3 4 5 6 7 8; do
		aictl ping --wait 10s >/dev/null && aiq -a >/dev/null
	done
	grew=$(($(memory) - before))
	# The address sanitizer keeps freed memory for a while.
	! grep -q __asan_init "$top_builddir/aischedd/aischedd" ||
		most=30000
	ok "one who reads slowly lets none of it be held ($grew KiB)" \
		[ "$grew" -lt "${most:-3000}" ]
	open_gate d
	cat >>"$dir/slow"
} <"$dir/fifo"
ok "and comes to the end" wait "$follower"
is "with all of it" "$(cksum <"$dir/slow")" "$(sh much "$work/d" | cksum)"

# --- output files of the user -------------------------------------------------

# Output files in a mounted folder are made by the job itself, as on this
# machine.
cat >both <<-'END'
	#!/bin/sh
	echo "out $1"
	echo "err $1" >&2
END
id=$(sub -o "$work/new/%x-%j-%t" -J name both 1)
ok "output goes to a file in a mount" wait_for is_state "$id" COMPLETED
is "with all of it" "$(cat "$work/new/name-$id-0")" "out 1
err 1"
is "read from there" "$(aiq --log "$id")" "out 1
err 1"
ok "nothing of it is kept twice" [ ! -e "$dir/state/logs/$id" ]
id=$(sub -o "$work/o" -e "$work/e" both 2)
ok "two files" wait_for is_state "$id" COMPLETED
is "have each its own" "$(cat "$work/o") $(cat "$work/e")" "out 2 err 2"
id=$(sub -o "$work/o" -e /tmp/e both 3)
ok "where one is not mounted" wait_for is_state "$id" COMPLETED
is "the other is made anew" "$(cat "$work/o")" "out 3"
id=$(sub -n 2 -o "$work/o" --open-mode append both 4)
ok "two tasks" wait_for is_state "$id" COMPLETED
is "write to one file, behind what was there" "$(sort "$work/o" | uniq -c |
	tr -s ' \n' ' ')" " 2 err 4 1 out 3 2 out 4 "
id=$(aisub --parsable --cpus-per-task 0.1 --mem 32M --mount "$work:/mnt" \
	-o /mnt/there -i /mnt/o --wrap 'head -n 1')
ok "under another name" wait_for is_state "$id" COMPLETED
is "it is found as well" "$(aiq --log "$id")" "out 3"

id=$(sub -o "$work/requeued" speak "$work/i")
ok "a job runs" wait_for has "$work/requeued" "restart 0"
aiq --log -f "$id" >"$dir/follow" &
follower=$!
aictl requeue "$id" >/dev/null
ok "its next attempt writes on" wait_for has "$dir/follow" "restart 1"
open_gate i
ok "to its end" wait "$follower"
is "in one file" "$(grep rank "$dir/follow")" "$(grep rank "$work/requeued")"
is "with both" "$(grep -c restart "$work/requeued")" 2

: >"$work/file"
id=$(sub -n 2 -o "$work/file/out" both 5)
ok "a file that cannot be opened fails the job" wait_for is_state "$id" FAILED
like "which says so" "$(aiq "$id")" "cannot open output '$work/file/out': "
id=$(sub -i "$work/none" both 6)
ok "so does input that is not there" wait_for is_state "$id" FAILED
like "which says so" "$(aiq "$id")" "cannot open input '$work/none': "
id=$(sub -o "$work/moved" both 7)
ok "a file that this machine does not have" wait_for is_state "$id" COMPLETED
rm "$work/moved"
fails "is said to be elsewhere" 1 "'$work/moved' on node 'metal'" \
	aiq --log "$id"
id=$(sub -o /dev/null both 8)
ok "output to nowhere" wait_for is_state "$id" COMPLETED
fails "is not kept" 1 "goes to '/dev/null' and is not kept" aiq --log "$id"

# --- tasks that are replaced ----------------------------------------------------

cat >fails_once <<-'END'
	#!/bin/sh
	echo "begins"
	mkdir "$1" 2>/dev/null && exit 3
	until [ -e "$2" ]; do sleep 0.1; done
	echo "ends"
END
id=$(sub --on-task-failure replace --max-restarts 2 fails_once "$work/once" \
	"$work/j")
aiq --log -f "$id" >"$dir/follow" 2>&1 &
follower=$!
ok "a task that failed is followed to the next one" \
	wait_for eval "[ \"\$(grep -c begins '$dir/follow')\" = 2 ]"
open_gate j
ok "to its end" wait "$follower"
is "with all that both have said" "$(cat "$dir/follow")" "begins
begins
ends"
ok "the job is over" wait_for is_state "$id" COMPLETED
is "both are kept" "$(aiq --log "$id")" "$(cat "$dir/follow")"

# --- Jobs that others made --------------------------------------------------------

# NAME COMMAND [SPEC]: creates a Job
make_job()
{
	kube -n "$ns" create -f - >/dev/null <<-END
		{"apiVersion": "batch/v1", "kind": "Job", "metadata": {
			"name": "$1", "labels": {"aisched.io/queue": "default"}},
		"spec": {"suspend": true, ${3-} "template": {"spec": {
			"restartPolicy": "Never", "schedulerName": "aisched",
			"terminationGracePeriodSeconds": ${grace:-1},
			"volumes": [{"name": "v", "hostPath": {"path": "$work"}}],
			"containers": [{"name": "own",
				"image": "docker.io/local/box:1",
				"command": ["sh", "-c", "$2"],
				"volumeMounts": [{"name": "v",
					"mountPath": "$work"}],
				"resources": {"limits": {"cpu": "100m",
					"memory": "32Mi"}}}]}}}}
	END
	wait_for eval "id=\$(kube -n $ns get job $1 -o jsonpath='{.metadata.labels.aisched\.io/job-id}') &&
		[ -n \"\$id\" ]"
}

make_job theirs "echo one; $(gate k); echo two"
ok "a Job made with kubectl runs" wait_for is_state "$id" RUNNING
aiq --log -f "$id" >"$dir/follow" &
follower=$!
ok "it is followed" wait_for has "$dir/follow" one
# The daemon stops a Job by suspending it, which deletes its pod.
aictl requeue "$id" >/dev/null
ok "to its next attempt" wait_for eval \
	"[ \"\$(grep -c one '$dir/follow')\" = 2 ]"
open_gate k
ok "to its end" wait "$follower"
is "with all of it" "$(cat "$dir/follow")" "one
one
two"
ok "it is over" wait_for is_state "$id" COMPLETED
kube -n "$ns" delete job theirs --wait=true >/dev/null
is "what it said is kept" "$(aiq --log "$id")" "$(cat "$dir/follow")"
make_job numbered "echo I am \$JOB_COMPLETION_INDEX" \
	'"completionMode": "Indexed", "parallelism": 2, "completions": 3,'
numbered=$id
ok "one with indexes ends" wait_for is_state "$id" COMPLETED
is "each is a task" "$(aiq --log --task 2 "$id")" "I am 2"
is "in order" "$(aiq --log "$id")" "I am 0
I am 1
I am 2"

# These pods print something after SIGTERM, when they are deleted with their
# Jobs.
saves="trap 'echo saved; sleep 1; echo done; exit 3' TERM; echo one
	while :; do sleep 0.1; done"
saves=$(echo "$saves" | tr '\n\t' '; ')
saved="one
saved
done"

# NAME WHAT COMMAND [WORD]...: tests that Job WHAT, stopped by COMMAND, keeps
# all its output
stopped_so()
{
	stopped_name=$1
	make_job "$2" "$saves"
	shift 2
	wait_for is_state "$id" RUNNING
	wait_for eval "aiq --log $id | grep -q one"
	"$@" >/dev/null
	wait_for is_state "$id" CANCELLED
	is "$stopped_name" "$(aiq --log "$id")" "$saved"
}
grace=10
# shellcheck disable=SC2016 # of the job as it is then
stopped_so "one that is cancelled keeps its last words" cancelled \
	eval 'aicancel $id'
stopped_so "and one that its owner deletes" deleted \
	kube -n "$ns" delete job deleted --wait=false
# On a slow machine the pod may not start before the deadline: then try a longer
# one.
for limit in 3 15 75; do
	make_job "late$limit" "$saves" "\"activeDeadlineSeconds\": $limit,"
	wait_for is_state "$id" TIMEOUT
	[ -z "$(aiq --log "$id")" ] || break
done
is "one runs for longer than it may" "$(state_of "$id")" TIMEOUT
is "and keeps them, too" "$(aiq --log "$id")" "$saved"
make_job replaced "$saves"
ok "another runs" wait_for is_state "$id" RUNNING
wait_for eval "aiq --log $id | grep -q one"
kube -n "$ns" delete pod -l job-name=replaced --wait=false >/dev/null
both_speak()
{
	[ "$(aiq --log "$id" 2>/dev/null)" = "$saved
one" ]
}
ok "a pod of it that is deleted is replaced" wait_for both_speak
aicancel "$id"
wait_for is_state "$id" CANCELLED
is "and both are kept" "$(aiq --log "$id")" "$saved
$saved"

# --- more output than is kept ---------------------------------------------------

id=$(sub --wrap "echo one; $(gate n); seq 10000")
ok "a job runs" wait_for is_state "$id" RUNNING
readers=
for i in $(seq 64); do
	aiq --log -f "$id" >"$dir/reader.$i" 2>&1 &
	readers="$readers $!"
done
ok "one user may read so many" wait_for eval \
	"[ \"\$(grep -l one '$dir'/reader.* | wc -l)\" = 64 ]"
fails "and not one more" 1 "you are reading 64 logs already" aiq --log "$id"
# The disk is full when the log is to be stored.
trap 'umount -l "$dir/state/logs" 2>/dev/null; node_stop; clean_up' EXIT
mount -t tmpfs -o size=4k none "$dir/state/logs"
open_gate n
ok "the job is over, whatever becomes of its log" wait_for \
	is_state "$id" COMPLETED
# shellcheck disable=SC2086 # several
wait $readers
umount -l "$dir/state/logs"
like "it says that" "$(aiq "$id")" \
	"the log of task 0 is not kept.*: .*No space left"
ok "other jobs are not held up" [ "$(aiq --log "$numbered" | wc -l)" = 3 ]

# --- readers, daemons and servers that go away ------------------------------------

id=$(sub --wrap "echo one; $(gate e); echo two; $(gate f)")
ok "a job runs" wait_for is_state "$id" RUNNING
aiq --log -f "$id" >"$dir/follow" &
follower=$!
ok "it is followed" wait_for has "$dir/follow" one
kill_daemon
open_gate e
start_daemon || bail "aischedd does not start again"
ok "also when the daemon was away" wait_for has "$dir/follow" two
open_gate f
ok "to its end" wait "$follower"
is "and nothing comes twice" "$(cat "$dir/follow")" "one
two"

id=$(sub --wrap "echo one; $(gate g); echo two; $(gate h)")
ok "a job runs" wait_for is_state "$id" RUNNING
aiq --log -f "$id" >"$dir/follow" &
follower=$!
ok "it is followed" wait_for has "$dir/follow" one
part_kill apiserver
open_gate g
apiserver_start
ok "also when the API server was away" wait_for has "$dir/follow" two
aicancel "$id"
ok "and when it is cancelled" wait "$follower"
is "with nothing twice" "$(grep -v Terminated "$dir/follow")" "one
two"
ok "the job is" wait_for is_state "$id" CANCELLED

# --- jobs without output ----------------------------------------------------

id=$(sub --hold --wrap true)
fails "a job that waits has no output yet" 1 "no output yet" aiq --log "$id"
aiq --log -f "$id" >"$dir/follow" 2>&1 &
follower=$!
aicancel "$id"
wait "$follower"
like "one that never ran has none" "$(cat "$dir/follow")" "left no output"

# --- how long output is kept ------------------------------------------------------

ok "what was kept is there" [ -e "$dir/state/logs/$numbered" ]
configure "$settings
history_keep = \"1s\""
kill_daemon
start_daemon || bail "aischedd does not start again"
ok "until its job is forgotten" wait_for [ ! -e "$dir/state/logs/$numbered" ]

done_testing

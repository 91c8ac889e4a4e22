#!/bin/sh
# Jobs on a real node: containers run the user's script, and report how it
# ended.

. "$top_srcdir/tests/e2e/lib.sh"
. "$top_srcdir/tests/kube/control_plane.sh"
. "$top_srcdir/tests/kube/node.sh"

node_or_skip

ns="jobs"
work=$dir/seen

nothing_is_left()
{
	left=$(kube --namespace "$ns" get jobs,pods,secrets,services \
		-l aisched.io/cluster=test -o name) && [ -z "$left" ]
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

# --- a script in a container -------------------------------------------------

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

# --- what a job may do --------------------------------------------------------

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

# --- the same script on this machine and in the cluster -----------------------

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

# --- commands that the owner runs in a job --------------------------------------

job=$(VARIABLE=given sub -n 2 --wrap 'exec sleep 1000')
wait_for is_state "$job" RUNNING || bail "no job runs"

# JOB[.RANK] COMMAND...: runs the command in the job, for $deadline_s at most
in_job()
{
	timeout --foreground "$deadline_s" aictl exec "$@"
}

# PATTERN: whether a process has this command line; in containers, too
lives()
{
	pgrep -f "^$1\$" >found
}

ends()
{
	! lives "$1"
}

aictl exec "$job" sleep "4241.$$" 2>late &
late=$!
# shellcheck disable=SC2016 # the command expands it
run in_job "$job.1" sh -c 'echo "$AISCHED_JOB_ID $RANK $VARIABLE"; pwd'
# shellcheck disable=SC2154 # run sets them
is "a command has the environment and folder of its task" "$rc $out$err" \
	"0 $job 1 given
$PWD"
fails "a task that is not there" 1 "no task 2 of the job runs" \
	in_job "$job.2" true
run in_job "$job" -- sh -c 'cat; echo wrong >&2; exit 7' <script
is "its streams and its status are passed on" "$rc $out$err" "7 $(cat script)wrong"
# shellcheck disable=SC2016
run in_job "$job" sh -c 'kill -9 $$'
is "a signal that ends it, too" "$rc" 137
is "much input" "$(head -c 3000000 /dev/zero | in_job "$job" wc -c)" 3000000
is "much output" "$(in_job "$job" head -c 3000000 /dev/zero | wc -c)" 3000000
run in_job "$job" /no/such
is "a command that is not there" "$rc" 127
run sh -c "printf 'exec $job cat\nexec $job echo one\n' | aictl"
is "in a script its input is not the script's" "$rc $out$err" "0 one"
# shellcheck disable=SC2016
is "a long word" "$(in_job "$job" sh -c 'echo ${#1}' x "$(head -c 60000 /dev/zero | tr '\0' %)")" 60000
fails "too long a command" 1 "a command in a job of a cluster may have 64 KiB" \
	in_job "$job" echo "$(head -c 70000 /dev/zero | tr '\0' x)"

cat >tty.sh <<END
aictl exec -t $job sh -c 'tty; stty size; echo \$TERM; read x; echo "got \$x"; exit 5'
echo status \$?
END
# Keep the FIFO open: if the input ended before the terminal is raw, the end
# would be read as a zero byte.
mkfifo keys
exec 9<>keys
echo typed >&9
TERM=vt100 timeout "$deadline_s" script -qec \
	"stty rows 33 cols 44; sh $PWD/tty.sh" /dev/null <&9 |
	tr -d '\r' >tty.out
is "a terminal of its own, as large as ours" \
	"$(grep -v -e '^typed' -e '^/dev/pts' tty.out)" "33 44
vt100
got typed
status 5"

cat >tty.sh <<END
"$dir/srun" --overlap --pty --jobid=$job sh -c 'stty size; exit 6'
echo status \$?
END
ln -s "$top_builddir/slurm/slurm" "$dir/srun"
is "so has srun" "$(timeout "$deadline_s" script -qec \
	"stty rows 33 cols 44; sh $PWD/tty.sh" /dev/null <&9 | tr -d '\r')" "33 44
status 6"
exec 9>&-
fails "but its steps are those of scripts" 1 \
	"job $job runs in a cluster: its script runs steps, srun --overlap a command beside them" \
	"$dir/srun" --jobid="$job" true
fails "which have more options" 1 \
	"in a job of a cluster --overlap goes without --label" \
	"$dir/srun" --overlap --label --jobid="$job" true

aictl exec "$job" sleep "4242.$$" &
tool=$!
ok "one that lasts" wait_for lives "sleep 4242.$$" || bail "none begins"
kill -9 "$tool"
ok "ends with its tool" wait_for ends "sleep 4242.$$"

# SIGNAL: sends the signal to an aictl exec whose command has begun
signal_tool()
{
	: >begun
	aictl exec "$job" sh -c "echo begun; exec sleep 4243.$$" >begun &
	tool=$!
	wait_for test -s begun || bail "no command begins"
	kill -"$1" "$tool"
	wait "$tool"
}
signal_tool USR2
is "signals are passed on" "$?" 140
signal_tool INT
is "SIGINT, too" "$?" 130
ok "and end it" wait_for ends "sleep 4243.$$"

# aictl has a terminal here, but its command has none. Ctrl-C sends SIGINT to
# the process group of aictl, which passes it on.
mkfifo typed
cat >tty.sh <<END
trap : INT
aictl exec $job sh -c 'trap "echo interrupted; exit 3" INT; echo begun; while :; do sleep 0.1; done' </dev/null
echo status \$?
END
(cat typed; printf '\003'; cat typed) |
	timeout "$deadline_s" script -qec "exec sh $PWD/tty.sh" /dev/null \
		>int.out &
wait_for grep -q begun int.out || bail "no command begins on a terminal"
echo >typed
wait_for grep -q "^status" int.out
echo >typed
wait "$!"
like "Ctrl-C, too" "$(tr -d '\r' <int.out)" "^status 3\$"

much=$((50000000 + $$))
mkfifo open
aictl exec "$job" head -c "$much" /dev/zero | {
	cat open
	wc -c >got
} &
reader=$!

# Whether the command has written something, but nothing since the last call.
stuck()
{
	before=$written
	written=$(awk '/^wchar/ { print $2 }' "/proc/$(pgrep -f "^(sh .*)?head -c $much ")/io")
	[ "${written:-0}" -gt 1000 ] && [ "$written" = "$before" ]
}

rss_kib()
{
	awk '/^VmRSS/ { print $2 }' "/proc/$daemon_pid/status"
}
written=
rss=$(rss_kib)
wait_for stuck
ok "a reader that stops holds no memory" [ $(($(rss_kib) - rss)) -lt 25000 ]
echo >open
wait "$reader"
is "and gets all of it in the end" "$(cat got)" "$much"

# Whether the first command has lasted long enough for a warning.
lasted()
{
	[ "$(ps -o etimes= -p "$late")" -gt 6 ]
}
wait_for lasted
kill "$late"
wait "$late"
is "no answer is missed from one that lasts" "$(cat late)" ""
wait_for ends "sleep 4241.$$"

tools=
for n in $(seq 16); do
	aictl exec "$job.$((n % 2))" sleep "4244.$$" &
	tools="$tools $!"
done
all_run()
{
	[ "$(pgrep -c -f "^sleep 4244.$$\$")" = 16 ]
}
ok "many run at a time" wait_for all_run
fails "but not any number" 1 "you have 16 commands in jobs of clusters and connections to jobs: end one" \
	in_job "$job" true
# shellcheck disable=SC2086 # a list
kill $tools
ok "they end" wait_for ends "sleep 4244.$$"
ok "and others may begin" wait_for in_job "$job" true

# Input that nobody reads
: >begun
aictl exec "$job" sh -c "echo begun; exec sleep 4245.$$" </dev/zero >begun &
tool=$!
wait_for test -s begun || bail "no command begins"
if is_root; then
	cp "$top_builddir/tests/e2e/ask" "$dir/bin/ask"
	chmod 755 "$dir/bin/ask"
	for n in $(seq 80); do
		as_user nobody "$dir/bin/ask" </dev/null \
			"{\"op\": \"relay_input\", \"relay\": $n, \"signal\": 9}"
	done | sort -u >answers
	is "others neither signal it nor give it input" "$(cat answers)" \
		"refused: the command or the connection has ended"
	ok "so it goes on" lives "sleep 4245.$$"
fi
kill -INT "$tool"
ok "it need not read its input first" wait_for ends "sleep 4245.$$"
kill -9 "$tool"
wait "$tool" 2>/dev/null

if is_root; then
	fails "another's job takes none" 1 \
		"job $job is not yours: commands in it are for its owner and root" \
		as_user nobody aictl exec "$job" true
fi
like "and it is noted" "$(aictl audit --act exec -j "$job" -n 100)" "exec +job $job .*task 0, "
aicancel "$job"
fails "one that has ended takes none" 1 "job $job " in_job "$job" true

# --- ports of jobs --------------------------------------------------------------

# shellcheck source=tests/e2e/forward.sh
. "$top_srcdir/tests/e2e/forward.sh"

# FILE: prints this file, as the job's web server sends it
get()
{
	printf 'GET /%s HTTP/1.0\r\n\r\n' "$1" | call 2>/dev/null | sed '1,/^.$/d'
}

# TEXT: whether the file `index`, requested through the port, is TEXT
sends()
{
	[ "$(get index)" = "$1" ]
}

told()
{
	grep -qF "$1" "$dir/forward.err"
}

cat >serve <<-'END'
	#!/bin/sh
	mkdir /tmp/www && cd /tmp/www || exit
	echo "rank $RANK, attempt ${AISCHED_RESTART_COUNT:-0}" >index
	head -c 3000000 /dev/zero >much
	httpd -p 8081 -h /tmp/www
	exec httpd -f -p 127.0.0.1:8080 -h /tmp/www
END
job=$(sub -n 2 --requeue --port web=8080,open=8081 serve)
wait_for is_state "$job" RUNNING || bail "no job runs"
ok "a port of a job" forward "$job.1" 8080
ok "answers" wait_for sends "rank 1, attempt 0"
is "much is sent whole" "$(get much | wc -c)" 3000000
for n in 1 2 3 4 5; do
	get index >"answer.$n" &
	eval "caller_$n=$!"
done
for n in 1 2 3 4 5; do
	eval "wait \$caller_$n"
done
is "several at a time" "$(sort -u answer.?)" "rank 1, attempt 0"
aictl requeue "$job"
ok "it does so in the next attempt" wait_for sends "rank 1, attempt 1"
unforward
ok "one at which nothing listens" forward "$job" 81
is "does not answer" "$(get index)" ""
ok "and aictl tells why" wait_for told \
	"no process of the job listens at port 81"
unforward
ok "the port of the first rank, by its name" forward "$job" web
ok "is another" wait_for sends "rank 0, attempt 1"

# TEXT: whether the pod and port to which the Service leads send TEXT to
# another pod. This node has no kube-proxy, so the test looks up the pod's
# address itself.
service_sends()
{
	slice="{.items[0].endpoints[0].addresses[0]}:{.items[0].ports[?(@.name=='open')].port}"
	to=$(kube --namespace "$ns" get endpointslices -o "jsonpath=$slice" \
		-l "kubernetes.io/service-name=aj-test-$job-ports") &&
		aictl exec "$job.1" sh -c "printf 'GET /index HTTP/1.0\r\n\r\n' |
			nc -w 5 ${to%:*} ${to#*:}" 2>/dev/null | grep -qxF "$1"
}
ok "the Service leads there, too" wait_for service_sends "rank 0, attempt 1"
if is_root; then
	fails "another's is not forwarded" 1 \
		"job $job is not yours: its ports are for its owner and root" \
		as_user nobody aictl forward "$job" 8080
fi
aicancel --wait "$job"
is "a job that has ended does not answer" "$(get index)" ""
wait "$forward_pid"
is "and ends aictl" "$? $(tail -n 1 "$dir/forward.err")" \
	"1 aictl: job $job has ended"

# --- a gang -------------------------------------------------------------------

cat >meet <<-'END'
	#!/bin/sh
	# Rank 0 listens, rank 1 calls; both by the name of rank 0. At the end of
	# its input nc says so to the other one, which then ends: give it none.
	if [ "$RANK" = 0 ]; then
		mkfifo "$1.in"
		nc -l -p "$MASTER_PORT" <>"$1.in" >"$1"
	else
		until echo "rank $RANK of $WORLD_SIZE: $MASTER_ADDR" |
			nc -w 60 "$MASTER_ADDR" "$MASTER_PORT"; do
			sleep 0.2
		done
	fi
END
id=$(sub -n 2 meet "$work/meet")
ok "two ranks" wait_for is_state "$id" COMPLETED
is "meet, by the whole name" "$(cat "$work/meet")" \
	"rank 1 of 2: aj-test-$id-1-0.aj-test-$id-1.$ns.svc.cluster.local"

# --- a Deployment in a queue ----------------------------------------------------

kube create -f - >/dev/null <<-END
	{"apiVersion": "apps/v1", "kind": "Deployment",
	"metadata": {"name": "serve", "namespace": "$ns"}, "spec": {"replicas": 1,
	"selector": {"matchLabels": {"app": "serve"}}, "template": {
	"metadata": {"labels": {"app": "serve", "aisched.io/queue": "default"}},
	"spec": {"schedulerName": "aisched", "terminationGracePeriodSeconds": 1,
	"schedulingGates": [{"name": "aisched.io/queue"}],
	"containers": [{"name": "main", "image": "docker.io/local/box:1",
	"command": ["sleep", "1000"],
	"resources": {"requests": {"cpu": "50m", "memory": "16Mi"}}}]}}}}
END

# N: whether it has N pods, whose containers run, and each is a job
serves()
{
	[ "$(kube --namespace "$ns" get pods -l app=serve -o \
		'jsonpath={.items[*].status.containerStatuses[*].ready}' |
		xargs -n 1 | grep -c true)" = "$1" ] &&
		[ "$(kube --namespace "$ns" get pods -l app=serve -o name |
			wc -l)" = "$1" ] &&
		[ "$(aiq --no-header -u "k8s:$ns" -o state | xargs)" = \
			"$(yes RUNNING | head -n "$1" | xargs)" ]
}

# N: changes the number of pods by the scale subresource, as an HPA does
scale()
{
	kube --namespace "$ns" patch deployment serve --subresource=scale \
		--type=merge -p "{\"spec\": {\"replicas\": $1}}" >/dev/null
}

ok "the pod of a Deployment runs" wait_for serves 1
scale 3
ok "scaled up, three do" wait_for serves 3
scale 1
ok "scaled down, one does" wait_for serves 1
kube --namespace "$ns" delete deployment serve >/dev/null
ok "and none when it is deleted" wait_for serves 0

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
cat >tty.sh <<END
stty -g >settings
aictl exec -t $id sh -c 'echo begun; exec sleep 1000' 2>told
echo status \$?
stty -g | cmp - settings && echo the same
END
exec 9<>keys
timeout "$deadline_s" script -qec "sh $PWD/tty.sh" /dev/null <&9 >tty.out &
tool=$!
wait_for grep -q begun tty.out
kill_daemon
wait "$tool"
exec 9>&-
is "a command in it is lost with the daemon, but not the terminal" \
	"$(tr -d '\r' <tty.out)" "begun
status 1
the same"
like "which is told" "$(cat told)" "aictl: "
start_daemon || bail "aischedd does not start again"
ok "and does when the daemon is back" wait_for is_state "$id" RUNNING
aicancel "$id"
ok "nothing is left" wait_for nothing_is_left

done_testing

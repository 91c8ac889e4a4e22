#!/bin/sh
# Steps in the pods of a job: one script on two real nodes, in an image that has
# no program of aisched.
# shellcheck disable=SC2016 # tasks expand their own variables

. "$top_srcdir/tests/e2e/lib.sh"
. "$top_srcdir/tests/kube/control_plane.sh"
. "$top_srcdir/tests/kube/node.sh"

node_or_skip
# With sanitizers, aisched-pod needs libraries that images do not have.
ldd "$top_builddir/pod/aisched-pod" >/dev/null 2>&1 &&
	skip_all "aisched-pod is not static"

ns="steps"
work=$dir/seen

# JOB: prints its state and exit status
exit_of()
{
	aiq --no-header -o state,exit "$1"
}

# NAME [WORD]...: submits the script on stdin as job NAME
sub()
{
	sub_name=$1
	shift
	cat >"$sub_name"
	aisub --parsable --mem 32M --mount "$work" -o "$work/$sub_name.out" \
		"$@" "$sub_name"
}

ok "a control plane starts" kube_start || bail "there is no control plane"
ok "with two nodes" node_start one two || bail "the nodes do not start"
kube create namespace "$ns" >/dev/null
wait_for kube --namespace "$ns" get serviceaccount default
mkdir -m 1777 "$work"

configure "
queue default { grace = \"3s\" }
pool gpu { runner = kubernetes  kubeconfig = \"$kube/admin.conf\"
	namespace = \"$ns\"  image = \"docker.io/local/box:1\"
	pod_agent_image = \"docker.io/local/agent:1\"
	run_as_root = yes  allow_mounts = {\"$dir\"} }
scheduling { start_timeout = \"60s\" }"
start_daemon || bail "aischedd does not start"

# --- the script that also runs under Slurm ----------------------------------------

id=$(sub ranks -N 2 <"$top_srcdir/tests/e2e/ranks.sh")
ok "a script as on Slurm ends" wait_for is_state "$id" FAILED
like "as there" "$(exit_of "$id")" "FAILED +7"
is "and prints the same" "$(cat "$work/ranks.out")" "$(cat "$top_srcdir/tests/e2e/ranks.txt")"

id=$(sub nodes <<-'END'
	#!/bin/sh
	#SBATCH -N 2 --ntasks-per-node=2 --cpus-per-task=1
	echo script $SLURM_NNODES $SLURM_NTASKS $SLURM_TASKS_PER_NODE
	cd /tmp
	srun -l sh -c 'echo $SLURM_PROCID $SLURM_NODEID $SLURM_LOCALID $SLURM_NTASKS $SLURM_STEP_ID' | sort
	srun -l -N2 -n2 sh -c 'echo "$SLURMD_NODENAME $(hostname)"' | sort
	srun -N2 -n2 sh -c 'nslookup "$MASTER_ADDR.steps.svc.cluster.local" >/dev/null 2>&1 || echo lost'
	scontrol show hostnames "$SLURM_JOB_NODELIST"
	echo hello | srun -l cat | sort
	srun -N2 -n2 sh -c 'exit $SLURM_NODEID'
	echo $?
	srun -n1 sh -c 'kill -9 $$'
	echo $?
	sbatch x
	exit 7
END
)
ok "a script on two nodes ends" wait_for is_state "$id" FAILED
like "as it says" "$(exit_of "$id")" "FAILED +7"
name=aj-test-$id-1
is "and its steps ran in both pods" "$(cat "$work/nodes.out")" \
	"script 2 4 2(x2)
0: 0 0 0 4 0
1: 1 0 1 4 0
2: 2 1 0 4 0
3: 3 1 1 4 0
0: $name-0.$name $name-0
1: $name-1.$name $name-1
$name-0.$name
$name-1.$name
0: hello
1: hello
2: hello
3: hello
srun: error: $name-1.$name: task 1: Exited with exit code 1
1
srun: error: $name-0.$name: task 0: Killed
srun: Force Terminated StepId=$id.5
137
sbatch: error: a pod does not reach aischedd; run this where jobs are submitted"

steps_of()
{
	"$top_builddir/slurm/bin/sacct" -n -P -j "$1" -o JobID,JobName,State,ExitCode,NTasks |
		grep "^$1[.][0-9]"
}
is "which sacct has" "$(steps_of "$id")" "$id.0|sh|COMPLETED|0:0|4
$id.1|sh|COMPLETED|0:0|2
$id.2|sh|COMPLETED|0:0|2
$id.3|cat|COMPLETED|0:0|4
$id.4|sh|FAILED|1:0|2
$id.5|sh|FAILED|0:9|1"

# --- how steps end ----------------------------------------------------------------

# JOB: prints how many of its pods run
pods_of()
{
	kube --namespace "$ns" get pods -l "aisched.io/job-id=$1" \
		--field-selector status.phase=Running -o name | wc -l
}

# NAME: whether the job's step has begun in both pods
step_runs()
{
	[ "$(grep -c ready "$work/$1.out")" = 2 ]
}

# Whether no task is left in any container; the test sees all their processes.
nothing_runs()
{
	! pgrep -f "^sleep 4[0-9]{3}[.]$$"
}

# PID: prints the process id of the agent of the pod in which process PID runs.
# The agent is the first process of its pod
agent_of()
{
	agent_pid=$1
	while [ "$(readlink "/proc/$agent_pid/ns/pid")" = "$(readlink "/proc/$1/ns/pid")" ]; do
		agent_last=$agent_pid
		agent_pid=$(ps -o ppid= -p "$agent_pid" | tr -d ' ')
	done
	echo "$agent_last"
}

# JOB: prints the rows of the job, its script and its steps; those of steps that
# had ended before the job did, with their state
rows_of()
{
	"$top_builddir/slurm/bin/sacct" -n -P -j "$1" -o JobID,JobName,State |
		sed -E "s/^$1//; s/^([.](batch|2)|)[|].*/\1/"
}

# JOB NAME: whether the job has the CPU seconds that the task of its first step
# has printed, and less than as much again for all else
counts_once()
{
	sed -nE '1s/^([0-9]+)m([0-9.]+)s ([0-9]+)m([0-9.]+)s$/\1 \2 \3 \4/p' \
		"$work/$2.out" >"$2.used"
	aiq --json -o cpu_seconds "$1" | tr -d ' \n' |
		sed -nE 's/.*"cpu_seconds":([0-9.]+).*/\1/p' >>"$2.used"
	awk 'NR == 1 { used = $1 * 60 + $2 + $3 * 60 + $4 }
		NR == 2 { exit !($1 >= used && $1 < 2 * used) }
		END { if (NR < 2) exit 1 }' "$2.used"
}

for how in cancel end first second; do
	sub "$how" <<-END >"$how.id"
		#!/bin/sh
		#SBATCH -N 2 --ntasks-per-node=1
		srun -n1 sh -c 'i=0; while [ \$i -lt 900000 ]; do i=\$((i + 1)); done; times'
		srun true
		srun sh -c 'echo ready; exec sleep 4001.$$' &
		until [ -e "$work/$how.go" ]; do sleep 0.1; done
		exit 0
	END
	id=$(cat "$how.id")
	ok "$how: a step runs in both pods" wait_for step_runs "$how" || break
	kill_daemon
	start_daemon
	case $how in
	cancel)
		aicancel "$id"
		state=CANCELLED
		;;
	end)
		: >"$work/$how.go"
		state=COMPLETED
		;;
	first | second)
		for pid in $(pgrep -f "^sleep 4001[.]$$"); do
			pod=$(tr '\0' '\n' <"/proc/$pid/environ" | sed -n 's/^SLURM_NODEID=//p')
			[ "$how$pod" = first0 ] || [ "$how$pod" = second1 ] || continue
			kill -KILL "$(agent_of "$pid")"
		done
		state=FAILED
		;;
	esac
	ok "$how: the job is $state" wait_for is_state "$id" "$state"
	ok "$how: nothing is left" wait_for nothing_runs
	is "$how: no pod runs" "$(pods_of "$id")" 0
	# The agent of the first pod reports the steps. If it is killed, they are
	# not known, and neither is what they have used.
	want="
.batch
.0|sh|COMPLETED
.1|true|COMPLETED
.2"
	[ "$how" != first ] || want="
.batch"
	is "$how: each step has one row" "$(rows_of "$id")" "$want"
	[ "$how" = first ] ||
		ok "$how: what it used counts once" counts_once "$id" "$how"
done

# The script ends at once on SIGTERM, but its tasks need longer.
id=$(sub saves --grace 60s <<-END
	#!/bin/sh
	#SBATCH -N 2 --ntasks-per-node=1
	srun sh -c 'trap "sleep 4; echo saved >>$work/saved; exit 0" TERM
		echo ready
		while :; do sleep 0.1; done'
END
)
wait_for step_runs saves
aicancel "$id"
ok "a job that saves ends" wait_for is_state "$id" CANCELLED
is "its tasks have their time" "$(cat "$work/saved")" "saved
saved"

# --- signals -----------------------------------------------------------------------

id=$(sub heard <<-END
	#!/bin/sh
	#SBATCH -N 2 --ntasks-per-node=1
	trap 'echo script' USR1
	srun sh -c 'trap "echo task" USR1
		echo ready
		until [ -e "$work/heard.go" ]; do sleep 0.1; done' &
	until [ -e "$work/heard.go" ]; do sleep 0.1; done
	wait
	exit 4
END
)
# LINE N: whether the output has LINE exactly N times
heard()
{
	[ "$(grep -cx "$1" "$work/heard.out")" = "$2" ]
}
wait_for step_runs heard
wait_for is_state "$id" RUNNING
aicancel -s USR1 "$id"
ok "a signal reaches the tasks of a step" wait_for heard task 2
ok "and not the script" heard script 0
"$top_builddir/slurm/bin/scancel" -b -s USR1 "$id"
ok "one for the script reaches that" wait_for heard script 1
"$top_builddir/slurm/bin/scancel" -f -s USR1 "$id"
ok "one for all reaches it, too" wait_for heard script 2
: >"$work/heard.go"
ok "the job goes on" wait_for is_state "$id" FAILED
like "to its end" "$(exit_of "$id")" "FAILED +4"

# --- another job ------------------------------------------------------------------

id=$(sub victim <<-END
	#!/bin/sh
	#SBATCH -N 1 --ntasks-per-node=1
	until [ -e "$work/victim.go" ]; do sleep 0.1; done
	srun -n1 echo unharmed
END
)
wait_for is_state "$id" RUNNING
victim_ip()
{
	kube --namespace "$ns" get pods -l "aisched.io/job-id=$id" \
		-o "jsonpath={.items[0].status.podIP}"
}
attack=$(sub attack <<-END
	#!/bin/sh
	for type in K A L S I W D H T O; do
		{
			printf 'aispod1\\n012345678901234567890123'
			printf '\\0\\0\\0\\1%s0123456789abcdef' \$type
		} | nc $(victim_ip) 6819 | wc -c
	done
END
)
ok "another job sends frames of all kinds" wait_for is_state "$attack" COMPLETED
is "and gets a hello each time" \
	"$(sort "$work/attack.out" | uniq -c | tr -s ' ')" " 10 32"
: >"$work/victim.go"
ok "the first goes on" wait_for is_state "$id" COMPLETED
is "with its steps" "$(cat "$work/victim.out")" unharmed

done_testing

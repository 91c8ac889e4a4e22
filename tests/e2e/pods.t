#!/bin/sh
# srun and the agents of pods (aisched-pod), as three processes here that listen
# on an IP address of this test, so that several of these tests can run at the
# same time. kube_steps.t has real pods.
# shellcheck disable=SC2016,SC2046,SC2086 # tasks expand their own variables; words

. "$top_srcdir/tests/e2e/lib.sh"

address=127.$((64 + ($$ >> 16))).$((($$ >> 8) & 255)).$(($$ & 255))
program=$top_builddir/pod/aisched-pod
key=000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f
export AISCHED_POD_JOB="$dir/pod"
cat >"$dir/pod" <<-END
	{"job": 7, "name": "aj-t-7-1", "pods": 3, "tasks": 2, "cpus": 4,
	"mem": 1000, "gpus": 2, "grace": 2, "key": "$key", "host": "$address", "port": 6819}
END
mkdir "$dir/commands"
"$program" install "$dir/commands" || bail "it is not installed"
PATH=$dir/commands:$PATH
export SLURM_JOB_ID=7 SLURM_NTASKS=6 SLURM_NNODES=3

# INDEX: starts the agent of the pod with this index
agent()
{
	JOB_COMPLETION_INDEX=$1 "$dir/commands/aisched-pod" run \
		sh -c 'until [ -e end ]; do sleep 0.1; done; exit 5' \
		</dev/null >>"agent$1.log" 2>&1 &
	echo $! >"agent$1.pid"
}

# Prints the process ids of all agents.
agents()
{
	cat agent0.pid agent1.pid agent2.pid
}

# Prints the processes of tasks that are left; their argument has our process
# id.
left()
{
	pgrep -f "^sleep 3[0-9]{3}[.]$$"
}

nothing_is_left()
{
	! left
}

# N: whether N tasks run
run_now()
{
	[ "$(left | wc -l)" = "$1" ]
}

# NAME STATUS STDOUT STDERR OPTION...: tests the exit status and the output of
# srun; STEP and DATE stand for what varies
steps()
{
	steps_name=$1
	steps_want="$2 $3
$4"
	shift 4
	run srun "$@"
	# shellcheck disable=SC2154 # run sets them
	is "$steps_name" "$rc $out
$(sed -E "s/7\.[0-9]+/STEP/g; s/[-0-9]{10}T[0-9:]{8}/DATE/" "$dir/run.err")" \
		"$steps_want"
}

for i in 0 1 2; do
	agent $i
done
trap 'kill $(agents) 2>/dev/null; clean_up' EXIT
run srun -N1 -n1 true
is "a step" "$rc $out $err" "0  " || bail "there are no steps"

node=aj-t-7-1
forced="srun: Force Terminated StepId=STEP"
cannot="srun: error: Unable to create step for job 7:"

# --- tasks, their ends, their streams -----------------------------------------------

run srun -l sh -c 'echo $SLURM_PROCID $SLURM_NODEID $SLURM_LOCALID $SLURMD_NODENAME $SLURM_STEP_TASKS_PER_NODE'
is "tasks in all pods" "$(sort "$dir/run.out")" "0: 0 0 0 $node-0 2(x3)
1: 1 0 1 $node-0 2(x3)
2: 2 1 0 $node-1 2(x3)
3: 3 1 1 $node-1 2(x3)
4: 4 2 0 $node-2 2(x3)
5: 5 2 1 $node-2 2(x3)"
run srun -n2 -N2 -w "$node-[1-2]" -l sh -c 'echo $SLURMD_NODENAME'
is "in some" "$(sort "$dir/run.out")" "0: $node-1
1: $node-2"
steps "in one that it has not" 1 "" "$cannot Requested node configuration is not available" -n1 -w other true
steps "in more than it has" 1 "" "$cannot More nodes requested than available" -N4 -n4 true
steps "more tasks than CPUs" 1 "" "$cannot More processors requested than permitted" -n13 true
steps "of another job" 1 "" "srun: error: Unable to confirm allocation for job 8: Invalid job id specified
srun: Check SLURM_JOB_ID environment variable. Expired or invalid job 8" --jobid 8 true
steps "an exit status" 4 "" "srun: error: $node-2: task 2: Exited with exit code 4" \
	-N3 -n3 sh -c '[ $SLURM_PROCID != 2 ] || exit 4'
run srun --ntasks-per-node=1 -l -N3 sh -c 'echo $SLURM_NODEID'
is "the tasks of the job count more than --ntasks-per-node" "$(sort "$dir/run.out" | tr '\n' ' ')$err" \
	"0: 0 1: 0 2: 1 3: 1 4: 2 5: 2 srun: Warning: can't honor --ntasks-per-node set to 1 which doesn't match the requested tasks 6 with the number of requested nodes 3. Ignoring --ntasks-per-node."
steps "a signal" 137 "" "srun: error: $node-0: task 0: Killed
$forced" -n1 sh -c 'kill -9 $$'
steps "no such program" 2 "" "slurmstepd-$node-0: error: execve(): /no/such: No such file or directory
srun: error: $node-0: task 0: Exited with exit code 2" -n1 /no/such
steps "-K ends the others" 143 "" "srun: error: $node-0: task 0: Exited with exit code 3
srun: launch/slurm: _step_signal: Terminating StepId=STEP
slurmstepd-$node-0: error: *** STEP STEP ON $node-0 CANCELLED AT DATE ***
srun: error: $node-1: task 1: Terminated
$forced" -N2 -n2 -K sh -c '[ $SLURM_PROCID = 1 ] || exit 3; exec sleep 1000'
steps "a time limit" 143 "" "slurmstepd-$node-0: error: *** STEP STEP ON $node-0 CANCELLED AT DATE DUE TO TIME LIMIT ***
srun: error: $node-0: task 0: Terminated
$forced" -n1 -t 0:01 sleep 1000
is "standard input goes to all" "$(echo hello | srun cat)" "hello
hello
hello
hello
hello
hello"
is "or to one" "$(echo hello | srun -l -n3 -i 1 cat)" "1: hello"
is "1 MB without a newline" "$(srun -n1 sh -c 'head -c 1000000 /dev/zero | tr "\0" x' | wc -c)" 1000000
head -c 3000000 /dev/urandom >random
is "3 MB in, to three pods, and out" \
	"$(srun -N3 -n3 -o 'copy%t' cat <random >/dev/null; cat copy0 copy1 copy2 | wc -c)" 9000000
ok "as they were" cmp random copy2
is "GPUs of tasks" "$(srun -n2 -N1 --gpus-per-task=1 sh -c 'echo $CUDA_VISIBLE_DEVICES' | sort | tr '\n' ' ')" "0 1 "
is "many steps at once" "$(for i in 1 2 3 4 5 6; do
	srun -Q --exact -n2 sh -c 'echo done' &
done; wait)" "done
done
done
done
done
done
done
done
done
done
done
done"

# --- a terminal ---------------------------------------------------------------------

cat >pty.sh <<-'END'
	stty rows 33 cols 44
	exec srun --pty sh -c 'tty; stty size; read x; echo "got $x"; exit 5'
END
echo typed | script -qec 'sh pty.sh' /dev/null >pty.out
is "--pty exits with the status" "$?" 5
like "has a terminal" "$(tr -d '\r' <pty.out)" "^/dev/pts/[0-9]+\$"
like "of the same size" "$(tr -d '\r' <pty.out)" "^33 44\$"
like "and what is typed" "$(tr -d '\r' <pty.out)" "^got typed\$"

# --- how steps end ------------------------------------------------------------------

srun sleep 3001.$$ &
six=$!
ok "six tasks run" wait_for run_now 6
srun -n1 true 2>waits &
ok "another step waits" wait_for grep -q "Requested nodes are busy" waits
kill -9 $! "$six"
ok "none is left when srun is killed" wait_for nothing_is_left
run srun -n1 true
is "its room is given back" "$rc" 0

srun -N3 -n3 sh -c "setsid sleep 3002.$$ & exit 0"
is "what tasks leave behind ends with the step" "$(left)" ""
# While a process executes another program, its environment cannot be read for a
# moment: search for processes that do this all the time, too.
printf '#!/bin/sh\nexec "$0" "$1"\n' >execs
chmod +x execs
srun -N3 -n3 sh -c "setsid ./execs 3002.$$ & exit 0"
is "also what becomes another program" "$(pgrep -f "execs 3002[.]$$")" ""

srun -n1 sh -c 'trap "echo usr1; exit 0" USR1; echo ready; sleep 30 & wait' >usr1 &
wait_for grep -q ready usr1
kill -USR1 $!
wait $!
is "signals are passed on" "$(cat usr1)" "ready
usr1"

for i in 0 1 2; do
	srun sleep 3003.$$ 2>lost &
	wait_for run_now 6
	kill -9 "$(cat agent$i.pid)"
	wait $!
	is "srun ends its step when agent $i is gone" $? 143
	like "and names its node" "$(cat lost)" "^srun: error: Node failure on $node-$i"
	# In a real pod these processes would end with the agent, the pod's
	# first process.
	kill -9 $(left) 2>/dev/null
	ok "nothing is left of it" wait_for nothing_is_left
	agent $i
	run srun -l -N3 -n3 true
	is "a new agent takes steps" "$rc" 0
done

sed 's/"pods": 3/"pods": 1/; s/6819}/6830, "signal": 10, "after": 5}/' "$dir/pod" >"$dir/pod1"
cat >signalled <<-'END'
	srun -n1 sh -c 'trap "echo usr1; exit 0" USR1; sleep 30 & wait'
	exit 6
END
AISCHED_POD_JOB=$dir/pod1 AISCHED_POD_LAST=$PWD/last SLURM_NNODES=1 \
	"$dir/commands/aisched-pod" run sh signalled >signalled.out
is "the script of a pod ends" $? 6
is "whose steps were signalled in time" "$(cat signalled.out)" usr1
is "they are told with its end" "$(sed -E 's/"(start|end)":[0-9]+/"\1":T/' last)" \
	'aisched: step: {"step":0,"name":"sh","tasks":1,"cpus":4,"mem_mib":1000,"gpus":2,"start":T}
aisched: step: {"exit_code":0,"signal":0,"why":"","step":0,"end":T}'

# --- the end of the job -------------------------------------------------------------

# The script and its tasks get a signal together, as in a pod; the tasks need
# longer than the time that srun gives its step.
cat >ending <<-'END'
	trap 'kill -TERM $(cat task.0 task.1) $srun' TERM
	srun -N2 -n2 sh -c 'trap "trap \"echo again >>again\" TERM; sleep 4; echo saved >>saved; exit 0" TERM
		echo $$ >task.$SLURM_PROCID
		: >ready.$SLURM_PROCID
		while :; do sleep 0.1; done' &
	srun=$!
	wait
	wait $srun
	srun -n1 true
END
sed 's/"pods": 3/"pods": 2/; s/"grace": 2/"grace": 60/; s/6819}/6840}/' "$dir/pod" >"$dir/pod2"
for i in 1 0; do
	AISCHED_POD_JOB=$dir/pod2 SLURM_NNODES=2 JOB_COMPLETION_INDEX=$i \
		"$dir/commands/aisched-pod" run sh ending >"ending.$i" 2>&1 &
	echo $! >"ending$i.pid"
done
wait_for 'test -e ready.0 && test -e ready.1'
kill -TERM "$(cat ending0.pid)"
wait "$(cat ending0.pid)"
is "a signal that comes with the job's end leaves tasks their time" "$(cat saved)" "saved
saved"
ok "they are signalled once" [ ! -e again ]
like "steps that come later are refused" "$(cat ending.0)" \
	"Unable to create step for job 7: Job/step already completing or completed"
kill -TERM "$(cat ending1.pid)"
wait "$(cat ending1.pid)"
is "the other pod ends" $? 0

# --- clients without the key --------------------------------------------------------

hostile()
{
	"$top_builddir/tests/e2e/pod_hostile" "$address" 6819 "$@"
}

is "frames of all kinds, with another key, are not answered" \
	"$(hostile types 010102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f)" 0
is "nor are other words" "$(hostile words)" 0
hostile silent 300 >said &
ok "300 connect" wait_for grep -q connected said
run srun -n6 true
is "those who say nothing delay nobody" "$rc" 0
wait $!
is "and hear nothing" "$(cat said)" "connected
0"
is "nonsense with the key is refused" "$(hostile nonsense $key)" 0
run srun true
is "and nobody is the worse for it" "$rc" 0

: >end
wait "$(cat agent0.pid)"
is "the agent ends as the script has ended" $? 5
done_testing

#!/bin/sh
# salloc, and srun outside of jobs: jobs that live as long as their client
# shellcheck disable=SC2016,SC2119 # commands expand their own variables

# shellcheck source=tests/e2e/slurm.sh
. "$top_srcdir/tests/e2e/slurm.sh"

node=$(uname -n)
stop_daemon
configure "
queue main { grace = \"2s\" }
pool here { runner = local }
node \"$node\" { pool = here  cpus = 4  memory = \"4G\" }"
start_daemon || bail "aischedd does not start"
unset SHELL

# --- srun -----------------------------------------------------------------------

# The node may not have started yet, so be quiet about waiting.
run srun -Q sh -c 'echo $SLURM_JOB_ID $SLURM_STEP_ID $SLURM_PROCID $SLURM_NTASKS $SLURM_JOB_NAME'
is "srun makes a job" "$rc $out $err" "0 1 0 0 1 sh "
is "which has a step and no script" "$(sacct -n -P -j 1 -o JobID,JobName,State,ExitCode)" \
	"1|sh|COMPLETED|0:0
1.0|sh|COMPLETED|0:0"
run srun -l -n3 sh -c 'echo $SLURM_NTASKS $SLURM_CPUS_ON_NODE'
is "tasks" "$(sort "$dir/run.out")" "0: 3 3
1: 3 3
2: 3 3"
run srun -n2 -c2 sh -c 'echo $SLURM_CPUS_PER_TASK $SLURM_CPUS_ON_NODE'
is "CPUs of tasks" "$(sort -u "$dir/run.out")" "2 4"
run srun --mem=50M -J name -t 5 sh -c 'echo $SLURM_JOB_NAME; squeue -h -j $SLURM_JOB_ID -o "%j %l %m %C"'
is "its options are those of the job" "$out" "name
name 5:00 50M 1"
says "its status is that of the task" 3 "" "srun: error: $node: task 0: Exited with exit code 3" \
	srun sh -c 'exit 3'
is "and of the job" "$(sacct -X -n -P -o State,ExitCode | tail -n1)" "FAILED|3:0"
is "input" "$(echo hello | srun -n2 cat)" "hello
hello"
run srun -O -n9 sh -c 'echo $SLURM_NTASKS $SLURM_CPUS_ON_NODE $(squeue -h -j $SLURM_JOB_ID -o %C)'
is "-O: all tasks on the CPUs of one" "$rc $(sort -u "$dir/run.out")$err" "0 9 1 1"
run srun -O -n3 -c2 sh -c 'squeue -h -j $SLURM_JOB_ID -o %C'
is "which may have several" "$rc $(sort -u "$dir/run.out")$err" "0 2"
run salloc -Q -O -n9 sh -c 'echo $SLURM_NTASKS $SLURM_OVERCOMMIT $SLURM_JOB_CPUS_PER_NODE $(srun echo | wc -l)'
is "salloc -O" "$rc $out$err" "0 9 1 1 9"
says "--mpi=list" 0 "MPI plugin types are...
	none" "" srun --mpi=list
says "options that change nothing" 0 "" "" srun -Q -E --slurmd-debug=3 true
says "a signal before the end" 0 "" "" srun --signal=USR1@10 true
says "that is none" 255 "" "srun: error: Invalid --signal specification" \
	srun --signal=bogus true
run sh -c 'for i in 1 2 3 4 5; do srun -n4 true; done'
is "room is free for the next one" "$rc $err" "0 "
echo typed | script -qec "srun --pty sh -c 'tty; read x; echo \"got \$x\"; exit 5'" /dev/null >pty.out
is "--pty" "$? $(tr -d '\r' <pty.out | grep -cE '^/dev/pts/[0-9]+$|^got typed$')" "5 2"

# --- salloc ---------------------------------------------------------------------

run salloc -n2 --mem=100M sh -c 'echo $SLURM_JOB_ID $SLURM_NTASKS $SLURM_JOB_NAME $SLURM_PROCID.; srun sh -c "echo \$SLURM_STEP_ID \$SLURM_PROCID" | sort; exit 3'
job=${out%% *}
is "salloc" "$rc $out
$err" "3 $job 2 interactive .
0 0
0 1
salloc: Granted job allocation $job
salloc: Relinquishing job allocation $job"
is "has steps only" "$(sacct -n -P -j "$job" -o JobID,JobName,State)" "$job|interactive|FAILED
$job.0|sh|COMPLETED"
run salloc -n2 -t1 --mem=50M sh -c 'env | sed -n "s/^\(SLURM_[^=]*\)=.*/\1/p" | sort'
for name in CLUSTER_NAME JOBID JOB_CPUS_PER_NODE JOB_ID JOB_NAME JOB_NODELIST JOB_NUM_NODES \
	JOB_PARTITION MEM_PER_NODE NNODES NODELIST NPROCS NTASKS SUBMIT_DIR SUBMIT_HOST TASKS_PER_NODE; do
	echo "SLURM_$name"
done >wanted
is "the variables that Slurm sets" "$(sort wanted "$dir/run.out" | uniq -d)" "$(cat wanted)"
unlike "none of a task" "$out" "PROCID|NODEID|TASK_PID|LOCALID|SLURMD_NODENAME"
run salloc -Q true
is "-Q" "$rc $out$err" "0 "
says "a shell, unless there is a command" 0 "in a shell" "salloc: Granted job allocation $((job + 3))
salloc: Relinquishing job allocation $((job + 3))" sh -c 'echo "echo in a shell" | salloc'
run salloc --no-shell -n1
kept=${err##* }
is "--no-shell keeps it" "$rc $out$err" "0 salloc: Granted job allocation $kept"
is "and srun finds it" "$(srun --jobid="$kept" sh -c 'echo $SLURM_JOB_ID')" "$kept"
scancel "$kept"
becomes "until it is cancelled" "$kept" CANCELLED
says "no such command" 1 "" "salloc: Granted job allocation $((kept + 1))
salloc: error: _fork_command: Unable to find command \"/no/such\"
salloc: Relinquishing job allocation $((kept + 1))" salloc /no/such

# --- clients that wait for their job ---------------------------------------------

says "-I, and it can start" 0 "" "" srun -I -Q true
says "-I, and it has to wait" 1 "" "srun: error: Unable to allocate resources: Requested nodes are busy" \
	srun -H -I true
says "for salloc, too" 1 "" "salloc: error: Unable to allocate resources: Requested nodes are busy" \
	salloc -H --immediate=1 true
run salloc -H -Q -I2 true
is "with some patience" "$rc $out$err" "1 salloc: error: Unable to allocate resources: Connection timed out"
wait_for '[ -z "$(squeue -h -t PD)" ]'
result 0 "which leaves no job"

# srun says that it waits only once, however long it waits.
srun -H true 2>long.err &
long=$!
wait_for grep -q queued long.err
# shellcheck disable=SC2034 # wait_for uses it
begun=$(date +%s)

gate full
salloc -n4 sh -c ": >full.in; $(at_gate full)" 2>full.err &
holder=$!
wait_for test -e full.in
first=$(sed -n 's/.*Granted job allocation //p' full.err)
srun -n1 echo ran >wait.out 2>wait.err &
waiter=$!
wait_for grep -q queued wait.err
salloc -n1 true 2>wait2.err &
waiter2=$!
wait_for grep -q queued wait2.err
second=$((first + 1))
third=$((first + 2))
becomes "it waits" "$second" PENDING
restart || bail "aischedd does not start again"
wait_for aictl ping
becomes "and the daemon knows it still" "$second" PENDING
open_gate full
wait "$holder"
is "an allocation survives the daemon" "$? $(tail -n1 full.err)" "0 salloc: Relinquishing job allocation $first"
wait "$waiter"
is "srun that waited" "$? $(cat wait.out wait.err)" "0 ran
srun: job $second queued and waiting for resources
srun: job $second has been allocated resources"
wait "$waiter2"
is "salloc that waited" "$? $(cat wait2.err)" "0 salloc: Pending job allocation $third
salloc: job $third queued and waiting for resources
salloc: job $third has been allocated resources
salloc: Granted job allocation $third
salloc: Relinquishing job allocation $third"

# --- clients that are killed ------------------------------------------------------

# shellcheck disable=SC2016 # expanded by wait_for
wait_for '[ "$(date +%s)" -gt $((begun + 6)) ]'
id=$(sed -n 's/.*job \([0-9]*\) queued.*/\1/p' long.err)
is "a long wait" "$(cat long.err)" "srun: job $id queued and waiting for resources"
kill "$long"
wait "$long" 2>/dev/null
becomes "until it is given up" "$id" CANCELLED

# ID: sends the request "alloc" of a client that waits for its job
ask_for()
{
	"$top_builddir/tests/e2e/ask" "{\"op\": \"alloc\", \"id\": \"$1\"}" </dev/null 2>&1
}

# NAME SIGNAL: tests that the signal ends a waiting srun and its job
waiting()
{
	rm -f kill.err
	srun -H true 2>kill.err &
	pid=$!
	wait_for grep -q queued kill.err
	id=$(sed -n 's/.*job \([0-9]*\) queued.*/\1/p' kill.err)
	like "$1: it alone waits" "$(ask_for "$id")" "another client waits for allocation $id"
	kill -"$2" "$pid"
	wait "$pid" 2>/dev/null
	becomes "$1" "$id" CANCELLED
}

waiting "a client that is killed while it waits" KILL
waiting "or is told to end" TERM
like "says so" "$(cat kill.err)" "^srun: Job allocation $id has been revoked.\$"

srun sh -c ': >up; exec sleep 6666.'$$ 2>/dev/null &
pid=$!
wait_for test -e up
id=$(squeue -h -o %A)
kill -KILL "$pid"
wait "$pid" 2>/dev/null
becomes "a srun that is killed frees its job" "$id" FAILED
ok "and leaves nothing" wait_for "! pgrep -f 'sleep 6666.$$'"
salloc sh -c ': >up2; exec sleep 7777.'$$ 2>/dev/null &
pid=$!
wait_for test -e up2
id=$(squeue -h -o %A)
is "an allocation has one client" \
	"$("$top_builddir/tests/e2e/step_hostile" "$dir/state/run/$id.1/step" own 3)" 0
wait_for "pgrep -f '^sleep 7777.$$'"
child=$(pgrep -f "^sleep 7777.$$")
kill -KILL "$pid"
wait "$pid" 2>/dev/null
becomes "so does salloc" "$id" FAILED
kill "$child"

srun sh -c ': >up3; exec sleep 8888.'$$ 2>cancel.err &
pid=$!
wait_for test -e up3
id=$(squeue -h -o %A)
scancel "$id"
wait "$pid"
is "a job that is cancelled ends its srun" "$?" 143
becomes "as cancelled" "$id" CANCELLED
salloc -K sh -c ': >up4; exec sleep 9999.'$$ 2>revoked.err &
pid=$!
wait_for test -e up4
id=$(squeue -h -o %A)
scancel "$id"
wait "$pid"
is "and the command of its salloc -K" "$? $(cat revoked.err)" "1 salloc: Granted job allocation $id
salloc: Job allocation $id has been revoked."
becomes "whose job is cancelled" "$id" CANCELLED
gate over
salloc sh -c ": >up5; $(at_gate over); exit 5" 2>revoked.err &
pid=$!
wait_for test -e up5
id=$(squeue -h -o %A)
scancel "$id"
wait_for grep -q revoked revoked.err
open_gate over
wait "$pid"
is "without -K the command goes on" "$? $(cat revoked.err)" "5 salloc: Granted job allocation $id
salloc: Job allocation $id has been revoked."

# The daemon is killed while a client waits, and then the client is killed, too.
srun -H true 2>orphan.err &
pid=$!
wait_for grep -q queued orphan.err
id=$(sed -n 's/.*job \([0-9]*\) queued.*/\1/p' orphan.err)
kill_daemon
kill -KILL "$pid"
wait "$pid" 2>/dev/null
start_daemon || bail "aischedd does not start after it was killed"
becomes "an orphan ends soon" "$id" CANCELLED

# --- errors ------------------------------------------------------------------------

says "a queue that is not there" 1 "" "srun: error: invalid partition specified: nopart
srun: error: Unable to allocate resources: Invalid partition name specified" srun -p nopart true
says "too many tasks" 1 "" "srun: error: Unable to allocate resources: More processors requested than permitted" \
	srun -n 999 true
says "for salloc" 1 "" "salloc: error: Job submit/allocate failed: More processors requested than permitted" \
	salloc -n 999 true
says "too many nodes" 1 "" "srun: error: needs 2 nodes; 1 of those that it may use could hold one of its tasks
srun: error: Unable to allocate resources: Requested node configuration is not available" \
	srun -N2 true
says "options of scripts" 255 "" "salloc: unrecognized option '--wrap=x'
Try \"salloc --help\" for more information" salloc --wrap=x true
script=$(sbatch --parsable -H --wrap true)
like "a script is no allocation" "$(ask_for "$script")" "has a script"
like "an allocation has no script" "$(scontrol write batch_script "$kept" - 2>&1)" "no script|Invalid job id"
done_testing

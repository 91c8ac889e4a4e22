#!/bin/sh
# srun in a job: tasks, resources, how steps end, and the messages of Slurm
# 22.05
# shellcheck disable=SC2016,SC2119 # tasks expand their own variables

# shellcheck source=tests/e2e/slurm.sh
. "$top_srcdir/tests/e2e/slurm.sh"

node=$(uname -n)
stop_daemon
configure "
queue default { grace = \"2s\" }
pool here { runner = local }
node \"$node\" { pool = here  cpus = 8  memory = \"4G\" }"
start_daemon || bail "aischedd does not start"

# Waits for the background processes in $later, but not for munged and aischedd.
later=
wait_all()
{
	# shellcheck disable=SC2086 # words are wanted
	wait $later
	later=
}

# All steps run in this job, except those that end their job.
job=$(sbatch --parsable -n4 --mem=400M --wrap 'env | grep -E "^(SLURM|AISCHED)" >vars; exec sleep 1000')
wait_for test -s vars || bail "the job does not start"
becomes "a job for steps" "$job" RUNNING

# COMMAND...: runs a command with the variables of the job's script
inside()
{
	env SLURM_JOB_ID="$job" SLURM_NTASKS=4 SLURM_JOB_NAME=wrap "$@"
}

# COMMAND...: as inside(), but replaces the shell by the command. In the
# background, $! is then the process of srun.
become()
{
	exec env SLURM_JOB_ID="$job" SLURM_NTASKS=4 SLURM_JOB_NAME=wrap "$@"
}

# NAME STATUS STDOUT STDERR OPTION...: tests the exit status and the output of
# srun; STEP and DATE stand for what varies
steps()
{
	steps_name=$1
	steps_status=$2
	steps_out=$3
	steps_err=$4
	shift 4
	run inside srun "$@"
	# shellcheck disable=SC2154 # run sets them
	is "$steps_name" "$rc $out
$(sed -E "s/$job\.[0-9]+/STEP/g; s/[-0-9]{10}T[0-9:]{8}/DATE/; s/StepId=STEP /StepId=STEP /" "$dir/run.err")" \
		"$steps_status $steps_out
$steps_err"
}

failed="srun: error: $node:"
forced="srun: Force Terminated StepId=STEP"
cannot="srun: error: Unable to create step for job $job:"

# --- tasks ----------------------------------------------------------------------

run inside srun -n1 sh -c 'echo $SLURM_STEP_ID $SLURM_PROCID'
is "a task" "$rc $out $err" "0 0 0 "
run inside srun -l sh -c 'echo $SLURM_STEP_ID $SLURM_PROCID $SLURM_LOCALID $SLURM_NTASKS'
is "as many tasks as the job, with labels" "$(sort "$dir/run.out")" "0: 1 0 0 4
1: 1 1 1 4
2: 1 2 2 4
3: 1 3 3 4"
run inside srun -n1 sh -c 'echo $SLURM_STEP_ID'
is "steps are numbered" "$out" 2
steps "more tasks than the job has" 1 "" "$cannot More processors requested than permitted" -n5 true
steps "unless they share CPUs" 0 "" "" -n5 -O true
steps "more memory" 1 "" "$cannot Memory required by task is not available" -n1 --mem=1G true
steps "GPUs of a job without" 1 "" "$cannot Invalid generic resource (gres) specification" -n1 --gpus-per-task=1 true
steps "nodes that it has not" 1 "" "srun: error: Only allocated 1 nodes asked for 2" -N2 -n2 true
steps "its own node by name" 0 "" "" -N1 -n1 -w "$node" true
steps "another one" 1 "" "$cannot Requested node configuration is not available" -n1 -w nosuch true
run inside srun -n5 true
run inside srun -n1 sh -c 'echo $SLURM_STEP_ID'
is "a refused step takes no number" "$out" 5
run env -i PATH="$PATH" SLURM_JOB_ID="$job" AISCHED_SOCKET="$AISCHED_SOCKET" \
	AISCHED_MUNGE_SOCKET="$AISCHED_MUNGE_SOCKET" \
	srun -n2 sh -c 'echo $SLURM_JOB_NAME $SLURM_NTASKS $SLURM_JOB_PARTITION $SLURM_STEP_NUM_TASKS $RANK$WORLD_SIZE.'
is "the id of the job is enough" "$(sort -u "$dir/run.out")" "sh 2 default 2 ."
run inside env X=1 srun -n1 --export=X,Y=2 sh -c 'echo $X $Y $HOME$SLURM_JOB_ID'
is "--export" "$out" "1 2 $(is_root && echo /root || echo "$HOME")$job"
run inside srun -n1 -D /usr pwd
is "-D" "$out" /usr
mkdir -p sub
run inside srun -n1 -D sub pwd
is "-D of a folder below" "$out" "$PWD/sub"
steps "a folder that is not there" 0 /tmp \
	"slurmstepd-$node: error: couldn't chdir to \`/nosuch': No such file or directory: going to /tmp instead" \
	-n1 -D /nosuch pwd
run inside srun -n1 -J name sh -c 'echo $SLURM_JOB_NAME'
is "-J" "$out" name
(umask 027 && run inside srun -n1 sh -c 'umask; echo $SLURM_UMASK' && cat "$dir/run.out") >umask.out
is "the mask of srun" "$(cat umask.out)" "0027
0027"

# --- a program for each task ------------------------------------------------------

# LINES: writes the file for --multi-prog with printf
programs()
{
	# shellcheck disable=SC2059 # it has no values
	printf "$1" >programs
}

programs '# comment\n0 echo first %%t\n1-2 echo %%o of \047a  b\047 "c d" e\\ f\n* sh -c \047echo rest; exit 4\047\n'
run inside srun -n4 -l --multi-prog programs
is "--multi-prog" "$rc $(sort "$dir/run.out")
$err" "4 0: first 0
1: 0 of a  b \"c d\" e f
2: 1 of a  b \"c d\" e f
3: rest
$failed task 3: Exited with exit code 4"
programs '0 nosuchprog\n'
steps "no such program in it" 2 "" "slurmstepd-$node: error: execve(): nosuchprog: No such file or directory
$failed task 0: Exited with exit code 2" -n1 --multi-prog programs
steps "a task without a line" 1 "" "srun: error: Configuration file programs invalid, no record for task id 1" \
	-n2 --multi-prog programs
programs '0 true\n\n0 true\n'
steps "a task with two" 1 "" "srun: error: Duplicate record for task 0
srun: error: Line 3 of configuration file programs invalid" -n1 --multi-prog programs
programs '0 true \\\n more\n1\n'
steps "a line without a program" 1 "" "srun: error: Line 3 of configuration file programs invalid" \
	-n2 --multi-prog programs
steps "no file of programs" 1 "" "srun: error: Could not open multi_prog config file nosuch" \
	--multi-prog nosuch
(printf '0 echo ' && seq 40000 | sed 's/.*/%t/' | tr -d '\n') >programs
steps "one that is too long" 1 "" "srun: error: Configuration file programs is too long" \
	-n1 --multi-prog programs
programs '* true\n# %0140000d\n0 false\n'
steps "one whose end would not be read" 1 "" \
	"srun: error: Configuration file programs is too long" -n1 --multi-prog programs

# --- a script of several nodes ----------------------------------------------------

# FILE: prints it without the lines about nodes, of which there is only one here
ranks()
{
	grep -Ev '^(.: )?node ' "$1"
}

id=$(sbatch --parsable -J ranks --ntasks-per-node=4 --mem=100M -o ranks.out \
	"$top_srcdir/tests/e2e/ranks.sh")
becomes "a script as on Slurm" "$id" FAILED
is "prints the same" "$(sacct -n -X -P -o State,ExitCode -j "$id") $(ranks ranks.out)" \
	"FAILED|7:0 $(ranks "$top_srcdir/tests/e2e/ranks.txt")"

# --- exit statuses ----------------------------------------------------------------

steps "an exit status" 4 "" "$failed task 0: Exited with exit code 4" -n1 sh -c 'exit 4'
steps "255" 255 "" "$failed task 0: Exited with exit code 255" -n1 sh -c 'exit 255'
steps "the highest counts" 3 "" "$failed task 3: Exited with exit code 3" \
	-n4 sh -c '[ $SLURM_PROCID -lt 3 ] || exit 3'
ends_alike()
{
	[ "$(inside srun -n2 sh -c 'sleep 0.0$((3 * SLURM_PROCID)); exit 4' 2>&1)" = \
		"$failed tasks 0-1: Exited with exit code 4" ]
}
ok "tasks that end alike within a moment share a line" wait_for ends_alike
steps "a signal that is none to end it" 138 "" "$failed task 0: User defined signal 1" \
	-n1 sh -c 'kill -USR1 $$'
steps "a signal" 137 "" "$failed task 0: Killed
$forced" -n1 sh -c 'kill -9 $$'
steps "no such program" 2 "" "slurmstepd-$node: error: execve(): /no/such: No such file or directory
$failed task 0: Exited with exit code 2" -n1 /no/such
: >noexec
steps "one that cannot be run" 13 "" "slurmstepd-$node: error: execve(): ./noexec: Permission denied
$failed task 0: Exited with exit code 13" -n1 ./noexec
steps "-K ends the others" 143 "" "$failed task 0: Exited with exit code 3
srun: launch/slurm: _step_signal: Terminating StepId=STEP
slurmstepd-$node: error: *** STEP STEP ON $node CANCELLED AT DATE ***
$failed task 1: Terminated
$forced" -n2 -K sh -c '[ $SLURM_PROCID = 1 ] || exit 3; exec sleep 1000'
steps "-W, too" 137 "" "srun: First task exited 1s ago
srun: StepId=STEP task 1: running
srun: StepId=STEP task 0: exited
srun: launch/slurm: _step_signal: Terminating StepId=STEP
slurmstepd-$node: error: *** STEP STEP ON $node CANCELLED AT DATE ***
srun: Job step aborted: Waiting up to 32 seconds for job step to finish.
$failed task 1: Killed" -n2 -W1 sh -c '[ $SLURM_PROCID = 1 ] || exit 0; exec sleep 1000'
steps "a time limit" 143 "" "slurmstepd-$node: error: *** STEP STEP ON $node CANCELLED AT DATE DUE TO TIME LIMIT ***
$failed task 0: Terminated
$forced" -n1 -t 0:01 sleep 1000
steps "what a task leaves behind ends with its step" 0 "" "" -n1 sh -c "setsid sleep 3333.$$ & exit 0"
is "at once" "$(pgrep -f "sleep 3333.$$")" ""

# --- streams --------------------------------------------------------------------------

is "standard input goes to all" "$(echo hello | inside srun -n2 cat)" "hello
hello"
is "or to one" "$(echo hello | inside srun -l -n3 -i 1 cat)" "1: hello"
is "or to none" "$(echo hello | inside srun -n2 -i none cat)" ""
is "a script from there" "$(echo 'echo $SLURM_PROCID' | inside srun -n1 sh -s)" 0
is "closed" "$(inside srun -n1 cat <&-)" ""
is "a line without its end" "$(inside srun -l -n1 printf no-newline)" "0: no-newline"
is "1 MB without one" "$(inside srun -n1 sh -c 'head -c 1000000 /dev/zero | tr "\0" x' | wc -c)" 1000000
is "with a label" "$(inside srun -l -n1 sh -c 'head -c 1000000 /dev/zero | tr "\0" x' | wc -c)" 1000004
is "labels are right-aligned" "$(inside srun -l -O -n12 sh -c '[ $SLURM_PROCID -lt 9 ] || echo hi' | sort)" " 9: hi
10: hi
11: hi"
inside srun -n2 -o "out_%j_%t_%s" sh -c 'echo out; echo err >&2'
is "a file for each task" "$(cat out_"$job"_0_* out_"$job"_1_*)" "out
err
out
err"
inside srun -n2 -o both -e "err_%2t" sh -c 'echo out; echo err >&2'
is "one for all, and errors apart" "$(cat both err_00 err_01)" "out
out
err
err"
inside srun -n1 -o both --open-mode=append echo more
is "appended" "$(tail -n1 both)" more
inside srun -n2 -o none echo lost >none.out
is "none" "$(cat none.out)" ""
steps "a file that cannot be made" 1 "" \
	"srun: error: Could not open stdout file: Not a directory" -n1 -o both/x true
(
	# A reader of srun's output gets end of file when the step ends, not
	# later.
	inside srun -n2 echo x | wc -l
) >pipe.out
is "a pipe" "$(cat pipe.out)" 2

# --- a terminal -------------------------------------------------------------------------

cat >pty.sh <<END
stty rows 33 cols 44
exec env SLURM_JOB_ID=$job srun -n1 --pty sh -c 'tty; stty size; read x; echo "got \$x"; exit 5'
END
echo typed | script -qec 'sh pty.sh' /dev/null >pty.out
is "--pty exits with the status" "$?" 5
like "has a terminal of its own" "$(tr -d '\r' <pty.out)" "^/dev/pts/[0-9]+\$"
like "of the same size" "$(tr -d '\r' <pty.out)" "^33 44\$"
line=$(tail -n 1 pty.out)
is "how it ended is said when the terminal is as before" \
	"${line#*srun: }" "error: $(uname -n): task 0: Exited with exit code 5$(printf '\r')"
like "and what is typed" "$(tr -d '\r' <pty.out)" "^got typed\$"
run inside srun --pty sh -c 'tty; echo $SLURM_STEP_NUM_TASKS' </dev/null
is "without a terminal it goes on" "$rc $out
$err" "0 not a tty
1
srun: error: ioctl(TIOCGWINSZ): Inappropriate ioctl for device
srun: error: Not using a pseudo-terminal, disregarding --pty option"

# --- resources of steps ---------------------------------------------------------------

# NAME OPTION...: starts a step that runs until the gate NAME is opened
holder()
{
	holder=$1
	shift
	gate "$holder"
	inside srun "$@" sh -c ": >$holder.in; $(at_gate "$holder")" &
	later="$later $!"
	wait_for test -e "$holder.in"
}

holder whole -n1
inside srun -n1 --overlap echo beside >overlap.out
is "an overlapping step runs beside any" "$(cat overlap.out)" beside
inside srun -n1 echo waited >wait.out 2>wait.err &
later="$later $!"
wait_for grep -q temporarily wait.err
inside srun -n1 --exact true 2>wait2.err &
later="$later $!"
wait_for grep -q temporarily wait2.err
open_gate whole
wait_all
is "a step without --exact waits, and is told" "$(cat wait.out wait.err)" "waited
srun: Job $job step creation temporarily disabled, retrying (Requested nodes are busy)
srun: Step created for job $job"
holder part --exact -n1
inside srun --exact -n3 echo beside >exact.out 2>&1
is "exact ones run beside each other" "$(sort -u exact.out)" beside
inside srun --exact -n1 --mem=350M true 2>mem.err &
later="$later $!"
wait_for grep -q temporarily mem.err
ok "memory counts" true
inside srun --exact -n1 true 2>fifo.err &
later="$later $!"
wait_for grep -q temporarily fifo.err
ok "the first come first" true
open_gate part
wait_all
inside srun -Q -n1 true 2>quiet.err
is "-Q" "$(cat quiet.err)" ""
for _ in $(seq 64); do
	inside srun -n1 --overlap echo x &
	later="$later $!"
done >many.out
wait_all
is "64 in the background" "$(grep -c x many.out)" 64

# --- signals --------------------------------------------------------------------------

cat >usr.sh <<'END'
#!/bin/bash
trap 'echo got $SLURM_PROCID; exit 0' USR1
: >ready.$SLURM_PROCID
while :; do sleep 0.05; done
END
chmod +x usr.sh
become srun -n2 ./usr.sh >usr.out 2>/dev/null &
pid=$!
wait_for 'test -e ready.0 && test -e ready.1'
kill -USR1 "$pid"
wait "$pid"
is "USR1 goes to all tasks" "$? $(sort usr.out)" "0 got 0
got 1"
become srun -n1 sh -c ': >up; exec sleep 1000' 2>int.err &
pid=$!
wait_for test -e up
kill -INT "$pid"
wait_for grep -q 'task 0: running' int.err
is "the first interrupt only tells" "$(sed -E "s/$job\.[0-9]+/STEP/" int.err)" \
	"srun: interrupt (one more within 1 sec to abort)
srun: StepId=STEP task 0: running"
kill -TERM "$pid"
wait "$pid"
is "TERM ends the step" "$?" 143
like "and says so" "$(cat int.err)" "^srun: forcing job termination\$"
become srun -n1 sh -c ': >up2; exec sleep 4444.'$$ 2>/dev/null &
pid=$!
wait_for test -e up2
kill -KILL "$pid"
ok "a step ends with its srun" wait_for "! pgrep -f 'sleep 4444.$$'"
wait "$pid" 2>/dev/null

# --- signals for jobs ------------------------------------------------------------------

# The script and its step both trap SIGUSR1, and record each one that they get.
cat >scopes.sh <<'END'
#!/bin/bash
trap 'echo script >>scopes' USR1
[ -z "$NO_STEP" ] && srun -n1 "$PWD/scope_step.sh" &
: >scopes_ready
while :; do wait; sleep 0.05; done
END
cat >scope_step.sh <<'END'
#!/bin/bash
trap 'echo step >>scopes' USR1
: >scope_step_ready
while :; do sleep 0.05; done
END
chmod +x scope_step.sh

# NAME WANT COMMAND...: tests that exactly the processes WANT ("script", "step")
# record a signal when COMMAND runs
gets()
{
	gets_name=$1
	gets_want=$2
	shift 2
	: >scopes
	"$@"
	wait_for grep -q "${gets_want##* }" scopes
	is "$gets_name" "$(sort -u scopes | xargs)" "$gets_want"
}

scoped=$(sbatch --parsable -n2 scopes.sh)
wait_for 'test -e scopes_ready && test -e scope_step_ready'
gets "scancel -s is for steps" step scancel -s USR1 "$scoped"
gets "aicancel -s, too" step aicancel -s USR1 "$scoped"
gets "scancel --batch is for the script" script scancel --batch -s USR1 "$scoped"
gets "a step alone" step scancel -s USR1 "$scoped.0"
: >scopes
scancel --full -s USR1 "$scoped"
wait_for 'grep -q script scopes && grep -q step scopes'
is "--full is for both" "$(sort -u scopes | xargs)" "script step"
scancel "$scoped.0"
wait_for "! pgrep -f '$PWD/scope_step.sh'"
is "a step is ended, and its job is not" "$(state_of "$scoped")" RUNNING
gets "aicancel -s of a job without steps" script aicancel -s USR1 "$scoped"
scancel "$scoped"
becomes "a job of scopes ends" "$scoped" CANCELLED
rm -f scopes_ready scope_step_ready scopes
limited=$(sbatch --parsable -n2 -t 1 --signal=USR1@50 scopes.sh)
wait_for grep -q step scopes
is "--signal is for steps" "$(sort -u scopes)" step
scancel "$limited"

# --- errors ----------------------------------------------------------------------------

says "no command" 1 "" "srun: fatal: No command given to execute." srun
says "an unknown option" 255 "" "$dir/slurm/bin/srun: unrecognized option '--nosuch'
Try \"srun --help\" for more information" "$dir/slurm/bin/srun" --nosuch true
says "a bad number" 1 "" 'srun: error: Invalid numeric value "" for --ntasks.' \
	env SLURM_NTASKS= srun true
says "no such job" 1 "" "srun: error: Unable to confirm allocation for job 99999999: Invalid job id specified
srun: Check SLURM_JOB_ID environment variable. Expired or invalid job 99999999" \
	srun --jobid=99999999 true
says "several components" 1 "" "srun: error: heterogeneous jobs are not supported" \
	srun true : true
held=$(sbatch --parsable -H --wrap true)
says "a job that waits" 1 "" \
	"srun: error: Unable to confirm allocation for job $held: Job is pending execution
srun: Check SLURM_JOB_ID environment variable. Expired or invalid job $held" \
	srun --jobid="$held" true

# --- hostile clients ----------------------------------------------------------------------

socket=$dir/state/run/$job.1/step
bad=$top_builddir/tests/e2e/step_hostile
for how in part loose fifo garbage huge own; do
	is "hostile: $how" "$("$bad" "$socket" "$how" 3)" 0
done
is "hostile: 10,000 connections" "$("$bad" "$socket" many 10000)" 0
"$bad" "$socket" silent 60 >silent.out &
later="$later $!"
wait_for grep -q held silent.out
inside srun -n1 echo through >through.out
is "silent clients delay no step" "$(cat through.out)" through
wait_all
is "and are hung up on" "$(tail -n1 silent.out)" 0
ok "the daemon did not notice" aictl ping
if is_root; then
	says "another user's job" 1 "" \
		"srun: error: Unable to confirm allocation for job $job: Access/permission denied" \
		as_user nobody env SLURM_JOB_ID="$job" srun true
	cp "$bad" "$dir/bin/"
	like "or its shepherd" "$(as_user nobody step_hostile "$socket" many 2>&1)" \
		"Permission denied"
	theirs=$(as_user nobody aisub --parsable -o "$dir/tmp/theirs" --wrap \
		"srun -n1 id -un; srun -n1 -o $dir/tmp/file id -un")
	becomes "a step of another user" "$theirs" COMPLETED
	is "is theirs" "$(cat "$dir/tmp/theirs" "$dir/tmp/file") $(stat -c %U "$dir/tmp/file")" \
		"nobody
nobody nobody"
fi

# --- steps when the daemon restarts, and when the job ends ------------------------------

gate up3
inside srun -n1 sh -c ": >up3; $(at_gate up3)" >restart.out 2>&1 &
later="$later $!"
wait_for test -e up3
restart || bail "aischedd does not start again"
open_gate up3
wait_all
is "a step survives the daemon" "$(cat restart.out)" go
become srun -n1 sh -c ': >up4; exec sleep 5555.'$$ 2>cancel.err &
pid=$!
wait_for test -e up4
scancel "$job"
wait "$pid"
is "a step ends with its job" "$? $(sed -E "s/$job\.[0-9]+/STEP/; s/[-0-9]{10}T[0-9:]{8}/DATE/" cancel.err)" \
	"143 srun: Job step aborted: Waiting up to 32 seconds for job step to finish.
slurmstepd-$node: error: *** STEP STEP ON $node CANCELLED AT DATE ***
srun: error: $node: task 0: Terminated"
becomes "and the job ends" "$job" CANCELLED
ok "nothing is left" wait_for "! pgrep -f 'sleep 5555.$$'"

# --- the record of steps --------------------------------------------------------------------

gate acct
acct=$(sbatch --parsable -n2 --mem=200M --wrap "
srun -J both true
srun -n1 --exact sh -c 'exit 3'
srun -n1 sh -c 'kill -9 \$\$'
srun -n1 -t 0:01 sleep 1000
srun -n1 sh -c ': >acct.in; $(at_gate acct)'
exit 0")
wait_for test -e acct.in
is "a step that runs" "$(sacct -n -P -j "$acct.4" -o JobID,State,NTasks)" "$acct.4|RUNNING|1"
like "squeue -s" "$(squeue -s | xargs)" \
	"^STEPID NAME PARTITION USER TIME NODELIST $acct\.4 sh default $(id -un) 0:[0-9]+ $node $acct\.batch batch default $(id -un) 0:[0-9]+ $node\$"
says "by letters" 0 "$acct.4|1|(null)|UNLIMITED|$(id -u)|%C
$acct.batch|1|(null)|UNLIMITED|$(id -u)|%C" "squeue: error: Invalid job step format specification: C" \
	squeue -h -s -o '%i|%A|%b|%l|%U|%C'
says "by names, the last one first" 0 "$acct.batch batch RUNNING 0 N/A
$acct.4 sh RUNNING 2 N/A" "squeue: error: Invalid job step format specification: name" \
	squeue -h -s -S -i -O 'name,stepid: ,stepname: ,stepstate: ,numcpus: ,arraytaskid:'
is "of others" "$(squeue -h --steps="$acct.3" -o %i)" ""
is "of a job" "$(squeue -h --steps="$acct" -o '%i %j' | xargs)" "$acct.4 sh $acct.batch batch"
is "the script alone" "$(squeue -h -s "$acct.batch" -o %i)" "$acct.batch"
open_gate acct
becomes "a job with steps ends" "$acct" COMPLETED
remembered="$acct|wrap|COMPLETED|0:0||2
$acct.batch|batch|COMPLETED|0:0|1|2
$acct.0|both|COMPLETED|0:0|2|2
$acct.1|sh|FAILED|3:0|1|1
$acct.2|sh|FAILED|0:9|1|2
$acct.3|sleep|TIMEOUT|0:15|1|2
$acct.4|sh|COMPLETED|0:0|1|2"
rows()
{
	sacct -n -P -j "$acct" -o JobID,JobName,State,ExitCode,NTasks,AllocCPUS
}
is "sacct has its steps" "$(rows)" "$remembered"
like "and what they used" "$(sacct -n -P -j "$acct.4" -o AllocTRES,ReqMem,MaxRSS,Elapsed)" \
	"^cpu=2,mem=200M,node=1\|\|[0-9]+K\|00:00:[0-9]+\$"
is "-X leaves them out" "$(sacct -n -X -P -j "$acct" -o JobID)" "$acct"
restart || bail "aischedd does not start again"
is "after a restart, too" "$(rows)" "$remembered"

# --- the shepherd is killed ---------------------------------------------------------------

job=$(sbatch --parsable -n2 --wrap 'exec sleep 1000')
becomes "another job" "$job" RUNNING
become srun -n1 sh -c ': >up5; exec sleep 6666.'$$ 2>lost.err &
pid=$!
wait_for test -e up5
kill -KILL "$(sed -n 's/.*"pid":\([0-9]*\).*/\1/p' "$dir/state/run/$job.1/claim")"
wait "$pid"
is "srun notices the end of the shepherd" "$? $(cat lost.err)" \
	"1 srun: error: the shepherd of job $job is gone, and its steps with it"
ok "and nothing is left" wait_for "! pgrep -f 'sleep 6666.$$'"
becomes "the job is lost" "$job" NODE_FAIL
is "and its step is remembered" "$(sacct -n -P -j "$job.0" -o JobID,JobName,State)" \
	"$job.0|sh|CANCELLED by $(id -u)"

# --- terminals of root -------------------------------------------------------------

# Processes of a user must not get root's terminal.
job=$(sbatch --parsable --wrap 'exec sleep 1000')
wait_for is_state "$job" RUNNING
echo "srun --jobid=$job --overlap -n1 sh -c 'for i in 0 1 2; do test -t \$i; echo \$i \$?; done'" >tty.sh
is "a terminal is handed to tasks, but root's" \
	"$(inside timeout 300 script -qec "sh tty.sh" /dev/null </dev/null | tr -d '\r' | xargs)" \
	"$(if is_root; then echo 0 1 1 1 2 1; else echo 0 0 1 0 2 0; fi)"
done_testing

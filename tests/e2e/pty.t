#!/bin/sh
# aisub --pty: a job that is a command on a terminal
# shellcheck disable=SC2016,SC2119,SC2154 # commands expand their own variables; run sets some

# shellcheck source=tests/e2e/jobs.sh
. "$top_srcdir/tests/e2e/jobs.sh"

stop_daemon
configure "
queue default { grace = \"1s\" }
pool here { runner = local }
node \"$(uname -n)\" { pool = here  cpus = 2  memory = \"4G\" }"
start_daemon || bail "aischedd does not start"
# Jobs may wait until the node of a new daemon has started.
aisub --wait -o /dev/null --wrap true >/dev/null

# Runs tty.sh on a terminal of 33 lines whose input is the standard input.
on_tty()
{
	timeout 300 script -qec "stty rows 33 cols 44; sh $PWD/tty.sh" /dev/null
}

# PATTERN: whether no process has it in its command line
gone()
{
	! pgrep -f "$1" >gone.out
}

# FILE: prints the id of the job that waits, from aisub's message
waiting_id()
{
	sed -n 's/^aisub: job \([0-9]*\) waits.*/\1/p' "$1"
}

mkdir work
cat >tty.sh <<END
cd work
GIVEN=here aisub --pty -n 2 --mem 50M sh -c 'tty; stty size; echo "\$TERM \$GIVEN \$SLURM_NTASKS \$PWD"; read x; echo "got \$x"; exit 5'
echo status \$?
END
echo typed | TERM=vt100 AISUB_OUTPUT=/nosuch/file on_tty >raw
tr -d '\r' <raw >tty.out
like "a terminal" "$(cat tty.out)" "^/dev/pts/[0-9]+\$"
like "of the same size" "$(cat tty.out)" "^33 44\$"
like "and kind, with the environment and the folder" "$(cat tty.out)" "^vt100 here 2 $PWD/work\$"
like "what is typed" "$(cat tty.out)" "^got typed\$"
like "and its status" "$(cat tty.out)" "^status 5\$"
unlike "nothing is said of a job that starts at once" "$(cat tty.out)" "aisub"
like "the job has the command's name and status" \
	"$(aiq --no-header --history -n sh -o name,state,exit)" "^sh +FAILED +5"
echo 'SHELL=/bin/sh aisub --pty' >tty.sh
(echo 'echo in a shell, $((20 + 3))'; echo exit) | on_tty >raw
like "a shell" "$(cat raw)" "in a shell, 23"

run aisub --pty sh -c 'cat; exit 3' </dev/null
is "without a terminal it goes on" "$rc $out$err" \
	"3 aisub: standard input is no terminal: going on without one"
for option in --wrap=x --wait --follow --test-only --parsable --json --array=1-2 --output=x; do
	name=${option%%=*}
	fails "$option" 2 "$name does not go with --pty" aisub --pty "$option" true
done
printf '#!/bin/sh\n#AISUB --pty\n' >script
fails "in a script" 2 "--pty is for the command line only" aisub script
fails "a queue that is not there" 1 "nosuch" aisub --pty -q nosuch true

# --- aisub waits for its job -------------------------------------------------------

gate full
full=$(submit -n 2 -o /dev/null --wrap "$(at_gate full)")
wait_for is_state "$full" RUNNING
aisub --pty echo ran </dev/null >wait.out 2>wait.err &
pid=$!
wait_for grep -q waits wait.err
id=$(waiting_id wait.err)
restart || bail "aischedd does not start again"
wait_for aictl ping
is "it still waits after a restart" "$(state_of "$id")" PENDING
open_gate full
wait "$pid"
is "then it runs" "$? $(cat wait.out wait.err)" "0 ran
aisub: job $id waits (Resources); Ctrl-C cancels it
aisub: job $id starts on $(uname -n)
aisub: standard input is no terminal: going on without one"

echo 'exec aisub --pty -H true' >tty.sh
gate stop
(cat "$dir/gate.stop"; printf '\003') | on_tty >int.out &
tty=$!
wait_for grep -q waits int.out
id=$(tr -d '\r' <int.out >int.text; waiting_id int.text)
open_gate stop
becomes "Ctrl-C cancels it" "$id" CANCELLED
wait "$tty"
like "and says so" "$(cat int.out)" "aisub: job $id is cancelled"

# SIGNAL STATUS: tests that the signal ends a waiting aisub with this exit
# status
while_it_waits()
{
	rm -f wait.err
	aisub --pty -H true </dev/null 2>wait.err &
	pid=$!
	wait_for grep -q waits wait.err
	kill -"$1" "$pid"
	wait "$pid" 2>/dev/null
	is "$1 while it waits" "$?" "$2"
	becomes "cancels the job" "$(waiting_id wait.err)" CANCELLED
}
while_it_waits TERM 143
while_it_waits KILL 137

# --- how commands end --------------------------------------------------------------

# NAME STATUS STATE COMMAND...: tests aisub's exit status and the job's state if
# COMMAND runs while the job does; $pid is that of aisub
while_it_runs()
{
	wir_name=$1 wir_status=$2 wir_state=$3
	shift 3
	rm -f up
	aisub --pty sh -c 'setsid sleep 4444.'$$' & echo $SLURM_JOB_ID >up.new; mv up.new up; exec sleep 5555.'$$ \
		</dev/null >while.out 2>while.err &
	pid=$!
	wait_for test -e up
	id=$(cat up)
	"$@"
	wait "$pid" 2>/dev/null
	is "$wir_name" "$?" "$wir_status"
	becomes "$wir_name: its job" "$id" "$wir_state"
	ok "$wir_name: nothing is left of it" wait_for gone "sleep (4444|5555)[.]$$( |\$)"
}

signal()
{
	kill -"$1" "$pid"
}

restart_under()
{
	kill_daemon
	start_daemon || bail "aischedd does not start again"
	wait_for is_state "$id" RUNNING
	kill -INT "$pid"
}

cancel_job()
{
	aicancel "$id"
}

while_it_runs "an interrupt" 130 FAILED signal INT
while_it_runs "a hang-up" 143 FAILED signal HUP
while_it_runs "aisub is killed" 137 FAILED signal KILL
while_it_runs "the daemon is killed" 130 FAILED restart_under
while_it_runs "the job is cancelled" 143 CANCELLED cancel_job
done_testing

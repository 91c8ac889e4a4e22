#!/bin/sh
# squeue and scancel: what Slurm 22.05 prints, word for word

# shellcheck source=tests/e2e/slurm.sh
. "$top_srcdir/tests/e2e/slurm.sh"

me=$(id -un)
node=$(uname -n)
sleeper=$(sleeper --job-name runs -c 2 --mem 100M -t 10 --comment hi)
wait_for is_state "$sleeper" RUNNING
waiter=$(submit --job-name waits -c 4 --mem-per-cpu 500M -t 1-0 --nice=5 \
	-d "afterany:$sleeper" --wrap true)
array=$(submit --job-name many -a '0-9%3' -H --wrap true)

# --- squeue -o -------------------------------------------------------------

says "the usual columns" 0 \
	"             JOBID PARTITION     NAME     USER ST       TIME  NODES NODELIST(REASON)" \
	"" squeue -p nosuch
like "a job that runs" "$(squeue -h -j "$sleeper")" \
	"^$(printf '%18s   default     runs %8.8s  R       0:[0-9]{2}      1 %s' \
		"$sleeper" "$me" "$node")\$"
says "letters" 0 "$sleeper|runs|R|RUNNING|10:00|1|2|2|100M|N/A|$node|$node|$node|None|hi|(null)|(null)|0" \
	"" squeue -h -j "$sleeper" \
	-o '%i|%j|%t|%T|%l|%D|%c|%C|%m|%b|%N|%B|%R|%r|%k|%E|%f|%y'
says "of one that waits" 0 \
	"$waiter|PD|4|500M|||n/a|(Dependency)|Dependency|(null)|afterany:$sleeper(unfulfilled)|1-00:00:00|1-00:00:00|0:00|5" \
	"" squeue -h -j "$waiter" \
	-o '%i|%t|%C|%m|%N|%n|%B|%R|%r|%k|%E|%l|%L|%M|%y'
says "no dependency" 0 "$sleeper (null)" "" squeue -h -j "$sleeper" -o '%i %E'
says "an array that waits is one line" 0 "${array}_[0-9%3] $array 0-9%3" "" \
	squeue -h -j "$array" -o '%i %F %K'
is "with --array a line for each task" \
	"$(squeue -h -r -j "$array" -o '%i %F %K %A' | sed -n '1p;$p')" \
	"${array}_0 $array 0 $array
${array}_9 $array 9 $array"
says "one task of it" 0 "${array}_3 3" "" squeue -h -j "${array}_3" -o '%i %K'
is "some tasks of it" "$(squeue -h -j "${array}_[1-2]" -o %i | xargs)" "${array}_1 ${array}_2"
says "a task that it does not have" 0 "" "" squeue -h -j "${array}_99"
says "of an array that is not there" 1 "" \
	"slurm_load_jobs error: Invalid job id specified" squeue -j 99999999_1
says "held jobs have no priority" 0 "0 0.00000000000000" "" \
	squeue -h -j "$array" -o '%Q %p'
says "no array has no index" 0 "$sleeper N/A" "" \
	squeue -h -j "$sleeper" -o '%F %K'
says "what is meant by no letter is printed" 0 "JOBID %-5j" \
	"squeue: error: Invalid job format specification: -" \
	sh -c "squeue -o '%.5i %-5j' | head -n 1"
says "text around columns stays" 0 "\"$sleeper\",\"runs\"" "" \
	squeue -h -j "$sleeper" -o '"%i","%j"'
says "sizes" 0 "$sleeper 2G" "" sh -c "aictl update $waiter mem=2G &&
	squeue -h -j $waiter -o '$sleeper %m'"
says "and without conversion" 0 "2048M" "" \
	squeue -h -j "$waiter" --noconvert -o %m

says "times are not cut where they are aligned right" 0 "10:00|10:|1-00:00:00" "" \
	sh -c "squeue -h -j $sleeper -o '%.2l|%3l|' | tr -d '\n'; squeue -h -j $waiter -o %.2l"
begins=$(sbatch --parsable -b 2030-01-01 --wrap true)
says "what may not start before" 0 "2030-01-01T00:00:00" "" squeue -h -j "$begins" -o %S
like "SLURM_TIME_FORMAT=relative" \
	"$(SLURM_TIME_FORMAT=relative squeue -h -j "$sleeper" -o %S)" "^[0-9:]{8}\$"
scancel "$begins"

# --- aiq, with the same options ---------------------------------------------

is "aiq --start: what waits, and when it starts" \
	"$(aiq --start | sed -n 1p | xargs) $(aiq --me --start -h -n waits | awk '{ print $1, $2, $3, $5 }')" \
	"JOBID QUEUE NAME USER ST START_TIME NODES NODELIST(REASON) $waiter default waits PD"
is "aiq --start: columns of one's own" "$(aiq -a --start -o display_id,state -h -n runs,waits | xargs)" "$waiter PENDING"
is "aiq --me takes -a back" "$(aiq -a --me -h -o user | sort -u)" "$me"

is "headers are cut, times are not" "$(squeue -o %.4l -j "$sleeper")" "TIME
10:00"

# --- squeue -O -------------------------------------------------------------

says "-O: 20 wide, cut" 0 "JOBID               STATE               " "" \
	squeue -p nosuch -O jobid,state
says "-O: widths and suffixes" 0 "$sleeper;  RUNNING|runs" "" sh -c \
	"squeue -h -j $sleeper -O 'jobid:;,state:.9|,name:|' | sed 's/|\$//'"
says "-O: what is not known is left out" 0 "$sleeper" \
	"squeue: error: Invalid job format specification: bogus" \
	sh -c "squeue -h -O 'jobid:,bogus' -j $sleeper | sed 's/ *\$//'"
is "-O: three words a line" "$(squeue -O JobArrayID,StateCompact,Reason \
	-t all --me -h | awk 'NF != 3')" ""
says "-O: names that few ask for" 0 \
	"ACCRUE_TIME|CPUS_PER_TASK|DEADLINE|DELAY_BOOT|EXIT_CODE|HET_JOB_ID|TIME_MIN|NETWORK|PREEMPT_TIME|PROFILE|REBOOT|TRES_PER_TASK|
N/A|2|N/A|0:00|0|N/A|0:00|(null)|N/A|NotSet|0|N/A|" "" squeue -j "$sleeper" \
	-O 'AccrueTime:|,cpus-per-task:|,Deadline:|,DelayBoot:|,exit_code:|,HetJobID:|,MinTime:|,Network:|,PreemptTime:|,Profile:|,Reboot:|,tres-per-task:|'
says "-O: names that say the same of every job" 0 \
	"0|0|1|0|(null)|*|N/A|0|0|0|0|(null)|0|NA|0|(null)|N/A|NA|*|0|*|N/A|N/A|0:00|" "" \
	squeue -h -j "$sleeper" -O 'AllocSID:|,AssocID:|,BatchFlag:|,BoardsPerNode:|,BurstBuffer:|,Cores:|,cpus-per-tres:|,DerivedEC:|,MaxCPUs:|,MaxNodes:|,NTPerBoard:|,MCSLabel:|,NTPerNode:|,Origin:|,ReqSwitch:|,Reservation:|,ResizeTime:|,SiblingsActive:|,Sockets:|,SPerBoard:|,Threads:|,tres-bind:|,tres-freq:|,Wait4Switch:|'
like "-O: how long it waited" "$(squeue -h -j "$sleeper" -O PendingTime,AllocNodes:)" "^[0-9]+ +$node"
says "-O: what is allocated" 0 "cpu=2,mem=100M,node=1,billing=2|" "" \
	squeue -h -j "$sleeper" -O 'tres-alloc:|'

# --- options that select jobs -----------------------------------------------

is "all three" "$(squeue -h -o %F | sort -n | xargs)" "$sleeper $waiter $array"
is "states, short and long, any case" \
	"$(squeue -h -t r,PENDING -o %j | sort | xargs)" "many runs waits"
is "names" "$(squeue -h -n waits,many -o %j | sort | xargs)" "many waits"
is "users" "$(squeue -h -u "$me" -o %j | wc -l)" 3
is "uids" "$(squeue -h -u "$(id -u)" -o %j | wc -l)" 3
is "nodes" "$(squeue -h -w "$node" -o %j)" runs
is "waiting ones come first, then by priority" \
	"$(squeue -h -o %t | xargs)" "PD PD R"
is "sorted" "$(squeue -h -S -i -o %F | xargs)" "$array $waiter $sleeper"
is "by time limit" "$(squeue -h -S l,i -o %F | xargs)" "$sleeper $waiter $array"
is "letters need no commas between" "$(squeue -h -S -ti -o %F | xargs)" \
	"$sleeper $waiter $array"
says "an order that is none" 1 "JOBID" \
	"squeue: error: Invalid sort specification: s" squeue -o %i -S bogus
says "licences that nobody has" 0 "" "" squeue -h -L nosuch
says "--array-unique" 0 "$sleeper" "" squeue --array-unique -h -j "$sleeper" -o %i
says "a state that no job has" 0 "" "" squeue -h -t REVOKED
is "an order from the environment" "$(SQUEUE_SORT=i squeue -h -o %F | xargs)" \
	"$sleeper $waiter $array"
is "a format from the environment" \
	"$(SQUEUE_FORMAT=%j squeue -h -j "$sleeper")" runs
is "known among unknown" "$(squeue -h -j "$sleeper,99999999" -o %i)" "$sleeper"
says "one unknown" 1 "" "slurm_load_jobs error: Invalid job id specified" \
	squeue -j 99999999
says "no job id" 1 "" "squeue: error: Invalid job id: abc" squeue -j abc
says "no such user" 0 "" "squeue: error: Invalid user: nosuchuser" \
	squeue -h -u nosuchuser
says "no such queue" 0 "" "" squeue -h -p nosuch
run squeue -t XX
like "no such state" "$rc $err" \
	"^1 squeue: error: Invalid job state specified: XX\$"
is "and which there are" "$(echo "$err" | sed -n 2p)" "squeue: error: Valid job states include: PENDING,RUNNING,SUSPENDED,COMPLETED,CANCELLED,FAILED,TIMEOUT,NODE_FAIL,PREEMPTED,BOOT_FAIL,DEADLINE,OUT_OF_MEMORY,COMPLETING,CONFIGURING,RESIZING,RESV_DEL_HOLD,REQUEUED,REQUEUE_FED,REQUEUE_HOLD,REVOKED,SIGNALING,SPECIAL_EXIT,STAGE_OUT,STOPPED"
says "none to cancel, either" 1 "" "Invalid job state specified: XX
Valid job states are PENDING, RUNNING, and SUSPENDED" scancel -t XX
says "nor in the history" 1 "" "sacct: fatal: unrecognized job state value 'XX'" sacct -s XX
says "no interval" 1 "" "squeue: error: --iterate=0" squeue -i 0
says "a node that is not there" 1 "" "squeue: error: Invalid node name nope" \
	squeue -w "$(uname -n),nope"
says "nor are those of a list" 1 "" "squeue: error: Invalid node name nope3" squeue -w "nope[3-4]"
is "at length, without a header or a date" "$(squeue -h -l -j "$sleeper" | wc -l)" 1
is "all letters" "$(squeue -o %all -j "$sleeper" | head -n 1 | cut -d '|' -f 1-3)" \
	"ACCOUNT|TRES_PER_NODE|MIN_CPUS"
says "no such option" 1 "" "squeue: unrecognized option '--bogus'
Try \"squeue --help\" for more information" squeue --bogus
says "its own cluster" 0 "CLUSTER: test
JOBID
$sleeper" "" squeue -M test -j "$sleeper" -o %i
says "without headers not even that" 0 "$sleeper" "" \
	squeue -h -M test -j "$sleeper" -o %i
says "another cluster" 1 "" \
	"squeue: error: No cluster 'other' known by database.
squeue: error: 'other' can't be reached now, or it is an invalid entry for --cluster.  Use 'sacctmgr list clusters' to see available clusters." \
	squeue -M other
like "a version that clients can read" "$(squeue --version)" \
	"^slurm [0-9]+\.[0-9]+\.[0-9]+$"
says "no daemon" 1 "" \
	"slurm_load_jobs error: Unable to contact slurm controller (connect failure)" \
	env AISCHED_SOCKET="$dir/none" squeue

# --- scancel ----------------------------------------------------------------

says "nothing named" 1 "" "scancel: error: No job identification provided" \
	scancel
says "no id" 1 "" "scancel: error: Invalid job id abc" scancel abc
says "unknown" 0 "" "" scancel 99999999
says "unknown, with a signal" 1 "" \
	"scancel: error: Kill job error on job id 99999999: Invalid job id specified" \
	scancel --full 99999999 --signal USR1
says "a step that is not there" 225 "" \
	"scancel: error: Kill job error on job step id $sleeper.7: Invalid job id specified" \
	scancel "$sleeper.7"
says "a signal for it" 0 "" "" scancel -s USR1 "$sleeper.7"
says "a step of no job" 1 "" \
	"scancel: error: Kill job error on job step id 99999999.1: Invalid job id specified" \
	scancel 99999999.1
says "a step of a job that waits" 0 "" "" scancel "$array.0"
says "a signal for steps, of which there are none" 0 "" "" \
	scancel "$sleeper" --signal USR2
is "and did nothing" "$(squeue -h -j "$sleeper" -o %t)" R
says "some tasks of an array" 0 "" "" scancel "${array}_[1-3]"
is "the others wait" "$(squeue -h -j "$array" -o %i)" "${array}_[0,4-9%3]"
says "by name and user" 0 "" "" scancel -n many -u "$me"
is "they are gone" "$(squeue -h -j "$array" -o %i)" ""
trap_job=$(submit --wrap "trap 'echo caught >$dir/caught; exit 0' USR1
	echo >$dir/ready; while :; do sleep 0.1; done")
wait_for test -s "$dir/ready"
says "--full signals" 0 "" "" scancel --full -s USR1 "$trap_job"
ok "the job got it" wait_for test -s "$dir/caught"
says "no signal" 1 "" "Unknown job signal: FOO" scancel -s FOO "$sleeper"
says "-s KILL ends a job" 0 "" "" scancel -s KILL "$sleeper"
becomes "it is cancelled" "$sleeper" CANCELLED
says "one that has ended" 0 "" "" scancel "$sleeper"
says "that has ended, with a signal" 1 "" \
	"scancel: error: Kill job error on job id $sleeper: Invalid job id specified" \
	scancel --full -s USR1 "$sleeper"
says "no such user" 1 "" "scancel: error: Invalid user name: nosuchuser" \
	scancel -u nosuchuser
says "with -v, what was asked for" 0 "" \
	"scancel: error: No active jobs match ALL job filters, including: account=a job_name=x nodelist=$node partition=main qos=q reservation=r state=RUNNING user_name=$me " \
	scancel -v -n x -u "$me" -p main -t R -A a -q q -R r -w "$node"
is "it is no longer listed" "$(squeue -h -j "$sleeper" -o %i)" ""
is "but among all states" "$(squeue -h -t all -j "$sleeper" -o '%i %t')" \
	"$sleeper CA"
is "with no reason" "$(squeue -h -t all -j "$sleeper" -o '%r %R')" "None $node"

if is_root; then
	job=$(sleeper)
	wait_for is_state "$job" RUNNING
	says "others' jobs" 210 "" \
		"scancel: error: Kill job error on job id $job: Access/permission denied" \
		as_user nobody scancel "$job"
else
	skip "others' jobs" "needs root"
fi

# --- a job that requeues itself ---------------------------------------------------

# The job requeues itself, and gets SIGTERM before the command has its answer;
# the script then waits for that signal. Leak checks are off: LeakSanitizer
# stops the process with SIGSTOP, and hangs if a SIGCONT comes, which jobs get
# together with SIGTERM.
cat >again.sh <<'END'
trap told=yes TERM
export ASAN_OPTIONS="$ASAN_OPTIONS:detect_leaks=0"
case $SLURM_RESTART_COUNT in
3) exit 0 ;;
1) aictl requeue "$SLURM_JOB_ID" ;;
*) scontrol requeue "$SLURM_JOB_ID" ;;
esac
echo "$?" >>requeue.rc
until [ "$told" ]; do sleep 0.1; done
END
again=$(submit --grace 60s --wrap "exec sh again.sh")
becomes "a job requeues itself" "$again" COMPLETED
is "and hears that it did" "$(xargs <requeue.rc)" "0 0 0"
done_testing

#!/bin/sh
# sacct and scontrol: what Slurm 22.05 prints, word for word

# shellcheck source=tests/e2e/slurm.sh
. "$top_srcdir/tests/e2e/slurm.sh"

me=$(id -un)
uid=$(id -u)
node=$(uname -n)

done_job=$(sbatch --parsable -J fine --mem=100M -n 2 --comment hi --wrap true)
failed=$(sbatch --parsable -J fails --wrap 'exit 3')
# shellcheck disable=SC2016 # the job expands it
killed=$(sbatch --parsable -J killed --wrap 'kill -9 $$')
ended=$(sbatch --parsable -J ended --wrap 'exec sleep 1000')
wait_for is_state "$ended" RUNNING
runs=$(sbatch --parsable -J runs -t 10 --mem=100M --wrap 'exec sleep 1000')
wait_for is_state "$runs" RUNNING
waits=$(sbatch --parsable -J waits -H -t 1-0 --wrap true)
array=$(sbatch --parsable -J many -H -a '0-9%3' --wrap true)
scancel "$ended"
for job in "$done_job:COMPLETED" "$failed:FAILED" "$killed:FAILED" \
	"$ended:CANCELLED"; do
	becomes "a job comes to be ${job#*:}" "${job%:*}" "${job#*:}"
done

# --- sacct ----------------------------------------------------------------------

says "a job and its script" 0 \
	"JobID|JobName|State|ExitCode|NTasks|AllocCPUS|ReqMem
$done_job|fine|COMPLETED|0:0||2|100M
$done_job.batch|batch|COMPLETED|0:0|1|2|" "" \
	sacct -P -j "$done_job" -o JobID,JobName,State,ExitCode,NTasks,AllocCPUS,ReqMem
says "one that was cancelled" 0 "$ended|CANCELLED by $uid|0:0
$ended.batch|CANCELLED|0:15" "" \
	sacct -n -P -j "$ended" -o JobID,State,ExitCode
says "exit statuses and signals" 0 "$failed|3:0
$killed|0:9" "" sacct -n -X -P -j "$failed" -j "$killed" -o JobID,ExitCode
is "in squeue" "$(squeue -h -t all -j "$killed" -o '%T %r')" "FAILED JobLaunchFailure"
says "--array" 0 "$killed|0:9" "" sacct -n -X -P --array -j "$killed" -o JobID,ExitCode
says "a script that was killed" 0 "$killed|FAILED|0:9|0:0
$killed.batch|CANCELLED|0:9|" "" sacct -n -P -j "$killed" -o JobID,State,ExitCode,DerivedExitCode
# shellcheck disable=SC2016 # the job expands it
parts=$(sbatch --parsable -W -o /dev/null --wrap 'srun sh -c "exit 2"; srun sh -c "kill -9 \$\$"; exit 0')
says "the highest status of its steps" 0 "$parts|COMPLETED|0:0|2:0" "" \
	sacct -n -P -X -j "$parts" -o JobID,State,ExitCode,DerivedExitCode
says "of the job alone" 0 "$parts|2:0
$parts.batch|
$parts.0|
$parts.1|" "" sacct -n -P -j "$parts" -o JobID,DerivedExitCode
says "what waits has its CPUs, what is held no priority" 0 "$waits|1|0" "" \
	sacct -n -P -j "$waits" -o JobID,AllocCPUS,Priority
says "sizes in gigabytes" 0 "0.10G|billing=1,cpu=1,mem=0.10G,node=1" "" \
	sacct -X -n -P --units=G -j "$runs" -o ReqMem,AllocTRES
says "in kilobytes" 0 "102400K" "" sacct -X -n -P --units=K -j "$runs" -o ReqMem
says "no unit" 1 "" "sacct: error: Invalid unit type 'X'. Possible options are 'KMGTP'
sacct: fatal: Invalid unit type" sacct --units=X -j "$runs"
says "by group" 0 "$runs" "" sacct -X -n -P -g "$(id -g)" -j "$runs" -o JobID
says "of another group" 0 "" "" sacct -X -n -P -g 54321 -j "$runs" -o JobID
says "by nodes" 0 "$runs" "" sacct -X -n -P -i 1-2 -j "$runs" -o JobID
says "by more nodes" 0 "" "" sacct -X -n -P -i 2-3 -j "$runs" -o JobID
says "no such user" 1 "" "sacct: error: Invalid user id: nosuchuser" sacct -u nosuchuser
says "no time" 1 "" "Invalid time specification (pos=0): bogus" sacct -S bogus
says "a time that ends before it begins" 1 "" \
	"sacct: error: Start time (2030-01-01T00:00:00) requested is after end time (2029-01-01T00:00:00)." \
	sacct -S 2030-01-01 -E 2029-01-01
says "words behind" 1 "" "sacct: error: Unknown arguments:
sacct: error:  extra" sacct extra
says "a header is cut without a mark" 0 "JobID Sta 
----- --- " "" sacct -j 99999999 -o JobID%5,State%3
says "an array that has not started" 0 "${array}_[0-9%3]|PENDING|None assigned" "" \
	sacct -n -P -j "$array" -o JobID,State,NodeList
says "columns are cut with a plus" 0 \
	"$(printf '%-12s %10s %-12s ' "$ended" CANCELLED+ "$node")" "" \
	sacct -n -X -j "$ended" --format=jobid,state,nodelist%-12
says "columns of several options" 0 "$runs|RUNNING|$runs|RUNNING|0:0" "" \
	sacct -n -P -X -j "$runs" -o jobid --format=state -b
says "the usual columns" 0 \
	"JobID           JobName  Partition    Account  AllocCPUS      State ExitCode 
------------ ---------- ---------- ---------- ---------- ---------- -------- " "" \
	sacct -j 99999999
says "-p has a delimiter at the end, as long as one likes" 0 \
	"$runs^|^RUNNING^|^" "" \
	sacct -X --parsable -n '--delimiter=^|^' --format=jobid,state -j "$runs"
says "by name and cluster" 0 "$runs|RUNNING" "" sacct -X --parsable2 \
	--clusters all --noheader --format=JobIdRaw,State \
	--starttime "$(date +%Y-%m-%dT%H:00)" --endtime now --name runs
says "from 1970 on" 0 "$runs" "" sacct -X -n -P -S1970-01-01-00:00:01 \
	--name runs -o jobid
says "from a day without dashes on" 0 "$runs" "" sacct -X -n -P \
	-S "$(date +%m%d%y)" -E "$(date -d tomorrow +%m/%d/%y)" --name runs -o jobid
says "with an hour" 0 "$runs" "" sacct -X -n -P -S "$(date +%m%d)-00:00" \
	--name runs -o jobid
says "states" 0 "$runs" "" sh -c "sacct -X -n -P -s R,PD -o jobid,state |
	sed -n 's/|RUNNING//p'"
says "a limit" 0 "1-00:00:00|1440|00:00:00|0|Unknown|Unknown" "" sacct -n -P \
	-j "$waits" -o timelimit,timelimitraw,elapsed,elapsedraw,start,end
says "the script alone" 0 "$done_job.batch" "" \
	sacct -n -P -j "$done_job.batch" -o jobid
says "a step that is not there" 0 "" "" sacct -n -P -j "$done_job.0" -o Reason
says "nothing" 0 "" "" sacct -n -X -j 99999999
says "no id" 1 "" "sacct: fatal: Bad job/step specified: abc" sacct -j abc
says "no column" 1 "" 'sacct: error: Invalid field requested: "x"' sacct -o x
run sacct -nu "$me" -o 'Account%256' '|' tail -1
is "what no shell has taken apart" "$rc $out$err" "1 sacct: invalid option -- '1'
Try \"sacct --help\" for more information"
is "the names of columns" "$(sacct --helpformat | head -n 1)" \
	"Account             AdminComment        AllocCPUS           AllocNodes         "
is "all of them are known" "$(sacct --helpformat | sed -n 's/ *$//; s/  */ /g; 2p; 3p')" \
	"AllocTRES AssocID AveCPU AveCPUFreq
AveDiskRead AveDiskWrite AvePages AveRSS"
is "what nothing knows is empty" "$(sacct -n -X -P -j "$done_job" \
	-o JobID,MaxDiskRead,ConsumedEnergy,TRESUsageInMin,DBIndex)" "$done_job||||"
is "of the script its node is known" "$(sacct -n -P -j "$done_job.batch" -o MaxRSSNode)" "$(uname -n)"
like "how long it waited" "$(sacct -n -X -P -j "$done_job" -o Reserved,ResvCPU,ResvCPURAW)" \
	"^[0-9]{2}:[0-9]{2}:[0-9]{2}\|[0-9]{2}:[0-9]{2}:[0-9]{2}\|[0-9]+\$"
is "what is allocated" "$(sacct -n -X -P -j "$done_job" -o alloctres)" \
	"billing=2,cpu=2,mem=100M,node=1"
like "CPU time" "$(sacct -n -X -P -j "$done_job" -o totalcpu)" \
	"^[0-9]{2}:[0-9]{2}\.[0-9]{3}\$"

# --- scontrol --------------------------------------------------------------------

job=$(scontrol show job "$runs")
is "the first line" "$(echo "$job" | head -n 1)" "JobId=$runs JobName=runs"
like "the owner" "$job" "^   UserId=$me\($uid\) GroupId=.*\([0-9]+\) MCS_label=N/A\$"
like "the state" "$job" "^   JobState=RUNNING Reason=None Dependency=\(null\)\$"
like "limits" "$job" "^   RunTime=00:0[0-9]:[0-9]{2} TimeLimit=00:10:00 TimeMin=N/A\$"
like "the host" "$job" "^   BatchHost=$node\$"
like "resources" "$job" \
	"^   NumNodes=1 NumCPUs=1 NumTasks=1 CPUs/Task=1 ReqB:S:C:T=0:0:\*:\*\$"
like "files" "$job" "^   StdOut=$dir/work/slurm-$runs.out\$"
is "on one line" "$(scontrol -o show job "$runs" | wc -l)" 1
like "an array" "$(scontrol show job "$array")" \
	"^JobId=$array ArrayJobId=$array ArrayTaskId=0-9%3 ArrayTaskThrottle=3 JobName=many\$"
says "an unknown job" 1 "" "slurm_load_jobs error: Invalid job id specified" \
	scontrol show job 99999999
says "release" 0 "" "" scontrol release "$waits"
becomes "it runs" "$waits" COMPLETED
says "hold" 0 "" "" scontrol hold "$array"
says "hold an unknown one" 1 "" "Invalid job id specified for job 99999999
slurm_suspend error: Invalid job id specified" scontrol hold 99999999
says "requeue a pending one" 1 "" \
	"Job is pending execution for job $array" scontrol requeue "$array"
says "requeue one that has ended" 0 "" "" scontrol requeue "$done_job"
becomes "it runs again" "$done_job" COMPLETED
is "which is counted" "$(sacct -n -X -P -j "$done_job" -o restarts)" 1
says "hostnames" 0 "n1
n2
n03" "" scontrol show hostnames 'n[1-2],n03'
says "of the job" 0 "a
b" "" env SLURM_JOB_NODELIST=a,b scontrol show hostname
says "none" 0 "" "scontrol: error: host list is empty" scontrol show hostnames
says "back to a list" 0 'n[1-3]' "" scontrol show hostlist n1,n2,n3
config=$(scontrol show config)
like "config: the name" "$config" "^ClusterName             = test\$"
like "config: arrays" "$config" "^MaxArraySize            = [0-9]+\$"
like "config: ended jobs" "$config" "^MinJobAge               = 300 sec\$"
like "config: grace" "$config" "^KillWait                = 2 sec\$"
like "config: tasks" "$config" "^MaxTasksPerNode         = 4096\$"
says "ping" 0 "Slurmctld(primary) at $node is UP" "" scontrol ping
says "ping nobody" 1 "Slurmctld(primary) at $node is DOWN" "" \
	env AISCHED_SOCKET="$dir/none" scontrol ping
says "the script" 0 "#!/bin/sh
# This script was created by sbatch --wrap.

exit 3" "" scontrol write batch_script "$failed" -
says "into a file" 0 "batch script for job $failed written to slurm-$failed.sh" "" \
	scontrol write batch_script "$failed"
ok "which is there" grep -q 'exit 3' "slurm-$failed.sh"
says "no such word" 1 "" "invalid keyword: bogus" scontrol bogus
fails "what is refused" 1 "is not supported" scontrol create partition
says "no daemon" 1 "" \
	"slurm_load_jobs error: Unable to contact slurm controller (connect failure)" \
	env AISCHED_SOCKET="$dir/none" scontrol show job 1
like "the version" "$(scontrol version)" "^slurm [0-9.]+\$"

scancel "$runs" "$array"

# --- a job about to run ---------------------------------------------------------------

# sacct must not print CONFIGURING: programs take a state that they do not know
# for the end of the job.
nursery=$(pgrep -P "$daemon_pid" aisched-sheph)
kill -STOP "$nursery"
about=$(sbatch --parsable -o /dev/null --wrap true)
becomes "a job that is about to run" "$about" CONFIGURING
is "is running to sacct" "$(sacct -X -n -P -j "$about" -o State)" RUNNING
kill -CONT "$nursery"
becomes "and then runs" "$about" COMPLETED
done_testing

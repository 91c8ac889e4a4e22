#!/bin/sh
# scontrol: update, requeuehold, reservations and steps, with the output of
# Slurm 22.05
# shellcheck disable=SC2119 # slurm_daemon needs no options here

# shellcheck source=tests/e2e/slurm.sh
. "$top_srcdir/tests/e2e/slurm.sh"

slurm_daemon
me=$(id -un)
node=$(uname -n)
gate go steps
runs=$(sbatch --parsable -n4 -t 10 -o /dev/null --wrap "$(at_gate go)")
wait_for is_state "$runs" RUNNING
waits=$(sbatch --parsable -n2 -t 10 -o /dev/null --wrap true)
array=$(sbatch --parsable -H -a 0-3 -o /dev/null --wrap true)

# JOB FORMAT: prints these fields of squeue
show()
{
	squeue -h -j "$1" -o "$2"
}

# --- update ----------------------------------------------------------------------

says "several at once" 0 "" "" scontrol update JobId="$waits" TimeLimit=20 Comment=hi Name=new
is "are changed" "$(show "$waits" '%l %k %j')" "20:00 hi new"
says "longer" 0 "" "" scontrol update job="$waits" TimeLimit+=5
says "and shorter, by a short name" 0 "" "" scontrol update jobid="$waits" time=-1
is "by minutes" "$(show "$waits" %l)" 24:00
says "not below nothing" 1 "" "scontrol: error: TimeLimit decrement larger than current time limit (100 > 24)" \
	scontrol update JobId="$waits" TimeLimit-=100
says "no time" 1 "" "scontrol: error: Invalid TimeLimit value" scontrol update JobId="$waits" TimeLimit=x
says "another partition" 0 "" "" scontrol update JobId="$waits" Partition=debug
is "is that of squeue" "$(show "$waits" %P)" debug
says "no partition" 1 "" "Invalid partition name specified for job $waits" \
	scontrol update JobId="$waits" Partition=nope
says "a dependency by its id" 0 "" "" scontrol update JobId="$waits" Dependency="$runs"
is "is afterany" "$(show "$waits" %E)" "afterany:$runs(unfulfilled)"
says "none" 0 "" "" scontrol update JobId="$waits" Dependency=
says "nodes" 0 "" "" scontrol update JobId="$waits" NumNodes=1-2 Nice=7 ReqNodeList="$node"
is "are the least" "$(show "$waits" '%D %y %n')" "1 7 $node"
says "memory and tasks" 0 "" "" scontrol update JobId="$waits" MinMemoryNode=300 NumTasks=1 CPUsPerTask=3
is "and their CPUs" "$(show "$waits" '%m %C')" "300M 3"
says "CPUs of all tasks" 0 "" "" scontrol update JobId="$waits" NumCPUs=3 NumTasks=2
is "are divided among them" "$(show "$waits" '%C %c')" "4 2"
says "or CPUs alone" 0 "" "" scontrol update JobId="$waits" NumCPUs=2-8
is "for the tasks that it has" "$(show "$waits" %C)" 2
says "no CPUs" 1 "" "scontrol: error: Invalid NumCPUs value: 0" \
	scontrol update JobId="$waits" NumCPUs=0
says "no number of CPUs" 1 "" "scontrol: error: Invalid numeric value \"x\" for NumCPUs.
scontrol: error: Invalid NumCPUs value: x" scontrol update JobId="$waits" NumCPUs=x
says "CPUs of no job" 1 "" "Invalid job id specified for job 99999999" \
	scontrol update JobId=99999999 NumCPUs=2
says "CPUs of one that runs" 1 "" "Job is no longer pending execution for job $runs" \
	scontrol update JobId="$runs" NumCPUs=2
says "one task and one CPU again" 0 "" "" scontrol update JobId="$waits" NumTasks=1 NumCPUs=1
says "the usual QOS" 0 "" "" scontrol update JobId="$waits" QOS=normal
says "no QOS" 1 "" "Invalid qos specification for job $waits" scontrol update JobId="$waits" QOS=nope
says "a begin" 0 "" "" scontrol update JobId="$waits" StartTime=now+1hour
is "holds it back" "$(show "$waits" %r)" BeginTime
says "an array" 0 "" "" scontrol update JobId="$array" ArrayTaskThrottle=2
is "has a limit" "$(show "$array" %K)" "0-3%2"
says "several jobs" 0 "" "" scontrol update JobId="$waits,$array" Comment=both
is "of which each changes" "$(show "$waits,$array" %k | xargs)" "both both"
says "by their name" 0 "" "" scontrol update JobName=new Comment=named
is "only that" "$(show "$waits" %k) $(show "$array" %k)" "named both"
says "one that runs" 0 "" "" scontrol update JobId="$runs" TimeLimit=9 Name=x Comment=c MailType=END MailUser=me
is "changes, too" "$(show "$runs" '%l %j %k')" "9:00 x c"
says "but not its nodes" 1 "" "Job is no longer pending execution for job $runs" \
	scontrol update JobId="$runs" NumNodes=2
says "what Slurm lacks" 1 "" "Update of this parameter is not supported: Bogus=1
Request aborted" scontrol update JobId="$waits" Bogus=1
says "what we lack" 1 "" "Update of this parameter is not supported: Contiguous=yes
Request aborted" scontrol update JobId="$waits" Comment=no Contiguous=yes
is "changes nothing" "$(show "$waits" %k)" named
says "no such job" 1 "" "Invalid job id specified for job 99999999" scontrol update JobId=99999999 Comment=1
says "no change" 1 "" "No changes specified" scontrol update JobId="$waits"
says "nobody named" 1 "" "No valid entity in update command
Input line must include \"NodeName\", \"PartitionName\", \"Reservation\", \"JobId\", or \"SlurmctldDebug\"" \
	scontrol update Comment=x
says "a job after a blank" 0 "" "" scontrol update job "$waits" Requeue=0
is "is not run again" "$(show "$waits" %i) $(squeue -h -j "$waits" -O requeue: )" "$waits 0"
says "or is" 0 "" "" scontrol update job="$waits" Requeue=1
is "run again" "$(squeue -h -j "$waits" -O requeue:)" 1
says "nothing" 1 "" "too few arguments for update keyword" scontrol update
fails "a partition" 1 "is not supported" scontrol update PartitionName=main State=down

# --- messages for mistakes --------------------------------------------------------

over=$(sbatch --parsable -H -o /dev/null --wrap true)
scancel "$over"
says "one that has ended" 1 "" "Job has already finished for job $over" \
	scontrol update JobId="$over" Comment=x
says "is not held" 1 "" "Job has already finished for job $over
slurm_suspend error: Job has already finished" scontrol hold "$over"
says "what is no id is not held" 1 "" "Invalid job id specified for job abc
slurm_suspend error: Invalid job id specified" scontrol hold abc
says "what waits is not suspended" 1 "" \
	"Job is pending execution for job $waits" scontrol suspend "$waits"
says "nor resumed" 1 "" "Job is pending execution for job $waits" scontrol resume "$waits"
says "nothing ends slowly" 0 "" "" scontrol completing
says "wait_job" 1 "" "too few arguments for keyword:wait_job" scontrol wait_job
says "of one that waits" 1 "" "scontrol: Job $waits no longer running" scontrol wait_job "$waits"
says "of no job" 1 "" "scontrol: Problem running job 99999999" scontrol wait_job 99999999
says "its own cluster" 0 "Slurmctld(primary) at $node is UP" "" scontrol -M test ping
says "another cluster" 1 "" "scontrol: error: No cluster 'other' known by database.
scontrol: error: 'other' can't be reached now, or it is an invalid entry for --cluster.  Use 'sacctmgr list clusters' to see available clusters." \
	scontrol -M other show job
says "a task that an array lacks" 1 "Job ${array}_99 not found" "" scontrol show job "${array}_99"
is "a task that waits" "$(scontrol show job "${array}_2" | head -n 1)" \
	"JobId=$array ArrayJobId=$array ArrayTaskId=2 ArrayTaskThrottle=2 JobName=wrap"
is "the array" "$(scontrol show job "$array" | grep -o 'ArrayTaskId=[^ ]*')" ArrayTaskId=0-3%2
says "no id" 1 "" "scontrol_print_job error: Invalid job id specified" scontrol show job abc
is "what a job has on its nodes" \
	"$(scontrol show job -d "$runs" | grep -E 'Derived|JOB_GRES|CPU_IDs' | sed 's/Mem=[1-9][0-9]*/Mem=M/')" \
	"   DerivedExitCode=0:0
   JOB_GRES=(null)
     Nodes=$node CPU_IDs= Mem=M GRES="
says "jobs are held by their name" 0 "" "" scontrol hold jobname=new
is "as by their id" "$(show "$waits" %r | sed 's/Admin\|User//')" JobHeld
says "and released" 0 "" "" scontrol release name=new
says "none has it" 0 "" "" scontrol hold name=nope
says "too much" 1 "" "too many arguments for keyword:show" scontrol show hostnames "a[1-2]" x
says "what has ended is not suspended" 1 "" \
	"Job/step already completing or completed for job $over" scontrol suspend "$over"
like "it counts since it may start" "$(scontrol show job "$runs")" "^   AccrueTime=20"
says "one that runs is held" 0 "" "" scontrol hold "$runs"
says "and released" 0 "" "" scontrol release "$runs"
is "ended jobs are shown for a while" "$(scontrol -o show job | grep -c "^JobId=$over ")" 1
like "held ones have no priority" "$(scontrol show job "$array")" "^   Priority=0 "

says "no job" 1 "" "too few arguments for keyword:hold" scontrol hold
says "nothing to make" 1 "" "too few arguments for create keyword" scontrol create
says "an argument of ping" 1 "" "too many arguments for keyword:ping" scontrol ping x
says "words may be shortened" 0 "a1
a2" "" scontrol sho hostn "a[1-2]"
says "to as many letters as in Slurm" 1 "" "invalid keyword: hol" scontrol hol "$waits"
says "and what is shown" 1 "" "invalid entity:p for keyword:show " scontrol show p
says "in any case" 0 "" "" scontrol HOLD "$waits"
says "and released" 0 "" "" scontrol rel "$waits"

# --- uhold: the user may release the job ------------------------------------------

if is_root; then
	hers=$(as_user nobody aisub --parsable -b now+1hour -o /dev/null --wrap true)
	scontrol hold "$hers"
	is "a job held by an operator" "$(show "$hers" %r)" JobHeldAdmin
	says "is not its user's to release" 1 "" "Access/permission denied for job $hers" \
		as_user nobody scontrol release "$hers"
	says "uhold by its user changes nothing" 0 "" "" as_user nobody scontrol uhold "$hers"
	is "it is held as before" "$(show "$hers" %r)" JobHeldAdmin
	says "uhold by an operator" 0 "" "" scontrol uhold "$hers"
	is "lets its user" "$(show "$hers" %r)" JobHeldUser
	like "who did it is told" "$(aiq "$hers")" "\($me\); .aictl release"
	says "release it" 0 "" "" as_user nobody scontrol release "$hers"
	is "it waits for its time again" "$(show "$hers" %r)" BeginTime
	scontrol uhold "$hers"
	scontrol hold "$hers"
	is "a later hold takes that back" "$(show "$hers" %r)" JobHeldAdmin
	aicancel "$hers"
else
	skip "uhold of another's job" "takes root, to be others"
fi
says "uhold of no job" 1 "" "Invalid job id specified for job 99999999
slurm_suspend error: Invalid job id specified" scontrol uhold 99999999

# --- requeuehold, notify ---------------------------------------------------------

says "requeuehold of one that waits" 1 "" "Job is pending execution for job $waits" \
	scontrol requeuehold "$waits"
says "of one that runs" 0 "" "" scontrol requeuehold "$runs"
ok "it is held then" wait_for "[ \"\$(show $runs '%t %r')\" = 'PD JobHeldAdmin' ] ||
	[ \"\$(show $runs '%t %r')\" = 'PD JobHeldUser' ]"
like "who did it is told" "$(aiq "$runs")" "\($me\); .aictl release $runs. lets it go on"
says "released" 0 "" "" scontrol release "$runs"
wait_for is_state "$runs" RUNNING
ok "with aictl" aictl requeue --hold "$runs"
ok "it is held as well" wait_for "show $runs '%t %r' | grep -q '^PD JobHeld'"
is "the trail has both" "$(aictl audit --job "$runs" --act requeuehold | grep -c requeuehold)" 2
done_job=$(sbatch --parsable -o /dev/null --wrap true)
becomes "a job that has ended" "$done_job" COMPLETED
says "waits again, held" 0 "" "" scontrol requeuehold "$done_job"
like "and stays so" "$(show "$done_job" '%t %r')" "^PD JobHeld"
says "no such job to requeue" 1 "" "Invalid job id specified for job 99999999" scontrol requeuehold 99999999
says "notify" 1 "" "scontrol: error: notify is not supported: nothing writes into the output of jobs but their own processes" \
	scontrol notify "$waits" hello
aictl release "$runs"
wait_for is_state "$runs" RUNNING
open_gate go
becomes "the first one ends" "$runs" COMPLETED

# --- steps -----------------------------------------------------------------------

says "no steps" 0 "No job steps in the system" "" scontrol show steps
job=$(sbatch --parsable -n2 --mem=100M -o /dev/null --wrap "srun -n2 sh -c '[ \$SLURM_PROCID = 1 ] || $(at_gate steps)'")
ok "a step" wait_for "[ \"\$(squeue -h -s -o %i | grep -c '^$job\.0')\" = 1 ]"
run scontrol show step "$job.0"
is "as Slurm shows it" "$rc $(echo "$out" | sed 's/StartTime=[^ ]*/StartTime=T/')" \
	"0 StepId=$job.0 UserId=$(id -u) StartTime=T TimeLimit=UNLIMITED
   State=RUNNING Partition=main NodeList=$node
   Nodes=1 CPUs=2 Tasks=2 Name=sh Network=(null)
   TRES=cpu=2,mem=100M,node=1
   ResvPorts=(null)
   CPUFreqReq=Default
   SrunHost:Pid=(null):0"
is "the script is one, too" "$(scontrol show steps "$job" | grep -o '^StepId=[^ ]*' | xargs)" \
	"StepId=$job.batch StepId=$job.0"
is "a line each" "$(scontrol -o show step | wc -l)" 2
says "no such step" 1 "Job step $job.7 not found" "" scontrol show step "$job.7"
says "of no job" 1 "" "slurm_get_job_steps error: Invalid job id specified" scontrol show step 99999999
open_gate steps
becomes "that job ends" "$job" COMPLETED

# --- reservations and nodes ------------------------------------------------------

says "no reservation" 0 "No reservations in the system" "" scontrol show reservation
says "nor for sinfo" 0 "No reservations in the system" "" sinfo -T
says "none of that name" 1 "Reservation nope not found" "" scontrol show reservation nope
fails "to make one without an end" 1 "needs EndTime or Duration" \
	scontrol create reservation ReservationName=r1 Users="$me" Nodes="$node"
says "a reservation" 0 "Reservation created: r1" "" scontrol create reservation ReservationName=r1 \
	StartTime=now+1day Duration=60 Users="$me" Nodes="$node"
is "is shown" "$(scontrol show reservation r1 | sed -E 's/(Start|End)Time=[^ ]*/\1Time=T/g')" \
	"ReservationName=r1 StartTime=T EndTime=T Duration=01:00:00
   Nodes=$node NodeCnt=1 CoreCnt=4 Features=(null) PartitionName=(null) Flags=SPEC_NODES
   TRES=cpu=4
   Users=$me Groups=(null) Accounts=(null) Licenses=(null) State=INACTIVE BurstBuffer=(null) Watts=n/a
   MaxStartDelay=(null)"
is "on one line" "$(scontrol -o show reservation | wc -l)" 1
is "and by sinfo" "$(sinfo -T | sed -E 's/[0-9-]+T[0-9:]+/                  T/g')" \
	"RESV_NAME     STATE           START_TIME             END_TIME     DURATION  NODELIST
r1         INACTIVE                    T                    T     01:00:00  $node"
says "deleted" 0 "" "" scontrol delete ReservationName=r1
says "a node is drained" 0 "" "" scontrol update NodeName="$node" State=drain Reason="disk full"
like "with its reason" "$(sinfo -h -o '%t %E')" "^drain disk full"
says "and used again" 0 "" "" scontrol update NodeName="$node" State=resume
is "idle" "$(sinfo -h -p main -o %t)" idle
says "no such node" 1 "" "slurm_update error: Invalid node name specified" \
	scontrol update NodeName=zz State=drain Reason=x
says "no reservation to delete" 1 "" "delete_reservation reservation: Requested reservation is invalid" \
	scontrol delete reservation nope
says "a node without a reason" 1 "" "You must specify a reason when DOWNING or DRAINING a node. Request denied" \
	scontrol update NodeName="$node" State=drain
says "another state" 1 "" "Update of this parameter is not supported: State=down
Request aborted" scontrol update NodeName="$node" State=down
says "topology" 0 "" "scontrol: error: No topology information available" scontrol show topology
fails "accounts" 1 "accounts are queues" scontrol show assoc_mgr
done_testing

#!/bin/sh
# Slurm's small commands: sacctmgr, sbcast, sdiag, seff, sprio, sreport, sshare,
# sstat
# shellcheck disable=SC2016,SC2119 # slurm_daemon needs no options here, and tasks
# expand their own variables

# shellcheck source=tests/e2e/slurm.sh
. "$top_srcdir/tests/e2e/slurm.sh"

slurm_daemon
user=$(id -un)
id=$(sbatch --parsable -n2 --mem=300M -o /dev/null --wrap 'exit 3')
becomes "a job" "$id" FAILED

# --- seff ------------------------------------------------------------------------

run seff "$id"
is "seff" "$rc $(sed -E 's/[0-9]+:[0-9:]+/T/; s/[0-9.]+% of [0-9]+:[0-9:]+/P of T/; s/[0-9.]+% of/P of/; s/Utilized: [0-9.]+ MB/Utilized: M/' "$dir/run.out")" \
	"0 Job ID: $id
Cluster: test
User/Group: $user
State: FAILED (exit code 3)
Cores per node: 2
CPU Utilized: T
CPU Efficiency: P of T core-walltime
Job Wall-clock time: T
Memory Utilized: M
Memory Efficiency: P of 300.00 MB"
held=$(sbatch --parsable -H --wrap true)
like "of a job that waits" "$(seff "$held")" "^Efficiency not available for jobs in the PENDING state.\$"
says "of none" 1 "" "Job not found." seff 99999999
says "without a job" 1 "" "Usage: seff JOB" seff

# --- sacctmgr ---------------------------------------------------------------------

is "a user has no account" "$(sacctmgr -n -P list user "$user" format=user,account,defaultaccount)" "$user||"
is "as Slurm pads that" "$(sacctmgr -n -s list user "$user" format=account%12)" "             "
is "with a header" "$(sacctmgr -P show user "$user")" "User|Def Acct|Admin
$user||None"
is "accounts are queues" "$(sacctmgr -nP list account format=account)" "main
debug"
is "one of them" "$(sacctmgr -nP show account name=main format=account)" main
is "the cluster" "$(sacctmgr -nP show cluster format=cluster)" test
is "QOS" "$(sacctmgr -nP show qos format=name)" normal
is "associations" "$(sacctmgr -nP show assoc)" ""
says "nothing is changed" 1 "" "sacctmgr: error: add: accounts are queues of aischedd.conf; their admin changes that file, then \`aictl reload\`" \
	sacctmgr -i add account x
says "what is not there" 1 "" "sacctmgr: error: there is nothing called 'bogus' to show: accounts, associations, clusters, qos, users" \
	sacctmgr show bogus
says "a bad column" 1 "" 'sacctmgr: error: Invalid field requested: "bogus"' sacctmgr show user format=bogus

# --- sshare -----------------------------------------------------------------------

is "sshare" "$(sshare -n -P -o account,user,rawshares)" "main||1
debug||1"
like "with users" "$(sshare -a -n -P -o account,user,fairshare)" "^main\|$user\|[01]\.[0-9]+\$"
is "no user is in an account" "$(sshare -U --format Account%256 --noheader)" ""
is "its header" "$(sshare -P -A main -o account,fairshare | head -n1)" "Account|FairShare"

# --- sprio ------------------------------------------------------------------------

# The only pending job is held.
is "no waiting job" "$(sprio)" \
	"          JOBID PARTITION   PRIORITY       SITE        AGE  FAIRSHARE    JOBSIZE"
aicancel "$held"
gate sprio
big=$(sbatch --parsable -n4 -o /dev/null --wrap "$(at_gate sprio)")
wait_for is_state "$big" RUNNING
low=$(sbatch --parsable -n4 --nice=7 -o /dev/null --wrap true)
high=$(sbatch --parsable -p debug -t 10 -n4 -o /dev/null --wrap true)
aictl top "$high"
is "jobs that wait" "$(sprio -h -o '%i|%r|%u|%N|%B|%P|%Q|%T')" "$low|main|$user|7|0|0|0|
$high|debug|$user|0|0|0|0|"
is "points add up" "$(sprio -h -o '%Y %S %A %F %J' |
	awk '{ d = $1 - $2 - $3 - $4 - $5; if (d < -2 || d > 2) print }')" ""
# Whether sprio and aiq show the same points; they change with the job's age, so
# try again if they differ.
as_in_aiq()
{
	[ "$(sprio -h -j"$low" -o %Y)" = "$(aiq --json "$low" |
		jq '.jobs[0].score.total | round')" ]
}
ok "those of aiq" wait_for as_in_aiq
is "a job behind -j" "$(sprio -h -o %i -j "$low")" "$low"
says "one word only" 1 "" "sprio: error: Unrecognized option: $high" sprio -j "$low" "$high"
is "the highest first" "$(sprio -h -S -Y -o %i | xargs)" "$high $low"
is "long columns" "$(sprio -l | head -n1)" \
	"          JOBID PARTITION     USER   PRIORITY       SITE        AGE      ASSOC  FAIRSHARE    JOBSIZE  PARTITION        QOS        NICE                 TRES"
is "of a queue" "$(sprio -h -p debug -o %i)" "$high"
is "with -u there are users" "$(sprio -u "$user" | awk 'NR == 1 { print $3 }')" USER
is "a variable" "$(SPRIO_FORMAT=%i sprio -h -j"$low")" "$low"
says "none" 0 "Unable to find jobs matching user/id(s) specified" "" sprio -j99999999
says "no job at all" 1 "" "sprio: error: Invalid job id: x" sprio -jx
says "weights" 1 "" "sprio: error: --weights is not supported: the weights are in aischedd.conf" sprio -w

# --- sdiag ------------------------------------------------------------------------

run sdiag
is "sdiag" "$rc $(echo "$out" | sed -E 's/[A-Z][a-z]{2} [A-Z][a-z]{2} .*\)/T/; s/^(Server.*: +|	.*: +)[0-9]+/\1N/')" \
	"0 *******************************************************
sdiag output at T
Data since      T
*******************************************************
Server thread count:  N
Agent queue size:     0
Agent count:          0
Agent thread count:   0
DBD Agent queue size: 0

Jobs submitted: 5
Jobs started:   2
Jobs completed: 1
Jobs canceled:  1
Jobs failed:    0

Job states ts:  T
Jobs pending:   2
Jobs running:   1

Main schedule statistics (microseconds):
	Last cycle:   N
	Max cycle:    N
	Total cycles: N
	Mean cycle:   N
	Last queue length: N

Backfilling stats
	Last cycle:   N
	Max cycle:    N
	Total cycles: N
	Mean cycle:   N
	Last queue length: N" || diag "$out"
says "it cannot be reset" 1 "" "sdiag: error: --reset is not supported: counts begin with the daemon" sdiag -r

# --- sbcast -----------------------------------------------------------------------

echo one >"$dir/source"
chmod 754 "$dir/source"
touch -d 2020-01-01 "$dir/source"
says "sbcast" 0 "" "" sbcast -j "$big" "$dir/source" "$dir/copy"
is "the file" "$(cat "$dir/copy") $(stat -c %a "$dir/copy")" "one 754"
says "a file that is there" 17 "" "sbcast: error: REQUEST_FILE_BCAST($(uname -n)): File exists" \
	sbcast -j "$big" "$dir/source" "$dir/copy"
echo two >"$dir/source"
is "and stays" "$(cat "$dir/copy")" one
says "is replaced with -f" 0 "" "" env SLURM_JOB_ID="$big" sbcast -f "$dir/source" "$dir/copy"
is "by the new one" "$(cat "$dir/copy")" two
mkdir "$dir/folder"
touch -d 2020-01-01 "$dir/source"
says "into a folder, with its time" 0 "" "" sbcast -p -j "$big.0" "$dir/source" "$dir/folder"
is "under its name" "$(stat -c %Y "$dir/folder/source")" "$(date -d 2020-01-01 +%s)"
says "a folder that is not there" 2 "" "sbcast: error: REQUEST_FILE_BCAST($(uname -n)): No such file or directory" \
	sbcast -j "$big" "$dir/source" "$dir/none/copy"
is "nothing else is left" "$(cd "$dir" && echo copy* folder/*)" "copy folder/source"
says "no source" 255 "" "sbcast: error: Can't open \`/no/such\`: No such file or directory" \
	sbcast -j "$big" /no/such "$dir/x"
says "a folder as source" 255 "" "sbcast: error: Can't mmap file \`$dir/folder\`, No such device." \
	sbcast -j "$big" "$dir/folder" "$dir/x"
says "a job that waits" 255 "" "sbcast: error: Slurm job $low lookup error: Job is pending execution" \
	sbcast -j "$low" "$dir/source" "$dir/x"
says "no such job" 255 "" "sbcast: error: Slurm job 99999999 lookup error: Invalid job id specified" \
	sbcast -j 99999999 "$dir/source" "$dir/x"
says "no job" 1 "" "sbcast: error: Need a job id to run this command.  Run from within a Slurm job or use the --jobid option." \
	sbcast "$dir/source" "$dir/x"
says "one name" 1 "" "Need two file names, have 1 names
Try \"sbcast --help\" for more information" sbcast "$dir/source"
open_gate sprio
becomes "they run" "$low" COMPLETED

# --- sstat ------------------------------------------------------------------------

gate sstat0 sstat1
id=$(sbatch --parsable -n2 -o /dev/null --wrap \
	"srun -n2 sh -c '$(at_gate 'sstat$SLURM_PROCID'); true'")
ok "a step runs" wait_for "sstat -n -P -j $id -o Pids | grep -q ,"
is "what it is" "$(sstat -n -P -j "$id" -o JobID,NTasks,MaxRSSNode,AveCPUFreq)" "$id.0|2|$(uname -n)|"
like "what it uses" "$(sstat -n -P -j "$id.0" -o MaxRSS,AveRSS,MaxVMSize,AveVMSize,AveCPU)" \
	"^[1-9][0-9]*K\|[1-9][0-9]*K\|[1-9][0-9]*K\|[1-9][0-9]*K\|00:00:00\$"
# shellcheck disable=SC2046 # numbers are wanted
ok "by these processes" kill -0 $(sstat -n -P -j "$id.0" -o Pids | tr , ' ')
is "with its script" "$(sstat -a -n -P -j "$id" -o JobID,NTasks)" "$id.batch|1
$id.0|2"
is "the script alone" "$(sstat -p -j "$id.batch" -o JobID,NTasks)" "JobID|NTasks|
$id.batch|1|"
is "the columns of -i" "$(sstat -i -n -P -j "$id" | cut -d'|' -f1,2)" "$id.0|$(uname -n)"
says "no such step" 0 "JobID            MaxRSS 
------------ ---------- " "sstat: error: StepId=$id.7 not found running." sstat -j "$id.7" -o JobID,MaxRSS
open_gate sstat0
open_gate sstat1
becomes "it ends" "$id" COMPLETED
says "no step runs then" 0 "JobID|NTasks" "sstat: error: No steps running for job $id" \
	sstat -j "$id" -P -o JobID,NTasks
says "no such job" 0 "" "sstat: error: couldn't get steps for job 99999999" sstat -n -j 99999999
says "no job" 1 "" "sstat: error: You didn't give me any jobs to stat." sstat
says "a bad job" 1 "" "sstat: fatal: Bad job/step specified: x" sstat -j x
says "a bad column of it" 1 "" 'sstat: error: Invalid field requested: "bogus"' sstat -j 1 -o bogus
is "all columns" "$(sstat -e | xargs -n1 | wc -l)" 51
is "the usual ones" "$(sstat -j "$id" 2>/dev/null | head -n1 | cut -c1-70)" \
	"JobID         MaxVMSize  MaxVMSizeNode  MaxVMSizeTask  AveVMSize     M"

# --- sreport ----------------------------------------------------------------------

day="$(date +%Y-%m-%d)"
id=$(sbatch --parsable -A sci -n2 -o /dev/null --wrap true)
becomes "a job of an account" "$id" COMPLETED
# Print sums in seconds, because the jobs of this test run for only a few.
sreport -n -P -t Seconds cluster AccountUtilizationByUser start="$day" end=now+1hour \
	format=Cluster,Account,Login,Used >"$dir/report"
is "accounts and their users" "$(cut -d'|' -f1-3 "$dir/report")" "test|root|
test|(null)|
test|(null)|$user
test|sci|
test|sci|$user"
is "sums" "$(awk -F'|' '{ n[$2 "," ($3 != "")] = $4 }
	END { d = n["root,0"] - n["(null),0"] - n["sci,0"]
		print (n["sci,0"] == n["sci,1"]), (n["(null),0"] == n["(null),1"]), (d * d < 4) }' \
	"$dir/report")" "1 1 1" || diag "$(cat "$dir/report")"
is "users, the most first" "$(sreport -nP user top topcount=1 start="$day" end=now+1hour \
	format=login,acc)" "$user|(null)"
is "of an account" "$(sreport -nP cluster user account=sci start="$day" end=now+1hour \
	format=log,account)" "$user|sci"
is "resources" "$(sreport -nP -T cpu,gres/gpu cluster userutil account=sci start="$day" end=now+1hour \
	format=tresname,used -t hours)" "cpu|0
gres/gpu|0"
says "an empty day, with its title" 0 \
	"--------------------------------------------------------------------------------
Cluster/Account/User Utilization 2020-11-22T00:00:00 - 2020-11-22T23:59:59 (86400 secs)
Usage reported in CPU Minutes
--------------------------------------------------------------------------------
  Cluster         Account     Login     Proper Name     Used   Energy 
--------- --------------- --------- --------------- -------- -------- " "" \
	sreport cluster AccountUtilizationByUser start=2020-11-22 end=2020-11-23
says "of users, in hours" 0 \
	"--------------------------------------------------------------------------------
Top 10 Users 2020-11-22T00:00:00 - 2020-11-22T23:59:59 (86400 secs)
Usage reported in TRES Hours
--------------------------------------------------------------------------------
Cluster|Login|Proper Name|Account|TRES Name|Used|" "" \
	sreport -p -T cpu user top -t hours start=2020-11-22 end=2020-11-23
says "what is not recorded" 1 "" "sreport: error: cluster Utilization is not supported: what it tells is not recorded" \
	sreport cluster utilization
says "percentages" 1 "" "sreport: error: time format MinPer is not supported: what the cluster could have given is not recorded" \
	sreport -t MinPer user top
says "no such kind" 1 "" "invalid keyword: bogus" sreport bogus x
says "a kind alone" 1 "" "too few arguments for keyword:cluster" sreport cluster
says "no such condition" 1 "" " Unknown condition: bogus=1
Use keyword set to modify value" sreport cluster account bogus=1
says "no such column" 1 "" " Unknown field 'bogus'" sreport user top format=bogus
says "a bad time" 1 "" "Invalid time specification (pos=0): x" sreport user top start=x
says "no such resource" 1 "" "sreport: fatal: No valid TRES given" sreport -T bogus user top
says "no such unit" 1 "" "unknown time format bogus" sreport -t bogus user top
done_testing

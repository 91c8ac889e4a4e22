#!/bin/sh
# Which resources jobs may request, what they get, and why they wait.
# shellcheck disable=SC2016,SC2119 # jobs expand their own variables
# shellcheck disable=SC3045 # dash, bash and others have ulimit -S and -H

. "$top_srcdir/tests/e2e/jobs.sh"

node=$(uname -n)

# --- CPUs, memory, GPUs ----------------------------------------------------

stop_daemon
configure "
queue default { grace = \"1s\" }
pool here { runner = local }
node \"$node\" { pool = here  memory = \"4G\"  gpus = 2  gpu_type = \"h100\"
	tmp = \"100G\" }"
start_daemon
cpus=$(aiq --nodes -h -o cpus)
gate a b c
first=$(submit --mem 100M --wrap "grep Cpus_allowed_list /proc/self/status; $(at_gate a)")
wait_for has_line "slurm-$first.out" Cpus_allowed
# Before a job has run, the daemon may still wait for the processes of the one
# before it, and takes any request.
fails "more CPUs than any node has" 1 \
	"needs 9999 CPUs on one node; the largest that it may use has $cpus ($node)" \
	aisub -c 9999 --wrap true
if [ "$cpus" -ge 2 ]; then
	second=$(submit --mem 100M --wrap "grep Cpus_allowed_list /proc/self/status; $(at_gate b)")
	wait_for has_line "slurm-$second.out" Cpus_allowed
	like "a job has the CPU that it asked for" "$(cat "slurm-$first.out")" \
		'^Cpus_allowed_list:.[0-9]+$'
	ok "another job has another" \
		[ "$(cat "slurm-$first.out")" != "$(cat "slurm-$second.out")" ]
	open_gate b
	wait_for is_state "$second" COMPLETED
else
	skip "two jobs have two CPUs" "there is one CPU"
fi
open_gate a
wait_for is_state "$first" COMPLETED
first=$(submit -c 0.5 --mem 100M --wrap "grep Cpus_allowed_list /proc/self/status; $(at_gate a)")
second=$(submit -c 0.5 --mem 100M --wrap "grep Cpus_allowed_list /proc/self/status; $(at_gate b)")
wait_for has_line "slurm-$second.out" Cpus_allowed
wait_for has_line "slurm-$first.out" Cpus_allowed
is "two halves of a CPU are on one" "$(cat "slurm-$second.out")" \
	"$(cat "slurm-$first.out")"
open_gate a
open_gate b

id=$(submit --gpus-per-task 2 --wrap 'echo $CUDA_VISIBLE_DEVICES')
becomes "a job with GPUs" "$id" COMPLETED
is "knows which" "$(cat "slurm-$id.out")" 0,1
first=$(submit -c 0.1 --mem 10M --gpus-per-task 0.5 --wrap "echo \$CUDA_VISIBLE_DEVICES; $(at_gate a)")
second=$(submit -c 0.1 --mem 10M --gpus-per-task 0.5 --wrap "echo \$CUDA_VISIBLE_DEVICES; $(at_gate b)")
third=$(submit -c 0.1 --mem 10M --gpus-per-task 1 --gpu-type h100 --wrap "echo \$CUDA_VISIBLE_DEVICES; $(at_gate c)")
for id in $first $second $third; do
	wait_for [ -s "slurm-$id.out" ]
done
is "two halves share one, a whole one is apart" \
	"$(cat "slurm-$first.out" "slurm-$second.out" | sort -u | wc -l) $(sort -u "slurm-$first.out" "slurm-$third.out" | wc -l)" \
	"1 2"
is "aiq shows what is free" "$(aiq --nodes -h -o gpus,gpus_free | tr -s ' ')" "2 0"
fails "GPUs of another type" 1 "a GPU of type 'a100'" \
	aisub --gpus-per-task 1 --gpu-type a100 --wrap true
open_gate a
open_gate b
open_gate c
wait_for is_state "$third" COMPLETED

id=$(submit --mem 64M --wrap 'cat /dev/zero | tail -c 300M')
becomes "too much memory" "$id" OUT_OF_MEMORY
is "its reason" "$(field "$id" reason)" OutOfMemory
fails "more memory than any node has" 1 "needs 5G of memory on one node; the largest that it may use has 4G ($node)" \
	aisub --mem 5G --wrap true
fails "more tasks than fit" 1 "has 5 tasks" \
	aisub -n 5 --mem-per-task 1G -c 0.1 --wrap true

id=$(submit --tmp 2M --wrap 'head -c 8M /dev/zero >$TMPDIR/x; exec sleep 1000')
becomes "too much disk" "$id" FAILED
is "its reason" "$(field "$id" reason)" OutOfDisk
like "it is told how to get more" "$(cat "slurm-$id.out")" \
	"OUT OF DISK: it may store 2M .*--tmp"
fails "more disk than any node has" 1 "needs 101G of disk on one node; the largest that it may use has 100G ($node)" \
	aisub --tmp 101G --wrap true
first=$(sleeper -c 0.1 --mem 10M --tmp 60G)
wait_for is_state "$first" RUNNING
is "aiq shows the disk that is free" \
	"$(aiq --nodes -h -o tmp_mib,tmp_free_mib | tr -s ' ')" "100G 40G"
like "and what a job asks for" "$(aiq "$first")" "disk +60G on each node"
id=$(submit -c 0.1 --mem 10M --tmp 50G --wrap true)
waits "another waits for disk" "$id" Resources "needs 50G of disk on one node; $node has the most free, 40G of 100G"
aicancel "$first"
becomes "until it is free" "$id" COMPLETED

# --- gangs -----------------------------------------------------------------

stop_daemon
configure
start_daemon
filler=$(sleeper -c 2 --mem 100M)
wait_for is_state "$filler" RUNNING
id=$(submit -n 3 --mem-per-task 10M -o 'gang.%t' --wrap 'echo $AISCHED_PROCID')
waits "a gang waits as a whole" "$id" GangPartial "2 of its 3 tasks would fit; the next needs 1 CPU on one node; $node has the most free, 0 of 4"
is "no task of it runs" "$(field "$id" running_tasks)" 0
aicancel "$filler"
becomes "and runs as a whole" "$id" COMPLETED
is "all of it" "$(cat gang.0 gang.1 gang.2 | tr '\n' ' ')" "0 1 2 "
id=$(submit -n 2 --mem-per-task 10M --wrap '[ $AISCHED_PROCID = 0 ] && exec sleep 1000; exit 9')
becomes "one task that fails ends them all" "$id" FAILED
is "with its status" "$(field "$id" exit_code)" 9

id=$(sleeper --exclusive --mem 10M -c 0.1)
wait_for is_state "$id" RUNNING
other=$(submit --mem 10M -c 0.1 --wrap true)
waits "nobody else where a job is alone" "$other" Resources ""
aicancel "$id"
becomes "until it ends" "$other" COMPLETED

# --- time ------------------------------------------------------------------

# The job prints "up" when it can handle SIGTERM, however long that takes.
id=$(submit -t 10m --grace 60s --wrap 'trap "echo term; exit 0" TERM; echo up; while :; do sleep 0.05; done')
wait_for has_line "slurm-$id.out" up
aictl update "$id" time=1s
becomes "a time limit" "$id" TIMEOUT
is "after a SIGTERM" "$(grep -c '^term$' "slurm-$id.out")" 1
is "its reason, whatever its exit status" "$(field "$id" reason) $(field "$id" exit_code)" \
	"TimeLimit 0"
id=$(submit -t 30m --signal B:USR1@600 --wrap 'trap "echo usr1; exit 5" USR1; echo up; while :; do sleep 0.05; done')
wait_for has_line "slurm-$id.out" up
aictl update "$id" time=10m
becomes "a signal before it" "$id" FAILED
is "it was taken" "$(field "$id" exit_code)" 5
id=$(submit --begin now+1h --wrap true)
is "a begin time" "$(field "$id" reason)" BeginTime
like "in words" "$(field "$id" reason_text)" "may begin in (1:00:00|59:..)"
aictl update "$id" begin=now+2
becomes "comes" "$id" COMPLETED
id=$(submit -H --deadline now+1h --wrap true)
# The deadline in an update must be in the future, so try again on a slow
# machine.
wait_for aictl update "$id" deadline=now+1
becomes "a deadline" "$id" DEADLINE
is "its reason" "$(field "$id" reason)" DeadLine
fails "a deadline that cannot be met" 1 "deadline" \
	aisub -t 1h --deadline now+1m --wrap true

# --- queues ----------------------------------------------------------------

stop_daemon
configure "
max_jobs = 12
default_queue = \"open\"
licenses { matlab = 2 }
pool here { runner = local }
pool other { }
node \"$node\" { pool = here  cpus = 4  memory = \"4G\" features = {\"fast\"} }
queue open { }
queue one { max_jobs = 1 }
queue mine { max_jobs_per_user = 1 }
queue small { limit { cpus = 2 } }
queue short { max_time = \"10m\" default_time = \"5m\"  class = interactive }
queue few { max_submit = 2 }
queue fewer { max_submit_per_user = 1 }
queue shut { state = closed }
queue private { users = {\"daemon\"} }
queue elsewhere { pools = {\"other\"} }
queue top { }
queue below { parent = \"top\" }"
start_daemon

filler=$(sleeper -c 3 --mem 100M)
wait_for is_state "$filler" RUNNING
id=$(submit -c 2 -t 1h --mem 100M --wrap true)
waits "Resources: what is short, where, and whose end it waits for" "$id" \
	Resources "needs 2 CPUs on one node; $node has the most free, 1 of 4; waits for job $filler to end"
is "its start is not known" "$(field "$id" expected_start)" -
aicancel --wait "$id" "$filler"
filler=$(sleeper -c 3 -t 1h --mem 100M)
wait_for is_state "$filler" RUNNING
id=$(submit -c 4 -t 1h --mem 100M --wrap true)
wait_for has_reason "$id" Resources
like "its start, when all have limits" "$(aiq --json "$id")" '"expected_start":1[0-9]{9}'
late=$(submit -c 1 --mem 100M -t 2h --wrap true)
waits "Priority: whom it would delay" "$late" Priority ".*job $id"
aicancel --wait --all

first=$(sleeper -q one --mem 100M -c 0.1)
wait_for is_state "$first" RUNNING
id=$(submit -q one --mem 100M -c 0.1 --wrap true)
waits "QueueMaxJobs" "$id" QueueMaxJobs ".*'one'.* 1 "
first=$(sleeper -q mine --mem 100M -c 0.1)
wait_for is_state "$first" RUNNING
id=$(submit -q mine --mem 100M -c 0.1 --wrap true)
waits "UserLimit" "$id" UserLimit ".*'mine'"
first=$(sleeper -q small --mem 100M)
wait_for is_state "$first" RUNNING
id=$(submit -q small -c 2 --mem 100M --wrap true)
waits "QueueLimit" "$id" QueueLimit "needs 2 CPUs; queue 'small' uses 1 of at most 2"
fails "more than the queue may ever have" 1 \
	"needs 3 CPUs in all; queue 'small' never allows more than 2" \
	aisub -q small -c 3 --wrap true
first=$(sleeper -L matlab:2 --mem 100M -c 0.1)
wait_for is_state "$first" RUNNING
id=$(submit -L matlab --mem 100M -c 0.1 --wrap true)
waits "Licenses" "$id" Licenses ".*matlab"
fails "no such licence" 1 "there is no licence 'ansys'" \
	aisub -L ansys --wrap true
aicancel --wait --all

id=$(submit -H -q short --wrap true)
is "the queue's own limit" "$(field "$id" time_limit)" 300
fails "more than it allows" 1 "queue 'short' allows a time limit of at most 10:00" \
	aisub -q short -t 11 --wrap true
fails "no limit at all" 1 "queue 'short' allows" \
	aisub -q short -t UNLIMITED --wrap true
submit -H -q few -a 0-1 --wrap true >/dev/null
fails "no more jobs in the queue" 1 "queue 'few' holds 2 of at most 2 jobs" \
	aisub -q few --wrap true
submit -H -q fewer --wrap true >/dev/null
fails "no more jobs of this user" 1 "of at most 1 job in queue 'fewer'" \
	aisub -q fewer --wrap true
fails "no more jobs at all" 1 "of at most 12 jobs (max_jobs)" \
	aisub -H -a 0-11 --wrap true
fails "a closed queue" 1 "queue 'shut' is closed" aisub -q shut --wrap true
fails "a queue of others" 1 "user '$(id -un)' may not use queue 'private'" \
	aisub -q private --wrap true
fails "no such queue" 1 "there is no queue 'nothing'" \
	aisub -q nothing --wrap true
fails "a queue that has queues" 1 "queue 'top' has queues below it" \
	aisub -q top --wrap true
fails "another pool" 1 "queue 'elsewhere' may not use pool 'here'" \
	aisub -q elsewhere --pool here --wrap true
fails "no such pool" 1 "there is no pool 'x'" aisub --pool x --wrap true
fails "no such class" 1 "there is no class 'x'" aisub --class x --wrap true
fails "no such node" 1 "there is no node 'n7'" aisub -w n7 --wrap true
fails "no such feature" 1 "features" aisub -C slow --wrap true
id=$(submit -C fast -w "$node" --wrap true)
becomes "a feature, a node" "$id" COMPLETED
aicancel --all
id=$(submit -H --wrap true)
high=$(submit -H --class interactive --wrap true)
nice=$(submit -H --nice=10 --wrap true)
quick=$(submit -q short -H --wrap true)
is "classes" "$(field "$id" class) $(field "$high" class) $(field "$quick" class)" \
	"train interactive interactive"
aicancel "$quick"
is "history knows them" "$(field "$quick" class)" interactive
is "priorities" "$(field "$id" priority) $(field "$high" priority) $(field "$nice" priority)" \
	"50 100 40"

# --- limits of the submitter -----------------------------------------------

# [LIST]: starts a daemon whose soft limit of open files is 300 and whose hard
# limit is 700
start_limited()
{
	configure "$default_config
${1+propagate_limits = $1}"
	start_daemon
}

# Prints the soft and the hard limit of open files in a job submitted with the
# limits 200 and 100000.
files_of_job()
{
	id=$(ulimit -S -n 200 && submit --wrap 'ulimit -S -n; ulimit -H -n')
	wait_for is_state "$id" COMPLETED
	tr '\n' ' ' <"slurm-$id.out"
}

cat >limited <<END
#!/bin/sh
ulimit -S -n 300
ulimit -H -n 700
exec "$aischedd" "\$@"
END
chmod +x limited
aicancel --all
wait_for '[ -z "$(aiq -h -a)" ]'
stop_daemon
aischedd=$PWD/limited
start_limited
is "a job has no higher hard limit than the daemon" "$(files_of_job)" "200 700 "
id=$(ulimit -S -n 900 && submit --wrap 'ulimit -S -n; ulimit -H -n')
becomes "nor a soft one" "$id" COMPLETED
is "both are cut" "$(tr '\n' ' ' <"slurm-$id.out")" "700 700 "
configure "$default_config
propagate_limits = {\"core\", \"nproc\"}"
ok "which are taken is said by the configuration" aictl reload
is "others are those that the daemon began with" "$(files_of_job)" "300 700 "
configure "$default_config
propagate_limits = {\"Core\", \"NOFILE\"}"
aictl reload
is "or it" "$(files_of_job)" "200 700 "
stop_daemon
start_limited '{"NONE"}'
is "none at all" "$(files_of_job)" "300 700 "
stop_daemon
start_limited '{}'
is "nor with an empty list" "$(files_of_job)" "300 700 "
id=$(ulimit -S -n 200 && submit -H --wrap 'ulimit -S -n')
stop_daemon
start_limited
aictl release "$id"
wait_for is_state "$id" COMPLETED
is "a job keeps them over a restart" "$(cat "slurm-$id.out")" 200
if is_root; then
	id=$(cd / && as_user nobody sh -c 'ulimit -n 222; ulimit -c 0
		exec aisub --parsable -o limits --wrap "ulimit -n; ulimit -H -c; id -un"')
	wait_for is_state "$id" COMPLETED
	is "another user's are that user's" "$(tr '\n' ' ' <"$dir/home/nobody/limits")" \
		"222 0 nobody "
else
	skip "another user's are that user's" "needs root"
fi

done_testing

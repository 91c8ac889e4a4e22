#!/bin/sh
# Elastic jobs (--min-tasks): they gain tasks when more fit, and lose tasks
# before jobs are evicted.
# shellcheck disable=SC2016,SC2119 # jobs expand their own variables

. "$top_srcdir/tests/e2e/jobs.sh"

configure 'queue default { grace = "60s" }
pool here { runner = local }
node "'"$(uname -n)"'" { pool = here  cpus = 4  memory = "4G" }'
aictl reload

# Each task prints a line when it begins, and another on SIGTERM.
# The shell of a task waits for a child: a signal that comes just before a read
# would not end that.
mkfifo -m 666 "$dir/never"
cat >elastic <<END
#!/bin/sh
trap 'echo "task \$RANK leaves"; exit 0' TERM
cat <>$dir/never &
echo "task \$RANK of \$WORLD_SIZE"
while :; do wait; done
END

# JOB N: whether aiq shows N running tasks of the job
has_tasks()
{
	[ "$(field "$1" running_tasks)" = "$2" ]
}

# JOB N: whether N tasks of the job have printed that they began or, for
# has_left(), that they ended
has_begun()
{
	[ "$(grep -c ' of ' "slurm-$1.out")" -eq "$2" ]
}

has_left()
{
	[ "$(grep -c ' leaves' "slurm-$1.out")" -eq "$2" ]
}

# JOB: prints how many processes it has, found by their TMPDIR
processes()
{
	grep -alF "$dir/tmp/aisched-$1." /proc/[0-9]*/environ 2>/dev/null | wc -l
}

# --- the job grows ----------------------------------------------------------

full=$(sleeper -c 2 --class interactive)
becomes "half of the machine is taken" "$full" RUNNING
id=$(submit -n 4 --min-tasks 1 -c 1 elastic)
ok "it starts with what there is" wait_for has_tasks "$id" 2
wait_for has_begun "$id" 2
is "of which each task knows" "$(sort "slurm-$id.out")" "task 0 of 2
task 1 of 2"
like "aiq says how many run" "$(aiq "$id")" "4 tasks .at least 1., 2 running"
aicancel --wait "$full"
ok "it grows when room comes" wait_for has_tasks "$id" 4
ok "by tasks that run" wait_for has_begun "$id" 4
is "each with a rank of its own" \
	"$(sed -n 's/task \(.\) of .*/\1/p' "slurm-$id.out" | sort | tr -d '\n')" 0123
is "all of them processes of it" "$(processes "$id")" 8

# --- the job shrinks ----------------------------------------------------------

high=$(sleeper -c 1 --class interactive)
becomes "another takes room" "$high" RUNNING
ok "it gave up a task" wait_for has_tasks "$id" 3
is "the highest, which was told" "$(grep leaves "slurm-$id.out")" \
	"task 3 leaves"
is "the others went on" "$(processes "$id")" 6
is "and that was no preemption of it" "$(field "$id" preemptions)" 0
is "nor a restart" "$(field "$id" restarts)" 0

# The daemon is killed before it has heard that the tasks ended.
gate slow
cat >slow <<END
#!/bin/sh
trap 'echo "task \$RANK leaves"; cat $dir/gate.slow; exit 0' TERM
cat <>$dir/never &
echo "task \$RANK of \$WORLD_SIZE"
while :; do wait; done
END
aicancel --wait "$id" "$high"
id=$(submit -n 3 --min-tasks 2 -c 1 slow)
wait_for has_tasks "$id" 3
wait_for has_begun "$id" 3
high=$(sleeper -c 2 --class interactive)
wait_for has_left "$id" 1
kill_daemon
start_daemon
is "a new daemon knows that one leaves" "$(field "$id" running_tasks)" 2
waits "and for whom" "$high" Preempting "1 job is being evicted for it .job $id.*"
open_gate slow
becomes "it starts when that is gone" "$high" RUNNING
is "nobody else was told" "$(grep -c leaves "slurm-$id.out")" 1

# --- the job keeps its minimum ----------------------------------------------

more=$(sleeper -c 1)
waits "what it needs at least it keeps" "$more" Resources ".*"
is "its tasks still run" "$(processes "$id")" 4
aicancel --wait "$high" "$more"
ok "a rank that left comes again" wait_for has_begun "$id" 4
is "which is the same" "$(tail -n 1 "slurm-$id.out")" "task 2 of 3"

# --- failures while it shrinks or grows ----------------------------------------

# If a shepherd is killed, all its tasks die with it.
shepherd=$(grep -alF "$dir/tmp/aisched-$id." /proc/[0-9]*/environ 2>/dev/null |
	sed -n 's,^/proc/\([0-9]*\)/.*,\1,p' | head -n 1)
shepherd=$(sed -n 's/^PPid:[[:space:]]*//p' "/proc/$shepherd/status")
kill -KILL "$shepherd"
becomes "one whose shepherd is killed is lost" "$id" NODE_FAIL
ok "with all of its tasks" wait_for "[ \"\$(processes $id)\" = 0 ]"

# --- options that are refused ----------------------------------------------

fails "one process cannot grow" 2 "use --launch=tasks" \
	aisub -n 4 --min-tasks 2 --launch=script --wrap true
fails "at least more than all" 2 "is more than --tasks 4" \
	aisub -n 4 --min-tasks 5 --wrap true

done_testing

#!/bin/sh
# The tasks of a job start and end together; --on-task-failure decides what
# happens when one of them fails.
# shellcheck disable=SC2016,SC2119 # jobs expand their own variables

. "$top_srcdir/tests/e2e/jobs.sh"

# JOB FIELD VALUE: whether aiq shows that value
has()
{
	[ "$(field "$1" "$2")" = "$3" ]
}

# JOB: prints how many processes it has, found by their TMPDIR
processes()
{
	grep -alF "$dir/tmp/aisched-$1." /proc/[0-9]*/environ 2>/dev/null | wc -l
}

# --- a failure ends all tasks -------------------------------------------------

gate a b c d
id=$(submit -n 3 --wrap "[ \$RANK = 1 ] || { echo \$RANK >>'$dir/ended'; exit 0; }
	$(at_gate a); exit 4")
two_have_ended()
{
	[ "$(grep -c . "$dir/ended")" = 2 ] && [ "$(processes "$id")" -le 2 ]
}
ok "two tasks end well" wait_for two_have_ended
becomes "and end nobody" "$id" RUNNING
open_gate a
becomes "the last one decides" "$id" FAILED
is "with its exit status" "$(field "$id" exit_code)" 4
is "and aiq says which it was" "$(field "$id" reason_text)" \
	"task 1 ended with exit status 4"

id=$(submit -n 3 --wrap "[ \$RANK = 2 ] || exec sleep 1000
	$(at_gate a); kill -USR1 \$\$")
wait_for is_state "$id" RUNNING
open_gate a
becomes "one that fails ends the others" "$id" FAILED
is "and says by which signal" "$(field "$id" reason_text)" \
	"task 2 was ended by SIGUSR1"
is "nothing of them is left" "$(processes "$id")" 0

# --- a failure restarts all tasks -----------------------------------------------

id=$(submit -n 2 --on-task-failure=restart --max-restarts 1 -o again.out \
	--wrap "echo \$AISCHED_RESTART_COUNT:\$RANK
	[ \$RANK = 1 ] || exec sleep 1000; $(at_gate a); exit 6")
wait_for has_line again.out :0
open_gate a
ok "a gang that starts again waits a moment" wait_for has_line "$log" \
	"job wait job=$id attempt=1: task 1 ended with exit status 6; next try in"
becomes "and all of it starts again" "$id" RUNNING
is "which counts" "$(field "$id" restarts)" 1
kill_daemon
start_daemon
wait_for has_line again.out 1:0
open_gate a
becomes "as often as it may" "$id" FAILED
is "then it has failed" "$(field "$id" exit_code)" 6
is "each task ran in each attempt" \
	"$(grep '^.*:[01]$' again.out | LC_ALL=C sort | tr '\n' ' ')" "1:0 1:1 :0 :1 "
fails "never and again" 2 "give only one" \
	aisub --on-task-failure=restart --no-requeue --wrap true
misuse "something else" "use end, restart or replace" \
	aisub --on-task-failure=ignore --wrap true

# --- only the failed task is replaced -------------------------------------------

cat >one <<END
#!/bin/sh
#AISUB -n 3 --on-task-failure=replace -o one-%t.out
echo "pid \$\$ of \$RANK/\$WORLD_SIZE"
case \$RANK in
0) exec cat $dir/gate.b ;;
2) exec cat $dir/gate.c ;;
esac
$(at_gate a)
[ -e healed ] || exit 7
$(at_gate d)
END
id=$(submit one)
wait_for is_state "$id" RUNNING
open_gate a
ok "aiq counts tasks that were replaced" \
	wait_for has "$id" replaced_tasks 1
is "the job runs" "$(state_of "$id")" RUNNING
is "and was not started again" "$(field "$id" restarts)" 0
like "aiq says which it was" "$(aiq "$id")" \
	'replaced +1 task; task 1 ended with exit status 7 and starts again'
kill_daemon
open_gate a
wait_for "[ \"\$(grep -c pid one-1.out)\" -eq 3 ]"
start_daemon
ok "also while the daemon is away" wait_for has "$id" replaced_tasks 2
is "with the rank that it had" \
	"$(sed -n 's/^pid .* of //p' one-1.out | tr '\n' ' ')" "1/3 1/3 1/3 "
touch healed
open_gate a
open_gate d
open_gate b
open_gate c
becomes "it ends well when all do" "$id" COMPLETED
is "and what was replaced is kept" "$(field "$id" replaced_tasks)" 2
is "the others have noticed nothing" \
	"$(grep -c pid one-0.out)$(grep -c pid one-2.out)" 11

id=$(submit -n 2 --on-task-failure=replace --max-restarts 1 \
	--wrap '[ $RANK = 1 ] || exec sleep 1000; exit 8')
becomes "too many failures end all" "$id" FAILED
is "with the status of the last" "$(field "$id" exit_code)" 8
id=$(submit -n 2 --on-task-failure=replace --wrap \
	"[ \$RANK = 1 ] || exec sleep 1000; $(at_gate a); exit 9")
wait_for is_state "$id" RUNNING
open_gate a
wait_for has "$id" replaced_tasks 1
aicancel --wait "$id"
is "one that is cancelled meanwhile is cancelled" "$(state_of "$id")" CANCELLED

# --- all tasks start, or none -----------------------------------------------------

mkdir -p outs/out-2
id=$(submit -n 3 -o outs/out-%t --wrap 'echo began; exec sleep 1000')
becomes "where one cannot start none does" "$id" FAILED
is "which is its user's fault" "$(field "$id" reason)" JobLaunchFailure
is "no task ran" "$(cat outs/out-[01])" ""

# A job with more output files than the daemon may open fails at once, because
# another attempt would fail, too.
# shellcheck disable=SC3045 # every sh has it
ulimit -n 200
restart
id=$(submit -n 150 -c 0.01 --mem-per-task 1M -o many/%t -e many/e%t \
	--wrap 'echo began')
becomes "where there are too few files for all it fails" "$id" FAILED
like "and says so" "$(field "$id" reason,reason_text)" \
	"JobLaunchFailure .*Too many open files"
is "no task ran there, too" "$(cat many/* | wc -l)" 0
id2=$(submit -n 4 --wrap true)
becomes "nothing is held for it: others run" "$id2" COMPLETED

done_testing

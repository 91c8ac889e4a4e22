#!/bin/sh
# Arrays of jobs, as users see them.
# shellcheck disable=SC2016,SC2119 # jobs expand their own variables

. "$top_srcdir/tests/e2e/jobs.sh"

# ARRAY: prints "0:R 1:CD ..." for its tasks that have started
tasks()
{
	aiq --no-header -o array_task_id,state_letter "$1" 2>/dev/null |
		sort -n | tr -s ' ' : | tr '\n' ' '
}

gate a0 a1 a2
id=$(submit -a 0-4%2 --wrap "cat $dir/gate.a\$AISCHED_ARRAY_TASK_ID 2>/dev/null; exit \$AISCHED_ARRAY_TASK_ID")
wait_for is_state "${id}_1" RUNNING
is "what waits is one record" "$(aiq --no-header -o display_id,reason | head -n 1)" \
	"${id}_[2-4%2]  ArrayLimit"
like "as JSON, too" "$(aiq --json "$id")" \
	"\"job_id\":$id,\"array_job_id\":$id,\"array_task_id\":null,"
like "each that has started has an id of its own" "$(aiq --json "${id}_1")" \
	"\"job_id\":$((id + 2)),\"array_job_id\":$id,\"array_task_id\":1,"
is "which names it, too" "$(field $((id + 2)) display_id)" "${id}_1"
open_gate a0
becomes "the next begins when one has ended" "${id}_2" RUNNING
fails "no such task" 1 "there is no job ${id}_9" aicancel "${id}_9"
ok "one that waits is cancelled" aicancel "${id}_4"
is "and is remembered" "$(state_of "${id}_4")" CANCELLED
ok "one that runs is cancelled" aicancel --wait "${id}_1"
is "and ended" "$(state_of "${id}_1")" CANCELLED
open_gate a2
becomes "the others go on" "${id}_3" FAILED
is "with their own status" "$(field "${id}_3" exit_code)" 3
becomes "each has ended" "${id}_2" FAILED
is "all are in the history" "$(aiq --history -h -o display_id "$id" | sort | tr '\n' ' ')" \
	"${id}_0 ${id}_1 ${id}_2 ${id}_3 ${id}_4 "

id=$(submit -H -a 0-9 --wrap 'exit $AISCHED_ARRAY_TASK_ID')
ok "a range is cancelled" aicancel "${id}_[2-7]"
is "the rest waits" "$(aiq --no-header -o display_id "$id" | head -n 1)" "${id}_[0-1,8-9]"
ok "a part is released" aictl release "${id}_[8-9]"
becomes "and runs" "${id}_9" FAILED
like "under the array's id" "$(aiq --json "$id")" \
	"\"job_id\":$id,\"array_job_id\":$id,\"array_task_id\":null"
is "the rest is still held" "$(aiq --no-header -o display_id,reason "$id" | head -n 1)" \
	"${id}_[0-1]  JobHeldUser"
ok "all of it is cancelled" aicancel --wait "$id"
run aicancel "$id"
is "cancelling again is no error" "$rc$err" 0
run aisub -Q -W -a 1,2 --wrap 'exit $((3 - AISCHED_ARRAY_TASK_ID))'
is "waiting for an array" "$rc" 2
gate b0
id=$(submit -a 0-2%1 --wrap "cat $dir/gate.b\$AISCHED_ARRAY_TASK_ID 2>/dev/null; true")
becomes "one task runs" "${id}_0" RUNNING
for act in hold release; do
	run aictl "$act" "$id"
	is "$act of an array is about what waits of it" "$rc$err" 0
done
ok "a task that runs is held by its id" aictl hold "${id}_0"
like "and says so" "$(aiq -h -o hold "${id}_0")" "^(user|admin)\$"
ok "and released" aictl release "${id}_0"
open_gate b0
becomes "and it goes on" "${id}_2" COMPLETED
id=$(submit -a 0-99 -c 0.05 --mem 10 --wrap true)
ok "a hundred tasks" wait_for "[ \"\$(aiq --history -h -t CD -o state $id | wc -l)\" = 100 ]"
is "nothing of it is left" "$(aiq -h)" ""
misuse "out of range" "'0-1000001' go beyond 1000000" aisub -a 0-1000001 --wrap true
misuse "too many at once" "'0-3%2000000': at most %1000001 may run at once" aisub -a '0-3%2000000' --wrap true

done_testing

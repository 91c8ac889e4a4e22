#!/bin/sh
# aiq --efficiency shows how much jobs used of what they held, and of what they
# had requested.

. "${top_srcdir:=.}/tests/e2e/jobs.sh"

# FILTER OPTION...: prints a part of aiq --efficiency in JSON
rows()
{
	filter=$1
	shift
	aiq --efficiency --json "$@" | jq -r ".efficiency$filter"
}

# JOB MS: whether its runs together took that many ms
has_run()
{
	[ "$(field "$1" elapsed_ms)" -ge "$2" ]
}

is "there is nothing at first" "$(rows ' | length')" 0
gate a b

# --- one job ---------------------------------------------------------------

id=$(submit -c 2 --mem-per-task 1G -t 1:00:00 -A vision --wrap "$(at_gate a)")
wait_for is_state "$id" RUNNING
wait_for has_run "$id" 1500
is "what runs is not among what ended" "$(rows ' | length')" 0
is "but is with --running" "$(rows '[] | .jobid, .state, .cpueff' --running |
	xargs)" "$id RUNNING null"
open_gate a
becomes "it ends" "$id" COMPLETED
is "its row" "$(rows '[] | .jobid, .user, .account, .state' | xargs)" \
	"$id $(id -un) vision COMPLETED"
is "how long it ran" "$(rows '[].elapsed >= 1.5')" true
is "of its limit" "$(rows '[] | (.timeeff - .elapsed / 3600) | fabs < 1e-6')" \
	true
is "of its CPUs" "$(rows '[].cpueff | . >= 0 and . < 0.1')" true
is "of its memory" "$(rows '[].memeff | . > 0 and . < 0.25')" true
is "what nobody measures is null" "$(rows '[] | .gpueff, .gpumem' | xargs)" \
	"null null"
is "hints" "$(rows '[].hint | join(" ")')" "cpu-idle memory-over limit-over"
like "the table" "$(aiq --efficiency -h)" \
	"^$id +$(id -un) +COMPLETED +[0-9:]+ +[0-9] % +[0-9] % +[0-9]+ % +- +- +cpu-idle,memory-over,limit-over$"
is "CSV" "$(aiq --efficiency --csv -o jobid,gpueff,hint | tr -d '\r' | xargs)" \
	'jobid,gpueff,hint '"$id"',,cpu-idle,memory-over,limit-over'
is "of other accounts" "$(rows ' | length' -A nlp)" 0
is "jobs of an account" "$(aiq --history -h -o display_id -A vision)" "$id"
is "and of others" "$(aiq --history -h -o display_id -A nlp)" ""
is "attempts of an account" \
	"$(aiq --history --attempts -h -o display_id,account -A vision | xargs)" \
	"$id vision"

# --- two attempts ----------------------------------------------------------

id=$(submit -t 1:00:00 --wrap "$(at_gate b)")
wait_for is_state "$id" RUNNING
wait_for has_run "$id" 1000
aictl requeue "$id"
wait_for "[ \"\$(field $id attempt)\" = 2 ] && is_state $id RUNNING"
# shellcheck disable=SC2119
restart
wait_for has_run "$id" 3000
open_gate b
becomes "the second attempt ends" "$id" COMPLETED
is "the limit is that of one attempt" \
	"$(rows "[] | .timeeff * 3600 < .elapsed - 0.9" "$id")" true
is "attempts in JSON" "$(aiq --json "$id" | jq '.jobs[0].attempts')" 2

# --- an array --------------------------------------------------------------

id=$(submit -a 0-2 --wrap "exit \$((AISCHED_ARRAY_TASK_ID == 1))")
becomes "the array ends" "${id}_2" COMPLETED
wait_for is_state "${id}_1" FAILED
wait_for is_state "${id}_0" COMPLETED
is "an array is one row" "$(rows '[] | .jobid, .state' "$id" | xargs)" \
	"${id}_[*] 2 of 3"
is "or one a task" "$(rows '[] | .jobid' --tasks "$id" | sort | xargs)" \
	"${id}_0 ${id}_1 ${id}_2"
is "sorted" "$(rows '[].jobid' --tasks --sort -jobid "$id" | xargs)" \
	"${id}_2 ${id}_1 ${id}_0"
is "the first ones" "$(rows ' | length' --top 2)" 2
id=$(submit --hold --wrap true)
aicancel "$id"
is "a job that never ran has no efficiency" "$(rows ' | length' "$id")" 0

# --- mistakes --------------------------------------------------------------

misuse "an unknown column" "no column 'colour'" aiq --efficiency -o colour
misuse "an unknown sort" "no column 'colour'" aiq --efficiency --sort colour
misuse "JSON and CSV" "exclude each other" aiq --efficiency --json --csv
misuse "running alone" "--running goes with --efficiency" aiq --running
misuse "two views" "can be given" aiq --efficiency --report
misuse "CSV of a listing" "--csv goes with" aiq --csv
fails "an unknown job" 1 "no such job: '999'" aiq --efficiency 999
done_testing

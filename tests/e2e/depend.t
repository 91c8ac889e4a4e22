#!/bin/sh
# Jobs that wait for other jobs; the unit tests cover every kind of dependency.
# shellcheck disable=SC2016,SC2119 # jobs expand their own variables

. "$top_srcdir/tests/e2e/jobs.sh"

gate one two
one=$(submit --wrap "$(at_gate one)")
two=$(submit --wrap "$(at_gate two); exit 1")
ok=$(submit -d "afterok:$one" --wrap true)
never=$(submit -d "afterok:$two" --wrap true)
bad=$(submit -d "afternotok:$two" --wrap true)
any=$(submit -d "afterok:$two?afterok:$one" --wrap true)
all=$(submit -d "afterany:$one:$two" --wrap true)
is "it says so from the reply on" "$(field "$ok" reason)" Dependency
wait_for is_state "$one" RUNNING
is "for whom it waits" "$(field "$ok" reason_text)" \
	"waits for afterok:$one; job $one is RUNNING"
is "and as it was asked" "$(field "$all" dependency)" \
	"afterany:$one,afterany:$two"
open_gate one
becomes "afterok" "$ok" COMPLETED
becomes "one of two" "$any" COMPLETED
is "both of two" "$(field "$all" dependency)" "afterany:$two"
open_gate two
becomes "both of two have ended" "$all" COMPLETED
becomes "afternotok" "$bad" COMPLETED
waits "what can no longer be met is said" "$never" DependencyNeverSatisfied \
	".*job $two ended in another way"
run aicancel "$never"
is "cancelled, it names the reason" "$(state_of "$never") $(field "$never" reason)" \
	"CANCELLED Dependency"

id=$(submit -d "afterok:$one" --wrap true)
becomes "a job that has ended before" "$id" COMPLETED
fails "no such job" 1 "there is no job 999 to depend on" \
	aisub -d afterok:999 --wrap true
misuse "no such kind" "bad dependency 'later:$one'" \
	aisub -d "later:$one" --wrap true

id=$(submit -J single -d singleton --wrap 'exec sleep 1000')
wait_for is_state "$id" RUNNING
next=$(submit -J single -d singleton --wrap true)
is "singleton waits" "$(field "$next" reason)" Dependency
aicancel "$id"
becomes "and goes on" "$next" COMPLETED

first=$(submit -H -a 0-2 --wrap true)
corr=$(submit -a 0-2 -d "aftercorr:$first" --wrap true)
aictl release "${first}_1"
becomes "aftercorr: its own task" "${corr}_1" COMPLETED
is "the others wait" "$(aiq -h -o display_id,reason "$corr" | head -n 1)" \
	"${corr}_[0,2]  Dependency"
aictl release "$first"
becomes "for theirs" "${corr}_2" COMPLETED

# Dependencies survive a restart.
gate three
id=$(submit --wrap "$(at_gate three)")
wait_for is_state "$id" RUNNING
next=$(submit -d "afterok:$id" --wrap true)
restart
is "a restart forgets no condition" "$(field "$next" reason)" Dependency
open_gate three
becomes "which is then met" "$next" COMPLETED

done_testing

#!/bin/sh
# Hold, suspend, requeue, signal, cancel, update, drain.
# shellcheck disable=SC2016,SC2119 # jobs expand their own variables

. "$top_srcdir/tests/e2e/jobs.sh"

# --- hold, release, top ----------------------------------------------------

id=$(submit -H --wrap true)
is "held from the reply on" "$(field "$id" reason)" JobHeldUser
like "and what to do" "$(field "$id" reason_text)" "aictl release $id"
ok "holding again is fine" aictl hold "$id"
ok "released" aictl release "$id"
becomes "it runs" "$id" COMPLETED
fails "an ended job" 1 "job $id has ended" aictl hold "$id"
fails "an unknown job" 1 "there is no job 999" aictl hold 999
filler=$(sleeper -c 4)
first=$(sleeper -c 3)
second=$(sleeper -c 3)
ok "a job goes to the top" aictl top "$second"
aicancel --wait "$filler"
becomes "and runs first" "$second" RUNNING
is "before the other" "$(state_of "$first")" PENDING
aicancel --wait --all

# --- the record of who did what --------------------------------------------

me=$(id -un)
id=$(submit -H --wrap true)
aictl hold "$id" && aictl hold "$id"
like "who holds it is said" "$(field "$id" reason_text)" "($me)"
aicancel "$id"
is "who cancelled it is kept" "$(field "$id" reason_text)" "cancelled by $me"
like "with all that was done to it" "$(aiq --json "$id" | tr -d ' \n')" \
	'"act":"hold","user":"'"$me"'"},{"time":[0-9]*,"act":"hold","user":"'"$me"'"},{"time":[0-9]*,"act":"cancel"'
is "the trail has it as well" "$(aictl audit --job "$id" | grep -c "$me .*job $id ")" 3
is "and can be filtered" "$(aictl audit --job "$id" --act hold | grep -c "job $id ")" 2
is "by user" "$(aictl audit --user nobody-else | grep -c job)" 0
fails "a job that is none" 2 "--job" aictl audit --job x
if is_root; then
	id=$(as_user nobody aisub --parsable -H --wrap true)
	aicancel "$id"
	ok "an act on another's job is logged" has_line "$log" \
		"job cancel job=$id user=root owner=nobody"
	like "its owner sees who it was" "$(as_user nobody aiq "$id")" "cancelled by root"
	is "and no acts of others" \
		"$(as_user nobody aictl audit | grep -vc "nobody\|^TIME")" 0
	like "but that" "$(as_user nobody aictl audit)" "root  *cancel  *job $id"
fi

# --- suspend, resume -------------------------------------------------------

id=$(submit -c 3 --mem 100M --wrap 'while :; do echo tick; sleep 0.05; done')
wait_for has_line "slurm-$id.out" tick
wait_for is_state "$id" RUNNING
ok "suspended" aictl suspend "$id"
wait_for is_state "$id" SUSPENDED
waits "who suspended it lets it go on" "$id" JobHeldAdmin ".*\($me\).*\`aictl resume $id\` lets it go on"
like "aiq lists what was done to it" "$(aiq "$id")" " suspend by $me"
is "its CPUs are free" "$(aiq --nodes -h -o cpus_free)" 4
like "its memory is not" "$(aiq --nodes --json)" '"memory_free_mib":3996,'
other=$(sleeper -c 3 --mem 100M)
becomes "another uses them" "$other" RUNNING
ok "resumed" aictl resume "$id"
is "it waits for its turn" "$(state_of "$id")" SUSPENDED
waits "it says for what" "$id" Resources "goes on when its CPUs are free on '$(uname -n)'"
ok "suspending a job that is suspended is fine" aictl suspend "$id"
ok "resumed again" aictl resume "$id"
aicancel --wait "$other"
becomes "then it goes on" "$id" RUNNING
n=$(wc -l <"slurm-$id.out")
ok "where it was" wait_for "[ \"\$(wc -l <slurm-$id.out)\" -gt $n ]"
aictl suspend "$id"
wait_for is_state "$id" SUSPENDED
ok "cancelled while it sleeps" aicancel --wait "$id"
is "it is CANCELLED" "$(state_of "$id")" CANCELLED
fails "it cannot be resumed" 1 "job $id has ended" aictl resume "$id"
id=$(submit -H --wrap true)
fails "a pending job cannot be suspended" 1 \
	"job $id is PENDING: only a running job can be suspended" \
	aictl suspend "$id"
aicancel "$id"

# --- requeue ---------------------------------------------------------------

gate r
id=$(submit --max-restarts 1 --wrap "$(at_gate r); echo done")
wait_for is_state "$id" RUNNING
ok "requeued" aictl requeue "$id"
ok "it counts" wait_for "[ \"\$(field $id restarts)\" = 1 ]"
wait_for is_state "$id" RUNNING
fails "not more often than it may" 1 \
	"job $id was restarted 1 time, as often as it may" aictl requeue "$id"
open_gate r
becomes "and it ends" "$id" COMPLETED
id=$(sleeper --no-requeue)
wait_for is_state "$id" RUNNING
fails "--no-requeue" 1 "job $id was submitted with --no-requeue" \
	aictl requeue "$id"
aicancel --wait "$id"

fails "also when it has ended" 1 "job $id was submitted with --no-requeue" \
	aictl requeue "$id"

# --- requeue of jobs that have ended ------------------------------------------

id=$(submit --comment again -o again.out --wrap 'echo "run ${AISCHED_RESTART_COUNT-0}"; test -e fixed')
becomes "a job fails" "$id" FAILED
ended=$(aiq -h --shares -u "$me" -o jobs)
ok "it is requeued" aictl requeue "$id"
like "who did that is kept" "$(aiq --json "$id" | tr -d ' \n')" \
	'"act":"requeue","user":"'"$me"'"'
is "in the trail as well" "$(aictl audit --job "$id" --act requeue | grep -c "$me .*job $id ")" 1
wait_for "[ \"\$(field $id attempt)\" = 2 ]"
becomes "it fails again" "$id" FAILED
: >fixed
ok "when its cause is gone" aictl requeue "$id"
becomes "it is well, under the same id" "$id" COMPLETED
is "it is counted once" "$(aiq -h --shares -u "$me" -o jobs)" "$ended"
is "it knows how often" "$(cat again.out)" "run 0
run 1
run 2"
is "it is what it was" "$(field "$id" comment,restarts | tr -s ' ')" "again 2"
ok "named twice it is requeued once" aictl requeue "$id" "$id"
becomes "it ends again" "$id" COMPLETED
restart
is "it outlives a restart" "$(state_of "$id")" COMPLETED
ok "and is requeued after it" aictl requeue "$id"
becomes "as before" "$id" COMPLETED
fails "no such job" 1 "there is no job 9999" aictl requeue 9999
array=$(submit -a 0-3 -o 'array.%a' --wrap 'echo x; [ $AISCHED_ARRAY_TASK_ID != 2 ]')
wait_for is_state "${array}_2" FAILED
wait_for "[ -z \"\$(aiq -h $array -t PD,R,CG,CF 2>/dev/null)\" ] &&
	[ \"\$(aiq -h --history -o job_id $array | wc -l)\" = 4 ]"
after=$(submit -d "afterany:$array" --wrap true)
becomes "nobody waits for an array that has ended" "$after" COMPLETED
ok "a task of it" aictl requeue "${array}_2"
wait_for "[ \"\$(grep -c x array.2)\" = 2 ]"
becomes "it runs again" "${array}_2" FAILED
is "alone" "$(cat array.0 array.1 array.3)" "x
x
x"
ok "several" aictl requeue "${array}_[0-1,3]"
wait_for "[ \"\$(cat array.* | wc -l)\" = 8 ]"
for task in 0 1 3; do
	wait_for is_state "${array}_$task" COMPLETED
done
fails "not a whole array" 1 "name its tasks" aictl requeue "$array"
id=$(submit -H -a 0-3 --wrap true)
aicancel "$id"
fails "not what never started" 1 "never started: submit them again" \
	aictl requeue "${id}_1"

# --- signals, cancel -------------------------------------------------------

id=$(submit --wrap 'trap "echo usr1; exit 7" USR1; echo up; while :; do sleep 0.05; done')
wait_for has_line "slurm-$id.out" up
wait_for is_state "$id" RUNNING
ok "a signal" aicancel -s USR1 "$id"
becomes "it is taken" "$id" FAILED
is "its own exit status" "$(field "$id" exit_code)" 7
is "and it said so" "$(tail -n 1 "slurm-$id.out")" usr1
misuse "no such signal" "NOSUCH" aicancel -s NOSUCH "$id"
id=$(submit --wrap 'kill -KILL $$')
becomes "a job that dies of a signal" "$id" FAILED
is "its reason" "$(field "$id" reason) $(field "$id" signal)" "RaisedSignal 9"

cat >stubborn <<'END'
#!/bin/sh
trap 'echo term' TERM
setsid sh -c 'trap "" TERM; echo $$ >grandchild; while :; do sleep 0.05; done' &
echo up
while :; do sleep 0.05; done
END
id=$(submit --grace 3s stubborn)
wait_for has_line "slurm-$id.out" up
wait_for [ -s grandchild ]
ok "a job that does not want to end" aicancel --wait "$id"
is "got its signal" "$(grep -c '^term$' "slurm-$id.out")" 1
is "ended CANCELLED" "$(state_of "$id") $(field "$id" reason)" \
	"CANCELLED Cancelled"
ok "no process of it is left, setsid or not" \
	[ ! -e "/proc/$(cat grandchild)" ]

for how in "cancel again" "signal KILL" "update its grace"; do
	rm -f grandchild
	id=$(submit --grace 20d stubborn)
	wait_for [ -s grandchild ]
	wait_for has_line "slurm-$id.out" up
	aicancel "$id"
	wait_for is_state "$id" COMPLETING
	case $how in
	cancel*) aicancel "$id" ;;
	signal*) aicancel -s KILL "$id" ;;
	update*) aictl update "$id" grace=0s ;;
	esac
	becomes "a long grace ends when one may $how" "$id" CANCELLED
done

a=$(sleeper -H -J alpha) b=$(sleeper -H -J beta) c=$(sleeper -J alpha)
wait_for is_state "$c" RUNNING
ok "cancelled by name" aicancel -n beta
is "those of the name" "$(state_of "$a") $(state_of "$b")" "PENDING CANCELLED"
ok "by state" aicancel --wait -t RUNNING
is "those of the state" "$(state_of "$a") $(state_of "$c")" \
	"PENDING CANCELLED"
ok "all of mine" aicancel --all
is "none is left" "$(aiq -h)" ""
ok "an ended job is no error" aicancel "$a"
fails "an unknown one is" 1 "there is no job 999" aicancel 999
run aicancel 999 "$a" 998
is "the others are done all the same" "$rc $(grep -c . "$dir/run.err")" "1 2"

# --- labels ----------------------------------------------------------------

# FILTER...: prints the ids of the jobs that aiq finds
found()
{
	aiq -h -o display_id --sort job_id "$@" | xargs
}
a=$(sleeper -H --label team=nlp,run=1)
b=$(sleeper -H --label run=2 --label team=nlp)
c=$(sleeper -H --label team=cv)
is "jobs are found by a label" "$(found -l team=nlp)" "$a $b"
is "by all of several" "$(found -l team=nlp -l run=2)" "$b"
is "by a key" "$(found -l run)" "$a $b"
is "or not" "$(found -l run=2,team=cv)" ""
is "a column has them" "$(field "$b" labels)" "run=2,team=nlp"
is "JSON, too" "$(aiq --json "$b" | jq -c '.jobs[].labels')" '{"run":"2","team":"nlp"}'
like "words, too" "$(aiq "$b")" '^  labels +run=2,team=nlp$'
ok "they are changed" aictl update "$b" label=team=cv
is "all of them" "$(field "$b" labels)" team=cv
ok "jobs are cancelled by them" aicancel -l team=cv
is "those that have it" "$(state_of "$a") $(state_of "$b") $(state_of "$c")" \
	"PENDING CANCELLED CANCELLED"
is "ended ones are found" "$(aiq --history -h -o display_id -l team=cv | sort | xargs)" \
	"$(printf '%s\n' "$b" "$c" | sort | xargs)"
misuse "a label without a value" "label 'team' has no value" aisub --label team --wrap true
misuse "too many" "more than 16 labels" aisub --wrap true \
	--label "$(seq -s , -f 'k%g=1' 17)"
fails "a bad wish" 1 "bad label 'a b'" aiq -l 'a b'
fails "too many wishes" 1 "17 labels are wanted" aiq -l "$(seq -s , -f 'k%g' 17)"
aicancel "$a"

# --- update ----------------------------------------------------------------

id=$(submit -H -c 2 -t 10 --comment old --wrap true)
ok "fields are changed" aictl update "$id" time=20 comment=new cpus-per-task=1
is "all of them" "$(field "$id" time_limit),$(field "$id" comment),$(field "$id" cpus)" \
	1200,new,1
ok "and taken back" aictl update "$id" comment=
is "there is none" "$(field "$id" comment)" -
fails "all or nothing" 1 "there is no field" \
	aictl update "$id" comment=x colour=red
fails "no such field" 1 "there is no field 'colour'" aictl update "$id" colour=red
fails "no such change" 1 "'array' cannot be changed" aictl update "$id" array=1-2
ok "as aiq calls it" aictl update "$id" name=renamed
is "is another name" "$(field "$id" name)" renamed
fails "no such queue" 1 "there is no queue 'x'" aictl update "$id" queue=x
fails "what can never fit" 1 "needs 99 CPUs" aictl update "$id" cpus-per-task=99
fails "not a field" 2 "update takes JOB... FIELD=VALUE..." aictl update "$id" x
is "nothing changed" "$(field "$id" cpus) $(field "$id" comment)" "1 -"
aicancel "$id"
id=$(sleeper -t 10)
wait_for is_state "$id" RUNNING
fails "a running job keeps what it holds" 1 "can be changed only while" \
	aictl update "$id" cpus-per-task=2
ok "its time may be cut" aictl update "$id" time=5
is "it is" "$(field "$id" time_limit)" 300
aicancel --wait "$id"

# --- drain, queues ---------------------------------------------------------

node=$(uname -n)
fails "draining takes a reason" 2 "drain needs a reason" aictl drain "$node"
fails "and a node" 1 "there is no node 'nowhere'" aictl drain nowhere -r x
ok "drained" aictl drain "$node" -r "new disk"
is "it says why" "$(aiq --nodes -h -o state,reason | tr -s ' ')" \
	"DRAINED new disk"
id=$(submit --wrap true)
waits "nothing starts there" "$id" NodeDown ".*$node is drained: new disk"
is "a test of a job says the same" \
	"$(aisub --test-only --wrap true | sed 's/.*; //')" \
	"$node is drained: new disk"
restart
is "after a restart, too" "$(aiq --nodes -h -o state,reason | tr -s ' ')" \
	"DRAINED new disk"
ok "undrained" aictl undrain "$node"
becomes "it goes on" "$id" COMPLETED
id=$(submit -H --wrap true)
ok "a queue is closed" aictl queue close default
fails "it takes no jobs" 1 "queue 'default' is closed" aisub --wrap true
aictl release "$id"
waits "those in it wait" "$id" QueueClosed "queue 'default' is closed"
restart
is "after a restart, too" "$(aiq --queues -h -o state)" closed
ok "it is opened" aictl queue open default
becomes "and they go on" "$id" COMPLETED
fails "no such queue" 1 "there is no queue 'x'" aictl queue close x

# --- aictl itself ----------------------------------------------------------

like "status" "$(aictl status)" "^jobs .*0 pending"
is "its keys as JSON" "$(aictl --json status |
	grep -oE '"[a-z_]+":' | tr -d '":' | xargs)" "version cluster pid\
 uptime_s jobs pending configuring running suspended completing queues nodes\
 connections store path bytes wal_bytes turns turn_steps_max passes pass_ms last mean max\
 commits commit_ms last mean max starts_refused shortcomings space_left"
like "dump" "$(aictl dump)" "^node $node "
ok "ping" aictl ping --wait 10s
printf 'hold 999\nping\n' >script
fails "a script ends at its first failure" 1 "stdin:1: " aictl <script
run aictl shutdown
is "shutdown is answered" "$rc$err" 0
wait_daemon
is "and the daemon ends" "$daemon_rc" 0
start_daemon

done_testing

#!/bin/sh
# aiq --history --attempts: a row for each start of a job, and sums over them.

. "$top_srcdir/tests/e2e/jobs.sh"

# COLUMNS [WORD]...: prints these columns of attempts, one row a line
attempts()
{
	columns=$1
	shift
	aiq --history --attempts -h -o "$columns" "$@" | tr -s ' ' |
		sed 's/ *$//'
}

gate first
cat >twice <<END
#!/bin/sh
[ -z "\$AISCHED_RESTART_COUNT" ] || exit 3
exec cat $dir/gate.first
END
id=$(submit -c 2 -A chem twice)
becomes "a job runs" "$id" RUNNING
is "what runs has no row yet" "$(attempts attempt -a)" ""
ok "nor is it unknown" attempts attempt "$id"
aictl requeue "$id"
becomes "it comes back, and ends" "$id" FAILED

is "each start has a row" \
	"$(attempts display_id,attempt,state,exit,account,tasks "$id")" \
	"$id 1 REQUEUED TERM chem 1
$id 2 FAILED 3 chem 1"
json=$(aiq --history --attempts --json "$id")
is "in JSON as well" "$(echo "$json" | jq -c '[.attempts[] |
	[.job_id, .attempt, .state, .exit_code, .user, .pool, .evicted]]')" \
	"[[$id,1,\"REQUEUED\",0,\"$(id -un)\",\"here\",null],[$id,2,\"FAILED\",3,\"$(id -un)\",\"here\",null]]"
is "their times are those of the job" \
	"$(echo "$json" | jq '[.attempts[].elapsed_ms] | add')" \
	"$(aiq --json "$id" | jq '.jobs[0].elapsed_ms')"
is "and what they held" \
	"$(echo "$json" | jq '[.attempts[].held_cpu_seconds] | add * 1000 | round')" \
	"$(aiq --json "$id" | jq '.jobs[0].held_cpu_seconds * 1000 | round')"
is "an attempt ends before the next begins" \
	"$(echo "$json" | jq '.attempts[0].end_ms <= .attempts[1].start_ms')" \
	true
like "the job tells what all of them took" "$(aiq "$id")" \
	"state .*, in all attempts "

array=$(submit -a 3-4 --wrap true)
becomes "tasks of an array" "${array}_4" COMPLETED
becomes "both of them" "${array}_3" COMPLETED
is "have rows by their numbers" \
	"$(attempts display_id,attempt "$array" | sort)" "${array}_3 1
${array}_4 1"
is "one of them is asked for" "$(attempts display_id "${array}_4")" \
	"${array}_4"

is "a filter of states" "$(attempts display_id -t FAILED -a)" "$id"
is "of users" "$(attempts display_id -u nobodyy)" ""
is "of queues" "$(attempts display_id -q default -a | wc -l)" 4
is "of nodes" "$(attempts display_id -w "$(uname -n)" -a | wc -l)" 4
is "of another node" "$(attempts display_id -a -w elsewhere)" ""
is "of times" "$(attempts display_id -a --until now-1h)" ""

fails "a job that is not there" 1 "no such job, or it never started: '99'" \
	aiq --history --attempts 99
for words in "--attempts" "--history --attempts -n x"; do
	# shellcheck disable=SC2086 # words
	run aiq $words
	like "$words" "$rc $err" "^2 .*--attempts goes with --history, and not"
done
run aiq --history --attempts -o score
like "no such column" "$rc $err" "^2 .*there is no column 'score' of attempts"

aictl requeue "$id"
becomes "it is queued again after its end" "$id" FAILED
is "and has one more" "$(attempts attempt "$id" | tr '\n' ' ')" "1 2 3 "
is "with the sums of all" \
	"$(aiq --history --attempts --json "$id" |
		jq '[.attempts[].held_cpu_seconds] | add * 1000 | round')" \
	"$(aiq --json "$id" | jq '.jobs[0].held_cpu_seconds * 1000 | round')"

kill_daemon
start_daemon
is "they are kept" "$(attempts attempt "$id" | tr '\n' ' ')" "1 2 3 "

done_testing

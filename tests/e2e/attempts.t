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

shown=$(aiq "$id")
like "so does each attempt, by how it ended, when and where" "$shown" \
	"attempt 1  *REQUEUED, ended by SIGTERM; from 2.* for .* on $(uname -n); CPU "
like "the last one too" "$shown" "attempt 2  *FAILED, exit status 3.*; from 2"
like "with the share of the memory that it used" "$shown" \
	"attempt 1 .*; memory [0-9]* %"
is "JSON of attempts has the share of CPU time" \
	"$(echo "$json" | jq -c '[.attempts[] | .cpu_util -
		.cpu_seconds / .held_cpu_seconds | fabs < 0.001]')" '[true,true]'
is "JSON of the job has their number" \
	"$(aiq --json "$id" | jq -c '[keys, .jobs[0].attempts]')" '[["jobs"],2]'

array=$(submit -a 3-4 --wrap true)
becomes "tasks of an array" "${array}_4" COMPLETED
becomes "both of them" "${array}_3" COMPLETED
is "have rows by their numbers" \
	"$(attempts display_id,attempt "$array" | sort)" "${array}_3 1
${array}_4 1"
unlike "what started once has no such lines" "$(aiq "${array}_4")" "attempt"
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

tries=$(submit --wrap "exit 1")
becomes "a job is to have many" "$tries" FAILED
n=1
while [ $n -lt 12 ]; do
	aictl requeue "$tries" >"$dir/out"
	becomes "it runs for the $n. time more" "$tries" FAILED
	n=$((n + 1))
done
is "only its last ones are shown" \
	"$(aiq "$tries" | grep -c '^  attempt [0-9]')" 10
like "with the number of those before" "$(aiq "$tries")" \
	"attempts  *2 before these: .aiq --history --attempts $tries."

kill_daemon
start_daemon
is "they are kept" "$(attempts attempt "$id" | tr '\n' ' ')" "1 2 3 "

done_testing

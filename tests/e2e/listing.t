#!/bin/sh
# Everything aiq shows: jobs, queues, nodes, history, as text and as JSON.
# shellcheck disable=SC2016,SC2119 # jobs expand their own variables

. "$top_srcdir/tests/e2e/jobs.sh"

# NAME JSON KEY...: tests that a line of JSON has all keys
has_keys()
{
	keys_name=$1
	keys_json=$2
	shift 2
	for key; do
		case $keys_json in
		*"\"$key\":"*) shift ;;
		esac
	done
	is "$keys_name" "$*" ""
}

gate g
done_id=$(aisub --parsable --wait -J "done" -t 1h --comment 'two words' --wrap 'exit 3')
run_id=$(submit -J runs -n 2 --mem-per-task 100M -t 1h --wrap "[ \$RANK = 1 ] || $(at_gate g)")
wait_for is_state "$run_id" RUNNING
held_id=$(submit -J held -H --wrap true)
array_id=$(submit -J array -H -a 0-9:3%2 --wrap true)

# --- the table -------------------------------------------------------------

is "jobs that wait or run" "$(aiq -h -o display_id,name,state_letter | tr -s ' ')" \
	"$run_id runs R
$held_id held PD
${array_id}_[0-9:3%2] array PD"
like "the usual columns" "$(aiq | head -n 1)" \
	'^JOBID +QUEUE +NAME +USER +ST +TIME +NODES +NODELIST\(REASON\)$'
like "where it runs" "$(aiq -h | head -n 1)" " $(uname -n)$"
like "or why it does not" "$(aiq -h | tail -n 1)" ' \(JobHeldUser\)$'
is "by name" "$(aiq -h -n held,runs -o name | tr '\n' ' ')" "runs held "
is "by state" "$(aiq -h -t pd -o name | tr '\n' ' ')" "held array "
fails "by a queue that is not there" 1 "there is no queue 'nosuch'" \
	aiq -q default,nosuch
is "by queue" "$(aiq -h -q default -o name | wc -l)" 3
fails "by a node that is not there" 1 "there is no node 'n7'" aiq --node n7
is "by user" "$(aiq -h -u games)" ""
fails "by a user that is not there" 1 "there is no user 'nobodyy'" \
	aiq -u "$(id -un),nobodyy"
fails "also as JSON" 1 "there is no user 'nobodyy'" aiq --json -u nobodyy
fails "nor any shares" 1 "there is no user 'nobodyy'" aiq --shares -u nobodyy
fails "nobody's jobs are not cancelled" 1 "there is no user 'nobodyy'" \
	aicancel -u nobodyy
is "by node" "$(aiq -h --node "$(uname -n)" -o name)" runs
is "ended ones, by state" "$(aiq -h -t FAILED -o name)" "done"
is "columns are not cut" "$(aiq -h -o output "$run_id")" "$PWD/slurm-$run_id.out"
is "squeue's format" "$(aiq -h -o '%i|%.6j|%T' "$held_id")" "$held_id|  held|PENDING"
fails "no such job" 1 "no such job: '999'" aiq 999
run aiq -h -o name 999 "$held_id"
is "the others are shown" "$rc $out" "1 held"

# --- everything about a job ------------------------------------------------

like "in words" "$(aiq "$held_id")" '^  reason +JobHeldUser: '
like "of an ended one, too" "$(aiq "$done_id")" '^  state +FAILED, exit status 3'
unlike "and no more than there is to say" "$(aiq --history "$done_id"; aiq "$done_id")" \
	'held up|nothing'
like "its comment" "$(aiq "$done_id")" 'two words'
like "of an array" "$(aiq "$array_id")" "0-9:3%2"
like "what a waiting one may take" "$(aiq "$held_id")" '^  time limit +UNLIMITED$'
like "what it runs" "$(aiq "$held_id")" '^  command +true$'

# --- JSON ------------------------------------------------------------------

json=$(aiq --json "$run_id")
has_keys "a job has all keys" "$json" job_id array_job_id array_task_id name \
	user queue class state reason reason_text priority tasks min_tasks \
	running_tasks resources nodes submit_time eligible_time start_time \
	end_time expected_start time_limit exit_code signal restarts \
	preemptions workdir output
like "its resources" "$json" '"resources":\{"cpus":1,"memory_mib":100,"gpus":0\}'
like "its nodes and the tasks there" "$json" "\"nodes\":\{\"$(uname -n)\":2\}"
like "what is not is null" "$json" '"end_time":null,.*"exit_code":null,"signal":null'
like "its times are numbers" "$json" '"start_time":1[0-9]{9},.*"time_limit":3600,'
like "an ended one has a status" "$(aiq --json "$done_id")" \
	'"state":"FAILED","reason":"NonZeroExitCode".*"end_time":1[0-9]{9}.*"exit_code":3'
like "the rest of an array is one" "$(aiq --json "$array_id")" \
	"\"job_id\":$array_id,\"array_job_id\":$array_id,\"array_task_id\":null"
is "no jobs" "$(aiq --json -u games | tr -d '\n')" '{"jobs":[]}'
has_keys "a node" "$(aiq --nodes --json)" nodes name pool state reason cpus \
	cpus_free memory_mib memory_free_mib gpus gpus_free gpu_type \
	gpu_memory_mib features topology jobs
like "what it has left" "$(aiq --nodes --json)" \
	'"cpus":4,"cpus_free":2,"memory_mib":4096,"memory_free_mib":3896,'
has_keys "a queue" "$(aiq --queues --json)" queues name parent state quota \
	limit fair_share allocated pending_jobs running_jobs
like "what it uses" "$(aiq --queues --json)" \
	'"allocated":\{"cpus":2,"memory_mib":200,"gpus":0\},"pending_jobs":5,"running_jobs":1'

# --- history ---------------------------------------------------------------

open_gate g
wait_for is_state "$run_id" COMPLETED
aicancel "$held_id" "$array_id"
is "finished jobs, the newest last" "$(aiq --history -h -o name | tr '\n' ' ')" \
	"done runs held array "
id=$(submit -H -J waits --wrap true)
is "and no others" "$(aiq --history -h -t CD,F -o name | tr '\n' ' ')$(aiq --history -h "$id")" \
	"done runs "
unlike "of those that wait" "$(aiq --history -h -o job_id)" "^$id$"
aicancel "$id"
is "since" "$(aiq --history -h --since now+1h -o name)" ""
is "until" "$(aiq --history -h --until now-1h -o name)" ""
is "of one job" "$(aiq --history -h -o name "$run_id")" runs
like "what it used" "$(aiq --history --json "$run_id")" \
	'"cpu_seconds":[0-9.]+,"peak_mem_mib":[0-9]+'
id=$(submit -a 1-300 -c 0.05 --mem 10M --wrap true)
wait_for "[ \"\$(aiq --history -h -t CD -o state $id | wc -l)\" = 300 ]"
is "pages of it" "$(aiq --history -h -o display_id -n wrap | sort -u | wc -l)" 300
like "what users have used" "$(aiq --shares -h)" "^default +$(id -un) "

# --- scripts ------------------------------------------------------------------

printf '#!/bin/sh\n#SBATCH -t 5\nexit 0\n' >steps.sh
script_id=$(submit -H steps.sh --epochs "ten of them")
like "the name of its script, and how that is called" "$(aiq "$script_id")" \
	"^  command +steps.sh --epochs 'ten of them'$"
c1_id=$(submit -H --wrap "$(printf 'echo a\302\233b')")
like "control characters of two bytes in its command become spaces" \
	"$(aiq "$c1_id")" "^  command +echo a  b$"
aicancel "$c1_id"
like "its limit" "$(aiq "$script_id")" '^  time limit +5:00$'
is "its script" "$(aiq --script "$script_id")" "$(cat steps.sh)"
aicancel "$script_id"
is "that of a job that has ended" "$(aiq --script "$done_id")" "#!/bin/sh
exit 3"
fails "of none" 1 "there is no job 999" aiq --script 999
misuse "of two" "--script takes one JOB" aiq --script "$done_id" "$run_id"
misuse "of all that run" "--tasks goes with JOB only" aiq --tasks

# --- the summary of an array -----------------------------------------------

gate a
sum_id=$(submit -J sums -a 0-49%4 -c 0.1 --mem 10M -t 1h --wrap "
	case \$AISCHED_ARRAY_TASK_ID in
	[0-2]) exit 0;;
	3) exit 7;;
	*) $(at_gate a);;
	esac")
wait_for "[ \"\$(aiq -h --history -n sums | wc -l)\" = 4 ]"
wait_for "[ \"\$(aiq -h -t R -n sums | wc -l)\" = 4 ]"
told=$(aiq "$sum_id")
like "an array is summed up" "$told" "^array $sum_id sums$"
like "its states" "$told" \
	'^  state +50 tasks: 42 PENDING, 4 RUNNING, 3 COMPLETED, 1 FAILED$'
like "who runs" "$told" "^  running +${sum_id}_4, ${sum_id}_5, "
like "who failed" "$told" "^  not completed +${sum_id}_3$"
like "why the others wait" "$told" '^  reason +ArrayLimit: '
ok "it is short" [ "$(echo "$told" | wc -l)" -lt 24 ]
is "each by itself" "$(aiq --tasks "$sum_id" | grep -c "^job ${sum_id}_")" 9
like "one task is told in full" "$(aiq "${sum_id}_3")" '^  state +FAILED, exit status 7'
aicancel --wait "$sum_id"
id=$(submit -H -a 1-12 --wrap true)
for task in 12 2 10; do
	aicancel --wait "${id}_$task"
done
like "tasks are named in the order of their indices" "$(aiq "$id")" \
	"^  not completed +${id}_2, ${id}_10, ${id}_12$"
aicancel --wait "$id"

# --- many jobs at once -----------------------------------------------------

awk 'BEGIN {
	printf "{\"op\": \"submit\", \"env_len\": 0, \"script_len\": 10,"
	printf "\"token\": \"0123456789abcdef0123456789abcdef\","
	for (i = 0; i < 6000; i++)
		printf "%s{\"name\": \"many\", \"output\": \"o\"," \
			"\"workdir\": \"/\", \"hold\": 1}", \
			i ? "," : "\"specs\": ["
	printf "]}"
}' >many
like "six thousand in one request" \
	"$(printf '#!/bin/sh\n' | "$top_builddir/tests/e2e/ask" @many)" \
	'^\{"job_ids":\[[0-9]+,.*\]\}$'
is "are listed" "$(aiq -h -n many -o job_id | sort -n | uniq | wc -l)" 6000
like "are counted" "$(aictl status)" '^jobs +600[0-9] pending'
# Prints jobs that a listing shows twice: one job ends while the listing is
# read, before the listing gets to the history.
told_twice()
{
	aiq --json -n many -t PD,CA | {
		read -r head
		read -r line
		ended=${line#*'"job_id":'}
		ended=${ended%%,*}
		aicancel "$ended"
		wait_for is_state "$ended" CANCELLED
		echo "$head$line"
		cat
	} | grep -o '"job_id":[0-9]*' | sort | uniq -d
}
is "what ends meanwhile is told once" "$(told_twice)" ""
# --- pages of a listing --------------------------------------------------------

i=0
for name in cherry apple banana 10 9; do
	i=$((i + 1))
	submit -H -J "$name" -n $((6 - i)) -c 0.1 -A sorted --wrap true >/dev/null
done
sorted="cherry,apple,banana,10,9"
is "by name, numbers first" "$(aiq -h -n $sorted -S name -o name | tr '\n' ' ')" \
	"9 10 apple banana cherry "
is "downwards" "$(aiq -h -n $sorted --sort -tasks -o name | tr '\n' ' ')" \
	"cherry apple banana 10 9 "
is "what has no value comes last" \
	"$(aiq -h -S start_time --limit 1 -o name)$(aiq -h -S -start_time --limit 1 -o name)" \
	"manymany"
is "the first two" "$(aiq -h -n $sorted -S name --limit 2 -o name | tr '\n' ' ')" "9 10 "
page=$(aiq --json -n $sorted -S name --limit 2 -o name)
like "says how many there are" "$(echo "$page" | tail -n 1)" '^\],"count":5,"after":"[0-9]+:10"\}$'
after=$(echo "$page" | sed -n 's/.*"after":"\(.*\)"}/\1/p')
aicancel -n 10
is "the next two, though the last is gone" \
	"$(aiq -h -n $sorted -S name --limit 2 --after "$after" -o name | tr '\n' ' ')" \
	"apple banana "
page=$(aiq --json -n $sorted -S name --limit 3 --after "$after" -o name)
like "no page follows the last" "$page" '"count":4,"after":null\}$'
is "a page without an order is by id" "$(aiq -h --limit 2 -n $sorted -o name | tr '\n' ' ')" \
	"cherry apple "
# Without an order, all pages together contain every job.
is "pages together are all" \
	"$(set --; after=none; while [ "$after" ]; do
		page=$(aiq --json -n many --limit 700 -o job_id "$@")
		echo "$page" | grep -o '"job_id":[0-9]*'
		after=$(echo "$page" | sed -n 's/.*"after":"\(.*\)"}/\1/p')
		set -- --after "$after"
	done | sort -u | wc -l)" 5999
is "more than the daemon sorts at once" "$(aiq -h -S -job_id -o name | sort | uniq -c | sort -n | tail -n 1 | tr -s ' ')" " 5999 many"
aicancel -n $sorted
is "the newest of the history" "$(aiq -h --history -S -end_time --limit 2 -o name -n $sorted | sort | wc -l)" 2
is "the history by name" "$(aiq -h --history -S name -n $sorted --limit 9 -o name | tr '\n' ' ')" \
	"9 10 apple banana cherry "
is "those that wait and those that ended, by name" \
	"$(aiq -h -t PD,CA -S -name -n $sorted,many --limit 3 -o name,state_letter | tr -s ' \n' ' ')" \
	"many CA many PD many PD "
page=$(aiq --history --json -S end_time --limit 2 -n $sorted -o name)
after=$(echo "$page" | sed -n 's/.*"after":"\(.*\)"}/\1/p')
is "pages of the history" \
	"$(aiq --history -h -S end_time --limit 9 --after "$after" -n $sorted -o name | wc -l)" 3
misuse "by a column that is not there" "there is no column 'nosuch' of jobs" aiq --sort nosuch
misuse "by a product" "'cpus' can be" aiq --sort total_cpus
misuse "queues in an order" "--sort, --limit and --after go with listings" aiq --queues --sort name
misuse "a job in an order" "--sort, --limit and --after go with listings" aiq --sort name "$run_id"
misuse "after without a limit" "--after goes with --limit" aiq --after 1:1
misuse "a long history by name" "takes --limit" aiq --history --sort name
fails "after no place" 1 "'x' is no place to continue after" aiq --limit 1 --after x
ask_jobs()
{
	"$top_builddir/tests/e2e/ask" "{\"op\":\"jobs\",$1}"
}
like "too long a page" "$(ask_jobs '"limit":10001' 2>&1)" 'limit must be 0 to 10000 rows'
like "too short a page" "$(ask_jobs '"limit":-1' 2>&1)" 'limit must be 0 to 10000 rows'
like "by no field" "$(ask_jobs '"sort":"-"' 2>&1)" "no field '' to sort by"
like "named jobs have no pages" "$(ask_jobs '"ids":["1"],"limit":1' 2>&1)" \
	'leave them out, or the ids'
like "turned round without a sort" "$(ask_jobs '"back":true' 2>&1)" 'give a sort, too'
ended='"history":true,"all":true,"limit":4,"fields":["job_id"],"format":"tsv"'
is "the history turned round twice is as it was" \
	"$(ask_jobs "$ended,\"sort\":\"-end_time\",\"back\":true" 2>&1)" \
	"$(ask_jobs "$ended,\"sort\":\"end_time\"" 2>&1)"
like "only counted" "$(ask_jobs '"names":["many"],"limit":0,"count":true' 2>&1)" \
	'"rows":0.*"count":5999'

ok "are released" aicancel -n many
is "are gone" "$(aiq -h -n many)" ""
is "and in the history" "$(aiq --history -h -n many -t CA -o name | wc -l)" 6000

# Prints the number of turns of the daemon's loop.
turns()
{
	aictl status | awk '$1 == "turns" { print $2 }'
}

was=$(turns)
# shellcheck disable=SC2046 # the words are ids
is "many ids are looked up in the history" "$(aiq -h -o name \
	$(seq -f "${run_id}_%.0f" 0 2999) 2>&1 | grep -c 'no such job')" 1
ok "without a turn for each" [ "$(turns)" -lt "$((was + 1000))" ]

# --- long listings ---------------------------------------------------------

stop_daemon
start_daemon
is "history outlives a restart" "$(aiq --history -h -o name "$run_id")" runs
i=0
while [ $i -lt 20 ]; do
	submit -H -a "0-99999:$((i + 2))" -J "name.$i" \
		--comment "$(head -c 3000 /dev/zero | tr '\0' x)" --wrap true
	i=$((i + 1))
done >/dev/null
is "each row is whole" "$(aiq -h -o name,comment | awk 'length($2) == 3000' | wc -l)" 20
aicancel --all
is "all are gone" "$(aiq -h)" ""

done_testing

#!/bin/sh
# aisim --history with a replay file: jobs request what they did then, and two
# configurations are compared; no daemon.

. "${top_srcdir:=.}/tests/e2e/sim.sh"

conf='pool sim { }
queue q { }
queue r { }'
{
	echo "$conf"
	printf 'node n { pool = sim  cpus = 2  gpus = 2  memory = "8G" }\n'
} >"$dir/conf"
sed 's/cpus = 2/cpus = 1/' "$dir/conf" >"$dir/small"
echo "$conf" >"$dir/bare"
printf 'pool sim { }\nqueue q { }\n' >"$dir/one-queue"

# ID SUBMIT START END QUEUE STATE ASKED [KEY:VALUE,...]: prints a job
job()
{
	printf '{"job":{"job_id":%s,"user":"u%s","queue":"%s","class":"train",' \
		"$1" "$(($1 % 2))" "$5"
	printf '"state":"%s","submit_time":%s,"start_time":%s,"end_time":%s,' \
		"$6" "$2" "$3" "$4"
	printf '"time_limit":null,"attempt":%d,"longest_ms":%d,"acts":[],' \
		"$([ "$3" != null ] && echo 1)" \
		"$([ "$3" = null ] || echo $((($4 - $3) * 1000)))"
	printf '"asked":{"name":"j%s","output":"o","workdir":"/"%s}%s}}\n' \
		"$1" "${7:+,$7}" "${8:+,$8}"
}

# ID START END [EVICTED]: prints an attempt
attempt()
{
	printf '{"attempt":{"job_id":1,"display_id":"%s","start_ms":%d000,' \
		"$1" "$2"
	printf '"end_ms":%d000,"elapsed_ms":%d000,"evicted":%s,' \
		"$3" "$(($3 - $2))" "${4-null}"
	printf '"held_cpu_seconds":%d,"held_gpu_seconds":0,"cost":null}}\n' \
		"$(($3 - $2))"
}

# Prints a replay; stdin has the lines between its first and its last
replay()
{
	cat >"$dir/lines"
	echo '{"replay":1,"cluster":"c","from":0,"to":9000}'
	printf '{"node":{"name":"n","pool":"%s","cpus":2,"memory_mib":8192,' \
		"${pool:-sim}"
	printf '"tmp_mib":900,"gpu_memory_mib":40960,'
	echo '"gpus":2,"gpu_type":"h100","features":["fast"],"topology":null}}'
	cat "$dir/lines"
	printf '{"end":{"jobs":%d,"attempts":%d,"private":false}}\n' \
		"$(grep -c '^{"job"' "$dir/lines")" \
		"$(grep -c '^{"attempt"' "$dir/lines")"
}

# NAME [OPTION]...: tests that simulating $dir/past gives the events of stdin:
# "SECOND EVENT JOB"
events()
{
	name=$1
	shift
	cat >"$dir/want"
	"$aisim" -c "$dir/conf" --history "$dir/past" --check --events - "$@" \
		2>"$dir/err" |
		jq -r 'select(.event != "submit") | "\(.t) \(.event) \(.job)"' \
			>"$dir/got"
	cmp -s "$dir/want" "$dir/got"
	result $? "$name" || {
		diff "$dir/want" "$dir/got" | sed 's/^/# /'
		sed 's/^/# /' "$dir/err"
	}
}

# STATUS TEXT [OPTION]...: tests that aisim prints TEXT and exits with STATUS
bad()
{
	status=$1
	text=$2
	shift 2
	"$aisim" "$@" >"$dir/out" 2>"$dir/err"
	[ $? -eq "$status" ] && [ ! -s "$dir/out" ] &&
		grep -qF -- "$text" "$dir/err"
	result $? "$text" || sed 's/^/# /' "$dir/out" "$dir/err"
}

# --- what jobs asked for ---------------------------------------------------

task='"array":"0-2%1"'
of='"array_job_id":2,"array_task_id"'
{
	job 3 100 100 110 q COMPLETED "$task" "$of:0"
	job 4 100 110 120 q COMPLETED "$task" "$of:1"
	job 5 100 120 130 q COMPLETED "$task" "$of:2"
	job 6 100 130 140 q COMPLETED '"dependency":"afterok:2"'
} | replay >"$dir/past"
events "an array runs so many tasks at once as it may, a dependency waits" <<'END'
0 start 2_0
10 end 2_0
10 start 2_1
20 end 2_1
20 start 2_2
30 end 2_2
30 start 6
40 end 6
END

{
	job 3 100 100 110 q COMPLETED "$task" "$of:0"
	job 6 100 110 120 q COMPLETED '"dependency":"afterok:2_0:1"'
	job 7 100 100 105 q COMPLETED '"dependency":"afterok:1"'
} | replay >"$dir/past"
events "a dependency on a task holds, one on a job of before is met" <<'END'
0 start 2_0
0 start 7
5 end 7
10 end 2_0
10 start 6
20 end 6
END
grep -q 'dependencies on jobs that are not in it are met: 2' "$dir/err"
result $? "and counted" || sed 's/^/# /' "$dir/err"

{
	job 1 100 160 170 q COMPLETED '"hold":1' \
		'"acts":[{"time":160,"act":"release","user":"u"}]'
	job 2 100 100 130 q COMPLETED '"begin":120'
	job 3 105 null 140 q CANCELLED '"constraint":"fast"'
	job 4 150 151 152 q COMPLETED '"gpus":1000,"gpu_type":"h100"'
	echo '{"event":{"at":150,"drain":"n"}}'
	echo '{"event":{"at":155,"undrain":"n"}}'
} | sed 's/"acts":\[\],\(.*"acts"\)/\1/' | replay >"$dir/past"
events "holds, begin times and drained nodes are as they were" -c "$dir/bare" <<'END'
5 start 3
20 start 2
40 end 3
50 end 2
55 start 4
56 end 4
60 start 1
70 end 1
END

{
	job 1 100 100 400 q COMPLETED
	attempt 1 100 300 '"preempt"'
	attempt 1 350 400
} | replay >"$dir/past"
events "work is the longest attempt that ended by itself" <<'END'
0 start 1
50 end 1
END

{
	echo '{"reservation":{"name":"x","start_time":100,"end_time":130,"active":true,"repeat":"none","users":["u9"],"nodes":"n"}}'
	job 1 100 130 140 q COMPLETED
} | replay >"$dir/past"
events "reservations keep their nodes" <<'END'
30 start 1
40 end 1
END

{
	job 1 100 100 110 q COMPLETED '"tmp":500'
	job 2 100 110 120 q COMPLETED '"tmp":500'
} | replay >"$dir/past"
events "nodes have the disk that they had" -c "$dir/bare" <<'END'
0 start 1
10 end 1
10 start 2
20 end 2
END

{
	for id in 1 2 3; do
		job $id 100 100 110 q COMPLETED '"cpus":100,"gpu_memory":30720'
	done
} | replay >"$dir/past"
events "nodes have the GPU memory that they had" -c "$dir/bare" <<'END'
0 start 1
0 start 2
10 end 1
10 end 2
10 start 3
20 end 3
END

{
	job 1 100 100 110 q COMPLETED '"tmp":500'
	job 2 100 110 120 q COMPLETED '"tmp":500'
} | replay >"$dir/past"
sed -i 's/"name":"n"/"name":"n-1"/; s/"tmp_mib":900/"tmp_mib":0/' "$dir/past"
echo 'scale n { max = 1  cpus = 2  memory = 8G  tmp = 1G  delay = 20s }' |
	cat "$dir/bare" - >"$dir/scaled"
events "nodes of templates are added when jobs need them" -c "$dir/scaled" <<'END'
0 node_asked null
20 node_added null
20 start 1
20 start 2
30 end 1
30 end 2
630 node_removed null
END
sed -i 's/"tmp":500/"cpus":1000/' "$dir/past"
events "nodes without disk are nodes" -c "$dir/bare" <<'END'
0 start 1
0 start 2
10 end 1
10 end 2
END

# --- two configurations ----------------------------------------------------

for i in 1 2 3 4 5 6 7 8; do
	job $i $((100 + i)) $((100 + i)) $((160 + i)) "$([ $((i % 4)) = 0 ] &&
		echo r || echo q)" COMPLETED
	attempt $i $((100 + i)) $((160 + i))
done | replay >"$dir/past"
"$aisim" -c "$dir/conf" --history "$dir/past" --compare "$dir/conf" --json \
	>"$dir/one" 2>"$dir/err" &&
	"$aisim" -c "$dir/conf" --history "$dir/past" --compare "$dir/conf" \
		--json >"$dir/two" && cmp -s "$dir/one" "$dir/two"
result $? "a comparison is the same twice, byte for byte"
is "with itself it finds no difference" \
	"$(jq -c '[.difference[] | . == 0 or . == null] | all' "$dir/one")" true
is "the past stands beside it, and how far off the old one is" \
	"$(jq -c '[.real.ended, .real.wait_p95, .old.wait_p95,
		.model_error.wait_p95]' "$dir/one")" '[8,0,176,176]'
is "what the replay lacks is told" "$(jq -r '.left_out[].reason' "$dir/one")" \
	"nodes that failed and came back: no history of them is kept"

"$aisim" -c "$dir/small" --history "$dir/past" --compare "$dir/conf" --json \
	>"$dir/one" 2>"$dir/err"
is "with one CPU jobs wait longer, one by one" \
	"$(jq -c '[.old.wait_p95, .new.wait_p95, .difference.wait_p95,
		.new.ended, .new.cpus_allocated]' "$dir/one")" \
	'[176,414,238,8,1]'
is "queues and users are named, the worst first" \
	"$(jq -c '[.by_queue[].queue, .by_user[].user]' "$dir/one")" \
	'["r","q","u0","u1"]'
"$aisim" -c "$dir/small" --history "$dir/past" --compare "$dir/conf" \
	>"$dir/out" 2>"$dir/err"
grep -qE '^wait p95 +2:56 +6:54 +\+135 % +0:00 +-$' "$dir/out" &&
	grep -qx 'queue r: wait p95 1:53 -> 5:53 (worse)' "$dir/out"
result $? "and for people" || sed 's/^/# /' "$dir/out"

"$aisim" -c "$dir/one-queue" --history "$dir/past" --compare "$dir/conf" \
	--json >"$dir/one" 2>"$dir/err"
is "jobs that one of them cannot take are left out of both" \
	"$(jq -c '[.jobs, .old.ended, .new.ended, .left_out[0].jobs,
		.left_out[0].reason[:21]]' "$dir/one")" \
	"[6,6,6,2,\"there is no queue 'r'\"]"

pool=old
job 1 100 100 160 q COMPLETED | replay >"$dir/past"
"$aisim" -c "$dir/bare" --history "$dir/past" --compare "$dir/conf" --json \
	>"$dir/one" 2>"$dir/err"
is "so are nodes whose pool is gone" \
	"$(jq -r '.left_out[].reason' "$dir/one" | head -n 1)" \
	"node 'n': there is no pool 'old'"
pool=sim

# --- input that is wrong ---------------------------------------------------

job 1 100 100 160 q COMPLETED | replay >"$dir/past"
sed 1s/1/2/ "$dir/past" >"$dir/version"
head -n 3 "$dir/past" >"$dir/cut"
head -c 300 "$dir/past" >"$dir/half"
grep -v '"job"' "$dir/past" >"$dir/less"
sed 's/"from":0/"from":9999/' "$dir/past" >"$dir/head"
job 1 100 100 50 q COMPLETED | replay >"$dir/back"
attempt 1 100 50 | replay >"$dir/attempt"
job 1 100 100 160 q COMPLETED '"new_option":1' | replay >"$dir/newer"
job 1 100 100 160 q COMPLETED '"cpus":-1' | replay >"$dir/cpus"
echo '{"job":[]}' | replay >"$dir/empty"
{ job 1 1 2 3 q COMPLETED && job 1 1 2 3 q COMPLETED; } | replay >"$dir/twice"
bad 1 "version:1: a replay of version 2" -c "$dir/conf" --history "$dir/version"
bad 1 "cut:3: the replay has no end" -c "$dir/conf" --history "$dir/cut"
bad 1 "the replay has no end" -c "$dir/conf" --history "$dir/half"
bad 1 "less:3: lines are missing: it should have 1 jobs" -c "$dir/conf" \
	--history "$dir/less"
bad 1 "head:1: the clock runs backwards" -c "$dir/conf" --history "$dir/head"
bad 1 "back:3: the clock runs backwards: the job ended" -c "$dir/conf" \
	--history "$dir/back"
bad 1 "attempt:3: the clock runs backwards" -c "$dir/conf" \
	--history "$dir/attempt"
bad 1 "newer:3: asked: " -c "$dir/conf" --history "$dir/newer"
bad 1 "cpus:3: asked: field 'cpus'" -c "$dir/conf" --history "$dir/cpus"
bad 1 "empty:3: a job needs" -c "$dir/conf" --history "$dir/empty"
bad 1 "twice:4: job '1' was given in line 3 already" -c "$dir/conf" --history "$dir/twice"
bad 1 "cannot read 'none'" -c "$dir/conf" --history none --compare "$dir/conf"
bad 1 "none" -c "$dir/conf" --history "$dir/past" --compare none
bad 1 "give --compare a file, not a pipe" -c "$dir/conf" --history /dev/stdin \
	--compare "$dir/conf" <"/dev/null"
bad 2 "--compare goes without --events" -c "$dir/conf" --history "$dir/past" \
	--compare "$dir/conf" --events -

echo "1..$tests_run"

#!/bin/sh
# aisim: each *.sim file of the folder aisim has a cluster, its jobs and the
# expected events. The same input gives the same output, and a mistake gives one
# line that names its place.

. "${top_srcdir:=.}/tests/e2e/sim.sh"
cases=$top_srcdir/tests/e2e/aisim

# FILE: splits a case into nodes, jobs and events, which lines of three dashes
# separate; options may follow the dashes of the second such line
split()
{
	printf 'pool sim { }\nqueue q { }\n' >"$dir/conf"
	: >"$dir/jobs" && : >"$dir/want" && : >"$dir/options"
	awk -v dir="$dir" '
		/^---/ { part++; $1 = ""; print >dir "/options"; next }
		{ print >>(dir (part == 0 ? "/conf" : part == 1 ? "/jobs" : "/want")) }
	' "$1"
}

for case in "$cases"/*.sim; do
	split "$case"
	# shellcheck disable=SC2046 # words are wanted
	"$aisim" -c "$dir/conf" -j "$dir/jobs" --events "$dir/got" --check \
		$(cat "$dir/options") >"$dir/out" 2>&1 &&
		[ ! -s "$dir/out" ] && cmp -s "$dir/want" "$dir/got"
	result $? "$(sed -n '1s/^# //p' "$case")"
	diff "$dir/want" "$dir/got" | cat "$dir/out" - | sed 's/^/# /'
done

# STATUS TEXT [WORD]...: tests that aisim with these options exits with STATUS,
# prints a line with TEXT to stderr, and nothing to stdout
bad()
{
	status=$1
	text=$2
	shift 2
	"$aisim" "$@" >"$dir/out" 2>"$dir/err"
	[ $? -eq "$status" ] && [ ! -s "$dir/out" ] &&
		grep -qF -- "$text" "$dir/err"
	result $? "$text"
	sed 's/^/# /' "$dir/out" "$dir/err"
}

printf 'pool sim { }\nqueue q { }\nnode n { pool = sim  cpus = 4  gpus = 2 }\n' \
	>"$dir/conf"
printf 'pool sim { }\nqueue q { }\n\nnode n { pool = sim }\n' >"$dir/dim"
printf 'nonsense\n' >"$dir/broken"
printf '{"at":0,"reserve":{"name":"r","start":9,"end":5,"nodes":["n"]}}\n' \
	>"$dir/reserve-ends"
printf '{"at":0,"reserve":{"name":"r","start":1,"nodes":["n"]}}\n' \
	>"$dir/reserve-half"
printf '\n{"at":0,"reserve":{"name":"r","start":1,"end":5,"nodes":["m"]}}\n' \
	>"$dir/reserve-node"
printf '{"at":0,"reserve":{"name":"%s","start":1,"end":5,"nodes":["n"]}}\n' \
	a b >"$dir/reserve-both"
printf '{"id":"a"}\n{"id":"a"}\n' >"$dir/twice"
printf '\n{"id":"a","gpus":3,"nodes":["n"]}\n' >"$dir/full"
printf '{"id":"a"}\n' >"$dir/jobs"

printf '{"id":"a","submit":9}\n' >"$dir/late"
"$aisim" -c "$dir/conf" -j "$dir/late" --until 8 2>&1 |
	grep -q '^{"jobs":1,"ended":0,"wait":{"mean":0.0000,'
result $? "a job that has not arrived has not ended"

printf '{"id":"a","memory":1024}\n' >"$dir/memory"
"$aisim" -c "$dir/conf" -j "$dir/memory" --events - >"$dir/out" 2>"$dir/err"
grep -q "no job has started; the first: .*memory" "$dir/err"
result $? "it says when nodes lack memory and nothing can start"
sed 's/^/# /' "$dir/err"

bad 2 "give a configuration with -c" -j "$dir/jobs"
bad 2 "give one of --jobs, --swf and --history" -c "$dir/conf"
bad 2 "give one of" -c "$dir/conf" -j "$dir/jobs" --swf "$dir/jobs"
bad 2 "no operands" -c "$dir/conf" -j "$dir/jobs" more
bad 2 "--epoch: bad time 'x'" -c "$dir/conf" -j "$dir/jobs" --epoch x
bad 2 "--epoch: '2001-09-08' is not from 2001-09-09" -c "$dir/conf" \
	-j "$dir/jobs" --epoch 2001-09-08
bad 2 "--until: bad number 'x'" -c "$dir/conf" -j "$dir/jobs" --until x
bad 1 "cannot read '/nonexistent'" -c "$dir/conf" -j /nonexistent
bad 1 "cannot write '/nonexistent/x'" -c "$dir/conf" -j "$dir/jobs" \
	--events /nonexistent/x
bad 1 "cannot write '/dev/full'" -c "$dir/conf" -j "$dir/jobs" \
	--events /dev/full
bad 1 "$dir/broken:1: " -c "$dir/broken" -j "$dir/jobs"
bad 1 "$dir/dim:4: node 'n' needs cpus" -c "$dir/dim" -j "$dir/jobs"
bad 1 "$dir/twice:2: job 'a' was given in line 1" -c "$dir/conf" -j "$dir/twice"
bad 1 "$dir/full:2: job 'a': task 0 does not fit on node 'n'" \
	-c "$dir/conf" -j "$dir/full"
bad 1 "$dir/reserve-ends:1: reserve: it would end before it begins" \
	-c "$dir/conf" -j "$dir/reserve-ends"
bad 1 "$dir/reserve-half:1: reserve: " -c "$dir/conf" -j "$dir/reserve-half"
bad 1 "$dir/reserve-node:2: reserve: there is no node 'm'" \
	-c "$dir/conf" -j "$dir/reserve-node"
bad 1 "$dir/reserve-both:2: reserve: reservation 'a' keeps node 'n'" \
	-c "$dir/conf" -j "$dir/reserve-both"

# WHAT LINE: tests that a trace with LINE as its second line is refused with
# WHAT
bad_line()
{
	printf '{"id":"a"}\n%s\n' "$2" >"$dir/line"
	bad 1 "$dir/line:2: $1" -c "$dir/conf" -j "$dir/line"
}

bad_line "gpus: a number is expected" '{"id":"x","gpus":"two"}'
bad_line "a job has no key 'colour'" '{"id":"x","colour":1}'
bad_line "not JSON" '{"id":'
bad_line "job 'x': there is no queue 'z'" '{"id":"x","queue":"z"}'
bad_line "job 'x': constraint: bad constraint 'a&'" \
	'{"id":"x","constraint":"a&"}'
bad_line "job 'x': --topology: there is no topology level 'row'" \
	'{"id":"x","topology":"row"}'
bad_line "nodes: there is no node 'm'" '{"id":"x","nodes":["m"]}'
bad_line "cron: minute '60'" '{"id":"x","cron":"60 * * * *"}'
bad_line "cron_policy: bad policy 'all'" \
	'{"id":"x","cron":"@daily","cron_policy":"all"}'
bad_line "--cron-tz: cannot open time zone" \
	'{"id":"x","cron":"@daily","cron_tz":"Mars/Base"}'
bad_line "cron_jitter: it is at most 3600 s" \
	'{"id":"x","cron":"@daily","cron_jitter":3601}'
bad_line "a cron entry needs \"cron\"" '{"id":"x","cron_until":9}'
bad_line "held does not go with cron" '{"id":"x","cron":"@daily","held":true}'
bad_line "job 'x': there is no queue 'z'" \
	'{"id":"x","cron":"@daily","queue":"z"}'
bad_line "--cron: '@every 30s' comes every 30 s" '{"id":"x","cron":"@every 30s"}'
bad_line "cron entry 'x' never ends: set its cron_until or --until" \
	'{"id":"x","cron":"@daily"}'
printf '%s\n' '{"id":"c","cron":"@every 1h","cron_until":9999}' \
	'{"id":"d","submit":9999,"dependency":"after:c@3600"}' >"$dir/runs"
bad 1 "$dir/runs:2: job 'd' depends on 'c@3600', which is a run of a cron entry" \
	-c "$dir/conf" -j "$dir/runs"
printf '{"id":"c","cron":"* * * * *"}\n' >"$dir/runs"
bad 1 "$dir/runs:1: cron entries have more than 1000000 runs" \
	-c "$dir/conf" -j "$dir/runs" --until 99999999
bad_line "job 'x': dev: task 0 has 2 GPUs, but asks for 1" \
	'{"id":"x","gpus":1,"nodes":["n"],"dev":[[0,1]]}'
bad_line "job 'x': task 0 does not fit on node 'n'" \
	'{"id":"x","gpus":1,"nodes":["n"],"dev":[[7]]}'
bad_line "dev: devices of 1 tasks for 0 nodes" '{"id":"x","gpus":1,"dev":[[0]]}'
bad_line "dev: no such GPU, or given twice: 1" \
	'{"id":"x","gpus":2,"nodes":["n"],"dev":[[1,1]]}'
bad_line "dev: bad partition '0:3g.40gb': use GPU:PROFILE@START" \
	'{"id":"x","gpus":1,"nodes":["n"],"dev":["0:3g.40gb"]}'
bad_line "dev: no GPU can have the partition '0:3g.40gb@2'" \
	'{"id":"x","gpus":1,"nodes":["n"],"dev":["0:3g.40gb@2"]}'
bad_line "job 'x': dev: task 0 has partition 3g.40gb, but asks for none" \
	'{"id":"x","gpus":1,"nodes":["n"],"dev":["0:3g.40gb@4"]}'
bad_line "job 'x': task 0 does not fit on node 'n'" \
	'{"id":"x","gpus":1,"gpu_type":"1g.6gb","nodes":["n"]}'
printf 'pool p { }\nnode n { cpus = 4 gpus = 1 mig_fixed = {"0:3g.40gb@4"} }\n' >"$dir/fixed"
printf '%s\n' '{"id":"x","gpus":1,"gpu_type":"3g.40gb","nodes":["n"],"dev":["0:3g.40gb@0"]}' \
	>"$dir/dev"
bad 1 "$dir/dev:1: job 'x': task 0 does not fit on node 'n'" \
	-c "$dir/fixed" -j "$dir/dev"
printf 'pool p { }\nnode n { cpus = 4 gpus = 4 gpu_link_groups = 2 }\n' >"$dir/pairs"
printf '%s\n' '{"id":"x","tasks":2,"gpus":1,"links":"strict","nodes":["n","n"],"dev":[[0],[2]]}' \
	>"$dir/dev"
bad 1 "$dir/dev:1: job 'x': dev: more NUMA nodes or link groups than the job demands" \
	-c "$dir/pairs" -j "$dir/dev"
bad_line "job 'x': no GPU has MIG profile 3g.41gb; there are 3g.20gb," \
	'{"id":"x","gpus":1,"gpu_type":"3g.41gb"}'
bad_line "job 'x': links: bad links 'loose'" '{"id":"x","links":"loose"}'
bad_line "node_down: there is no node 'm'" '{"at":1,"node_down":"m"}'
bad_line "gpu_down: NODE:GPU is expected, as in n1:3" '{"at":1,"gpu_down":"n"}'
bad_line "gpu_down: there is no node 'm'" '{"at":1,"gpu_down":"m:0"}'
bad_line "gpu_up: node 'n' has no GPU '2'" '{"at":1,"gpu_up":"n:2"}'
bad_line "cancel: there is no job 'z'" '{"at":1,"cancel":"z"}'
bad_line "reserve: it would begin in the past" \
	'{"at":5,"reserve":{"name":"r","start":1,"end":3,"nodes":["n"]}}'
printf 'queue a { parent = "b" }\nqueue b { parent = "a" }\n' >"$dir/cycle"
bad 1 "$dir/cycle:1: queue 'a': parent: 'b' is itself below 'a'" \
	-c "$dir/cycle" -j "$dir/jobs"

# Read a trace in the Standard Workload Format, with jobs that are too large for
# this cluster.
swf()
{
	echo "$1 $2 -1 $3 $4 -1 -1 $4 $5 -1 1 7 1 -1 1 -1 -1 -1"
}
{
	echo '; a comment'
	swf 1 0 100 3 120
	swf 2 10 50 2 50
	swf 3 20 50 5 50
} >"$dir/swf"
"$aisim" -c "$dir/conf" --swf "$dir/swf" --events "$dir/got" \
	--summary "$dir/sum" 2>"$dir/err"
grep -qxF '{"t":100,"event":"start","job":"2","nodes":{"n":2},"gpus":{}}' \
	"$dir/got" && grep -qF 'jobs left out: 1' "$dir/err"
result $? "a log of the archive is replayed"

# A part of a GPU by memory is another part on nodes with other GPUs.
{
	echo 'pool sim { order = pack }'
	echo 'queue q { }'
	echo 'node a { pool = sim  cpus = 9  gpus = 1  gpu_memory = "80G" }'
	echo 'node b { pool = sim  cpus = 9  gpus = 1  gpu_memory = "40G" }'
} >"$dir/sizes"
{
	echo '{"id":"a","gpu_memory":61440,"nodes":["a"]}'
	echo '{"id":"b","gpu_memory":20480,"nodes":["b"]}'
	for id in c d e; do
		echo "{\"id\":\"$id\",\"gpu_memory\":20480,\"gpus\":0}"
	done
} >"$dir/parts"
is_placed()
{
	jq -rs '[.[] | select(.event == "start") | .job + "=" + (.nodes | keys[0])] |
		sort | join(" ")'
}
[ "$("$aisim" --check -c "$dir/sizes" -j "$dir/parts" --events - --until 1 \
	2>"$dir/err" | is_placed)" = "c=a d=b" ]
result $? "parts of GPUs by memory fit as their nodes allow"
bad_line "job 'x': task 0 does not fit on node 'n'" \
	'{"id":"x","gpu_memory":20480,"nodes":["n"]}'

# A summary has all its keys.
keys=
for key in jobs ended makespan wait bounded_slowdown gpu_utilisation evictions \
	moved passes pass_ms numa_excess link_excess blocks mig_refused \
	placements_per_second peak_rss_mib; do
	grep -q "\"$key\":" "$dir/sum" || keys="$keys $key"
done
[ -z "$keys" ]
result $? "the summary has all keys${keys:+, but for$keys}"
grep -q '"jobs":2,"ended":2,"wait":{"mean":45.0000,"p50":0.0000,' "$dir/sum" &&
	grep -q '"bounded_slowdown":{"mean":1.9000,' "$dir/sum" &&
	grep -q '"makespan":150,' "$dir/sum"
result $? "its sums are right"
[ "$("$aisim" -c "$dir/conf" --swf "$dir/swf" 2>/dev/null | wc -l)" -eq 1 ]
result $? "it is printed when nothing else is asked for"

# A job that prefers one NUMA node and link group gets two for 30 seconds. In the
# last 60 of 100 seconds, 4 of its 8 GPUs are a block. A partition is refused.
cat >"$dir/halves" <<'END'
pool sim { }
queue q { }
node n { pool = sim  cpus = 8  gpus = 8  sockets = 2  gpu_link_groups = 2 }
node m { pool = sim  cpus = 8  gpus = 1  gpu_memory = "80G"  mig = "a100-80" }
END
cat >"$dir/parts" <<'END'
{"id":"left","gpus":3,"nodes":["n"],"dev":[[0,1,2]],"duration":100}
{"id":"right","gpus":3,"nodes":["n"],"dev":[[4,5,6]],"duration":40}
{"id":"wish","gpus":2,"numa":"prefer","duration":30}
{"id":"part","gpus":1,"gpu_type":"4g.40gb","duration":50}
{"id":"late","gpus":1,"gpu_type":"4g.40gb","submit":10,"duration":20,"time_limit":20,"deadline":40}
END
"$aisim" -c "$dir/halves" -j "$dir/parts" --check --summary "$dir/sum" \
	--events "$dir/once" &&
	grep -q '"numa_excess":{"wish":30,"demand":0},"link_excess":{"wish":30,"demand":0},' \
		"$dir/sum" &&
	grep -q '"blocks":{"8":0.00,"4":0.60,"2":1.20},"mig_refused":1,' \
		"$dir/sum"
result $? "tasks out of line, blocks and refused partitions are counted"
grep -qx '{"t":21,"event":"end","job":"late","state":"DEADLINE"}' "$dir/once"
result $? "a job that cannot end by its deadline does not start"

# All jobs that end in the same second are handled in one pass, however many
# there are.
printf 'pool sim { }\nqueue q { }\nnode n[1-20] { pool = sim  cpus = 1000 }\n' \
	>"$dir/wide"
awk 'BEGIN { for (i = 0; i < 20000; i++)
	printf "{\"id\":\"%d\",\"cpus\":1,\"duration\":10}\n", i }' >"$dir/many"
"$aisim" -c "$dir/wide" -j "$dir/many" --summary "$dir/sum"
passes=$(sed 's/.*"passes":\([0-9]*\).*/\1/' "$dir/sum")
grep -q '"ended":20000,' "$dir/sum" && [ "$passes" -le 10 ]
result $? "20,000 jobs that end in one second take $passes passes"

# No pass is made when a job ends and no job waits.
awk 'BEGIN { for (i = 0; i < 50; i++)
	printf "{\"id\":\"%d\",\"cpus\":1,\"submit\":%d,\"duration\":10}\n", \
		i, 20 * i }' >"$dir/few"
"$aisim" -c "$dir/wide" -j "$dir/few" --summary "$dir/sum"
passes=$(sed 's/.*"passes":\([0-9]*\).*/\1/' "$dir/sum")
grep -q '"ended":50,' "$dir/sum" && [ "$passes" -eq 50 ]
result $? "50 jobs that never wait take 50 passes ($passes)"

# A pass is made, though, if the end of a job lets a running job get more tasks.
printf 'pool sim { }\nqueue q { }\nnode n { pool = sim  cpus = 2 }\n' >"$dir/two"
cat >"$dir/grows" <<'END'
{"id":"first","cpus":1,"duration":10}
{"id":"elastic","cpus":1,"tasks":2,"min_tasks":1,"duration":100}
END
"$aisim" -c "$dir/two" -j "$dir/grows" --events "$dir/grown"
grep '"t":10,' "$dir/grown" | grep -q '"job":"elastic"'
result $? "a running job grows when another ends"

# A history of two long jobs, and short ones that wait for them. Which jobs wait
# depends on the order of jobs.
past()
{
	printf '{"job_id":%d,"user":"u","queue":"q","class":"train",' "$1"
	printf '"state":"COMPLETED","priority":0,"tasks":1,"min_tasks":1,'
	printf '"submit_time":%d,"start_time":%d,"end_time":%d,' "$2" "$2" \
		$(($2 + $3))
	printf '"time_limit":%d,"resources":{"cpus":1,"memory_mib":0,"gpus":2}}' \
		"$4"
}
{
	printf '{"jobs":['
	past 1 100 1000 2000 && printf ,
	past 2 101 1000 2000 && printf ,
	past 3 102 10 60 && printf ,
	past 4 102 10 60 && printf ,
	past 5 102 10 60 && printf ']}\n'
} >"$dir/past"
cat >"$dir/advice" <<'END'
  ORDER         HOLD_AFTER    ENDED   WAIT_MEAN    WAIT_P95 SLOW_MEAN  SLOW_P95
> points        1-00:00:00        5        1405        2018     121.7     202.8
  points             never        5        1405        2018     121.7     202.8
  shortest      1-00:00:00        5         811        1029      61.7     102.8
  shortest           never        5         811        1029      61.7     102.8
  smallest      1-00:00:00        5         811        1029      61.7     102.8
  smallest           never        5         811        1029      61.7     102.8
  least_served  1-00:00:00        5        1405        2018     121.7     202.8
  least_served       never        5        1405        2018     121.7     202.8
  least_left    1-00:00:00        5         218        1029       1.8       3.0
  least_left         never        5         218        1029       1.8       3.0
Lowest mean slowdown: order = least_left  hold_after = "1-00:00:00"
END
"$aisim" -c "$dir/conf" --history "$dir/past" --advise >"$dir/out" 2>&1 &&
	cmp -s "$dir/advice" "$dir/out"
result $? "--advise says which order would have served a history best"
diff "$dir/advice" "$dir/out" | sed 's/^/# /'
printf 'scheduling { order = least_left }\n' | cat "$dir/conf" - >"$dir/left"
"$aisim" -c "$dir/left" --history "$dir/past" --advise >"$dir/out" 2>&1
grep -q '^> least_left    1-00' "$dir/out" &&
	tail -n 1 "$dir/out" | grep -q '^No other order has a lower mean'
result $? "it says so when that is the configured one"
# With this hold_after, jobs that have waited for a minute go first, so the
# order of the others hardly matters.
printf 'scheduling { order = shortest  hold_after = "60s" }\n' |
	cat "$dir/conf" - >"$dir/hold"
"$aisim" -c "$dir/hold" --history "$dir/past" --advise --json >"$dir/out" 2>&1
grep -qF '{"orders":[{"order":"points","hold_after":60,"configured":false,"best":false,"jobs":5,"ended":5,"wait":{"mean":1404.6000,"p95":2018.0000},"bounded_slowdown":{"mean":121.6798,"p95":202.8000}}' \
	"$dir/out" &&
	grep -q '{"order":"shortest","hold_after":60,"configured":true,"best":false.*"wait":{"mean":1404.6' \
		"$dir/out" &&
	grep -q '{"order":"shortest","hold_after":null,"configured":false,"best":false,[^}]*"wait":{"mean":810.6' \
		"$dir/out"
result $? "as JSON, and with other times to hold back"
sed 's/^/# /' "$dir/out"
bad 2 "--advise goes without --events" -c "$dir/conf" -j "$dir/jobs" --advise \
	--events -
bad 1 "give --advise a file, not a pipe" -c "$dir/conf" -j /dev/stdin --advise \
	<<-'END'
	{"id":"a"}
END
bad 2 "--json goes with --advise" -c "$dir/conf" -j "$dir/jobs" --json

# Simulate 500 jobs twice.
awk 'BEGIN {
	srand(7)
	for (i = 0; i < 500; i++)
		printf "{\"id\":\"j%d\",\"user\":\"u%d\",\"gpus\":%s,\"submit\":%d,\"duration\":%d,\"priority\":%d}\n",
			i, rand() * 5, rand() < .3 ? .5 : 1 + int(rand() * 2),
			rand() * 900, rand() * 60, rand() * 3
	print "{\"at\":300,\"node_down\":\"n\"}\n{\"at\":400,\"node_up\":\"n\"}"
}' >"$dir/many"
"$aisim" -c "$dir/conf" -j "$dir/many" --check --events "$dir/once" &&
	"$aisim" -c "$dir/conf" -j "$dir/many" --events "$dir/again" &&
	cmp -s "$dir/once" "$dir/again"
result $? "the same input gives the same output"
[ "$(grep -c '"event":"end"' "$dir/once")" -eq 500 ]
result $? "all jobs end"

echo "1..$tests_run"

#!/bin/sh
# With exact time limits and no new jobs, a job starts when it was promised,
# even if its queue has limits or jobs are moved for others. With several users
# or queues, the job may start later if the order of jobs has changed. If new
# jobs arrive as well, no job behind a promised job delays it.

. "${top_srcdir:=.}/tests/e2e/sim.sh"

# SEED yes|no [KEY]: writes a cluster, where jobs may be moved or not, and jobs
# that are all submitted at the beginning. KEY is a limit of their queue; or
# "users" or "queues": then the jobs are of three users or in three queues; or
# "arrays": then one in ten is an array that runs some of its tasks at a time
world()
{
	awk -v seed="$1" -v move="$2" -v key="${3-}" -v dir="$dir" '
	function roll(n) {
		seed = seed * 16807 % 2147483647
		return int(seed / 2147483647 * n)
	}
	BEGIN {
		seed = seed * 7919 + 1
		for (i = 0; i < 20; i++)
			roll(2)
		nodes = 2 + roll(5)
		gpus = 4 * (1 + roll(2))
		conf = dir "/conf"
		print "pool sim { }" >conf
		soft = key == "quota" ? "no" : "yes"
		print "class soft { preemptible = " soft " }" >conf
		limit = key !~ /_/ ? "" : key " = " gpus + roll(nodes * gpus / 2)
		if (key ~ /limit|quota/)
			limit = key " { gpus = " gpus + roll(nodes * gpus) " }"
		print "queue q { class = soft " limit " }" >conf
		for (i = 1; i <= 2 && key == "queues"; i++)
			print "queue q" i " { class = soft }" >conf
		print "scheduling { consolidate = " move " }" >conf
		for (i = 0; i < nodes; i++)
			print "node n" i " { pool = sim cpus = 32 gpus = " gpus " }" >conf
		split("1 1 1 2 2 4 " gpus, size, " ")
		for (i = 20 + roll(60); i > 0; i--) {
			time = 10 + roll(1990)
			tasks = roll(5) ? 1 : 2 + roll(nodes - 1)
			printf "{\"id\":\"j%d\",\"gpus\":%d,\"tasks\":%d,", i,
				size[1 + roll(7)], tasks >(dir "/jobs")
			if (key == "users")
				printf "\"user\":\"u%d\",", roll(3) >(dir "/jobs")
			if (key == "queues")
				printf "\"queue\":\"q%s\",",
					substr("12", 1 + roll(3), 1) >(dir "/jobs")
			if (key == "arrays" && !roll(10))
				printf "\"array\":\"0-%d%%%d\",", 1 + roll(12),
					1 + roll(4) >(dir "/jobs")
			printf "\"duration\":%d,\"time_limit\":%d}\n", time,
				time >(dir "/jobs")
		}
	}'
}

# SEED yes|no: writes nodes with several NUMA nodes and link groups, and jobs
# that arrive one after the other
numa_world()
{
	awk -v seed="$1" -v move="$2" -v dir="$dir" '
	function roll(n) {
		seed = seed * 16807 % 2147483647
		return int(seed / 2147483647 * n)
	}
	function pick(words,  n, word) {
		n = split(words, word, " ")
		return word[1 + roll(n)]
	}
	BEGIN {
		seed = seed * 7919 + 1
		for (i = 0; i < 20; i++)
			roll(2)
		conf = dir "/conf"
		print "pool sim { }" >conf
		print "queue a { quota { gpus = 4 } }" >conf
		print "queue b { }" >conf
		print "scheduling { consolidate = " move " }" >conf
		printf "node \"n[0-%d]\" { pool = sim cpus = %d", roll(4),
			pick("8 16") >conf
		printf " memory = \"%dG\" gpus = %d sockets = %d",
			pick("32 64"), pick("4 8"), pick("1 2 2 4") >conf
		printf " gpu_link_groups = %d }\n", pick("1 2 2 4") >conf
		for (i = 10 + roll(30); i > 0; i--) {
			time = 10 + roll(190)
			tasks = pick("1 1 1 2 3")
			printf "{\"id\":\"j%d\",\"queue\":\"%s\",", i,
				pick("a b") >(dir "/jobs")
			printf "\"user\":\"%s\",\"tasks\":%d,", pick("u v w"),
				tasks >(dir "/jobs")
			if (tasks > 1 && !roll(3))
				printf "\"min_tasks\":1," >(dir "/jobs")
			printf "\"cpus\":%d,\"gpus\":%d,\"memory\":%d,",
				pick("1 1 2 4"), pick("0 1 1 2 4"),
				pick("0 1000 8000 16000") >(dir "/jobs")
			if (roll(5) < 2)
				printf "\"numa\":\"%s\",",
					pick("strict strict tight prefer") \
					>(dir "/jobs")
			printf "\"links\":\"%s\",\"submit\":%d,",
				pick("prefer prefer strict any"),
				roll(200) >(dir "/jobs")
			printf "\"duration\":%d,\"time_limit\":%d}\n", time,
				time >(dir "/jobs")
		}
	}'
}

# Tests that the checker finds no mistake in any plan: each promised start is
# possible, and no later job delays it.
numa_worlds()
{
	seed=0
	while [ "$((seed += 1))" -le 60 ]; do
		numa_world "$seed" "$1"
		"$aisim" -c "$dir/conf" -j "$dir/jobs" --check --until 5000 \
			>"$dir/out" 2>&1 && continue
		echo "# world $seed: $(tail -n1 "$dir/out")"
		return 1
	done
}

# yes|no WORLDS [KEY]: prints "KEPT LATE of ALL". ALL is the number of promised
# starts, LATE the number of those that were late because the order of jobs had
# changed, KEPT the per mille of ALL that were kept. LATE ones, and starts that
# a job ahead delayed, count as kept
kept()
{
	seed=0
	while [ "$((seed += 1))" -le "$2" ]; do
		world "$seed" "$1" "${3-}"
		"$aisim" -c "$dir/conf" -j "$dir/jobs" --check --summary - ||
			echo failed
	done | awk '
		/failed/ { exit 1 }
		{
			match($0, /"promises":[0-9]+/)
			n = substr($0, RSTART + 11, RLENGTH - 11)
			match($0, /"promises_kept":[0-9.]+/)
			kept += n * substr($0, RSTART + 16, RLENGTH - 16)
			match($0, /"promises_overtaken":[0-9]+/)
			kept += substr($0, RSTART + 21, RLENGTH - 21)
			match($0, /"promises_passed":[0-9]+/)
			passed += substr($0, RSTART + 18, RLENGTH - 18)
			told += n
		}
		END {
			if (told <= 500)
				print "0 0"
			else
				printf "%d %d of %d\n",
					1000 * (kept + passed) / told, passed,
					told
		}'
}

# NAME MOVE WORLDS [KEY]: tests that promised starts are kept, and prints how
# many
check_kept()
{
	name=$1
	shift
	kept=$(kept "$@")
	passed=${kept#* }
	[ "${kept%% *}" -ge 995 ] &&
		case ${3-} in
		users | queues) [ "${passed%% *}" -gt 0 ] ;;
		*) [ "${passed%% *}" -eq 0 ] ;;
		esac
	result $? "$name"
	echo "# ${kept%% *} of 1000; $passed after the order had changed"
}

for move in no yes; do
	check_kept "told starts are kept, consolidate = $move" $move 40
	numa_worlds $move
	result $? "told starts hold with NUMA nodes, consolidate = $move"
done
for key in max_jobs limit quota max_jobs_per_user max_gpus_per_user users queues arrays; do
	check_kept "told starts are kept, $key" no 15 $key
done
echo "1..$tests_run"

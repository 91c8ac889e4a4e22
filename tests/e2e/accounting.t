#!/bin/sh
# Usage is summed up by hours, days and months, and the sums equal those of the
# attempts.

. "${top_srcdir:=.}/tests/e2e/jobs.sh"

stop_daemon
configure 'queue batch { }
pool here { runner = local }
price { cpu = 3600 }
accounting { time_zone = "Europe/Berlin" }'
start_daemon

# row FILTER OPTION...: prints a part of a report in JSON
row()
{
	filter=$1
	shift
	aiq --report --json "$@" | jq -r "$filter"
}

# NAME TEXT COMMAND...: tests that the command exits with 2, as after a mistake
# on the command line, and prints TEXT once
mistaken()
{
	name=$1
	text=$2
	shift 2
	run "$@"
	# shellcheck disable=SC2154 # run() sets it
	is "$name" "$rc $(printf '%s\n' "$err" | grep -cF -- "$text")" "2 1"
}

# N: adds N to a user's newest sum of an hour, of a day and of a month; only
# while no daemon runs
add_to_sums()
{
	sqlite3 "$dir/state/aisched.db" \
		"UPDATE rollup SET held_cpu = held_cpu + $1 WHERE key IN (SELECT
		min(id) FROM rollup_key WHERE user <> '') AND
		start IN (SELECT max(start) FROM rollup GROUP BY level)"
}

# Adds the sums of an hour 100 days ago; only while no daemon runs.
add_old_hour()
{
	sqlite3 "$dir/state/aisched.db" <<-END
		CREATE TEMP TABLE old AS SELECT * FROM rollup
			WHERE level = 0 LIMIT 1;
		UPDATE old SET start = start - 100 * 86400;
		INSERT INTO rollup SELECT * FROM old;
	END
}

# --- one job ---------------------------------------------------------------

is "there is nothing at first" "$(row '.total.jobs, (.report | length)' |
	xargs)" "0 0"
gate a b c
id=$(submit -c 2 -A vision --wrap "$(at_gate a)")
wait_for is_state "$id" RUNNING
is "a job that runs is in it" "$(row '.total.jobs')" 1
ok "up to now" wait_for \
	"aiq --report --json | jq -e '.total.cpu_hours > 0' >/dev/null"
aictl requeue "$id"
wait_for "[ \"\$(aiq -h -o attempt $id)\" = 2 ] && is_state $id RUNNING"
open_gate a
becomes "it ends" "$id" COMPLETED
ok "the sums are those of the attempts" aictl accounting check
is "two attempts are one job" "$(row '.total.jobs')" 1
is "it is in its account" \
	"$(row '.report[] | .account, .completed' --by account | xargs)" "vision 1"
is "and in no other" "$(row '.total.jobs' -A other)" 0
is "its cost is that of the time that it held" \
	"$(row '(.total.cost - .total.cpu_hours * 3600) | fabs < 0.01')" true
held=$(aiq --history --attempts --json "$id" |
	jq '[.attempts[].held_cpu_seconds] | add')
is "as its attempts say" \
	"$(row "(.total.cpu_hours * 3600 - $held) | fabs < 0.01")" true
is "the job says it, too" "$(aiq --json "$id" | jq -r '.jobs[0] | .pool,
	(.cost - .held_cpu_seconds | fabs < 0.01)' | xargs)" "here true"
is "in columns" "$(aiq -h -o pool,attempts,cost "$id" | sed 's/\..*//' |
	xargs)" "here 2 ${held%.*}"
is "each attempt has its part" "$(aiq --history --attempts -h -o cost "$id" |
	awk -v held="$held" '{ n += $1 } END { n -= held
	print n * n < 0.0001 }')" 1
is "rows add up" "$(row \
	'([.report[].cpu_hours] | add) - .total.cpu_hours | fabs < 0.000002' \
	--by user,queue,hour)" true
group=$(id -gn "$(id -un)")
is "a group has what its users had" \
	"$(row '.report[] | .group, .user, .jobs' --by group,user | xargs)" \
	"$group $(id -un) 1"
is "in CSV" "$(aiq --report --csv --by group -o jobs | tr -d '\r' | xargs)" \
	"group,jobs $group,1"
for period in hour:3600 day:86400 week:604800; do # days may have 23 or 25 hours
	is "rows say when their ${period%:*} is" "$(row '.report[0] |
		.end - .start - '"${period#*:} | fabs <= 3600" --by "${period%:*}")" true
done
is "an hour has 3600 s" "$(row '.report[0] | .end - .start' --by hour)" 3600

# --- the daemon is killed --------------------------------------------------

id=$(submit -A '=1+1,"x' --wrap "$(at_gate b)")
wait_for is_state "$id" RUNNING
kill_daemon
start_daemon
ok "after a crash as well" aictl accounting check
open_gate b
becomes "it ends" "$id" COMPLETED
ok "and at its end" aictl accounting check
like "a formula is none in CSV" \
	"$(aiq --report --csv --by account -o jobs | tr -d '\r')" \
	"^\"'=1\\+1,\"\"x\",1"
is "the header names the columns" \
	"$(aiq --report --csv --by account,queue -o jobs,cost | head -n 1 |
	tr -d '\r')" "account,queue,jobs,cost"
if command -v sqlite3 >/dev/null; then
	stop_daemon
	add_to_sums 1
	start_daemon
	fails "a sum that is wrong is found" 1 "held_cpu is 1 too much" \
		aictl accounting check
	stop_daemon
	add_to_sums -1
	start_daemon
else
	skip "a sum that is wrong is found" "takes sqlite3"
fi

# --- another price for usage -----------------------------------------------

# Prints the cost of all queues, according to the metrics.
counted()
{
	aictl metrics | awk '/^aisched_cost_total[{].*currency="EUR"/ { n += $2 }
		END { printf "%.3f\n", n }'
}
counted=$(counted) past=$(row .total.cost)
aiq --report --json --by queue >"$dir/before"
id=$(submit --wrap "$(at_gate c)")
wait_for is_state "$id" RUNNING
ok "a job costs while it runs" wait_for \
	"aiq -h -o cost $id | awk '{ exit !(\$1 > 0.1) }'"
sed -i 's/^price .*/price { cpu = 0 }/' "$conf"
ok "a metric grows with what is held" wait_for \
	"counted | awk '{ exit !(\$1 > $counted + 0.1) }'"
ok "the price falls" aictl reload
cost=$(row .total.cost)
grown=$(counted)
ok "by as much as the reports say" awk "BEGIN {
	n = $grown - $counted - ($cost - $past)
	exit !(n * n < 0.0001) }"
open_gate c
becomes "the job ends" "$id" COMPLETED
is "what is past costs as before" "$(row .total.cost)" "$cost"
# shellcheck disable=SC2119
restart
is "and is part of the job's cost" "$(aiq --json "$id" | jq '.jobs[0] |
	.cost > 0.1 and .cost < .held_cpu_seconds + 0.001')" true

# --- pools -----------------------------------------------------------------

# FILTER: prints a part of the report on the pool's CPUs
pool()
{
	row ".report[] | select(.resource == \"cpus\") | $1" --by pool
}
adds_up='.allocated + .reserved + .drained + .down + .idle - 1 | fabs < 0.00001'
is "a pool is idle where nothing else is" "$(pool "$adds_up")" true
is "what is allocated is what jobs held" "$(echo "$(row .total.cpu_hours) $(pool \
	'.allocated * .offered_hours')" |
	awk '{ print ($1 - $2) ^ 2 < 0.00001 }')" 1
is "the other columns" "$(pool '.pool, .reserved, .drained, .down' | xargs)" \
	"here 0 0 0"
aictl drain "$(uname -n)" --reason test
# shellcheck disable=SC2016 # wait_for expands it
ok "what is drained is told" wait_for '[ "$(pool ".drained > 0")" = true ]'
offered=$(pool .offered_hours)
kill_daemon
has_sqlite=$(command -v sqlite3)
[ -z "$has_sqlite" ] || add_old_hour
start_daemon
if [ -n "$has_sqlite" ]; then
	like "on a terminal a long check says how far it is" "$(script -qec \
		"aictl accounting check" /dev/null </dev/null | tr '\r' '\n')" \
		"^checked up to 20[0-9-]+ \([0-9]+ %\)"
	unlike "but nowhere else" "$(aictl accounting check 2>&1)" "up to"
fi
ok "nothing is lost when the daemon is" wait_for \
	"[ \"\$(pool '.offered_hours > $offered and .drained > 0')\" = true ]"
is "and it adds up" "$(pool "$adds_up")" true
aictl undrain "$(uname -n)"
like "the table" "$(aiq --report --by pool -h | head -n 1)" \
	"^here +cpus +[0-9.]+ +[0-9]+ % +[0-9]+ % +0 % +[0-9]+ % +0 % +[0-9]+ %$"
is "CSV" "$(aiq --report --by pool --csv -o idle,down | head -n 1 |
	tr -d '\r')" "pool,resource,idle,down"
is "other pools" "$(row '.report | length' --by pool --pool other)" 0
mistaken "by pools and users" "--by pool goes with no other key" \
	aiq --report --by pool,user
mistaken "pools of a user" "no filter but --pool" \
	aiq --report --by pool -u root
mistaken "a column of use" "a report by pool has no column 'jobs'" \
	aiq --report --by pool -o jobs

# --- mistakes --------------------------------------------------------------

mistaken "an unknown key" "no report is by 'colour'" aiq --report --by colour
mistaken "a key twice" "'user' is given twice" aiq --report --by user,user
mistaken "an unknown column" "no column 'colour'" aiq --report -o colour
mistaken "time that runs backwards" "--since is after --until" \
	aiq --report --since 2026-02-01 --until 2026-01-01
is "before all data" "$(row .total.jobs --since 2001-01-01 \
	--until 2001-02-01)" 0
if [ -n "$has_sqlite" ]; then # 10 s after the daemon's start
	ok "old hours are removed" wait_for \
		"aiq --report --by hour --since 2001-01-01 2>&1 |
		grep -q 'hours before .* are no longer known'"
	is "days are reported" "$(row .total.jobs --by day --since 2001-01-01)" \
		"$(row .total.jobs --since 2001-01-01)"
else
	skip "old hours are removed" "takes sqlite3"
	skip "days are reported" "takes sqlite3"
fi
ok "sums of pools and of old hours are not compared" aictl accounting check
fails "an unknown check" 2 "accounting takes 'check'" aictl accounting audit
fails "another zone takes a restart" 1 \
	"changing accounting.time_zone needs a restart" \
	sh -c "sed -i 's,Europe/Berlin,UTC,' '$conf'; aictl reload"
done_testing

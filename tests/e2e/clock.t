#!/bin/sh
# The wall clock is set while jobs run: a day ahead, as on a machine that gets
# the time from the network only after it has booted; and then back.
# shellcheck disable=SC2016,SC2119 # jobs expand their own variables

. "$top_srcdir/tests/e2e/jobs.sh"

stop_daemon
CLOCK_FILE=$PWD/clock
LD_PRELOAD=$(realpath "$top_builddir")/tests/e2e/clock.so
ASAN_OPTIONS=$ASAN_OPTIONS:verify_asan_link_order=0
export CLOCK_FILE LD_PRELOAD ASAN_OPTIONS
truncate -s 8 "$CLOCK_FILE"
mkfifo "$CLOCK_FILE.set"
exec 7<>"$CLOCK_FILE.set"

# SECONDS: sets the clock that many seconds ahead of the true time
set_clock()
{
	perl -e 'print pack "q", $ARGV[0] * 1e9' -- "$1" 1<>"$CLOCK_FILE"
	printf 12345678 >&7
	times_set=$((times_set + 1))
	ok "the clock is set" wait_for \
		'[ "$(grep -c "clock set by_s=" "$log")" -eq "$times_set" ]'
}
times_set=0

# JOB: prints for how many hundreds of seconds it ran and held a CPU
hundreds()
{
	aiq --json "$1" | jq '.jobs[0] | [.elapsed_ms / 1e5, .held_cpu_seconds /
		100] | map(floor) | join(" ")' -r
}

start_daemon
gate a b
id=$(submit -t 60 --wrap "$(at_gate a)")
late=$(submit -t 60 --begin now+2hours --wrap true)
# Its time is not to come while the test runs.
cron=$(aisub --parsable --cron "$((($(date +%-M) + 30) % 60)) * * * *" -t 60 \
	--wrap true)
wait_for is_state "$id" RUNNING
is "another may begin later" "$(state_of "$late")" PENDING

set_clock 86400
becomes "it begins as its time has come" "$late" COMPLETED
runs()
{
	[ "$(aictl cron show "$cron" --json | jq .runs)" = "$1" ]
}
ok "of the times that are missed the last one runs" wait_for runs 1
is "a job goes on" "$(state_of "$id")" RUNNING
is "and has not run for a day" "$(hundreds "$id")" "0 0"
open_gate a
becomes "it ends as it would have" "$id" COMPLETED
is "what it used is what it used" "$(hundreds "$id")" "0 0"
ok "all is summed up" aictl accounting check

id=$(submit -t 60 --wrap "$(at_gate b)")
wait_for is_state "$id" RUNNING
set_clock -86400
is "a clock that is set back ends no job" "$(state_of "$id")" RUNNING
next=$(submit -t 60 --wrap true)
becomes "another runs" "$next" COMPLETED
ok "recurring work does not run again" runs 1
open_gate b
becomes "the first one ends" "$id" COMPLETED
is "and has not run for a day either" "$(hundreds "$id")" "0 0"
ok "all is still summed up" aictl accounting check
is "nor did the pool offer a day" "$(aiq --report --by pool --json |
	jq '.report[0].offered_hours < 12')" true
aictl cron delete "$cron"

# SECONDS: sets the clock while no daemon runs
set_clock_unseen()
{
	stop_daemon
	perl -e 'print pack "q", $ARGV[0] * 1e9' -- "$1" 1<>"$CLOCK_FILE"
	start_daemon
	times_set=$((times_set + 1))
	is "a daemon notices that the clock was set before it started" \
		"$(grep -c "clock set by_s=" "$log")" "$times_set"
}
gate c
id=$(submit -t 60 --wrap "$(at_gate c)")
wait_for is_state "$id" RUNNING
set_clock_unseen 0
is "its job goes on" "$(state_of "$id")" RUNNING
is "and has not run for a day" "$(hundreds "$id")" "0 0"
set_clock_unseen -86400
is "it goes on when the clock was set back, too" "$(state_of "$id")" RUNNING
restart
is "a clock that was not set is not said to be" \
	"$(grep -c "clock set by_s=" "$log")" "$times_set"
open_gate c
becomes "it ends" "$id" COMPLETED
is "and used what it used" "$(hundreds "$id")" "0 0"
ok "all is summed up to the end" aictl accounting check

# Pretend that the machine has booted again, with a clock that is two days
# behind.
stop_daemon
sqlite3 "$dir/state/aisched.db" "UPDATE meta SET value = value + 1
	WHERE key = 'clock_boot'"
perl -e 'print pack "q", $ARGV[0] * 1e9' -- -172800 1<>"$CLOCK_FILE"
start_daemon
ok "that the machine was restarted is told" \
	grep -q "machine restarted since_last_commit_s=-8" "$log"
is "and that its clock went back" "$(grep -c "clock set by_s=" "$log")" \
	$((times_set + 1))
done_testing

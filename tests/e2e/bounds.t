#!/bin/sh
# No request makes a turn of the daemon's loop long, whatever its arguments.
# shellcheck disable=SC2119 # start_daemon takes options

. "$top_srcdir/tests/e2e/jobs.sh"

stop_daemon
unset AISCHED_CHECK_PLANS
configure "
max_user_jobs = 2000000
queue default { }
pool here { runner = local }
node \"$(uname -n)\" { pool = here  cpus = 4  memory = \"4G\" }"
start_daemon
aictl drain "$(uname -n)" -r test
long=$("$top_builddir/tests/e2e/bounds" beside) || long=failed
is "--test-only and dump are planned and written beside the loop" "$long" ""
stop_daemon
rm -r "$dir/state"
start_daemon
job=$(submit -H -o /dev/null --wrap true)
long=$("$top_builddir/tests/e2e/bounds" vain "$job") || long=failed
is "jobs that end with the one that they depend on do so in slices" "$long" ""
is "all of them" "$(aiq --no-header | wc -l)" 0
stop_daemon
rm -r "$dir/state"
start_daemon
task=$(submit -a 0 -o /dev/null --wrap true)
job=$(submit -o /dev/null --wrap true)
live=$(submit -a 0-999999 -H -o /dev/null --wrap true)
split=$(submit -a 0-9999 -H -o /dev/null --wrap true)
entry=$(submit --cron '0 0 29 2 *' -o /dev/null --wrap true)
becomes "a task has ended" "$task" COMPLETED
becomes "a job, too" "$job" COMPLETED

stop_daemon
"$top_builddir/tests/e2e/bounds" fill "$dir/state/aisched.db" ||
	bail "the history cannot be filled"
start_daemon
is "they are in the history many times" "$(state_of 1000000_60000)" COMPLETED
long=$("$top_builddir/tests/e2e/bounds" ask "$live" 1000000 "$entry" "$split") || long=failed
is "each request has a case, and none makes a turn too long" "$long" ""

done_testing

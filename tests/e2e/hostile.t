#!/bin/sh
# Three ordinary users do all they can to hold up a fourth.
# shellcheck disable=SC2119 # start_daemon takes options

. "$top_srcdir/tests/e2e/jobs.sh"

is_root || skip_all "takes root, to be others"

stop_daemon
unset AISCHED_CHECK_PLANS
configure "
max_user_jobs = 100000
queue default { }
pool here { runner = local }
node \"$(uname -n)\" { pool = here  cpus = 4  memory = \"4G\" }"
start_daemon
daemon=$daemon_pid
cp "$top_builddir/tests/e2e/hostile" "$dir/bin/hostile"
chmod 755 "$dir/bin/hostile"

first=$(as_user nobody aisub --parsable -H -o /dev/null --wrap true)

# What holds anywhere are the steps of a turn and the memory; how long the fourth
# waits is told, and bounded by what no machine may take.
for user in daemon bin man; do
	as_user "$user" nice -n 10 hostile attack 31 2>/dev/null &
	attackers="${attackers-} $!"
done
used=$(as_user nobody hostile use 30) || used='0 99999'
# shellcheck disable=SC2086 # words are wanted
wait $attackers
rounds=${used% *} slowest=${used#* }
echo "# $rounds rounds, the slowest request took $slowest ms"
ok "some rounds were done" [ "$rounds" -ge 1 ]
ok "no request of the fourth took ten seconds" [ "$slowest" -lt 10000 ]

steps=$(aictl --json status | sed 's/.*"turn_steps_max": *\([0-9]*\).*/\1/')
echo "# the longest turn took $steps steps"
ok "no turn did more than it may" [ "$steps" -le 1000000 ]
most=$(sed -n 's/^VmHWM:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$daemon/status")
echo "# the daemon had at most $((most / 1024)) MiB"
ok "memory is bounded" [ "$most" -lt 2000000 ]

is "the daemon is the same" "$daemon_pid" "$daemon"
is "a job from before is still there" "$(state_of "$first")" PENDING
is "nothing of the fourth is lost" \
	"$(as_user nobody aiq -h --history -o comment,state | grep -c 'good.*CANCELLED')" \
	"$rounds"
as_user nobody aictl release "$first"
becomes "and runs" "$first" COMPLETED

done_testing

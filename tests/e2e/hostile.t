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

# SECONDS: rounds, and how long the slowest request took, in $rounds and $slowest.
all=0
use()
{
	used=$(as_user nobody hostile use "$1") || used='0 99999'
	rounds=${used% *} slowest=${used#* }
	all=$((all + rounds))
}

# Others may have much of the machine: what the fourth may wait is a second
# where nobody attacks and it waits for 100 ms at most, and it is measured again
# when it was too long.
for try in 1 2 3; do
	use 3
	limit=$((slowest > 100 ? 10 * slowest : 1000))
	for user in daemon bin man; do
		as_user "$user" nice -n 10 hostile attack 21 2>/dev/null &
		attackers="${attackers-} $!"
	done
	use 20
	# shellcheck disable=SC2086 # words are wanted
	wait $attackers
	attackers=
	echo "# try $try: $rounds rounds, the slowest request took $slowest of $limit ms"
	[ "$slowest" -ge "$limit" ] || break
done
ok "some rounds were done" [ "$rounds" -ge 1 ]
ok "no request of the fourth took too long" [ "$slowest" -lt "$limit" ]

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
	"$all"
as_user nobody aictl release "$first"
becomes "and runs" "$first" COMPLETED

done_testing

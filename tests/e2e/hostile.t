#!/bin/sh
# Three ordinary users do all they can to delay a fourth, for a minute.
# shellcheck disable=SC2016,SC2119 # jobs expand their own variables

. "$top_srcdir/tests/e2e/jobs.sh"

is_root || skip_all "takes root, to be others"

seconds=60

none_of_them()
{
	[ -z "$(aiq -h -u lp,news,uucp)" ]
}

# Prints the processes of the three.
theirs()
{
	pgrep -u lp,news,uucp | xargs
}

nothing_left()
{
	[ -z "$(ls -A "$dir/tmp" 2>/dev/null)" ] && [ "$(theirs)" = "$before" ]
}

stop_daemon
unset AISCHED_CHECK_PLANS
configure "
max_user_jobs = 100000
queue default { }
pool here { runner = local }
node \"$(uname -n)\" { pool = here  cpus = 4  memory = \"4G\" }"
port=$(free_port)
sed -i "s,^listen .*,listen = {\"$AISCHED_SOCKET\"\, \"tcp://127.0.0.1:$port\"}," \
	"$conf"
start_daemon
daemon=$daemon_pid
cp "$top_builddir/tests/e2e/hostile" "$dir/bin/hostile"
chmod 755 "$dir/bin/hostile"

first=$(as_user nobody aisub --parsable -H -o /dev/null --wrap true)

for user in daemon bin man; do
	as_user "$user" nice -n 10 hostile attack "$((seconds + 1))" "$port" \
		2>/dev/null &
	attackers="${attackers-} $!"
done
used=$(as_user nobody hostile use "$seconds") || used='0 99999 0 0 0'
# shellcheck disable=SC2086 # words are wanted
wait $attackers
# shellcheck disable=SC2086 # words are wanted
set -- $used
rounds=$1 slowest=$2
echo "# $rounds rounds; slowest: request $2 ms, munged $3 ms, fsync $4 ms," \
	"20 ms of CPU $5 ms"
ok "some rounds were done" [ "$rounds" -ge 1 ]

# No request may take more than a second. On a busy machine the limit is higher:
# four times the slowest round trip to munged and the slowest fsync of this run,
# and ten times the slowest 20 ms of CPU time, for two turns of 100 ms, the
# longest allowed. No daemon can avoid these delays.
most=$((4 * ($3 + $4) + 10 * $5))
[ "$most" -ge 1000 ] || most=1000
! grep -q __asan_init "$aischedd" || most=$((4 * most))
ok "no request of the fourth took more than $most ms" [ "$slowest" -lt "$most" ]

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

# --- jobs that run ----------------------------------------------------------------

# Now the jobs of the three run, and resist: they fill their temporary folder,
# make a very deep one there, ignore SIGTERM, stop the processes that are about
# to become jobs of their user, have a huge environment, and fork. No other test
# has processes of these users.
stop_daemon
configure "
max_processes = 300
queue default { grace = \"1s\" }
pool here { runner = local }
node \"$(uname -n)\" { pool = here  cpus = 64  memory = \"4G\"  tmp = \"1G\" }"
start_daemon
before=$(theirs)
fills="trap '' TERM; head -c 8M /dev/zero >\$TMPDIR/x; sleep 1000"
deep='cd "$TMPDIR"; n=0; while [ $n -lt 1000 ]; do n=$((n + 1)); mkdir d && cd -P d || exit; done; exec sleep 1000'
stubborn="trap '' TERM HUP INT; while :; do sleep 1000; done"
stops='while :; do pkill -STOP -u "$(id -u)" aisched-shep; sleep 0.01; done'
forks='n=0; while [ $n -lt 500 ]; do n=$((n + 1)); sleep 1000 & done; wait'
for user in lp news uucp; do
	fails "no grace of days ($user)" 1 "allows a grace of at most 0:01" \
		as_user "$user" aisub --grace 100d --wrap true
	as_user "$user" "$dir/bin/hostile" swell >/dev/null
	for script in "$stops" "$fills" "$deep" "$stubborn" "$forks"; do
		for n in 1 2 3; do
			as_user "$user" aisub -J hostile -c 0.05 --mem 10M --tmp 2M \
				-o /dev/null --wrap "$script" >/dev/null
		done
	done
done
n=0
for round in 1 2 3 4 5 6 7 8; do
	[ "$(as_user nobody aisub --wait -c 0.05 --mem 10M -o /dev/null \
		--wrap "exit $round" >/dev/null 2>&1; echo $?)" = "$round" ] || break
	as_user nobody aiq >/dev/null || break
	n=$round
done
is "all jobs of the fourth run and end meanwhile" "$n" 8
ok "those of the three have begun" test -n "$(aiq -a -h -t R -n hostile)"
aicancel -u lp,news,uucp
ok "those end, whatever they do" wait_for none_of_them
ok "nothing of them is left, no folder and no process" wait_for nothing_left
is "the fourth goes on" "$(as_user nobody aisub --wait -c 0.05 --mem 10M \
	-o /dev/null --wrap 'exit 9' >/dev/null 2>&1; echo $?)" 9

done_testing

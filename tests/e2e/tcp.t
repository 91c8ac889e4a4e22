#!/bin/sh
# The daemon over TCP, and tools that wait until it answers.
# shellcheck disable=SC2016,SC2119 # jobs expand their own variables

. "$top_srcdir/tests/e2e/jobs.sh"

stop_daemon
"$top_builddir/tests/e2e/ask" --notified "$dir/notify" >notified &
pid=$!
wait_for [ -S "$dir/notify" ]
aictl ping --wait 60s &
pinger=$!
export NOTIFY_SOCKET="$dir/notify"
start_daemon
unset NOTIFY_SOCKET
ok "ping --wait returns as soon as it answers" wait "$pinger"
wait "$pid"
is "systemd is told that it is ready" "$(cat notified)" READY=1
aictl shutdown
wait_daemon

port=$(free_port)
configure
sed "s,^listen .*,listen = {\"$AISCHED_SOCKET\"\, \"tcp://127.0.0.1:$port\"}," \
	"$conf" >"$conf.new" && mv "$conf.new" "$conf"
start_daemon
ok "the daemon listens" aictl --socket "127.0.0.1:$port" ping
id=$(aisub --socket "127.0.0.1:$port" --parsable --wrap 'exit 3')
becomes "a job comes over TCP" "$id" FAILED
is "as JSON" "$(aiq --socket "tcp://127.0.0.1:$port" --json "$id" | grep -c '"exit_code":3')" 1
AISCHED_SOCKET=127.0.0.1:$port
run aisub -Q -W --wrap 'exit 4'
is "waiting, too" "$rc" 4
ok "large answers" [ "$(aiq --json -a --history | wc -l)" -ge 3 ]
if is_root; then
	is "everybody is himself" \
		"$(as_user nobody aisub --parsable -o /dev/null --wrap true)" 3
	is "as the credential says" "$(field 3 user)" nobody
else
	skip "everybody is himself" "not root"
fi
fails "nobody there" 1 "cannot reach aischedd at '127.0.0.1:1'" \
	aiq --socket 127.0.0.1:1
fails "no address" 1 "'127.0.0.1:' is not an address" aiq --socket 127.0.0.1:

done_testing

#!/bin/sh
# Kill the daemon repeatedly while it works, also while it recovers from the
# last kill, and check that nothing was lost or done twice. CRASH_KILLS sets how
# often; CRASH_SEED repeats the random choices of an earlier run.

. "${top_srcdir:=.}/tests/e2e/lib.sh"

: "${CRASH_KILLS:=200}"
export CRASH_KILLS
configure 'queue default { grace = "1s" }
cron { min_period = "1s" }'
start_daemon
# A run that is larger than the other jobs would have some of these evicted.
CRASH_CRON=$(aisub --parsable --cron '@every 1s' --cron-policy allow \
	--cron-missed run -c 0.05 --mem 10M --wrap true)
export CRASH_CRON
stop_daemon
"$top_builddir/tests/e2e/crash" "$dir/state" \
	"$top_builddir/aischedd/aischedd" -c "$conf" >"$dir/said" 2>&1
rc=$?
while read -r status text; do
	case $status in
	[01]) result "$status" "$text" ;;
	'#') diag "$text" ;;
	*) diag "$status $text" ;;
	esac
done <"$dir/said"
ok "$CRASH_KILLS kills, to the end" [ "$rc" -eq 0 ]
log=$dir/work/log
start_daemon
ok "each millisecond is counted once" aictl accounting check
aiq --cron "$CRASH_CRON" --history --json >runs
aictl cron show "$CRASH_CRON" --json >entry
is "no time of recurring work had two runs" \
	"$(jq -r '.jobs[].cron_time' runs | sort | uniq -d)" ""
is "each run was counted" "$(jq '.jobs | length' runs)" "$(jq .runs entry)"
is "and each time up to the last one had a run or was counted" \
	"$(jq '.runs + .missed + .skipped + .refused' entry)" \
	"$(jq '.last_time - .created' entry)"
is "the last of which has its run" \
	"$(jq '[.jobs[].cron_time] | max' runs)" "$(jq .last_time entry)"
diag "$(jq -r '"\(.runs) runs, \(.missed) times missed"' entry)"
done_testing

#!/bin/sh
# Kill the daemon repeatedly while it works, also while it recovers from the
# last kill, and check that nothing was lost or done twice. CRASH_KILLS sets how
# often; CRASH_SEED repeats the random choices of an earlier run.

. "${top_srcdir:=.}/tests/e2e/lib.sh"

: "${CRASH_KILLS:=200}"
export CRASH_KILLS
configure 'queue default { grace = "1s" }'
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
done_testing

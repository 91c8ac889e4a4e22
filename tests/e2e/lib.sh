# shellcheck shell=sh
# lib.sh - shared by tests of a daemon: end a test, run commands as other users
#
#	. "$top_srcdir/tests/e2e/lib.sh"
#	start_daemon || bail "aischedd does not start"
#	id=$(aisub --parsable --wrap true)
#	ok "a job runs" wait_for is_state "$id" COMPLETED
#	done_testing
#
# daemon.sh starts the daemon, waits and cleans up.

: "${top_srcdir:=.}" "${top_builddir:=.}"
top_srcdir=$(cd "$top_srcdir" && pwd) || exit 1
top_builddir=$(cd "$top_builddir" && pwd) || exit 1

# The daemon checks its own plans.
export AISCHED_CHECK_PLANS=1

# shellcheck source=tests/e2e/tap.sh
. "$top_srcdir/tests/e2e/tap.sh"

bail()
{
	[ ! -s "$log" ] || tail -n 20 "$log" | sed 's/^/# /'
	echo "Bail out! $1"
	exit 1
}

# Whether redump can read the daemon's snapshot and write the same text again.
dumps_the_same()
{
	aictl dump >"$dir/dump" &&
		"$top_builddir/tests/e2e/redump" <"$dir/dump" >"$dir/redump" &&
		cmp "$dir/dump" "$dir/redump"
}

# Ends a script: runs the final tests and prints the plan of TAP.
done_testing()
{
	[ -z "$daemon_pid" ] || ok "its dump can be read" dumps_the_same
	[ -z "$daemon_pid" ] || [ -z "$daemon_killed" ] ||
		ok "use is summed up as before the kill" aictl accounting check
	[ -z "$daemon_pid" ] || ok "the daemon ends cleanly" stop_daemon
	# A process that is killed during its check for leaks reports that it
	# lost a thread. Ignore that.
	found=$({
		cat "$dir"/sanitizers/* |
			grep -v 'Unable to get registers from thread'
		grep -A 12 'runtime error:' "$log"
	} 2>/dev/null | head -n 100)
	if [ -n "$found" ]; then
		result 1 "nothing is found by the sanitizers"
		diag "$found"
	fi
	echo "1..$tests_run"
	[ "$tests_failed" -eq 0 ] || [ ! -s "$log" ] || {
		diag "the last lines of the daemon's log:"
		tail -n 20 "$log" | sed 's/^/#   /'
	}
}

# --- users -----------------------------------------------------------------

# USER COMMAND [WORD]...: runs a command as that user, if root runs the test.
# Programs must be in $dir/bin, because other users may not reach the build
# folder
as_user()
{
	as_uid=$(id -u "$1") || return 1
	as_gid=$(id -g "$1") || return 1
	as_home=$1
	shift
	mkdir -p "$dir/home/$as_home" &&
		chown "$as_uid:$as_gid" "$dir/home/$as_home" || return 1
	(cd "$dir/home/$as_home" && HOME=$dir/home/$as_home \
		exec setpriv --reuid "$as_uid" --regid "$as_gid" --init-groups "$@")
}

# shellcheck source=tests/e2e/daemon.sh
. "$top_srcdir/tests/e2e/daemon.sh"

# Let the sanitizers of all our programs, under any user, write to files of
# $dir.
mkdir "$dir/sanitizers"
chmod 1777 "$dir/sanitizers"
export ASAN_OPTIONS="log_path=$dir/sanitizers/log:exitcode=99"
export UBSAN_OPTIONS="$ASAN_OPTIONS:print_stacktrace=1"

# shellcheck shell=sh
# lib.sh - what tests are made of: results in TAP, other users
#
#	. "$top_srcdir/tests/e2e/lib.sh"
#	start_daemon || bail "aischedd does not start"
#	id=$(aisub --parsable --wrap true)
#	ok "a job runs" wait_for is_state "$id" COMPLETED
#	done_testing
#
# daemon.sh has what starts, waits and cleans up.

: "${top_srcdir:=.}" "${top_builddir:=.}"
top_srcdir=$(cd "$top_srcdir" && pwd) || exit 1
top_builddir=$(cd "$top_builddir" && pwd) || exit 1

# The daemon checks its own plans.
export AISCHED_CHECK_PLANS=1

tests_run=0
tests_failed=0

# --- results, in TAP -------------------------------------------------------

# STATUS NAME: count it and say so; what went wrong follows as diag().
result()
{
	tests_run=$((tests_run + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $tests_run - $2"
	else
		echo "not ok $tests_run - $2"
		tests_failed=$((tests_failed + 1))
	fi
	return "$1"
}

# NAME COMMAND [WORD]...: it exits with 0.
ok()
{
	ok_name=$1
	shift
	if "$@" >"$dir/ok.out" 2>&1; then
		result 0 "$ok_name"
		return
	fi
	result 1 "$ok_name"
	diag "failed: $*"
	sed 's/^/# /' "$dir/ok.out"
	return 1
}

# NAME GOT WANT: they are equal.
is()
{
	if [ "$2" = "$3" ]; then
		result 0 "$1"
		return
	fi
	result 1 "$1"
	diag "got:  $2"
	diag "want: $3"
	return 1
}

# NAME GOT PATTERN: a line of it has the extended regular expression.
like()
{
	if printf '%s\n' "$2" | grep -qE -- "$3"; then
		result 0 "$1"
		return
	fi
	result 1 "$1"
	diag "got:  $2"
	diag "want: /$3/"
	return 1
}

# NAME GOT PATTERN: no line of it has.
unlike()
{
	if ! printf '%s\n' "$2" | grep -qE -- "$3"; then
		result 0 "$1"
		return
	fi
	result 1 "$1"
	diag "got:      $2"
	diag "unwanted: /$3/"
	return 1
}

# COMMAND [WORD]...: leaves what it printed in $out and $err, its exit status
# in $rc.
run()
{
	"$@" >"$dir/run.out" 2>"$dir/run.err"
	rc=$?
	# shellcheck disable=SC2034 # for the test
	out=$(cat "$dir/run.out")
	err=$(cat "$dir/run.err")
	return "$rc"
}

# NAME STATUS TEXT COMMAND [WORD]...: it exits with STATUS and one line on
# stderr that has TEXT.
fails()
{
	fails_name=$1
	fails_status=$2
	fails_text=$3
	shift 3
	run "$@"
	if [ "$rc" -eq "$fails_status" ] &&
		[ "$(grep -c . "$dir/run.err")" -eq 1 ] &&
		grep -qF -- "$fails_text" "$dir/run.err"; then
		result 0 "$fails_name"
		return
	fi
	result 1 "$fails_name"
	diag "$*"
	diag "exit status $rc, want $fails_status; want one line with" \
		"'$fails_text', got:"
	diag "$err"
	return 1
}

# NAME REASON: cannot be tried here.
skip()
{
	tests_run=$((tests_run + 1))
	echo "ok $tests_run - $1 # SKIP $2"
}

# REASON: nothing of this script can be tried here.
skip_all()
{
	echo "1..0 # SKIP $1"
	exit 0
}

bail()
{
	[ ! -s "$log" ] || tail -n 20 "$log" | sed 's/^/# /'
	echo "Bail out! $1"
	exit 1
}

# The last thing of a script.
done_testing()
{
	[ -z "$daemon_pid" ] || ok "the daemon ends cleanly" stop_daemon
	found=$({
		cat "$dir"/sanitizers/*
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

# USER COMMAND [WORD]...: as root only; the tools that they need are in
# $dir/bin, because they may not see into the folder of the build.
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

# Whatever program of ours makes a mistake, and whoever runs it.
mkdir "$dir/sanitizers"
chmod 1777 "$dir/sanitizers"
export ASAN_OPTIONS="log_path=$dir/sanitizers/log:exitcode=99"
export UBSAN_OPTIONS="$ASAN_OPTIONS:print_stacktrace=1"

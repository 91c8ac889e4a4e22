# shellcheck shell=sh
# lib.sh - a private munged and aischedd for a test, and what tests are made of
#
#	. "$top_srcdir/tests/e2e/lib.sh"
#	start_daemon || bail "aischedd does not start"
#	id=$(aisub --parsable --wrap true)
#	wait_for is_state "$id" COMPLETED
#	ok "a job runs" is_state "$id" COMPLETED
#	done_testing
#
# Everything lives in $dir and ends with the script, however it ends: the
# daemon, munged, jobs and the folder.  The tools are in PATH and talk to this
# daemon.  Nothing sleeps for a fixed time: wait_for looks until it is so.

: "${top_srcdir:=.}" "${top_builddir:=.}"
top_srcdir=$(cd "$top_srcdir" && pwd) || exit 1
top_builddir=$(cd "$top_builddir" && pwd) || exit 1
# How long anything may take that will certainly come.
: "${deadline_s:=20}"

umask 022
tests_run=0
tests_failed=0
daemon_pid=
munged_pid=

# --- results, in TAP -------------------------------------------------------

diag()
{
	printf '%s\n' "$*" | sed 's/^/# /'
}

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

done_testing()
{
	echo "1..$tests_run"
	[ "$tests_failed" -eq 0 ] || [ ! -s "$log" ] || {
		diag "the last lines of the daemon's log:"
		tail -n 20 "$log" | sed 's/^/#   /'
	}
}

# --- waiting ---------------------------------------------------------------

# COMMAND [WORD]...: until it exits with 0, or the deadline.  A single
# argument is a line of shell.
wait_for()
{
	# shellcheck disable=SC2016 # expanded by the shell that runs it
	[ $# -gt 1 ] || set -- eval "$1"
	wait_end=$(($(date +%s) + deadline_s))
	until "$@" >/dev/null 2>&1; do
		if [ "$(date +%s)" -ge "$wait_end" ]; then
			diag "waited $deadline_s s in vain for: $*"
			return 1
		fi
		sleep 0.02
	done
}

# JOB: its state, also when it has ended.
state_of()
{
	aiq --no-header -o state "$1" 2>/dev/null
}

# JOB STATE
is_state()
{
	[ "$(state_of "$1")" = "$2" ]
}

# --- the daemon ------------------------------------------------------------

# Four CPUs, so that all machines give the same results.
default_config="
queue default { grace = \"2s\" }
pool here { runner = local }
node \"$(hostname)\" { pool = here  cpus = 4  memory = \"4G\" }"

# [TEXT]: write the configuration: what every test needs, and TEXT or
# $default_config.
# shellcheck disable=SC2120 # tests pass it
configure()
{
	cat >"$conf" <<-END
		cluster = "test"
		state_dir = "$dir/state"
		listen = {"$AISCHED_SOCKET"}
		munge_socket = "$AISCHED_MUNGE_SOCKET"
		${1-$default_config}
	END
}

# [OPTION]...: returns once it answers.  Its log is $log.
start_daemon()
{
	AISCHED_CHECK_PLANS=1 "$top_builddir/aischedd/aischedd" -c "$conf" \
		"$@" </dev/null >>"$log" 2>&1 &
	daemon_pid=$!
	wait_for daemon_answers
	aictl ping >/dev/null 2>&1
}

daemon_answers()
{
	aictl ping || ! kill -0 "$daemon_pid"
}

# Cleanly; returns its exit status.
stop_daemon()
{
	kill -TERM "$daemon_pid" 2>/dev/null
	wait_daemon
}

kill_daemon()
{
	kill -KILL "$daemon_pid" 2>/dev/null
	wait_daemon 2>/dev/null
}

wait_daemon()
{
	[ -n "$daemon_pid" ] || return 0
	wait "$daemon_pid"
	daemon_rc=$?
	daemon_pid=
	return "$daemon_rc"
}

# [OPTION]...
restart()
{
	stop_daemon
	start_daemon "$@"
}

# --- users -----------------------------------------------------------------

is_root()
{
	[ "$(id -u)" -eq 0 ]
}

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

# --- munged, and the end ---------------------------------------------------

start_munged()
{
	munged --force --foreground --key-file "$dir/munge/key" \
		--socket "$AISCHED_MUNGE_SOCKET" --pid-file "$dir/munge/pid" \
		--seed-file "$dir/munge/seed" --log-file "$dir/munge/log" \
		</dev/null >"$dir/munge/err" 2>&1 &
	munged_pid=$!
	wait_for munge_answers && return
	sed 's/^/# /' "$dir/munge/err"
	return 1
}

munge_answers()
{
	munge --socket "$AISCHED_MUNGE_SOCKET" --no-input
}

stop_munged()
{
	kill -KILL "$munged_pid" 2>/dev/null
	wait "$munged_pid" 2>/dev/null
	munged_pid=
}

# Every process that has $dir in its arguments or its environment came from
# this test: shepherds, and what they run.
kill_leftovers()
{
	for try in 1 2 3 4 5; do
		# shellcheck disable=SC2046 # words are wanted
		set -- $(grep -alF -- "$dir/" /proc/[0-9]*/cmdline \
			/proc/[0-9]*/environ 2>/dev/null |
			sed -n 's,^/proc/\([0-9]*\)/.*,\1,p' | sort -u)
		# This shell and grep are gone or not to be killed.
		for pid; do
			shift
			[ "$pid" = "$$" ] || [ ! -e "/proc/$pid" ] ||
				set -- "$@" "$pid"
		done
		[ $# -gt 0 ] || return 0
		kill -KILL "$@" 2>/dev/null
		sleep "0.0$try"
	done
}

clean_up()
{
	trap '' INT TERM HUP
	[ -z "$daemon_pid" ] || kill_daemon
	[ -z "$munged_pid" ] || stop_munged
	kill_leftovers
	cd / && rm -rf "$dir"
}

dir=$(mktemp -d "${TMPDIR:-/tmp}/aisched-test.XXXXXX") || exit 1
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# As root other users must reach the sockets and the tools.
is_root && chmod 755 "$dir"
conf=$dir/aischedd.conf
log=$dir/log
AISCHED_SOCKET=$dir/socket
AISCHED_MUNGE_SOCKET=$dir/munge/socket
export AISCHED_SOCKET AISCHED_MUNGE_SOCKET
for name in $(env | sed -n 's/^\(AISUB_[A-Z_]*\)=.*/\1/p'); do
	unset "$name"
done

mkdir -p "$dir/bin" "$dir/munge" "$dir/work"
chmod 755 "$dir/munge"
for tool in aisub aiq aicancel aictl; do
	if is_root; then
		cp "$top_builddir/$tool/$tool" "$dir/bin/"
	else
		ln -s "$top_builddir/$tool/$tool" "$dir/bin/$tool"
	fi || exit 1
done
PATH=$dir/bin:$PATH:/usr/sbin:/sbin
export PATH

(umask 077 && head -c 64 /dev/urandom >"$dir/munge/key")
# shellcheck disable=SC2119
configure
# Output files of jobs go there.
cd "$dir/work" || exit 1
start_munged || bail "munged does not start"

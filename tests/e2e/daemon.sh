# shellcheck shell=sh
# daemon.sh - run a private munged and aischedd, for tests and tools
#
# Needs $top_builddir. All files are in the temporary folder $dir. The daemon,
# munged, jobs and the folder go away when the script ends, however it ends. The
# tools are in PATH and use this daemon. Scripts do not sleep for a fixed time:
# wait_for repeats a command until it succeeds.

# How long wait_for waits, in seconds. Tests only wait for things that happen
# unless there is a bug, so only a failing test takes this long.
: "${deadline_s:=60}"
# The pause between two tries of wait_for, in seconds; after 50 tries 0.1.
: "${pause_s:=0.02}"
: "${aischedd:=$top_builddir/aischedd/aischedd}"

# Do nothing if this file is sourced again, else the first munged and folder
# would be lost.
[ -z "${daemon_sh_is_here-}" ] || return 0
daemon_sh_is_here=yes

umask 022
daemon_pid=
daemon_killed=
munged_pid=

is_root()
{
	[ "$(id -u)" -eq 0 ]
}

# --- waiting ---------------------------------------------------------------

# COMMAND [WORD]...: waits until the command exits with 0, or fails at the
# deadline. A single argument is evaluated as a line of shell. Each failure
# halves the deadline of later calls, so that a script that fails ends soon.
wait_for()
{
	# shellcheck disable=SC2016 # expanded by the shell that runs it
	[ $# -gt 1 ] || set -- eval "$1"
	wait_end=
	wait_looks=0
	until "$@" >/dev/null 2>&1; do
		wait_looks=$((wait_looks + 1))
		# Look at the clock only now and then: that starts a process.
		if [ $((wait_looks % 10)) -eq 1 ] && wait_is_over; then
			echo "waited $deadline_s s in vain for: $*" |
				sed 's/^/# /'
			waited_in_vain
			return 1
		fi
		if [ "$wait_looks" -lt 50 ]; then
			sleep "$pause_s"
		else
			sleep 0.1
		fi
	done
}

waited_in_vain()
{
	deadline_s=$(((deadline_s + 1) / 2))
}

wait_is_over()
{
	wait_now=$(date +%s)
	: "${wait_end:=$((wait_now + deadline_s))}"
	[ "$wait_now" -ge "$wait_end" ]
}

# JOB: prints its state, also if it has ended
state_of()
{
	aiq --no-header -o state "$1" 2>/dev/null
}

# JOB STATE: whether the job has that state
is_state()
{
	[ "$(state_of "$1")" = "$2" ]
}

# TEXT: whether aictl status prints TEXT
status_has()
{
	aictl status | grep -qF -- "$1"
}

# TEXT: whether it does not
status_lacks()
{
	! status_has "$1"
}

# NODE TEXT: whether the snapshot has it in the line of the node
node_has()
{
	aictl dump | grep "^node $1 " | grep -qF -- "$2"
}

# --- the daemon ------------------------------------------------------------

# The node has four CPUs, so that tests do not depend on the machine.
default_config="
queue default { grace = \"2s\" }
pool here { runner = local }
node \"$(uname -n)\" { pool = here  cpus = 4  memory = \"4G\" }"

# [TEXT]: writes the configuration: the keys that every test needs, and TEXT or
# $default_config
# shellcheck disable=SC2120 # tests pass it
configure()
{
	cat >"$conf" <<-END
		cluster = "test"
		state_dir = "$dir/state"
		tmp_dir = "$dir/tmp"
		listen = {"$AISCHED_SOCKET"}
		munge_socket = "$AISCHED_MUNGE_SOCKET"
		${1-$default_config}
	END
}

# [OPTION]...: starts the daemon and returns when it answers. Its log is $log.
start_daemon()
{
	"$aischedd" -c "$conf" "$@" </dev/null >>"$log" 2>&1 &
	daemon_pid=$!
	wait_for daemon_answers
	aictl ping >/dev/null 2>&1 && return
	tail -n 5 "$log" >&2
	return 1
}

daemon_answers()
{
	aictl ping || ! grep -q '^State:.[^Z]' "/proc/$daemon_pid/status"
}

# Stops the daemon cleanly; returns its exit status.
stop_daemon()
{
	kill -TERM "$daemon_pid" 2>/dev/null
	wait_daemon
}

kill_daemon()
{
	kill -KILL "$daemon_pid" 2>/dev/null
	# shellcheck disable=SC2034 # lib.sh asks for it
	daemon_killed=yes
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

# [OPTION]...: stops the daemon and starts it with these options
restart()
{
	stop_daemon
	start_daemon "$@"
}

# --- munged, and the end of the script -------------------------------------

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

# Every process with $dir in its arguments or its environment belongs to this
# test: shepherds, and the jobs they run.
kill_leftovers()
{
	for try in 1 2 3 4 5; do
		# shellcheck disable=SC2046 # words are wanted
		set -- $(grep -alF -- "$dir/" /proc/[0-9]*/cmdline \
			/proc/[0-9]*/environ 2>/dev/null |
			sed -n 's,^/proc/\([0-9]*\)/.*,\1,p' | sort -u)
		# Spare this shell, and skip grep, which has ended.
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
	set +e
	[ -z "$daemon_pid" ] || kill_daemon
	[ -z "$munged_pid" ] || stop_munged
	kill_leftovers
	cd / && rm -rf "$dir"
}

dir=$(mktemp -d "${TMPDIR:-/tmp}/aisched-test.XXXXXX") || exit 1
trap clean_up EXIT
# A second signal must not end the shell before clean_up has begun.
trap 'trap "" INT TERM HUP; exit 130' INT
trap 'trap "" INT TERM HUP; exit 143' TERM HUP

# If root runs this, other users must reach the sockets and the tools.
is_root && chmod 755 "$dir"
conf=$dir/aischedd.conf
log=$dir/log
AISCHED_SOCKET=$dir/socket
AISCHED_MUNGE_SOCKET=$dir/munge/socket
export AISCHED_SOCKET AISCHED_MUNGE_SOCKET
for name in $(env | sed -n 's/^\(AISUB_[A-Z_]*\)=.*/\1/p'); do
	unset "$name"
done

mkdir -p "$dir/bin" "$dir/munge" "$dir/work" "$dir/tmp"
chmod 1777 "$dir/tmp"
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
# Jobs write their output files to the current folder.
cd "$dir/work" || exit 1
start_munged || bail "munged does not start"

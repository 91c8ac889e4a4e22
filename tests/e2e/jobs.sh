# shellcheck shell=sh
# jobs.sh - shared by tests of jobs; starts a daemon as daemon.sh does
#
#	. "$top_srcdir/tests/e2e/jobs.sh"
#
# A gate stops a job at a certain point: it is a FIFO that the job reads until
# the test opens it.
#	gate a; id=$(submit --wrap "$(at_gate a)"); ...; open_gate a

# shellcheck source=tests/e2e/lib.sh
. "$top_srcdir/tests/e2e/lib.sh"

submit()
{
	aisub --parsable "$@"
}

# Submits a job that runs until it is killed.
sleeper()
{
	submit "$@" --wrap 'exec sleep 1000'
}

# JOB FIELD: prints the field as aiq shows it
field()
{
	aiq --no-header -o "$2" "$1"
}

# NAME JOB STATE: tests that the job gets to the state
becomes()
{
	if wait_for is_state "$2" "$3"; then
		result 0 "$1"
		return
	fi
	result 1 "$1"
	diag "job $2 is $(state_of "$2"), want $3: $(field "$2" reason_text)"
	return 1
}

# JOB REASON: whether the job waits or ended for this reason
has_reason()
{
	[ "$(field "$1" reason)" = "$2" ]
}

# JOB REASON: like has_reason(), and sets $told to the reason and its sentence
told()
{
	told=$(field "$1" reason,reason_text)
	[ "${told%% *}" = "$2" ]
}

# NAME JOB REASON SENTENCE: tests that the job gets that reason, with a sentence
# that matches the regular expression
waits()
{
	wait_for told "$2" "$3"
	like "$1" "$told" "^$3 +$4"
}

# NAME TEXT COMMAND [WORD]...: tests that the command exits with 2 and prints
# two lines to stderr: one with TEXT, and one that refers to the help
misuse()
{
	misuse_name=$1
	misuse_text=$2
	shift 2
	run "$@"
	if [ "$rc" -eq 2 ] && [ -z "$out" ] &&
		[ "$(grep -c . "$dir/run.err")" -eq 2 ] &&
		sed -n 1p "$dir/run.err" | grep -qF -- "$misuse_text" &&
		sed -n 2p "$dir/run.err" | grep -q "^Try '.* --help'"; then
		result 0 "$misuse_name"
		return
	fi
	result 1 "$misuse_name"
	diag "$*"
	diag "exit status $rc; '$misuse_text' and Try ... expected, got:"
	diag "$err"
	return 1
}

gate()
{
	for gate_name; do
		mkfifo -m 666 "$dir/gate.$gate_name"
	done
}

at_gate()
{
	echo "cat $dir/gate.$1"
}

# Opens a gate; blocks until a job reads it.
open_gate()
{
	# shellcheck disable=SC2016 # sh expands it
	timeout "$deadline_s" sh -c 'echo go >"$1"' sh "$dir/gate.$1" || {
		echo "# no job came to gate $1"
		waited_in_vain
	}
}

# FILE TEXT: whether a line of the file contains TEXT
has_line()
{
	grep -qF -- "$2" "$1"
}

# Prints an unused TCP port, outside the range of outgoing connections.
free_port()
{
	port=$((20000 + $$ % 12000))
	while grep -q ":$(printf %04X "$port") " /proc/net/tcp*; do
		port=$((port + 1))
	done
	echo "$port"
}

start_daemon || bail "aischedd does not start"

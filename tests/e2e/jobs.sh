# shellcheck shell=sh
# jobs.sh - what tests of jobs share; starts the daemon of daemon.sh
#
#	. "$top_srcdir/tests/e2e/jobs.sh"
#
# A job is kept where it is wanted by a gate, a fifo that it reads:
#	gate a; id=$(submit --wrap "$(at_gate a)"); ...; open_gate a

# shellcheck source=tests/e2e/lib.sh
. "$top_srcdir/tests/e2e/lib.sh"

submit()
{
	aisub --parsable "$@"
}

# Submits a job that runs until it is ended.
sleeper()
{
	submit "$@" --wrap 'exec sleep 1000'
}

# JOB FIELD: prints the field as aiq shows it
field()
{
	aiq --no-header -o "$2" "$1"
}

# NAME JOB STATE: waits until the job has the state
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

# JOB WORD: whether this is the reason why it waits or ended
has_reason()
{
	[ "$(field "$1" reason)" = "$2" ]
}

# JOB WORD: like has_reason(), and keeps the sentence printed with it in $told
told()
{
	told=$(field "$1" reason,reason_text)
	[ "${told%% *}" = "$2" ]
}

# NAME JOB WORD SENTENCE: waits until the job has that reason, in both forms;
# SENTENCE is a regular expression
waits()
{
	wait_for told "$2" "$3"
	like "$1" "$told" "^$3 +$4"
}

# NAME TEXT COMMAND [WORD]...: it exits with 2 and prints two lines to stderr:
# one with TEXT, and one that names the help
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

# Opening the fifo blocks until somebody reads.
open_gate()
{
	# shellcheck disable=SC2016 # sh expands it
	timeout "$deadline_s" sh -c 'echo go >"$1"' sh "$dir/gate.$1" ||
		echo "# no job came to gate $1"
}

# FILE TEXT: whether a line of it has TEXT
has_line()
{
	grep -qF -- "$2" "$1"
}

# Prints a TCP port that nobody uses, and that outgoing connections do not get.
free_port()
{
	port=$((20000 + $$ % 12000))
	while grep -q ":$(printf %04X "$port") " /proc/net/tcp*; do
		port=$((port + 1))
	done
	echo "$port"
}

start_daemon || bail "aischedd does not start"

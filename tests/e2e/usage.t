#!/bin/sh
# Mistakes on the command line, and commands without a daemon: one clear line on
# stderr, nothing on stdout, and the documented exit status.

: "${top_srcdir:=.}" "${top_builddir:=.}"
AISCHED_SOCKET=/nonexistent/socket
export AISCHED_SOCKET
input=/dev/null
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT

# shellcheck source=tests/e2e/tap.sh
. "$top_srcdir/tests/e2e/tap.sh"

# STATUS TEXT TOOL [WORD]...: tests that the tool, with $input as stdin, exits
# with STATUS and prints TEXT
check()
{
	status=$1
	text=$2
	tool=$3
	shift 3
	"$top_builddir/$tool/$tool" "$@" <"$input" >"$dir/out" 2>"$dir/err"
	got=$?
	if [ $got -eq "$status" ] && [ ! -s "$dir/out" ] &&
		{ [ -z "$text" ] || grep -qF -- "$text" "$dir/err"; }; then
		result 0 "$tool $*"
		return
	fi
	result 1 "$tool $*"
	diag "exit status $got, not $status; '$text' expected in:"
	sed 's/^/# /' "$dir/out" "$dir/err"
}

# LINE...: makes these lines the input of check()
script()
{
	printf '%s\n' "$@" >"$dir/script"
	input=$dir/script
}

check 1 "cannot reach aischedd at '/nonexistent/socket'" aiq
check 1 "cannot reach aischedd at '/tmp/other'" aiq --socket /tmp/other
check 2 "'XX' is not a job state" aiq -t R,XX
check 2 "empty name" aiq -u alice,
check 2 "there is no column 'foo' of jobs" aiq -o job_id,foo
check 2 "there is no column 'user' of nodes" aiq --nodes -o user
check 2 "'%I'" aiq -o %i%I
check 2 "bad job id '12_'" aiq 12_
check 2 "--queues takes no JOB" aiq --queues 12
check 2 "--nodes takes no JOB and no filter" aiq --nodes -u alice
check 2 "only one of" aiq --nodes --queues
check 2 "--log takes one JOB" aiq --log
check 2 "--log takes one JOB" aiq --log 1 2
check 2 "--follow and --task go with --log" aiq -f 12
check 2 "--since and --until go with --history" aiq --since now-1h
check 2 "'now-1y' is not a time" aiq --history --since now-1y
check 2 "--watch and --json exclude each other" aiq --watch --json
check 1 "--watch needs a terminal" aiq --watch

check 2 "no job given" aicancel
check 2 "not both" aicancel --all 12
check 2 "bad signal 'FOO'" aicancel -s FOO 12
check 1 "bad job id 'x'" aicancel x
check 1 "cannot reach aischedd" aicancel x 12
check 1 "cannot reach aischedd" aicancel --all

check 2 "unknown command 'foo'" aictl foo
check 2 "cron takes list, show" aictl cron
check 2 "unknown command 'crom'" aictl crom list
check 2 "hold takes JOB..." aictl hold
check 2 "reload takes no arguments" aictl reload now
check 2 "unknown option '--foo'" aictl hold --foo 12
check 2 "drain needs a reason" aictl drain n1
check 2 "option '--reason' needs a value" aictl drain n1 -r
check 2 "'ajar'" aictl queue ajar train
check 2 "'name' is not FIELD=VALUE" aictl update 12 time=1 name
check 2 "update takes JOB... FIELD=VALUE..." aictl update 12 13
check 2 "--wait" aictl ping --wait soon
check 1 "bad job id 'x'" aictl hold x
check 1 "cannot reach aischedd" aictl ping
check 1 "cannot reach aischedd" aictl ping --wait 1s

# NAME PATTERN TOOL [WORD]...: tests that the tool's output matches
says()
{
	name=$1
	pattern=$2
	tool=$3
	shift 3
	if "$top_builddir/$tool/$tool" "$@" >"$dir/out" 2>&1 &&
		grep -qE -- "$pattern" "$dir/out"; then
		result 0 "$name"
		return
	fi
	result 1 "$name"
	sed 's/^/# /' "$dir/out"
}

says "help about a command has its options" '--duration=TIME' aictl help reserve
says "the command says so itself" '--reason=REASON' aictl drain n1 --help
check 2 "unknown command 'foo'" aictl help foo

script '# a comment' '' 'hold x' 'foo'
check 1 "stdin:3: bad job id 'x'" aictl
script "drain n1 -r 'no end"
check 1 "stdin:1: a quote has no end" aictl
script quit foo
check 0 "" aictl

echo "1..$tests_run"

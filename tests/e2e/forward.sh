# shellcheck shell=sh disable=SC2154 # daemon.sh sets some
# forward.sh - shared by tests of aictl forward: forward a port, and call it

port=$top_builddir/tests/e2e/port

# JOB[.RANK] PORT: forwards a free port of this machine to PORT of the job or
# task, and sets $at to the free port
forward()
{
	: >"$dir/forward.out"
	aictl forward "$1" ":$2" >"$dir/forward.out" 2>"$dir/forward.err" &
	forward_pid=$!
	wait_for test -s "$dir/forward.out" || return 1
	at=$(sed 's/127.0.0.1:\([0-9]*\) is .*/\1/' "$dir/forward.out")
}

# Ends aictl forward, and waits for it.
unforward()
{
	kill "$forward_pid" 2>/dev/null
	wait "$forward_pid" 2>/dev/null
}

# Sends the standard input to port $at and prints the answer.
call()
{
	timeout "$deadline_s" "$port" call "$at"
}

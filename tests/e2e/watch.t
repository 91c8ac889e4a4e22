#!/bin/sh
# aiq --watch in a real terminal: tmux, whose screen can be read.
command -v tmux >/dev/null || {
	echo "1..0 # SKIP tmux is not installed"
	exit 0
}
. "${top_srcdir:=.}/tests/e2e/jobs.sh"
trap 'tmux -S "$dir/tmux" kill-server 2>/dev/null; clean_up' EXIT

not()
{
	! "$@"
}

# Runs tmux. The shell in its terminal has its own prompt and reads no startup
# file of the user. tmux starts $SHELL or the user's login shell; the login
# shell of user nobody refuses logins.
term()
{
	SHELL=/bin/sh tmux -S "$dir/tmux" -f /dev/null "$@"
}

# COLUMNS ROWS: opens a terminal of this size
open_terminal()
{
	term new-session -d -x "$1" -y "$2" "env PS1='ready> ' NO_COLOR= sh -i" &&
		wait_for shows 'ready>'
}

picture()
{
	term capture-pane -p
}

# PATTERN: whether the screen has a line that matches
shows()
{
	picture | grep -qE -- "$1"
}

# NAME PATTERN: tests that the screen gets a line that matches
see()
{
	if wait_for shows "$2"; then
		result 0 "$1"
		return
	fi
	result 1 "$1"
	diag "want: $2"
	diag "$(picture)"
}

keys()
{
	term send-keys "$@"
}

# --- 3000 jobs that are held, one that runs, one to be found -----------------

gate a
busy=$(submit -c 4 -J busy --wrap "printf 'so \\033[31m far\\n'; $(at_gate a)")
becomes "a job runs" "$busy" RUNNING
awk 'BEGIN {
	printf "{\"op\": \"submit\", \"env_len\": 0, \"script_len\": 10,"
	printf "\"token\": \"0123456789abcdef0123456789abcdef\","
	for (i = 0; i < 3000; i++)
		printf "%s{\"name\": \"many%04d\", \"output\": \"o\"," \
			"\"workdir\": \"/\", \"hold\": 1}", \
			i ? "," : "\"specs\": [", i
	printf "]}"
}' >"$dir/many"
printf '#!/bin/sh\n' | "$top_builddir/tests/e2e/ask" "@$dir/many" >/dev/null
last=$(submit -c 4 -J straw --wrap true)

open_terminal 80 24 || bail "no terminal"
keys 'aiq --watch=1' Enter
see "the rows are there" 'many0000'
see "the head names the cluster and the view" '^test  jobs  .*  300[0-9] rows'
see "jobs are counted" '300[0-9] pending, 1 running$'
see "a pool has a bar" 'here +cpus \[#{20}\] 4/4 100 %'
see "the cursor is at the first job" "^> $busy "

# --- moving the cursor --------------------------------------------------------

keys Down
see "down" '^> .*many0000'
keys j j Up
see "j, j and up" '^> .*many0001'
keys NPage
see "a page down" '^> .*many0019'
keys End
see "the last job" "^> .*straw"
keys PPage
see "a page up from there" '^> .*many29[78]'
keys Home
see "the first job again" "^> $busy "
i=0
while [ $i -lt 12 ]; do
	i=$((i + 1))
	keys NPage
done
see "behind what was fetched first" '^> .*many021[0-9]'
keys Home
see "Home again" "^> $busy "
keys '/' straw Enter
see "a text is found behind 3000 rows" "^> $last .*straw"
keys n
see "again: round, to itself" "^> $last .*straw"
keys '/' 'no such text' Enter
see "what is nowhere" 'not found: no such text'
keys '/' many1234 Enter
see "a search goes round" '^> .*many1234'

# --- order and filter -----------------------------------------------------------

keys s
see "the column that sorts is marked" 'JOBID\^'
keys s s S
see "downwards" 'NAMEv'
see "sorted by name" '^> .*straw'
keys End
see "the end of that order" '^> .*busy'
keys Home f '-t R' Enter
see "a filter: only what runs" 'busy'
ok "nothing else" wait_for not shows 'many'
keys f '--nonsense' Enter
see "a filter that is none says so" "unrecognized option|unknown option|nonsense"
keys f '-a' Enter
see "all again" 'many0000'

# --- panes ----------------------------------------------------------------------

keys Enter
see "Enter describes the job" "^job $busy "
keys q
see "q closes the pane" "^> $busy "
keys l
see "its output, without what a terminal obeys" 'so \?\[31m far'
keys q
see "back" "^> $busy "
keys '?'
see "help" 'this text, then the program'
keys Escape
see "Esc closes it" "^> $busy "
keys Tab
see "queues" 'FAIR_SHARE +ALLOCATED'
keys 3
see "nodes" "$(uname -n)"
keys 4
see "shares" 'FAIR_SHARE'
keys 5
see "cron entries: none" '^  none'
keys 6
see "history: none" '^test  history'
keys 1
see "jobs again" "^> $busy "

# --- actions --------------------------------------------------------------------

keys Down c
see "a question" 'cancel [0-9]+\? y: yes'
keys x
see "any key but y is no" 'q: quit'
ok "nothing was cancelled" is_state "$((busy + 1))" PENDING
keys R
see "another question" 'release [0-9]+\?'
keys y
see "is done" 'release [0-9]+: done'
keys c y
see "cancelled" 'cancel [0-9]+: done'
wait_for is_state "$((busy + 1))" CANCELLED
see "it is gone" 'many0001'

# The list is updated while a question is shown.
asked=$((busy + 2))
keys Home
see "at the top" "^> $busy "
keys Down
see "the next job" "^> $asked "
keys c
see "a question about it" "cancel $asked\? y: yes"
aicancel "$asked"
see "whose row goes meanwhile" '^> .*many0002'
see "is still about it" "cancel $asked\? y: yes"
keys y
see "and so is the answer" "cancel $asked: "
ok "the job that has come under the cursor goes on" \
	is_state "$((asked + 1))" PENDING

keys End
see "the end" '^> .*straw'

# --- the daemon stops and starts ----------------------------------------------

stop_daemon
see "says that nobody answers" 'cannot reach|the connection to aischedd'
see "what was shown stays" 'many29'
start_daemon || bail "aischedd does not start again"
keys Home
see "goes on when it is back" "^> $busy "
kill -STOP "$daemon_pid"
see "an answer that does not come" 'no answer for [0-9]+ s, trying again'
keys Down
see "keys work meanwhile" '^> .*many0002'
kill -CONT "$daemon_pid"
see "and then it comes" 'q: quit'

# --- the terminal ---------------------------------------------------------------

term resize-window -x 20 -y 3
see "20 columns, 3 rows" '^> '
keys Down Enter
see "a pane in 20 columns" '^job|aiq'
keys q
term resize-window -x 300 -y 100
see "300 columns, 100 rows" 'many0080'
term resize-window -x 80 -y 24
keys C-z
see "stopped: the shell is there" 'ready> '
keys fg Enter
see "and goes on" '^> .*many'
keys q
see "q leaves the shell as it was" 'ready> '
ok "the view is gone" wait_for not shows many0002
keys 'stty -a | grep -c " icanon.* echo "' Enter
see "the terminal is as before" '^(ready> )?1$'
keys 'aiq --watch' Enter
see "once more" '^> '
keys C-c
ok "Ctrl-C leaves" wait_for not shows '^> '

keys 'aiq --watch=1 --name busy' Enter
see "one row" "^> $busy "
keys c
see "a question about it" "cancel $busy\? y: yes"
open_gate a
see "the last row goes" '^  none'
see "the question stays" "cancel $busy\? y: yes"
keys x q
ok "and the view goes on" wait_for not shows '^  none'

check_usage()
{
	run "$@"
	[ "$rc" -eq 2 ] && grep -qF -- "--watch" "$dir/run.err"
}
for bad in 0 3601 x -1; do
	ok "--watch=$bad is refused" check_usage aiq --watch=$bad
done
ok "--watch with a job is refused" check_usage aiq --watch 12
done_testing

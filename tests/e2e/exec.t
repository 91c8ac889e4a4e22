#!/bin/sh
# aictl exec: commands in running jobs, with a terminal and without
# shellcheck disable=SC2016,SC2119,SC2154 # jobs expand their own variables; run sets some

# shellcheck source=tests/e2e/slurm.sh
. "$top_srcdir/tests/e2e/slurm.sh"

stop_daemon
configure "
queue default { grace = \"1s\" }
pool here { runner = local }
node \"$(uname -n)\" { pool = here  cpus = 8  memory = \"4G\" }"
start_daemon || bail "aischedd does not start"

mkdir work
job=$(cd work && GIVEN=submitted submit -o out --wrap \
	'cat /proc/self/cgroup >cgroup; : >ready; exec sleep 1000')
wait_for test -e work/ready || bail "the job does not start"

# PATTERN: whether no process has it in its command line
gone()
{
	! pgrep -f "$1" >left.out
}

# --- where commands run ----------------------------------------------------------

says "a command" 0 hello "" aictl exec "$job" echo hello
run env GIVEN=called OTHER=called aictl exec "$job" sh -c \
	'echo "$AISCHED_JOB_ID $SLURM_JOB_ID $GIVEN $OTHER."; pwd; id -un'
is "has the environment, the folder and the user of the job" "$rc $out" \
	"0 $job $job submitted .
$PWD/work
$(id -un)"
is "and its control group" "$(aictl exec "$job" cat /proc/self/cgroup)" "$(cat work/cgroup)"
is "input" "$(echo typed | aictl exec "$job" cat)" typed
says "its status is passed on" 7 "" "" aictl exec "$job" sh -c 'exit 7'
says "a signal" 137 "" "" aictl exec "$job" sh -c 'kill -9 $$'
says "errors" 1 "" wrong aictl exec "$job" sh -c 'echo wrong >&2; exit 1'
says "no such command" 127 "" "aisched: cannot run '/no/such': No such file or directory" \
	aictl exec "$job" /no/such
: >noexec
says "one that cannot be run" 126 "" "aisched: cannot run '$PWD/noexec': Permission denied" \
	aictl exec "$job" "$PWD/noexec"
says "options are those of the command" 0 "-n --help --" "" \
	aictl exec "$job" printf '%s %s %s' -n --help --
says "after -- as well" 0 "-t" "" aictl exec "$job" -- echo -t
run aictl exec "$job" sh -c 'echo "${#1}"' x "$(head -c 100000 /dev/zero | tr '\0' x)"
is "a long argument" "$rc $out$err" "0 100000"
like "it is a step of the job" "$(sacct -n -P -j "$job" -o JobID,JobName,State)" \
	"^$job\.0\|echo\|COMPLETED\$"
like "and audited" "$(aictl audit --act exec -j "$job" -n 1)" "exec +job $job"
says "in a script its input is not the script's" 0 one "" sh -c "printf 'exec $job cat\nexec $job echo one\nexec $job true\n' | aictl"

gang=$(submit -n 3 -o /dev/null --wrap ': >ready.$RANK; exec sleep 1000')
wait_for 'test -e ready.0 && test -e ready.1 && test -e ready.2'
is "as the first task" "$(aictl exec "$gang" sh -c 'echo $RANK $WORLD_SIZE $SLURM_PROCID')" "0 3 0"
is "as another" "$(aictl exec "$gang.2" sh -c 'echo $RANK $WORLD_SIZE $SLURM_PROCID')" "2 3 2"
says "as one that is not there" 1 "" "aictl: no task 3 of the job runs" aictl exec "$gang.3" true
fails "as none" 1 "bad number 'x'" aictl exec "$gang.x" true
aicancel "$gang"
array=$(submit -a 4-5 -o /dev/null --wrap 'exec sleep 1000')
wait_for is_state "${array}_5" RUNNING
is "in a task of an array" "$(aictl exec "${array}_5" sh -c 'echo $SLURM_ARRAY_TASK_ID')" 5
aicancel "$array"

# --- on a terminal -----------------------------------------------------------------

# Runs tty.sh, which the tests write, on a terminal of 33 lines whose input is
# the standard input.
on_tty()
{
	timeout 300 script -qec "stty rows 33 cols 44; sh $PWD/tty.sh" /dev/null
}

cat >tty.sh <<END
aictl exec -t $job sh -c 'tty; stty size; echo \$TERM; read x; echo "got \$x"; exit 5'
echo status \$?
END
echo typed | TERM=vt100 on_tty >tty.out
like "a terminal of its own" "$(tr -d '\r' <tty.out)" "^/dev/pts/[0-9]+\$"
like "of the same size" "$(tr -d '\r' <tty.out)" "^33 44\$"
like "of the same kind" "$(tr -d '\r' <tty.out)" "^vt100\$"
like "what is typed" "$(tr -d '\r' <tty.out)" "^got typed\$"
like "and its status" "$(tr -d '\r' <tty.out)" "^status 5\$"

cat >winch.sh <<'END'
trap 'stty size; exit 0' WINCH
: >winch.ready
while :; do sleep 0.05; done
END
cat >tty.sh <<END
exec 3<&0
aictl exec "$job" -t sh "$PWD/winch.sh" <&3 &
while [ ! -e "$PWD/work/winch.ready" ]; do sleep 0.05; done
stty rows 11 cols 22
wait
END
gate winch
# shellcheck disable=SC2002 # opening it blocks
cat "$dir/gate.winch" | on_tty >winch.out &
tty=$!
wait_for grep -q "^11 22" winch.out
like "it learns a new size" "$(tr -d '\r' <winch.out)" "^11 22\$"
open_gate winch
wait "$tty"

cat >tty.sh <<END
aictl exec -t $job sh -c 'echo \$\$ >int.pid; trap "echo interrupted" INT; : >int.ready; while :; do sleep 0.05; done'
END
gate typed
gate hung
(cat "$dir/gate.typed"; printf "\003"; cat "$dir/gate.hung") | on_tty >int.out &
tty=$!
wait_for test -e work/int.ready
open_gate typed
ok "Ctrl-C is for the command" wait_for grep -q "^.*interrupted" int.out
# Kill script(1), which hangs up the terminal of aictl exec.
pkill -KILL -f "^script -qec stty rows 33 cols 44; sh $PWD/tty.sh"
ok "a terminal that hangs up ends it" wait_for "! kill -0 \$(cat work/int.pid) 2>/dev/null"
open_gate hung
wait "$tty" 2>/dev/null

says "without a terminal it goes on" 0 "not a tty" \
	"aictl: standard input is no terminal: going on without one" \
	sh -c "aictl exec -t $job sh -c 'tty; exit 0' </dev/null"

# --- how commands end --------------------------------------------------------------

# NAME STATUS COMMAND...: tests the exit status of aictl exec, whose command
# sleeps until COMMAND ends it; $pid is the process id of aictl
while_it_runs()
{
	wir_name=$1 wir_status=$2
	shift 2
	rm -f work/up
	aictl exec "$job" sh -c 'setsid sleep 2222.'$$' & : >up; exec sleep 3333.'$$ \
		>while.out 2>while.err &
	pid=$!
	wait_for test -e work/up
	"$@"
	wait "$pid" 2>/dev/null
	is "$wir_name" "$?" "$wir_status"
	ok "$wir_name: nothing is left of it" wait_for gone "sleep (2222|3333)[.]$$( |\$)"
}

signal()
{
	kill -"$1" "$pid"
}

while_it_runs "an interrupt is passed on" 130 signal INT
while_it_runs "so is another signal" 138 signal USR1
while_it_runs "a hang-up ends it" 143 signal HUP
while_it_runs "SIGTERM, too" 143 signal TERM
while_it_runs "if aictl is killed, the command ends" 137 signal KILL
is "the job goes on" "$(state_of "$job")" RUNNING

restart_under()
{
	kill_daemon
	start_daemon || bail "aischedd does not start again"
	aictl exec "$job" true || bail "no command runs after a restart"
	kill -0 "$pid" && kill -INT "$pid"
}
while_it_runs "the command outlives the daemon" 130 restart_under

end_job()
{
	aicancel "$job"
}
while_it_runs "the end of the job ends it" 143 end_job
wait_for is_state "$job" CANCELLED

# --- commands that are refused -------------------------------------------------------

says "a job that has ended" 1 "" "aictl: job $job does not run" aictl exec "$job" true
held=$(submit -H -o /dev/null --wrap true)
says "one that waits" 1 "" "aictl: job $held has not started" aictl exec "$held" true
aicancel "$held"
stopped=$(sleeper -o /dev/null)
wait_for is_state "$stopped" RUNNING
if aictl suspend "$stopped" 2>/dev/null; then
	wait_for is_state "$stopped" SUSPENDED
	says "one that is suspended" 1 "" \
		"aictl: job $stopped is suspended: no command runs in it until it resumes" \
		aictl exec "$stopped" true
	aictl resume "$stopped"
	wait_for is_state "$stopped" RUNNING
fi
fails "no job" 1 "bad job id 'x'" aictl exec x true
fails "no command" 2 "exec takes JOB[.RANK] COMMAND..." aictl exec "$stopped"
fails "an unknown option" 2 "exec: " aictl exec --nosuch "$stopped" true
for how in part loose fifo garbage huge many; do
	is "a hostile client: $how" \
		"$("$top_builddir/tests/e2e/step_hostile" "$dir/state/run/$stopped.1/step" "$how" 20)" 0
	says "delays nobody: $how" 0 "" "" aictl exec "$stopped" true
done

if is_root; then
	says "another's job" 1 "" "aictl: job $stopped is not yours: commands in it are for its owner and root" \
		as_user nobody aictl exec "$stopped" true
	like "which is recorded, too" "$(aictl audit --act exec -j "$stopped" -n 1)" \
		"nobody +exec +job $stopped .*refused\$"
	ok "in the log as well" has_line "$log" \
		"job exec job=$stopped user=nobody owner=root text='refused'"
	theirs=$(cd / && as_user nobody aisub --parsable -o /dev/null --wrap 'exec sleep 1000')
	wait_for is_state "$theirs" RUNNING
	is "root is its user there" "$(aictl exec "$theirs" sh -c 'id -un; id -Gn')" \
		"$(as_user nobody sh -c 'id -un; id -Gn')"
	like "which is audited" "$(aictl audit --act exec -n 1)" "root +exec +job $theirs"
	cat >tty.sh <<END
echo typed | cat
aictl exec $theirs sh -c 'for i in 0 1 2; do test -t \$i; echo "\$i \$?"; done; cat; echo all >&2'
echo status \$?
END
	is "root's terminal is not for that user" \
		"$(on_tty </dev/null | tr -d '\r' | xargs)" \
		"typed 0 1 1 1 2 1 all status 0"
	is "so is its user" "$(as_user nobody aictl exec "$theirs" id -un)" nobody
	like "not by the socket either" \
		"$(as_user daemon "$top_builddir/tests/e2e/step_hostile" \
			"$dir/state/run/$theirs.1/step" many 1 2>&1)" "Permission denied|^0\$"
	mkdir -m 1777 "$dir/open"
	cat >ends <<-'END'
		#!/bin/sh
		trap 'cat "$AISCHED_END_FILE" >"$1"; exit' TERM
		echo up >"$1"
		while :; do sleep 0.05; done
	END
	chmod 644 ends
	ends=$PWD/ends
	theirs=$(cd / && as_user nobody aisub --parsable -o /dev/null \
		"$ends" "$dir/open/why")
	ok "that user's script runs" wait_for has_line "$dir/open/why" up
	aicancel --wait "$theirs"
	is "and reads why it is ended" "$(cat "$dir/open/why")" \
		"cancelled The job was cancelled."
fi

# --- ports ------------------------------------------------------------------------

# shellcheck source=tests/e2e/forward.sh
. "$top_srcdir/tests/e2e/forward.sh"

# ADDRESS: starts a job that listens there, at port $p
serve()
{
	rm -f at
	serving=$(submit -o /dev/null --wrap "exec $port serve $1 $PWD/at")
	wait_for test -s at || return 1
	p=$(cat at)
}

answers()
{
	[ "$(echo typed | call 2>/dev/null)" = typed ]
}

# TEXT: whether aictl has printed it to stderr
told()
{
	grep -qF "$1" "$dir/forward.err"
}

for address in ::1 0.0.0.0 ::; do
	if [ "$address" != 0.0.0.0 ] && [ ! -e /proc/net/tcp6 ]; then
		ok "skipped: this machine has no $address" true
		continue
	fi
	ok "a port at $address" serve "$address"
	ok "is forwarded" forward "$serving" "$p"
	is "and answers" "$(echo typed | call)" typed
	unforward
	aicancel "$serving"
done
ok "a port" serve 127.0.0.1
ok "is forwarded" forward "$serving" "$p"
is "aictl tells from where" "$(cat "$dir/forward.out")" \
	"127.0.0.1:$at is port $p of job $serving"
is "it answers" "$(echo typed | call)" typed
if is_root; then
	is "nobody else is served" \
		"$(echo typed | as_user nobody timeout "$deadline_s" "$port" call "$at" 2>/dev/null)" ""
	ok "and aictl tells so" wait_for told \
		"another user tried to connect to 127.0.0.1:$at"
fi
head -c 3000000 /dev/urandom >much
is "much is sent whole" "$(call <much | cksum)" "$(cksum <much)"
for n in 1 2 3 4 5; do
	echo "$n" | call >"answer.$n" &
	eval "caller_$n=$!"
done
for n in 1 2 3 4 5; do
	eval "wait \$caller_$n"
done
is "several answer at a time" "$(cat answer.?)" "1
2
3
4
5"
is "all are noted" "$(aictl audit --act forward -j "$serving" -n 100 | wc -l)" 8

# Connections that stay open until aictl ends
for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do
	rm -f "held.$n"
	echo "$n" | timeout "$deadline_s" "$port" hold "$at" >"held.$n" &
	eval "caller_$n=$!"
done
# Whether each connection has got its answer.
all_held()
{
	for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do
		[ -s "held.$n" ] || return 1
	done
}
ok "as many are served as a user may have" wait_for all_held
is "but no more" \
	"$(timeout "$deadline_s" "$top_builddir/tests/e2e/ask" "{\"op\": \"relay\", \"id\": \"$serving\", \"task\": 0, \"port\": $p}" </dev/null)" \
	"refused: you have 16 commands in jobs of clusters and connections to jobs: end one"
unforward
for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do
	eval "wait \$caller_$n"
done
ok "its end closes them" forward "$serving" "$p"
ok "and there is room again" wait_for answers

named=$(submit --port web=8888,board=6006 --wrap 'exec sleep 1000')
ok "a job whose ports have names" wait_for is_state "$named" RUNNING
like "shows where they are" "$(aiq "$named" | grep -A 1 '^  ports' | xargs)" \
	"ports web [^ ]+ 8888 board [^ ]+ 6006"
ok "one is forwarded by its name" forward "$named" board
is "to its number" "$(cat "$dir/forward.out")" \
	"127.0.0.1:$at is port 6006 of job $named"
unforward
fails "one that it has not is told" 1 \
	"job $named has no port 'x'; it has web=8888,board=6006" \
	aictl forward "$named" x
fails "nor can they be changed" 1 "'port' cannot be changed" \
	aictl update "$named" port=web=1
aicancel "$named"

ok "a port once more" forward "$serving" "$p"
stop_daemon
is "without the daemon nothing answers" "$(echo typed | call)" ""
start_daemon || bail "aischedd does not start"
ok "the next one goes on" wait_for answers
unforward

rm -f foreign
"$port" serve 127.0.0.1 foreign &
foreign=$!
wait_for test -s foreign
ok "the port of a process outside the job" forward "$serving" "$(cat foreign)"
is "does not answer" "$(echo secret | call)" ""
ok "and aictl tells why" wait_for told \
	"port $(cat foreign) is not the job's: another process listens there"
kill "$foreign"
wait "$foreign" 2>/dev/null
is "nor does one at which nothing listens" "$(echo typed | call)" ""
ok "and aictl tells that" wait_for told \
	"no process of the job listens at port $(cat foreign)"
aicancel --wait "$serving"
is "a job that has ended does not answer" "$(echo typed | call)" ""
wait "$forward_pid"
is "and ends aictl" "$? $(tail -n 1 "$dir/forward.err")" \
	"1 aictl: job $serving has ended"
says "nor is it forwarded" 1 "" "aictl: job $serving does not run" \
	aictl forward "$serving" 80
held=$(submit -H -o /dev/null --wrap true)
says "nor one that waits" 1 "" "aictl: job $held has not started" \
	aictl forward "$held" 80
for words in 0 65536 x 1:x x:1 :; do
	fails "no port: $words" 1 "aictl: " aictl forward "$stopped" "$words"
done
fails "nor none" 2 "forward takes JOB [LOCAL:]PORT" aictl forward "$stopped"
"$port" serve 127.0.0.1 taken &
taken=$!
wait_for test -s taken
says "a port of ours that is taken" 1 "" \
	"aictl: cannot listen at 127.0.0.1 port $(cat taken): Address already in use" \
	aictl forward "$stopped" "$(cat taken):80"
kill "$taken"
if [ -e /proc/net/tcp6 ]; then
	"$port" serve ::1 taken6 &
	taken=$!
	wait_for test -s taken6
	says "one that somebody has at ::1" 1 "" \
		"aictl: cannot listen at ::1 port $(cat taken6): Address already in use" \
		aictl forward "$stopped" "$(cat taken6):80"
	kill "$taken"
fi
if is_root; then
	says "another's" 1 "" "aictl: job $stopped is not yours: its ports are for its owner and root" \
		as_user nobody aictl forward "$stopped" 80
fi
done_testing

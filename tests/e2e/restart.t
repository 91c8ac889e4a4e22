#!/bin/sh
# The daemon, shepherds, disks and machines fail, and aisched recovers.
# shellcheck disable=SC2016,SC2119 # jobs expand their own variables

. "$top_srcdir/tests/e2e/jobs.sh"
ask=$top_builddir/tests/e2e/ask

# JOB: prints the path of the file "claim" that its shepherd made when it began
claim()
{
	echo "$dir/state/run/$(field "$1" job_id).$(field "$1" attempt)/claim"
}

shepherd_pid()
{
	sed 's/.*"pid":\([0-9]*\).*/\1/' "$(claim "$1")"
}

# --- jobs outlive the daemon -----------------------------------------------

gate a b c d e
one=$(submit --wrap "$(at_gate a); exit 3")
two=$(submit --wrap "$(at_gate b)")
asleep=$(submit --wrap 'while :; do echo tick; sleep 0.05; done')
wait_for has_line "slurm-$asleep.out" tick
wait_for is_state "$asleep" RUNNING
aictl suspend "$asleep"
wait_for is_state "$asleep" SUSPENDED
waiting=$(submit -H -a 0-9 --wrap true)
wait_for is_state "$two" RUNNING
aisub -Q -W -c 0.1 --mem 10M --wrap "$(at_gate d); exit 6" &
waiter=$!
wait_for "[ \"\$(aiq -h -t R -o name | wc -l)\" = 3 ]"
started=$(field "$one" start_time)
shepherd=$(shepherd_pid "$one")
kill_daemon
open_gate a
wait_for [ ! -e "/proc/$shepherd" ]
start_daemon
becomes "a job that ended meanwhile" "$one" FAILED
is "its exit status is known" "$(field "$one" exit_code)" 3
is "and when it started" "$(field "$one" start_time)" "$started"
is "one that runs still does" "$(state_of "$two") $(field "$two" attempt)" \
	"RUNNING 1"
is "one that was suspended still is" "$(state_of "$asleep")" SUSPENDED
is "one that waits still does" "$(aiq -h -o display_id,reason "$waiting")" \
	"${waiting}_[0-9]  JobHeldUser"
open_gate b
becomes "and ends" "$two" COMPLETED
ok "the suspended one goes on" aictl resume "$asleep"
becomes "as it was" "$asleep" RUNNING
open_gate d
wait "$waiter"
is "whoever waits is told all the same" $? 6
stop_daemon
start_daemon
is "a clean end leaves jobs running, too" "$(state_of "$asleep")" RUNNING
aicancel --wait --all

# --- jobs cancelled just before the daemon is killed ------------------------

id=$(submit --grace 1s --wrap 'trap "" TERM; echo up; while :; do sleep 0.05; done')
wait_for has_line "slurm-$id.out" up
aicancel "$id"
kill_daemon
start_daemon
becomes "what was to end ends" "$id" CANCELLED

# --- shepherds are killed --------------------------------------------------

id=$(submit --wrap 'echo $$ >pid; exec sleep 1000')
wait_for [ -s pid ]
kill -KILL "$(shepherd_pid "$id")"
becomes "a job without its shepherd" "$id" NODE_FAIL
is "the reason" "$(field "$id" reason): $(field "$id" reason_text)" \
	"NodeFail: its shepherd was killed"
ok "nothing of it is left" wait_for [ ! -e "/proc/$(cat pid)" ]
id=$(sleeper --requeue)
wait_for is_state "$id" RUNNING
kill -KILL "$(shepherd_pid "$id")"
ok "with --requeue it is run again" wait_for "[ \"\$(field $id restarts)\" = 1 ]"
becomes "it runs" "$id" RUNNING
kill_daemon
kill -KILL "$(sed 's/.*"pid":\([0-9]*\).*/\1/' "$dir/state/run/$id.2/claim")"
start_daemon
ok "also when the daemon was away" wait_for "[ \"\$(field $id restarts)\" = 2 ]"

# --- another boot of the machine -------------------------------------------

other=$(sleeper)
wait_for is_state "$other" RUNNING
wait_for is_state "$id" RUNNING
kill_daemon
for file in "$dir/state/run/"*/claim; do
	kill -KILL "$(sed 's/.*"pid":\([0-9]*\).*/\1/' "$file")"
	sed 's/"boot":"[^"]*"/"boot":"00000000-0000-0000-0000-000000000000"/' \
		"$file" >"$file.new" && mv "$file.new" "$file"
done
start_daemon
becomes "a machine that was restarted" "$other" NODE_FAIL
is "the reason" "$(field "$other" reason_text)" "the machine was restarted"
ok "with --requeue it is run again" wait_for "[ \"\$(field $id restarts)\" = 3 ]"
aicancel --wait "$id"

# --- the same submission again ---------------------------------------------

# TOKEN: submits a held job with this token and prints the answer
with_token()
{
	printf '#!/bin/sh\n' | "$ask" "{\"op\": \"submit\", \"token\": \"$1\",
		\"specs\": [{\"name\": \"t\", \"output\": \"o\",
		\"workdir\": \"/\", \"hold\": 1}],
		\"script_len\": 10, \"env_len\": 0}"
}

first=$(with_token 0123456789abcdef0123456789abcdef)
like "a submission with a token" "$first" '^\{"job_ids":\[[0-9]+\]'
is "the same again" "$(with_token 0123456789abcdef0123456789abcdef)" "$first"
kill_daemon
start_daemon
is "and after a restart" "$(with_token 0123456789abcdef0123456789abcdef)" \
	"$first"
is "is one job" "$(aiq -h -o name)" t
ok "with another it is another" \
	[ "$(with_token 00000000000000000000000000000000)" != "$first" ]
like "a token that is none" "$(with_token 123)" "^refused: submit: bad token"
aicancel --all

# --- the database ----------------------------------------------------------

# NAME TEXT: tests that the daemon does not start, and prints TEXT
no_start()
{
	fails "$1" 1 "database '$dir/state/aisched.db': $2" \
		timeout 60 "$top_builddir/aischedd/aischedd" -c "$conf"
}

id=$(submit -H --wrap true)
stop_daemon
mkdir "$dir/saved"
cp "$dir/state/aisched.db"* "$dir/saved"
echo "this is no database, though it is long enough to be one" >"$dir/state/aisched.db"
no_start "no database" ""
rm -f "$dir/state/aisched.db"*
cp "$dir/saved/"* "$dir/state"
size=65536 # of the pages; the file is larger
head -c $((size / 2)) /dev/zero |
	dd of="$dir/state/aisched.db" bs=1 seek=4096 conv=notrunc 2>/dev/null
no_start "a corrupt one" ""
head -c $((size / 2)) "$dir/saved/aisched.db" >"$dir/state/aisched.db"
no_start "a part of one" ""
if command -v sqlite3 >/dev/null; then
	cp "$dir/saved/"* "$dir/state"
	sqlite3 "$dir/state/aisched.db" 'PRAGMA user_version = 99'
	no_start "a newer one" "was written by a newer aischedd (schema 99"
	rm -f "$dir/state/aisched.db"*
	sqlite3 "$dir/state/aisched.db" 'CREATE TABLE t (x)'
	no_start "another program's" "is a database, but not one of aischedd"
fi
rm -f "$dir/state/aisched.db"*
cp "$dir/saved/"* "$dir/state"
start_daemon
is "nothing was changed in it" "$(state_of "$id")" PENDING
is "nobody else reads it" "$(stat -c %a "$dir/state/aisched.db")" 600
aicancel "$id"

# --- a database that lacks commits -----------------------------------------

id=$(submit --wrap "exec sleep 1000")
wait_for is_state "$id" RUNNING
kill_daemon
mkdir "$dir/lost"
mv "$dir/state/aisched.db-wal" "$dir/lost"
no_start "its log is gone" "lacks commits: '$dir/state/commits' notes commit "
cp "$dir/lost/aisched.db-wal" "$dir/state"
mv "$dir/state/aisched.db"* "$dir/state/commits" "$dir/lost"
no_start "all of it is gone, and a job runs" \
	"lacks commits: '$dir/state/run' has job $id, but the last it has is 0:"
rm -f "$dir/state/aisched.db"* "$dir/state/commits"
cp "$dir/lost/"* "$dir/state"
start_daemon
is "put back, nothing was lost" "$(state_of "$id")" RUNNING
kill_daemon
rm -f "$dir/state/aisched.db"*
start_daemon --accept-loss
ok "begun anew, no id is given out again" [ "$(submit --wrap true)" -gt "$id" ]
fails "what was lost is not known" 1 "$id" aiq "$id"

# --- the database is moved away under the daemon ----------------------------

# FILE: whether this file of the database is missed, and then found again
misses()
{
	aictl status | grep -q "'$dir/state/aisched.db' was removed or replaced" &&
		has_line "$log" "'$dir/state/$1' was removed or replaced" &&
		mv "$dir/lost/$1" "$dir/state/$1" &&
		wait_for "aictl status | grep -q '^space left *yes'"
}

rm -f "$dir/lost/"*
id=$(submit --wrap "$(at_gate e)")
long=$(sleeper)
wait_for is_state "$id" RUNNING
wait_for is_state "$long" RUNNING
stopped=$(shepherd_pid "$long")
mv "$dir/state/aisched.db" "$dir/lost"
fails "without its database it takes no job" 1 \
	"the database '$dir/state/aisched.db' was removed or replaced: the daemon cannot store anything; tell its admin" \
	aisub --wrap true
is "active jobs are listed" "$(aiq -h -t R -o name | wc -l)" 2
fails "a cancel that cannot be stored says why" 1 \
	"this is done, but not stored, as the database '$dir/state/aisched.db'" \
	aicancel "$long"
ok "it is carried out" wait_for [ ! -e "/proc/$stopped" ]
open_gate e
ok "status and log say it until it is back" misses aisched.db
becomes "the end of a job was not lost" "$id" COMPLETED
becomes "nor was the cancel" "$long" CANCELLED
mv "$dir/state/aisched.db" "$dir/lost"
cp "$dir/lost/aisched.db" "$dir/state"
fails "a copy is not the same" 1 "was removed or replaced" aictl hold 1
ok "this is said, too" misses aisched.db
mv "$dir/state/aisched.db-wal" "$dir/lost"
fails "the log of the database is missed, too" 1 "was removed or replaced" \
	aisub --wrap true
ok "until it is back" misses aisched.db-wal
id=$(submit -H --wrap true)
rm "$dir/state/aisched.db"*
fails "it is missed when it is removed" 1 "was removed or replaced" \
	aisub --wrap true
for fd in "/proc/$daemon_pid/fd/"*; do
	case $(readlink "$fd") in
	*/aisched.db-wal*) cp "$fd" "$dir/lost/aisched.db-wal" ;;
	*/aisched.db-shm*) ;;
	*/aisched.db*) cp "$fd" "$dir/lost/aisched.db" ;;
	esac
done
stop_daemon
mv "$dir/lost/aisched.db"* "$dir/state"
start_daemon
is "what the daemon had open is all of it" "$(state_of "$id")" PENDING
aicancel "$id"

# --- a full disk -----------------------------------------------------------

stop_daemon
if is_root && command -v sqlite3 >/dev/null &&
	mount -t tmpfs -o size=2m none "$dir/state" 2>/dev/null; then
	trap 'clean_up; umount "$dir/state"; rm -rf "$dir"' EXIT
	start_daemon
	id=$(submit --wrap "$(at_gate c)")
	long=$(submit --wrap "exec sleep 1000")
	limited=$(submit -t 8s --wrap "exec sleep 1000")
	wait_for is_state "$id" RUNNING
	wait_for is_state "$long" RUNNING
	wait_for is_state "$limited" RUNNING
	head -c 4M /dev/zero >"$dir/state/fill" 2>/dev/null
	ok "a full disk is noticed" wait_for \
		"aictl status | grep -q '^space left *no'"
	fails "a submission is refused" 1 \
		"the disk of '$dir/state' is full: the daemon cannot store anything; try again when there is space" \
		aisub --wrap true
	fails "so are changes" 1 "is full" aictl hold "$id"
	fails "and commands in jobs" 1 "is full" aictl exec "$id" true
	is "reading goes on" "$(state_of "$id")" RUNNING
	ok "a cancel is taken" aicancel "$long"
	becomes "and carried out" "$long" CANCELLED
	becomes "so are time limits" "$limited" TIMEOUT
	aictl status | grep -q '^space left *no'
	result $? "while it is full"
	open_gate c
	ok "its log says it once" has_line "$log" \
		"no job is started or accepted until there is space"
	rm "$dir/state/fill"
	ok "room is noticed" wait_for \
		"aictl status | grep -q '^space left *yes'"
	becomes "the end of a job was not lost" "$id" COMPLETED
	like "submissions are taken" "$(submit -H --wrap true)" '^[0-9]+$'
	ok "sums of use lack nothing" aictl accounting check

	# An open read transaction keeps SQLite from reusing the reserved pages,
	# so the disk gets full.
	mkfifo reader
	sqlite3 "$dir/state/aisched.db" <reader >seen &
	exec 7>reader
	echo 'BEGIN; SELECT count(*) FROM job;' >&7
	ok "somebody reads the database" wait_for [ -s seen ]
	id=$(submit -H -a 0-499 --wrap true)
	long=$(sleeper)
	limited=$(submit -t 8s --wrap 'echo $PPID >late; exec sleep 1000')
	wait_for is_state "$long" RUNNING
	wait_for [ -s late ]
	stopped=$(shepherd_pid "$long") late=$(cat late)
	head -c 4M /dev/zero >"$dir/state/fill" 2>/dev/null
	wait_for "aictl status | grep -q '^space left *no'"
	n=0
	while aicancel "${id}_$n" 2>/dev/null && [ "$n" -lt 499 ]; do
		n=$((n + 1))
	done
	echo "# $n cancels fit in the reserve"
	fails "a cancel that cannot be stored says so" 1 \
		"this is done, but not stored, as the disk of '$dir/state' is full" \
		aicancel "$long"
	fails "one of nothing does not" 1 "there is no job 999" aicancel 999
	ok "it is carried out" wait_for [ ! -e "/proc/$stopped" ]
	ok "so are time limits" wait_for [ ! -e "/proc/$late" ]
	echo 'COMMIT;' >&7
	exec 7>&-
	ok "the reserve is used again, though nobody made room" wait_for \
		"aicancel '${id}_[400-499]' 2>/dev/null"
	kill_daemon
	start_daemon
	is "what is confirmed then is stored, with all before" \
		"$(state_of "$long") $(state_of "$limited")" \
		"CANCELLED TIMEOUT"
	rm "$dir/state/fill"
	wait_for "aictl status | grep -q '^space left *yes'"
	aicancel "$id"

	stop_daemon
	wait_for umount "$dir/state" # shepherds leave after their records
	trap clean_up EXIT
	start_daemon
else
	skip "a full disk" "takes a tmpfs of one's own, and sqlite3"
	start_daemon
fi

done_testing

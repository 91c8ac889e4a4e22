#!/bin/sh
# keep.t - what aischedd(8) says about backups, restoring, moving, upgrading,
# the log and its rotation, and starting without systemd; and the place of
# TMPDIR

# shellcheck source=tests/e2e/jobs.sh
. "${top_srcdir:=.}/tests/e2e/jobs.sh"

db=$dir/state/aisched.db

# --- backup and restore ----------------------------------------------------

if command -v sqlite3 >/dev/null; then
	kept=$(submit -H --wrap true)
	mkdir "$dir/backup"
	ok "a copy is made while it runs" \
		sqlite3 "$db" ".backup '$dir/backup/aisched.db'"
	lost=$(submit -H --wrap true)
	stop_daemon
	rm -f "$db-wal" "$db-shm" "$db"
	cp "$dir/backup/aisched.db" "$db"
	fails "an older copy is not taken silently" 1 "start once with --accept-loss" \
		"$top_builddir/aischedd/aischedd" -c "$conf"
	start_daemon --accept-loss
	is "what was copied is there" "$(state_of "$kept")" PENDING
	is "what came later is not" "$(state_of "$lost")" ""
	is "others cannot read it" "$(stat -c %a "$db" "$db-wal" "$db-shm" | xargs)" \
		"600 600 600"
	stop_daemon
	start_daemon
	is "that was needed once" "$(state_of "$kept")" PENDING
	aicancel "$kept"
else
	skip "backup and restore" "takes sqlite3"
fi

# --- moving the state folder -----------------------------------------------

moved=$(submit -H --wrap 'echo moved')
stop_daemon
cp -R "$dir/state" "$dir/there"
sed -i "s,^state_dir = .*,state_dir = \"$dir/there\"," "$conf"
start_daemon
is "it waits there under its id" "$(state_of "$moved")" PENDING
aictl release "$moved"
becomes "and runs there" "$moved" COMPLETED

# --- upgrading an old database ---------------------------------------------

if command -v sqlite3 >/dev/null; then
	stop_daemon
	mkdir -m 700 "$dir/old"
	sqlite3 "$dir/old/aisched.db" <"$top_srcdir/tests/unit/store/v6.sql"
	sed -i "s,^state_dir = .*,state_dir = \"$dir/old\"," "$conf"
	echo 'queue batch { }' >>"$conf"
	start_daemon
	is "a job of an older version waits" "$(state_of 7)" PENDING
	is "another has ended" "$(state_of 1)" FAILED
	is "and says how long it ran" "$(aiq -h -o elapsed_ms 1)" 10000
else
	skip "upgrading" "takes sqlite3"
fi

# --- the log, and starting without systemd ----------------------------------

# TEXT: prints how many lines of the log contain it
logged()
{
	grep -c -- "$*" "$own_log"
}

stop_daemon
own_log=$dir/own.log
configure "log_file = \"$own_log\"
$default_config"
: >"$log"
unset NOTIFY_SOCKET JOURNAL_STREAM
rm -rf "$dir/state"
start_daemon
is "it makes its folder" "$(test -d "$dir/state" && echo yes)" yes
ok "and logs to log_file" logged " notice "
unlike "not to standard error" "$(cat "$log")" notice
is "which others cannot read" "$(stat -c %a "$own_log")" 640

mv "$own_log" "$own_log.1"
kill -HUP "$daemon_pid"
ok "a new file begins on SIGHUP" wait_for "grep -q reloaded '$own_log'"
unlike "the old one has ended" "$(cat "$own_log.1")" reloaded

mv "$own_log" "$own_log.1"
ok "and on aictl reload" aictl reload
like "with its first line" "$(cat "$own_log")" reloaded

mv "$own_log" "$own_log.1"
cp "$conf" "$conf.good"
echo 'no_such_key = 1' >>"$conf"
kill -HUP "$daemon_pid"
ok "and with an error in the configuration" \
	wait_for "grep -q 'not reloaded' '$own_log'"
cp "$conf.good" "$conf"

rm "$own_log"
mkdir "$own_log"
fails "a file that cannot be opened" 1 "log_file" \
	"$top_builddir/aischedd/aischedd" -c "$conf"
ok "does not end the daemon that runs" aictl reload
rmdir "$own_log"
ok "which opens it when it can" aictl reload
ok "again" logged reloaded
sed -i 's,^log_file = .*,log_file = "/elsewhere",' "$conf"
fails "another file" 1 "changing log_file needs a restart" aictl reload
sed -i 's,^log_file = .*,log_file = "elsewhere",' "$conf"
fails "not from the root" 1 "bad path 'elsewhere'" aictl reload
cp "$conf.good" "$conf"

# The example for logrotate sends its signal to this daemon, and to nothing
# else.
like "lines for logrotate send SIGHUP" \
	"$(cat "$top_srcdir/contrib/logrotate")" "pkill -HUP -x -U 0 aischedd"
is "the daemon has that name" "$(cat "/proc/$daemon_pid/comm")" aischedd
if command -v logrotate >/dev/null && is_root; then
	sed "s,/var/log/aischedd.log,$own_log," "$top_srcdir/contrib/logrotate" \
		>"$dir/rotate"
	ok "logrotate takes them" logrotate --debug "$dir/rotate"
else
	skip "logrotate takes them" "takes logrotate, and root"
fi

# --- where TMPDIR is --------------------------------------------------------

# shellcheck disable=SC2016 # for the job
job=$(submit --wrap 'echo "$TMPDIR" >t; stat -c %a "$TMPDIR" >>t')
becomes "a job" "$job" COMPLETED
tmp=$(head -n 1 t)
like "has a folder in tmp_dir" "$tmp" "$dir/tmp/"
is "of its own" "$(tail -n 1 t)" 700
ok "which goes with the job" wait_for "! test -e '$tmp'"

done_testing

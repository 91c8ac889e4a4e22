#!/bin/sh
# keep.t - backup, restore, moving, upgrading: the chapters of aischedd(8)

# shellcheck source=tests/e2e/lib.sh
. "${top_srcdir:=.}/tests/e2e/lib.sh"
# shellcheck source=tests/e2e/jobs.sh
. "$top_srcdir/tests/e2e/jobs.sh"

db=$dir/state/aisched.db

# --- backup and restore ----------------------------------------------------

if command -v sqlite3 >/dev/null; then
	kept=$(submit -H --wrap true)
	mkdir "$dir/backup"
	ok "a copy is made while it runs" \
		sqlite3 "$db" ".backup '$dir/backup/aisched.db'"
	lost=$(submit -H --wrap true)
	stop_daemon
	rm -f "$db-wal" "$db-shm"
	cp "$dir/backup/aisched.db" "$db"
	fails "an older copy is not taken silently" 1 "start once with --accept-loss" \
		"$top_builddir/aischedd/aischedd" -c "$conf"
	start_daemon --accept-loss
	is "what was copied is there" "$(state_of "$kept")" PENDING
	is "what came later is not" "$(state_of "$lost")" ""
	stop_daemon
	start_daemon
	is "that was needed once" "$(state_of "$kept")" PENDING
	aicancel "$kept"
else
	skip "backup and restore" "takes sqlite3"
fi

# --- moving ----------------------------------------------------------------

moved=$(submit -H --wrap 'echo moved')
stop_daemon
cp -R "$dir/state" "$dir/there"
sed -i "s,^state_dir = .*,state_dir = \"$dir/there\"," "$conf"
start_daemon
is "it waits there under its id" "$(state_of "$moved")" PENDING
aictl release "$moved"
becomes "and runs there" "$moved" COMPLETED

# --- upgrading -------------------------------------------------------------

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

done_testing

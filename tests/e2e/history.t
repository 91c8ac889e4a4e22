#!/bin/sh
# Archive ended jobs, remove them, and read the archive.

. "${top_srcdir:=.}/tests/e2e/jobs.sh"

db=$dir/state/aisched.db

# FILE: prints how many lines an archive has
lines()
{
	zcat "$1" | wc -l
}

ended()
{
	aiq --history -a -h -o display_id
}

# --- an archive ------------------------------------------------------------

gate a
one=$(submit -A vision -J first --wrap "$(at_gate a)")
wait_for is_state "$one" RUNNING
aictl requeue "$one"
wait_for "[ \"\$(field $one attempt)\" = 2 ] && is_state $one RUNNING"
open_gate a
two=$(submit -J second --label run=2,team=nlp -a 0-1 --wrap 'exit 3')
becomes "a job ends" "$one" COMPLETED
becomes "an array fails" "${two}_1" FAILED
wait_for is_state "${two}_0" FAILED
three=$(submit -H -J "third" --wrap true)
aicancel "$three"
wait_for is_state "$three" CANCELLED
alive=$(submit -H --wrap true)
aiq --report --json | jq -c .report >"$dir/report"
ended >"$dir/ended"
aiq --history -a --json -o display_id,state,elapsed_all,nodelist >"$dir/json"
aiq --history -a >"$dir/table"
aiq --history -a --attempts >"$dir/attempts"
csv=$(aiq --history -a --csv -o display_id,name,exit,start | tr '\r' .)
is "CSV has the names of columns" "$(echo "$csv" | head -n 1)" \
	"display_id,name,exit,start."
is "and plain values" "$(echo "$csv" | sed '1d; s/,[0-9]\{10,\}/,TIME/' | sort |
	xargs)" "$one,first,0,TIME. ${two}_0,second,3,TIME. ${two}_1,second,3,TIME. \
$three,third,,."
is "times are in seconds" "$(aiq --history -a --csv -o elapsed_all,elapsed_ms |
	tr ,'\r' '  ' | awk '/^[0-9]/ && $1 * 1000 - $2 > -0.5 &&
		$1 * 1000 - $2 < 0.5 { n++ } END { print n }')" 4

# --- a replay --------------------------------------------------------------

PATH=$top_builddir/aisim:$PATH
aiq --history --replay >"$dir/past.jsonl" 2>"$dir/err"
is "a replay has a head, nodes, jobs, attempts and an end" \
	"$(jq -r 'keys[-1]' "$dir/past.jsonl" | uniq -c | xargs)" \
	"1 to 1 node 5 job 4 attempt 1 end"
is "nodes are as large as they are" \
	"$(jq 'select(.node).node | .tmp_mib > 0' "$dir/past.jsonl")" true
is "jobs are what they asked for" \
	"$(jq -c "select(.job.job_id == $one).job.asked |
		[.account, .name, .hold]" "$dir/past.jsonl")" '["vision","first",null]'
aiq --history --replay --anonymous >"$dir/hidden"
is "without names it has codes" \
	"$(jq -c "select(.job.job_id == $one).job |
		[.user, .asked.account, .asked.name[:1], .asked.workdir]" \
		"$dir/hidden")" '["u1","a1","j",null]'
is "and no name at all" "$(grep -c "vision\|first\|$(id -un)\|$dir" \
	"$dir/hidden")" 0
is "aisim simulates it, and again when it has no names" \
	"$(aisim --history "$dir/past.jsonl" -c "$conf" 2>/dev/null |
		jq -c '[.jobs, .ended]')" \
	"$(aisim --history "$dir/hidden" -c "$conf" 2>/dev/null |
		jq -c '[.jobs, .ended]')"
misuse "a replay of some" "--replay goes with --since" \
	aiq --history --replay -u root
misuse "a replay of what runs" "--replay goes with --history" aiq --replay
misuse "codes elsewhere" "--anonymous goes with" aiq --history --anonymous

cp "$conf" "$dir/other.conf"
is "what-if simulates both configurations" \
	"$(aictl --json what-if -c "$dir/other.conf" |
		jq -c '[.jobs, .old.ended, .new.ended, .difference.wait_p95,
			.real.ended, .left_out[0].jobs]')" '[4,4,4,0,4,1]'
sed -i '/^queue default/d' "$dir/other.conf"
echo 'queue other { }' >>"$dir/other.conf"
ok "and says what cannot be" eval \
	"aictl what-if -c '$dir/other.conf' --since 1d | grep -q \
	\"^left out: 4 jobs (there is no queue 'default'\""
fails "one that is wrong" 1 "past.jsonl:1: unexpected token" \
	aictl what-if -c "$dir/past.jsonl"
fails "one that is not there" 1 "cannot read 'none'" aictl what-if -c none
fails "none" 2 "what-if -c FILE" aictl what-if
mkdir "$dir/own" && TMPDIR=$dir/own aictl what-if -c "$conf" >"$dir/told"
is "its own files are gone" "$? $(ls "$dir/own")" "0 "
if is_root; then
	fails "who may not" 1 "configuration: config needs an admin" \
		as_user nobody "$dir/bin/aictl" what-if -c "$conf"
fi

misuse "CSV and JSON" "exclude each other" aiq --history --csv --json
cd "$dir/work" || exit 1
# Prints when history was archived, as metrics have it.
archived()
{
	aictl metrics | awk '$1 == "aisched_archive_last_timestamp_seconds" { print $2 }'
}
is "nothing was archived yet" "$(archived)" ""
before=$(date +%s)
is "an archive is made" "$(aictl history archive --before now a.gz)" \
	"4 jobs and 4 attempts are in a.gz"
at=$(archived)
ok "metrics say when" [ "$at" -ge "$before" ]
is "its lines are the jobs and the attempts" "$(lines a.gz)" 9
is "it is its maker's alone" "$(stat -c %a a.gz)" 600
is "the history is empty" "$(ended)" ""
is "what waits is not touched" "$(state_of "$alive")" PENDING
is "sums of use are kept" "$(aiq --report --json | jq -c .report)" \
	"$(cat "$dir/report")"
ok "and can be checked" aictl accounting check
fails "no file is written over" 1 "cannot make 'a.gz'" \
	aictl history archive --before now a.gz
is "who did it is known" "$(aictl audit --act purge | grep -c purge)" 1

# --- reading the archive ---------------------------------------------------

is "the file is listed as the history was" \
	"$(aiq --history -a --file a.gz)" "$(cat "$dir/table")"
is "so are its attempts" "$(aiq --history -a --attempts --file a.gz)" \
	"$(cat "$dir/attempts")"
is "and as JSON" "$(aiq --history -a --json --file a.gz \
	-o display_id,state,elapsed_all,nodelist | jq -c '.jobs[]')" \
	"$(jq -c '.jobs[]' "$dir/json")"
is "of an account" "$(aiq --history -A vision -h -o display_id --file a.gz)" \
	"$one"
is "of a name" "$(aiq --history -n second -h -o display_id --file a.gz |
	sort | xargs)" "${two}_0 ${two}_1"
is "of a label" "$(aiq --history -l team=nlp,run -h -o display_id --file a.gz |
	sort | xargs)" "${two}_0 ${two}_1"
is "of none" "$(aiq --history -l team=cv -h -o display_id --file a.gz)" ""
is "in a state" "$(aiq --history -t CANCELLED -h -o display_id --file a.gz)" \
	"$three"
is "of a node" "$(aiq --history --node none -h --file a.gz)" ""
is "one task" "$(aiq --history -h -o display_id --file a.gz "${two}_1")" \
	"${two}_1"
fails "an unknown job" 1 "no such job: '999'" aiq --history --file a.gz 999
if is_root; then
	is "others' are not listed unasked" \
		"$(as_user nobody aiq --history -h --file /dev/stdin <a.gz)" ""
fi
head -c 200 a.gz >cut.gz
fails "a file that was cut" 1 "it was cut" aiq --history -a --file cut.gz
echo '{"jobs":[]}' >other
fails "another file" 1 "other:1: not an archive" aiq --history --file other
fails "no file" 1 "cannot read 'none'" aiq --history --file none
misuse "a file of jobs that run" "--file goes with --history" aiq --file a.gz
cat >sim.conf <<'END'
queue default { }
pool here { runner = local }
node n0 { pool = here  cpus = 4  memory = "4G" }
END
is "aisim replays it" "$("$top_builddir/aisim/aisim" -c sim.conf \
	--history a.gz | jq '.jobs')" 4

# --- removing ended jobs ---------------------------------------------------

for _ in 1 2 3; do
	last=$(submit --wrap true)
done
becomes "more jobs end" "$last" COMPLETED
wait_for "[ \$(aiq --history -a -h | wc -l) = 3 ]"
is "they are removed, and nothing else is said" \
	"$(aictl history purge --before now 2>&1)" "3 jobs removed"
is "and gone" "$(ended)" ""
is "nothing is left to remove" \
	"$(aictl --json history purge --before now)" '{"removed":0}'
fails "a time to come" 2 "is in the future" aictl history purge --before 2099-01-01
fails "no time" 2 "--before TIME is missing" aictl history purge
fails "a bad time" 2 "bad time 'soon'" aictl history purge --before soon
fails "an unknown verb" 2 "history takes" aictl history shrink --before now
fails "a folder that is not there" 1 "cannot make 'x/y.gz'" \
	aictl history archive --before now x/y.gz
if is_root; then
	fails "who may not" 1 "an operator" as_user nobody "$dir/bin/aictl" \
		history purge --before now
fi

# --- the daemon is killed while it removes jobs ----------------------------

if command -v sqlite3 >/dev/null; then
	last=$(submit --wrap true)
	becomes "a job ends" "$last" COMPLETED
	stop_daemon
	sqlite3 "$db" 'UPDATE attempt SET ended_ms = ended_ms + 3600000'
	start_daemon
	is "metrics still say when history was archived" "$(archived)" "$at"
	aictl history archive --before now clock.gz >/dev/null
	is "an attempt that ended before a clock was set back is archived" \
		"$(zcat clock.gz | grep -c "^{\"attempt\":{\"job_id\":$last,")" 1
	last=$(submit --wrap true)
	becomes "a job ends" "$last" COMPLETED
	stop_daemon
	columns=$(sqlite3 "$db" 'PRAGMA table_info(job)' | cut -d'|' -f2 |
		grep -vx id | paste -sd,)
	sqlite3 "$db" "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL
		SELECT i + 1 FROM n WHERE i < 20000)
		INSERT INTO job (id, $columns) SELECT $last + 1000 + i, $columns
		FROM job, n WHERE id = $last;
		UPDATE meta SET value = $last + 30000 WHERE key = 'next_id'"
	start_daemon
	aictl history archive --before now stopped.gz >"$dir/said" 2>&1 &
	archiver=$!
	wait_for [ -e stopped.gz ]
	kill_daemon
	wait "$archiver"
	all=$(sqlite3 "$db" 'SELECT count(*) FROM job WHERE state >= 5')
	if [ -e stopped.gz ]; then
		is "what was removed is in the archive" \
			"$(zcat stopped.gz | grep -c '^{"job":')" 20001
	else
		is "if an archive is interrupted, nothing is removed" "$all" 20001
		like "and it says why" "$(cat "$dir/said")" "^aictl: "
	fi
	start_daemon
	aictl history purge --before now >"$dir/said" 2>&1 &
	purger=$!
	# shellcheck disable=SC2016 # expanded while waiting
	[ "$all" -eq 0 ] || wait_for '[ "$(sqlite3 "$db" "SELECT count(*) FROM job
		WHERE state >= 5")" -lt "$all" ]'
	kill_daemon
	wait "$purger"
	left=$(sqlite3 "$db" 'SELECT count(*) FROM job WHERE state >= 5')
	is "what is removed is removed in whole slices" \
		"$(((all - left) % 1000 * left))" 0
	start_daemon
	ok "the sums are right" aictl accounting check
	# On a terminal, the last line is overwritten while jobs are removed.
	said=$(script -qec "aictl history purge --before now" /dev/null </dev/null |
		tr '\r' '\n')
	is "it may be repeated" "$(echo "$said" | grep . | tail -n 1 |
		sed 's/^.*K//')" "$left jobs removed"
	like "on a terminal one can see how far it is" "$said" \
		"^.\[Kremoved $((left < 1000 ? left : 1000))\$"
else
	skip "a purge is killed" "takes sqlite3"
fi
done_testing

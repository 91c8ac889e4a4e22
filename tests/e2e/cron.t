#!/bin/sh
# Recurring jobs: the times of a schedule, which need no daemon, and entries.

# shellcheck disable=SC2016,SC2119 # wait_for and jobs expand their own variables
. "$top_srcdir/tests/e2e/jobs.sh"


next()
{
	TZ=Europe/Berlin aictl --socket "$dir/none" cron next "$@"
}

is "a fixed time moves out of the gap" \
	"$(next '30 2 * * *' --from 2027-03-27T12:00 -n 2)" \
	"2027-03-28T03:00:00+02:00
2027-03-29T02:30:00+02:00"
is "an interval runs in both repeated hours" \
	"$(next '0 * * * *' --from 2027-10-31T01:30 -n 3 | tr '\n' ' ')" \
	"2027-10-31T02:00:00+02:00 2027-10-31T02:00:00+01:00 2027-10-31T03:00:00+01:00 "
is "in another zone" "$(next '0 0 * * *' --tz Asia/Kathmandu \
	--from 2027-01-01 -n 1)" "2027-01-02T00:00:00+05:45"
is "five of them, if nothing is said" "$(next @hourly | wc -l)" 5
is "as JSON" "$(next '0 0 29 2 *' --json --from 2026-01-01 -n 1)" \
	'{"next":[{"time":"2028-02-29T00:00:00+01:00","unix":1835391600}]}'
is "@every counts from the begin" \
	"$(next '@every 90m' --from 2027-01-01T00:00 -n 2 | tail -n 1)" \
	"2027-01-01T03:00:00+01:00"

is "a start is of the zone's clock" "$(TZ=Asia/Tokyo next '0 * * * *' \
	--tz America/New_York --from 2027-01-01T11:30 -n 1)" \
	"2027-01-01T12:00:00-05:00"
is "unless it has an offset" "$(next '0 * * * *' --tz America/New_York \
	--from 2027-01-01T11:30+02:00 -n 1)" "2027-01-01T05:00:00-05:00"
is "or is UTC" "$(next '0 * * * *' --tz Asia/Tokyo \
	--from 2027-01-01T11:30:00Z -n 1)" "2027-01-01T21:00:00+09:00"
is "or unix seconds" "$(next '0 * * * *' --tz Asia/Tokyo --from @1835391600 \
	-n 1)" "2028-02-29T09:00:00+09:00"
is "one in a gap counts on" "$(next '0 * * * *' --from 2027-03-28T02:30 -n 1)" \
	"2027-03-28T04:00:00+02:00"
is "what is printed is later" "$(next '0 * * * *' --from 2027-01-01T12:00 \
	-n 1)" "2027-01-01T13:00:00+01:00"
is "steps of days of the week end on Saturday" "$(next '0 0 * * 5/2' \
	--from 2027-01-01T12:00 -n 1)" "2027-01-08T00:00:00+01:00"

fails "four fields" 2 "has 4 fields, not 5" next '* * * *'
fails "six fields" 2 "has 6 fields, not 5" next '0 0 0 1 1 *'
fails "a name with a step" 2 "month 'jan-mar/2': give 1-12" \
	next '0 0 1 jan-mar/2 *'
fails "a field out of range" 2 "minute '60': give 0-59" next '60 * * * *'
fails "a day that no month has" 2 "has such a day of month" next '0 0 30 2 *'
fails "a zone that is not there" 1 \
	"'/usr/share/zoneinfo/Mars/Base': No such file" \
	next @daily --tz Mars/Base
fails "a path instead of a zone" 1 "not the name of a time zone" \
	next @daily --tz ../../../etc/passwd
fails "a bad count" 2 "--count" next @daily -n 0
fails "a bad start" 2 "--from" next @daily --from yesterweek
fails "another word" 2 "not 'lists'" aictl cron lists
fails "no word" 2 "cron takes list, show" aictl cron
fails "a word too much" 2 "cron list takes no words" aictl cron list x

# --- entries, with a daemon ------------------------------------------------

configure "cron { min_period = \"1s\" }$default_config"
restart || bail "aischedd does not start"

# ID KEY: prints a value of an entry
entry()
{
	aictl cron show "$1" --json | jq -r ".$2"
}

# ID: prints the times of the entry's runs, ended or not, one per line
times_of()
{
	{
		aiq --cron "$1" --json
		aiq --cron "$1" --history --json
	} | jq -r '.jobs[].cron_time' | sort -u
}

# ID N: whether the entry has had N runs or more
has_runs()
{
	[ "$(entry "$1" runs)" -ge "$2" ]
}

# ID KEY LEAST: whether the entry's value is at least LEAST
has_at_least()
{
	[ "$(entry "$1" "$2")" -ge "$3" ]
}

id=$(aisub --parsable --cron '@every 2s' --wrap 'echo $AISCHED_CRON_TIME')
ok "an entry runs again and again" wait_for has_runs "$id" 3
aictl cron delete "$id"
ok "its runs end" wait_for 'test -z "$(aiq -h -a)"'
times=$(times_of "$id")
is "each time has a run" "$(echo "$times" | wc -l)" \
	"$(aiq -h --history --cron "$id" | wc -l)"
# A slow machine skips a time if the run before has not ended.
is "2 s apart, or a multiple" \
	"$(echo "$times" | awk 'n++ && ($1 - last) % 2; { last = $1 }')" ""
fails "a deleted entry is gone" 1 "there is no cron entry $id" \
	aictl cron show "$id"
job=$(aiq -h --history --cron "$id" -o job_id | awk 'NR == 1 { print $1 }')
is "the job has the time" "$(cat "slurm-$job.out")" \
	"$(echo "$times" | sed -n 1p)"

id=$(aisub --parsable --cron '@every 1s' --wrap 'exec sleep 1000')
ok "times are skipped while a run goes on" wait_for has_at_least "$id" skipped 2
is "there is one run" "$(entry "$id" runs)" 1
like "and the reason is told" "$(aictl cron show "$id")" "had not ended"
fails "nor does one start by hand" 1 "has not ended" aictl cron run "$id"
fails "aicancel names the command for an entry" 1 "aictl cron delete $id" \
	aicancel "$id"
job=$(entry "$id" last_job_id)
like "a run says whose it is" "$(aiq "$job")" "cron  *$id, for 20.* s late"
aictl cron update "$id" cron-policy=replace
ok "replace ends the run before" wait_for is_state "$job" CANCELLED
aictl cron pause "$id"
is "a paused entry has no next time" "$(entry "$id" next_time)" null
is "and is paused" "$(entry "$id" state)" paused
aictl cron delete --cancel "$id"
ok "delete --cancel ends its runs" wait_for 'test -z "$(aiq -h -a)"'

id=$(aisub --parsable --cron '@every 1s' --cron-policy allow -a 0-1 \
	--wrap 'exec sleep 1000')
ok "allow starts one beside the other" wait_for has_runs "$id" 2
aictl cron delete --cancel "$id"
ok "arrays end, too" wait_for 'test -z "$(aiq -h -a)"'

id=$(aisub --parsable --cron '@every 1s' --cron-policy replace -a 0-1 \
	--wrap 'exec sleep 1000')
ok "an array runs" wait_for has_runs "$id" 1
job=$(entry "$id" last_job_id)
ok "replace ends all of an array" wait_for \
	'[ "$(aiq -h -o state "$job" | sort -u)" = CANCELLED ]'
aictl cron delete --cancel "$id"
ok "the next one ends with its entry" wait_for 'test -z "$(aiq -h -a)"'

out=$(aisub --cron '@yearly' --wrap true)
like "aisub says when it runs next" "$out" \
	'^Submitted cron entry [0-9]+, next 20[0-9]+-01-01T00:00:00[+-][0-9:]+$'
id=$(echo "$out" | sed 's/.*entry //; s/,.*//')
aictl cron delete "$id"
out=$(aisub --json -J big --cron '@yearly' --wrap true)
id=$(echo "$out" | jq .cron_id)
is "or prints the entry as JSON" "$(echo "$out" | jq -c '[.name, .schedule,
	.state, .runs, .last_time]')" '["big","@yearly","active",0,null]'
n=12
while [ "$n" -gt 0 ]; do
	job=$(aictl cron run "$id" | sed 's/.* //')
	wait_for is_state "$job" COMPLETED
	n=$((n - 1))
done
is "show has its last ten runs, the latest first" "$(aictl cron show "$id" |
	grep -c ' COMPLETED for 20.*, [0-9-]* s late$') $(aictl cron show "$id" |
	awk '/ COMPLETED for / { print $1; exit }')" "10 $job"
aictl cron delete "$id"

id=$(aisub --parsable --hold --cron '@yearly' --wrap true)
is "--hold makes a paused entry" "$(entry "$id" state)" paused
job=$(aictl cron run "$id" | sed 's/.* //')
ok "run starts one now" wait_for is_state "$job" COMPLETED
is "which is a run of it" "$(aiq --json "$job" | jq '.jobs[0].cron_id')" "$id"
aictl cron resume "$id"
like "resume gives it a next time" "$(entry "$id" next_text)" "-01-01T00:00:00"
is "the listing has it" "$(aictl cron list | awk 'NR == 2 { print $1, $5, $7 }')" \
	"$id @yearly active"
is "as JSON" "$(aictl cron list --json | jq -c '.cron[0] |
	[.cron_id, .schedule, .policy, .runs, .imported]')" \
	"[$id,\"@yearly\",\"forbid\",1,false]"
aictl cron update "$id" 'cron=0 3 * * *' cron-tz=Asia/Tokyo name=other \
	time=5 cron_until=2099-01-01
like "update changes the schedule and its zone" "$(entry "$id" next_text)" \
	"T03:00:00.09:00"
is "and the request" "$(entry "$id" name)" other
fails "a bad field" 1 "no field 'colour'" aictl cron update "$id" colour=red
printf '#!/bin/sh\necho new script\n' >new.sh
aictl cron update "$id" script=new.sh
job=$(aictl cron run "$id" | sed 's/.* //')
ok "a new script is run" wait_for is_state "$job" COMPLETED
is "from then on" "$(cat "slurm-$job.out")" "new script"
aictl cron delete "$id"

# --- runs that are delayed ----------------------------------------------------

for name in a b c d e f; do
	aisub -Q --cron '0 3 * * *' --cron-tz UTC --cron-jitter 1h -J $name --wrap true
done
aictl cron list --json | jq -r '.cron[].next_time % 86400 - 10800' >delays
is "each entry is delayed by up to its jitter" \
	"$(awk '$1 >= 0 && $1 <= 3600' delays | wc -l)" 6
ok "not all by the same time" [ "$(sort -u delays | wc -l)" -gt 1 ]
for id in $(aictl cron list --json | jq '.cron[].cron_id'); do
	aictl cron delete "$id"
done

# --- options that are refused ----------------------------------------------

misuse "a time that no month has" "day of month" \
	aisub --cron '0 0 30 2 *' --wrap true
misuse "a macro that there is not" "@reboot" aisub --cron @reboot --wrap true
fails "--wait" 2 "--wait does not go with --cron" \
	aisub --cron @daily --wait --wrap true
fails "--begin" 2 "--begin does not go with --cron" \
	aisub --cron @daily --begin now+1h --wrap true
fails "a policy alone" 2 "--cron-policy goes with --cron" \
	aisub --cron-policy allow --wrap true
misuse "a policy that there is not" "allow, forbid or replace" \
	aisub --cron @daily --cron-policy all --wrap true
misuse "too much jitter" "more than an hour" \
	aisub --cron @daily --cron-jitter 2h --wrap true
fails "a zone that there is not" 1 "/usr/share/zoneinfo/Mars/Base" \
	aisub --cron @daily --cron-tz Mars/Base --wrap true
fails "a request that can never run" 1 "" \
	aisub --cron @daily -c 1000 --wrap true
fails "an end before the first time" 1 "no time before that" \
	aisub --cron @yearly --cron-until now+1s --wrap true
fails "an unknown entry" 1 "there is no cron entry 999999" \
	aictl cron pause 999999
like "--test-only prints the next times" \
	"$(aisub --cron @hourly --test-only --wrap true)" "next 20.*:00:00"
is "and makes nothing" "$(aictl cron list --json)" '{"cron":[]}'

# --- restarts --------------------------------------------------------------

id=$(aisub --parsable --cron '@every 1s' --wrap true)
skip=$(aisub --parsable --cron '@every 1h' --cron-missed skip --wrap true)
until=$(aisub --parsable --cron '@every 1s' --cron-until now+2s --wrap true)
wait_for has_runs "$id" 1
n=6
while [ "$n" -gt 0 ]; do
	kill_daemon
	start_daemon
	wait_for has_runs "$id" "$(($(entry "$id" runs) + 1))"
	n=$((n - 1))
done
ok "an entry goes when its end has come" wait_for \
	"! aictl cron show $until"
aictl cron pause "$id"
wait_for 'test -z "$(aiq -h -a)"'
is "over kill -9 no time ran twice" "$({
	aiq --cron "$id" --history --json | jq -r '.jobs[].cron_time'
} | sort | uniq -d)" ""
is "and each run is counted" "$(aiq -h --cron "$id" --history | wc -l)" \
	"$(entry "$id" runs)"
is "other entries are still there" "$(entry "$skip" state)" active
aictl cron delete "$id" "$skip"

# --- times that pass while there is no daemon ------------------------------

line='echo $AISCHED_CRON_TIME $AISCHED_CRON_LAST $AISCHED_CRON_MISSED >>'
ids=
for missed in run skip; do
	ids="$ids $(aisub --parsable --cron '@every 2s' --cron-policy allow \
		--cron-missed $missed --wrap "$line $PWD/missed.$missed")"
done
ids="$ids $(aisub --parsable --cron '@every 2s' --cron-policy allow \
	--cron-late 1s --wrap "$line $PWD/missed.late")"
for id in $ids; do
	wait_for has_runs "$id" 1
done
stop_daemon
down=$(date +%s)
wait_for '[ "$(date +%s)" -ge $((down + 7)) ]'
before=$(date +%s)
start_daemon
up=$(date +%s)
for id in $ids; do
	wait_for has_at_least "$id" missed 2
	wait_for has_at_least "$id" last_time "$up"
done
# shellcheck disable=SC2086 # several
aictl cron delete $ids
wait_for 'test -z "$(aiq -h -a)"'
for kind in run skip late; do
	is "each run is told the one before, and how many had none: $kind" \
		"$(sort -n "missed.$kind" | awk 'NF == 2 { first++; next }
		$3 != ($1 - $2) / 2 - 1 || n++ && $2 != last
		{ last = $1 } END { print first + 0 }')" 1
	ok "a run comes after at least two that had none" \
		awk '$3 >= 2 { ok = 1 } END { exit !ok }' "missed.$kind"
done
# On a slow machine, the latest time without a daemon is one while it starts.
is "the latest of them is made up for" "$(awk -v down="$down" -v up="$up" \
	-v before="$before" '$1 > down && $1 < before { n++ }
	$3 >= 2 && !first { first = $1 } END { print n < 2, first <= up }' \
	missed.run)" "1 1"
is "unless the entry says skip" "$(awk -v down="$down" -v before="$before" \
	'$1 > down && $1 < before' missed.skip)" ""

# --- an owner whose account was deleted ------------------------------------

id=$(aisub --parsable --cron '@every 1s' --wrap true)
stop_daemon
sqlite3 "$dir/state/aisched.db" "UPDATE cron SET uid = 54321, user = 'ghost'"
start_daemon
ok "a run is refused when its owner is gone" wait_for has_at_least "$id" \
	refused 1
is "the entry is blocked" "$(entry "$id" state)" blocked
like "with a sentence" "$(entry "$id" reason_text)" "user 'ghost' is gone"
aictl cron delete "$id"

# --- crontab files ---------------------------------------------------------

cat >file <<'END'
# a comment
CRON_TZ = Asia/Tokyo
COLOUR="deep blue"
#SCRON -J nightly
#SCRON --cron-policy=allow
#SCRON -D HERE
0 3 * * * echo $COLOUR 100\%

@every 1h true
END
sed -i "s,HERE,$PWD," file # the home of nobody is not there
is "a file makes entries" "$(aictl cron import file)" "2 made, 0 kept, 0 deleted"
ids=$(aictl cron list --json | jq -c '[.cron[].cron_id]')
is "again it keeps them" "$(aictl cron import - <file)" "0 made, 2 kept, 0 deleted"
is "with their ids" "$(aictl cron list --json | jq -c '[.cron[].cron_id]')" "$ids"
aictl cron -l >printed
ok "print gives the file back" cmp file printed
first=$(echo "$ids" | jq '.[0]')
is "options and variables count for what is below" "$(aictl cron list --json |
	jq -c '.cron[0] | [.name, .policy, .time_zone, .imported]')" \
	'["nightly","allow","Asia/Tokyo",true]'
job=$(aictl cron run "$first" | sed 's/.* //')
wait_for is_state "$job" COMPLETED
is "the command has the environment" "$(cat "$(aiq --json "$job" |
	jq -r '.jobs[0].output')")" "deep blue 100%"
rm -f "$(aiq --json "$job" | jq -r '.jobs[0].output')"
printf '0 3 * * * true\n0 99 * * * true\n5 * * * * a %% b\n' >bad
run aictl cron import bad
is "a bad file is refused" "$rc" 1
like "with each mistake" "$err" "bad:2: .*hour"
like "and its line" "$err" "bad:3: .*crontab"
is "nothing has changed" "$(aictl cron list --json | jq -c '[.cron[].cron_id]')" \
	"$ids"
printf '#SCRON -q none\n0 4 * * * true\n0 99 * * * true\n#SCRON -q gone\n0 5 * * * true\n' >bad
run aictl cron import bad
is "all mistakes are told at once, in the order of lines" \
	"$(echo "$err" | grep -o '^bad:[0-9]*' | tr '\n' ' ')" "bad:2 bad:3 bad:5 "
printf '0 3 * * * true\n#SCRON -q none\n0 4 * * * true\n' >bad
run aictl cron import bad
like "what the daemon refuses has its line" "$err" "^bad:3: .*none"
printf '#SCRON --cpus-per-gpu=2\n0 3 * * * true\n' >bad
run aictl cron import bad
like "options are taken together" "$err" "bad:2: .*no GPUs are asked for"
is "edit runs the editor" "$(EDITOR="sed -i s/every.1h/daily/" aictl cron -e)" \
	"1 made, 1 kept, 1 deleted"
EDITOR="sed -i s/daily/fortnightly/" run aictl cron edit </dev/null
is "a mistake keeps the copy" "$rc" 1
copy=$(echo "$err" | sed -n "s/.*your copy is '\(.*\)'.*/\1/p")
ok "which it names" grep -q fortnightly "$copy"
rm -f "$copy"
aisub --quiet --cron @daily --wrap true
is "clear takes what was imported" "$(aictl cron -r)" "0 made, 0 kept, 2 deleted"
is "and nothing else" "$(aictl cron list --json | jq '.cron | length')" 1
fails "then there is no file" 1 "there is no file" aictl cron print
if is_root; then
	echo '0 5 * * * true' >other
	is "an admin has the file of another made into entries" \
		"$(aictl cron import -u daemon other)" "1 made, 0 kept, 0 deleted"
	is "and sees it" "$(aictl cron print -u daemon)" "$(cat other)"
	is "in a list of all, but not in their own" \
		"$(aictl cron list -a --json | jq '.cron | length')/$(
		aictl cron list --json | jq '.cron | length')" 2/1
	is "they are the other's" "$(aictl cron list -u daemon --json |
		jq -r '.cron[].user')" daemon
	is "and can be cleared" "$(aictl cron clear -u daemon)" \
		"0 made, 0 kept, 1 deleted"
	fails "of a user who is not there" 1 "nosuch" \
		aictl cron print -u nosuch
	fails "by who is no admin" 1 "-u needs an admin" \
		as_user nobody "$dir/bin/aictl" cron print -u root
fi

# --- limits, queues --------------------------------------------------------

configure "cron { min_period = \"1s\"  max_per_user = 2 }
queue a { }
queue b { }
default_queue = a
pool here { runner = local }
node \"$(uname -n)\" { pool = here  cpus = 4  memory = \"4G\" }"
aictl reload
id=$(aisub --parsable -q b --cron '@every 1s' --wrap true)
fails "a user may have so many" 1 "cron.max_per_user" \
	aisub --cron @daily --wrap true
is "a list of a queue has its entries only" \
	"$(aictl cron list -q b | awk 'NR > 1 { print $1 }')" "$id"
wait_for has_runs "$id" 1
aictl queue close b
ok "a closed queue refuses runs" wait_for has_at_least "$id" refused 1
like "and the entry says so" "$(entry "$id" reason_text)" "closed"
aictl queue open b
refused=$(entry "$id" runs)
ok "until it is open again" wait_for has_runs "$id" "$((refused + 1))"

metrics=$(aictl metrics)
like "metrics count entries" "$metrics" 'aisched_cron_entries{state="active"} 2'
like "and runs" "$metrics" "aisched_cron_runs_total [1-9]"
like "and what had none" "$metrics" \
	'aisched_cron_skipped_total{why="refused"} [1-9]'

done_testing

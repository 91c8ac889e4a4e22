#!/bin/sh
# The times of a schedule; no daemon is needed.

. "$top_srcdir/tests/e2e/lib.sh"

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
fails "another word" 2 "takes 'next SCHEDULE', not 'list'" \
	aictl cron list x

done_testing

#!/bin/sh
# Jobs and usage of other users are hidden if the configuration says so.

. "${top_srcdir:=.}/tests/e2e/jobs.sh"

if ! is_root; then
	echo "1..0 # SKIP takes other users"
	exit 0
fi
stop_daemon
configure "queue default { }
queue led { operators = {\"bin\"} }
pool here { runner = local }
node \"$(uname -n)\" { pool = here  cpus = 4  memory = \"4G\" }"
start_daemon

# COMMAND...: runs a command as nobody, who owns a job and may not see those of
# others
guest()
{
	as_user nobody "$@"
}

mine=$(guest aisub --parsable -q default -o /dev/null --wrap true)
gate a
chmod 666 "$dir/gate.a"
other=$(as_user daemon aisub --parsable -q led -o /dev/null --wrap "$(at_gate a)")
cron=$(as_user daemon aisub --parsable -q led -o /dev/null --cron @daily \
	--wrap true)
becomes "a job ends" "$mine" COMPLETED
becomes "another's runs" "$other" RUNNING
is "all are seen" "$(guest aiq -a -t all -h -o display_id | sort | xargs)" \
	"$mine $other"
is "and their use" "$(guest aiq --report -h | awk '{ print $1 }' | xargs)" \
	"daemon nobody TOTAL"

echo 'private = {"jobs"}' >>"$conf"
aictl reload
is "jobs are hidden" "$(guest aiq -a -t all -h -o display_id)" "$mine"
fails "one that is named, too" 1 "no such job" guest "$dir/bin/aiq" "$other"
cp "$top_builddir/tests/e2e/ask" "$dir/bin/ask"
# JOB: waits as nobody until it has ended
waits_for()
{
	guest ask "{\"op\": \"wait\", \"ids\": [\"$1\"]}" </dev/null
}
for op in step exec relay forward; do
	port=
	[ "$op" != forward ] || port=', "port": 80'
	is "it has no $op for others" "$(guest ask "{\"op\": \"$op\", \"id\": \"$other\"$port}" </dev/null)" \
		"refused: job $other does not run"
done
is "and cannot be waited for" "$(waits_for "$other")" \
	"refused: there is no job $other"
like "one's own can" "$(waits_for "$mine")" COMPLETED
is "so are cron entries" "$(guest aictl cron list -a 2>/dev/null | grep -c "$cron.*daily")" \
	0
fails "those that are named, too" 1 "there is no cron entry $cron" \
	guest "$dir/bin/aictl" cron show "$cron"
fails "who may not change them does not learn of them" 1 \
	"there is no cron entry $cron" guest "$dir/bin/aictl" cron pause "$cron"
is "the operator of their queue sees them" \
	"$(as_user bin aictl cron show "$cron" --json | jq .cron_id)" "$cron"
is "use is not" "$(guest aiq --shares -h -o user | grep -c daemon)" 1
# WORDS COMMAND...: tests that the answer about another user's job equals that
# about a job that does not exist
knows_nothing()
{
	never=$1
	shift
	is "nothing is told by $*" "$(guest "$@" 2>&1 | sed "s/$other/N/g; s/$cron/N/g")" \
		"$(for word; do
			shift
			case $word in "$other" | "$cron") word=$never ;; esac
			set -- "$@" "$word"
		done
		guest "$@" 2>&1 | sed "s/$never/N/g")"
}
knows_nothing 999 aicancel "$other"
knows_nothing 999 aictl hold "$other"
knows_nothing 999 aictl requeue "$other"
knows_nothing 999 aictl update "$other" name=x
knows_nothing 999 aiq --log "$other"
knows_nothing 999 aiq --script "$other"
knows_nothing 999 aictl cron pause "$cron"
is "its owner sees it" "$(as_user daemon aiq -h -o display_id)" "$other"
is "the operator of its queue as well" \
	"$(as_user bin aiq -a -h -o display_id)" "$other"
is "but not jobs of other queues" \
	"$(as_user bin aiq -a -t all -h -o display_id)" "$other"
is "an admin sees all" "$(aiq -a -t all -h -o display_id | sort | xargs)" \
	"$mine $other"
open_gate a
becomes "it ends" "$other" COMPLETED
knows_nothing 999 aicancel "$other"
knows_nothing 999 aictl requeue "$other"
knows_nothing 999 aiq --log "$other"
knows_nothing 999 aiq --script "$other"
is "still nobody else can wait for it" "$(waits_for "$other")" \
	"refused: there is no job $other"
is "history is hidden" "$(guest aiq --history -a -h -o display_id)" "$mine"
is "so are attempts" \
	"$(guest aiq --history --attempts -a -h -o display_id)" "$mine"
is "and what they used" "$(guest aiq --efficiency -a -h -o jobid)" "$mine"

sed -i 's/^private = .*/private = {"usage"}/' "$conf"
aictl reload
is "jobs are seen again" "$(guest aiq -a -t all -h -o display_id | sort |
	xargs)" "$mine $other"
is "use is hidden" "$(guest aiq --report -h | awk '{ print $1 }' | xargs)" \
	"nobody TOTAL"
is "but counts in the total" "$(guest aiq --report --json | jq .total.jobs)" 2
is "shares, too" "$(guest aiq --shares -h -o user | grep -c daemon)" 0
is "an operator sees that of the queue" \
	"$(as_user bin aiq --report -h | awk '{ print $1 }' | xargs)" \
	"daemon TOTAL"
sed -i 's/^private = .*/private = {"secrets"}/' "$conf"
fails "an unknown word" 1 "bad word 'secrets': use jobs or usage" aictl reload
sed -i '/^private/d' "$conf"
done_testing

#!/bin/sh
# The recorded usage of users: it grows while jobs run, outlives the daemon, and
# decides whose job starts first.
# shellcheck disable=SC2016,SC2119 # jobs expand their own variables

. "$top_srcdir/tests/e2e/jobs.sh"

me=$(id -un)

# SCHEDULING [QUEUE]: configures these keys of the section scheduling, and of
# queue a
config()
{
	configure "
		queue all { quota { cpus = 3 } }
		queue a { parent = \"all\"  $2 }
		queue b { parent = \"all\"  quota { cpus = 2 } }
		default_queue = \"a\"
		pool here { runner = local }
		node \"$(uname -n)\" { pool = here  cpus = 4  memory = \"4G\" }
		scheduling { $1 }"
}

# COLUMN [QUEUE]: prints a column of aiq --shares for the user of the test
mine()
{
	aiq -h --shares -u "$me" -q "${2:-a}" -o "$1"
}

# NUMBER RELATION NUMBER: whether the relation holds
holds()
{
	awk "BEGIN { exit !($1 $2 $3) }"
}

# With this half-life usage hardly decays: a job with 1 of 4 CPUs adds 0.25 per
# second.
config 'fairshare_half_life = "36500d"'
restart
is "nobody has used anything" "$(mine user)" ""
is "queues are there" "$(aiq -h --shares -o queue | tr '\n' ' ')" "all a b "

# --- usage grows -----------------------------------------------------------

gate a b
id=$(submit -c 1 --mem 1M --wrap "$(at_gate a)")
wait_for is_state "$id" RUNNING
ok "it grows while a job runs" wait_for 'holds "$(mine usage)" ">=" 0.5'
is "all of it is mine" "$(mine share,factor,running_jobs,pending_jobs | tr -s ' ')" \
	"1 0.5 1 0"
is "not in another queue" "$(mine usage b)" ""
before=$(mine usage)
kill_daemon
start_daemon
ok "what was used outlives the daemon" holds "$(mine usage)" '>=' "$before"
ok "and goes on growing" wait_for 'holds "$(mine usage)" ">=" "$before + 0.25"'
open_gate a
becomes "the job ends" "$id" COMPLETED
seconds=$(aiq --json "$id" | sed 's/.*"start_time":\([0-9]*\),"end_time":\([0-9]*\).*/\2 - \1/;t;d')
used=$(mine usage)
ok "it was charged a quarter of its time" holds "$used" '>=' "($seconds) / 4"
ok "and not more" holds "$used" '<=' "($seconds + 2) / 4"
kill_daemon
start_daemon
is "that does not change any more" "$(mine usage)" "$used"
is "hours and jobs are counted, too" "$(mine jobs)" 1

# --- usage of a queue, and in JSON -----------------------------------------

id=$(submit -q b -c 1 --mem 1M --wrap "$(at_gate b)")
wait_for is_state "$id" RUNNING
is "what the queue has" "$(aiq -h --shares -q b -o quota,allocated,running_jobs | head -n 1 | tr -s ' ')" \
	"cpus=2 cpus=1,mem=1M,gpus=0 1"
json=$(aiq --shares --json -q b)
like "as JSON" "$json" '^\{"shares":\['
like "the queue" "$json" '"queue":"b","user":null,"quota":\{"cpus":2,"memory_mib":null,"gpus":null\}'
like "its fair share" "$json" '"fair_share":\{"cpus":1,"memory_mib":null,"gpus":null\},"allocated":\{"cpus":1,"memory_mib":1,"gpus":0\},"ratio":1,'
is "in the list of queues, too" "$(aiq -h --queues -o name,fair_share | tr -s ' ' | tr '\n' ' ')" \
	"all cpus=1 a - b cpus=1 "
like "the user" "$json" "\"queue\":\"b\",\"user\":\"$me\",\"quota\":null,\"fair_share\":null"
is "filters" "$(aiq -h --shares -u nobody,"$me" -q all,b -o queue,user | tr -s ' ')" "b $me"
misuse "no other filter" "no filter but --user and --queue" aiq --shares -t R

# --- the effect of usage on a job ------------------------------------------

id=$(submit -q a -c 4 --mem 1M --wrap true)
wait_for "has_reason $id Resources || has_reason $id Priority"
like "points of a job" "$(aiq "$id")" \
	'^  order +55 points: priority 50, age 0, size 0, fair share 5$'
like "as JSON" "$(aiq --json "$id")" \
	'"score":\{"priority":50,"age":0(\.[0-9]+)?,"size":0,"fair_share":5,"overdue":false,"total":55(\.[0-9]+)?\}'
is "the priority is as it was" "$(field "$id" priority)" 50
is "a column of points" "$(field "$id" score)" 55
is "one that runs has none" "$(field "$((id - 1))" score)" -

# --- usage decays ----------------------------------------------------------

config 'fairshare_half_life = "1s"  size_weight = 8  fairshare_weight = 2' 'max_wait = "1s"'
ok "another half-life" aictl reload
ok "what was used is soon forgotten" wait_for '[ "$(mine usage)" = 0 ]'
like "other weights" "$(aiq "$id")" 'size 8, fair share'
ok "one that has waited too long goes first" wait_for \
	'aiq "$id" | grep -q "; it has waited too long and goes first"'

open_gate b
becomes "the end" "$id" COMPLETED
done_testing

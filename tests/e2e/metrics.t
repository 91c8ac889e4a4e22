#!/bin/sh
# aictl metrics: the counts are right, in the format of Prometheus.
# shellcheck disable=SC2094 # metrics is a file, and a word

. "$top_srcdir/tests/e2e/jobs.sh"

# SAMPLE: prints its current value
value()
{
	aictl metrics | awk -v sample="$1" '$1 == sample { print $2 }'
}

# SAMPLE VALUE: whether it has that value
has_value()
{
	[ "$(value "$1")" = "$2" ]
}

# Checks the text on stdin: each sample follows the type of its family, no
# series occurs twice, buckets do not decrease, and exactly one newline ends the
# text. Prints what is wrong.
check_text()
{
	awk '
		/^# HELP / { if (help[$3]++) print "two helps: " $3; next }
		/^# TYPE / { family = $3; type = $4; next }
		!/^[a-z_]+(\{[a-z_]+="[^"]*"(,[a-z_]+="[^"]*")*\})? -?[0-9][0-9.e+-]*$/ {
			print "bad line: " $0
		}
		{
			name = $1
			sub(/\{.*/, "", name)
			if (type == "histogram")
				sub(/_(bucket|sum|count)$/, "", name)
			if (name != family)
				print "not of " family ": " $0
			if (seen[$1]++)
				print "twice: " $1
			series = $1
			if (!sub(/[{,]le="[^"]*"/, "", series))
				next
			if (series == last && $2 < before)
				print "falls: " $0
			last = series
			before = $2
		}'
}

id=$(submit --wrap true)
becomes "a job has run" "$id" COMPLETED
runs=$(sleeper -c 3)
becomes "one runs" "$runs" RUNNING
held=$(submit -H --array 0-4 --wrap true)
waiting=$(sleeper -c 2)
wait_for told "$waiting" Resources

aictl metrics >metrics
is "the text is well formed" "$(check_text <metrics)" ""
is "no label is a user or a node, unless so configured" \
	"$(grep -cE "\"($(uname -n)|$(id -un))\"" metrics)" 0
is "running" "$(value 'aisched_jobs{queue="default",state="RUNNING"}')" 1
is "pending, tasks of arrays counted" \
	"$(value 'aisched_jobs{queue="default",state="PENDING"}')" 6
is "why: a hold" \
	"$(value 'aisched_jobs_waiting{queue="default",reason="JobHeldUser"}')" 5
is "why: what a pass said" \
	"$(value 'aisched_jobs_waiting{queue="default",reason="Resources"}')" 1
is "submitted" "$(value 'aisched_jobs_submitted_total{queue="default"}')" 8
is "started" "$(value 'aisched_jobs_started_total{queue="default"}')" 2
is "completed" \
	"$(value 'aisched_jobs_ended_total{queue="default",state="COMPLETED"}')" 1
is "allocated" "$(value 'aisched_queue_allocated_cpus{queue="default"}')" 3
is "asked for" "$(value 'aisched_queue_pending_cpus{queue="default"}')" 2
is "idle" "$(value 'aisched_pool_cpus{pool="here",state="idle"}')" 1
is "the runner is up" "$(value 'aisched_runner_up{pool="here"}')" 1
before=$(value 'aisched_cpu_allocated_seconds_total{queue="default",pool="here"}')
ok "what is held grows while nothing happens" wait_for \
	"value 'aisched_cpu_allocated_seconds_total{queue=\"default\",pool=\"here\"}' |
		awk '{ exit !(\$1 > $before + 0.1) }'"

mkdir -p "$dir/state/logs/999"
head -c 5000 /dev/zero >"$dir/state/logs/999/1.0.gz"
ok "kept output is added up" wait_for \
	has_value 'aisched_store_bytes{file="logs"}' 5000
rm -r "$dir/state/logs/999"

aictl requeue "$runs"
becomes "it is requeued" "$runs" RUNNING
is "by a user" \
	"$(value 'aisched_jobs_requeued_total{queue="default",why="user"}')" 1
aicancel --wait "$held" "$waiting" "$runs"
is "cancelled" \
	"$(value 'aisched_jobs_ended_total{queue="default",state="CANCELLED"}')" 7
is "nothing waits" "$(aictl metrics | grep -c '^aisched_jobs_waiting{')" 0
aictl drain "$(uname -n)" -r test
is "a drained node" "$(value 'aisched_nodes{pool="here",state="drained"}')" 1
is "and its CPUs" "$(value 'aisched_pool_cpus{pool="here",state="drained"}')" 4
aictl undrain "$(uname -n)"
aictl update 999 limit=1 2>/dev/null
is "requests by what became of them" \
	"$(value 'aisched_requests_total{op="drain",result="ok"}')" 1

# --- backfill, jobs that wait for too long ----------------------------------

first=$(sleeper -c 3 -t 60)
becomes "one runs again" "$first" RUNNING
large=$(submit -c 4 --wrap true)
wait_for told "$large" Resources
small=$(submit -c 1 -t 1 --wrap true)
becomes "a small job goes before a large one" "$small" COMPLETED
is "which is backfill" "$(value 'aisched_jobs_backfilled_total{queue="default"}')" 1
is "nobody has waited for too long" "$(value 'aisched_overdue_jobs{queue="default"}')" 0
configure "queue default { grace = \"2s\"  max_wait = \"1s\" }
	metrics_users = 1
	pool here { runner = local }
	node \"$(uname -n)\" { pool = here  cpus = 4  memory = \"4G\" }"
aictl reload
ok "then the large one has" wait_for has_value 'aisched_overdue_jobs{queue="default"}' 1

# --- users ---------------------------------------------------------------------

me=$(id -un)
is "whose it is" "$(value "aisched_user_pending_jobs{user=\"$me\"}")" 1
is "nobody holds a GPU" "$(value 'aisched_user_gpus{user="other"}')" 0
if is_root; then
	theirs=$(as_user nobody aisub --parsable -D "$dir/tmp" -c 4 --array 0-2 --wrap true)
	is "those who have the most are named" \
		"$(value 'aisched_user_pending_jobs{user="nobody"}')" 3
	is "others are one" "$(value 'aisched_user_pending_jobs{user="other"}')" 1
	is "there are no more series" "$(aictl metrics | grep -c '^aisched_user_pending_jobs{')" 2
	aicancel --wait "$theirs"
fi
aicancel --wait "$first" "$large"

# --- the number of series --------------------------------------------------------

is "no queue has more series than was counted on" "$(aictl metrics |
	grep 'queue="default"' | grep -vcE 'pool="|^aisched_jobs_waiting' |
	awk '{ print $1 <= 69 }')" 1
is "nor has a pool" "$(aictl metrics | grep 'pool="here"' |
	grep -vcE 'queue="|gpu_type="' | awk '{ print $1 <= 23 }')" 1
is "nor what a queue held of it" "$(aictl metrics | grep 'pool="here"' |
	grep -cE 'queue="' | awk '{ print $1 <= 5 }')" 1
is "nor all the rest" "$(aictl metrics | grep -vcE '^#|^aisched_requests_total|queue="|pool="|user="' |
	awk '{ print $1 <= 130 }')" 1

# --- reload, many queues ---------------------------------------------------

submitted=$(value 'aisched_jobs_submitted_total{queue="default"}')
cp "$conf" good
echo 'nonsense' >>"$conf"
aictl reload 2>/dev/null
is "a reload that was refused" "$(value aisched_config_last_reload_successful)" 0
{
	echo "queue default { }"
	echo "pool here { runner = local }"
	echo "queue all { }"
	seq 400 | sed 's/.*/queue "q&" { parent = "all" }/'
} >many
configure "$(cat many)
default_queue = default"
ok "400 queues" aictl reload
is "another reload" "$(value aisched_config_last_reload_successful)" 1
aictl metrics >metrics
is "what was counted stays" \
	"$(value 'aisched_jobs_submitted_total{queue="default"}')" "$submitted"
is "queues are folded" "$(value aisched_metrics_folded)" 1
ok "so there are not too many series" test \
	"$(grep -vc '^#' metrics)" -le 20000
id=$(submit -q q7 --wrap true)
becomes "a job of one of them" "$id" COMPLETED
is "is counted above it" \
	"$(value 'aisched_jobs_ended_total{queue="all",state="COMPLETED"}')" 1

if is_root; then
	ok "any user may ask" as_user nobody aictl metrics
fi

# --- alerts and dashboard of contrib ---------------------------------------

contrib=$(cd "$top_srcdir/contrib/prometheus" && pwd)
aictl metrics | sed -n 's/^# TYPE \([^ ]*\) \(.*\)/\1 \2/p' |
	awk '{ print $1 }
		$2 == "histogram" { print $1 "_bucket\n" $1 "_sum\n" $1 "_count" }' |
	sort >names
is "rules, alerts and dashboard name nothing else" "$(
	cat "$contrib"/rules.yml "$contrib"/alerts.yml "$contrib"/grafana.json |
		grep -oE '\b(aisched|process)_[a-z_]+' | sort -u |
		comm -23 - names
)" ""
# The dashboard follows the JSON model in Grafana's documentation: no plug-in,
# one data source, and panels neither overlap nor leave the grid.
dashboard()
{
	jq -r "$1" "$contrib/grafana.json"
}
is "the dashboard can be imported again" \
	"$(dashboard '.uid, .id, (.schemaVersion > 30)' | xargs)" "aisched null true"
is "it has 14 panels without a plug-in" \
	"$(dashboard '[.panels[].type] | group_by(.)[] | .[0], length' | xargs)" \
	"timeseries 14"
is "its source is a variable" "$(dashboard '[.templating.list[] |
	select(.type == "datasource" and .query == "prometheus").name] +
	[.panels[].datasource.uid, .panels[].targets[].datasource.uid // empty] |
	unique | join(" ")')" "\${datasource} datasource"
is "panels and their queries have different names" "$(dashboard '
	[.panels[].id], [.panels[].title], (.panels[] | [.targets[].refId]) |
	select(length != (unique | length) or any(.[]; . == null))')" ""
# shellcheck disable=SC2016 # a variable of jq
is "each cell has one panel" "$(dashboard '[.panels[].gridPos |
	range(.x; .x + .w) as $x | range(.y; .y + .h) as $y | [$x, $y]] |
	length == (unique | length) and all(.[]; .[0] < 24)')" true
if command -v promtool >/dev/null; then
	dashboard '{groups: [{name: "panels", rules: [.panels[].targets[].expr |
		{record: "a:b:c", expr: .}]}]} | tojson' >panels.yml
	ok "promtool takes its queries" sh -c \
		'promtool check rules --lint=none panels.yml'
	ok "promtool takes the text" sh -c 'promtool check metrics <metrics'
	ok "and the rules" promtool check rules "$contrib/rules.yml" \
		"$contrib/alerts.yml"
	ok "and their tests pass" promtool test rules "$contrib/alerts_test.yml"
else
	for what in queries text rules tests; do
		echo "ok $((tests_run += 1)) - $what # SKIP promtool is not there"
	done
fi

done_testing

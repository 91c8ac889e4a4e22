#!/bin/sh
# A real Prometheus reads the metrics of a daemon, with our rules and alerts;
# the test asks it for their values in PromQL.
# shellcheck disable=SC2016,SC2119 # wait_for and jobs expand their own variables

. "$top_srcdir/tests/e2e/jobs.sh"

for tool in prometheus curl jq; do
	command -v $tool >/dev/null || skip_all "$tool is not installed"
done

# A loopback address made from the process id, so that port 9090 is free there.
address=127.$((64 + $$ / 65536 % 64)).$(($$ / 256 % 256)).$(($$ % 254 + 1)):9090

# EXPRESSION: prints its current value, or nothing if it has none
asked()
{
	curl -sS -G -m 30 "http://$address/api/v1/query" --data-urlencode "query=$1" |
		jq -r '.data.result[] | .value[1]'
}

# EXPRESSION VALUE: whether it has that value
comes_to()
{
	[ "$(asked "$1")" = "$2" ]
}

# NAME EXPRESSION VALUE: tests that the expression gets that value
told_of()
{
	if wait_for comes_to "$2" "$3"; then
		result 0 "$1"
		return
	fi
	result 1 "$1"
	diag "$2 is $(asked "$2"), want $3"
	return 1
}

# ALERT: prints its name if it is pending or firing
alert()
{
	curl -sS -m 30 "http://$address/api/v1/alerts" |
		jq -r ".data.alerts[].labels.alertname" | grep -x "$1" | sort -u
}

# Starts the daemon with its page on a free port, and tells Prometheus the port.
begin()
{
	configure "http = \"127.0.0.1:0\"
		metrics_users = 1
		$default_config"
	start_daemon || bail "aischedd does not start"
	page=$(sed -n 's,.*page ready url=http://\(.*\)/,\1,p' "$log" | tail -n 1)
	echo "[{\"targets\": [\"$page\"]}]" >"$dir/targets.new"
	mv "$dir/targets.new" "$dir/targets.json"
}

stop_daemon
begin
cat >"$dir/prometheus.yml" <<END
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: ["$top_srcdir/contrib/prometheus/rules.yml",
	"$top_srcdir/contrib/prometheus/alerts.yml"]
scrape_configs:
  - job_name: aisched
    file_sd_configs: [{files: ["$dir/targets.json"], refresh_interval: 1s}]
END
prometheus --config.file="$dir/prometheus.yml" --storage.tsdb.path="$dir/series" \
	--web.listen-address="$address" >"$dir/prometheus.log" 2>&1 &
prometheus_pid=$!
wait_for "curl -sf -m 5 http://$address/-/ready" ||
	bail "prometheus does not start: $(tail -n 3 "$dir/prometheus.log")"

told_of "the daemon is scraped" 'up{job="aisched"}' 1
told_of "how many CPUs there are" 'sum(aisched_pool_cpus)' 4
gate end
job=$(submit -c 3 --wrap "$(at_gate end)")
becomes "a job runs" "$job" RUNNING
told_of "Prometheus knows of it" 'aisched_jobs{queue="default",state="RUNNING"}' 1
told_of "and our rule how much it holds" 'aisched:cpu_allocated:ratio{pool="here"}' 0.75
next=$(submit -c 2 -t 5 --wrap true)
wait_for told "$next" Resources
told_of "that another waits, and why" \
	'sum by (reason) (aisched_jobs_waiting{queue="default"}) == 1' 1
told_of "whose it is" "aisched_user_pending_jobs{user=\"$(id -un)\"}" 1
open_gate end
becomes "both end" "$next" COMPLETED
told_of "an increase is seen" \
	'increase(aisched_jobs_ended_total{queue="default",state="COMPLETED"}[1h]) > bool 0' 1
told_of "none is left" 'sum(aisched_jobs)' 0
told_of "a quantile of a histogram" \
	'histogram_quantile(0.99, sum by (le) (rate(aisched_turn_duration_seconds_bucket[1h]))) > bool 0' 1
told_of "its own requests are counted" 'aisched_web_requests_total{code="200"} > bool 1' 1
like "no sample is lost" "$(asked 'scrape_samples_scraped - scrape_samples_post_metric_relabeling')" '^0$'
is "nor refused" "$(curl -sS "http://$address/api/v1/targets" |
	jq -r '.data.activeTargets[].lastError')" ""
is "types are known" "$(curl -sS "http://$address/api/v1/metadata?metric=aisched_job_wait_seconds" |
	jq -r '.data.aisched_job_wait_seconds[0].type')" histogram
is "rules and alerts are whole" "$(curl -sS "http://$address/api/v1/rules" |
	jq -r '.data.groups[].rules[] | select(.health == "err") | .name + ": " + .lastError')" ""

# --- the daemon stops and starts -----------------------------------------------

stop_daemon
told_of "a daemon that has gone is seen" 'up{job="aisched"}' 0
ok "and alerted of" wait_for '[ -n "$(alert AischedDown)" ]'
begin
told_of "it is back" 'up{job="aisched"} == 1' 1
ok "and the alert gone" wait_for '[ -z "$(alert AischedDown)" ]'

kill "$prometheus_pid"
wait "$prometheus_pid" 2>/dev/null
is "it took all that it read" "$(grep -ciE 'ingest|append failed|rule .*fail' \
	"$dir/prometheus.log")" 0

done_testing

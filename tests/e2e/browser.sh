# shellcheck shell=sh
# browser.sh - drive a real browser with curl and jq
#
# Source it after daemon.sh.  chromedriver speaks WebDriver; chromium runs
# without a display, with a profile in $dir.
# shellcheck disable=SC2154 # daemon.sh sets what it uses

shots=$top_builddir/tests/e2e/shots

has_browser()
{
	command -v chromedriver >/dev/null && command -v chromium >/dev/null &&
		command -v jq >/dev/null && command -v curl >/dev/null
}

# METHOD PATH [OPTION]...: calls chromedriver and prints its answer
driver()
{
	driver_method=$1
	driver_path=$2
	shift 2
	curl -sS --max-time 60 -X "$driver_method" \
		-H 'Content-Type: application/json' \
		"http://127.0.0.1:$driver_port$driver_path" "$@"
}

# COMMAND PARAMETERS: runs a command of the DevTools protocol
devtools()
{
	driver POST "/session/$browser/goog/cdp/execute" \
		-d "{\"cmd\":\"$1\",\"params\":$2}" >/dev/null
}

start_browser()
{
	HOME=$dir chromedriver --port=0 --log-level=SEVERE >"$dir/driver.log" 2>&1 &
	driver_pid=$!
	wait_for "grep -q 'on port [1-9]' '$dir/driver.log'" || return 1
	driver_port=$(sed -n 's/.*on port \([1-9][0-9]*\).*/\1/p' "$dir/driver.log" | tail -n 1)
	browser=$(driver POST /session -d '{"capabilities":{"alwaysMatch":{
		"goog:loggingPrefs":{"browser":"ALL"},
		"goog:chromeOptions":{"binary":"'"$(command -v chromium)"'","args":[
			"--headless=new","--no-sandbox","--disable-dev-shm-usage",
			"--user-data-dir='"$dir/profile"'"]}}}}' |
		jq -r '.value.sessionId // empty')
	[ -n "$browser" ] && devtools Emulation.setTimezoneOverride '{"timezoneId":"UTC"}' &&
		window 1280 900
}

stop_browser()
{
	driver DELETE "/session/$browser" >/dev/null
	kill "$driver_pid"
	wait "$driver_pid" 2>/dev/null
}

# URL: opens it
visit()
{
	driver POST "/session/$browser/url" -d "{\"url\":\"$1\"}" >/dev/null
}

# SCRIPT: runs JavaScript in the page and prints what it returns. jq starts more
# slowly than the browser answers, so it is only used for answers that need it.
js()
{
	js_body=$(printf '%s' "$1" |
		sed -z 's/\\/\\\\/g; s/"/\\"/g; s/\t/\\t/g; s/\n/\\n/g')
	js_answer=$(driver POST "/session/$browser/execute/sync" \
		-d "{\"script\":\"$js_body\",\"args\":[]}")
	js_value=${js_answer#'{"value":'}
	js_value=${js_value%'}'}
	case "$js_value" in
	'{'* | '['* | *\\*) printf '%s\n' "$js_answer" | jq -r .value ;;
	*)
		js_value=${js_value#\"}
		printf '%s\n' "${js_value%\"}"
		;;
	esac
}

# EXPRESSION VALUE: waits until the JavaScript expression has that value
shows()
{
	wait_for "[ \"\$(js 'return $1')\" = \"$2\" ]"
}

# KEY...: presses keys where the focus is, without pauses: the page reads two
# keys as one command only if the second comes soon
press()
{
	keys=
	for key; do
		keys="$keys'$key',"
	done
	js "for (const key of [$keys])
		(document.activeElement || document.body).dispatchEvent(new KeyboardEvent('keydown',
			{key, bubbles: true, cancelable: true}))" >/dev/null
}

# WIDTH HEIGHT [SCALE]: sets the size of the window
window()
{
	devtools Emulation.setDeviceMetricsOverride \
		"{\"width\":$1,\"height\":$2,\"deviceScaleFactor\":${3:-1},\"mobile\":false}"
}

# light|dark: sets the colour scheme
scheme()
{
	devtools Emulation.setEmulatedMedia \
		"{\"features\":[{\"name\":\"prefers-color-scheme\",\"value\":\"$1\"}]}"
}

# USER QUEUE GPUS: makes up a week of past use of the local pool: up to GPUs
# GPUs, in a wave each day. Only while no daemon runs
past_use()
{
	sqlite3 "$dir/state/aisched.db" "
		INSERT INTO rollup_key SELECT coalesce(max(id), 0) + 1, '$1', '',
			'$2', 'batch', 'here', 'a100', unixepoch() * 1000 FROM rollup_key;
		CREATE TEMP TABLE hours AS WITH RECURSIVE
			last(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM last WHERE n < 168)
			SELECT unixepoch() / 3600 * 3600 - n * 3600 AS at FROM last;
		CREATE TEMP TABLE held AS SELECT at, round(3600000000 * $3 *
			(1 - 0.7 * abs(at % 86400 - 50400) / 50400.0)) AS gpu FROM hours;
		CREATE TEMP TABLE sums AS
			SELECT 0 AS level, at AS start, gpu FROM held
			UNION ALL SELECT 1, at / 86400 * 86400, gpu FROM held
			UNION ALL SELECT 2, unixepoch(at, 'unixepoch', 'start of month'),
				gpu FROM held;
		INSERT INTO rollup (level, start, key, wait_max_ms, held_cpu, held_mem,
			held_gpu, cost, cost_rest, jobs, waits, wait_ms, attempts,
			completed, failed, cancelled, timeout, other, evicted,
			evicted_gpu_ms, failed_gpu_ms, cpu_used_ms, cpu_known_ms,
			mem_used_mib_s, mem_known_mib_s)
			SELECT level, start, (SELECT max(id) FROM rollup_key),
			0, sum(gpu), 0, sum(gpu), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
			0, 0, 0 FROM sums GROUP BY level, start;"
}

# The path of axe-core, or nothing if tools/axe-core has not fetched it.
axe_core=$("$top_srcdir/tools/axe-core" --where)
[ -r "$axe_core" ] || axe_core=

# NAME: tests that axe-core finds nothing wrong with what is shown
accessible()
{
	[ -n "$axe_core" ] || return 0
	[ -e "$dir/axe.json" ] ||
		jq -n --rawfile script "$axe_core" '{script: $script, args: []}' >"$dir/axe.json"
	[ "$(js 'return typeof axe')" != undefined ] ||
		driver POST "/session/$browser/execute/sync" -d @"$dir/axe.json" >/dev/null
	is "$1: no rule of axe-core is broken" "$(js 'return axe.run().then(r => r.violations.map(
		v => v.id + ": " + v.nodes.map(n => n.html).join(" ")).join("\n"))')" ""
}

# NAME: saves a screenshot below the build folder
shoot()
{
	mkdir -p "$shots"
	driver GET "/session/$browser/screenshot" | jq -r .value | base64 -d >"$shots/$1.png"
}

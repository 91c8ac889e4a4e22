#!/bin/sh
# The web page in a real browser: what it shows, its keys, dark and light
# colours, a width of 320 pixels, and the accessibility rules of axe-core.
# Screenshots of all pages are left in tests/e2e/shots of the build.
# shellcheck disable=SC2016,SC2119 # jobs and pages expand their own variables

. "$top_srcdir/tests/e2e/jobs.sh"
. "$top_srcdir/tests/e2e/browser.sh"

has_browser || skip_all "chromium, chromedriver, curl or jq is not installed"
export TZ=UTC

# FRAGMENT: opens the page of that URL fragment and waits until it is drawn
page()
{
	js "document.querySelector('main').setAttribute('aria-busy', 'true'); location.hash = '#/$1'" >/dev/null
	shows 'document.querySelector("main").getAttribute("aria-busy")' false
}

rows='document.querySelectorAll("main table tbody tr").length'
first_row='document.querySelector("main table tbody tr td").textContent'

stop_daemon
command -v sqlite3 >/dev/null && past_use ada vision 4 && past_use bob nlp 2 && past=1
configure 'http = "127.0.0.1:0"
	default_queue = "default"
	cron { min_period = "1s" }
	topology { levels = {rack} }
	queue default { grace = "2s" }
	queue research { quota { cpus = 6  gpus = 6 } }
	queue vision { parent = research  quota { cpus = 4  gpus = 4 } }
	queue nlp { parent = research  quota { cpus = 2  gpus = 2 } }
	pool here { runner = local }
	node "'"$(uname -n)"'" { pool = here  cpus = 8  memory = "16G"  gpus = 8  gpu_type = a100  topology = r1 }'
start_daemon || bail "aischedd does not start"

bad='<img src=x onerror=document.title=1>'
ended=$(submit -J "$bad$(printf '\342\200\256')" --wrap 'printf "\033[31mred\033[0m\000\n<script>document.title=1</script>\n"')
becomes "a job has ended" "$ended" COMPLETED
becomes "one has failed" "$(submit -q vision -J wrong-path --wrap 'exit 3')" FAILED
gate live
runs=$(submit -q vision -J train-resnet -c 2 --gpus 4 --mem 2G -t 2h \
	--wrap "echo step 1; $(at_gate live); echo step 2; exec sleep 1000")
becomes "one runs" "$runs" RUNNING
submit -q nlp -J tokenise --gpus 3 --mem 1G -t 1h --wrap 'exec sleep 1000' >/dev/null
waits=$(submit -q vision -J sweep -c 2 --gpus 4 --mem 2G -t 1h --wrap true)
wait_for told "$waits" Resources
nightly=$(submit -J "nightly-eval$bad" --cron '0 3 * * *' --cron-tz Europe/Berlin --wrap true)
busy=$(submit -J ping --cron '@every 1s' --wrap 'exec sleep 1000')
wait_for '[ "$(aictl cron show "$busy" --json | jq .skipped)" -ge 1 ]'
becomes "a run of cron goes on" "$(aictl cron show "$busy" --json | jq .last_job_id)" RUNNING
aictl cron pause "$busy"

start_browser || bail "chromium does not start: $(tail -n 3 "$dir/driver.log")"
link=$(aiq --web)
visit "$link"
ok "a link leads to the overview" shows 'document.querySelector("main h1")?.textContent' test
is "its token is in no address" "$(js 'return location.hash')" "#/"
like "the title has the cluster" "$(js 'return document.title')" 'test'
like "jobs by state" "$(js 'return document.querySelector("main .tiles").textContent')" '1pending.*3running'

# --- each page, dark and light -----------------------------------------------

for colours in light dark; do
	scheme "$colours"
	for fragment in '' '?range=week' queues jobs "jobs?ended=1" "job/$runs" "job/$waits" \
		"job/$ended" "job/$ended/log" nodes 'nodes?view=list' "node/$(uname -n)" users \
		cron "cron/$nightly" "cron/$busy" health; do
		name=$(echo "${fragment:-overview}" | tr '/?=' '---' |
			sed "s/^-/overview-/; s/job-$runs/job-running/; s/job-$waits/job-waiting/; s/job-$ended/job-ended/
				s/cron-$nightly/cron-entry/; s/cron-$busy/cron-paused/; s/$(uname -n)/here/")
		ok "$colours: $name" page "$fragment"
		shoot "$name-$colours"
		accessible "$colours: $name"
	done
done
is "nothing went wrong on any" \
	"$(driver POST "/session/$browser/se/log" -d '{"type":"browser"}' | jq -r '.value[].message')" ""
is "nothing was asked of others" "$(js 'return performance.getEntriesByType("resource")
	.filter(e => new URL(e.name).origin !== location.origin).length')" 0
page "job/$waits"
like "why it waits" "$(js 'return document.querySelector("main .note").textContent')" \
	'^It waits: needs 4 GPUs on one node.*Expected start: '
is "links in text are told by more than their colour" "$(js 'return [...document.querySelectorAll(
	"main :is(.note, dd) a")].filter(a => getComputedStyle(a).textDecorationLine !== "underline").length')" 0
like "the job that it waits for is a link" "$(js 'return document.querySelector("main .note a").hash')" \
	'^#/job/[0-9]+$'
page "jobs?ended=1"
like "markup is text" "$(js 'return document.querySelector("main").textContent')" \
	'<img src=x onerror=document.title=1>'
is "and nothing else" "$(js 'return document.querySelectorAll("main img, main script").length')" 0
page "job/$ended/log"
is "so is output, without what terminals obey" \
	"$(js 'return document.querySelector("pre.log").textContent')" \
	"$(printf 'red\357\277\275\n<script>document.title=1</script>')"
page "job/$runs/log"
ok "a log that grows" shows 'document.querySelector("pre.log").textContent.trim()' "step 1"
open_gate live
ok "is shown as it does" shows 'document.querySelector("pre.log").textContent.trim().slice(-6)' "step 2"

[ -n "$axe_core" ] || skip "rules of accessibility" "axe-core is not there: see tools/axe-core"

# --- use over time -------------------------------------------------------------

# TEXT COLUMN: prints a cell of the table row that contains TEXT
cell()
{
	js "return [...document.querySelectorAll('main tbody tr')].find(
		r => r.textContent.includes('$1'))?.cells[$2].textContent"
}

page ""
is "use of a day is shown" "$(js 'return document.querySelector(".ranges [aria-current]").textContent')" "1 day"
is "of GPUs and CPUs" "$(js 'return document.querySelectorAll("figure svg[role=img]").length')" 2
is "and as numbers, which are folded" "$(js 'return document.querySelector("main details").open')" false
press r
page '?range=week'
if [ "${past-}" ]; then
	# past_use() made up 6 GPUs for 14:00, and 30 % of that for midnight.
	noon=$(date -u -d "$(date -u +%F) - 2 days 14:00" '+%d %b, %H:%M' | sed 's/^0//')
	midnight=$(date -u -d "$(date -u +%F) - 2 days" '+%d %b, %H:%M' | sed 's/^0//')
	is "a bar has the GPUs of its hour" "$(js "return [...document.querySelectorAll('figure rect title')].find(
		t => t.textContent.includes('$noon'))?.textContent.split(': ')[1]")" "6.0 of 8, 75 %"
	is "so has its row" "$(cell "$noon" 1)" 6.0
	is "and that of another hour" "$(cell "$midnight" 1)" 1.8
	like "each queue is there" "$(cell nlp 1)" '^2[0-9][0-9]\.[0-9]$'
	like "the mean is told" "$(js 'return document.querySelector("figcaption").textContent')" \
		'^GPUs held, mean of 7 days: [34]\.[0-9] of 8 '
else
	skip "use of the past" "takes sqlite3"
fi
js 'document.getElementById("numbers").click(); document.getElementById("numbers").focus()' >/dev/null
press r
ok "numbers stay unfolded" shows 'document.querySelector("main details").open' true
is "and keep the focus" "$(js 'return document.activeElement.id')" numbers
accessible "numbers"
js 'document.getElementById("numbers").click()' >/dev/null

# --- cron ------------------------------------------------------------------------

page cron
is "entries" "$(js "return $rows")" 2
is "their schedules" "$(cell nightly-eval 4)" "0 3 * * *"
like "when they run next" "$(cell nightly-eval 6)" '^in [0-9:]+$'
like "why one had no run" "$(cell ping 11)" '^Skipped 20.*: job [0-9]+ had not ended$'
is "what it is called is text" "$(js 'return document.querySelectorAll("main img").length')" 0
page "cron/$nightly"
is "five times are told" "$(js 'return document.querySelectorAll("main .plain time").length')" 5
like "of its own clock" "$(js 'return document.querySelector("main .plain time").title')" 'T03:00:00\+0[12]:00$'
page "cron/$busy"
like "a run is linked" "$(js 'return document.querySelector("main tbody a").hash')" '^#/job/[0-9]+$'
like "and the one in the way" "$(js 'return document.querySelector("main .note a").hash')" '^#/job/[0-9]+$'
page "$(js 'return document.querySelector("main tbody a").hash' | sed 's,^#/,,')"
is "which names its entry" "$(js 'return [...document.querySelectorAll("main dd a")].find(
	a => a.hash.startsWith("#/cron/"))?.textContent')" "$busy"
page cron/999999
like "another entry is not there" "$(js 'return document.querySelector("main").textContent')" \
	'there is no cron entry 999999'

# --- 320 pixels ----------------------------------------------------------------

window 320 800
for fragment in '' '?range=week' queues jobs "job/$waits" "job/$ended" nodes users cron \
	"cron/$nightly" health; do
	page "$fragment"
	name=$(echo "${fragment:-overview}" | tr '/?=' '---' |
		sed "s/^-/overview-/; s/job-$waits/job-waiting/; s/job-$ended/job-ended/; s/cron-$nightly/cron-entry/")
	ok "$name fits 320 pixels" \
		[ "$(js 'return document.documentElement.scrollWidth')" -le 320 ]
	is "$name: keys reach all that scrolls" "$(js 'return [...document.querySelectorAll(".scroll")].filter(
		e => e.scrollWidth > e.clientWidth && e.tabIndex < 0 && !e.querySelector("a, button")).length')" 0
	accessible "$name, small"
	shoot "small-$name"
done
window 1280 900

# --- keys ------------------------------------------------------------------------

page ""
press g j
ok "g j leads to the jobs" shows 'location.hash' '#/jobs'
ok "they are there" shows "$rows" 4
press j j
is "j moves on" "$(js 'return document.querySelector("tr.at")?.rowIndex')" 2
press Enter
ok "Enter opens" shows 'location.hash.slice(0, 6)' '#/job/'
press l
ok "l shows the output" shows 'location.hash.slice(-4)' '/log'
press Escape
ok "Escape leads back" shows 'location.hash.slice(-4) !== "/log"' true
press '?'
is "? tells the keys" "$(js 'return document.getElementById("keys").open')" true
js 'document.getElementById("keys").close()' >/dev/null
press t
was=$(js 'return document.documentElement.dataset.theme')
press t
isnt=$(js 'return document.documentElement.dataset.theme')
is "t turns light to dark" "$(printf '%s\n' "$was" "$isnt" | sort | tr '\n' ' ')" "dark light "
page jobs
js 'document.getElementById("f-name").focus()' >/dev/null
press g n
is "no key works in a field" "$(js 'return location.hash')" '#/jobs'
js 'document.activeElement.blur()' >/dev/null
press g c
ok "g c leads to cron" shows 'location.hash' '#/cron'
page jobs

# --- many jobs -------------------------------------------------------------------

awk 'BEGIN {
	printf "{\"op\": \"submit\", \"env_len\": 0, \"script_len\": 10,"
	printf "\"token\": \"0123456789abcdef0123456789abcdef\","
	for (i = 0; i < 447; i++)
		printf "%s{\"name\": \"n%03d\", \"output\": \"o\"," \
			"\"workdir\": \"/\", \"hold\": 1}", \
			i ? "," : "\"specs\": [", i
	printf "]}"
}' >many
printf '#!/bin/sh\n' | "$top_builddir/tests/e2e/ask" @many >/dev/null
press r
count='document.getElementById("count").textContent'
ok "all are counted" shows "$count" 451
is "200 are shown" "$(js "return $rows")" 200
newest=$(js "return $first_row")
press ']'
ok "] shows the next ones" shows "$first_row" $((newest - 200))
press '['
ok "[ the ones before" shows "$first_row" "$newest"
press End
ok "End the last ones" shows "$rows" 51
press Home
ok "Home the first ones" shows "$first_row" "$newest"
js '[...document.querySelectorAll("th button")].find(b => b.textContent === "Name").click()' >/dev/null
ok "a header sorts" shows 'document.querySelector("main tbody tr td.name").textContent' n000
js '[...document.querySelectorAll("th button")].find(b => b.textContent.startsWith("Name")).click()' >/dev/null
ok "and back" shows 'document.querySelector("main tbody tr td.name").textContent' train-resnet
ok "the address has it" shows 'location.hash' '#/jobs?sort=-name'
page 'jobs?name=n007'
is "a filter" "$(js "return $rows")" 1
shoot jobs-filtered

# --- logging out -----------------------------------------------------------------

aiq --web --logout
press r
ok "a log-out elsewhere shows" shows 'document.querySelector("main h1").textContent' "Log in"
visit about:blank
visit "$link"
ok "the same link again" shows 'document.querySelector("main .note")?.textContent.includes("used or is too old")' true
shoot login
stop_browser

done_testing

#!/bin/sh
# The page in a real browser: what it shows, its keys, dark and light, 320
# pixels.  Pictures of all pages are left in tests/e2e/shots of the build.
# shellcheck disable=SC2016,SC2119 # jobs and pages expand their own variables

. "$top_srcdir/tests/e2e/jobs.sh"
. "$top_srcdir/tests/e2e/browser.sh"

has_browser || skip_all "chromium, chromedriver, curl or jq is not installed"

# FRAGMENT: opens that page and waits until it is drawn
page()
{
	js "document.querySelector('main').setAttribute('aria-busy', 'true'); location.hash = '#/$1'" >/dev/null
	shows 'document.querySelector("main").getAttribute("aria-busy")' false
}

rows='document.querySelectorAll("main table tbody tr").length'
first_row='document.querySelector("main table tbody tr td").textContent'

stop_daemon
configure 'http = "127.0.0.1:0"
	default_queue = "default"
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

start_browser || bail "chromium does not start: $(tail -n 3 "$dir/driver.log")"
link=$(aiq --web)
visit "$link"
ok "a link leads to the overview" shows 'document.querySelector("main h1")?.textContent' test
is "its token is in no address" "$(js 'return location.hash')" "#/"
like "the title has the cluster" "$(js 'return document.title')" 'test'
like "jobs by state" "$(js 'return document.querySelector("main .tiles").textContent')" '1pending.*2running'

# --- each page, dark and light -----------------------------------------------

for colours in light dark; do
	scheme "$colours"
	for fragment in '' queues jobs "jobs?ended=1" "job/$runs" "job/$waits" "job/$ended" \
		"job/$ended/log" nodes 'nodes?view=list' "node/$(uname -n)" users health; do
		name=$(echo "${fragment:-overview}" | tr '/?=' '---' |
			sed "s/job-$runs/job-running/; s/job-$waits/job-waiting/; s/job-$ended/job-ended/; s/$(uname -n)/here/")
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

# --- 320 pixels ----------------------------------------------------------------

window 320 800
for fragment in '' queues jobs "job/$waits" "job/$ended" nodes users health; do
	page "$fragment"
	name=$(echo "${fragment:-overview}" | sed "s/job.$waits/job-waiting/; s/job.$ended/job-ended/")
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
ok "they are there" shows "$rows" 3
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

# --- many ------------------------------------------------------------------------

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
ok "all are counted" shows "$count" 450
is "200 are shown" "$(js "return $rows")" 200
newest=$(js "return $first_row")
press ']'
ok "] shows the next ones" shows "$first_row" $((newest - 200))
press '['
ok "[ the ones before" shows "$first_row" "$newest"
press End
ok "End the last ones" shows "$rows" 50
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

# --- the end ---------------------------------------------------------------------

aiq --web --logout
press r
ok "a log-out elsewhere shows" shows 'document.querySelector("main h1").textContent' "Log in"
visit about:blank
visit "$link"
ok "the same link again" shows 'document.querySelector("main .note")?.textContent.includes("used or is too old")' true
shoot login
stop_browser

done_testing

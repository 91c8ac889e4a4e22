#!/bin/sh
# The web program: who may log in, what it shows, and that attacks fail.
# shellcheck disable=SC2016,SC2119 # jobs expand their own variables

. "$top_srcdir/tests/e2e/jobs.sh"

command -v curl >/dev/null || skip_all "curl is not installed"

# Starts the daemon, on the port that it had before, or on a free one the first
# time.
begin()
{
	configure "http = \"127.0.0.1:0\"
		http_hosts = {\"page.example\"}
		$default_config"
	start_daemon || bail "aischedd does not start"
	url=$(sed -n 's/.*page ready url=//p' "$log" | tail -n 1)
	port=${url##*:}
	port=${port%/}
}

# [OPTION]... PATH: prints the HTTP status
status_of()
{
	left=$#
	for arg; do
		shift
		left=$((left - 1))
		[ $left -eq 0 ] || set -- "$@" "$arg"
	done
	curl -s -m 30 -o "$dir/said" -w '%{http_code}' "$@" "$url${arg#/}"
}

# TOKEN [OPTION]...: logs in with the token and prints the HTTP status
use_token()
{
	token=$1
	shift
	curl -s -m 30 -o "$dir/said" -w '%{http_code}' "$@" \
		-d "{\"k\":\"$token\"}" "${url}login"
}

# TEXT: sends it as it is and prints the first line of the answer
raw()
{
	# shellcheck disable=SC2059 # it has escapes
	printf "$1" | "$top_builddir/tests/e2e/guests" "$port" raw | tr -d '\0' |
		head -n 1 | tr -d '\r'
}

# PATH [OPTION]...: prints the body, as the logged-in user
get()
{
	path=$1
	shift
	curl -s -m 30 -b "$dir/jar" "$@" "$url$path"
}

# [OPTION]...: logs in with a new link
log_in()
{
	aiq --web >"$dir/link"
	use_token "$(sed 's/.*k=//' "$dir/link")" -c "$dir/jar" -H "$ours" "$@"
}

as_nobody()
{
	setpriv --reuid=nobody --regid=nogroup --clear-groups "$@"
}

ours='Sec-Fetch-Site: same-origin'
stop_daemon
begin
web_pid=$(pgrep -P "$daemon_pid" -f aisched-web)

# --- the process -----------------------------------------------------------

like "its rights are given up" "$(cat "/proc/$web_pid/status")" 'NoNewPrivs:	1'
if is_root; then
	unlike "it is not root" "$(sed -n 's/^Uid://p' "/proc/$web_pid/status")" '(^|	)0(	|$)'
	is "it has no capabilities" "$(sed -n 's/^CapEff:	//p' "/proc/$web_pid/status")" \
		0000000000000000
	is "it holds no files" "$(for fd in "/proc/$web_pid/fd/"*; do
			readlink "$fd"; done |
		grep -vE '^(socket|pipe|anon_inode):|^/dev/null$' | grep -v "^$log$")" ""
fi
kill -KILL "$web_pid"
ok "it is started again" wait_for 'pgrep -P "$daemon_pid" -f aisched-web'
ok "and serves" wait_for '[ "$(status_of /healthz)" = 200 ]'

# --- logging in ------------------------------------------------------------

for path in api/1/jobs api/1/me api/1/queues api/1/nodes api/1/users api/1/health \
	api/1/summary api/1/reservations api/1/job/1 api/1/attempts/1 api/1/log/1 \
	api/1/crons api/1/cron/1 api/1/report; do
	is "/$path takes a session" "$(status_of "/$path")" 401
done
is "a made-up session is none" \
	"$(status_of -b "aisched_session=$(printf %064d 1)" /api/1/me)" 401
is "the page itself tells nothing" "$(status_of /)" 200
link=$(aiq --web)
like "a link" "$link" "^${url}#k=[0-9a-f]{64}\$"
is "is no address" "$(status_of "/?k=${link#*k=}")" 200
link=$(aiq --web)
key=${link#*k=}
is "a link of another site is refused" \
	"$(use_token "$key" -H 'Sec-Fetch-Site: cross-site')" 403
is "of another origin, too" "$(use_token "$key" -H 'Origin: http://evil.test')" 403
is "and of nobody that says so" "$(use_token "$key")" 403
is "ours gets in" "$(log_in -D "$dir/head")" 204
like "the cookie is for the page alone" "$(cat "$dir/head")" \
	'^Set-Cookie: aisched_session=[0-9a-f]{64}; HttpOnly; SameSite=Strict; Path=/'
like "who it is" "$(get api/1/me)" "\"user\":\"$(id -un)\""
log_in >"$dir/code"
is "a link works once" "$(use_token "$(sed -n 's/.*k=//p' "$dir/link")" -H "$ours")" 401
like "and says so" "$(cat "$dir/said")" 'used or is too old'
for try in 1 2 3 4 5 6; do
	code=$(use_token "$(printf %064d $try)" -H "$ours" -D "$dir/head")
done
is "whoever guesses is told to wait" "$code" 429
is "and how long" "$(sed -n 's/^Retry-After: //p' "$dir/head" | tr -d '\r')" 12
is "the address is another's, too" \
	"$(use_token "$(printf %064d 1)" -H "$ours" --interface 127.0.0.2)" 401
for header in Remote-User X-Remote-User X-Forwarded-User Authorization; do
	is "$header names nobody" "$(status_of -H "$header: root" /api/1/me)" 401
done
like "where I am logged in" "$(aiq --web --list)" '^since .*, until '
kill -KILL "$(pgrep -P "$daemon_pid" -f aisched-web)"
ok "a restart of the program logs nobody out" \
	wait_for '[ "$(status_of -b "$dir/jar" /api/1/me)" = 200 ]'
aiq --web --logout
is "a log-out does" "$(status_of -b "$dir/jar" /api/1/me)" 401
is "again" "$(log_in)" 204
is "one of the page" "$(status_of -b "$dir/jar" -X POST -H 'Sec-Fetch-Site: same-origin' /logout)" 204
is "ends it, too" "$(status_of -b "$dir/jar" /api/1/me)" 401
i=0
while [ $i -lt 20 ]; do
	i=$((i + 1))
	aiq --web >"$dir/links.$i"
done
log_in >/dev/null
is "the oldest of many links goes" \
	"$(use_token "$(sed 's/.*k=//' "$dir/links.1")" -H "$ours")" 401
misuse "no link to a log-out" "one of --open, --list and --logout" aiq --web --list --logout
misuse "no list without the page" "go with --web" aiq --list
ask_web()
{
	"$top_builddir/tests/e2e/ask" "$1" 2>&1
}
like "sessions are the program's" "$(ask_web '{"op":"session","action":"who"}')" \
	'request of the web program'
like "excerpts are, too" "$(ask_web '{"op":"excerpt","id":"1"}')" 'request of the web program'
like "an act that is not there" "$(ask_web '{"op":"web","action":"x"}')" \
	'must be link, list or logout'

# --- other names, other methods --------------------------------------------

is "another host's page" "$(status_of -H 'Host: evil.test' /)" 421
is "with our port" "$(status_of -H "Host: evil.test:$port" /api/1/me)" 421
is "one that ends like ours" "$(status_of -H 'Host: evil.localhost' /)" 421
is "one that begins like ours" "$(status_of -H 'Host: localhost.evil.test' /)" 421
is "one of the configuration" "$(status_of -H 'Host: page.example' /)" 200
is "its port does not matter" "$(status_of -H 'Host: LOCALHOST:81' /)" 200
for method in DELETE PUT PATCH OPTIONS TRACE; do
	like "$method" "$(status_of -X "$method" /api/1/jobs)" '^(405|501)$'
done
is "nothing is posted elsewhere" \
	"$(status_of -b "$dir/jar" -X POST -H 'Sec-Fetch-Site: same-origin' /api/1/jobs)" 405
is "no file is served" "$(status_of --path-as-is '/../../etc/passwd')" 404
is "under no name" "$(status_of --path-as-is '/%2e%2e/%2e%2e/etc/passwd')" 404
is "nor below the page" "$(status_of --path-as-is '/app.js/../app.js')" 404
like "its headers" "$(curl -s -D - -o /dev/null "$url")" \
	"^Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
unlike "nothing is unsafe, nothing shared" "$(curl -s -D - -o /dev/null "$url")" \
	'unsafe-|Access-Control'
ok "the page is small" [ "$(curl -s "$url" "${url}app.js" "${url}style.css" | wc -c)" -le 100000 ]
is "and names no other host" "$(curl -s "$url" "${url}app.js" "${url}style.css" |
	grep -oE '(https?:)?//[a-z0-9.-]+\.[a-z]+' | grep -v '^http://www.w3.org$')" ""
like "what it tells is not kept" "$(get api/1/me -D - -o /dev/null)" '^Cache-Control: no-store'
like "nor guessed at" "$(get api/1/me -D - -o /dev/null)" '^X-Content-Type-Options: nosniff'

# --- raw requests ------------------------------------------------------------

host='Host: localhost\r\n'
like "two lengths" "$(raw "POST /login HTTP/1.1\r\n${host}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")" ' 400 '
like "no host" "$(raw 'GET / HTTP/1.1\r\n\r\n')" ' 400 '
unlike "a zero in the address" "$(raw "GET /api/1/me\\000x HTTP/1.1\r\n${host}\r\n")" ' 200 '
unlike "a zero in a header" "$(raw "GET /api/1/me HTTP/1.1\r\n${host}Cookie: aisched_session=\\000\r\n\r\n")" ' 200 '
unlike "a long header" "$(raw "GET / HTTP/1.1\r\n${host}X: $(head -c 40000 /dev/zero | tr '\0' x)\r\n\r\n")" ' 200 '
like "a long body" "$(raw "POST /login HTTP/1.1\r\n${host}Content-Length: 5000\r\n\r\n$(head -c 5000 /dev/zero | tr '\0' x)")" ' 413 '
unlike "no HTTP" "$(raw 'AISC\001\002\000\000')" ' 200 '
is "a bad number" "$(status_of -b "$dir/jar" '/api/1/jobs?limit=x')" 400
is "no parameter" "$(status_of -b "$dir/jar" '/api/1/jobs?op=shutdown')" 400
is "no sort" "$(status_of -b "$dir/jar" '/api/1/jobs?sort=nosuch')" 400
value()
{
	aictl metrics | awk -v sample="$1" '$1 == sample { print $2 }'
}
status_of /nothing/here >"$dir/code"
ok "answers are counted by their status" wait_for \
	'[ "$(value "aisched_web_requests_total{code=\"404\"}")" -ge 1 ]'
like "what is told nobody else is" "$(ask_web '{"op":"session","action":"answers","codes":{"200":"5"}}')" \
	'request of the web program'
is "no key of a report" "$(status_of -b "$dir/jar" '/api/1/report?by=colour')" 400
is "nor two times" "$(status_of -b "$dir/jar" '/api/1/report?by=hour,day')" 400
like "use by hour" "$(get 'api/1/report?by=hour')" '^[{]"report":\[.*"since":[0-9]+'
is "a cron entry that there is not" "$(status_of -b "$dir/jar" /api/1/cron/999999)" 404
is "no cursor" "$(status_of -b "$dir/jar" '/api/1/jobs?after=x')" 400
is "a job that there is not" "$(status_of -b "$dir/jar" /api/1/job/999999)" 404
is "in words" "$(cat "$dir/said")" '{"error":"there is no job 999999"}'
is "nor a task of it" "$(status_of -b "$dir/jar" "/api/1/job/999999_7")" 404
is "an id that is none" "$(status_of -b "$dir/jar" '/api/1/job/1x')" 404
is "all that this user asks is read" \
	"$(status_of -b "$dir/jar" '/api/1/jobs?limit=1000000&sort=-submit_time&state=PENDING&user=a,b')" 200

# --- content ---------------------------------------------------------------

bad='<img src=x onerror=alert(1)>'
bidi=$(printf '\342\200\256evil')
id=$(submit -J "$bad$bidi" --comment "$bad" --wrap 'printf "<script>\033[31m\000end\n"')
becomes "a job with markup" "$id" COMPLETED
like "its name is text" "$(get 'api/1/jobs?history=1')" \
	"\"name\":\"<img src=x onerror=alert\\(1\\)>\\\\u202eevil\""
like "of a type that is not markup" "$(get 'api/1/jobs?history=1' -D - -o /dev/null)" \
	'^Content-Type: application/json'
is "its output, whole" "$(get "api/1/log/$id" | tail -n 1 | od -An -c | tr -d ' \n')" \
	'<script>033[31m\0end\n'
like "is plain text" "$(get "api/1/log/$id" -D - -o /dev/null)" '^Content-Type: text/plain'
like "the rest of it" "$(get "api/1/log/$id?from=16&len=2" | od -An -c | tr -d ' \n')" '"state":"COMPLETED"\}\\nd\\n$'
is "too much of it" "$(status_of -b "$dir/jar" "/api/1/log/$id?len=65537")" 400
is "of no job" "$(status_of -b "$dir/jar" /api/1/log/999)" 404
if is_root; then
	echo secret >"$dir/secret"
	chmod 600 "$dir/secret"
	mkdir -m 777 "$dir/theirs"
	theirs=$(cd "$dir/theirs" && as_nobody aisub --parsable --wrap 'rm -f slurm-*.out
		ln -s ../secret "slurm-$AISCHED_JOB_ID.out"')
	becomes "a job puts a link where its output was" "$theirs" COMPLETED
	link=$(as_nobody aiq --web)
	curl -s -o "$dir/said" -c "$dir/nobody" -H "$ours" -d "{\"k\":\"${link#*k=}\"}" "${url}login"
	is "its user sees the job" "$(status_of -b "$dir/nobody" "/api/1/job/$theirs")" 200
	is "but not what the link leads to" "$(status_of -b "$dir/nobody" "/api/1/log/$theirs")" 403
	unlike "in no words" "$(cat "$dir/said")" '^secret'
	like "but those of the system" "$(cat "$dir/said")" 'Permission denied'
	is "nor outputs of others" "$(status_of -b "$dir/nobody" "/api/1/log/$id")" 403
	like "whoever may read it, sees it" "$(get "api/1/log/$theirs")" 'secret'
	as_them()
	{
		curl -s -m 30 -b "$dir/nobody" "$url$1"
	}
	like "others' jobs are seen" "$(as_them 'api/1/jobs?history=1')" \
		"\"display_id\":\"$id\""
	like "and their use" "$(as_them api/1/users)" '"user":"root"'
	echo 'private = {"jobs", "usage"}' >>"$conf"
	aictl reload
	like "private: one's own jobs" "$(as_them 'api/1/jobs?history=1')" \
		"\"display_id\":\"$theirs\".*\"count\":1[,}]"
	for path in "jobs?history=1" "jobs?history=1&user=root" "jobs?history=1&name=x" \
		"job/$id" "attempts/$id" "log/$id" users; do
		unlike "private: nothing of others in $path" "$(as_them "api/1/$path")" \
			'"user":"root"|onerror|script'
	done
	is "private: no such job" "$(as_them "api/1/job/$id")" "{\"error\":\"there is no job $id\"}"
	is "private: nor its output" "$(curl -s -m 30 -o "$dir/said" -w '%{http_code}' \
		-b "$dir/nobody" "${url}api/1/log/$id")" 404
	like "an admin sees all" "$(get 'api/1/jobs?history=1')" "\"display_id\":\"$id\""
	sed -i '/^private/d' "$conf"
	aictl reload
fi
for i in 1 2 3; do submit -H -J "page$i" --wrap true >/dev/null; done
like "a page of jobs" "$(get 'api/1/jobs?sort=-name&limit=2&name=page1,page2,page3')" \
	'"name":"page3".*'
page=$(get 'api/1/jobs?sort=-name&limit=2&name=page1,page2,page3')
like "counted" "$page" '"count":3'
after=$(echo "$page" | tail -n 1 | sed 's/.*"after":"\([^"]*\)".*/\1/')
like "and the next one" "$(get "api/1/jobs?sort=-name&limit=2&name=page1,page2,page3&after=$after")" \
	'"name":"page1".*"after":null'
aicancel -n page1,page2,page3

# --- metrics and health ----------------------------------------------------

is "health" "$(curl -s "${url}healthz")" ok
is "ready" "$(curl -s "${url}readyz")" ok
aictl metrics | sed -n 's/^# TYPE \([a-z_]*\).*/\1/p' >names
is "the same metrics" "$(curl -s "${url}metrics" | sed -n 's/^# TYPE \([a-z_]*\).*/\1/p' | diff - names)" ""
if command -v promtool >/dev/null; then
	ok "promtool finds nothing wrong" sh -c "curl -s '${url}metrics' | promtool check metrics"
fi
like "their type" "$(curl -s -D - -o /dev/null "${url}metrics")" \
	'^Content-Type: text/plain; version=0.0.4'
echo 'cluster = "' >>"$conf"
aictl reload 2>/dev/null
is "a reload that failed" "$(curl -s "${url}readyz")" "reload failed"
is "not ready, but alive" "$(status_of /readyz) $(status_of /healthz)" "503 200"

# --- too many connections --------------------------------------------------

guests=$top_builddir/tests/e2e/guests
log_in >/dev/null || true
mkfifo hold
# shellcheck disable=SC2094 # it is another file
"$guests" "$port" hold 600 <hold >opened &
exec 8>hold
ok "600 connections" wait_for '[ "$(cat opened)" = 600 ]'
is "lock out nobody" "$(status_of /healthz)" 200
is "nor whoever comes from elsewhere" \
	"$(status_of --interface 127.0.0.2 /healthz)" 200
ok "nor the tools" aictl ping
ok "those that are not closed are counted" wait_for \
	'[ "$(value "aisched_connections{kind=\"web\"}")" -ge 20 ]'
exec 8>&-
ok "until they are" wait_for \
	'[ "$(value "aisched_connections{kind=\"web\"}")" = 0 ]'
is "32 of an address, the newest" "$("$guests" "$port" few 40)" 32
"$guests" "$port" slow 20 >opened &
slow_pid=$!
ok "slow headers" wait_for '[ "$(cat opened)" = 20 ]'
is "hold up nobody" "$(status_of /healthz)" 200
ok "and are ended" wait_for "! kill -0 $slow_pid"
# shellcheck disable=SC2094 # it is another file
"$guests" "$port" stall 700 <hold >opened &
exec 8>hold
ok "readers that stop" wait_for '[ "$(cat opened)" = 700 ]'
is "hold up nobody, either" "$(status_of -m 15 /healthz)" 200
web_pid=$(pgrep -P "$daemon_pid" -f aisched-web)
ok "and cost little memory" [ "$(sed -n 's/^VmRSS:[^0-9]*\([0-9]*\) kB/\1/p' \
	"/proc/$web_pid/status")" -lt 100000 ]
exec 8>&-
codes=$(i=0; while [ $i -lt 90 ]; do
		i=$((i + 1))
		printf 'url = "%sapi/1/me"\noutput = "/dev/null"\n' "$url"
	done | curl -s -Z --parallel-max 8 -b "$dir/jar" -w '%{http_code} %header{retry-after}\n' -K - 2>/dev/null | sort | uniq -c | tr -s ' ')
like "a session that asks too much is slowed down" "$codes" ' 429 1$'
ok "the daemon notices nothing" aictl ping

# --- behind a proxy ---------------------------------------------------------

# [OPTION]... PATH: prints the HTTP status, requested through the Unix socket
proxied()
{
	status_of --unix-socket "$dir/web.sock" "$@"
}

# USER PATH: prints the body, as the proxy's USER
as_proxied()
{
	curl -s -m 30 --unix-socket "$dir/web.sock" -H "X-Remote-User: $1" "$url$2"
}

# The user behind the proxy, who is never root.
me=$(id -un)
who=$me
! is_root || who=nobody
behind="X-Remote-User: $who"

# LINE: starts the daemon with this line in the configuration
begin_proxy()
{
	stop_daemon
	configure "http = \"127.0.0.1:0\"
		http_socket = \"$dir/web.sock\"
		web_proxy_header = X-Remote-User
		web_proxy_users = {\"$me\"}
		admins = {\"$who\"}
		$1
		$default_config"
	start_daemon || bail "aischedd does not start"
	url=$(sed -n 's/.*page ready url=//p' "$log" | tail -n 1)
}
begin_proxy
is "the socket is for the group of the proxy" "$(stat -c '%a %G' "$dir/web.sock")" "660 $(id -gn)"
begin_proxy "http_group = \"$(id -gn "$who")\""
is "or for a group that is named" "$(stat -c '%a %G' "$dir/web.sock")" "660 $(id -gn "$who")"

# Requests wait while the daemon does not answer.
kill -STOP "$daemon_pid"
curl -s -Z --parallel-immediate --parallel-max 40 -m 60 -o "$dir/many.#1" -H "$behind" \
	--unix-socket "$dir/web.sock" "${url}api/1/jobs?limit=[1-40]" &
many_pid=$!
ok "one user cannot fill it with requests" wait_for \
	'cat "$dir"/many.* 2>/dev/null | grep -q "more than 32 requests at once"'
kill -CONT "$daemon_pid"
wait "$many_pid"

is "the page comes through it" "$(proxied /)" 200
is "whom the proxy names" "$(as_proxied "$who" api/1/me | jq -r '.user + " " + .role')" "$who user"
is "nobody known" "$(proxied -H 'X-Remote-User: no-such-user' /api/1/me)" 403
like "it says so" "$(cat "$dir/said")" "there is no user 'no-such-user'"
is "root never" "$(proxied -H 'X-Remote-User: root' /api/1/me)" 403
like "and it says so" "$(cat "$dir/said")" "root is not served behind a proxy"
is "a uid is no name" "$(proxied -H "X-Remote-User: $(id -u "$who")" /api/1/me)" 403
is "no name" "$(proxied /api/1/me)" 403
is "an empty one" "$(proxied -H 'X-Remote-User;' /api/1/me)" 403
is "a long one" "$(proxied -H "X-Remote-User: $(printf %065d 0)" /api/1/me)" 403
like "is seen by its length" "$(cat "$dir/said")" "the proxy names no user"
for bytes in 'a b' 'a\001' 'a\033[m' 'a\177' 'a\377' 'a\303\244' 'a\342\200\256'; do
	# shellcheck disable=SC2059 # it has escapes
	is "bytes that no name has: $bytes" \
		"$(proxied -H "X-Remote-User: $(printf "$bytes")" /api/1/me)" 403
	like "are seen at once" "$(cat "$dir/said")" "the proxy names no user"
done
is "two" "$(proxied -H "$behind" -H "x-remote-user: $me" /api/1/me)" 400
is "two in one" "$(proxied -H "$behind, $me" /api/1/me)" 403
ok "all of them are counted" wait_for \
	'[ "$(value "aisched_authentication_failures_total{way=\"proxy\"}")" = 15 ]'
is "another host's page, still" "$(proxied -H 'Host: evil.test' -H "$behind" /)" 421
is "health takes none" "$(proxied /healthz)" 200
is "metrics are not those of loopback" "$(proxied /metrics)" 403
log_in >/dev/null
is "a cookie is nobody there" "$(proxied -b "$dir/jar" /api/1/me)" 403
is "nor is it there whom the proxy does not name" \
	"$(proxied -b "$dir/jar" -H "$behind" /api/1/me; jq -r .user "$dir/said")" "200$who"
is "nobody logs in there" "$(proxied -X POST -H "$ours" -d '{"k":"x"}' /login)" 403
is "a link still works" "$(status_of -b "$dir/jar" /api/1/me)" 200
is "a cookie is no name" "$(status_of -b "aisched_session==$who" /api/1/me)" 401
is "the header over TCP is refused" "$(status_of -H "$behind" /api/1/me)" 400
is "with a session, too" "$(status_of -b "$dir/jar" -H "$behind" /api/1/me)" 400
is "and where no session is needed" "$(status_of -H "$behind" /healthz)" 400
if is_root; then
	mkdir "$dir/theirs" && chown nobody "$dir/theirs"
	theirs=$(cd "$dir/theirs" && as_nobody aisub --parsable --wrap 'echo theirs')
	mine=$(submit --wrap 'echo mine')
	becomes "a job of theirs" "$theirs" COMPLETED
	becomes "a job of mine" "$mine" COMPLETED
	is "they may read their output there" "$(proxied -H "$behind" "/api/1/log/$theirs")" 200
	is "and no other's, though admins" "$(proxied -H "$behind" "/api/1/log/$mine")" 403
	is "who is not the proxy is not believed" "$(as_nobody curl -s -o "$dir/theirs/said" \
		-w '%{http_code}' --unix-socket "$dir/web.sock" -H "$behind" "$url")" 403
	like "and is told" "$(cat "$dir/theirs/said")" 'see web_proxy_users'
	is "others cannot even connect" "$(setpriv --reuid=daemon --regid=daemon --clear-groups \
		curl -s -o /dev/null -w '%{http_code}' --unix-socket "$dir/web.sock" "$url")" 000
	echo 'private = {"jobs"}' >>"$conf"
	aictl reload
	is "private: they see their jobs" \
		"$(as_proxied nobody 'api/1/jobs?history=1' | jq -r '.jobs[].user' | sort -u)" nobody
fi
like "programs cannot name users" \
	"$(ask_web '{"op":"session","action":"proxy","k":"root"}')" 'request of the web program'
echo 'web_proxy_admins = yes' >>"$conf"
aictl reload
is "an admin is one there if the configuration says so" \
	"$(as_proxied "$who" api/1/me | jq -r .role)" admin
sed -i 's/web_proxy_admins = yes/web_proxy_admins = no/' "$conf"
aictl reload
is "until it no longer does" "$(as_proxied "$who" api/1/me | jq -r .role)" user
kill -KILL "$(pgrep -P "$daemon_pid" -f aisched-web)"
ok "the program is started again behind it" \
	wait_for '[ "$(proxied -H "$behind" /api/1/me)" = 200 ]'
sed -i 's/web_proxy_header = .*/web_proxy_header = X-Other/' "$conf"
fails "a reload takes no other header" 1 "web_proxy_header" aictl reload
stop_daemon
ok "the socket goes with the daemon" [ ! -e "$dir/web.sock" ]
sed -i -e '/http = /d' -e 's/X-Other/X-Remote-User/' "$conf"
start_daemon
ok "a proxy is enough" wait_for '[ "$(proxied -H "$behind" /api/1/me)" = 200 ]'
fails "but then there are no links" 1 "reached through a proxy only" aiq --web
stop_daemon
sed -i 's/^.*web_proxy_users = .*/web_proxy_users = {"no-such-user"}/' "$conf"
like "a proxy that runs as nobody known" "$(timeout 60 "$aischedd" -c "$conf" 2>&1)" \
	"web_proxy_users: there is no user 'no-such-user'"
like "which --check-config warns of" "$(timeout 60 "$aischedd" -c "$conf" --check-config 2>&1)" \
	"web_proxy_users: .*no-such-user"

# --- without the web program -----------------------------------------------

stop_daemon
ok "it ends with the daemon" wait_for "! kill -0 $web_pid"
configure
start_daemon
fails "no page, no link" 1 "the page is not served" aiq --web
configure "http = \"0.0.0.0:7118\"
	$default_config"
like "others are told of in the configuration" "$("$aischedd" -c "$conf" --check-config 2>&1)" \
	"no loopback address"

done_testing

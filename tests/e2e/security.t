#!/bin/sh
# Permissions: each request of the daemon's table, by each role.
# shellcheck disable=SC2016,SC2119 # jobs expand their own variables

. "$top_srcdir/tests/e2e/jobs.sh"

is_root || skip_all "takes root, to be others"

# lead is operator of queue "led"; boss is an admin; nobody is an ordinary user.
users='daemon bin nobody'
lead=daemon boss=bin
stop_daemon
configure "
default_queue = \"default\"
admins = {\"$boss\"}
pool here { runner = local }
node \"$(uname -n)\" { pool = here  cpus = 4  memory = \"4G\" }
queue default { grace = \"1s\" }
queue led { operators = {\"$lead\"}  grace = \"1s\" }"
start_daemon
cp "$top_builddir/tests/e2e/ask" "$dir/bin/ask"
chmod 755 "$dir/bin/ask"

# USER REQUEST: prints "yes", "no" if the request needs another role, or else
# the answer
may()
{
	answer=$(as_user "$1" ask "$2" </dev/null)
	case $answer in
	*" needs a"*"; you are '$1'"* | *"; you are '$1' and no operator"*) echo no ;;
	"refused: "*) echo "$answer" ;;
	*) echo yes ;;
	esac
}

# --- requests of the table, by role ----------------------------------------

# KIND: prints a request of this kind that does no harm, and that is valid if the
# user may send it
request()
{
	case $1 in
	drain) echo "{\"op\": \"drain\", \"nodes\": \"$(uname -n)\", \"reason\": \"x\"}" ;;
	undrain) echo "{\"op\": \"undrain\", \"nodes\": \"$(uname -n)\"}" ;;
	queue) echo '{"op": "queue", "name": "led", "state": "open"}' ;;
	cancel | wait) echo "{\"op\": \"$1\", \"ids\": []}" ;;
	control) echo '{"op": "control", "action": "hold", "ids": []}' ;;
	update) echo '{"op": "update", "ids": [], "set": {}}' ;;
	*) echo "{\"op\": \"$1\"}" ;;
	esac
}

# ROLE USER: prints whether the user may make requests that need the role
allowed()
{
	case $1/$2 in
	nobody/* | user/* | admin/"$boss" | operator/"$boss" | operator/"$lead") echo yes ;;
	*) echo no ;;
	esac
}

"$dir/bin/ask" --ops >ops
while read -r op role; do
	# Leave out requests that need more than a line or end the daemon; some
	# are tested below.
	case $op in
	submit | log | script | step | steps | alloc | exec | shutdown | reserve | unreserve) continue ;;
	forward | relay | relay_input | web | session | excerpt | cron | history) continue ;;
	esac
	for user in $users; do
		is "$op as $user" "$(may "$user" "$(request "$op")")" \
			"$(allowed "$role" "$user")"
	done
done <ops
for user in nobody "$lead" "$boss"; do
	want=$(allowed admin "$user")
	is "reserve as $user" "$want" "$(may "$user" "{\"op\": \"reserve\",
		\"name\": \"r\", \"start\": $(date +%s), \"end\": $(($(date +%s) + 60)),
		\"count\": 1, \"pool\": \"here\"}")"
	is "unreserve as $user" "$want" \
		"$(may "$user" '{"op": "unreserve", "name": "r"}')"
done
for user in nobody "$lead"; do # an operator of a queue is none of all
	is "history as $user" no "$(may "$user" '{"op": "history", "before": 0}')"
done
is "shutdown as nobody" "$(may nobody '{"op": "shutdown"}')" no
for op in session excerpt; do
	is "$op is not for users" "$(as_user "$boss" ask "{\"op\": \"$op\"}" </dev/null)" \
		"refused: $op is a request of the web program"
done

# --- recurring work of others ----------------------------------------------

entry=$(cd / && as_user nobody aisub --parsable --cron '0 0 1 1 *' \
	-o /dev/null --wrap true)
for action in pause resume run delete; do
	fails "cron $action of another's" 1 "cron entry $entry is nobody's" \
		as_user "$lead" aictl cron "$action" "$entry"
done
ok "one's own" as_user nobody aictl cron pause "$entry"
ok "an admin may" as_user "$boss" aictl cron resume "$entry"
ok "all" as_user "$boss" aictl cron delete "$entry"

# --- jobs of others --------------------------------------------------------

mine=$(cd / && as_user nobody aisub --parsable -H -o /dev/null --wrap true)
led=$(cd / && as_user nobody aisub --parsable -H -q led -o /dev/null --wrap true)
is "a job is its submitter's" "$(field "$mine" user)" nobody
is "one sees one's own" "$(as_user "$lead" aiq -h)" ""
is "unless one asks for all" "$(as_user "$lead" aiq -h -a -o user | sort -u)" nobody
is "nor takes steps for it" "$(as_user "$lead" ask "{\"op\": \"step\", \"id\": \"$mine\"}" </dev/null)" \
	"refused: job $mine is not yours"
is "nor runs commands in it" "$(as_user "$lead" ask "{\"op\": \"exec\", \"id\": \"$mine\"}" </dev/null)" \
	"refused: job $mine is not yours: commands in it are for its owner and root"
is "neither in a cluster" \
	"$(as_user "$lead" ask "{\"op\": \"relay\", \"id\": \"$mine\", \"task\": 0}" </dev/null)" \
	"refused: job $mine is not yours: commands in it are for its owner and root"
for op in forward relay; do
	is "nor connects to its ports ($op)" \
		"$(as_user "$lead" ask "{\"op\": \"$op\", \"id\": \"$mine\", \"port\": 80}" </dev/null)" \
		"refused: job $mine is not yours: its ports are for its owner and root"
	is "nor does an operator to those of one of their queue ($op)" \
		"$(as_user "$lead" ask "{\"op\": \"$op\", \"id\": \"$led\", \"port\": 80}" </dev/null)" \
		"refused: job $led is not yours: its ports are for its owner and root"
done
is "nor does an operator in one of their queue" \
	"$(as_user "$lead" ask "{\"op\": \"exec\", \"id\": \"$led\"}" </dev/null)" \
	"refused: job $led is not yours: commands in it are for its owner and root"
is "one's own is there, but waits" "$(as_user nobody ask "{\"op\": \"exec\", \"id\": \"$mine\"}" </dev/null)" \
	"refused: job $mine has not started"
is "nor waits for its allocation" "$(as_user "$lead" ask "{\"op\": \"alloc\", \"id\": \"$mine\"}" </dev/null)" \
	"refused: job $mine is not yours"
for action in hold release requeue; do
	run as_user "$lead" aictl "$action" "$mine"
	is "$action of another's job" "$rc" 1
	like "says who may" "$err" \
		"job $mine is nobody's: you are '$lead' and no operator of queue 'default'"
done
fails "cancel" 1 "job $mine is nobody's" as_user "$lead" aicancel "$mine"
fails "signal" 1 "job $mine is nobody's" as_user "$lead" aicancel -s USR1 "$mine"
fails "update" 1 "job $mine is nobody's" as_user "$lead" aictl update "$mine" time=1
fails "its log" 1 "job $mine is not yours" as_user "$lead" aiq --log "$mine"
fails "its script" 1 "job $mine is not yours" as_user "$lead" aiq --script "$mine"
run as_user "$lead" aicancel --all
is "--all is mine alone" "$rc$err$(state_of "$mine")" 0PENDING
ok "an operator of the queue may hold" as_user "$lead" aictl hold "$led"
is "it is an operator's hold" "$(field "$led" reason)" JobHeldAdmin
fails "which the user cannot lift" 1 "held by an operator" \
	as_user nobody aictl release "$led"
ok "but the operator" as_user "$lead" aictl release "$led"
ok "an admin may do all" as_user "$boss" aictl hold "$mine"
as_user "$boss" aictl release "$mine"
wait_for is_state "$mine" COMPLETED

id=$(as_user nobody aisub --parsable -H -t 10 -o /dev/null --wrap 'exec sleep 1000')
fails "a higher priority needs an operator" 1 "needs an operator of queue 'default'" \
	as_user nobody aictl update "$id" priority=1000
fails "a negative nice, too" 1 "needs an operator" \
	as_user nobody aisub --nice=-5 --wrap true
fails "a folder that is not there" 1 \
	"aisub: working directory '$dir/no/where' is not there: cannot create files in '$dir'" \
	as_user nobody aisub -D "$dir/no/where" --wrap true
fails "a long grace" 1 "allows a grace of at most 0:01" \
	as_user nobody aisub --grace 100d --wrap true
fails "so does the top" 1 "top needs an operator of queue 'default'; you are 'nobody'" \
	as_user nobody aictl top "$id"
as_user nobody aictl release "$id"
wait_for is_state "$id" RUNNING
fails "suspend" 1 "suspend needs an operator" as_user nobody aictl suspend "$id"
fails "a longer time" 1 "needs an operator" as_user nobody aictl update "$id" time=20
ok "a shorter one" as_user nobody aictl update "$id" time=5
ok "requeue of one's own" as_user nobody aictl requeue "$id"
ok "cancel of one's own" as_user nobody aicancel --wait "$id"

# --- the user as whom jobs run ---------------------------------------------

id=$(as_user nobody aisub --parsable -o "$dir/home/nobody/who" --wrap 'id -u; id -g; id -G; umask; cat /proc/self/status')
wait_for is_state "$id" COMPLETED
is "as their user" "$(sed -n 1p "$dir/home/nobody/who")" "$(id -u nobody)"
is "and group" "$(sed -n 2p "$dir/home/nobody/who")" "$(id -g nobody)"
is "and groups" "$(sed -n 3p "$dir/home/nobody/who")" "$(id -G nobody)"
like "without any of root's rights" "$(cat "$dir/home/nobody/who")" \
	'^CapEff:.0+$'
id=$(as_user nobody aisub --parsable -o /dev/null --wrap 'exec sleep 1000')
wait_for is_state "$id" RUNNING
is "its script is for nobody else" \
	"$(as_user daemon cat "$dir/state/run/$id.1/script" 2>/dev/null)" ""
ok "nor is the database" [ "$(stat -c %a "$dir/state/aisched.db")" = 600 ]
is "nobody lists the folder of the state" \
	"$(as_user nobody ls "$dir/state" 2>/dev/null)" ""
ok "all may speak to the socket" [ "$(stat -c %a "$AISCHED_SOCKET")" = 666 ]
aicancel --wait "$id"

# --- an unprivileged daemon ------------------------------------------------

stop_daemon
mkdir -p "$dir/home/nobody" "$dir/aischedd/run/shepherd"
chown nobody "$dir/home/nobody"
cp "$top_builddir/aischedd/aischedd" "$dir/bin/"
cp "$top_builddir/aischedd/run/shepherd/aisched-shepherd" \
	"$dir/aischedd/run/shepherd/"
AISCHED_SOCKET=$dir/home/nobody/socket
port=$(free_port)
sed "s,^.*state_dir = .*,state_dir = \"$dir/home/nobody/state\",
	s,^.*listen = .*,listen = {\"$AISCHED_SOCKET\"\, \"tcp://127.0.0.1:$port\"}," "$conf" \
	>"$dir/nobody.conf"
as_user nobody aischedd -c "$dir/nobody.conf" 2>>"$log" &
daemon_pid=$!
ok "it serves its user" wait_for aictl ping
id=$(as_user nobody aisub --parsable -o who --wrap 'id -un')
wait_for is_state "$id" COMPLETED
is "whose jobs it runs" "$(cat "$dir/home/nobody/who")" nobody
fails "and nobody else's" 1 \
	"runs as uid $(id -u nobody) and starts only that user's jobs" \
	as_user daemon aisub --wrap true
is "whoever started it is its admin" "$(may nobody '{"op": "reload"}')" yes
is "nobody else is" "$(may daemon '{"op": "reload"}')" no
fails "over TCP others do not trust it" 1 "neither root nor you" \
	as_user daemon aiq --socket "127.0.0.1:$port"
ok "unless they say so" as_user daemon env AISCHED_DAEMON_USER=nobody \
	aiq --socket "127.0.0.1:$port"
ok "and may end it" as_user nobody aictl shutdown
wait_daemon

done_testing

#!/bin/sh
# Permissions: every operation by every role, on the user's own job, on
# another's job, and on another's job in a queue that the user operates.
# shellcheck disable=SC2119,SC2034,SC2154 # eval uses and sets variables

. "$top_srcdir/tests/e2e/jobs.sh"

is_root || skip_all "takes root, to be others"

# lead is operator of queue "led"; boss is an admin; owner only has jobs.
plain=nobody lead=daemon boss=bin owner=man
stop_daemon
configure "
default_queue = \"default\"
admins = {\"$boss\"}
pool here { runner = local }
node \"$(uname -n)\" { pool = here  cpus = 4  memory = \"4G\" }
queue default { grace = \"1s\" }
class kept { users = {\"games\"} }
queue third { }
queue led { operators = {\"$lead\"}  grace = \"1s\" }"
start_daemon
cp "$top_builddir/tests/e2e/ask" "$dir/bin/ask"
chmod 755 "$dir/bin/ask"

# USER QUEUE OPTIONS...: submits a held job, or an entry, and prints its id
make()
{
	as_user "$1" aisub --parsable -q "$2" -o /dev/null "$3" --wrap true
}

# USER REQUEST: prints "yes", or "no" if the request needs another role
may()
{
	case $(as_user "$1" ask "$2" </dev/null) in
	*" needs an operator "* | *" needs a"*"; you are '$1'"* | \
		*": you are '$1' and no operator"* | *"is not yours"* | \
		*"is a request of the web program"* | *" is $owner's"* | \
		*"more needs one of its operators"* | \
		*"may not use class"*) echo no ;;
	*) echo yes ;;
	esac
}

control='{"op": "control", "action": "%s", "ids": ["ID"]}'
update='{"op": "update", "ids": ["ID"], "set": {%s}}'
cancel='{"op": "cancel", "ids": ["ID"]%s}'
log='{"op": "log", "id": "ID"%s}'
script='{"op": "script", "id": "ID"%s}'
excerpt='{"op": "excerpt", "id": "ID"%s}'
step='{"op": "step", "id": "ID"%s}'
steps='{"op": "steps", "ids": ["ID"]%s}'
alloc='{"op": "alloc", "id": "ID"%s}'
jobs='{"op": "jobs", "ids": ["ID"]%s}'
attempts='{"op": "attempts", "ids": ["ID"]%s}'
wait='{"op": "wait", "ids": ["ID"]%s}' # the walk ends the job before
cron='{"op": "cron", "action": "%s", "ids": ["ID"]}' # of an entry
command='{"op": "exec", "id": "ID"}'
relay='{"op": "relay", "id": "ID"%s}'
forward='{"op": "forward", "id": "ID", "port": 80}'

# Each line has the name of a template above and what replaces its %s ("-":
# nothing). Then come three words, for the users plain, lead and boss: whether
# the request is allowed for OWN/OTHER/LED, the user's own job, another user's,
# and another user's in queue led.
walked=
while read -r request what as_plain as_lead as_boss; do
	[ -n "$request" ] || continue
	walked="$walked $request/$what"
	for role in plain lead boss; do
		eval "user=\$$role want=\$as_$role template=\$$request"
		for whose in own other led; do
			queue=default by=$owner
			[ "$whose" != own ] || by=$user
			[ "$whose" != led ] || queue=led
			kind=--hold
			[ "$request" != cron ] || kind='--cron=0 0 1 1 *'
			id=$(make "$by" "$queue" "$kind")
			[ "$request" != wait ] || aicancel "$id"
			[ "$what" != - ] || what=
			# shellcheck disable=SC2059 # it is a template
			text=$(printf "$template" "$what" | sed "s/ID/$id/")
			is "$request $what by $role on $whose" \
				"$(may "$user" "$text")" "$(echo "$want" |
					cut -d/ -f"$(echo own other led |
						tr ' ' '\n' | grep -n "$whose" | cut -d: -f1)")"
		done
	done
done <<'END'
cancel - yes/no/no yes/no/yes yes/yes/yes
cancel ,"signal":10 yes/no/no yes/no/yes yes/yes/yes
log - yes/no/no yes/no/yes yes/yes/yes
command - yes/no/no yes/no/no yes/no/no
relay - yes/no/no yes/no/no yes/no/no
relay ,"port":80 yes/no/no yes/no/no yes/no/no
forward - yes/no/no yes/no/no yes/no/no
script - yes/no/no yes/no/yes yes/yes/yes
excerpt - no/no/no no/no/no no/no/no
step - yes/no/no yes/no/yes yes/yes/yes
steps - yes/yes/yes yes/yes/yes yes/yes/yes
alloc - yes/no/no yes/no/no yes/no/no
jobs - yes/yes/yes yes/yes/yes yes/yes/yes
attempts - yes/yes/yes yes/yes/yes yes/yes/yes
wait - yes/yes/yes yes/yes/yes yes/yes/yes
cron pause yes/no/no yes/no/yes yes/yes/yes
cron resume yes/no/no yes/no/yes yes/yes/yes
cron run yes/no/no yes/no/yes yes/yes/yes
cron delete yes/no/no yes/no/yes yes/yes/yes
control requeuehold yes/no/no yes/no/yes yes/yes/yes
control uhold yes/no/no yes/no/yes yes/yes/yes
control hold yes/no/no yes/no/yes yes/yes/yes
control release yes/no/no yes/no/yes yes/yes/yes
control requeue yes/no/no yes/no/yes yes/yes/yes
control suspend no/no/no no/no/yes yes/yes/yes
control resume no/no/no no/no/yes yes/yes/yes
control preempt no/no/no no/no/yes yes/yes/yes
control top no/no/no no/no/yes yes/yes/yes
update "comment":"x" yes/no/no yes/no/yes yes/yes/yes
update "time":"5" yes/no/no yes/no/yes yes/yes/yes
update "account":"x" yes/no/no yes/no/yes yes/yes/yes
update "array_limit":"2" yes/no/no yes/no/yes yes/yes/yes
update "grace":"5d" no/no/no no/no/yes yes/yes/yes
update "priority":"999999" no/no/no no/no/yes yes/yes/yes
update "nice":"-5" no/no/no no/no/yes yes/yes/yes
update "nice":"5" yes/no/no yes/no/yes yes/yes/yes
update "class":"kept" no/no/no no/no/yes yes/yes/yes
update "queue":"led","class":"kept" no/no/no no/no/yes yes/yes/yes
update "class":"kept","queue":"third" no/no/no no/no/no yes/yes/yes
update "queue":"third" yes/no/no yes/no/yes yes/yes/yes
update "queue":"third","priority":"999999" no/no/no no/no/no yes/yes/yes
update "priority":"999999","queue":"third" no/no/no no/no/no yes/yes/yes
update "partition":"third","nice":"-5" no/no/no no/no/no yes/yes/yes
update "queue":"led","priority":"999999" no/no/no no/no/yes yes/yes/yes
update "queue":"led","nice":"-5" no/no/no no/no/yes yes/yes/yes
END

# Requests of `above` are tried elsewhere in this script. Those of `alone` act on
# no single job; security.t walks them by role.
above=" submit audit relay_input "
alone=" ping queues nodes shares web session drain undrain queue reserve
 unreserve reservations reload status dump shutdown metrics crons cron_file
 accounting report history config "
"$dir/bin/ask" --ops >ops
missing=
while read -r op _; do
	case $op in
	exec) name="command" ;;
	*) name=$op ;;
	esac
	case "$walked $above $(echo "$alone" | tr '\n' ' ') " in
	*" $name/"* | *" $name "*) ;;
	*) missing="$missing $op" ;;
	esac
done <ops
is "each request is walked" "$missing" ""
missing=
for action in $("$dir/bin/ask" --actions); do
	case "$walked " in
	*" control/$action "*) ;;
	*) missing="$missing $action" ;;
	esac
done
is "each action" "$missing" ""

# No field of another's job can be changed.
id=$(make "$owner" default --hold)
before=$(aiq --json "$id")
changed=
for field in $(aisub --help | grep -o -- '--[a-z][a-z-]*' | sort -u | cut -c3-); do
	[ "$(may "$plain" "{\"op\": \"update\", \"ids\": [\"$id\"],
		\"set\": {\"$field\": \"1\"}}")" = no ] ||
		changed="$changed $field"
done
is "no field of another's job may be changed" "$changed" ""
is "none was" "$(aiq --json "$id")" "$before"

# A value that an operator of one queue has set is not kept if the job is moved
# to another queue.
id=$(as_user "$owner" aisub --parsable -H -q led -o /dev/null --wrap true)
as_user "$lead" aictl update "$id" priority=999999 >/dev/null
fails "a priority is not carried into another queue" 1 \
	"needs an operator of queue 'third'" \
	as_user "$lead" aictl update "$id" queue=third
ok "unless by an admin" as_user "$boss" aictl update "$id" queue=third

# Submit new jobs.
for line in "plain led no" "plain third no" "lead led yes" "lead third no" \
	"boss led yes" "boss third yes"; do
	# shellcheck disable=SC2086 # three words
	set -- $line
	eval "user=\$$1"
	for what in --nice=-5 --class=kept; do
		as_user "$user" aisub -H -q "$2" $what -o /dev/null --wrap true \
			>/dev/null 2>&1 && got=yes || got=no
		is "a new job with $what in $2 by $1" "$got" "$3"
	done
done

# Operators of a queue and admins see who acted on its jobs.
in_led=$(as_user "$owner" aisub --parsable -H -q led -o /dev/null --wrap true)
in_third=$(as_user "$owner" aisub --parsable -H -q third -o /dev/null --wrap true)
for id in "$in_led" "$in_third"; do
	as_user "$boss" aicancel "$id"
done
as_user "$boss" aictl queue close third
as_user "$boss" aictl queue close led
for line in "plain 0 0 0 0" "lead 1 0 1 0" "boss 1 1 1 1" "owner 1 1 0 0"; do
	# shellcheck disable=SC2086 # words are wanted
	set -- $line
	eval "user=\$$1"
	as_user "$user" aictl audit -n 1000 >seen
	is "$1 sees what was done to jobs in led and third, to led and to third" \
		"$(grep -c "cancel .*job $in_led " seen) $(grep -c "cancel .*job $in_third " seen) $(grep -c 'queue led' seen) $(grep -c 'queue third' seen)" \
		"$2 $3 $4 $5"
done

# --- connections kept for admins --------------------------------------------------

cp "$top_builddir/tests/e2e/port" "$dir/bin/port"
chmod 755 "$dir/bin/port"
mkdir -m 1777 "$dir/ports"

# USER N: connects the user to the port of their job
connect()
{
	as_user "$1" "$dir/bin/ask" </dev/null \
		"{\"op\": \"relay\", \"id\": \"$job\", \"task\": 0, \"port\": $at}" \
		>"$dir/ports/answer.$1.$2"
}

all_connected()
{
	for n in $numbers; do
		[ -s "$dir/ports/answer.$user.$n" ] || return 1
	done
}

sixteen="1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16"
jobs='' pids=''
for line in "$plain $sixteen" "$lead $sixteen" "$owner $sixteen" "games 1 2 3 4 5 6 7 8"; do
	user=${line%% *} numbers=${line#* }
	job=$(as_user "$user" aisub --parsable -o /dev/null --wrap \
		"exec $dir/bin/port serve 127.0.0.1 $dir/ports/$user")
	jobs="$jobs $job"
	wait_for test -s "$dir/ports/$user" || bail "no port is open"
	at=$(cat "$dir/ports/$user")
	for n in $numbers; do
		connect "$user" "$n" &
		pids="$pids $!"
	done
	ok "$user is connected" wait_for all_connected || bail "no connection"
done
connect games last
is "all others are kept" "$(cat "$dir/ports/answer.games.last")" \
	"refused: there are 56 commands in jobs of clusters and connections to jobs: try again later"
connect root 1 &
pids="$pids $!"
user=root numbers=1
ok "for admins" wait_for all_connected
like "a connection is recorded with its port" \
	"$(aictl audit --act forward -j "$job" -n 1)" "root .*job $job .*task 0, port $at\$"
# shellcheck disable=SC2086 # words are wanted
aicancel $jobs
# shellcheck disable=SC2086 # words are wanted
wait $pids

# --- refused tries ----------------------------------------------------------------

job=$(as_user "$owner" aisub --parsable -H -o /dev/null --wrap true)
for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22; do
	as_user games aictl exec "$job" true 2>/dev/null
done
n=$(aictl audit --act exec -u games -j "$job" -n 100 | grep -c refused)
ok "tries of a user that are refused are recorded" test "$n" -ge 10
ok "some of them in a minute" test "$n" -lt 22

done_testing

#!/bin/sh
# Nodes reserved for some users, or for maintenance.
# shellcheck disable=SC2016,SC2119 # jobs expand their own variables

. "$top_srcdir/tests/e2e/jobs.sh"
node=$(uname -n)
me=$(id -un)

# --- making and showing reservations ---------------------------------------

run aictl reserve create mine --duration 1h --nodes "$node" --users "$me,@$(id -gn)"
is "made" "$rc$out$err" "0Reservation mine keeps $node"
like "listed" "$(aictl reserve list)" \
	"^mine +ACTIVE +20[^ ]+ +20[^ ]+ +$me,@[^ ]+ +$node\$"
like "as JSON" "$(aictl reserve list --json)" \
	'"name": *"mine".*"active": *true.*"repeat": *"never"'
is "the node says so" "$(aiq --nodes -h -o state)" RESERVED
like "and until when" "$(aiq --nodes -h -o reason)" "^reservation 'mine' until 20"

# --- jobs ------------------------------------------------------------------

other=$(submit --wrap true)
waits "others wait" "$other" Reservation ".*which reservation 'mine' keeps"
id=$(sleeper --reservation mine -t 10)
becomes "jobs that name it run" "$id" RUNNING
fails "one that is not there" 1 "there is no reservation 'other'" \
	aisub --reservation other --wrap true
# The reservation began when it was made, perhaps a second after $now was set.
fails "a job that is too long" 1 "longer than reservation 'mine', which lasts " \
	aisub --reservation mine -t 61 --wrap true
later=$(submit --reservation mine -H --wrap true)
kill_daemon
start_daemon
like "it outlives the daemon" "$(aictl reserve list)" "^mine +ACTIVE"
ok "and lets its jobs start" aictl release "$later"
becomes "that waited" "$later" COMPLETED
is "others wait still" "$(state_of "$other")" PENDING
later=$(submit --reservation mine -H --wrap true)
ok "deleted" aictl reserve delete mine
is "it is gone" "$(aictl reserve list | wc -l)" 1
becomes "what waited for its end runs" "$other" COMPLETED
is "what runs in it goes on" "$(state_of "$id")" RUNNING
aictl release "$later"
waits "what waits for it waits" "$later" Reservation "reservation 'mine' is over"
ok "it can do without" aictl update "$later" reservation=
becomes "and runs" "$later" COMPLETED
fails "deleted again" 1 "there is no reservation 'mine'" \
	aictl reserve delete mine
aicancel --wait --all

# --- maintenance, and reservations in the future ---------------------------

ok "maintenance" aictl reserve create fans --start now+600 --duration 10m \
	--count 1 --maintenance --weekly
kill_daemon
start_daemon
like "is kept" "$(aictl reserve list)" "^fans +WAITING .* weekly +nobody +$node"
id=$(submit -t 20 --wrap true)
waits "long jobs wait for its end" "$id" Reservation ".*reservation 'fans' begins there"
aicancel "$id"
gate full
full=$(submit -t 5 -c 4 --wrap "$(at_gate full)")
wait_for is_state "$full" RUNNING
id=$(submit -t 20 --wrap true)
waits "also those for which there is no CPU at present" "$id" Resources \
	".*, when reservation 'fans' is over"
open_gate full
wait_for is_state "$full" COMPLETED
short=$(submit -t 5 --wrap true)
becomes "short ones run before" "$short" COMPLETED
fails "nobody runs in it" 1 "is for maintenance" \
	aisub --reservation fans --wrap true

# --- mistakes --------------------------------------------------------------

create()
{
	aictl reserve create "$@"
}

fails "a name that is taken" 1 "there is a reservation 'fans' already" \
	create fans --duration 1m --nodes "$node" --maintenance
fails "a node that is kept" 1 "reservation 'fans' keeps node '$node'" \
	create x --start now+900 --duration 1m --nodes "$node" --maintenance
fails "one of the next weeks" 1 "reservation 'fans' keeps node '$node'" \
	create x --start now+2w --duration 1h --nodes "$node" --maintenance
fails "the past" 1 "it would begin in the past" \
	create x --start now-1h --duration 1m --nodes "$node" --maintenance
fails "an end before the begin" 1 "it would end before it begins" \
	create x --start now+60 --end now+30 --nodes "$node" --maintenance
fails "a node that is not there" 1 "there is no node 'nowhere'" \
	create x --duration 1m --nodes nowhere --maintenance
fails "too many nodes" 1 "of the 2 nodes free" \
	create x --duration 1m --count 2 --maintenance
fails "a user who is not there" 1 "there is no user 'no-such'" \
	create x --duration 1m --nodes "$node" --users no-such
fails "a group that is not there" 1 "there is no group 'no-such'" \
	create x --duration 1m --nodes "$node" --users @no-such
fails "a bad name" 1 "bad name 'a b'" \
	create 'a b' --duration 1m --nodes "$node" --maintenance
fails "no end" 2 "give one of --end and --duration" \
	create x --nodes "$node" --maintenance
fails "no nodes" 2 "give one of --nodes and --count" \
	create x --duration 1m --maintenance
fails "for whom?" 2 "give one of --users and --maintenance" create x --duration 1m --nodes "$node"
fails "both" 2 "give one of --daily and --weekly" create x --duration 1m \
	--nodes "$node" --maintenance --daily --weekly
fails "another verb" 2 "reserve takes 'create NAME'" aictl reserve make x
is "nothing came of them" "$(aictl reserve list | wc -l)" 2
done_testing

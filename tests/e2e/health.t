#!/bin/sh
# The program of health_check decides whether this machine gets jobs. At the
# end, nodes that have no runner.
# shellcheck disable=SC2016,SC2119 # wait_for expands; configure has a default

. "$top_srcdir/tests/e2e/lib.sh"

node=$(uname -n)

# PATH [TIMEOUT]: makes this program the health check
checked_by()
{
	configure "$default_config
health_check { program = \"$1\"  interval = 1s  timeout = ${2-30s} }"
}

# STATE: whether aiq shows this machine in that state
node_is()
{
	aiq --nodes -h -o state | grep -qi "^$1"
}

reason_is()
{
	[ "$(aiq --nodes -h -o reason)" = "$1" ]
}

# The health check prints $dir/says and exits with the status in $dir/code.
cat >"$dir/check" <<-END
	#!/bin/sh
	echo x >>"$dir/runs"
	[ ! -e "$dir/slow" ] || { echo \$\$ >"$dir/pid"; exec sleep 1000; }
	cat "$dir/says"
	exit "\$(cat "$dir/code")"
END
chmod 755 "$dir/check"

# CODE TEXT: sets the exit status and the output of the health check
finds()
{
	printf '%s' "$2" >"$dir/says"
	echo "$1" >"$dir/code"
}

finds 0 "all is well"
mkfifo "$dir/wait"
printf '#!/bin/sh\nread x <%s/wait\n' "$dir" >"$dir/first"
chmod 755 "$dir/first"
checked_by "$dir/first"
start_daemon || bail "aischedd does not start"
id=$(aisub --parsable --wrap 'exec sleep 1000')
ok "nothing starts before the first run has ended" wait_for node_is drain
is "which is said" "$(aiq --nodes -h -o reason)" "health_check has not ended yet"
ok "to jobs, too" wait_for "aiq $id | grep -q 'health_check has not ended'"
echo >"$dir/wait"
ok "then they start" wait_for is_state "$id" RUNNING
checked_by "$dir/check"
aictl reload
ok "another program runs from a reload on" wait_for [ -s "$dir/runs" ]
ok "the machine is well" wait_for node_is mix

finds 3 "GPU 2 has fallen off the bus
Xid 79"
ok "a status but 0 drains" wait_for node_is draining
is "with the first line" "$(aiq --nodes -h -o reason)" \
	"GPU 2 has fallen off the bus"
is "what runs goes on" "$(state_of "$id")" RUNNING
waits=$(aisub --parsable --wrap true)
ok "nothing starts" wait_for eval "[ \"\$(aiq -h -o reason $waits)\" = NodeDown ]"
aictl undrain "$node"
ok "an admin's undrain is another matter" reason_is "GPU 2 has fallen off the bus"
aictl drain "$node" -r "new disk"
finds 0 ""
ok "so is a drain: it stays" wait_for reason_is "new disk"
wc -l <"$dir/runs" >"$dir/count"
wait_for eval '[ "$(wc -l <"$dir/runs")" -gt "$(($(cat "$dir/count") + 1))" ]'
ok "although the machine is well" node_is draining
aictl undrain "$node"
ok "until the admin ends it" wait_for is_state "$waits" COMPLETED
finds 4 ""
ok "a program that says nothing" wait_for reason_is \
	"health_check '$dir/check' ended with status 4"
finds 1 "$(printf 'bad \033[31m red')"
ok "one that says too much" wait_for reason_is "bad ?[31m red"
finds 0 ""
ok "undrained by itself" wait_for node_is mix

: >"$dir/slow"
checked_by "$dir/check" 1s
aictl reload
ok "one that hangs" wait_for reason_is \
	"health_check '$dir/check' did not end within 1 s"
ok "is killed" wait_for eval '! kill -0 "$(cat "$dir/pid")"'
rm "$dir/slow"
ok "and tried again" wait_for node_is mix

printf '#!/bin/sh\nexec yes\n' >"$dir/endless"
chmod 755 "$dir/endless"
checked_by "$dir/endless" 1s
aictl reload
ok "one that prints for ever holds up nobody" wait_for reason_is \
	"health_check '$dir/endless' did not end within 1 s"

checked_by "$dir/none"
aictl reload
ok "one that is not there" wait_for eval \
	"aiq --nodes -h -o reason | grep -q '$dir/none'"
like "which --check-config says" \
	"$("$aischedd" -c "$conf" --check-config 2>&1)" \
	"health_check: cannot run '$dir/none': No such file"
configure
aictl reload
ok "without program the machine is well" wait_for node_is mix
configure "$default_config
health_check { program = \"check\" }"
like "a path is absolute" "$("$aischedd" -c "$conf" --check-config 2>&1)" \
	"bad path 'check'"
aicancel --wait "$id"

# --- nodes that have no runner ------------------------------------------------

# COLUMN...: prints these columns of all nodes, spaces squeezed
nodes()
{
	aiq --nodes -h -o "$1" | tr -s ' '
}

stop_daemon
configure "$default_config
pool later { }
node \"l[1-2]\" { pool = later  cpus = 8  memory = \"16G\"  gpus = 2 }
node l3 { pool = later }"
start_daemon || bail "aischedd does not start"
is "they are shown as configured" "$(nodes name,state,cpus,gpus | grep '^l')" \
	"l1 DRAINED 8 2
l2 DRAINED 8 2
l3 DRAINED 0 0"
like "with the reason" "$(nodes name,reason)" \
	"l1 its pool has no runner: nothing runs there"
id=$(aisub --parsable --pool later -c 8 --wrap true)
ok "jobs wait for them" wait_for eval "[ \"\$(aiq -h -o reason $id)\" = NodeDown ]"
fails "but not for more than they have" 1 "needs 9 CPUs" \
	aisub --pool later -c 9 --wrap true
aictl drain l1 -r "new fan"
configure "$default_config
pool later { }
node \"l[2-4]\" { pool = later  cpus = 4 }"
aictl reload
is "a reload changes them" \
	"$(nodes name,state,cpus | grep '^l' | grep -v l1)" \
	"l2 DRAINED 4
l3 DRAINED 4
l4 DRAINED 4"
ok "one that is taken out is gone" eval "nodes name,state | grep -q '^l1 DOWN'"
stop_daemon
configure
start_daemon || bail "aischedd does not start"
is "a pool that is taken out takes its nodes with it" "$(nodes name)" "$node"

done_testing

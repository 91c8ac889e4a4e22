#!/bin/sh
# aictl reload and SIGHUP: a valid file is applied as a whole, an invalid one
# not at all.
# shellcheck disable=SC2016,SC2119 # jobs expand their own variables

. "$top_srcdir/tests/e2e/jobs.sh"

node=$(uname -n)

# TEXT: writes the configuration with one queue and TEXT
two_queues()
{
	configure "$default_config
default_queue = \"default\"
$1"
}

id=$(sleeper)
wait_for is_state "$id" RUNNING
two_queues 'queue extra { max_jobs = 0 }'
run aictl reload
# Ignore the daemon's warning on a machine with fewer CPUs.
is "a good file" "$rc$(echo "$err" | grep -v 'cpus = 4, but')" 0
is "is used" "$(aiq --queues -h -o name | tr '\n' ' ')" "default extra "
waiting=$(submit -q extra --wrap true)
waits "from now on" "$waiting" QueueMaxJobs ""
is "jobs run on" "$(state_of "$id")" RUNNING

two_queues 'queue extra { max_jobs = 0  colour = "red" }'
fails "a bad one is refused" 1 "$conf:11: " aictl reload
two_queues 'queue extra { max_jobs = "many" }'
fails "with the line" 1 "$conf:11: " aictl reload
configure "$default_config"
fails "a queue with jobs" 1 "queue 'extra' still has 1 job" aictl reload
two_queues 'queue extra { max_jobs = 0 }'
sed 's/"test"/"other"/' "$conf" >"$conf.new" && mv "$conf.new" "$conf"
fails "what needs a restart" 1 "changing cluster needs a restart" aictl reload
rm "$conf"
fails "no file" 1 "$conf" aictl reload
is "nothing has changed" "$(aiq --queues -h -o name | tr '\n' ' ')" "default extra "
is "no job either" "$(state_of "$waiting") $(field "$waiting" reason)" \
	"PENDING QueueMaxJobs"

two_queues 'queue extra { quota { gpus = 2 }  limit { gpus = 1 } }'
run aictl reload
like "a warning is a warning" "$rc$err" "^0.*limit.gpus is below quota.gpus"
becomes "the limit is gone" "$waiting" COMPLETED

configure
kill -HUP "$daemon_pid"
ok "and is noted" wait_for "aictl audit --act reload --json | grep -q SIGHUP"
ok "SIGHUP does the same" \
	wait_for "[ \"\$(aiq --queues -h -o name)\" = default ]"
echo 'colour = "red"' >>"$conf"
kill -HUP "$daemon_pid"
ok "and says what is wrong" wait_for has_line "$log" "not reloaded: $conf:"
configure

# --- keys that lock users out, or have no effect ---------------------------

# TEXT: prints the messages and the exit status of --check-config for TEXT
checked()
{
	configure "$1"
	"$aischedd" -c "$conf" --check-config 2>&1
	echo "$?"
}

like "a user that is not there" "$(checked 'admins = {"nobodyy"}')" \
	"$conf: admins: there is no user 'nobodyy'"
like "a group" "$(checked 'queue q { users = {"@nogroupp", "root"} }')" \
	"$conf: queue 'q': users: there is no group 'nogroupp'"
unlike "but not one that is" "$(checked 'queue q { users = {"root"} }')" root
like "another machine" "$(checked 'queue q { } pool p { runner = local }
node elsewhere { pool = p  cpus = 1 }')" \
	"$conf:7: node 'elsewhere' has no effect: pool 'p' has one node, this machine, '$node'"
like "more CPUs than there are" "$(checked "queue q { } pool p { runner = local }
node \"$node\" { pool = p  cpus = 60000  memory = \"900T\" }")" \
	"cpus = 60000, but this machine has $(getconf _NPROCESSORS_ONLN): jobs"
like "more memory" "$(checked "queue q { } pool p { runner = local }
node \"$node\" { pool = p  cpus = 1  memory = \"900T\" }")" \
	"memory = 900T, but this machine has "
like "a quota of more than there is" "$(checked 'queue q { quota { cpus = 60000 } }')" \
	"$conf:6: queue 'q': quota.cpus = 60000, but all nodes together have"
like "or of memory" "$(checked 'queue q { quota { memory = "900T" } }')" \
	"$conf:6: queue 'q': quota.memory = 900T, but all nodes together have"
like "or of GPUs" "$(checked "queue q { quota { gpus = 3 } } pool p { runner = local }
node \"$node\" { pool = p  gpus = 2 }")" \
	"$conf:6: queue 'q': quota.gpus = 3, but all nodes together have 2"
unlike "not of what there is" "$(checked "queue q { quota { gpus = 2  memory = \"1G\"  cpus = 1 } } pool p { runner = local }
node \"$node\" { pool = p  gpus = 2 }")" quota
is "a warning is no mistake" "$(checked 'admins = {"nobodyy"}' | tail -n 1)" 0
run aictl reload
like "a reload says the same" "$rc$err" "^0.*there is no user 'nobodyy'"
configure

# --- changes of the node ---------------------------------------------------

configure "
queue default { }
pool here { runner = local }
node \"$node\" { pool = here  cpus = 8  memory = \"8G\"  features = {\"big\"} }"
aictl reload
is "a node is corrected" "$(aiq --nodes -h -o cpus,memory_mib | tr -s ' ')" "8 8G"
waiting=$(submit -c 8 --wrap true)
configure "
queue default { }
pool here { runner = local }
node \"$node\" { pool = here  cpus = 4  memory = \"4G\" }"
aictl reload
waits "what fits no more waits" "$waiting" NeverFits "needs 8 CPUs on one node; the largest that it may use has 4"
aicancel --wait "$waiting" "$id"

# --- files in conf.d -------------------------------------------------------

mkdir "$dir/conf.d"
echo 'queue second { }' >"$dir/conf.d/b.conf"
configure "$default_config
default_queue = \"default\"
include(\"conf.d/*.conf\")"
aictl reload
is "other files" "$(aiq --queues -h -o name | tr '\n' ' ')" "default second "
echo 'queue second { x = 1 }' >"$dir/conf.d/b.conf"
fails "are named" 1 "b.conf:1: " aictl reload

done_testing

#!/bin/sh
# Devices other than GPUs: kinds that the configuration names, and jobs that ask
# for a number of them.
# shellcheck disable=SC2016,SC2119 # jobs expand their own variables

. "$top_srcdir/tests/e2e/jobs.sh"

stop_daemon
configure "queue default { grace = \"2s\" }
pool here { runner = local }
device rdma { }
device fpga { }
node \"$(uname -n)\" {
	pool = here  cpus = 4  memory = \"4G\"
	devices = {\"rdma:3\", \"fpga\"}
}"
start_daemon

gate g
a=$(submit -n 2 --device rdma --wrap "$(at_gate g)")
wait_for is_state "$a" RUNNING
is "devices of a node" "$(aiq --nodes -h -o devices,devices_free | tr -s ' ')" \
	"rdma:3,fpga:1 rdma:1,fpga:1"
is "and of a job" "$(aiq -h -o device "$a")" rdma
b=$(submit --device rdma:2 --device fpga --wrap true)
waits "a job waits for them" "$b" Devices "needs 2 rdma on one node; $(uname -n) \
has the most free, 1 of 3; waits for job $a to end"
c=$(submit --device rdma --wrap true)
becomes "one that finds enough runs" "$c" COMPLETED
like "aiq JOB says what it asks for" "$(aiq "$b")" 'other devices +rdma:2,fpga'
open_gate g
becomes "all that ended is free again" "$b" COMPLETED
is "in the listing, too" "$(aiq --nodes -h -o devices_free)" rdma:3,fpga:1

fails "more than any node has" 1 "no node of its pools has 4 rdma; the most that \
one has is 3" aisub --device rdma:4 --wrap true
fails "a kind that is not there" 1 "--device: there is no device 'nic'" \
	aisub --device nic --wrap true
misuse "no number" "bad devices 'rdma:x'" aisub --device rdma:x --wrap true

sed -i 's/^device fpga/device other/; s/, "fpga"//' "$conf"
fails "changing the kinds" 1 "changing device sections needs a restart" \
	aictl reload
sed -i 's/^device other/device fpga/; s/rdma:3/rdma:1/' "$conf"
run aictl reload
is "how many there are may change" "$(aiq --nodes -h -o devices_free)" rdma:1

done_testing

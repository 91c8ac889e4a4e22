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

a=$("$top_builddir/slurm/bin/sbatch" --parsable -n 2 --gres=rdma:2 -H \
	--wrap true)
is "devices of Slurm's --gres are those of a node" "$(aiq -h -o device "$a")" \
	rdma:1
run aicancel "$a"
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

# --- devices that this machine finds ---------------------------------------------

# LINE...: restarts the daemon with these lines
machine()
{
	stop_daemon
	configure "queue default { grace = \"2s\" }
$(printf '%s\n' "$@")"
	start_daemon
}

ln -s /dev/zero again
machine "pool here { runner = local }" \
	"device ib-hca { path = {\"/dev/zero\", \"/dev/full\", \"$PWD/again\"} }" \
	"device fpga { path = {\"/dev/[r]andom\", \"/dev/none\", \"/etc/passwd\"} }"
is "each device is counted once, whatever its names" \
	"$(aiq --nodes -h -o devices,devices_free | tr -s ' ')" \
	"ib-hca:2,fpga:1 ib-hca:2,fpga:1"
seen='echo "$AISCHED_DEVICE_IB_HCA=$AISCHED_DEVICE_FPGA"'
gate a
a=$(submit --device ib-hca --wrap "$seen; $(at_gate a)")
wait_for [ -s "slurm-$a.out" ]
is "a job has its own" "$(cat "slurm-$a.out")" "/dev/zero="
like "aiq JOB names it" "$(aiq "$a")" "devices +$(uname -n): ib-hca /dev/zero\$"
b=$(submit --device ib-hca,fpga --wrap "$seen")
becomes "another job" "$b" COMPLETED
is "has others" "$(cat "slurm-$b.out")" "/dev/full=/dev/random"
b=$(submit --device ib-hca:2 --wrap "$seen")
waits "a job waits for both" "$b" Devices "needs 2 ib-hca"
open_gate a
becomes "it runs when they are free" "$b" COMPLETED
is "and has both" "$(cat "slurm-$b.out")" "/dev/zero,/dev/full="
b=$(submit -n 2 --device ib-hca --wrap "$seen")
becomes "a job of two tasks" "$b" COMPLETED
is "has one in each" "$(sort "slurm-$b.out" | xargs)" "/dev/full= /dev/zero="
AISCHED_DEVICE_FPGA=/dev/old
export AISCHED_DEVICE_FPGA
b=$(submit --wrap "$seen")
becomes "a job without any" "$b" COMPLETED
is "gets no variable of the job that submitted it" "$(cat "slurm-$b.out")" =
unset AISCHED_DEVICE_FPGA

# After a restart they are found in another order, or no longer.
gate b
a=$(submit --device ib-hca --wrap "$seen; $(at_gate b)")
wait_for [ -s "slurm-$a.out" ]
machine "pool here { runner = local }" \
	"device fpga { path = \"/dev/random\" }" \
	"device ib-hca { path = {\"/dev/full\", \"/dev/zero\"} }"
wait_for is_state "$a" RUNNING
like "after a restart the job has what it had" "$(aiq "$a")" \
	'devices .*: ib-hca /dev/zero$'
b=$(submit --device ib-hca --wrap "$seen")
becomes "and another job" "$b" COMPLETED
is "has the other" "$(cat "slurm-$b.out")" "/dev/full="
machine "pool here { runner = local }" "device ib-hca { path = \"/dev/full\" }"
wait_for is_state "$a" RUNNING
machine "pool here { runner = local }" \
	"device ib-hca { path = {\"/dev/zero\", \"/dev/full\"} }" \
	"node \"$(uname -n)\" { pool = here  devices = {\"ib-hca:5\"} }"
wait_for is_state "$a" RUNNING
is "a section cannot add devices" "$(aiq --nodes -h -o devices,devices_free |
	tr -s ' ')" "ib-hca:2 ib-hca:1"
b=$(submit --device ib-hca --wrap "$seen")
becomes "a job with a device" "$b" COMPLETED
is "never has one that was away while another job had it" \
	"$(cat "slurm-$b.out")" "/dev/full="
open_gate b
wait_for is_state "$a" COMPLETED

# A suspended job keeps its devices.
gate c
a=$(submit --device ib-hca --wrap "$(at_gate c)")
wait_for is_state "$a" RUNNING
run aictl suspend "$a"
wait_for is_state "$a" SUSPENDED
b=$(submit --device ib-hca --wrap "$seen")
becomes "a job beside a suspended one" "$b" COMPLETED
is "gets another device" "$(cat "slurm-$b.out")" "/dev/full="
run aictl resume "$a"
wait_for is_state "$a" RUNNING
like "which has its own still" "$(aiq "$a")" 'devices .*: ib-hca /dev/zero$'
open_gate c
wait_for is_state "$a" COMPLETED

ln -s /dev/full "odd,name"
machine "pool here { runner = local }" "device odd { path = \"$PWD/odd*\" }"
like "a device that cannot be named is told" "$(aictl status)" \
	"Devices: '.*/odd,name' has a name .*: it is not given out"
sed -i 's/odd\*/even*/' "$conf"
fails "changing paths" 1 "changing device sections needs a restart" aictl reload

# The machine has GPUs 0 and 1 beside one adapter, 2 and 3 beside another.
HWLOC_XMLFILE=$top_srcdir/tests/unit/run/local/machines/pairs.xml
export HWLOC_XMLFILE
machine "pool here { runner = local }" 'device rdma { pci = "15b3:*" }' \
	'device other { pci = {"15b3:101b", "*:0001"} }'
is "devices of the PCI bus are those of the first kind that matches" \
	"$(aiq --nodes -h -o devices)" rdma:2
seen='echo "$CUDA_VISIBLE_DEVICES $AISCHED_DEVICE_RDMA"'
small='-c 0.1 --mem 10M'
gate e
# shellcheck disable=SC2086 # several words
a=$(submit $small --gpus-per-task 2 --wrap "$(at_gate e)")
wait_for is_state "$a" RUNNING
# shellcheck disable=SC2086
b=$(submit $small --gpus-per-task 2 --device rdma --wrap "$seen; $(at_gate e)")
wait_for [ -s "slurm-$b.out" ]
is "a job gets the adapter beside its GPUs" "$(cat "slurm-$b.out")" \
	"2,3 0000:43:00.0"
like "aiq JOB names it behind them" "$(aiq "$b")" \
	'devices .*GPU 2-3 \(NUMA 1.*, rdma 0000:43:00\.0$'
# shellcheck disable=SC2086
c=$(submit $small --device rdma --wrap "$seen")
becomes "a job without GPUs" "$c" COMPLETED
is "gets the other adapter" "$(cat "slurm-$c.out")" " 0000:03:00.0"
open_gate e
wait_for is_state "$b" COMPLETED
if [ "$(id -u)" = 0 ]; then
	for i in 0 1; do
		at=sys/devices/pci0000:00/0000:$((4 * i))3:00.0/infiniband/uverbs$i
		mkdir -p "$at" sys/dev/char
		ln -s "../../../$at" "sys/dev/char/3998:$i"
		mknod -m 666 "ib$i" c 3998 "$i"
	done
	mknod -m 666 ib2 c 3998 2
	AISCHED_SYS=$PWD/sys
	export AISCHED_SYS
	machine "pool here { runner = local  constrain_devices = yes }" \
		"device rdma { pci = \"15b3:*\"  path = \"$PWD/ib*\" }"
	unlike "the files of all adapters are known" "$(aictl status)" 'Devices:'
	# shellcheck disable=SC2086
	a=$(submit $small --device rdma --wrap "$seen"'; for i in 0 1 2; do
		{ : <ib$i; } 2>&1 | grep -oE "not permitted|No such device"
	done')
	becomes "a job with an adapter" "$a" COMPLETED
	is "can open its file, and files of no adapter" "$(cat "slurm-$a.out")" \
		" 0000:03:00.0
No such device
not permitted
No such device"
	unset AISCHED_SYS
	machine "pool here { runner = local  constrain_devices = yes }" \
		'device rdma { pci = "15b3:*" }'
	like "files that are not known are told" "$(aictl status)" \
		"Devices: the files of some are not known \\('path'\\); a job could"
fi
unset HWLOC_XMLFILE

if [ "$(id -u)" = 0 ]; then
	mknod -m 666 dev0 c 3998 0
	mknod -m 666 dev1 c 3998 1
	mknod -m 666 dev2 c 3997 0
	mknod -m 666 dev3 c 1 7
	machine "pool here { runner = local  constrain_devices = yes }" \
		"device dev { path = \"$PWD/dev[0-9]*\" }"
	unlike "the kernel can deny devices" "$(aictl status)" 'Devices:'
	opens='for i in 0 1 2 3; do
		{ : <dev$i && echo opened; } 2>&1 |
			grep -oE "not permitted|No such device|opened"
	done | xargs'
	gate d
	a=$(submit --device dev:2 --wrap "$opens; $(at_gate d)")
	wait_for [ -s "slurm-$a.out" ]
	is "a job can open its own devices only" "$(cat "slurm-$a.out")" \
		"No such device No such device not permitted not permitted"
	b=$(submit --device dev:2 --wrap "$opens")
	becomes "another job" "$b" COMPLETED
	is "can open the others" "$(cat "slurm-$b.out")" \
		"not permitted not permitted No such device opened"
	b=$(submit --wrap "$opens")
	becomes "a job without devices" "$b" COMPLETED
	is "can open none" "$(cat "slurm-$b.out")" \
		"not permitted not permitted not permitted not permitted"
	b=$(submit -n 3 --min-tasks 1 -c 0.1 --mem 10M --device dev \
		--wrap "[ \$SLURM_PROCID != 2 ] || { $opens; echo end; }; exec sleep 1000")
	wait_for is_state "$b" RUNNING
	open_gate d
	wait_for is_state "$a" COMPLETED
	wait_for has_line "slurm-$b.out" end
	like "a job that grew can open all that it has" "$(cat "slurm-$b.out")" \
		'No such device.*(opened|No such device).*(opened|No such device)'
	aicancel "$b"
	wait_for is_state "$b" CANCELLED
else
	skip "jobs are kept from devices of others" "needs root"
fi

done_testing

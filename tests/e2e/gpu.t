#!/bin/sh
# The GPUs of this machine, as reported by a library that replaces that of the
# driver (tests/gpu).
# shellcheck disable=SC2016 # jobs expand their own variables

. "$top_srcdir/tests/e2e/jobs.sh"

LD_LIBRARY_PATH=$top_builddir/tests/gpu${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
NVML_FILE=$PWD/gpus
export LD_LIBRARY_PATH NVML_FILE

# LINE...: restarts the daemon with a driver that reports these lines
machine()
{
	stop_daemon
	printf '%s\n' "$@" >gpus
	start_daemon
}

gpu0='gpu GPU-0000 0 00000000:3B:00.0 81559 0 NVIDIA H100 80GB HBM3'
gpu1='gpu GPU-0001 1 00000000:5E:00.0 81559 0 NVIDIA H100 80GB HBM3'
gpu2='gpu GPU-0002 2 00000000:86:00.0 81559 0 NVIDIA H100 80GB HBM3'
gpu3='gpu GPU-0003 3 00000000:AF:00.0 81559 0 NVIDIA H100 80GB HBM3'

configure '
queue default { grace = "1s" }
pool here { runner = local }'
seen='echo $CUDA_DEVICE_ORDER $CUDA_VISIBLE_DEVICES $AISCHED_GPU_UUIDS'

machine "$gpu3" "$gpu1" "$gpu0" "$gpu2"
echo "node \"$(uname -n)\" { gpus = 2 }" >>"$conf"
fails "how many GPUs there are stays so" 1 \
	"changing gpus of this machine needs a restart" aictl reload
sed -i '$d' "$conf"
is "aiq shows them" "$(aiq --nodes -h -o gpus,gpu_type | tr -s ' ')" "4 h100"
is "with their memory" "$(aiq --nodes --json | jq .nodes[0].gpu_memory_mib)" 81559
unlike "nothing is wrong with them" "$(aictl status)" 'GPUs[:.]'
echo "node \"$(uname -n)\" { gpu_numa = {0, 0, 1}  gpu_links = {0, 0, 1, 1} }" >>"$conf"
aictl reload
like "a list of another length than there are GPUs is told" "$(aictl status)" \
	"Node '.*': gpu_numa has 3 numbers for 4 GPUs\."
unlike "one with the right length is not" "$(aictl status)" 'gpu_links has'
sed -i '$d' "$conf"
aictl reload
id=$(submit -c 0.1 --mem 10M --gpus-per-task 0.25 \
	--wrap 'echo "$CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"')
becomes "a job with a part of a GPU" "$id" COMPLETED
is "is limited to that part of its memory, where MPS runs" \
	"$(cat "slurm-$id.out")" GPU-0000=20389M
id=$(submit -c 0.1 --mem 10M --gpu-memory 20G \
	--wrap 'echo "$CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"')
becomes "a job with a part by memory" "$id" COMPLETED
is "has the part with that memory" "$(cat "slurm-$id.out")" GPU-0000=20552M
is "which aiq shows" \
	"$(aiq -h -o gpu_memory_mib,gpus "$id" | tr -s ' ' | sed 's/^ //')" "20G 0.252"
like "a part that no GPU has" \
	"$(aisub -c 0.1 --mem 10M --gpu-memory 100G --wrap true 2>&1)" \
	"no node of its pools has a GPU with 100G of memory; the largest that is known has 79\.6G"
like "nor is there a whole one" \
	"$(aisub -c 0.1 --mem 10M --gpus-per-task 1 --gpu-memory 100G --wrap true 2>&1)" \
	"no node of its pools has a GPU with 100G of memory"
gate p
parts=
for id in 1 2 3 4; do
	part=$(submit -c 0.1 --mem 10M --gpu-memory 39G \
		--wrap "echo \$CUDA_VISIBLE_DEVICES; $(at_gate p)")
	wait_for [ -s "slurm-$part.out" ]
	parts="$parts $part"
done
is "two parts share a GPU" "$(aiq --nodes -h -o gpus_free | tr -d ' ')" 2.04
like "aiq shows the part" "$(aiq "$part")" '^ *devices .* 0\.49 of GPU 1'
like "and what was asked" "$(aiq "$part")" '^ *GPU memory +39G$'
is "a part of another size goes to another GPU" \
	"$(aisub --test-only -c 0.1 --mem 10M --gpu-memory 41G --wrap true 2>&1 |
		grep -c 'would start now')" 1
open_gate p
for part in $parts; do
	wait_for is_state "$part" COMPLETED
done
gate a
first=$(submit -c 0.1 --mem 10M --gpus-per-task 1 --wrap "$seen; $(at_gate a)")
wait_for [ -s "slurm-$first.out" ]
like "aiq names it" "$(aiq "$first")" '^ *devices .*: GPU 0$'
is "and so does Slurm's scontrol" \
	"$("$top_builddir/slurm/bin/scontrol" show job -d "$first" | grep -o 'GRES=.*' | xargs)" \
	"GRES=gpu:1 GRES=gpu:1(IDX:0)"
is "a job knows its GPU by number and by UUID" "$(cat "slurm-$first.out")" \
	"PCI_BUS_ID 0 GPU-0000"
id=$(submit -c 0.1 --mem 10M --gpus-per-task 3 --wrap "$seen")
becomes "the next one" "$id" COMPLETED
is "has others, in order of bus ids" "$(cat "slurm-$id.out")" \
	"PCI_BUS_ID 1,2,3 GPU-0001,GPU-0002,GPU-0003"
open_gate a
wait_for is_state "$first" COMPLETED

printf '#!/bin/sh\n#SBATCH --gpus=2 --cpus-per-gpu=0.1 --mem-per-gpu=5M -H\n' \
	>per_gpu.sh
id=$(submit per_gpu.sh)
is "CPUs and memory for each GPU are those of its tasks" \
	"$(aiq -h -o cpus,mem_mib,gpus "$id" | tr -s ' ' | sed 's/^ //')" \
	"0.2 10M 2"
aicancel "$id"

# GPUs are linked in pairs that are not neighbours.
machine "$gpu0" "$gpu1" "$gpu2" "$gpu3" \
	'link 0 00000000:86:00.0' 'link 2 00000000:3B:00.0' \
	'link 1 00000000:AF:00.0' 'link 3 00000000:5E:00.0'
id=$(submit -c 0.1 --mem 10M --gpus-per-task 2 --wrap "$seen")
becomes "a job with two" "$id" COMPLETED
like "has two that are linked" "$(cat "slurm-$id.out")" \
	'^PCI_BUS_ID (0,2 GPU-0000,GPU-0002|1,3 GPU-0001,GPU-0003)$'


# GPU 0 and 1 are taken, so the free ones are of two groups.
echo 'scheduling { consolidate = no }' >>"$conf"
run aictl reload
gate l
for id in 1 2 3; do
	part=$(submit -c 0.1 --mem 10M --gpus-per-task 1 --links any -t "${id}0" \
		--wrap "$(at_gate l)")
	wait_for is_state "$part" RUNNING
done
second=$(submit -c 0.1 --mem 10M --gpus-per-task 1 --links any -t 40 \
	--wrap "$(at_gate l)")
wait_for is_state "$second" RUNNING
run aicancel --wait "$second" "$((second - 2))"
run aisub --test-only -c 0.1 --mem 10M --gpus-per-task 2 --wrap true
like "--test-only names the GPUs" "$(echo "$out" | head -n 2 | xargs)" \
	"^would start now on .* devices .*: GPU [0-3][-,][0-3] \\(links 0-1\\)\$"
like "and when they could be of one group" "$(echo "$out" | tail -n 1)" \
	'^with --links strict it would start at .* \(LinkAlignment\): needs 2 GPUs in one link group; .* has 1 in one, and 2 free in all; waits for'
run aisub --test-only -c 0.1 --mem 10M --gpus-per-task 2 --links any --wrap true
is "if that is preferred" "$(echo "$out" | grep -c .)" 2
open_gate l
open_gate l
sed -i '$d' "$conf"

# --- MIG instances ----------------------------------------------------------------

# FILE N: whether the file has this many lines
has_lines()
{
	[ "$(wc -l <"$1")" = "$2" ]
}

# LINE: the GPU of this line in MIG mode
in_parts()
{
	echo "$1" | sed 's/ 0 NVIDIA/ 1 NVIDIA/'
}
half='4 40448 NVIDIA H100 80GB HBM3 MIG 3g.40gb'
# GPU 2 has an instance of a profile that we do not know.
machine "$gpu0" "$(in_parts "$gpu1")" "$(in_parts "$gpu2")" "$gpu3" \
	"instance 1 MIG-0001 1 0 $half" "instance 1 MIG-0002 2 4 $half" \
	'instance 2 MIG-0003 3 0 2 19968 NVIDIA H100 80GB HBM3 MIG 1c.2g.20gb'
is "a GPU that is in parts is there" "$(aiq --nodes -h -o gpus | tr -d ' ')" 3
like "the admin is told of an instance that jobs cannot have" "$(aictl status)" \
	'GPUs: GPU 2 has an instance \(1c\.2g\.20gb\) of unknown profile or place'
like "and of a GPU without any" "$(aictl status)" \
	'GPU 2 is in MIG mode and has no instance for jobs: it is not given out\.'

# GATE: submits a job with an instance that runs until the gate opens; sets $id
hold_part()
{
	gate "$1"
	id=$(submit -c 0.1 --mem 10M --gpus-per-task 3g.40gb:1 \
		--wrap "$seen; $(at_gate "$1")")
}
hold_part a
first=$id
wait_for [ -s "slurm-$first.out" ]
hold_part b
second=$id
wait_for [ -s "slurm-$second.out" ]
is "two jobs see an instance each, by its UUID" \
	"$(sort "slurm-$first.out" "slurm-$second.out")" \
	"PCI_BUS_ID MIG-0001 MIG-0001
PCI_BUS_ID MIG-0002 MIG-0002"
like "aiq names it" "$(aiq "$first")" '^ *devices .*: 3g\.40gb of GPU 1$'
hold_part c
third=$id
waits_for_part()
{
	aiq "$third" | grep -q 'needs a 3g\.40gb on one node'
}
ok "a third job waits for one" wait_for waits_for_part
like "a profile that no GPU has is refused" \
	"$(aisub -c 0.1 --mem 10M --gpus-per-task 1g.10gb:1 --wrap true 2>&1)" \
	'MIG profile 1g\.10gb; there are 3g\.40gb'
gate d
whole=$(submit -c 0.1 --mem 10M --gpus-per-task 2 --wrap "$seen; $(at_gate d)")
wait_for [ -s "slurm-$whole.out" ]
is "a job with whole GPUs gets none in parts" "$(cat "slurm-$whole.out")" \
	"PCI_BUS_ID 0,3 GPU-0000,GPU-0003"
part=$(submit -c 0.1 --mem 10M --gpus-per-task 0.25 --wrap true)
waits_for_gpu()
{
	[ "$(aiq -h -o state,reason "$part" | tr -s ' ')" = "PENDING Resources" ]
}
ok "nor does a fraction" wait_for waits_for_gpu

stop_daemon
start_daemon
wait_for is_state "$second" RUNNING
ok "after a restart the third job still waits" wait_for waits_for_part
is "as the first has what it had" "$(aiq "$first" | grep -c '3g\.40gb of GPU 1')" 1
open_gate a
wait_for is_state "$first" COMPLETED
wait_for [ -s "slurm-$third.out" ]
is "and gets that when the first has ended" \
	"$(head -n 1 "slurm-$third.out")" "$(head -n 1 "slurm-$first.out")"
open_gate b
open_gate c
open_gate d
for id in "$second" "$third" "$whole" "$part"; do
	wait_for is_state "$id" COMPLETED
done
id=$(submit -n 2 -c 0.1 --mem 10M --gpus-per-task 3g.40gb:1 --wrap "$seen")
becomes "a job of two tasks" "$id" COMPLETED
is "has an instance in each" "$(sort "slurm-$id.out")" \
	"PCI_BUS_ID MIG-0001 MIG-0001
PCI_BUS_ID MIG-0002 MIG-0002"

# An administrator cannot remove an instance in use; if it is gone nevertheless,
# the job keeps its part of the GPU.
hold_part a
wait_for is_state "$id" RUNNING
machine "$gpu0" "$gpu1"
whole=$(submit -c 0.1 --mem 10M --gpus-per-task 2 --wrap "$seen")
waits_for_both()
{
	[ "$(aiq -h -o reason "$whole" | tr -d ' ')" = Resources ]
}
ok "a GPU is not given while a job has an instance of it" wait_for waits_for_both
open_gate a
wait_for is_state "$id" COMPLETED
becomes "it is when the job has ended" "$whole" COMPLETED

# If a job can open all devices, the variables must still name its own GPU.
configure "
queue default { grace = \"1s\" }
pool here { runner = local  constrain_devices = yes }
node \"$(uname -n)\" { pool = here  gpus = 2 }"
machine
like "what keeps the kernel from denying devices is told" "$(aictl status)" \
	'GPUs: their driver does not tell their device files'
gate b
first=$(submit -c 0.1 --mem 10M --gpus-per-task 1 --wrap "$seen; $(at_gate b)")
wait_for [ -s "slurm-$first.out" ]
id=$(submit -c 0.1 --mem 10M --gpus-per-task 1 --wrap "$seen")
becomes "a job with the second GPU" "$id" COMPLETED
is "does not compute on the first" "$(cat "slurm-$id.out")" "PCI_BUS_ID 1"
open_gate b
wait_for is_state "$first" COMPLETED
configure '
queue default { grace = "1s" }
pool here { runner = local }'

# Use device numbers that no real device has.
if [ "$(id -u)" = 0 ]; then
	configure '
queue default { grace = "1s" }
pool here { runner = local  constrain_devices = yes }'
	machine "$(echo "$gpu0" | sed 's/ 0 / 200 /')" \
		"$(echo "$gpu1" | sed 's/ 1 / 201 /')" \
		"$(echo "$gpu2" | sed 's/ 2 / 202 /')"
	for minor in 200 201 202; do
		mknod -m 666 "gpu$minor" c 195 $minor
	done
	opens='for i in 200 201 202; do
		{ : <gpu$i; } 2>&1 | grep -o "Operation not permitted" || echo no driver
	done'
	unlike "the kernel can deny devices" "$(aictl status)" 'GPUs:'
	gate a
	first=$(submit -c 0.1 --mem 10M --gpus-per-task 1 --wrap "$(at_gate a)")
	wait_for is_state "$first" RUNNING
	id=$(submit -c 0.1 --mem 10M --gpus-per-task 1 \
		--wrap "$opens; echo \$CUDA_VISIBLE_DEVICES \$SLURM_JOB_GPUS")
	becomes "a job with the second GPU" "$id" COMPLETED
	is "can open no other, and counts from 0" "$(cat "slurm-$id.out")" \
		"Operation not permitted
no driver
Operation not permitted
0 1"
	id=$(submit -c 0.1 --mem 10M --wrap "$opens; echo =\$CUDA_VISIBLE_DEVICES")
	becomes "a job without GPUs" "$id" COMPLETED
	is "can open none" "$(cat "slurm-$id.out")" \
		"Operation not permitted
Operation not permitted
Operation not permitted
="
	id=$(submit -n 3 --min-tasks 1 -c 0.1 --mem 10M --gpus-per-task 1 \
		--wrap "if [ \$SLURM_PROCID = 2 ]; then $opens; echo end; fi; exec sleep 1000")
	wait_for is_state "$id" RUNNING
	open_gate a
	wait_for is_state "$first" COMPLETED
	wait_for has_line "slurm-$id.out" end
	is "a job that grew can open all that it has" \
		"$(tr '\n' ' ' <"slurm-$id.out")" "no driver no driver no driver end "
	aicancel "$id"
	wait_for is_state "$id" CANCELLED

	machine "$(in_parts "$(echo "$gpu0" | sed 's/ 0 / 200 /')")" \
		"$(echo "$gpu1" | sed 's/ 1 / 201 /')" \
		"instance 0 MIG-0001 1 0 $half" "instance 0 MIG-0002 2 4 $half"
	like "device files of instances that are not known are told" \
		"$(aictl status)" \
		'GPUs: their driver does not tell the device files of their MIG instances'
	AISCHED_PROC=$PWD/proc
	export AISCHED_PROC
	mkdir proc
	printf 'Character devices:\n195 nvidia\n3999 nvidia-caps\n' >proc/devices
	for gi in 1 2; do
		caps=proc/driver/nvidia/capabilities/gpu200/mig/gi$gi
		mkdir -p "$caps/ci0"
		printf 'DeviceFileMinor: %s\nDeviceFileMode: 292\n' "${gi}0" \
			>"$caps/access"
		printf 'DeviceFileMinor: %s\nDeviceFileMode: 292\n' "${gi}1" \
			>"$caps/ci0/access"
		mknod -m 666 "cap${gi}0" c 3999 "${gi}0"
		mknod -m 666 "cap${gi}1" c 3999 "${gi}1"
	done
	is "aisched-gpu lists them" \
		"$("$top_builddir/gpu/aisched-gpu" list |
			jq -c '.caps_major, .gpus[0].instances[].caps')" "3999
[10,11]
[20,21]"
	stop_daemon
	start_daemon
	unlike "the kernel can deny instances" "$(aictl status)" 'GPUs:'
	opens='for i in gpu200 gpu201 cap10 cap11 cap20 cap21; do
		{ : <$i; } 2>&1 | grep -o "Operation not permitted" || echo no driver
	done | xargs'
	id=$(submit -n 2 -c 0.1 --mem 10M --gpus-per-task 3g.40gb:1 \
		--wrap "[ \$SLURM_PROCID = 1 ] || $opens")
	becomes "a job with both instances" "$id" COMPLETED
	is "can open both" "$(cat "slurm-$id.out")" \
		"no driver Operation not permitted no driver no driver no driver no driver"
	gate a
	first=$(submit -c 0.1 --mem 10M --gpus-per-task 3g.40gb:1 \
		--wrap "echo \$CUDA_VISIBLE_DEVICES; $opens; $(at_gate a)")
	wait_for has_lines "slurm-$first.out" 2
	second=$(submit -c 0.1 --mem 10M --gpus-per-task 3g.40gb:1 \
		--wrap "echo \$CUDA_VISIBLE_DEVICES; $opens")
	becomes "a job with an instance" "$second" COMPLETED
	is "can open its GPU and its instance, and no other one" \
		"$(sort "slurm-$first.out" "slurm-$second.out")" \
		"MIG-0001
MIG-0002
no driver Operation not permitted Operation not permitted Operation not permitted no driver no driver
no driver Operation not permitted no driver no driver Operation not permitted Operation not permitted"
	id=$(submit -c 0.1 --mem 10M --gpus-per-task 1 --wrap "$opens")
	becomes "a job with a whole GPU" "$id" COMPLETED
	is "can open no instance" "$(cat "slurm-$id.out")" \
		"Operation not permitted no driver$(printf ' Operation not permitted%.0s' 1 2 3 4)"
	open_gate a
	wait_for is_state "$first" COMPLETED
	unset AISCHED_PROC
	configure '
queue default { grace = "1s" }
pool here { runner = local }'
else
	skip "jobs are kept from GPUs of others" "needs root"
fi

machine 'fail 9'
is "without a driver there are none" "$(aiq --nodes -h -o gpus)" 0
like "a driver that fails is told" "$(aictl status)" \
	'GPUs: nvmlInit_v2\(\) of libnvidia-ml.so.1 fails with 9\.'

machine 'hang'
like "a driver that hangs keeps nobody waiting" "$(aictl status)" \
	'GPUs: the driver does not answer\.'
machine "$gpu0" 'hang at the end'
like "nor one that hangs when it has answered" "$(aictl status)" \
	'GPUs: the driver does not answer\.'
id=$(submit -c 0.1 --mem 10M --wrap true)
becomes "a job without GPUs" "$id" COMPLETED

done_testing

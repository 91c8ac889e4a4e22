#!/bin/sh
# The GPUs that this machine really has, seen and used through NVIDIA's driver.
# Skipped on a machine without one. Changes no setting of a GPU; jobs hold all
# GPUs, so others should not use them meanwhile.
# shellcheck disable=SC2016,SC2119 # jobs expand their own variables

: "${top_srcdir:=.}" "${top_builddir:=.}"
. "$top_srcdir/tests/e2e/tap.sh"
if ! command -v nvidia-smi >/dev/null || ! nvidia-smi -L >/dev/null 2>&1; then
	skip_all "needs a GPU of NVIDIA, its driver and nvidia-smi"
fi
. "$top_srcdir/tests/e2e/jobs.sh"

cp "$top_builddir/tests/gpu/cuda" "$dir/bin/" || exit 1

# COLUMN: prints it for each GPU, in order of bus ids
smi()
{
	nvidia-smi --query-gpu="pci.bus_id,$1" --format=csv,noheader,nounits |
		sort | sed 's/^[^,]*, //'
}

# Prints the MiB of GPU memory that each process has, by its id.
users()
{
	nvidia-smi --query-compute-apps=pid,used_memory \
		--format=csv,noheader,nounits
}

# N: whether N processes have GPU memory
has_users()
{
	[ "$(users | grep -c .)" -eq "$1" ]
}

# JOB FILTER: prints a part of the job's JSON
json()
{
	aiq --json "$1" | jq -r ".jobs[0] | $2"
}

# JOB WORDS: waits until the job has printed a line with WORDS
says()
{
	wait_for has_line "slurm-$1.out" "$2"
}

n=$(smi index | wc -l)
all=$(smi uuid | paste -sd ,)
first=${all%%,*}
mib=$(smi memory.total | head -n 1)
base=$(smi memory.used | head -n 1)
# [OPTION]...: submits a small job; one with half a GPU; one with all GPUs
small()
{
	submit -c 0.1 --mem 3G "$@"
}

half()
{
	small --gpus-per-task 0.5 "$@"
}

whole()
{
	small --gpus-per-task "$n" "$@"
}

configure '
accounting { sample = "1s" }
default_queue = "soft"
queue soft { preempt = requeue  grace = "5s"  idle_gpu = "2s" }
pool here { runner = local }'
restart
gate a b c d

# --- what is found -------------------------------------------------------------

list=$("$top_builddir/gpu/aisched-gpu" list)
diag "$list"
is "UUIDs, as nvidia-smi prints them" \
	"$(echo "$list" | jq -r '[.gpus[].uuid] | join(",")')" "$all"
is "memory" "$(echo "$list" | jq -r '.gpus[].memory_mib')" "$(smi memory.total)"
is "bus ids" "$(echo "$list" | jq -r '.gpus[].bus_id')" \
	"$(smi pci.bus_id | tr A-F a-f)"
is "the driver's version" "$(echo "$list" | jq -r .driver)" \
	"$(smi driver_version | head -n 1)"
is "whether one is in parts" "$(echo "$list" | jq -r '.gpus[].mig' | sort -u)" false
ok "each has a device file" sh -c "for m in $(echo "$list" |
	jq -r '[.gpus[].minor] | map(tostring) | join(" ")'); do [ -c /dev/nvidia\$m ]; done"
is "aiq counts them" "$(aiq --nodes -h -o gpus | tr -d ' ')" "$n"
unlike "nothing is wrong with them" "$(aictl status)" 'GPUs:'

# --- what jobs see ---------------------------------------------------------------

see='cuda list; echo $CUDA_DEVICE_ORDER $CUDA_VISIBLE_DEVICES $AISCHED_GPU_UUIDS'
id=$(small --gpus-per-task 1 --wrap "$see")
becomes "a job with a GPU" "$id" COMPLETED
is "sees that one only" "$(cat "slurm-$id.out")" \
	"$first $(cuda list | sed -n "s/^$first //p")
PCI_BUS_ID 0 $first"
id=$(small --gpus-per-task "$n" --wrap "$see")
becomes "a job with all" "$id" COMPLETED
is "sees them in order of bus ids" \
	"$(sed -n 's/^\(GPU-[^ ]*\) .*/\1/p' "slurm-$id.out" | paste -sd ,)" "$all"
id=$(small --gpus-per-task 1 \
	--wrap 'CUDA_VISIBLE_DEVICES=$AISCHED_GPU_UUIDS cuda list')
becomes "a job that names its GPU by UUID" "$id" COMPLETED
like "sees it, too" "$(cat "slurm-$id.out")" "^$first "
id=$(small --wrap 'cuda list; echo =$CUDA_VISIBLE_DEVICES')
becomes "a job without GPUs" "$id" COMPLETED
is "sees none" "$(cat "slurm-$id.out")" "no GPU
="

# --- halves ----------------------------------------------------------------------

half1=$(half --wrap "$(at_gate a) | cuda list alloc $((mib * 45 / 100)) read check")
half2=$(half --wrap "$(at_gate b) | cuda list alloc $((mib * 45 / 100)) read check")
says "$half1" "has $((mib * 45 / 100)) MiB"
says "$half2" "has $((mib * 45 / 100)) MiB"
is "two halves have the same GPU" "$(cat "slurm-$half1.out" "slurm-$half2.out" |
	sed -n 's/^\(GPU-[^ ]*\) .*/\1/p' | uniq -c | tr -s ' ')" " 2 $first"
ok "both use it at once" wait_for has_users 2
diag "$(users)"
if [ "$n" = 1 ]; then
	third=$(half --wrap true)
	waits "a third waits" "$third" Resources "needs 0.5 GPUs"
	aicancel "$third"
fi
open_gate a
open_gate b
becomes "one ends" "$half1" COMPLETED
becomes "so does the other" "$half2" COMPLETED
is "each had its memory until the end" \
	"$(tail -qn 1 "slurm-$half1.out" "slurm-$half2.out" | uniq -c | tr -s ' ')" \
	" 2 has its memory"
ok "no memory stays in use" wait_for has_users 0

# --- suspended, requeued, cancelled -------------------------------------------------

id=$(whole --wrap "$(at_gate c) | cuda alloc 2048 read check")
says "$id" "has 2048 MiB"
aictl suspend "$id"
wait_for is_state "$id" SUSPENDED
ok "a suspended job keeps its memory" has_users 1
aictl resume "$id"
wait_for is_state "$id" RUNNING
open_gate c
becomes "it goes on" "$id" COMPLETED
like "with the same memory" "$(cat "slurm-$id.out")" 'has its memory'

low=$(whole --wrap 'cuda alloc 2048 busy 600000')
says "$low" "has 2048 MiB"
stop_daemon
ok "it computes on without a daemon" has_users 1
start_daemon
high=$(whole --class interactive --wrap "$(at_gate d) | cuda list alloc 2048 read")
becomes "more important work gets its GPU" "$high" RUNNING
is "the job waits" "$(state_of "$low")" PENDING
says "$high" "has 2048 MiB"
ok "and has left the GPU" has_users 1
open_gate d
becomes "it ends" "$high" COMPLETED
becomes "the other begins again" "$low" RUNNING
ok "and uses the GPU" wait_for has_users 1
aicancel "$low"
becomes "until it is cancelled" "$low" CANCELLED
ok "no memory stays in use" wait_for has_users 0
is "the GPU is as before" "$(($(smi memory.used | head -n 1) <= base + 64))" 1

# --- what is measured -----------------------------------------------------------------

# The program that computes needs a whole CPU, or the GPU waits for it.
id=$(submit -c 1 --mem 3G --gpus-per-task "$n" --wrap "cuda alloc 4096 busy 12000 & sleep 5
	nvidia-smi --query-gpu=memory.used --format=csv,noheader,nounits; wait")
becomes "a job that keeps its GPU busy" "$id" COMPLETED
diag "$(cat "slurm-$id.out")"
diag "$(aiq --json "$id" | jq -c '.jobs[0] | [.gpu_util, .gpu_busy_seconds,
	.gpu_known_seconds, .gpu_mem_mib, .gpu_mem_total_mib, .elapsed_ms]')"
seen=$(sed -n 2p "slurm-$id.out")
if [ "$n" = 1 ]; then
	is "its use is above 80 %" "$(json "$id" '.gpu_busy_seconds / .gpu_known_seconds > 0.8')" true
	is "its memory is that of nvidia-smi, give or take 5 %" \
		"$(json "$id" "(.gpu_mem_mib - $seen) / $seen | . * . < 0.0025")" true
fi
is "of all memory" "$(json "$id" .gpu_mem_total_mib)" \
	"$(smi memory.total | awk '{ n += $1 } END { print n }')"
id=$(whole --wrap 'sleep 1000')
ok "a GPU that does nothing is told" wait_for \
	"aiq --json -o gpu_idle_seconds $id | grep -q ':[1-9]'"
aicancel "$id"
wait_for is_state "$id" CANCELLED

# --- parts, if MPS runs -------------------------------------------------------------------

if command -v nvidia-cuda-mps-control >/dev/null; then
	mkdir mps
	export CUDA_MPS_PIPE_DIRECTORY="$PWD/mps" CUDA_MPS_LOG_DIRECTORY="$PWD/mps"
	ok "MPS begins" nvidia-cuda-mps-control -d
	id=$(half --wrap "cuda alloc $((mib * 45 / 100))")
	becomes "a job that allocates less than its half" "$id" COMPLETED
	id=$(half --wrap "cuda alloc $((mib * 55 / 100))")
	becomes "one that allocates more" "$id" FAILED
	like "gets no memory" "$(cat "slurm-$id.out")" '^cuda: cuMemAlloc_v2: 2'
	id=$(whole --wrap "cuda alloc $((mib * 55 / 100))")
	becomes "one with a whole GPU" "$id" COMPLETED
	echo quit | nvidia-cuda-mps-control
	unset CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY
else
	skip "MPS holds jobs to their parts" "needs nvidia-cuda-mps-control"
fi

# --- a training run that is preempted ------------------------------------------------------

if python3 -c 'import torch' 2>/dev/null; then
	cp "$top_srcdir"/contrib/examples/train.* .
	low=$(STEPS=100000 submit --mem-per-task 16G train.sh)
	ok "it learns" says "$low" loss
	high=$(whole --class interactive --wrap 'cuda alloc 2048')
	becomes "more important work gets its GPU" "$high" COMPLETED
	ok "it goes on where it was" wait_for \
		grep -q '^step [1-9][0-9]* of' "slurm-$low.out"
	diag "$(cat "slurm-$low.out")"
	aicancel --wait "$low"
else
	skip "a training run is preempted and goes on" "needs PyTorch"
fi

# --- device files ------------------------------------------------------------------------

configure '
queue soft { grace = "5s" }
pool here { runner = local  constrain_devices = yes }'
restart
if aictl status | grep -q 'GPUs:'; then
	skip "jobs are kept from GPUs of others" "$(aictl status | grep -o 'GPUs: [^;]*')"
else
	look='for f in /dev/nvidia[0-9]*; do
		{ : <$f && echo opened; } 2>&1 | grep -o "opened\|Operation not permitted"
	done
	CUDA_VISIBLE_DEVICES=0 cuda list 2>&1 | head -n 1 | cut -d " " -f 1-2
	nvidia-smi -L 2>&1 | head -n 1'
	id=$(small --wrap "$look")
	becomes "a job without GPUs" "$id" COMPLETED
	diag "$(cat "slurm-$id.out")"
	unlike "can open none" "$(cat "slurm-$id.out")" '^opened|^GPU-'
	id=$(small --gpus-per-task 1 --wrap "$look")
	becomes "a job with one" "$id" COMPLETED
	diag "$(cat "slurm-$id.out")"
	is "can open that one" "$(grep -c opened "slurm-$id.out")" 1
	like "and use it" "$(cat "slurm-$id.out")" "^$first"
fi

done_testing

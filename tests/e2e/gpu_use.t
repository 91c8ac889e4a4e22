#!/bin/sh
# How busy the GPUs of jobs are, as reported by a library that replaces that of
# the driver (tests/gpu), or by files of AMD's driver.

# shellcheck source=tests/e2e/slurm.sh
. "$top_srcdir/tests/e2e/slurm.sh"

gpu=$top_builddir/gpu/aisched-gpu
library=$top_builddir/tests/gpu/libnvidia-ml.so.1
NVML_FILE=$PWD/gpus
NVML_BUSY=$PWD/busy
export NVML_FILE NVML_BUSY

cat >gpus <<'END'
gpu GPU-0001 1 00000000:5E:00.0 81920 0 NVIDIA H100 80GB HBM3
gpu GPU-0000 0 00000000:3B:00.0 81920 0 NVIDIA H100 80GB HBM3
END

# LINE...: sets what the GPUs report from now on, all lines at once
now()
{
	printf '%s\n' "$@" >busy.new
	mv busy.new busy
}

# JOB FILTER: prints a part of the job's JSON
json()
{
	aiq --json "$1" | jq -r ".jobs[0] | $2"
}

# JOB: whether its GPU has been measured
is_seen()
{
	json "$1" '.gpu_known_seconds != null' | grep -q true
}

# JOB: whether its GPU has been measured while it was busy
is_busy()
{
	json "$1" '.gpu_busy_seconds > 0' | grep -q true
}

# JOB MS: whether it has run for that many ms
has_run()
{
	[ "$(field "$1" elapsed_ms)" -ge "$2" ]
}

# --- the program that measures GPUs ------------------------------------------

# WORD...: prints the first line of a measurement
sample()
{
	"$gpu" sample 1 "$@" 2>&1 | head -n 1
}

export AISCHED_NVML="$library"
if [ "$(id -u)" = 0 ]; then
	cp "$library" theirs.so
	chown 65534 theirs.so
	like "root loads nothing that others could have written" \
		"$(AISCHED_NVML=$PWD/theirs.so sample 0)" \
		"AISCHED_NVML: '.*/theirs.so' must be root's"
	cp "$library" ours.so
	chmod 755 ours.so
	AISCHED_NVML=$PWD/ours.so
fi
now "busy 0 7 100" "busy 1 40 1024"
is "GPUs by UUID and by number, in order of bus ids" \
	"$(sample GPU-0001 0 1 GPU-9)" "7 100 81920 40 1024 81920 7 100 81920 -1 -1 -1"
now "busy 0 7 100"
is "one that does not tell" "$(sample GPU-0000)" "-1 0 81920"
now "busy 0 107 100000"
is "numbers that cannot be" "$(sample GPU-0001)" "-1 -1 -1"
now "busy 0 7 100"
cp gpus new_gpus
echo old >>gpus
is "a driver that does not tell what it reserves" "$(sample GPU-0000 GPU-0001)" \
	"-1 480 81920 7 580 81920"
mv new_gpus gpus
mkdir half
printf '11\n12\n' >half/cgroup.procs
now "process 1 11 20 1024" "process 1 12 5 512" "process 1 99 60 9000"
is "a half, by the job's processes" "$(sample --cgroup half GPU-0000/500)" \
	"50 1536 40960"
is "of processes that are not known" "$(sample GPU-0000/500)" "-1 -1 -1"
now "process 1 99 60 9000"
is "a half that is idle" "$(sample --cgroup half GPU-0000/500)" "0 0 40960"
now "process 1 11 80 50000"
is "more than the half" "$(sample --cgroup half GPU-0000/500)" "100 50000 40960"
cp "$(command -v sleep)" nvidia-cuda-mps-server
./nvidia-cuda-mps-server 1000 &
server=$!
wait_for grep -q nvidia-cuda-mps "/proc/$server/comm"
now "process 1 11 0 1024" "process 1 $server 40 30"
is "a half with MPS" "$(sample --cgroup half GPU-0000/500)" "-1 1024 40960"
kill $server
fails "no part" 1 "bad number '0'" "$gpu" sample 1 GPU-0000/0
fails "no GPU" 2 "expected SECONDS and 1 to 64 GPUs" "$gpu" sample 1
fails "no time" 2 "SECONDS: bad number '0'" "$gpu" sample 0 0

# BUS_ID CLASS FILE=TEXT...: makes the files of a PCI device
device()
{
	at=sys/bus/pci/devices/$1
	mkdir -p "$at"
	echo 0x1002 >"$at/vendor"
	echo "$2" >"$at/class"
	shift 2
	for word; do
		echo "${word#*=}" >"$at/${word%%=*}"
	done
}

device 0000:83:00.0 0x120000 gpu_busy_percent=55 \
	mem_info_vram_used=2097152 mem_info_vram_total=68702699520
device 0000:03:00.0 0x030000 mem_info_vram_used=x \
	mem_info_vram_total=1048576
device 0000:03:00.1 0x040300
if AISCHED_NVML='' "$gpu" list >list.out 2>&1; then
	skip "files of AMD's driver" "this machine has NVIDIA's library"
else
	is "files of AMD's driver, in order of bus ids" \
		"$(AISCHED_NVML='' AISCHED_SYSFS=$PWD/sys sample 1 0 2)" \
		"55 2 65520 -1 -1 1 -1 -1 -1"
	mkdir none
	run env AISCHED_NVML= AISCHED_SYSFS="$PWD/none" "$gpu" sample 1 0
	is "no driver at all" "$rc" 3
fi

# --- jobs --------------------------------------------------------------------

printf '#!/bin/sh\ncat >>"%s"\n' "$PWD/mails" >sendmail
chmod 755 sendmail
now "busy 0 90 4000" "busy 1 40 1024"
configure '
accounting { sample = "1s" }
default_queue = "default"
mail { command = "'"$PWD/sendmail"'" }
queue default { grace = "1s" }
queue told { grace = "1s"  idle_gpu = "2s" }
queue free { grace = "1s"  idle_gpu = "1s"  idle_gpu_action = cancel
	idle_gpu_opt_out = yes }
queue ended { grace = "1s"  idle_gpu = "2s"  idle_gpu_action = cancel }
pool here { runner = local }'
# shellcheck disable=SC2119
restart
for g in a b c d e; do
	gate $g
done
id=$(submit -c 0.1 --mem 10M --gpus-per-task 1 --wrap "$(at_gate a)")
wait_for is_seen "$id"
is "a job that runs: 40 % of the time that is known" \
	"$(json "$id" '.gpu_busy_seconds / .gpu_known_seconds * 100 | round')" 40
# shellcheck disable=SC2119
restart
ok "is known after a restart of the daemon" wait_for is_seen "$id"
open_gate a
becomes "it ends" "$id" COMPLETED
is "what it used" \
	"$(json "$id" '[(.gpu_busy_seconds / .gpu_known_seconds * 100 | round),
		.gpu_mem_mib, .gpu_mem_total_mib, .gpu_known_seconds <= .held_gpu_seconds] | @csv')" \
	"40,1024,81920,true"

is "the metrics count it" "$(aictl metrics | awk -v busy="$(json "$id" \
	.gpu_busy_seconds)" '/^aisched_gpu_busy_seconds_total[{]/ { n += $2 }
	END { n -= busy; print n * n < 0.0001 }')" 1

# The share is only shown if at least 90 % of the job's time was measured. On a
# slow machine the job's start and end may take more than the other 10 %.
if [ "$(json "$id" '.gpu_util')" = null ]; then
	percent=- slurm='Job ID: ' util=null
	is "too little is known" \
		"$(json "$id" '.gpu_known_seconds < 0.9 * .held_gpu_seconds')" true
else
	percent='40 %' slurm='GPU Efficiency: 40.00% of ' util=0.4
	is "the share" "$(json "$id" '.gpu_util')" 0.4
fi
is "of the job and of its attempt" \
	"$(aiq --history -h -o gpu_util,gpu_mem_mib "$id" | tr -s ' ' | sed 's/^ //')/$(
		aiq --history --attempts -h -o gpu_util,gpu_mem_mib,gpu_mem_total_mib "$id" |
			tr -s ' ' | sed 's/^ //')" "$percent 1G/$percent 1G 80G"
is "in the attempt's JSON" \
	"$(aiq --history --attempts --json "$id" | jq -c '.attempts[0] |
		[.gpu_util, (.gpu_busy_seconds / .gpu_known_seconds * 100 | round), .gpu_mem_mib]')" \
	"[$util,40,1024]"
like "in words" "$(aiq "$id")" "^ *GPU memory +1G of 80G \(1 %\)"
like "and its time" "$(aiq "$id")" "^ *GPU time +[0-9:]+ of [0-9:]+"
is "in --efficiency" "$(aiq --efficiency --json "$id" |
	jq -c '.efficiency[0].gpueff | if . then . * 100 | round / 100 else . end')" "$util"
like "as text" "$(aiq --efficiency -h -o gpueff "$id")" "^ *$percent *$"
like "in seff" "$(seff "$id")" "^$slurm"
like "its memory" "$(seff "$id")" "^GPU Memory Utilized: 1.00 GB of 80.00 GB"
is "in reports" "$(aiq --report --json | jq -c '.total |
	[(.gpueff * 100 | round), .gpu_busy_hours > 0, .idle_gpu_hours > .gpu_busy_hours,
	 .gpu_known_ratio > 0 and .gpu_known_ratio <= 1]')" "[40,true,true,true]"
ok "whose sums are those of the attempts" aictl accounting check

# --- GPUs that are idle --------------------------------------------------------

# QUEUE N: whether the queue has N jobs with idle GPUs
idle()
{
	aictl metrics | grep -qx "aisched_idle_gpu_jobs{queue=\"$1\"} $2"
}

id=$(submit -q told --mail-type IDLE_GPU --mail-user a@b.c -c 0.1 --mem 10M \
	--gpus-per-task 1 --wrap "$(at_gate e)")
wait_for is_seen "$id"
ok "a GPU that works is not idle" idle told 0
is "nor for any time" \
	"$(aiq --json -o gpu_idle_seconds "$id" | jq '.jobs[0].gpu_idle_seconds')" null
now "busy 0 0 4000" "busy 1 0 1024"
ok "one that does nothing is counted" wait_for idle told 1
like "and shown" "$(aiq "$id")" "^ *GPUs idle for +[0-9:]+"
is "in a column" "$(aiq -h -o gpu_idle_seconds "$id" | grep -c ':')" 1
ok "a mail is sent" wait_for grep -q '^Subject: .*GPUs idle for 00:' mails
fails "--no-idle-check where the queue does not allow it" 1 \
	"queue 'ended' does not allow --no-idle-check (idle_gpu_opt_out)" \
	aisub -q ended --no-idle-check -G 1 --wrap true
id2=$(sleeper -q ended -c 0.1 --mem 10M --gpus-per-task 1)
becomes "another queue ends such jobs" "$id2" CANCELLED
is "and says why" "$(field "$id2" reason)" IdleGpu
ok "it is counted no longer" idle ended 0
now "busy 0 90 4000" "busy 1 40 1024"
ok "one that works again is not idle" wait_for idle told 0
open_gate e
becomes "its job ends by itself" "$id" COMPLETED
is "one mail was sent for it" "$(grep -c '^Subject: ' mails)" 1
now "busy 0 0 4000" "busy 1 0 1024"
id=$(sleeper -q free --no-idle-check -c 0.1 --mem 10M --gpus-per-task 1)
wait_for is_seen "$id"
id2=$(sleeper -q free -c 0.1 --mem 10M --gpus-per-task 1)
becomes "a job whose GPU is idle is ended" "$id2" CANCELLED
is "one that may be idle runs on" "$(field "$id" state)" RUNNING
ok "and is not counted" idle free 0
aicancel "$id"
becomes "until it is cancelled" "$id" CANCELLED

# --- what was not measured is null ---------------------------------------------

# NAME JOB: tests that nothing is shown about the job's GPUs
unknown()
{
	is "$1" "$(json "$2" '[.gpu_util, .gpu_busy_seconds, .gpu_known_seconds,
		.gpu_mem_mib, .gpu_mem_total_mib] | unique | @csv')$(
		aiq --efficiency -h -o gpueff,gpumem "$2" | tr -s ' ' | sed 's/^ //')" "- -"
}

# JOB: whether its cgroup lists its processes
has_cgroup()
{
	grep -q "/$1[.]1-" "/proc/$(cat "pid-$1")/cgroup"
}

now "busy 0 99 70000" "busy 1 99 70000"
id=$(submit -c 0.1 --mem 10M --gpus-per-task 0.5 \
	--wrap "echo \$\$ >pid-\$SLURM_JOB_ID; $(at_gate b)")
wait_for test -s "pid-$id"
if has_cgroup "$id"; then
	now "process 0 $(cat "pid-$id") 20 1024" "process 0 1 60 9000" "process 1 1 7 7" \
		"process 1 $(cat "pid-$id") 20 1024"
	wait_for is_busy "$id"
	open_gate b
	becomes "a job with a half of a GPU" "$id" COMPLETED
	like "used a part of its half" "$(json "$id" '[.gpu_mem_mib, .gpu_mem_total_mib,
		(.gpu_known_seconds <= .held_gpu_seconds),
		(.gpu_busy_seconds > 0 and .gpu_busy_seconds <= 0.4 * .gpu_known_seconds + 0.002)] | @csv')" \
		"^1024,40960,true,true$"
else
	wait_for has_run "$id" 2500
	open_gate b
	becomes "a job with a half of a GPU, without a cgroup" "$id" COMPLETED
	unknown "has no use of its own" "$id"
fi

now "hang now"
id=$(submit -c 0.1 --mem 10M --gpus-per-task 1 --wrap "$(at_gate c)")
wait_for has_run "$id" 2500
open_gate c
becomes "a job whose driver hangs" "$id" COMPLETED
unknown "loses its numbers only" "$id"

now "busy 0 900 4000" "busy 1 900 90000"
id=$(submit -c 0.1 --mem 10M --gpus-per-task 1 --wrap "$(at_gate d)")
wait_for has_run "$id" 2500
open_gate d
becomes "a job whose driver lies" "$id" COMPLETED
unknown "is not believed" "$id"

id=$(submit -c 0.1 --mem 10M --wrap true)
becomes "a job without GPUs" "$id" COMPLETED
unknown "has none" "$id"
unlike "seff says nothing of them" "$(seff "$id")" GPU
done_testing

#!/bin/sh
# The plan and the pods of jobs agree: a real kubelet, containerd and DRA driver
# run random requests, whose pods write what they see. While they run, this is
# compared with aictl dump and aiq; from the times at which they began and ended
# follows that no GPU is given twice. AGREE_SEED repeats the requests of an
# earlier run, AGREE_REQUESTS is how many they are.
#
# The driver does not say where its GPUs are, so the section of the node does.
# The kubelet binds no CPUs.
# shellcheck disable=SC2016 # pods expand their own variables

. "$top_srcdir/tests/e2e/lib.sh"
. "$top_srcdir/tests/kube/control_plane.sh"
. "$top_srcdir/tests/kube/node.sh"

node_or_skip

: "${AGREE_SEED:=$(date +%s)}" "${AGREE_REQUESTS:=200}"
# How many jobs there are at a time: more than run, so that some are evicted.
AT_ONCE=48
ns="jobs"
driver=gpu.example.com
work=$dir/pods

gpus_are_there()
{
	[ "$(aiq --nodes -h -o gpus,gpus_free | xargs)" = "12 12" ]
}

nothing_is_left()
{
	[ -z "$(kube -n "$ns" get resourceclaims,jobs,pods -o name)" ]
}

ok "a control plane starts" kube_start || bail "there is no control plane"
node_drive --num-devices 12 --gpu-allow-multiple-allocations
ok "with a node" node_start metal || bail "the node does not start"
kube taint node metal aisched.io/dedicated=true:NoSchedule >/dev/null
kube create namespace "$ns" >/dev/null
wait_for kube --namespace "$ns" get serviceaccount default
kube create -f - >/dev/null <<-END
	{"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass",
	"metadata": {"name": "$driver"}, "spec": {"selectors": [
		{"cel": {"expression": "device.driver == '$driver'"}}]}}
END
# Pods end at once when they are told; the grace is for a slow machine.
configure "
queue default { grace = \"30s\" }
pool gpu { runner = kubernetes  kubeconfig = \"$kube/admin.conf\"
	namespace = \"$ns\"  image = \"docker.io/local/box:1\"
	run_as_root = yes  allow_mounts = {\"$dir\"}
	device_driver = \"$driver\"  device_class = \"$driver\"
	gpu_sharing = capacity  cpu_overcommit = 4 }
node metal { pool = gpu  gpu_numa = {0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1}
	gpu_links = {0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2} }
scheduling { start_timeout = \"300s\"  resume_cooldown = \"0s\"
	max_evictions_per_hour = 60 }"
start_daemon || bail "aischedd does not start"
ok "the node has the GPUs that the driver lists" wait_for gpus_are_there

# --- what pods see ------------------------------------------------------------

# Files are named HOSTNAME.START, as an elastic job may start a task again. A
# pod ends when the test writes to its FIFO, or when it is told to.
mkdir "$work" "$work/said" "$work/ended" "$work/go"
cat >see <<'END'
#!/bin/sh
# Sets $now to the hundredths of seconds since the machine started.
look_at_clock()
{
	read -r now _ </proc/uptime
	now=${now%.*}${now#*.}
}

# FILE FILE_OF_V2: sets $value to a limit of the container
limit()
{
	value=-
	for file in "$1" "$2"; do
		[ ! -r "/sys/fs/cgroup/$file" ] ||
			read -r value _ <"/sys/fs/cgroup/$file"
	done
}

ended()
{
	[ -e "$work/said/$name" ] || exit
	look_at_clock
	echo "$now" >"$work/ended.$name"
	mv "$work/ended.$name" "$work/ended/$name"
	exit
}

look_at_clock
name=$HOSTNAME.$now
trap ended TERM
mkfifo "$work/go/$name"
exec 3<>"$work/go/$name"
line="start=$now job=$AISCHED_JOB_ID array=$AISCHED_ARRAY_JOB_ID"
line="$line index=$AISCHED_ARRAY_TASK_ID rank=$AISCHED_PROCID"
line="$line tasks=$AISCHED_NTASKS restarts=$AISCHED_RESTART_COUNT"
gpus=
for i in 0 1 2 3 4 5 6 7 8 9 10 11; do
	eval "gpu=\$GPU_DEVICE_$i has=\$GPU_DEVICE_${i}_MEMORY"
	eval "has=$has/\$GPU_DEVICE_${i}_COMPUTE"
	[ -z "$gpu" ] || gpus="$gpus${gpus:+,}$gpu:$has"
done
line="$line gpus=$gpus numa=$AISCHED_NUMA_NODES uuids=$AISCHED_GPU_UUIDS"
line="$line cuda=$CUDA_VISIBLE_DEVICES"
line="$line node=$AISCHEDD_NODENAME,$SLURMD_NODENAME"
line="$line counts=$AISCHED_NNODES,$AISCHED_CPUS_ON_NODE,$AISCHED_GPUS_ON_NODE"
limit memory/memory.limit_in_bytes memory.max
line="$line mem=$value"
limit cpu/cpu.cfs_quota_us cpu.max
line="$line quota=$value"
limit cpu/cpu.shares -
echo "$line shares=$value" >"$work/said.$name"
mv "$work/said.$name" "$work/said/$name"
# A signal that comes just before a read does not end it; it ends wait.
read -r _ <&3 &
wait "$!"
ended
END

# SEED: prints random requests, one a line
requests()
{
	awk -v seed="$1" -v n=$((3 * AGREE_REQUESTS)) '
	function pick(words,    k, of) {
		k = split(words, of, " ")
		seed = seed * 16807 % 2147483647
		return of[int(seed / 65536) % k + 1]
	}
	function add(before, word) {
		if (word != "-")
			line = line " " before word
	}
	BEGIN {
		seed = seed % 2147483646 + 1
		while (n--) {
			line = ""
			add("", pick("- - - - - - - - - -n2 -n3 -n4 -a0-1 -a5-7 " \
				"-n4,--min-tasks=1 -n3,--min-tasks=2"))
			add("-c ", pick("0.05 0.05 0.1 0.1 0.15 0.2 0.25 0.5 " \
				"0.5 1 1.5"))
			add("--mem-per-task ", pick("16M 16M 20M 24M 33M 40M"))
			add("--gpus-per-task=", pick("- - 1 1 1 1 2 2 3 4 0.25 " \
				"0.5 0.1"))
			if (line !~ /gpus/)
				add("--gpu-memory=", pick("- - 20G 30G"))
			add("--numa=", pick("- - - strict prefer tight"))
			add("--links=", pick("- - - strict any"))
			add("--class=", pick("- - - - - - - - - interactive"))
			gsub(/,/, " ", line)
			print line
		}
	}'
}

# --- requests -----------------------------------------------------------------

# JOBS: submits requests until there are AT_ONCE instead of JOBS, or
# AGREE_REQUESTS have been accepted
submit_some()
{
	at_once=$1
	while [ "$accepted" -lt "$AGREE_REQUESTS" ] &&
		[ "$at_once" -lt "$AT_ONCE" ] && read -r request <&4; do
		# shellcheck disable=SC2086 # options
		aisub --mount "$work" --export "work=$work" $request see \
			>/dev/null 2>>"$dir/refused" || continue
		accepted=$((accepted + 1))
		at_once=$((at_once + 1))
		case $request in
		'-a0-1 '*) jobs=$((jobs + 2)) ;;
		'-a5-7 '*) jobs=$((jobs + 3)) ;;
		*) jobs=$((jobs + 1)) ;;
		esac
	done
}

# Prints a line for each job that runs: "JOB ATTEMPT TASKS RESTARTS CPUS MEMORY
# ARRAY INDEX", with CPUs in thousandths.
running()
{
	aiq --json -t R | jq -r '.jobs[] | [.job_id, .attempt, .running_tasks,
		.restarts + .preemptions, (.resources.cpus * 1000 | round),
		.resources.memory_mib, .array_job_id // "",
		.array_task_id // ""] | map("\(.)") | join("\t")'
}

# Moves the files of pods that have ended to $dir/done.
put_away()
{
	for file in "$work"/ended/*; do
		[ -f "$file" ] || return
		name=${file##*/}
		mv "$work/said/$name" "$dir/done/$name"
		mv "$file" "$dir/done/$name.end"
		rm -f "$work/go/$name"
	done
}

# NAME...: makes these pods end
let_go()
{
	for name; do
		[ -p "$work/go/$name" ] || continue
		echo | dd of="$work/go/$name" oflag=nonblock 2>/dev/null
		rm "$work/go/$name"
	done
}

# FILE...: compares the jobs of which all pods have written one, and does what
# kube_agree.awk says
compare()
{
	running >"$dir/before"
	aictl dump >"$dir/plans"
	aiq -h -t R -o job_id,devices | sed 's/^ *//' >"$dir/says"
	running >"$dir/after"
	awk -v dir="$dir" -v seed="$AGREE_SEED" \
		-f "$top_srcdir/tests/e2e/kube_agree.awk" \
		"$dir/compared" "$dir/before" "$dir/plans" "$dir/says" \
		"$dir/after" "$@" >"$dir/acts"
	while read -r act job attempt pods; do
		# shellcheck disable=SC2086 # names of pods
		case $act in
		go)
			let_go $pods
			continue
			;;
		end) let_go $pods ;;
		cancel) aicancel "$job" ;;
		requeue) aictl requeue "$job" ;;
		esac
		echo "$job $attempt $act" >>"$dir/compared"
	done <"$dir/acts"
}

# Compares jobs if something has changed, and submits more. Whether all requests
# have been submitted and no job is left.
compare_all()
{
	put_away
	set -- "$work"/said/*
	[ -e "$1" ] || set --
	left=$(aiq -h -o job_id,state,attempt,running_tasks) || return
	if [ "$left $*" != "$seen" ]; then
		seen="$left $*"
		[ $# -eq 0 ] || compare "$@"
		[ "$accepted" -eq "$AGREE_REQUESTS" ] || {
			submit_some "$(echo "$left" | grep -c .)"
			return 1
		}
	fi
	[ "$accepted" -eq "$AGREE_REQUESTS" ] && [ -z "$left" ]
}

diag "AGREE_SEED=$AGREE_SEED"
accepted=0 jobs=0 seen=
mkdir "$dir/done"
: >"$dir/compared"
: >"$dir/differ"
requests "$AGREE_SEED" >asked
exec 4<asked
deadline_s=1000
ok "$AGREE_REQUESTS random requests run" wait_for compare_all
exec 4<&-
deadline_s=60
is "others are refused because of what they ask for" "$(grep -vE \
	'of one NUMA node|in one link group|even if all nodes are empty' \
	"$dir/refused")" ""
is "all of their jobs are compared" \
	"$(cut -d ' ' -f 1 "$dir/compared" | sort -u | wc -l)" "$jobs"
is "their pods saw what was planned" "$(head -n 20 "$dir/differ")" ""
ok "no claim is left, nor a pod" wait_for nothing_is_left
put_away
# The first process of a container does not hear SIGTERM before it has a trap.
# So a pod that is evicted while it starts may be killed after its grace.
is "each pod that was compared has said that it ended" "$(
	find "$work/said" -type f -printf '%f\n' | awk -F '[-.]' '
		NR == FNR { split($0, at, " "); compared[at[1], at[2]]; next }
		($3, $4) in compared' "$dir/compared" -)" ""

# --- how long they had their GPUs ---------------------------------------------

# Prints "TIME CHANGE GPU MEMORY POD" for the begin and the end of each part of
# a GPU; at equal times the ends first.
stamps()
{
	for file in "$dir"/done/*.end; do
		read -r end <"$file"
		echo "end=$end ${file##*/} $(cat "${file%.end}")"
	done | awk '{
		split($1, end, "=")
		split($3, start, "=")
		gpus = $0
		sub(/.* gpus=/, "", gpus)
		sub(/ .*/, "", gpus)
		n = split(gpus, gpu, ",")
		for (i = 1; i <= n; i++) {
			split(gpu[i], of, /[:\/]/)
			print end[2], "-", of[1], of[2] + 0, $2
			print start[2], "+", of[1], of[2] + 0, $2
		}
	}' | sort -k 1,1n -k 2,2r
}

stamps >"$dir/times"
is "no GPU was given twice, nor more than all of its memory" "$(awk '
	$2 == "-" { has[$3] -= $4; next }
	(has[$3] += $4) > 80 { print "too much of " $3 ": " has[$3] " at " $0 }
	' "$dir/times")" ""

# NAME PATTERN [FILE]: tests that something matches in what pods said, or FILE
some()
{
	ok "$1" sh -c 'cat "$@" | grep -qE "$0"' "$2" "${3-$dir/times}"
}

some "some had whole GPUs" ' \+ gpu-[0-9]+ 80 '
some "some had parts" ' \+ gpu-[0-9]+ (20|40) '
some "some were requeued" ' requeue$' "$dir/compared"
some "some were cancelled" ' cancel$' "$dir/compared"
pods=$(find "$dir/done" -name '*.end' | wc -l)
starts=$(find "$dir/done" -name '*.end' |
	sed 's/.*-\([0-9]*-[0-9]*\)-[0-9]*\.[0-9]*\.end/\1/' | sort -u | wc -l)
requeued=$(grep -c ' requeue$' "$dir/compared")
diag "$jobs jobs in $pods pods; $requeued were requeued and" \
	"$((starts - jobs - requeued)) evicted; $(wc -l <"$dir/refused") more" \
	"requests were refused"

done_testing

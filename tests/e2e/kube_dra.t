#!/bin/sh
# GPUs of a real driver: dra-example-driver lists devices, the kubelet has it
# prepare the ResourceClaims, and containerd gives each container the devices
# that aischedd chose.

. "$top_srcdir/tests/e2e/lib.sh"
. "$top_srcdir/tests/kube/control_plane.sh"
. "$top_srcdir/tests/kube/node.sh"

node_or_skip

ns="jobs"
work=$dir/seen
driver=gpu.example.com

# GPUS FREE: whether aiq shows these numbers of the node. A GPU that the driver no
# longer lists keeps its number, but is not free.
gpus_are()
{
	[ "$(aiq --nodes -h -o gpus,gpus_free | tr -s ' ')" = "$1 $2" ]
}

# JOB: prints the devices of its claims
given()
{
	kube -n "$ns" get resourceclaims -l "aisched.io/job-id=$1" -o \
		'jsonpath={range .items[*].status.allocation.devices.results[*]}{.device}{"\n"}{end}' |
		sort | tr '\n' ' '
}

# FILE...: prints the devices whose names are in the files, which tasks wrote
seen()
{
	sort "$@" | tr '\n' ' '
}

# FILE...: whether tasks have written all of these
written()
{
	for file; do
		[ -f "$file" ] || return 1
	done
}

nothing_is_left()
{
	[ -z "$(kube -n "$ns" get resourceclaims,jobs,pods -o name)" ]
}

# START_TIMEOUT [KEY=VALUE]: writes the configuration
configure_for()
{
	configure "
queue default { grace = \"1s\" }
pool gpu { runner = kubernetes  kubeconfig = \"$kube/admin.conf\"
	namespace = \"$ns\"  image = \"docker.io/local/box:1\"
	run_as_root = yes  allow_mounts = {\"$dir\"}
	device_driver = \"$driver\"  device_class = \"$driver\" ${2-} }
scheduling { start_timeout = \"$1\" }"
}

# [WORD]...: submits a job whose tasks write the names of their devices to
# $work/JOB.TASK, and end when $work/go exists
sub()
{
	# shellcheck disable=SC2016 # the task expands it
	aisub --parsable --cpus-per-task 0.1 --mem-per-task 16M --mount "$work" \
		--export "work=$work" "$@" --wrap '
			out=$work/$AISCHED_JOB_ID.$AISCHED_PROCID
			env | sed -n "s/^GPU_DEVICE_[0-9]*=//p" >$out.new
			env | sed -n "s/^GPU_DEVICE_[0-9]*_MEMORY=//p" \
				>$out.memory
			cd /sys/fs/cgroup
			read -r mem <memory.max || read -r mem \
				<memory/memory.limit_in_bytes
			read -r cpu _ <cpu.max || read -r cpu \
				<cpu/cpu.cfs_quota_us
			echo "cpu=$cpu memory=$mem" >$out.limits
			mv $out.new $out
			until [ -f $work/go ] || [ -f $out.go ]; do
				sleep 0.2
			done'
}

ok "a control plane starts" kube_start || bail "there is no control plane"
node_drive --num-devices 4
ok "with a node" node_start metal || bail "the node does not start"
kube taint node metal aisched.io/dedicated=true:NoSchedule >/dev/null
kube create namespace "$ns" >/dev/null
wait_for kube --namespace "$ns" get serviceaccount default
mkdir -m 1777 "$work"
kube create -f - >/dev/null <<-END
	{"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass",
	"metadata": {"name": "$driver"}, "spec": {"selectors": [
		{"cel": {"expression": "device.driver == '$driver'"}}]}}
END
configure_for 120s
start_daemon || bail "aischedd does not start"
ok "the node has the GPUs that the driver lists" wait_for gpus_are 4 4

# --- what the tasks see -------------------------------------------------------

id=$(sub --gpus-per-task 1)
ok "a job gets a GPU" wait_for written "$work/$id.0"
like "one" "$(given "$id")" '^gpu-[0-3] $'
is "which is what it sees" "$(seen "$work/$id.0")" "$(given "$id")"
none=$(sub)
ok "a job without GPUs" wait_for written "$work/$none.0"
is "sees none" "$(cat "$work/$none.0")" ""
gang=$(sub -n 3 --gpus-per-task 1)
ok "each task of a gang gets one" \
	wait_for written "$work/$gang.0" "$work/$gang.1" "$work/$gang.2"
is "the tasks see those of their claims" \
	"$(seen "$work/$gang.0" "$work/$gang.1" "$work/$gang.2")" \
	"$(given "$gang")"
is "each that of its request" "$(for i in 0 1 2; do
	echo "gpus-$i=$(cat "$work/$gang.$i")"
done)" "$(kube -n "$ns" get resourceclaims -l "aisched.io/job-id=$gang" -o \
	'jsonpath={range .items[*].status.allocation.devices.results[*]}{.request}={.device}{"\n"}{end}')"
is "no GPU is given twice" "$(seen "$work/$id.0" "$work/$gang".?)" \
	"gpu-0 gpu-1 gpu-2 gpu-3 "
next=$(sub --gpus-per-task 2)
is "another job waits" "$(state_of "$next")" PENDING
aicancel "$gang"
ok "until the gang has gone" wait_for written "$work/$next.0"
is "it sees what it was given" "$(seen "$work/$next.0")" "$(given "$next")"
aicancel --wait "$id" "$none" "$next"
ok "nothing is left" wait_for nothing_is_left

# --- many jobs ----------------------------------------------------------------

# Submit jobs of one or two tasks with unlike CPUs, memory and GPUs. Compare what
# their tasks see with their claims, and with what aiq says.

# WORD...: sets $one to one of these
choose()
{
	seed=$(((seed * 16807) % 2147483647))
	shift $((seed / 65536 % $#))
	one=$1
}

: "${AGREE_SEED:=$(date +%s)}"
seed=$((AGREE_SEED % 2147483646 + 1))
diag "AGREE_SEED=$AGREE_SEED"
jobs=
for _ in $(seq 20); do
	choose "-n 1" "-n 1" "-n 2"
	request=$one
	choose 0.1 0.15 0.2 0.3
	request="$request -c $one"
	choose 16M 24M 40M
	request="$request --mem-per-task $one"
	choose 0 1 1 2
	# shellcheck disable=SC2086 # options
	jobs="$jobs $(sub $request --gpus-per-task "$one")"
done

# JOB: prints what its tasks should see: their limits, and GPUs
planned()
{
	given "$1"
	aiq --json "$1" | jq -r '.jobs[0] | range(.tasks) as $i | .resources |
		"cpu=\(.cpus * 100000) memory=\(.memory_mib * 1048576)"'
}

# JOB: whether all of its tasks have written what they see
all_written()
{
	for i in $(seq 0 $(($(aiq -h -o tasks "$1") - 1))); do
		[ -f "$work/$1.$i" ] || return 1
	done
}

# Compares the devices and limits of jobs that run, and lets them end. Whether
# all did.
compare_all()
{
	rest=
	for job in $jobs; do
		if ! all_written "$job"; then
			rest="$rest $job"
			continue
		fi
		sees=$(seen "$work/$job".[01]
			cat "$work/$job".[01].limits)
		[ "$sees" = "$(planned "$job")" ] ||
			echo "$job: $sees, $(planned "$job")"
		: >"$work/$job.0.go"
		: >"$work/$job.1.go"
	done >>"$dir/differ"
	jobs=$rest
	[ -z "$jobs" ]
}
deadline_s=300
ok "20 jobs run" wait_for compare_all
deadline_s=120
is "all with the limits of their plans and the GPUs of their claims" \
	"$(cat "$dir/differ")" ""
ok "no claim is left" wait_for nothing_is_left

# --- the driver ---------------------------------------------------------------

id=$(sub --gpus-per-task 3)
ok "a job has three GPUs" wait_for written "$work/$id.0"
has=$(given "$id")
ok "the driver is killed" node_driver_signal KILL
other=$(sub --gpus-per-task 1)
ok "it is back: another job gets the last one" \
	wait_for written "$work/$other.0"
is "all four are given once" "$(seen "$work/$id.0" "$work/$other.0")" \
	"gpu-0 gpu-1 gpu-2 gpu-3 "
is "the first job still has its own" "$(given "$id")" "$has"
is "and runs" "$(state_of "$id")" RUNNING
aicancel --wait "$other"

# Whether the pod of the job is being deleted.
taken_back()
{
	[ -n "$(kube -n "$ns" get pods -l "aisched.io/job-id=$late" -o \
		'jsonpath={.items[*].metadata.deletionTimestamp}')" ]
}

configure_for 5s
aictl reload >/dev/null
ok "the driver hangs" node_driver_signal STOP
late=$(sub --gpus-per-task 1)
ok "a job that does not start in time is taken back" wait_for taken_back
configure_for 120s
aictl reload >/dev/null
ok "the driver goes on" node_driver_signal CONT
ok "the job starts anew" wait_for is_state "$late" RUNNING
wait_for written "$work/$late.0"
is "with the GPU that is left" "$(seen "$work/$id.0" "$work/$late.0")" \
	"gpu-0 gpu-1 gpu-2 gpu-3 "
ok "the first start is in the log" grep -q \
	"job start_failed job=$late .*1 of 1 pods did not run within 5 s" \
	"$dir/log"
aicancel --wait "$late"

node_drive --num-devices 2
ok "the driver comes back with two GPUs" node_driver_signal KILL
ok "the last one is not free, although no job has it" wait_for gpus_are 4 0
is "the job goes on with those that it has" "$(state_of "$id")" RUNNING
aicancel --wait "$id"
ok "two are free when it has ended" wait_for gpus_are 4 2

node_drive --num-devices 2 --gpu-allow-multiple-allocations
ok "the driver lists GPUs that several pods may share" \
	node_driver_signal KILL
ok "they are not given to jobs" wait_for gpus_are 4 0
ok "which is told" wait_for status_has "shows only GPUs that pods may share"

# --- parts of GPUs ------------------------------------------------------------

stop_daemon
configure_for 120s "gpu_sharing = capacity"
start_daemon
ok "a daemon that shares GPUs gives them to jobs" wait_for gpus_are 2 2
node_drive --num-devices 1 --gpu-allow-multiple-allocations
ok "the driver comes back with one" node_driver_signal KILL
ok "which is left" wait_for gpus_are 2 1
id=$(sub --gpus-per-task 0.5)
next=$(sub --gpu-memory 40G)
ok "two halves run at once" wait_for written "$work/$id.0" "$work/$next.0"
is "both on the GPU" "$(seen "$work/$id.0" "$work/$next.0")" "gpu-0 gpu-0 "
is "each sees half of its memory" \
	"$(seen "$work/$id.0.memory" "$work/$next.0.memory")" "40Gi 40Gi "
third=$(sub --gpus-per-task 0.1)
whole=$(sub --gpus-per-task 1)
is "a third part waits" "$(state_of "$third")" PENDING
is "and a whole GPU" "$(state_of "$whole")" PENDING
: >"$work/$id.0.go"
ok "one half has ended: the third part runs" wait_for written "$work/$third.0"
is "with its memory" "$(cat "$work/$third.0.memory")" 8Gi
is "the whole GPU still waits" "$(state_of "$whole")" PENDING
aicancel --wait "$next" "$third"
ok "until no part is left" wait_for written "$work/$whole.0"
is "it sees all of the memory" "$(cat "$work/$whole.0.memory")" 80Gi
aicancel --wait "$whole"
gang=$(sub -n 4 --gpus-per-task 0.25)
ok "a gang shares it" wait_for written "$work/$gang.0" "$work/$gang.1" \
	"$work/$gang.2" "$work/$gang.3"
is "each task has a quarter" "$(seen "$work/$gang".?.memory)" \
	"20Gi 20Gi 20Gi 20Gi "
aicancel --wait "$gang"
ok "no part of it is left" wait_for nothing_is_left

# --- one claim for all parts of a GPU -------------------------------------------

stop_daemon
configure_for 120s "gpu_sharing = claims"
start_daemon
node_drive --num-devices 1
ok "the driver comes back with a GPU that claims do not share" \
	node_driver_signal KILL
ok "tasks may" wait_for gpus_are 1 1
id=$(sub --gpus-per-task 0.5)
ok "one has half of it" wait_for written "$work/$id.0"
gang=$(sub -n 2 --gpus-per-task 0.25)
ok "two more get the rest" wait_for written "$work/$gang.0" "$work/$gang.1"
is "all see the same GPU" "$(seen "$work/$id.0" "$work/$gang".?)" \
	"gpu-0 gpu-0 gpu-0 "
aicancel --wait "$id" "$gang"
ok "nothing is left at the end" wait_for nothing_is_left

# --- devices that are no GPUs to the pool -----------------------------------------

# TEXT: whether aiq shows these numbers of devices, and of free ones
devices_are()
{
	[ "$(aiq --nodes -h -o devices,devices_free | xargs)" = "$1" ]
}

stop_daemon
configure "
queue default { grace = \"1s\" }
device card { class = \"$driver\" }
pool gpu { runner = kubernetes  kubeconfig = \"$kube/admin.conf\"
	namespace = \"$ns\"  image = \"docker.io/local/box:1\"
	run_as_root = yes  allow_mounts = {\"$dir\"} }
scheduling { start_timeout = \"120s\" }"
start_daemon
node_drive --num-devices 4
ok "the driver comes back with devices of a kind" node_driver_signal KILL
ok "the node has them" wait_for devices_are "card:4 card:4"
id=$(sub --device card:2)
ok "a job gets two" wait_for written "$work/$id.0"
is "which it sees" "$(seen "$work/$id.0")" "$(given "$id")"
like "as aiq says" "$(aiq "$id")" "card gpu-[0-3],gpu-[0-3]"
gang=$(sub -n 2 --device card)
ok "each task of a gang gets one" wait_for written "$work/$gang.0" \
	"$work/$gang.1"
is "the tasks see those of their claims" \
	"$(seen "$work/$gang.0" "$work/$gang.1")" "$(given "$gang")"
is "no device is given twice" "$(seen "$work/$id.0" "$work/$gang".?)" \
	"gpu-0 gpu-1 gpu-2 gpu-3 "
next=$(sub --device card)
is "another job waits for one" "$(state_of "$next")" PENDING
aicancel "$id"
ok "until one is free" wait_for written "$work/$next.0"
is "it sees what it got" "$(seen "$work/$next.0")" "$(given "$next")"
aicancel --wait "$gang" "$next"
ok "no device is left taken" wait_for nothing_is_left

done_testing

#!/bin/sh
# The plan and the processes of jobs agree on this machine. Random jobs print
# what they see: CPUs, NUMA policy, GPUs, and the limits of their cgroup. While
# they run, this is compared with aictl dump, and what aiq says with what they
# see. AGREE_SEED repeats the random requests of an earlier run.
#
# hwloc is told of two NUMA nodes with half of the CPUs each. CPUs are bound as
# planned; memory can only be bound to those of the NUMA nodes that exist.
# shellcheck disable=SC2016 # awk and jobs expand their own variables

. "$top_srcdir/tests/e2e/jobs.sh"

JOBS=200
: "${AGREE_SEED:=$(date +%s)}"

# KEY: prints its value in the status of this process
status_of()
{
	sed -n "s/^$1:[[:space:]]*//p" /proc/self/status
}

# CONTROLLER: whether the daemon can make cgroups with it
can_limit()
{
	own=$(sed -n 's/^0:://p' /proc/self/cgroup)
	for base in /sys/fs/cgroup /sys/fs/cgroup"$own"; do
		[ -w "$base/aisched" ] &&
			grep -qsw "$1" "$base/aisched/cgroup.subtree_control" &&
			return
	done
	own=$(sed -n "s/^[0-9]*:\([^:]*,\)*$1\(,[^:]*\)*://p" /proc/self/cgroup)
	[ -w "/sys/fs/cgroup/$1$own/aisched" ]
}

# --- a machine --------------------------------------------------------------------

stop_daemon
last=$(status_of Cpus_allowed_list | sed 's/.*[-,]//')
half=$((last / 2 + 1))
HWLOC_SYNTHETIC="numa:2(memory=16GB) core:$half pu:1"
LD_LIBRARY_PATH=$top_builddir/tests/gpu${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
NVML_FILE=$PWD/gpus
export HWLOC_SYNTHETIC LD_LIBRARY_PATH NVML_FILE
name='NVIDIA H100 80GB HBM3'
cat >gpus <<END
gpu GPU-0000 0 00000000:3B:00.0 81559 0 $name
gpu GPU-0001 1 00000000:5E:00.0 81559 0 $name
gpu GPU-0002 2 00000000:86:00.0 81559 0 $name
gpu GPU-0003 3 00000000:AF:00.0 81559 0 $name
gpu GPU-0004 4 00000000:D8:00.0 81559 1 $name
instance 4 MIG-0000 1 0 4 40448 $name MIG 3g.40gb
instance 4 MIG-0004 2 4 2 20224 $name MIG 2g.20gb
instance 4 MIG-0006 3 6 1 10112 $name MIG 1g.10gb
END
configure "
queue default { grace = \"1s\" }
pool here { runner = local }
node \"$(uname -n)\" { pool = here  memory = \"4G\"
	gpu_numa = {0, 0, 1, 1, 1}  gpu_links = {0, 0, 1, 1, 2} }
scheduling { consolidate = no }"
start_daemon || bail "aischedd does not start"
is "the machine has its GPUs" "$(aiq --nodes -h -o gpus | tr -d ' ')" 5
limits=
for controller in memory cpu cpuset; do
	if can_limit $controller; then
		limits="$limits $controller"
	else
		diag "there are no cgroups with $controller: not compared"
	fi
done

# --- what jobs see ----------------------------------------------------------------

cat >see.sh <<'END'
#!/bin/sh
# CONTROLLER FILE FILE_OF_V2: sets $value to the limit of the job's cgroup, or -
limit()
{
	value=-
	while IFS=: read -r _ names path; do
		case $path,$names, in
		*/aisched/*,"$1",*|*/aisched/*,*,"$1",*)
			file=/sys/fs/cgroup/$1$path/$2 ;;
		*/aisched/*,,) file=/sys/fs/cgroup$path/$3 ;;
		*) continue ;;
		esac
		[ ! -r "$file" ] || read -r value _ <"$file"
	done </proc/self/cgroup
	case $value in '' | -1 | max) value=- ;; esac
}

while read -r key value; do
	[ "$key" != Cpus_allowed_list: ] || cpus=$value
done </proc/self/status
read -r _ policy more _ </proc/self/numa_maps
[ "$policy" != prefer ] || policy="prefer$more"
limit memory memory.limit_in_bytes memory.max
mem=$value
limit cpu cpu.cfs_quota_us cpu.max
quota=$value
limit cpuset cpuset.cpus cpuset.cpus
echo "$AISCHED_PROCID cpus=$cpus numa=$AISCHED_NUMA_NODES policy=$policy" \
	"gpus=$CUDA_VISIBLE_DEVICES uuids=$AISCHED_GPU_UUIDS mem=$mem" \
	"quota=$quota set=$value"
exec sleep 1000
END

# SEED: prints random requests, one a line
requests()
{
	awk -v seed="$1" -v n=$((2 * JOBS)) '
	function pick(words,    k, of) {
		k = split(words, of, " ")
		seed = seed * 16807 % 2147483647
		return of[int(seed / 65536) % k + 1]
	}
	BEGIN {
		seed = seed % 2147483646 + 1
		while (n--) {
			line = "-n " pick("1 1 1 2 3") " -c " \
				pick("0.1 0.1 0.25 0.5 0.5 1 1 2 1.5") \
				" --mem-per-task " pick("8M 16M 33M 64M")
			line = line " " pick("- - --gpus-per-task=1 " \
				"--gpus-per-task=1 --gpus-per-task=2 " \
				"--gpus-per-task=3 --gpus-per-task=0.25 " \
				"--gpus-per-task=0.5 --gpu-memory=20G " \
				"--gpus-per-task=3g.40gb:1 " \
				"--gpus-per-task=2g.20gb:1 " \
				"--gpus-per-task=1g.10gb:1")
			line = line " " pick("- - --numa=strict " \
				"--numa=strict --numa=prefer --numa=tight")
			line = line " " pick("- - --links=strict --links=any")
			gsub(/ -( |$)/, " ", line)
			gsub(/ -( |$)/, " ", line)
			print line
		}
	}'
}

# Compares jobs that have said all, and ends them. Whether that were the last.
compare_some()
{
	set -- slurm-*.out
	[ -e "$1" ] || return 1
	aictl dump >plans
	aiq -h -o job_id,devices | sed 's/^ *//' >says
	awk -v dir="$dir" -v limits="$limits" -v half="$half" \
		-v allowed="$(status_of Cpus_allowed_list)" \
		-v mems="$(status_of Mems_allowed_list)" \
		-f "$top_srcdir/tests/e2e/agree.awk" plans says "$@" >same
	[ -s same ] || return 1
	while read -r job; do
		compared=$((compared + 1))
		mv "slurm-$job.out" "seen.$job"
	done <same
	xargs aicancel <same
	[ "$compared" -eq "$JOBS" ]
}

diag "AGREE_SEED=$AGREE_SEED"
compared=0 accepted=0 refused=0
requests "$AGREE_SEED" >asked
exec 3<asked
while [ "$accepted" -lt "$JOBS" ] && read -r request <&3; do
	# shellcheck disable=SC2086 # options
	if aisub --parsable $request see.sh >/dev/null 2>>refused; then
		accepted=$((accepted + 1))
	else
		refused=$((refused + 1))
	fi
done
exec 3<&-
is "$JOBS random jobs are queued" "$accepted" "$JOBS"
is "others are refused because of what they ask for" \
	"$(grep -cvE 'of one NUMA node|in one link group|even if all nodes are empty' refused)" 0
deadline_s=300
ok "all of them run" wait_for compare_some
is "and see what was planned" "$(head -n 20 "$dir/differ" 2>/dev/null)" ""

# NAME PATTERN: tests that some task saw what matches
some()
{
	ok "$1" grep -qE "$2" seen.*
}

some "some have whole GPUs, of which CUDA is told" " gpus=[0-9],[0-9] uuids=GPU"
some "some have a MIG instance" " gpus=MIG-000[046] "
for controller in $limits; do
	case $controller in
	memory) some "memory is limited" " mem=[0-9]+ " ;;
	cpu) some "and CPU time" " quota=[0-9]+ " ;;
	cpuset) some "and CPUs" " set=[0-9]" ;;
	esac
done
diag "$refused more requests were refused"

done_testing

#!/bin/sh
# NUMA nodes of a real kubelet that chooses CPUs and GPUs of pods together: it
# grants what the plan predicts, and a pod that it refuses is a failed start of
# the node, not of the job. The test writes the NodeResourceTopology in place of
# an agent.

. "$top_srcdir/tests/e2e/lib.sh"
. "$top_srcdir/tests/kube/control_plane.sh"
. "$top_srcdir/tests/kube/node.sh"

node_or_skip
cpus=$(getconf _NPROCESSORS_ONLN)
[ "$cpus" -ge 2 ] || skip_all "one CPU is in one NUMA node"

ns="jobs"
work=$dir/seen
half=$((cpus - cpus / 2))
first=$((cpus / 2))

# NUMBER CPUS GPUS: prints a zone
zone()
{
	zone_has='"name": "%s", "capacity": "%s", "allocatable": "%s",
		"available": "%s"'
	# shellcheck disable=SC2059 # a format
	printf "{\"name\": \"node-$1\", \"type\": \"Node\", \"resources\": [
		{$zone_has}, {$zone_has}]}" cpu "$2" "$2" "$2" \
		nvidia.com/gpu "$3" "$3" "$3"
}

# ZONES: says what the agent of the node publishes
publish()
{
	kube apply --server-side --force-conflicts -f - >/dev/null <<-END
		{"apiVersion": "topology.node.k8s.io/v1alpha2",
		"kind": "NodeResourceTopology", "metadata": {"name": "metal"},
		"attributes": [{"name": "topologyManagerPolicy",
			"value": "single-numa-node"}], "zones": [$1]}
	END
}

# The first CPU is for the system.
publish_truth()
{
	publish "$(zone 0 $((first - 1)) 2), $(zone 1 "$half" 2)"
}

# OPTION...: submits a job that writes its CPUs and GPUs to $work/JOB, and ends
# when $work/go exists
sub()
{
	# shellcheck disable=SC2016 # the task expands it
	aisub --parsable --mem 16M --mount "$work" --export "work=$work" "$@" \
		--wrap '
			out=$work/$AISCHED_JOB_ID
			sed -n "s/^Cpus_allowed_list:[[:space:]]*//p" \
				/proc/self/status >$out.new
			echo "$GPUS" | tr "," "\n" | sort >>$out.new
			mv $out.new $out
			until [ -f $work/go ] || [ -f $out.go ]; do
				sleep 0.2
			done'
}

# JOB: prints its CPUs and its GPUs
seen()
{
	xargs <"$work/$1"
}

# JOB TEXT: whether TEXT is in the reason why it waits
waits_for()
{
	aiq --no-header -o reason_text "$1" | grep -qF -- "$2"
}

gpus_are_there()
{
	[ "$(kube get node metal -o \
		'jsonpath={.status.allocatable.nvidia\.com/gpu}')" = 4 ]
}

node_plug 4 single-numa-node || skip_all "no Go to build the device plugin"
ok "a control plane starts" kube_start || bail "there is no control plane"
ok "with a node" node_start metal || bail "the node does not start"
kube taint node metal aisched.io/dedicated=true:NoSchedule >/dev/null
kube create namespace "$ns" >/dev/null
wait_for kube --namespace "$ns" get serviceaccount default
ok "a plugin offers its GPUs" wait_for gpus_are_there
kube apply -f "$top_srcdir/tests/kube/noderesourcetopologies.yaml" >/dev/null
kube wait --for=condition=Established --timeout=60s \
	crd/noderesourcetopologies.topology.node.k8s.io >/dev/null
ok "an agent publishes NUMA nodes" publish_truth
mkdir -m 1777 "$work"
configure "
queue default { grace = \"1s\" }
pool gpu { runner = kubernetes  kubeconfig = \"$kube/admin.conf\"
	namespace = \"$ns\"  image = \"docker.io/local/box:1\"
	run_as_root = yes  allow_mounts = {\"$dir\"} }
scheduling { start_timeout = \"120s\" }"
start_daemon || bail "aischedd does not start"

# --- the kubelet grants what is predicted --------------------------------------

# Only NUMA node 1 has that many CPUs for pods.
last=$((cpus - 1))
[ "$first" -eq "$last" ] && theirs=$first || theirs=$first-$last
one=$(sub --gpus-per-task 2 --cpus-per-task "$half" --numa strict)
ok "a job demands a NUMA node" wait_for test -f "$work/$one"
is "and gets CPUs and GPUs of this one only" "$(seen "$one")" \
	"$theirs gpu-2 gpu-3"
two=$(sub --gpus-per-task 1 --cpus-per-task "$half" --numa strict)
ok "the next one waits for it" wait_for waits_for "$two" "for job $one"
touch "$work/$one.go"
ok "until the first ends" wait_for is_state "$one" COMPLETED
ok "then it runs" wait_for test -f "$work/$two"
like "there" "$(seen "$two")" "^$theirs gpu-[23]\$"
touch "$work/$two.go"
ok "and ends" wait_for is_state "$two" COMPLETED
fails "3 GPUs are in no NUMA node" 1 "NUMA" aisub --gpus-per-task 3 --wrap true

# --- the kubelet refuses what was not predicted ----------------------------------

publish "$(zone 0 0 0), $(zone 1 $((cpus - 1)) 4)"
three_fit()
{
	aisub --test-only --gpus-per-task 3 --wrap true
}
ok "an agent is wrong" wait_for three_fit
like "nothing was refused so far" "$(aictl status | grep 'starts refused')" \
	'starts refused *0 gpu'
three=$(sub --gpus-per-task 3 --numa strict)
ok "so the kubelet refuses a pod" wait_for status_has "starts refused 1 gpu"
is "which is no restart of the job" \
	"$(aiq "$three" -h -o restarts | xargs)" 0
ok "it waits for the node" wait_for waits_for "$three" TopologyAffinityError
four=$(sub --gpus-per-task 2 --numa strict)
ok "the node takes other jobs" wait_for test -f "$work/$four"
is "in a NUMA node" "$(seen "$four" | cut -d ' ' -f 2-)" "gpu-2 gpu-3"
publish_truth
ok "the agent is right again" wait_for eval "! three_fit"
touch "$work/go"
aicancel "$three"
ok "all end" wait_for is_state "$four" COMPLETED
done_testing

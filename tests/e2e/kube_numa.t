#!/bin/sh
# NUMA nodes of nodes with a device plugin, in a real control plane with simulated
# nodes: jobs demand them where the kubelet's policy lets no other pods run. The
# test writes the NodeResourceTopology objects in place of agents.

. "$top_srcdir/tests/e2e/lib.sh"
. "$top_srcdir/tests/kube/control_plane.sh"

ns="jobs"
k="kube --namespace $ns"

# NAME AMOUNT FREE: prints a resource of a zone
resource()
{
	echo "{\"name\": \"$1\", \"capacity\": \"$2\", \"allocatable\": \"$2\",
		\"available\": \"$3\"}"
}

# NUMBER CPUS MEMORY GPUS [FREE_CPUS FREE_GPUS]: prints a zone
zone()
{
	echo "{\"name\": \"node-$1\", \"type\": \"Node\", \"resources\": [
		$(resource cpu "$2" "${5-$2}"), $(resource memory "$3" "$3"),
		$(resource nvidia.com/gpu "$4" "${6-$4}")]}"
}

# NODE POLICY ZONES: says what the agent of a node publishes
publish()
{
	kube apply --server-side --force-conflicts -f - >/dev/null <<-END
		{"apiVersion": "topology.node.k8s.io/v1alpha2",
		"kind": "NodeResourceTopology", "metadata": {"name": "$1"},
		"attributes": [{"name": "topologyManagerPolicy",
			"value": "$2"}], "zones": [$3]}
	END
}

halves="$(zone 0 32 250Gi 2), $(zone 1 32 250Gi 2)"

# TEXT OPTION...: whether a job with these options is refused with TEXT
refused()
{
	refused_text=$1
	shift
	run aisub --test-only --gpus-per-task 1 "$@" --wrap true
	[ "$rc" -eq 1 ] && echo "$err" | grep -qF -- "$refused_text"
}

# OPTION...: whether a job with these options is taken
taken()
{
	aisub --test-only --gpus-per-task 1 "$@" --wrap true
}

# JOB: prints the QoS class of its pod, and its requests and limits of CPUs
pod_of()
{
	$k get pods -l "aisched.io/job-id=$1" -o json | jq -r '.items[0] |
		.status.qosClass, (.spec.containers[0].resources |
			.requests.cpu, .limits.cpu)' | xargs
}

# JOB: prints why it waits
reason()
{
	aiq --no-header -o reason_text "$1"
}

ok "a control plane starts" kube_start || bail "there is no control plane"
ok "with a node" eval "kwok_start && kube_nodes 1 n 4"
kube create namespace "$ns" >/dev/null
configure "
queue default { grace = \"1s\" }
pool gpu { runner = kubernetes  kubeconfig = \"$kube/admin.conf\"
	namespace = \"$ns\"  image = \"local/box:1\"  run_as_root = yes }"
start_daemon || bail "aischedd does not start"

# --- what a pool can enforce ---------------------------------------------------

unknown="(device plugin, topology manager unknown: no NodeResourceTopology \
for them): --numa strict cannot be had there"
ok "without NodeResourceTopology no NUMA node can be demanded" \
	wait_for refused "$unknown" --numa strict
is "which is no trouble" "$(aictl status | grep -ci topolog)" 0
ok "the resource is defined" kube apply \
	-f "$top_srcdir/tests/kube/noderesourcetopologies.yaml"
kube wait --for=condition=Established --timeout=60s \
	crd/noderesourcetopologies.topology.node.k8s.io >/dev/null
stop_daemon
start_daemon || bail "aischedd does not start again"
ok "an agent publishes" publish n-0 none "$halves"
ok "and its kubelet enforces nothing" wait_for refused \
	"pool 'gpu': its nodes choose devices themselves (device plugin, topology \
manager 'none'): --numa strict cannot be had there" --numa strict
publish n-0 best-effort "$halves"
ok "nor with best-effort" wait_for refused \
	"topology manager 'best-effort'): --numa tight cannot be had there" \
	--numa tight
ok "what is only wished for may be" taken --numa prefer
publish n-0 restricted "$halves"
ok "restricted is tight" wait_for taken --numa tight
ok "and strict" taken --numa strict
publish n-0 single-numa-node "$halves"
ok "single-numa-node lets no pod have both NUMA nodes" \
	wait_for refused "n-0" --cpus-per-task 33
ok "which is strict" taken --numa strict
ok "but links cannot be demanded" refused \
	"(device plugin): --links strict cannot be had there" --links strict
ok "nor parts of CPUs" refused "ask for a whole number of CPUs" \
	--numa strict --cpus-per-task 1.5
ok "nor all memory" refused "ask for an amount with --mem" --numa strict --mem 0
ok "more CPUs than a NUMA node has are too many" refused "n-0" \
	--numa strict --cpus-per-task 33
ok "as is more memory" refused "n-0" --numa strict --mem 260G
ok "but not parts of CPUs, which the kubelet does not place" \
	taken --cpus-per-task 33.5
publish n-0 restricted "$halves"
ok "restricted lets a pod have both NUMA nodes" \
	wait_for taken --cpus-per-task 33
ok "if it must" refused "n-0" --cpus-per-task 33 --numa strict
publish n-0 single-numa-node "$halves"
ok "the other policy is back" wait_for refused "n-0" --cpus-per-task 33

# --- jobs ----------------------------------------------------------------------------

# GPUS CPUS [OPTION]...: submits a job that demands a NUMA node
strict()
{
	strict_gpus=$1
	strict_cpus=$2
	shift 2
	aisub --parsable --gpus-per-task "$strict_gpus" --mem 1G --numa strict \
		--cpus-per-task "$strict_cpus" "$@" --wrap true
}
one=$(strict 1 20)
ok "a job gets a NUMA node" wait_for is_state "$one" RUNNING
is "and CPUs of its own" "$(pod_of "$one")" "Guaranteed 20 20"
like "aiq names the NUMA node that the plan expects" "$(aiq "$one")" \
	'^ *devices +n-0: 1 GPU, 20 CPUs \(NUMA [01], predicted\)$'
two=$(strict 1 20)
ok "the next one has no room for its CPUs there" \
	wait_for is_state "$two" RUNNING
three=$(strict 2 1)
waits()
{
	reason "$three" | grep -qi numa
}
ok "two GPUs are free, but in different NUMA nodes" wait_for waits
any=$(aisub --parsable --gpus-per-task 2 --mem 1G --wrap true)
any_waits()
{
	reason "$any" | grep -qi numa
}
ok "nor does a job that demands nothing get them" wait_for any_waits
aicancel "$one"
ok "until a job ends" wait_for is_state "$three" RUNNING
aicancel "$two"
ok "and another one" wait_for is_state "$any" RUNNING
aicancel --wait "$three" "$any"

# --- a kubelet that chooses otherwise ------------------------------------------------

# LIST: whether the snapshot has the GPUs in these NUMA nodes
gpus_are_in()
{
	aictl dump | grep '^node n-0 ' | grep -qF " gpu_numa=$1 "
}
publish n-0 single-numa-node "$(zone 0 32 250Gi 3), $(zone 1 32 250Gi 1)"
ok "a NUMA node has three GPUs" wait_for gpus_are_in "0*3,1"
one=$(strict 1 20)
ok "a job is planned for the other one" wait_for is_state "$one" RUNNING
publish n-0 single-numa-node \
	"$(zone 0 32 250Gi 3 12 2), $(zone 1 32 250Gi 1 32 1)"
ok "but its kubelet took one of the three" wait_for gpus_are_in "0*2,1,0"
three=$(strict 3 1)
ok "so a job of three GPUs waits" wait_for waits
publish n-0 single-numa-node \
	"$(zone 0 32 250Gi 3 32 3), $(zone 1 32 250Gi 1 32 1)"
publish n-0 single-numa-node \
	"$(zone 0 32 250Gi 3 32 3), $(zone 1 32 250Gi 1 12 0)"
ok "until its kubelet shows that they are free" \
	wait_for is_state "$three" RUNNING
aicancel --wait "$one" "$three"

# --- kubelets without static managers -------------------------------------------------

# Such a kubelet has no CPUs and no memory to give, so its agent shows none.
publish n-0 single-numa-node "$(zone 0 0 0 2), $(zone 1 0 0 2)"
ok "a kubelet that gives no CPUs places GPUs only" \
	wait_for taken --cpus-per-task 60 --mem 500G
ok "which are as many as a NUMA node has" refused "n-0" --gpus-per-task 3
publish n-0 single-numa-node "$halves"
ok "one that does is back" wait_for refused "n-0" --cpus-per-task 60

# --- agents that lie ------------------------------------------------------------------

publish n-0 single-numa-node "$(zone 0 -3 1Gi 2)"
ok "an impossible amount is told" wait_for status_has \
	"NodeResourceTopology 'n-0' cannot be used: zone 'node-0' has no possible \
amount of 'cpu'"
many=$(seq 1 999 | sed 's/.*/, {"name": "node-&", "type": "Node"}/')
publish n-0 single-numa-node "$(zone 0 1 1Gi 2)$many"
ok "as are a thousand zones" wait_for status_has \
	"'n-0' cannot be used: it has more than 32 zones"
ok "nothing can be demanded then" refused "topology manager" --numa strict
publish n-0 single-numa-node "$halves"
ok "until the object is right" wait_for taken --numa strict
publish n-0 single-numa-node "$(zone 0 32 250Gi 2), $(zone 1 32 250Gi 1)"
ok "nor if it does not say where all GPUs are" wait_for refused "$unknown" \
	--numa strict
kube delete noderesourcetopology n-0 >/dev/null
ok "or gone" wait_for refused "$unknown" --numa strict
done_testing

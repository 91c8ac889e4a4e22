#!/bin/sh
# Jobs as pods in a real control plane with simulated nodes: which objects are
# made, where pods are bound, how they end, and that nothing is left.

. "$top_srcdir/tests/e2e/lib.sh"
. "$top_srcdir/tests/kube/control_plane.sh"

ns="jobs"
k="kube --namespace $ns"

# KIND,...: prints the names of the objects of these kinds that aischedd has made
names()
{
	$k get "$1" -l aisched.io/cluster=test -o name
}

# KIND: prints how many there are
count()
{
	names "$1" | wc -l
}

nothing_is_left()
{
	left=$(names jobs,pods,secrets,services,networkpolicies) &&
		[ -z "$left" ]
}

# JOB [FIELD]: prints a field of its pods, one a line, in order of index
pods()
{
	$k get pods -l "aisched.io/job-id=$1" -o \
		"jsonpath={range .items[*]}{${2:-.metadata.name}}{'\n'}{end}" |
		sort
}

# JOB RUNTIME EXIT: ends its pods
end_pods()
{
	$k annotate pods -l "aisched.io/job-id=$1" --overwrite \
		sim.aisched.io/runtime="$2" sim.aisched.io/exit-code="$3" \
		>/dev/null
}

# NODE COLUMN: prints a column of the node in aiq
node()
{
	aiq --nodes --no-header -o "name,$2" | awk -v node="$1" \
		'$1 == node { print $2 }'
}

# NODE STATE: whether aiq shows that state
node_is()
{
	node "$1" state | grep -qi "$2"
}

ok "a control plane starts" kube_start || bail "there is no control plane"
ok "with nodes" eval "kwok_start && kube_nodes 4 gpu 8 pool=gpu"
kube create namespace "$ns" >/dev/null

# An exporter of how busy GPUs are, by the address of the node. Its page is empty
# until the first job runs.
mkdir "$dir/gpus"
python3 -u -m http.server 0 --bind 127.0.0.1 -d "$dir/gpus" \
	>"$dir/exporter" 2>"$dir/exporter.log" &
ok "an exporter of GPUs' use starts" wait_for grep -q port "$dir/exporter"
port=$(sed 's/.* port \([0-9]*\).*/\1/' "$dir/exporter")

# BUSY...: make the exporter's page: how busy each GPU of the job is, in percent
export_page()
{
	pod=$(pods "$id" .metadata.name)
	host=$(pods "$id" .status.hostIP)
	gpu=0
	for busy; do
		gpu=$((gpu + 1))
		of="{gpu=\"$gpu\",UUID=\"GPU-$gpu\",namespace=\"$ns\",pod=\"$pod\"}"
		echo "DCGM_FI_DEV_GPU_UTIL$of $busy"
		echo "DCGM_FI_DEV_FB_USED$of 1024"
		echo "DCGM_FI_DEV_FB_FREE$of 3072"
	done >"$dir/page"
	mv "$dir/page" "$dir/gpus/$host"
}

configure "
accounting { sample = \"1s\" }
topology { levels = {\"hall\", \"rack\"} labels = {\"hall=topology.kubernetes.io/zone\"} }
default_queue = \"default\"
queue default { grace = \"2s\" }
queue red { grace = \"2s\"  quota { gpus = 16 } }
queue blue { grace = \"2s\"  quota { gpus = 16 } }
pool gpu { runner = kubernetes  kubeconfig = \"$kube/admin.conf\"
	namespace = \"$ns\"  image = \"local/box:1\"  run_as_root = yes
	node_selector = \"pool=gpu\"  allow_mounts = {\"/data\"}
	gpu_metrics = \"http://127.0.0.1:$port/{node}\"  isolate_network = yes }
scheduling { start_timeout = \"10m\" }"
start_daemon || bail "aischedd does not start"

ok "its nodes are seen" wait_for node_is gpu-3 idle
is "with their GPUs" "$(node gpu-0 gpus)" 8

# --- one job ----------------------------------------------------------------

id=$(aisub --parsable --gpus-per-task 2 --mem 1G --wrap 'echo hi')
ok "a job runs" wait_for is_state "$id" RUNNING
is "in one pod" "$(pods "$id" | wc -l)" 1
fails "a command that nobody there runs is told" 1 "no exec found" \
	aictl exec "$id" true
aicancel -s USR1 "$id"
not_reached()
{
	aiq --no-header -o reason_text "$id" | grep "signal 10 did not reach pod '.*':"
}
ok "a signal that reaches no kubelet is told" wait_for not_reached
fails "nor a job that is one" 1 "an allocation needs the pool of this machine" \
	aisub --pty true
node=$(pods "$id" .spec.nodeName)
like "on the node of the plan" "$(aiq --no-header -o nodelist "$id")" "$node"
is "with its GPUs" "$(pods "$id" \
	'.spec.containers[0].resources.limits.nvidia\.com/gpu')" 2
export_page 30 50
gpu_use()
{
	aiq "$id" --json | jq -ce "$1"
}
ok "an exporter says how busy they are" wait_for gpu_use \
	'.jobs[0] | .gpu_busy_seconds > 0'
is "and a Secret" "$(count secrets)" 1
is "but no Service" "$(count services)" 0
end_pods "$id" 100ms 3
ok "it ends" wait_for is_state "$id" FAILED
is "as it ended" "$(aiq --no-header -o exit "$id")" 3
is "its GPUs were as busy, and had as much memory" "$(gpu_use '.jobs[0] |
	[(.gpu_busy_seconds / .gpu_known_seconds * 100 | round), .gpu_mem_mib]')" \
	"[40,2048]"
ok "and leaves nothing behind" wait_for nothing_is_left

id=$(aisub --parsable --wrap true)
ok "another runs" wait_for is_state "$id" RUNNING
end_pods "$id" 100ms 0
ok "and is completed" wait_for is_state "$id" COMPLETED

# --- a gang -----------------------------------------------------------------

id=$(aisub --parsable -n 8 --gpus-per-task 4 --wrap 'echo hi')
ok "a gang runs" wait_for is_state "$id" RUNNING
is "in as many pods" "$(pods "$id" .status.phase | grep -c Running)" 8
is "two on each node" "$(pods "$id" .spec.nodeName | uniq -c |
	awk '{ print $1 }' | tr '\n' ' ')" "2 2 2 2 "
is "that find each other by a Service" "$(count services)" 1
policy=$(kube -n "$ns" get networkpolicies -l aisched.io/job-id="$id" -o json)
is "and only they can connect to each other" "$(echo "$policy" | jq -c '.items | length,
	.[0].spec.ingress, (.[0].spec.podSelector == .[0].spec.ingress[0].from[0].podSelector)')" \
	"1
[{\"from\":[{\"podSelector\":{\"matchLabels\":{\"batch.kubernetes.io/job-name\":\"$(
	pods "$id" '.metadata.labels.batch\.kubernetes\.io/job-name' | head -n 1)\"}}}]}]
true"
aicancel "$id"
ok "it is cancelled" wait_for is_state "$id" CANCELLED
ok "and leaves nothing behind, either" wait_for nothing_is_left

id=$(aisub --parsable -n 2 --wrap 'echo hi')
ok "of another" wait_for is_state "$id" RUNNING
first=$(pods "$id" | head -n 1)
$k annotate pod "$first" sim.aisched.io/runtime=100ms \
	sim.aisched.io/exit-code=7 >/dev/null
ok "one task fails, and it ends" wait_for is_state "$id" FAILED
is "as that task did" "$(aiq --no-header -o exit "$id")" 7

id=$(aisub --parsable --time 1s --wrap 'echo hi')
ok "one that may run for a second" wait_for is_state "$id" TIMEOUT
ok "leaves nothing behind" wait_for nothing_is_left

# --- a queue reclaims its quota ----------------------------------------------

set --
while [ $# -lt 4 ]; do
	set -- "$@" "$(aisub --parsable -q red --gpus-per-task 8 --wrap true)"
done
# COUNT STATE: whether COUNT of queue red's jobs have that state
so_many()
{
	[ "$(aiq --no-header -q red -o state | grep -c "$2")" -eq "$1" ]
}
ok "a queue has all nodes" wait_for so_many 4 RUNNING
id=$(aisub --parsable -q blue -n 2 --gpus-per-task 8 --wrap true)
ok "another takes its share" wait_for is_state "$id" RUNNING
ok "two of the first wait" so_many 2 PENDING
they_are_gone()
{
	[ "$(count jobs) $(count pods)" = "3 4" ]
}
ok "none of their pods is left" wait_for they_are_gone
end_pods "$id" 100ms 0
ok "it ends" wait_for is_state "$id" COMPLETED
ok "and they run again" wait_for so_many 4 RUNNING
aicancel "$@"
ok "nothing is left" wait_for nothing_is_left

# --- ports with names --------------------------------------------------------

# JOB: prints the uid and the address of the Service that leads to its ports
service_of()
{
	$k get service "aj-test-$1-ports" \
		-o "jsonpath={.metadata.uid} {.spec.clusterIP}"
}

# JOB [POD]: whether the Service leads to this pod, or to none
leads_to()
{
	[ "$($k get endpointslices -o \
		"jsonpath={.items[*].endpoints[?(@.conditions.ready==true)].targetRef.name}" \
		-l "kubernetes.io/service-name=aj-test-$1-ports")" = "$2" ]
}

# JOB: prints its ports, as aiq shows them
ports_of()
{
	aiq "$1" | grep -A 1 '^  ports' | xargs
}

id=$(aisub --parsable -n 2 --gpus-per-task 8 --nodelist 'gpu-[0-1]' \
	--port web=8080 --port board=6006 --wrap true)
ok "a job with ports runs" wait_for is_state "$id" RUNNING
host=aj-test-$id-ports.$ns.svc
is "its ports are shown" "$(ports_of "$id")" \
	"ports web $host 8080 board $host 6006"
is "and are in JSON" "$(aiq "$id" --json | jq -c '.jobs[0].ports[1]')" \
	"{\"name\":\"board\",\"address\":\"$host\",\"port\":6006}"
ok "a Service leads to its first pod" wait_for leads_to "$id" \
	"$(pods "$id" | head -n 1)"
was=$(service_of "$id")
better=$(aisub --parsable --class interactive --gpus-per-task 8 \
	--nodelist gpu-0 --wrap true)
ok "it is preempted" wait_for is_state "$better" RUNNING
ok "its Service leads nowhere" wait_for leads_to "$id" ""
is "but stays" "$(service_of "$id")" "$was"
is "its ports have no address now" "$(ports_of "$id")" \
	"ports web - 8080 board - 6006"
kill_daemon
start_daemon || bail "aischedd does not start again"
aicancel --wait "$better"
ok "it comes back" wait_for is_state "$id" RUNNING
ok "its Service leads there" wait_for leads_to "$id" \
	"$(pods "$id" | head -n 1)"
is "and is the same" "$(service_of "$id")" "$was"
$k get service "aj-test-$id-ports" -o json | jq 'del(.metadata.uid,
	.metadata.resourceVersion, .spec.clusterIP, .spec.clusterIPs)' \
	>"$dir/service"
aicancel --wait "$id"
ok "it goes with the job" wait_for nothing_is_left

kill_daemon
$k create -f "$dir/service" >/dev/null
start_daemon || bail "aischedd does not start again"
ok "one that was left behind is found" wait_for nothing_is_left

id=$(aisub --parsable --hold --port web=80 --wrap true)
$k create service clusterip "aj-test-$id-ports" --tcp=80 >/dev/null
aictl release "$id"
is_taken()
{
	aiq "$id" | grep -q "Service 'aj-test-$id-ports' in namespace '$ns' exists and is not ours"
}
ok "a Service of others is told" wait_for is_taken
aicancel --wait "$id"
ok "nothing else is left" wait_for nothing_is_left
# shellcheck disable=SC2086 # $k has several words
ok "but that one" $k delete service "aj-test-$id-ports"
fails "an array has no ports" 2 "--port and --array: give only one" \
	aisub --array 1-2 --port web=80 --wrap true

# --- an array ---------------------------------------------------------------

# COUNT: whether COUNT tasks run
tasks_run()
{
	[ "$(aiq --no-header -o state | grep -c RUNNING)" -eq "$1" ]
}

# shellcheck disable=SC2016 # expanded by the job
id=$(aisub --parsable --array 1-3 --wrap 'echo $AISCHED_ARRAY_TASK_ID')
ok "an array runs" wait_for tasks_run 3
is "and shares a Secret" "$(count jobs) $(count secrets)" "3 1"
aicancel "${id}_1"
ok "one task leaves" wait_for tasks_run 2
is "it stays for the others" "$(count secrets)" 1
kill_daemon
start_daemon
ok "after a crash, too" wait_for tasks_run 2
aicancel "$id"
ok "it goes with the last of them" wait_for nothing_is_left

id=$(aisub --parsable --no-requeue --array 1-2 --wrap true)
ok "another runs" wait_for tasks_run 2
kill_daemon
$k delete jobs --all >/dev/null
is "all Jobs are deleted, which leaves" "$(count secrets)" 1
start_daemon
ok "its tasks are lost" wait_for is_state "${id}_2" NODE_FAIL
ok "and nothing is left" wait_for nothing_is_left

# --- a job that is suspended -------------------------------------------------

id=$(aisub --parsable --label team=nlp,run= --wrap 'echo hi')
ok "one runs" wait_for is_state "$id" RUNNING
is "its pod has its labels" \
	"$($k get pods -l label.aisched.io/team=nlp,label.aisched.io/run= -o name)" \
	"pod/$(pods "$id")"
aictl suspend "$id" >/dev/null
ok "suspended, it is taken down and waits" eval \
	"wait_for is_state $id PENDING && wait_for nothing_is_left"
like "held" "$(aiq --no-header -o reason "$id")" Held
aictl resume "$id" >/dev/null
ok "resumed, it runs again" wait_for is_state "$id" RUNNING
aicancel "$id"

# --- pods of others ---------------------------------------------------------

kube create -f - >/dev/null <<-END
	{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "other",
		"namespace": "default"}, "spec": {"nodeName": "gpu-0",
		"containers": [{"name": "a", "image": "a", "resources":
			{"limits": {"nvidia.com/gpu": "6", "cpu": "60",
				"memory": "1Gi"}}}]}}
	END
others_count()
{
	[ "$(node gpu-0 gpus_free)" = 2 ]
}
ok "pods of others count" wait_for others_count

# A kubelet refuses pods beyond its limit, even if they need no resources.
kube patch node gpu-0 --subresource status --type merge \
	-p '{"status": {"allocatable": {"pods": "3"}}}' >/dev/null
node_is_small()
{
	aictl dump | grep -q '^node gpu-0 .* slots=3 slots_free=2'
}
ok "also as pods" wait_for node_is_small
id=$(aisub --parsable --array 1-4 -w gpu-0 --wrap true)
waits_for_a_pod()
{
	aiq "$id" | grep -q "gpu-0.*runs as many as it may: 3"
}
ok "a node takes no more tasks than pods" wait_for waits_for_a_pod
ok "but as many" wait_for tasks_run 2
kube delete pod other --grace-period=0 --force >/dev/null 2>&1
ok "another when one of others is gone" wait_for tasks_run 3
aicancel "$id"
ok "nothing is left" wait_for nothing_is_left

# Disk is the ephemeral storage of pods.
kube create -f - >/dev/null <<-END
	{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "other",
		"namespace": "default"}, "spec": {"nodeName": "gpu-0",
		"containers": [{"name": "a", "image": "a", "resources":
			{"requests": {"ephemeral-storage": "70Gi"}}}]}}
	END
kube patch node gpu-0 --subresource status --type merge -p '{"status":
	{"allocatable": {"pods": "250", "ephemeral-storage": "100Gi"}}}' \
	>/dev/null
disk_counts()
{
	[ "$(node gpu-0 tmp_mib),$(node gpu-0 tmp_free_mib)" = 100G,30G ]
}
ok "a node has disk, but for what others ask for" wait_for disk_counts
fails "more than that never fits" 1 "needs 101G of disk on one node; the largest that it may use has 100G (gpu-0)" \
	aisub --tmp 101G --wrap true
id=$(aisub --parsable -n 2 --tmp 20G --wrap true)
ok "a job asks for disk on the node of its tasks" \
	wait_for is_state "$id" RUNNING
is "each pod gets its part" "$(pods "$id" \
	'.spec.containers[0].resources.*.ephemeral-storage' | sort -u)" \
	"10Gi 10Gi"
is "on the node that has it" "$(node gpu-0 tmp_free_mib)" 10G
aicancel "$id"
kube delete pod other --grace-period=0 --force >/dev/null 2>&1
ok "nothing of it is left" wait_for nothing_is_left

kube cordon gpu-1 >/dev/null
ok "a cordoned node is drained" wait_for node_is gpu-1 drain
kube uncordon gpu-1 >/dev/null
ok "until it is not" wait_for node_is gpu-1 idle

# Whether the job was restarted and runs.
restarted()
{
	[ "$(aiq --no-header -o state,restarts "$id" | tr -s ' ')" = "RUNNING 1" ]
}
id=$(aisub --parsable --requeue -n 2 -N 2 --wrap true)
ok "a gang runs" wait_for is_state "$id" RUNNING
node=$(pods "$id" .spec.nodeName | head -n 1)
kube drain "$node" --force --delete-emptydir-data --timeout=60s \
	>/dev/null 2>&1
ok "its node is drained by kubectl: all of it starts again" wait_for restarted
like "which is told" "$(grep "job lost job=$id" "$log")" \
	"pod aj-test-$id-1-.* on node $node: was deleted"
is "nothing of it is there" "$(pods "$id" .spec.nodeName | grep -c "$node")" 0
kube uncordon "$node" >/dev/null
ok "the node is used again" wait_for node_is "$node" idle
aicancel "$id"
ok "nothing is left" wait_for nothing_is_left

kube label node gpu-3 topology.kubernetes.io/rack- >/dev/null
lacks="node 'gpu-3' has no label for level 'rack'"
ok "a level that is missing is told" wait_for "aictl status | grep -q \"$lacks\""
ok "and in the log" wait_for grep -q "warning pool gpu: $lacks" "$log"
fails "so is a job that needs it" 1 "would fit in a rack" \
	aisub -w gpu-3 --topology rack --wrap true
kube label node gpu-3 topology.kubernetes.io/rack=r >/dev/null
ok "until it is there" wait_for "! aictl status | grep -q \"$lacks\""
wait_for "aictl dump | grep -q '^node gpu-3 .*domain=zone-0/r '"
id=$(aisub --parsable -w gpu-3 --topology rack --wrap true)
ok "then he runs" wait_for is_state "$id" RUNNING
is "the log said it once" "$(grep -c "$lacks" "$log")" 1
aicancel "$id"
ok "nothing is left" wait_for nothing_is_left

# --- the daemon is restarted ------------------------------------------------

id=$(aisub --parsable -n 2 --wrap 'echo hi')
gone=$(aisub --parsable --wrap 'echo hi')
ok "while jobs run" eval "wait_for is_state $id RUNNING &&
	wait_for is_state $gone RUNNING"
uids=$(pods "$id" .metadata.uid)
kill_daemon
end_pods "$gone" 50ms 5
gone_has_ended()
{
	[ "$(pods "$gone" .status.phase)" = Failed ]
}
wait_for gone_has_ended
start_daemon || bail "aischedd does not start again"
ok "the daemon comes back, and one has ended" wait_for is_state "$gone" FAILED
is "as it did meanwhile" "$(aiq --no-header -o exit "$gone")" 5
is "the other runs" "$(state_of "$id")" RUNNING
is "in the same pods" "$(pods "$id" .metadata.uid)" "$uids"
end_pods "$id" 50ms 0
ok "and ends" wait_for is_state "$id" COMPLETED
ok "nothing is left" wait_for nothing_is_left

# A Job with our labels and a name like ours, whose pods nobody has bound.
id=$(aisub --parsable --requeue --wrap true)
ok "one more runs" wait_for is_state "$id" RUNNING
kill_daemon
job=aj-test-$id-1
$k get job "$job" -o json | sed -e \
	'/"\(uid\|controller-uid\|batch.kubernetes.io.controller-uid\)":/d' \
	>"$dir/copy"
$k delete job "$job" >/dev/null
$k create -f "$dir/copy" >/dev/null
copied()
{
	[ "$(pods "$id" .status.phase)" = Pending ]
}
ok "its Job is deleted, and a copy made" wait_for copied
start_daemon
ok "the daemon does not take it for the first" wait_for restarted
is_gone()
{
	! $k get job "$1"
}
ok "which it removes" wait_for is_gone "$job"
is_second()
{
	[ "$(pods "$id" '.metadata.annotations.aisched\.io/attempt')" = 2 ]
}
ok "what runs is another attempt" wait_for is_second
aicancel "$id"
ok "nothing is left" wait_for nothing_is_left

# --- requests that cannot be met -----------------------------------------

fails "part of a GPU" 1 "a GPU is not shared" aisub --pool gpu --gpus-per-task 0.5 --wrap true
id=$(aisub --parsable --mount /etc --wrap true)
ok "a mount that is not allowed" wait_for is_state "$id" FAILED
like "is said to be that" "$(aiq "$id")" "mount '/etc'"
is "once in the log" "$(grep -c "job=$id .*mount '/etc'" "$log")" 1

# --- another configuration ---------------------------------------------------

cp "$conf" "$conf.first"
# CHANGE: reloads the first configuration, changed with sed
reload()
{
	sed "$1" "$conf.first" >"$conf" && aictl reload
}
reload 's,"/data",& "/etc",; s/" "/", "/; s,local/box:1,local/box:2,'
id=$(aisub --parsable --mount /etc --wrap true)
ok "what is allowed now is" wait_for is_state "$id" RUNNING
is "and what is said for the next" \
	"$(pods "$id" '.spec.containers[0].image')" local/box:2
fails "not where the cluster is" 1 \
	"changing namespace of pool 'gpu' needs a restart" \
	reload 's/"jobs"/"others"/'
fails "nor in which of its namespaces" 1 "changing namespaces needs a restart" \
	reload 's/namespace = "jobs"/namespaces = {"jobs", "others"}/'
fails "which nodes are ours" 1 \
	"changing node_selector of pool 'gpu' needs a restart" \
	reload 's/pool=gpu/pool=cpu/'
fails "or what they are asked for" 1 "changing topology.levels needs a restart" \
	reload 's/"hall", "rack"/"hall"/'
fails "and by which labels" 1 "changing topology.labels needs a restart" \
	reload 's|kubernetes.io/zone|kubernetes.io/region|'
reload 's/"10m"/"7s"/'
part_hang kwok
late=$(aisub --parsable --wrap true)
ok "start_timeout is the new one" wait_for grep -q \
	"job=$late .*1 of 1 pods did not run within 7 s" "$log"
part_wake kwok
aicancel "$id" "$late"
ok "nothing is left" wait_for nothing_is_left

done_testing

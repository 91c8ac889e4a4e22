#!/bin/sh
# Partitions of GPUs (MIG) that the device plugins of nodes count, in a real
# control plane with simulated nodes: jobs get them, pods of others hold them,
# and Jobs made with kubectl ask for them.

. "$top_srcdir/tests/e2e/lib.sh"
. "$top_srcdir/tests/kube/control_plane.sh"

ns="jobs"
k="kube --namespace $ns"

# NODE ALLOCATABLE: sets what the plugin of a node counts
counts()
{
	kube patch node "$1" --subresource status --type merge \
		-p "{\"status\": {\"allocatable\": {$2}}}" >/dev/null
}

# JOB RESOURCE: prints how many of a resource its pod asks for
asks()
{
	$k get pods -l "aisched.io/job-id=$1" -o json |
		jq -r --arg r "$2" '.items[0].spec.containers[0].resources |
			.requests[$r] + "/" + .limits[$r]'
}

# JOB: prints the reason why it waits
reason()
{
	aiq --no-header -o reason_text "$1"
}

ok "a control plane starts" kube_start || bail "there is no control plane"
ok "with a node" eval "kwok_start && kube_nodes 1 mig 1"
kube create namespace "$ns" >/dev/null
counts mig-0 '"nvidia.com/mig-3g.40gb": "2", "nvidia.com/mig-1g.10gb": "7",
	"nvidia.com/mig-1g.10gb.me": "1", "nvidia.com/mig-9g.99gb": "3"'
configure "
default_queue = \"default\"
queue default { grace = \"1s\" }
queue small { grace = \"1s\"  limit { gpus = 0.5 } }
pool gpu { runner = kubernetes  kubeconfig = \"$kube/admin.conf\"
	namespace = \"$ns\"  image = \"local/box:1\"  run_as_root = yes }
scheduling { start_timeout = \"30s\" }"
start_daemon || bail "aischedd does not start"

# --- what a node has ----------------------------------------------------------

ok "its partitions are seen, behind its whole GPU" wait_for node_has mig-0 \
	'parts=-,3g.40gb@0/3g.40gb@4,1g.10gb@0/'
unknown="node 'mig-0' has resource 'nvidia.com/mig-9g.99gb', of a MIG profile"
ok "a profile that nobody knows is told" \
	wait_for "aictl status | grep -q \"$unknown\""
counts mig-0 '"nvidia.com/mig-9g.99gb": null'
ok "as long as it is there" wait_for "! aictl status | grep -q \"$unknown\""

# --- jobs ------------------------------------------------------------------------

one=$(aisub --parsable --gpus-per-task 3g.40gb:1 --wrap true)
two=$(aisub --parsable --gres gpu:3g.40gb --wrap true)
whole=$(aisub --parsable --gpus-per-task 1 --wrap true)
ok "a job gets a partition" wait_for is_state "$one" RUNNING
is "and asks for it" "$(asks "$one" nvidia.com/mig-3g.40gb)" 1/1
is "not for a GPU" "$(asks "$one" nvidia.com/gpu)" /
ok "another job gets another one" wait_for is_state "$two" RUNNING
ok "and one the whole GPU" wait_for is_state "$whole" RUNNING
is "as before" "$(asks "$whole" nvidia.com/gpu)" 1/1
media=$(aisub --parsable --gpus-per-task 1g.10gb+me:1 --wrap true)
ok "a job gets the one with media engines" wait_for is_state "$media" RUNNING
is "by the plugin's name" "$(asks "$media" nvidia.com/mig-1g.10gb.me)" 1/1
third=$(aisub --parsable --gpus-per-task 3g.40gb:1 --wrap true)
waits_for_partition()
{
	reason "$third" | grep -q 'needs a 3g\.40gb on one node; mig-0 has'
}
ok "a third waits" wait_for waits_for_partition
fails "a task gets one partition" 2 "a task can have one 3g.40gb, not 2" \
	aisub --gpus-per-task 3g.40gb:2 --wrap true
fails "a profile that no node has is refused" 1 \
	"MIG profile 2g.20gb; there are 1g.10gb, 3g.40gb, 1g.10gb+me" \
	aisub --gpus-per-task 2g.20gb:1 --wrap true
aicancel "$two" "$whole" "$media"
ok "the third starts when another ends" wait_for is_state "$third" RUNNING
aicancel "$third"

# A 3g.40gb counts as half a GPU, the limit of the queue.
half=$(aisub --parsable -q small --gpus-per-task 3g.40gb:1 --wrap true)
ok "a queue counts a partition as a part of a GPU" \
	wait_for is_state "$half" RUNNING
more=$(aisub --parsable -q small --gpus-per-task 1g.10gb:1 --wrap true)
is_limited()
{
	[ "$(aiq --no-header -o reason "$more")" = QueueLimit ]
}
ok "and no more than its limit" wait_for is_limited
aicancel "$half" "$more" "$one"
nothing_runs()
{
	[ -z "$($k get pods -o name)" ]
}
ok "all end" wait_for nothing_runs

# --- partitions that pods share ----------------------------------------------------

# Whether aictl status says that partitions of this resource are shared
shared()
{
	aictl status | grep -qF "node 'mig-0' counts each partition of '$1' several"
}
kube label node mig-0 nvidia.com/mig-1g.10gb.replicas=4 >/dev/null
counts mig-0 '"nvidia.com/mig-2g.20gb.shared": "4"'
ok "partitions that pods share are told" wait_for shared nvidia.com/mig-1g.10gb
unlike "not as unknown" "$(aictl status)" "of a MIG profile"
fails "no job gets one" 1 "MIG profile 1g.10gb; there are 3g.40gb, 1g.10gb+me" \
	aisub --gpus-per-task 1g.10gb:1 --wrap true
kube label node mig-0 nvidia.com/mig-1g.10gb.replicas- >/dev/null
ok "nor those of a renamed resource" wait_for shared \
	nvidia.com/mig-2g.20gb.shared
counts mig-0 '"nvidia.com/mig-2g.20gb.shared": null'
ok "until pods do not share them" wait_for "! shared nvidia.com/mig"
ok "then they are partitions again" wait_for node_has mig-0 \
	'parts=-,3g.40gb@0/3g.40gb@4,1g.10gb@0/'

# --- pods of others ----------------------------------------------------------------

kube create -f - >/dev/null <<-END
	{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "other",
		"namespace": "default"}, "spec": {"nodeName": "mig-0",
		"containers": [{"name": "a", "image": "a", "resources":
			{"limits": {"nvidia.com/mig-1g.10gb": "6"}}},
			{"name": "b", "image": "a", "resources":
			{"limits": {"nvidia.com/mig-3g.40gb": "1"}}}]}}
	END
ok "a pod of others holds partitions" wait_for node_has mig-0 \
	'parts=-,3g.40gb@0/3g.40gb@4!,'
last=$(aisub --parsable --gpus-per-task 1g.10gb:1 --wrap true)
ok "what it leaves is given" wait_for is_state "$last" RUNNING
full=$(aisub --parsable --gpus-per-task 1g.10gb:1 --wrap true)
is_full()
{
	reason "$full" | grep -q 'needs a 1g\.10gb on one node'
}
ok "and no more" wait_for is_full
kube delete pod other -n default --grace-period=0 --force >/dev/null 2>&1
ok "until it is gone" wait_for is_state "$full" RUNNING
aicancel "$last" "$full"

# --- Jobs made with kubectl ----------------------------------------------------------

# NAME TEXT: whether an Event about the Job says so
says()
{
	$k get events.events.k8s.io -o json | jq -r --arg job "$1" \
		'.items[] | select(.regarding.name == $job) | .note' |
		grep -q "$2"
}

kube_limited_job "$ns" mine '"nvidia.com/mig-1g.10gb": "1"'
ok "a Job that asks for a partition is queued" wait_for kube_job_id "$ns" mine
ok "and runs" wait_for is_state "$id" RUNNING
is "as a job of that type" "$(aiq --no-header -o gpu_type "$id")" \
	1g.10gb
kube_limited_job "$ns" both '"nvidia.com/mig-1g.10gb": "1", "nvidia.com/gpu": "1"'
ok "one that asks for more is refused" wait_for says both \
	'ask for a 1g\.10gb and for other GPUs'
kube_limited_job "$ns" two '"nvidia.com/mig-1g.10gb": "2"'
ok "and one that asks for two" wait_for says two \
	'a task can have one 1g\.10gb, not 2'
kube_limited_job "$ns" shared '"nvidia.com/mig-1g.10gb.shared": "1"'
ok "and one for partitions that pods share" wait_for says shared \
	'of which pods share each partition'
kube_limited_job "$ns" odd '"nvidia.com/mig-9g.99gb": "1"'
ok "and one with an unknown profile" wait_for says odd \
	"does not count resource 'nvidia.com/mig-9g.99gb'"
aicancel "$id"
ok "it ends" wait_for is_state "$id" CANCELLED
done_testing

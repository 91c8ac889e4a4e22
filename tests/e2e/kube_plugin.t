#!/bin/sh
# Devices other than GPUs that the device plugins of nodes count, in a real
# control plane with simulated nodes: jobs get them, pods of others hold them,
# and Jobs made with kubectl ask for them.

. "$top_srcdir/tests/e2e/jobs.sh"
. "$top_srcdir/tests/kube/control_plane.sh"

stop_daemon
ns="jobs"
k="kube --namespace $ns"

# JOB: prints how many of them its pod asks for
asks()
{
	$k get pods -l "aisched.io/job-id=$1" -o json |
		jq -r '.items[0].spec.containers[0].resources |
			.requests["rdma/hca"] + "/" + .limits["rdma/hca"]'
}

# TEXT: whether the node has these devices, and these are free
devices_are()
{
	[ "$(aiq --nodes -h -o devices,devices_free | tr -s ' ')" = "$1" ]
}

ok "a control plane starts" kube_start || bail "there is no control plane"
ok "with a node" eval "kwok_start && kube_nodes 1 nic 1"
kube create namespace "$ns" >/dev/null
kube patch node nic-0 --subresource status --type merge \
	-p '{"status": {"allocatable": {"rdma/hca": "4"}}}' >/dev/null
configure "queue default { grace = \"1s\" }
device rdma { resource = \"rdma/hca\" }
device fpga { }
pool gpu { runner = kubernetes  kubeconfig = \"$kube/admin.conf\"
	namespace = \"$ns\"  image = \"local/box:1\"  run_as_root = yes }
scheduling { start_timeout = \"30s\" }"
start_daemon || bail "aischedd does not start"

ok "a node has as many as its plugin counts" wait_for devices_are "rdma:4 rdma:4"

# --- jobs ---------------------------------------------------------------------

one=$(submit --device rdma:3 --wrap true)
becomes "a job gets some" "$one" RUNNING
is "and its pod asks for them" "$(asks "$one")" 3/3
is "which are free no more" "$(aiq --nodes -h -o devices_free)" rdma:1
none=$(submit --wrap true)
becomes "a job that asks for none runs beside it" "$none" RUNNING
is "and its pod asks for none" "$(asks "$none")" /
two=$(submit --device rdma:2 --wrap true)
waits "the next one waits" "$two" Devices "needs 2 rdma on one node; nic-0 has \
the most free, 1 of 4; waits for job $one"
aicancel "$one" "$none"
becomes "until they are free" "$two" RUNNING
fails "more than the node has" 1 "no node of its pools has 5 rdma" \
	aisub --device rdma:5 --wrap true
fails "a kind that no plugin counts" 1 "no node of its pools has 1 fpga" \
	aisub --device fpga --wrap true
aicancel "$two"
becomes "it ends" "$two" CANCELLED

# --- pods of others -----------------------------------------------------------

kube create -f - >/dev/null <<-END
	{"apiVersion": "v1", "kind": "Pod",
	"metadata": {"name": "other", "namespace": "default"},
	"spec": {"nodeName": "nic-0", "restartPolicy": "Never",
		"tolerations": [{"operator": "Exists"}],
		"containers": [{"name": "a", "image": "a", "resources":
			{"limits": {"rdma/hca": "3"}}}]}}
	END
ok "a pod of others holds its own" wait_for devices_are "rdma:4 rdma:1"
kube delete pod other -n default --grace-period=0 --force >/dev/null 2>&1
ok "until it is gone" wait_for devices_are "rdma:4 rdma:4"

# --- Jobs made with kubectl ---------------------------------------------------

kube_limited_job "$ns" mine '"rdma/hca": "2"'
ok "a Job that asks for some is queued" wait_for kube_job_id "$ns" mine
becomes "and runs" "$id" RUNNING
is "as a job with devices" "$(aiq -h -o device "$id")" rdma:2
is "which it holds" "$(aiq --nodes -h -o devices_free)" rdma:2
aicancel "$id"
becomes "it ends, too" "$id" CANCELLED

# --- GPUs that are counted several times -------------------------------------------

# GPUS: whether the node has that many
has_gpus()
{
	[ "$(aiq --nodes -h -o gpus,gpus_free | xargs)" = "$1 $1" ]
}

# REPLICAS: counts its GPU that often
count_gpu()
{
	kube label --overwrite node nic-0 "nvidia.com/gpu.replicas=$1" >/dev/null
	kube patch node nic-0 --subresource status --type merge -p \
		"{\"status\": {\"allocatable\": {\"nvidia.com/gpu\": \"$1\"}}}" \
		>/dev/null
}

# Whether aictl status says why the node has none
is_told()
{
	aictl status | grep -qF "node 'nic-0' counts each of its GPUs 4 times"
}

count_gpu 1
ok "a GPU that is counted once is one" wait_for has_gpus 1
unlike "nothing is to be told" "$(aictl status)" replicas
count_gpu 4
ok "a plugin counts it four times: none is a whole one" wait_for has_gpus 0
ok "which is told" is_told
fails "no job gets one" 1 "no node of its pools has a GPU" \
	aisub --gpus-per-task 1 --wrap true
count_gpu 1
ok "it is back once pods do not share it" wait_for has_gpus 1
one=$(submit --gpus-per-task 1 --wrap true)
becomes "and a job has it" "$one" RUNNING
aicancel "$one"
becomes "which ends" "$one" CANCELLED

# --- the configuration --------------------------------------------------------

sed -i 's,rdma/hca,rdma/other,' "$conf"
fails "changing the resource" 1 "changing device sections needs a restart" \
	aictl reload
done_testing

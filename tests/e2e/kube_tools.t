#!/bin/sh
# The Kubernetes that the other tests use: it starts, runs pods and stops.

. "$top_srcdir/tests/e2e/lib.sh"
. "$top_srcdir/tests/kube/control_plane.sh"
. "$top_srcdir/tests/kube/node.sh"

# NAME TASKS NODE SCRIPT: creates a Job whose tasks have DNS names, and binds
# its pods to NODE
run_job()
{
	kube create --filename - >/dev/null <<-END || return 1
		{"apiVersion": "v1", "kind": "Service",
		"metadata": {"name": "$1"},
		"spec": {"clusterIP": "None", "publishNotReadyAddresses": true,
			"selector": {"job-name": "$1"}}}
		{"apiVersion": "batch/v1", "kind": "Job",
		"metadata": {"name": "$1"},
		"spec": {"completionMode": "Indexed", "backoffLimitPerIndex": 0,
			"completions": $2, "parallelism": $2, "template": {
			"spec": {"schedulerName": "aisched", "subdomain": "$1",
				"restartPolicy": "Never", "containers": [{
				"name": "main", "image": "local/box:1",
				"imagePullPolicy": "Never",
				"command": ["sh", "-c", "$4"],
				"resources": {"limits": {
					"cpu": "100m", "memory": "32Mi"}}}]}}}}
	END
	wait_for has_pods "$1" "$2" || return 1
	for pod in $(kube get pods --selector "job-name=$1" \
		--output jsonpath='{.items[*].metadata.name}'); do
		kube_bind default "$pod" "$3" || return 1
	done
}

has_pods()
{
	[ "$(kube get pods --selector "job-name=$1" --output name | wc -l)" \
		-eq "$2" ]
}

# NAME: prints the phase, exit code and reason of each of its pods
end_of()
{
	state='{.status.containerStatuses[0].state.terminated'
	kube get pods --selector "job-name=$1" --output jsonpath="{range \
.items[*]}{.status.phase} $state.exitCode} $state.reason}{'\n'}{end}"
}

has_phase()
{
	end_of "$1" | grep -q "^$2"
}

# NAME JOB WANT: tests that the pods of the Job end as in WANT
ends()
{
	wait_for "end_of $2 | awk '!/^(Succeeded|Failed)/ { runs = 1 }
		END { exit runs || !NR }'"
	is "$1" "$(end_of "$2")" "$3"
}

# Lists the folders in which these programs might leave something.
outside()
{
	ls -d /opt/* /run/containerd /run/netns /usr/libexec/* /var/lib/* \
		/var/log/* 2>/dev/null
	ip -brief link | cut -d ' ' -f 1
}
outside=$(outside)

# --- the control plane -----------------------------------------------------

ok "a control plane starts" kube_start || bail "there is no control plane"
ok "nodes that pretend are made" kube_nodes 2 gpu 8 team=red
ok "kwok starts" kwok_start
ok "they are ready" kube wait --for=condition=Ready node/gpu-0 node/gpu-1 \
	--timeout="${deadline_s}s"
is "they have GPUs" "$(kube get nodes --selector team=red \
	--output jsonpath='{.items[*].status.allocatable.nvidia\.com/gpu}')" \
	"8 8"

ok "a pod is bound" run_job fake 1 gpu-1 true
ok "it runs" wait_for has_phase fake Running
like "it has a log" "$(kube logs job/fake)" "hello from kwok"
kube annotate pods --selector job-name=fake sim.aisched.io/runtime=100ms \
	sim.aisched.io/exit-code=7 >/dev/null
ends "it ends as it was told" fake "Failed 7 Error"

kube create serviceaccount little >/dev/null
kube_account default little "$kube/little.conf"
run "$kube_bin/kubectl" --kubeconfig "$kube/little.conf" get nodes
like "an account has the rights it was given" "$err" "Forbidden.*:little"

part_hang apiserver
fails "the API server hangs" 1 "" kube get --raw /readyz --request-timeout=1s
part_wake apiserver
ok "and wakes" wait_for kube_is_ready
part_kill apiserver
part_kill etcd
fails "it is killed" 1 "refused" kube get --raw /readyz
etcd_start
# shellcheck disable=SC2119
ok "it starts again" apiserver_start
ok "with all there was" kube get job fake

kube_taints=
kube_nodes 1 open 0
# shellcheck disable=SC2119
scheduler_start
ok "the scheduler of Kubernetes binds, too" sh -c '"$@" run free \
	--image local/box:1 --restart Never && "$@" wait pod/free \
	--for=condition=Ready --timeout=120s' sh "$kube_bin/kubectl" \
	--kubeconfig "$kube/admin.conf"

# --- a node ----------------------------------------------------------------

lacks=$(node_lacks)
if [ -n "$lacks" ]; then
	skip "a real node" "$lacks"
else
	ok "a node starts" node_start metal || bail "there is no node"
	run_job seven 1 metal 'echo said; exit 7'
	ends "the status of a container is kept" seven "Failed 7 Error"
	is "what it said, too" "$(kube logs job/seven)" said
	run_job hungry 1 metal 'tail /dev/zero'
	ends "memory is limited" hungry "Failed 137 OOMKilled"
	# shellcheck disable=SC2016 # expanded in the container
	run_job gang 2 metal 'if [ $JOB_COMPLETION_INDEX = 0 ]; then
		echo I am rank 0 | nc -l -p 5000;
	else
		until nc gang-0.gang 5000 2>/dev/null; do sleep 0.1; done;
	fi'
	ends "two containers" gang "Succeeded 0 Completed
Succeeded 0 Completed"
	is "meet by name" "$(kube logs --selector job-name=gang)" \
		"I am rank 0"
	run_job forever 1 metal 'sleep 1000'
	ok "one more runs" wait_for has_phase forever Running
	ok "the node stops" node_stop
	is "no cgroup is left" \
		"$(find /sys/fs/cgroup -name "$node_cgroup*")" ""
fi

# --- the control plane and the node end with their test --------------------

cat >second.t <<-'END'
	. "$top_srcdir/tests/e2e/lib.sh"
	. "$top_srcdir/tests/kube/control_plane.sh"
	. "$top_srcdir/tests/kube/node.sh"
	kube_start || exit
	[ -n "$(node_lacks)" ] || node_start metal || exit
	echo "$dir" >"$1"
	sleep 1000
END
sh second.t "$dir/second" >second.out 2>&1 &
second=$!
wait_for "[ -s '$dir/second' ] || ! kill -0 $second"
second_dir=$(cat "$dir/second")
ok "a second one runs beside it" [ -d "$second_dir/kube" ]
kill -KILL "$second"
wait "$second" 2>/dev/null
ok "when its test is killed, it ends" \
	wait_for "! pgrep -f '$second_dir/kube/'"
if [ -z "$lacks" ]; then
	node_cgroups_make
	is "its cgroups go when the next node comes" \
		"$(find /sys/fs/cgroup -name "aisched-kube-$second")" ""
fi
kube_stop
is "all ends" "$(pgrep -f "$dir/kube/")" ""
is "nothing is left elsewhere" "$(outside)" "$outside"

# Kill and remove whatever the second test left.
pkill -KILL -f "$second_dir/"
rm -rf "$second_dir"

done_testing

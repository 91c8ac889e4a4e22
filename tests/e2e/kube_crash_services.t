#!/bin/sh
# The daemon is killed between any two of its calls about pods that wait in a
# queue by themselves, as those of a Deployment. When the daemon runs again, it
# continues everything: no pod is lost or stays behind its gate, no job is made
# twice.

. "$top_srcdir/tests/e2e/lib.sh"
. "$top_srcdir/tests/kube/control_plane.sh"

ns="team"
. "$top_srcdir/tests/kube/killed.sh"

ok "a control plane starts" kube_start || bail "there is no control plane"
ok "with a node" eval "kwok_start && kube_nodes 1 gpu 8"
kube create namespace "$ns" >/dev/null
between_start

configure "
queue default { grace = \"1s\" }
pool gpu { runner = kubernetes  kubeconfig = \"$kube/between.conf\"
	namespace = \"$ns\"  image = \"local/box:1\"  run_as_root = yes }"
start_daemon || bail "aischedd does not start"

# NAME REPLICAS: creates a Deployment of pods that take the whole node
make_service()
{
	$k create -f - >/dev/null <<-END
		{"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": {"name": "$1"}, "spec": {"replicas": $2,
		"selector": {"matchLabels": {"app": "$1"}},
		"template": {"metadata": {"labels": {"app": "$1",
				"aisched.io/queue": "default"}},
			"spec": {"schedulerName": "aisched",
			"schedulingGates": [{"name": "aisched.io/queue"}],
			"terminationGracePeriodSeconds": 1,
			"containers": [{"name": "a", "image": "a", "resources":
				{"limits": {"nvidia.com/gpu": "8"}}}]}}}}
	END
}

# Prints "JOB PHASE" of each pod of the Deployment $name that is not being
# deleted.
its_pods()
{
	table "$api/pods?labelSelector=app=$name" metadata:deletionTimestamp \
		metadata:labels:aisched.io/job-id status:phase |
		sed -n 's/^- //p'
}

# Whether one pod of the Deployment runs, and one waits; sets $id to the job of
# the first.
serves()
{
	its_pods >"$dir/pods"
	id=$(sed -n 's/ Running$//p' "$dir/pods")
	next=$(sed -n 's/ Pending$//p' "$dir/pods")
	[ "$(wc -l <"$dir/pods")" = 2 ] && is_state "${id:-0}" RUNNING &&
		is_state "${next:-0}" PENDING
}

# Whether the job $was was preempted, and the Deployment serves by others.
serves_again()
{
	is_state "$was" PREEMPTED && serves && [ "$id" != "$was" ]
}

# Whether no pod is left of the Deployment, and all its jobs have ended.
is_over()
{
	left=$(list "$api/pods?labelSelector=app=$name") && [ -z "$left" ] &&
		[ -z "$(aiq --all --no-header -o name)" ]
}

service()
{
	name=web-$when-$n
	arm
	make_service "$name" 2
	reaches "a service" serves
	was=$id
	armed aictl preempt "$was"
	reaches "its eviction" serves_again
	arm
	$k scale deployment "$name" --replicas=0 >/dev/null
	reaches "its end" is_over
	is "three pods were three jobs" "$(aiq --all --history --no-header \
		-o name,state | awk -v n="$name-" 'index($1, n) == 1 { print $2 }' |
		sort | xargs)" "CANCELLED CANCELLED PREEMPTED"
	$k delete deployment "$name" >/dev/null
}
each_call service

done_testing

#!/bin/sh
# The daemon is killed between any two of its calls to a cluster: when a call
# arrives at the API server, or when it was carried out but not answered. When
# the daemon runs again, it continues everything: nothing is lost, doubled or
# left behind. KILL_WHEN (tests/kube/killed.sh) runs only half of this.

. "$top_srcdir/tests/e2e/lib.sh"
. "$top_srcdir/tests/kube/control_plane.sh"

ns="team"
. "$top_srcdir/tests/kube/killed.sh"

ok "a control plane starts" kube_start || bail "there is no control plane"
ok "with nodes" eval "kwok_start && kube_nodes 2 gpu 8"
kube create namespace "$ns" >/dev/null
kube create namespace first >/dev/null # it has the Lease
between_start

configure "
queue default { grace = \"1s\"  namespace = \"$ns\" }
pool gpu { runner = kubernetes  kubeconfig = \"$kube/between.conf\"
	namespaces = {\"first\", \"$ns\"}  image = \"local/box:1\"  run_as_root = yes }
scheduling { resume_cooldown = \"0s\"  max_evictions_per_hour = 60 }"
start_daemon || bail "aischedd does not start"

# --- a start and a stop ------------------------------------------------------

life()
{
	submit_armed -n 2 --port web=80 --wrap true
	id=$new
	reaches "a start" runs "$id" 2
	ok "all is there once" wait_for objects_are \
		"Job 1 Pod 2 Secret 1 Service 2 "
	armed aicancel "$id"
	reaches "a stop" is_state "$id" CANCELLED
	ok "nothing is left" wait_for nothing_is_left
}
each_call life

# --- an array, whose tasks share a Secret ------------------------------------

both_run()
{
	[ "$(aiq --no-header -o state | grep -c RUNNING)" -eq 2 ]
}

is_over()
{
	left=$(aiq --no-header) && [ -z "$left" ]
}

array()
{
	submit_armed --array 1-2 --wrap true
	id=$new
	reaches "an array" both_run
	ok "all is there once" wait_for objects_are "Job 2 Pod 2 Secret 1 "
	armed aicancel "$id"
	reaches "its end" is_over
	ok "nothing is left" wait_for nothing_is_left
}
each_call array

# --- a preemption ------------------------------------------------------------

# JOB: prints the uid and the address of the Service that leads to its ports
service_of()
{
	table "$api/services/aj-test-$1-ports" metadata:uid spec:clusterIP
}

preemption()
{
	id=$(aisub --parsable --gpus-per-task 8 --nodelist gpu-0 \
		--port web=80 --wrap true)
	wait_for runs "$id" 1
	was=$(service_of "$id")
	submit_armed --class interactive --gpus-per-task 8 \
		--nodelist gpu-0 --wrap true
	better=$new
	reaches "a preemption" runs "$better" 1
	is "the other waits" "$(fields "$id" state,preemptions)" "PENDING 1"
	ok "with nothing but its address" wait_for objects_are \
		"Job 1 Pod 1 Secret 1 Service 1 "
	armed aicancel "$better"
	reaches "a return" runs "$id" 1
	is "was not lost" "$(fields "$id" restarts)" 0
	is "has its address" "$(service_of "$id")" "$was"
	aicancel "$id"
	ok "nothing is left" wait_for nothing_is_left
}
each_call preemption

# --- fewer tasks, and more ---------------------------------------------------

resize()
{
	id=$(aisub --parsable -n 2 --min-tasks 1 --gpus-per-task 8 --wrap true)
	wait_for runs "$id" 2
	submit_armed --class interactive --gpus-per-task 8 \
		--wrap true
	better=$new
	reaches "a task less" runs "$better" 1
	ok "the other runs on" wait_for runs "$id" 1
	armed aicancel "$better"
	reaches "a task more" runs "$id" 2
	is "in the same attempt" "$(fields "$id" restarts,preemptions)" "0 0"
	aicancel "$id"
	ok "nothing is left" wait_for nothing_is_left
}
each_call resize

# --- a task is lost with its node ---------------------------------------------

# SELECTOR: prints the uid and the node of each running pod
running()
{
	table "$api/pods?labelSelector=$1&fieldSelector=status.phase=Running" \
		metadata:uid spec:nodeName
}

# UID: whether the job runs with two pods, and the pod UID is not one of them
runs_without()
{
	runs "$id" 2 && running "aisched.io/job-id=$id" >"$dir/running" &&
		! grep -q "^$1 " "$dir/running" && runs "$id" 2
}

# JOB INDEX: prints the uid and the node of the running pod of the task
pod_at()
{
	running "aisched.io/job-id=$1,batch.kubernetes.io/job-completion-index=$2"
}

loss()
{
	id=$(aisub --parsable -n 2 --gpus-per-task 8 --on-task-failure replace \
		--wrap true)
	wait_for runs "$id" 2
	kept=$(pod_at "$id" 0)
	was=$(pod_at "$id" 1)
	arm
	kube delete node "${was#* }" >/dev/null
	kube_nodes 1 "more-$n" 8
	reaches "a loss" runs_without "${was% *}"
	is "the other keeps its pod" "$(pod_at "$id" 0)" "$kept"
	is "in the same attempt" "$(fields "$id" restarts,attempt | xargs)" "0 1"
	aicancel "$id"
	ok "nothing is left" wait_for nothing_is_left
}
KILL_WHEN=after each_call loss

# --- a Job made with kubectl -------------------------------------------------

# Sets $id to the job number that the Job gets when it is queued.
number()
{
	id=$("$top_builddir/tests/kube/ask" "$kube/admin.conf" get "$batch/jobs/$name" |
		grep -o '"aisched.io/job-id":"[0-9]*"' | grep -o -m 1 '[0-9]*') &&
		[ -n "$id" ]
}

trains()
{
	number && is_state "$id" RUNNING &&
		[ "$(list "$api/pods?labelSelector=train=$name" |
			grep -c Running)" -eq 2 ]
}

# Whether the job is cancelled, its Job is gone, and the history has it once.
is_cancelled()
{
	is_state "$id" CANCELLED || return 1
	"$top_builddir/tests/kube/ask" "$kube/admin.conf" get "$batch/jobs/$name" |
		grep -q '^404 ' || return 1
	[ "$(aiq --all --history --no-header -o name | grep -cx "$name")" = 1 ]
}

requeue_once()
{
	[ "$(fields "$id" restarts | xargs)" = 1 ] || aictl requeue "$id"
}

adoption()
{
	name=train-$when-$n
	arm
	$k create -f - >/dev/null <<-END
		{"apiVersion": "batch/v1", "kind": "Job",
		"metadata": {"name": "$name",
			"labels": {"aisched.io/queue": "default"}},
		"spec": {"suspend": true, "parallelism": 2, "completions": 2,
		"template": {"metadata": {"labels": {"train": "$name"}},
			"spec": {"schedulerName": "aisched",
			"terminationGracePeriodSeconds": 1,
			"restartPolicy": "Never",
			"containers": [{"name": "a", "image": "a"}]}}}}
		END
	reaches "an adoption" trains
	is "in one attempt" "$(fields "$id" restarts,preemptions)" "0 0"
	armed requeue_once
	reaches "its return" trains
	is "in two" "$(fields "$id" restarts,preemptions)" "1 0"
	armed aicancel "$id"
	reaches "its end" is_cancelled
}
each_call adoption

done_testing

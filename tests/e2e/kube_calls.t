#!/bin/sh
# The calls that aischedd makes to the API server, from its audit log: a fixed
# number for each job and pod, and none just to look for changes.
# aischedd/run/kube/README.md has the table.

. "$top_srcdir/tests/e2e/lib.sh"
. "$top_srcdir/tests/kube/control_plane.sh"

ns="calls"
audit="$dir/audit"

# Prints aischedd's calls since the last time, except those about the Lease,
# sorted: "2 create jobs".
calls()
{
	tail -n "+$((counted + 1))" "$audit" >"$dir/new"
	# Leave out the call that asks for the age of the cluster, which names
	# no object.
	grep '"userAgent":"aisched/' "$dir/new" | grep '"objectRef"' | sed -e \
		's/.*"verb":"\([a-z]*\)".*"objectRef":{\([^}]*\)}.*/\1 \2/' \
		-e 's/"resource":"\([a-z]*\)"/\1 /' \
		-e 's/ .*"subresource":"\([a-z]*\)".*/&\/\1/' \
		-e 's/ ,.*\// \//; s/ ,.*//; s/ \//\//' |
		grep -v ' leases$' | sort | uniq -c | awk '{ print $1, $2, $3 }'
}

# Prints how often the Lease was renewed between the end of the last pod and the
# deletion of its Job. Renewals, one in 3 s, stand in for a clock, because a
# slow machine slows them down, too.
renewals()
{
	tail -n "+$((counted + 1))" "$audit" | awk '
		/"resource":"pods".*"subresource":"status"/ { n = 0 }
		!/"userAgent":"aisched/ { next }
		/"resource":"leases"/ { n++ }
		/"verb":"delete".*"resource":"jobs"/ { print n }' | tail -n 1
}

# Whether the daemon deleted the Job soon (about 5 s) after its last pod ended.
goes_at_once()
{
	[ "$(renewals)" -le 1 ]
}

they_are_all()
{
	[ "$(calls)" = "$wanted" ]
}

# NAME: tests that calls() prints what stdin has, once the last call is done
calls_are()
{
	wanted=$(cat)
	wait_for they_are_all
	is "$1" "$(calls)" "$wanted"
	counted=$((counted + $(wc -l <"$dir/new")))
}
counted=0

nothing_is_left()
{
	[ -z "$(kube -n "$ns" get jobs,pods,secrets,services -o name)" ]
}

# COUNT: whether COUNT tasks run
running()
{
	[ "$(aiq --no-header -o state | grep -c RUNNING)" -eq "$1" ]
}

# JOB COUNT: whether the job has COUNT running pods, and its Job is the only one
running_pods()
{
	[ "$(kube -n "$ns" get pods -l "aisched.io/job-id=$1" -o name \
		--field-selector status.phase=Running | wc -l)" -eq "$2" ] &&
		[ "$(kube -n "$ns" get jobs -o name | wc -l)" -eq 1 ]
}

# JOB: lets its pods succeed, and tests that everything made for it is deleted
ends()
{
	kube -n "$ns" annotate pods -l "aisched.io/job-id=$1" --overwrite \
		sim.aisched.io/runtime=100ms >/dev/null
	wait_for nothing_is_left
}

cat >"$dir/policy" <<-END
	{"apiVersion": "audit.k8s.io/v1", "kind": "Policy",
	"omitStages": ["RequestReceived", "ResponseStarted"],
	"rules": [{"level": "Metadata"}]}
END
ok "a control plane starts" kube_start --audit-log-path="$audit" \
	--audit-policy-file="$dir/policy" || bail "there is no control plane"
ok "with nodes" eval "kwok_start && kube_nodes 4 gpu 8"
kube create namespace "$ns" >/dev/null

configure "
queue default { grace = \"2s\" }
pool gpu { runner = kubernetes  kubeconfig = \"$kube/admin.conf\"
	namespace = \"$ns\"  image = \"local/box:1\"  run_as_root = yes
	device_driver = \"gpu.test\" }"
start_daemon || bail "aischedd does not start"

id=$(aisub --parsable --wrap true)
ok "a job runs" wait_for is_state "$id" RUNNING
calls_are "that took a list of each kind, and four calls" <<-END
	1 create jobs
	1 create pods/binding
	1 create secrets
	1 list deviceclasses
	1 list jobs
	1 list noderesourcetopologies
	1 list nodes
	1 list persistentvolumeclaims
	1 list persistentvolumes
	1 list pods
	1 list resourceclaims
	1 list resourceclaimtemplates
	1 list resourceslices
	1 list services
	1 list storageclasses
END
ok "it ends" ends "$id"
ok "and goes at once" goes_at_once
calls_are "with two calls" <<-END
	1 delete jobs
	1 get pods/log
END

id=$(aisub --parsable --port web=80 --wrap true)
ok "a job with a port runs" wait_for is_state "$id" RUNNING
calls_are "that took one call more" <<-END
	1 create jobs
	1 create pods/binding
	1 create secrets
	1 create services
END
ok "it ends" ends "$id"
calls_are "with one call more" <<-END
	1 delete jobs
	1 delete services
	1 get pods/log
END

id=$(aisub --parsable -n 4 --wrap true)
ok "a gang runs" wait_for is_state "$id" RUNNING
calls_are "that took a call a pod, and three" <<-END
	1 create jobs
	4 create pods/binding
	1 create secrets
	1 create services
END
aicancel "$id"
ok "it is cancelled" wait_for nothing_is_left
ok "and goes at once" goes_at_once
calls_are "with two calls a pod, and one" <<-END
	1 delete jobs
	4 get pods/log
	4 patch pods
END

id=$(aisub --parsable --array 1-10 --wrap true)
ok "an array runs" wait_for 'running 10'
calls_are "that took two calls a task, and one" <<-END
	10 create jobs
	10 create pods/binding
	1 create secrets
END
aicancel "$id"
ok "it is cancelled, too" wait_for nothing_is_left
calls_are "with three calls a task, and one" <<-END
	10 delete jobs
	1 delete secrets
	10 get pods/log
	10 patch pods
END

blocker=$(aisub --parsable -n 3 --gpus-per-task 8 --wrap true)
ok "three nodes are taken" wait_for is_state "$blocker" RUNNING
id=$(aisub --parsable -n 2 --min-tasks 1 --gpus-per-task 8 --wrap true)
ok "half an elastic job runs" wait_for is_state "$id" RUNNING
calls >/dev/null
counted=$((counted + $(wc -l <"$dir/new")))
aicancel "$blocker"
ok "it grows" wait_for running_pods "$id" 2
calls_are "by a call, and one a pod" <<-END
	1 create pods/binding
	1 delete jobs
	3 get pods/log
	1 patch jobs
	3 patch pods
END
aicancel "$id"
ok "nothing is left" wait_for nothing_is_left

# Whether the daemon knows the node whose GPUs are devices of a DRA driver.
gpus_are_shown()
{
	aiq --nodes --no-header -o name,gpus | grep -Eq '^dra-0 +2'
}
kube_nodes 1 dra 0
kube_slice dra-0 1 1 a gpu-0:0:0 gpu-1:0:0
ok "a node shows GPUs by name" wait_for gpus_are_shown
calls >/dev/null
counted=$((counted + $(wc -l <"$dir/new")))
id=$(aisub --parsable --gpus-per-task 2 --nodelist dra-0 --wrap true)
ok "a job whose GPUs are named runs" wait_for is_state "$id" RUNNING
calls_are "that took two calls more" <<-END
	1 create jobs
	1 create pods/binding
	1 create resourceclaims
	1 create secrets
	1 update resourceclaims/status
END
aicancel "$id"
ok "it is gone" wait_for nothing_is_left
calls_are "with none more" <<-END
	1 delete jobs
	1 get pods/log
	1 patch pods
END
id=$(aisub --parsable -n 2 --gpus-per-task 1 --nodelist dra-0 --wrap true)
ok "a gang of such tasks runs" wait_for is_state "$id" RUNNING
calls_are "that took two calls more, and one a pod" <<-END
	1 create jobs
	2 create pods/binding
	1 create resourceclaims
	1 create secrets
	1 create services
	2 patch pods/status
	1 update resourceclaims/status
END

# METRIC: prints its value
metric()
{
	aictl metrics | awk -v metric="$1" '$1 == metric { print $2 }'
}
ok "calls are counted by verb and code" [ "$(metric \
	'aisched_kube_requests_total{pool="gpu",verb="POST",code="2xx"}')" \
	-gt 10 ]
ok "it is told that the watches are alive" test "$(metric \
	'aisched_kube_watch_age_seconds{pool="gpu"}' | cut -d. -f1)" -lt 300
done_testing

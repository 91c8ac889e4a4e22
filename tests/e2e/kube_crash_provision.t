#!/bin/sh
# The daemon is killed between any two of its calls about ProvisioningRequests.
# When the daemon runs again, nothing has been made twice, and what is no longer
# wanted is deleted.

. "$top_srcdir/tests/e2e/lib.sh"
. "$top_srcdir/tests/kube/control_plane.sh"

ns="team"
. "$top_srcdir/tests/kube/killed.sh"

requests=/apis/autoscaling.x-k8s.io/v1/namespaces/$ns/provisioningrequests

ok "a control plane starts" kube_start || bail "there is no control plane"
kwok_start
kube create namespace "$ns" >/dev/null
kube apply -f "$top_srcdir/tests/kube/provisioningrequests.yaml" >/dev/null
kube wait --for condition=Established --timeout=60s \
	crd/provisioningrequests.autoscaling.x-k8s.io >/dev/null
between_start

configure "
queue default { grace = \"1s\" }
pool gpu { runner = kubernetes  kubeconfig = \"$kube/between.conf\"
	namespace = \"$ns\"  image = \"local/box:1\"  run_as_root = yes }
scale burst { max = 2  cpus = 64  memory = \"512G\"  gpus = 8
	labels = {\"group=burst\"}  delay = \"1h\"  by = provisioning }"
start_daemon || bail "aischedd does not start"

# Prints the kinds of all objects that ask for nodes, one per line.
asking()
{
	list "$batch/jobs" "$api/podtemplates" "$requests" >"$dir/asking" &&
		sort "$dir/asking"
}

# Whether there is one request, with one template and one Job.
asks()
{
	[ "$(asking | xargs)" = "Job PodTemplate ProvisioningRequest" ]
}

nothing_asks()
{
	left=$(asking) && [ -z "$left" ]
}

is_over()
{
	is_state "$new" CANCELLED && nothing_asks
}

# Sets $failed to the name of the request, and lets it fail, as an autoscaler
# would.
fail()
{
	failed=$(table "$requests" metadata:name)
	$k patch provisioningrequest --subresource=status --type=merge \
		"$failed" -p '{"status": {"conditions": [{"type": "Failed",
		"status": "True", "message": "no such machines"}]}}'
}

# Whether the request that failed is given back, and the daemon knows: it has
# told the job, or has forgotten it and asked again.
is_given_back()
{
	now=$(table "$requests" metadata:name) && [ "$now" != "$failed" ] && {
		[ -n "$now" ] || aiq --no-header -o reason_text "$new" |
			grep -q "no such machines"
	}
}

request()
{
	submit_armed -n 2 --gpus-per-task 8 --wrap true
	reaches "a gang asks for nodes" asks
	armed fail
	reaches "its request fails" is_given_back
	armed aicancel "$new"
	reaches "it is cancelled" is_over
	# The next daemon does not wait after that failure.
	# shellcheck disable=SC2119 # restart takes options
	restart
}
each_call request

done_testing

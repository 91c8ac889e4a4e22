#!/bin/sh
# Nodes that an autoscaler adds for ProvisioningRequests: a gang is asked for as a
# whole, and the request is given back when its nodes come, when nothing needs
# them or when it fails. Here the test makes the nodes and the conditions, as the
# autoscaler would.

. "$top_srcdir/tests/e2e/lib.sh"
. "$top_srcdir/tests/kube/control_plane.sh"

ns="jobs"
k="kube --namespace $ns"

ok "a control plane starts" kube_start || bail "there is no control plane"
ok "with a node" eval "kwok_start && kube_nodes 1 first 8 group=burst"
kube create namespace "$ns" >/dev/null

$k create serviceaccount daemon >/dev/null
kube create clusterrolebinding daemon --clusterrole=daemon \
	--serviceaccount="$ns:daemon" >/dev/null
kube_account "$ns" daemon "$kube/daemon.conf"
pool="
queue default { grace = \"1s\"  pools = {\"gpu\"} }
queue here { grace = \"1s\"  pools = {\"here\"} }
pool gpu { runner = kubernetes  kubeconfig = \"$kube/daemon.conf\"
	namespace = \"$ns\"  image = \"local/box:1\"  run_as_root = yes }
pool here { runner = local }"
burst="pool = gpu  max = 3  cpus = 64  memory = \"512G\"  gpus = 8
	labels = {\"group=burst\"}  by = provisioning"

# RULE...: gives the daemon these rights, beside those that any job needs
rights()
{
	kube apply -f - >/dev/null <<-END
		{"apiVersion": "rbac.authorization.k8s.io/v1",
		"kind": "ClusterRole", "metadata": {"name": "daemon"}, "rules": [
		{"apiGroups": ["batch", "coordination.k8s.io", "events.k8s.io",
			"resource.k8s.io", "storage.k8s.io"],
			"resources": ["*"], "verbs": ["*"]},
		{"apiGroups": [""], "resources": ["nodes", "pods", "pods/binding",
			"pods/log", "secrets", "services", "persistentvolumes",
			"persistentvolumeclaims"], "verbs": ["*"]} $*]}
	END
}

crd()
{
	kube apply -f "$top_srcdir/tests/kube/provisioningrequests.yaml" \
		>/dev/null
	kube wait --for condition=Established --timeout=60s \
		crd/provisioningrequests.autoscaling.x-k8s.io >/dev/null
}

# Prints the names and states of the cluster's nodes.
nodes()
{
	aiq --nodes --no-header -o pool,name,state | tr -s ' ' |
		sed -n 's/^ *gpu //p' | sort | xargs
}

nodes_are()
{
	[ "$(nodes)" = "$1" ]
}

# PATH: prints a field of all requests
request()
{
	$k get provisioningrequests -o "jsonpath={.items[*]$1}"
}

# N: whether there is one request, for N pods
asks_for()
{
	[ "$(request .spec.podSets[0].count)" = "$1" ]
}

nothing_asks()
{
	[ -z "$($k get jobs,podtemplates,provisioningrequests -o name)" ]
}

# JOB TEXT: whether the job waits for nodes, and says this
says()
{
	told=$(aiq --no-header -o reason,reason_text "$1")
	case $told in NodesComing*"$2"*) ;; *) false ;; esac
}

# TEXT: whether the pool says this
pool_says()
{
	aictl status | grep -qF "Pool 'gpu': $1"
}

# TEXT: whether the pool says this, the job too, and no pool anything else
both_say()
{
	pool_says "$1" && says "$job" "$1" &&
		[ "$(aictl status | grep -o "Pool '" | wc -l)" -eq 1 ]
}

pool_is_well()
{
	! pool_says ""
}

# TASKS: submits a job that needs a node for each task; prints its id
nodes_job()
{
	aisub --parsable -q default -n "$1" --gpus-per-task 8 -c 1 --mem 1G -t 10m --wrap true
}

# TYPE MESSAGE: sets this condition of the request, as an autoscaler would
condition()
{
	$k patch provisioningrequest --subresource=status --type=merge \
		"$(request .metadata.name)" -p "{\"status\": {\"conditions\": [
		{\"type\": \"$1\", \"status\": \"True\", \"message\": \"$2\"}]}}" \
		>/dev/null
}

# DELAY: gives the configuration that delay
delay()
{
	configure "$pool
scale burst { $burst  delay = \"$1\" }"
	aictl reload >/dev/null
}

rights
configure "$pool
scale burst { $burst  delay = \"1h\" }"
start_daemon || bail "aischedd does not start"
free="burst-2 POWERED_DOWN burst-3 POWERED_DOWN first-0 IDLE"
ok "a node with the labels is one of the template" wait_for nodes_are "$free"

# --- a cluster that refuses -------------------------------------------------------

may="user 'system:serviceaccount:$ns:daemon' may not"
templates=', {"apiGroups": [""], "resources": ["podtemplates"],
	"verbs": ["create"]}'
# VERB...: a rule for ProvisioningRequests
requests()
{
	echo "$templates, {\"apiGroups\": [\"autoscaling.x-k8s.io\"], \"resources\":
		[\"provisioningrequests\"], \"verbs\": [$1]}"
}

job=$(nodes_job 3)
ok "without a right for templates of pods, pool and job say so" \
	wait_for both_say "$may create podtemplates"
ok "nothing is left" wait_for nothing_asks
is "no nodes are being added" "$(nodes)" "$free"
is "other pools run jobs" "$(aisub -q here --wait --wrap 'exit 7' >/dev/null
	echo $?)" 7
one=$(nodes_job 1)
ok "as does the node that is there" wait_for is_state "$one" RUNNING
aicancel --wait "$one"
rights "$templates"
delay 2h
ok "without one for requests as well" wait_for both_say \
	"$may create provisioningrequests"
ok "nothing is left, either" wait_for nothing_asks
rights "$(requests '"create"')"
delay 1h
ok "as in a cluster without the CRD" wait_for both_say \
	"scale 'burst': the cluster has no ProvisioningRequests"
ok "where nothing is left" wait_for nothing_asks
crd
delay 2h

# --- a gang -------------------------------------------------------------------------

# One more than two: an autoscaler takes the free node for the first of them.
ok "a gang is asked for as a whole" wait_for asks_for 3
ok "if the daemon may not read the request, the pool says so" \
	wait_for pool_says "$may get provisioningrequests"
rights "$(requests '"get", "create"')"
ok "with that right the pool is well" wait_for pool_is_well
is "the autoscaler may try for twice the delay" \
	"$(request .spec.provisioningClassName) $(request .spec.parameters)" \
	'best-effort-atomic-scale-up.autoscaling.x-k8s.io {"ValidUntilSeconds":"14400"}'
is "it is for pods in the shape of a node" "$($k get podtemplate \
	"$(request .spec.podSets[0].podTemplateRef.name)" -o \
	'jsonpath={.template.spec.containers[0].resources.requests}' | jq -cS .)" \
	'{"cpu":"64","memory":"512Gi","nvidia.com/gpu":"8"}'
is "but there are none" "$($k get pods -o name)" ""
first=$(request .metadata.uid)
condition Accepted "wait"
kube_nodes 1 added 8 group=burst
ok "a node that comes takes a place" wait_for nodes_are \
	"added-0 IDLE burst-3 POWERING_UP first-0 IDLE"
# shellcheck disable=SC2119 # restart takes options
restart
ok "the next daemon knows the node that is being added" wait_for nodes_are \
	"added-0 IDLE burst-3 POWERING_UP first-0 IDLE"
is "the request stays" "$(request .metadata.uid)" "$first"
condition Provisioned "here they are"
kube_nodes 1 last 8 group=burst
ok "the gang runs on the nodes that came" wait_for is_state "$job" RUNNING
aicancel --wait "$job"
ok "and nothing is left of the request" wait_for nothing_asks
kube delete node last-0 added-0 >/dev/null
ok "nodes that the autoscaler removes can be added again" wait_for nodes_are "$free"

# --- requests that fail -----------------------------------------------------------

for end in Failed BookingExpired CapacityRevoked; do
	job=$(nodes_job 3)
	ok "a gang is asked for" wait_for asks_for 3
	condition "$end" "no such machines"
	ok "that it fails is what the job says ($end)" \
		wait_for says "$job" "$end: no such machines"
	ok "the request is given back" wait_for nothing_asks
	is "and its nodes" "$(nodes)" "$free"
	aicancel --wait "$job"
	# forget the failure, as its wait is hours
	# shellcheck disable=SC2119 # restart takes options
	restart
	wait_for nodes_are "$free"
	delay 1h
	delay 2h
done

# --- requests that are no longer wanted -------------------------------------------

job=$(nodes_job 3)
ok "another gang waits" wait_for asks_for 3
aicancel "$job"
ok "nothing is left when it is cancelled" wait_for nothing_asks
job=$(nodes_job 2)
ok "another" wait_for asks_for 2
first=$(request .metadata.uid)
aicancel "$job"
job=$(nodes_job 3)
ok "another number of nodes needs another request" wait_for asks_for 3
ok "which it is" [ "$(request .metadata.uid)" != "$first" ]
configure "$pool"
aictl reload
ok "nothing is left when the template is taken out" wait_for nothing_asks
delay 2h
ok "it asks again" wait_for asks_for 3
stop_daemon
# Make the deadline earlier, as the test cannot wait for it.
$k patch job -o name "$($k get jobs -o 'jsonpath={.items[0].metadata.name}')" \
	-p '{"spec": {"activeDeadlineSeconds": 1}}' >/dev/null
ok "if no daemon runs, the cluster removes the request" wait_for nothing_asks

done_testing

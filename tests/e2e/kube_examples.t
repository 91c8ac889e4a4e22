#!/bin/sh
# The examples of Kubernetes' documentation about where pods run, as Jobs in a
# queue: each runs where the documentation says, or is refused with a sentence
# that names the field.

. "$top_srcdir/tests/e2e/lib.sh"
. "$top_srcdir/tests/kube/control_plane.sh"

k="kube --namespace jobs"
hostname=kubernetes.io/hostname zone=topology.kubernetes.io/zone
must=requiredDuringSchedulingIgnoredDuringExecution
would=preferredDuringSchedulingIgnoredDuringExecution
jobs=$dir/jobs.yaml expected=$dir/expected

# NAME EXPECTED TITLE [LINE]...: adds an example to $jobs. EXPECTED is the node
# of each pod, or "!" and a part of the refusal. Each LINE is a field of the
# Job, stdin has fields of its pods, and $labels has labels of the pods.
example()
{
	printf '%s\t%s\t%s\n' "$1" "$2" "$3" >>"$expected"
	cat >"$dir/pod"
	{
		cat <<-END
			---
			apiVersion: batch/v1
			kind: Job
			metadata: {name: $1, labels: {aisched.io/queue: team}}
			spec:
			  suspend: true
			  template:
			    metadata: {labels: {app: $1, ${labels-}}}
			    spec:
			      schedulerName: aisched
			      terminationGracePeriodSeconds: 1
		END
		grep -q ^restartPolicy "$dir/pod" ||
			echo "      restartPolicy: Never"
		grep -q ^containers "$dir/pod" ||
			echo "      containers: [{name: a, image: a}]"
		sed 's/^/      /' "$dir/pod"
		shift 3
		for line; do
			echo "  $line"
		done
	} >>"$jobs"
}

# Stores the pods, a line each: Job, phase and node; and the refusals: Job and
# sentence.
look()
{
	$k get pods -o 'jsonpath={range .items[*]}{.metadata.labels.app} '\
'{.status.phase} {.spec.nodeName}{"\n"}{end}' | sort >"$dir/pods"
	$k get events.events.k8s.io -o json | jq -r '.items[] |
		select(.reason == "Refused") | "\(.regarding.name) \(.note)"' \
		>"$dir/refused"
}

# NAME: prints the nodes of its running pods
nodes_of()
{
	awk -v app="$1" '$1 == app && $2 == "Running" {
		printf "%s%s", sep, $3
		sep = " "
	}' "$dir/pods"
}

# Whether each example is refused, or runs with as many pods as expected.
are_settled()
{
	look
	while IFS='	' read -r name want title; do
		grep -q "^$name " "$dir/refused" && continue
		[ "${want#!}" = "$want" ] &&
			[ "$(nodes_of "$name" | wc -w)" = \
				"$(echo "$want" | wc -w)" ] || return 1
	done <"$expected"
}

# Makes the Jobs of $jobs, and checks each of them.
check_examples()
{
	$k create -f "$jobs" >/dev/null || bail "examples are malformed"
	ok "examples run or are refused" wait_for are_settled
	while IFS='	' read -r name want title; do
		case $want in
		!*) like "$title: refused" \
			"$(grep "^$name " "$dir/refused")" "${want#!}" ;;
		*) is "$title" "$(nodes_of "$name")" "$want" ||
			diag "$(grep "^$name " "$dir/refused")" ;;
		esac
	done <"$expected"
	rm -f "$jobs" "$expected"
}

# NAME PATH: prints a field of a Job
job_says()
{
	$k get job "$1" -o "jsonpath={$2}"
}

# NAME: prints the id of its job
id_of()
{
	job_says "$1" '.metadata.labels.aisched\.io/job-id'
}

# NAME FIELD: prints a field of its job
field()
{
	aiq --no-header -o "$2" "$(id_of "$1")" | xargs
}

ok "a control plane starts" kube_start || bail "there is no control plane"
kube_taints=
ok "with nodes in three zones" eval "kwok_start &&
	kube_nodes 1 any 0 $zone=zoneC &&
	kube_nodes 1 ssd 0 $zone=antarctica-east1 disktype=ssd label-1=key-1 &&
	kube_nodes 1 west 0 $zone=antarctica-west1 label-2=key-2 \
		another-node-label-key=another-node-label-value"
kube_taints='{"key": "key1", "value": "value1", "effect": "NoSchedule"}'
ok "and one that is tainted" kube_nodes 1 tainted 0 $zone=zoneC
kube_taints='{"key": "os", "value": "windows", "effect": "NoSchedule"}'
ok "and one of another system" kube_nodes 1 win 0 $zone=zoneC \
	kubernetes.io/os=windows
kube patch node ssd-0 --subresource=status -p '{"status": {"allocatable":
	{"ephemeral-storage": "100Gi"}}}' >/dev/null
kube create namespace jobs >/dev/null
kube create -f - >/dev/null <<END
{"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
	"metadata": {"name": "high-priority"}, "value": 1000000}
END
# Its first Job is made at the next full minute, so make it now.
$k create -f - >/dev/null <<END
apiVersion: batch/v1
kind: CronJob
metadata: {name: hello}
spec:
  schedule: "* * * * *"
  concurrencyPolicy: Forbid
  jobTemplate:
    metadata: {labels: {aisched.io/queue: team, cron: hello},
      annotations: {aisched.io/hold: "yes"}}
    spec:
      suspend: true
      template:
        metadata: {labels: {app: hello}}
        spec:
          schedulerName: aisched
          restartPolicy: OnFailure
          terminationGracePeriodSeconds: 1
          containers: [{name: a, image: a}]
END
configure "
class urgent { priority = 9  priority_class = \"high-priority\" }
queue team { grace = \"1s\"  users = {\"k8s:jobs\"} }
topology { levels = {\"zone\"} }
pool k { runner = kubernetes  kubeconfig = \"$kube/admin.conf\"
	namespace = \"jobs\"  image = \"local/box:1\"  run_as_root = yes }
scheduling { start_timeout = \"120s\" }"
start_daemon || bail "aischedd does not start"
has_nodes()
{
	[ "$(aiq --nodes --no-header -o state | grep -ci idle)" = 5 ]
}
ok "its nodes are seen" wait_for has_nodes

# --- assign pods to nodes -----------------------------------------------------

example selector "ssd-0" "a node by its label" <<END
nodeSelector: {disktype: ssd}
END
example by-name "!spec.template.spec.nodeName is set" "a node by its name" <<END
nodeName: ssd-0
END
example required "ssd-0" "required affinity" <<END
affinity: {nodeAffinity: {$must: {nodeSelectorTerms: [
  {matchExpressions: [{key: disktype, operator: In, values: [ssd]}]}]}}}
END
example preferred "ssd-0" "preferred affinity" <<END
affinity: {nodeAffinity: {$would: [{weight: 1, preference:
  {matchExpressions: [{key: disktype, operator: In, values: [ssd]}]}}]}}
END
example zones "west-0" "zones, and a preference among their nodes" <<END
affinity:
  nodeAffinity:
    $must: {nodeSelectorTerms: [{matchExpressions: [{key: $zone,
      operator: In, values: [antarctica-east1, antarctica-west1]}]}]}
    $would: [{weight: 1, preference: {matchExpressions: [{
      key: another-node-label-key, operator: In,
      values: [another-node-label-value]}]}}]
END
example weights "west-0" "preferences with weights" <<END
affinity:
  nodeAffinity:
    $must: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/os,
      operator: In, values: [linux]}]}]}
    $would:
    - {weight: 1, preference: {matchExpressions: [{key: label-1,
       operator: In, values: [key-1]}]}}
    - {weight: 50, preference: {matchExpressions: [{key: label-2,
       operator: In, values: [key-2]}]}}
END
example fields "!nodeAffinity: matchFields is not supported" \
	"affinity by fields" <<END
affinity: {nodeAffinity: {$must: {nodeSelectorTerms: [
  {matchFields: [{key: metadata.name, operator: In, values: [ssd-0]}]}]}}}
END
example gates "!its pods have schedulingGates" "scheduling gates" <<END
schedulingGates: [{name: example.com/foo}, {name: example.com/bar}]
END

# --- taints and tolerations ---------------------------------------------------

example untolerated "!taint" "a tainted node" <<END
nodeSelector: {kubernetes.io/os: windows}
END
example windows "win-0" "a tainted node, tolerated" <<END
nodeSelector: {kubernetes.io/os: windows}
tolerations: [{key: os, operator: Equal, value: windows, effect: NoSchedule}]
END
example exists "tainted-0" "any value of a taint" <<END
nodeSelector: {$hostname: tainted-0}
tolerations: [{key: key1, operator: Exists, effect: NoSchedule}]
END
example seconds "tainted-0" "two effects, one for a time" <<END
nodeSelector: {$hostname: tainted-0}
tolerations:
- {key: key1, operator: Equal, value: value1, effect: NoSchedule}
- {key: key1, operator: Equal, value: value1, effect: NoExecute,
   tolerationSeconds: 3600}
END
example unreachable "ssd-0" "a node that is lost" <<END
nodeSelector: {disktype: ssd}
tolerations: [{key: node.kubernetes.io/unreachable, operator: Exists,
  effect: NoExecute, tolerationSeconds: 6000}]
END
example every "!tolerations: one is of every taint" "every taint" <<END
tolerations: [{operator: Exists}]
END

# --- topology spread ------------------------------------------------------------

three="parallelism: 3" of_three="completions: 3"
labels="foo: bar"
own="labelSelector: {matchLabels: {foo: bar}},
  matchLabelKeys: [batch.kubernetes.io/job-name]"
example others "!topologySpreadConstraints: it may count pods of others" \
	"spread that counts other pods" "$three" "$of_three" <<END
topologySpreadConstraints:
- {maxSkew: 1, topologyKey: $zone, whenUnsatisfiable: DoNotSchedule,
   labelSelector: {matchLabels: {foo: bar}}}
END
example even "any-0 ssd-0 west-0" "spread" "$three" "$of_three" <<END
topologySpreadConstraints:
- {maxSkew: 1, topologyKey: $zone, whenUnsatisfiable: DoNotSchedule, $own}
END
example twice "!only one with DoNotSchedule is supported" \
	"spread over two levels" "$three" "$of_three" <<END
topologySpreadConstraints:
- {maxSkew: 1, topologyKey: $zone, whenUnsatisfiable: DoNotSchedule, $own}
- {maxSkew: 1, topologyKey: $hostname, whenUnsatisfiable: DoNotSchedule, $own}
END
example without "ssd-0 west-0" "spread over zones but one" \
	"parallelism: 2" "completions: 2" <<END
topologySpreadConstraints:
- {maxSkew: 1, topologyKey: $zone, whenUnsatisfiable: DoNotSchedule, $own}
affinity: {nodeAffinity: {$must: {nodeSelectorTerms: [
  {matchExpressions: [{key: $zone, operator: NotIn, values: [zoneC]}]}]}}}
END
example anyway "any-0 ssd-0 west-0" "preferred spread" "$three" "$of_three" <<END
topologySpreadConstraints:
- {maxSkew: 1, topologyKey: $zone, whenUnsatisfiable: ScheduleAnyway, $own}
END
example domains "!topologySpreadConstraints: minDomains is not supported" \
	"a least number of domains" "$three" "$of_three" <<END
topologySpreadConstraints:
- {maxSkew: 1, minDomains: 3, topologyKey: $zone,
   whenUnsatisfiable: DoNotSchedule, $own}
END
labels=

# --- resources ------------------------------------------------------------------

# The documentation's namespaces have no defaults for these.
example memory "ssd-0" "requests and limits" <<END
nodeSelector: {disktype: ssd}
containers:
- {name: a, image: a, resources: {requests: {memory: 100Mi, cpu: 500m},
   limits: {memory: 200Mi, cpu: 1}}}
END
example limits "ssd-0" "limits that are requests" <<END
nodeSelector: {disktype: ssd}
containers:
- {name: a, image: a, resources: {limits: {memory: 1000Mi, cpu: 2}}}
END
example whole "ssd-0" "requests of the whole pod" <<END
nodeSelector: {disktype: ssd}
resources: {requests: {memory: 150Mi, cpu: 1}, limits: {memory: 200Mi, cpu: 1}}
containers: [{name: a, image: a, resources: {requests: {memory: 50Mi,
  cpu: 500m}, limits: {memory: 100Mi, cpu: 500m}}}, {name: b, image: b}]
END
example inits "ssd-0" "init containers, and a sidecar" <<END
nodeSelector: {disktype: ssd}
initContainers:
- {name: install, image: a, resources: {requests: {memory: 300Mi, cpu: 3}}}
- {name: logs, image: a, restartPolicy: Always, resources: {requests:
   {memory: 100Mi, cpu: 1}}}
containers: [{name: a, image: a, resources: {requests: {memory: 100Mi,
  cpu: 1}}}]
volumes: [{name: data, emptyDir: {}}]
END
example disk "ssd-0" "ephemeral storage" <<END
nodeSelector: {disktype: ssd}
containers:
- {name: a, image: a, resources: {requests: {ephemeral-storage: 2Gi},
   limits: {ephemeral-storage: 4Gi}}}
- {name: b, image: b, resources: {requests: {ephemeral-storage: 2Gi},
   limits: {ephemeral-storage: 4Gi}}}
volumes: [{name: data, emptyDir: {sizeLimit: 500Mi}}]
END
example extended "!does not count resource 'example.com/dongle'" \
	"an extended resource" <<END
containers:
- {name: a, image: a, resources: {requests: {example.com/dongle: 3},
   limits: {example.com/dongle: 3}}}
END
example huge "!does not count resource 'hugepages-2Mi'" "huge pages" <<END
containers:
- {name: a, image: a, resources: {limits: {hugepages-2Mi: 100Mi,
   memory: 100Mi}}}
END
example claims "!ResourceClaimTemplate 'gpu' does not exist" "claims of devices" <<END
resourceClaims: [{name: gpu, resourceClaimTemplateName: gpu}]
containers: [{name: a, image: a, resources: {claims: [{name: gpu}]}}]
END
example ports "!ports of hosts are not supported" "ports of the node" <<END
containers: [{name: a, image: a, ports: [{containerPort: 80, hostPort: 80}]}]
END
example priority "ssd-0" "a PriorityClass" <<END
nodeSelector: {disktype: ssd}
priorityClassName: high-priority
END

# --- volumes --------------------------------------------------------------------

kube create -f - >/dev/null <<END
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: local-storage}
provisioner: kubernetes.io/no-provisioner
volumeBindingMode: WaitForFirstConsumer
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: example-pv}
spec:
  capacity: {storage: 100Gi}
  volumeMode: Filesystem
  accessModes: [ReadWriteOnce]
  persistentVolumeReclaimPolicy: Delete
  storageClassName: local-storage
  local: {path: /mnt/disks/ssd1}
  nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [
    {key: $hostname, operator: In, values: [west-0]}]}]}}
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: task-pv-volume}
spec:
  storageClassName: manual
  capacity: {storage: 10Gi}
  accessModes: [ReadWriteOnce]
  hostPath: {path: /mnt/data}
END
$k create -f - >/dev/null <<END
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: local}
spec:
  storageClassName: local-storage
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 50Gi}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: task-pv-claim}
spec:
  storageClassName: manual
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 3Gi}}
END
example local "west-0" "a local volume" <<END
volumes: [{name: v, persistentVolumeClaim: {claimName: local}}]
END
example path "ssd-0" "a volume that every node has" <<END
nodeSelector: {disktype: ssd}
volumes: [{name: v, persistentVolumeClaim: {claimName: task-pv-claim}}]
END
example scratch "!ephemeral volumes are not supported" "a volume as long as the pod" <<END
volumes: [{name: v, ephemeral: {volumeClaimTemplate: {spec: {
  accessModes: [ReadWriteOnce], storageClassName: scratch,
  resources: {requests: {storage: 1Gi}}}}}}]
END

# --- Jobs -----------------------------------------------------------------------

example pi "ssd-0" "a Job" "backoffLimit: 4" <<END
nodeSelector: {disktype: ssd}
END
example indexed "ssd-0 ssd-0 ssd-0" "an indexed Job" "completions: 5" \
	"$three" "completionMode: Indexed" <<END
nodeSelector: {disktype: ssd}
END
example workers "ssd-0 ssd-0" "workers with a queue" "parallelism: 2" <<END
nodeSelector: {disktype: ssd}
restartPolicy: OnFailure
END
example items "ssd-0 ssd-0" "workers with a pod for each item" \
	"completions: 4" "parallelism: 2" <<END
nodeSelector: {disktype: ssd}
restartPolicy: OnFailure
END
example failing "ssd-0 ssd-0" "a policy for pods that fail" \
	"completions: 4" "parallelism: 2" \
	"podFailurePolicy: {rules: [{action: FailJob, onExitCodes:
    {containerName: a, operator: In, values: [42]}},
    {action: Ignore, onPodConditions: [{type: DisruptionTarget}]}]}" <<END
nodeSelector: {disktype: ssd}
END
example limited "ssd-0 ssd-0 ssd-0" "a limit of failures for each index" \
	"$three" "completions: 10" "completionMode: Indexed" \
	"backoffLimitPerIndex: 1" "maxFailedIndexes: 5" <<END
nodeSelector: {disktype: ssd}
END
example leader "ssd-0 ssd-0 ssd-0" "a policy for success" \
	"$three" "$of_three" "completionMode: Indexed" \
	"successPolicy: {rules: [{succeededIndexes: '0', succeededCount: 1}]}" <<END
nodeSelector: {disktype: ssd}
END
example managed "!it is managed by 'kueue.x-k8s.io/multikueue'" \
	"a Job of another controller" \
	"managedBy: kueue.x-k8s.io/multikueue" </dev/null

# --- affinity between pods --------------------------------------------------------

labels="security: S1" example s1 "west-0" "a pod to be near to" <<END
nodeSelector: {$zone: antarctica-west1}
END
example store "any-0 ssd-0 west-0" "a store, each pod on a node of its own" \
	"$three" "$of_three" <<END
affinity: {podAntiAffinity: {$must: [{topologyKey: $hostname,
  labelSelector: {matchExpressions: [{key: app, operator: In,
  values: [store]}]}}]}}
END

check_examples

example near-s1 "west-0" "a pod in the zone of another" <<END
affinity:
  podAffinity:
    $must: [{topologyKey: $zone, labelSelector: {matchExpressions: [
      {key: security, operator: In, values: [S1]}]}}]
  podAntiAffinity:
    $would: [{weight: 100, podAffinityTerm: {topologyKey: $zone,
      labelSelector: {matchExpressions: [{key: security, operator: In,
      values: [S2]}]}}}]
END
example web "any-0 ssd-0 west-0" "a server on each node of the store" \
	"$three" "$of_three" <<END
affinity:
  podAntiAffinity: {$must: [{topologyKey: $hostname, labelSelector:
    {matchExpressions: [{key: app, operator: In, values: [web]}]}}]}
  podAffinity: {$must: [{topologyKey: $hostname, labelSelector:
    {matchExpressions: [{key: app, operator: In, values: [store]}]}}]}
END
example tenants "!podAntiAffinity: " "a zone for each tenant" <<END
affinity:
  podAntiAffinity: {$must: [{topologyKey: $zone, matchLabelKeys: [tenant],
    labelSelector: {matchExpressions: [{key: tenant, operator: Exists}]}}]}
END
example spaces "!podAffinity: namespaceSelector is not supported" \
	"pods of other namespaces" <<END
affinity:
  podAffinity: {$must: [{topologyKey: $zone, namespaceSelector: {},
    labelSelector: {matchLabels: {security: S1}}}]}
END

check_examples

wish_is_told()
{
	$k get events -o 'jsonpath={range .items[?(@.reason=="Queued")]}'\
'{.involvedObject.name}{" "}{.message}{"\n"}{end}' |
		grep -q "near-s1 .*preferred podAntiAffinity is ignored"
}
ok "a preference that is ignored is told" wait_for wish_is_told

# --- what the jobs ask for -------------------------------------------------------

is "requests count" "$(field memory cpus,mem_mib)" "0.5 100M"
is "limits, where nothing is requested" "$(field limits cpus,mem_mib)" "2 1000M"
is "requests of the whole pod" "$(field whole cpus,mem_mib)" "1 150M"
is "init containers, unless the others ask for more" \
	"$(field inits cpus,mem_mib)" "3 300M"
is "disk of both containers" "$(field disk tmp_mib)" 4G
is "the class of the priority" "$(field priority class)" urgent
is "the local volume" "$($k get pvc local -o 'jsonpath={.spec.volumeName}')" \
	example-pv

# --- how Jobs end -----------------------------------------------------------------

# LABELS [EXIT]: ends the pods with that exit status
end_pods()
{
	$k annotate pods -l "$1" --overwrite sim.aisched.io/runtime=100ms \
		sim.aisched.io/exit-code="${2:-0}" >/dev/null
}

# ID NAME STATE EXIT: whether the job has that state; if not, ends the pods of
# its Job that run now
ended()
{
	is_state "$1" "$3" && return
	end_pods "app=$2" "$4"
	return 1
}

# TITLE NAME STATE [EXIT]: ends the pods of the Job, also those that follow,
# until its job has that state
ends()
{
	ok "$1" wait_for ended "$(id_of "$2")" "$2" "$3" "${4:-0}"
}

# NAME COUNT: whether COUNT pods of the Job run
run()
{
	look
	[ "$(nodes_of "$1" | wc -w)" = "$2" ]
}

# The controller waits for seconds before it replaces a pod that failed.
pause_s=0.5
end_pods app=leader,batch.kubernetes.io/job-completion-index=0
end_pods app=failing 42
end_pods app=pi
pod=$($k get pods -l app=workers -o 'jsonpath={.items[0].metadata.name}')
$k annotate pod "$pod" sim.aisched.io/runtime=100ms >/dev/null
ok "its pod succeeds, and the Job" wait_for is_state "$(id_of pi)" COMPLETED
ok "the leader decides" wait_for is_state "$(id_of leader)" COMPLETED
ok "a failure fails the Job" wait_for is_state "$(id_of failing)" FAILED
is "as its policy says" "$(job_says failing \
	'.status.conditions[?(@.type=="Failed")].reason')" PodFailurePolicy
ok "when a worker succeeds, no other one begins" wait_for run workers 1
is "and the Job goes on" "$(state_of "$(id_of workers)")" RUNNING
ends "until the last one ends" workers COMPLETED
ends "pods follow until each item is done" items COMPLETED
is "on the same nodes" "$($k get pods -l app=items -o \
	'jsonpath={.items[*].spec.nodeName}')" "ssd-0 ssd-0 ssd-0 ssd-0"
ends "and until each index is" indexed COMPLETED
is "once" "$(job_says indexed .status.completedIndexes)" 0-4
ends "failures of indexes are limited" limited FAILED 1

# --- CronJobs ---------------------------------------------------------------------

cron_job()
{
	job=$(aiq --all --no-header -o display_id,name | awk '$2 ~ /^hello-/ {
		print $1, $2
	}')
	[ -n "$job" ]
}
cron_knows()
{
	[ "$($k get cronjob hello -o 'jsonpath={.status.active[*].name}')" = \
		"$1" ]
}
ok "a CronJob makes a Job in the queue" wait_for cron_job || bail "it does not"
id=${job%% *}
is "it waits" "$(aiq --no-header -o reason "$id")" JobHeldUser
ok "and its CronJob knows" wait_for cron_knows "${job##* }"
aictl release "$id" >/dev/null
ok "then it runs" wait_for run hello 1
end_pods app=hello
ok "and ends" wait_for is_state "$id" COMPLETED

done_testing

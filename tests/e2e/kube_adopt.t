#!/bin/sh
# Jobs made with kubectl: aischedd queues, explains, starts, preempts and ends
# them like any other job, and adopts each of them only once, whichever program
# is killed.

. "$top_srcdir/tests/e2e/lib.sh"
. "$top_srcdir/tests/kube/control_plane.sh"

ns="jobs"
k="kube --namespace $ns"

# NAME GPUS [SPEC [ANNOTATIONS [POD]]]: creates a Job in queue "team"
make_job()
{
	$k create -f - >/dev/null <<-END
		{"apiVersion": "batch/v1", "kind": "Job",
		"metadata": {"name": "$1", "labels": {
			"aisched.io/queue": "${queue:-team}"},
			"annotations": {${4-}}},
		"spec": {"suspend": true, ${3-} "template": {
			"metadata": {"labels": {"app": "$1"}},
			"spec": {"restartPolicy": "Never",
			"terminationGracePeriodSeconds": 1, ${5-}
			"schedulerName": "${scheduler:-aisched}",
			"containers": [{"name": "a", "image": "a",
				"resources": {"limits": {
				"nvidia.com/gpu": "$2"}}}]}}}}
	END
}

# NAME PATH: prints a field of a Job
job_says()
{
	$k get job "$1" -o "jsonpath={$2}"
}

# NAME: whether the Job has a job number; sets $id to the number
has_id()
{
	id=$(job_says "$1" '.metadata.labels.aisched\.io/job-id')
	[ -n "$id" ]
}

# NAME: waits until the Job has a job number, and prints the number
id_of()
{
	wait_for has_id "$1" && echo "$id"
}

# JOB FIELD: prints it as aiq shows it
field()
{
	aiq --no-header -o "$2" "$1"
}

# NAME [PATH]: prints a field of its pods, one a line
pods()
{
	$k get pods -l "app=$1" -o \
		"jsonpath={range .items[*]}{${2:-.metadata.name}}{'\n'}{end}" |
		sort
}

# NAME REASON: whether an Event about the Job has this reason; sets $note to its
# message
says()
{
	note=$($k get events.events.k8s.io -o json | jq -r --arg job "$1" \
		--arg reason "$2" '[.items[] | select(.regarding.kind == "Job"
		and .regarding.name == $job and .reason == $reason) | .note] |
		last // ""')
	[ -n "$note" ]
}

# NAME: whether the Job is suspended
is_suspended()
{
	[ "$(job_says "$1" .spec.suspend)" = true ]
}

no_job()
{
	! $k get job "$1" >/dev/null 2>&1
}

# NAME N: whether N of its pods run
has_pods()
{
	[ "$(pods "$1" .status.phase | grep -c Running)" = "$2" ]
}

# NAME EXIT: ends its pods with that exit status
end_pods()
{
	$k annotate pods -l "app=$1" --overwrite \
		sim.aisched.io/runtime=100ms sim.aisched.io/exit-code="$2" \
		>/dev/null
}

ok "a control plane starts" kube_start || bail "there is no control plane"
ok "with nodes" eval "kwok_start && kube_nodes 2 gpu 4"
kube create namespace "$ns" >/dev/null

configure "
class inference { users = {\"nobody\"} }
class night { priority = 7  priority_class = \"low\" }
queue default { grace = \"1s\" }
queue team { grace = \"1s\"  quota { gpus = 8 }  users = {\"k8s:jobs\",
	\"k8s:user:ann\"} }
queue others { grace = \"1s\"  users = {\"nobody\"} }
pool gpu { runner = kubernetes  kubeconfig = \"$kube/admin.conf\"
	namespace = \"$ns\"  image = \"local/box:1\"  run_as_root = yes
	priority_class = \"aisched-jobs\"
	user_annotation = \"aisched.io/user\" }
scheduling { start_timeout = \"30s\" }"
start_daemon || bail "aischedd does not start"
two_nodes()
{
	[ "$(aiq --nodes --no-header -o state | grep -ci idle)" = 2 ]
}
ok "its nodes are seen" wait_for two_nodes

# --- a Job that runs --------------------------------------------------------

make_job one 2
id=$(id_of one)
ok "a Job becomes a job" wait_for is_state "$id" RUNNING
is "of its namespace" "$(field "$id" user)" k8s:jobs
is "with its name" "$(field "$id" name)" one
is "in its queue" "$(field "$id" queue)" team
is "with what its pods ask for" "$(field "$id" gpus)" 2
is "its pod is on the node of the plan" "$(pods one .spec.nodeName)" \
	"$(field "$id" nodelist)"
ok "an Event says that it is queued" wait_for says one Queued
like "and as what" "$note" "job $id "
ok "and that it was started" wait_for says one Started
end_pods one 0
ok "it is completed" wait_for is_state "$id" COMPLETED
has_succeeded()
{
	[ "$(job_says "$1" .status.succeeded)" = 1 ]
}
ok "and stays to be looked at" wait_for has_succeeded one

# --- priorities ---------------------------------------------------------------

# JOB TEXT: whether `aiq JOB` prints TEXT
tells()
{
	aiq "$1" | grep -q "$2"
}

id=$(aisub --parsable -q default --wrap true)
ok "a job asks for the priority of its pool" wait_for tells "$id" \
	"no PriorityClass with name aisched-jobs"
kube apply -f "$top_srcdir/contrib/kubernetes/priority.yaml" >/dev/null
ok "once there is one, it runs" wait_for is_state "$id" RUNNING
is "with its priority, evicting nobody" "$($k get pods -l \
	"aisched.io/job-id=$id" -o \
	'jsonpath={.items[0].spec.priority} {.items[0].spec.preemptionPolicy}')" \
	"100000 Never"
aicancel "$id"

make_job low 0 "" "" '"priorityClassName": "low",'
id=$(id_of low)
is "a PriorityClass stands for a class" "$(field "$id" class)" night
make_job interactive 0 "" "" '"priorityClassName": "interactive",'
id=$(id_of interactive)
is "one of the same name, too" "$(field "$id" class)" interactive
make_job named 0 "" '"aisched.io/class": "train"' \
	'"priorityClassName": "interactive",'
id=$(id_of named)
is "a class that is named counts" "$(field "$id" class)" train
make_job inference 0 "" "" '"priorityClassName": "inference",'
ok "a class of others is refused" wait_for says inference Refused
like "which an Event says" "$note" "user 'k8s:jobs' may not use class 'inference'"
$k delete job low interactive named inference >/dev/null

make_job bad 1 '"backoffLimit": 0,'
id=$(id_of bad)
ok "another runs" wait_for is_state "$id" RUNNING
end_pods bad 7
ok "fails" wait_for is_state "$id" FAILED
is "as its pod did" "$(aiq --no-header -o exit "$id")" 7

# --- a gang, pods that are replaced -----------------------------------------

make_job gang 2 '"parallelism": 4, "completions": 4,
	"completionMode": "Indexed",'
id=$(id_of gang)
ok "a gang runs" wait_for is_state "$id" RUNNING
is "two on each node" "$(pods gang .spec.nodeName | uniq -c |
	awk '{ print $1 }' | tr '\n' ' ')" "2 2 "
node=$($k get pods -l app=gang,batch.kubernetes.io/job-completion-index=3 \
	-o 'jsonpath={.items[0].spec.nodeName}')
$k annotate pod -l app=gang,batch.kubernetes.io/job-completion-index=3 \
	sim.aisched.io/runtime=100ms sim.aisched.io/exit-code=1 >/dev/null
replaced()
{
	[ "$($k get pods \
		-l app=gang,batch.kubernetes.io/job-completion-index=3 \
		--sort-by=.status.phase -o "jsonpath={range .items[*]}\
{.status.phase} {.spec.nodeName}{'\n'}{end}")" = "Failed $1
Running $1" ]
}
ok "a pod that fails is replaced in its place" wait_for replaced "$node"
is "and the job goes on" "$(field "$id" state)" RUNNING

# --- a Job that waits, and its reason ---------------------------------------

make_job waits 4
waits=$(id_of waits)
ok "another one waits" wait_for is_state "$waits" PENDING
ok "an Event says why" wait_for says waits \
	"$(field "$waits" reason)"
like "in a sentence" "$note" "GPU"
ok "it stays suspended" is_suspended waits
is "without pods" "$(pods waits)" ""
like "describe shows it" "$($k describe job waits)" "aisched"

# --- Jobs that are requeued, suspended or preempted -------------------------

aictl requeue "$id" >/dev/null
ok "one that is requeued is suspended" wait_for says gang Requeued
ok "and runs again" wait_for is_state "$id" RUNNING
ok "with all its pods" eval 'wait_for has_pods gang 4'
aictl suspend "$id" >/dev/null
ok "one that is stopped is suspended" wait_for is_suspended gang
ok "which is told" wait_for says gang Preempted
ok "its pods are gone" wait_for has_pods gang 0
ok "and others run in its place" wait_for is_state "$waits" RUNNING
aicancel "$waits"
ok "one that is cancelled is deleted" wait_for no_job waits
ok "it is cancelled" wait_for is_state "$waits" CANCELLED
aictl resume "$id" >/dev/null
ok "the other one is resumed" wait_for is_state "$id" RUNNING
$k patch job gang -p '{"spec": {"suspend": true}}' >/dev/null
restarted()
{
	[ "$(field "$id" restarts)" = 2 ] && is_state "$id" RUNNING
}
ok "suspended by its owner, it waits for its turn again" wait_for restarted
$k delete job gang --wait=false >/dev/null
ok "deleted by its owner, it is cancelled" wait_for is_state "$id" CANCELLED

# --- time limits ------------------------------------------------------------

make_job long 1 '"activeDeadlineSeconds": 2,'
id=$(id_of long)
ok "one runs for longer than it may" wait_for is_state "$id" TIMEOUT
is "its Job says so, too" "$(job_says long \
	'.status.conditions[?(@.type=="Failed")].reason')" DeadlineExceeded

# --- a Job that its owner changes while it waits ------------------------------

make_job change 4 "" '"aisched.io/hold": "yes"'
id=$(id_of change)
# FIELD VALUE: whether the job has that value
has_field()
{
	[ "$(field "$id" "$1")" = "$2" ]
}
# PATTERN: whether a refusal of the Job has it
refuses()
{
	$k get events.events.k8s.io -o json | jq -r '.items[] |
		select(.regarding.name == "change" and .reason == "Refused") |
		.note' | grep -q "$1"
}
aictl update "$id" comment=mine
$k annotate job change aisched.io/time=9h >/dev/null
ok "a change is read" wait_for has_field time_limit 32400
ok "which is told" wait_for says change Changed
is "what it does not change stays" "$(field "$id" comment)" mine
$k annotate --overwrite job change aisched.io/time=never >/dev/null
ok "one that makes no sense is refused" wait_for refuses \
	"its change has no effect: aisched.io/time"
$k annotate --overwrite job change aisched.io/time=9h aisched.io/user=ann \
	>/dev/null
ok "and another user" wait_for refuses "user of a job cannot change"
$k annotate job change aisched.io/user- >/dev/null
is "the job is as it was" "$(field "$id" state,time_limit | xargs)" \
	"PENDING 32400"
stop_daemon
$k annotate --overwrite job change aisched.io/time=8h >/dev/null
start_daemon || bail "aischedd does not start again"
ok "one while no daemon runs is read later" wait_for has_field time_limit 28800
is "what it does not change stays again" "$(field "$id" comment)" mine
$k patch job change -p '{"spec": {"template": {"spec":
	{"nodeSelector": {"kubernetes.io/hostname": "gpu-1"}}}}}' >/dev/null
$k annotate job change aisched.io/hold- >/dev/null
ok "no longer held, it runs" wait_for is_state "$id" RUNNING
is "where its selector says" "$(pods change .spec.nodeName)" gpu-1
aicancel "$id"
ok "until it is cancelled" wait_for is_state "$id" CANCELLED

# --- Jobs that are refused --------------------------------------------------

make_job huge 64
ok "one that never fits is refused" wait_for says huge Refused
queue=nowhere make_job lost 1
ok "and one without a queue" wait_for says lost Refused
like "which is told" "$note" nowhere
queue=others make_job closed 1
ok "and one in a queue of others" wait_for says closed Refused
like "to whom it is told" "$note" k8s:jobs
queue=others make_job namesake 1 '' '"aisched.io/user": "nobody"'
ok "and one of whoever has the same name here" wait_for says namesake Refused
like "who is somebody else" "$note" k8s:user:nobody
make_job typo 1 '' '"aisched.io/tiem": "1h"'
ok "and one that says what nobody knows" wait_for says typo Refused
scheduler=default-scheduler make_job strange 1
ok "and one for another scheduler" wait_for says strange Refused
like "which is told what to do" "$note" "schedulerName"
like "the log says so" "$(cat "$log")" "job refuse job_of=jobs/strange"
is "none of them is a job" "$(aiq --all --no-header)" ""
$k label job huge aisched.io/queue- >/dev/null
$k delete job lost closed namesake typo strange >/dev/null

make_job of-ann 1 '' '"aisched.io/user": "ann", "aisched.io/hold": "yes"'
ann=$(id_of of-ann)
is "who made it is known where that is believed" "$(field "$ann" user)" \
	k8s:user:ann
is "what it says of itself holds" "$(field "$ann" reason)" JobHeldUser
aictl release "$ann" >/dev/null
ok "until that is over" wait_for is_state "$ann" RUNNING

# --- Jobs of another daemon -------------------------------------------------

$k create -f - >/dev/null <<END
	{"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "theirs",
	"labels": {"aisched.io/queue": "team", "aisched.io/cluster": "other"},
	"annotations": {"aisched.io/store": "other"}},
	"spec": {"suspend": true, "template": {"spec": {
		"schedulerName": "aisched", "restartPolicy": "Never",
		"containers": [{"name": "a", "image": "a"}]}}}}
END
make_job after 1
after=$(id_of after)
ok "a later one is taken" wait_for is_state "$after" RUNNING
is "one of another daemon is not" "$(job_says theirs \
	'.metadata.labels.aisched\.io/job-id')" ""

# --- the daemon is killed ---------------------------------------------------

kill_daemon
make_job meanwhile 1
make_job gone 1
$k delete job after --wait=false >/dev/null
start_daemon || bail "aischedd does not come back"
ok "one that ran goes on" wait_for is_state "$ann" RUNNING
is "as it did" "$(field "$ann" restarts)" 0
ok "one that was made meanwhile is taken" eval 'id_of meanwhile >/dev/null'
ok "one that was deleted meanwhile is cancelled" \
	wait_for is_state "$after" CANCELLED
first=$(id_of meanwhile)
ok "and runs" wait_for is_state "$first" RUNNING
kill_daemon
start_daemon || bail "aischedd does not come back"
end_pods of-ann 0
ok "the first one ends as if nothing had been" wait_for is_state "$ann" COMPLETED
is "no Job is taken twice" "$(id_of meanwhile)" "$first"
is "and no pod doubled" "$(pods meanwhile | wc -l)" 1
end_pods meanwhile 0
ok "the other one, too" wait_for is_state "$first" COMPLETED
kill_daemon
start_daemon || bail "aischedd does not come back"
make_job last 1
last=$(id_of last)
ok "another one is taken" wait_for is_state "$last" RUNNING
is "what has ended is not" "$(id_of meanwhile)" "$first"

# --- several namespaces -------------------------------------------------------

kube create namespace side >/dev/null
stop_daemon
sed -i -e 's/namespace = "jobs"/namespaces = {"jobs", "side"}/' "$conf"
echo 'queue side { grace = "1s"  namespace = "side" }' >>"$conf"
start_daemon || bail "aischedd does not start with two namespaces"
k="kube --namespace side"
queue=side make_job there 1
there=$(id_of there)
ok "a Job of another namespace runs" wait_for is_state "$there" RUNNING
is "it is of that one" "$(aiq -h -o user,namespace "$there" | tr -s ' ')" \
	"k8s:side side"
queue=team make_job astray 1
ok "one that names a queue of another one is refused" wait_for says astray \
	Refused
like "and told" "$note" "queue 'team' takes Jobs of namespace 'jobs' only"
queue=side make_job waits 1 "" '"aisched.io/hold": "yes"'
waits=$(id_of waits)
fails "nor can it move there" 1 "takes Jobs of namespace 'jobs' only" \
	aictl update "$waits" queue=default
own=$(aisub --parsable -q side -n 2 --wrap true)
ok "a job of aisub runs there" wait_for is_state "$own" RUNNING
is "in pods of that namespace" "$($k get pods -o name \
	-l "aisched.io/job-id=$own" | wc -l)" 2
like "which it shows" "$(aiq "$own")" "namespace *side"
is "what ran, runs" "$(state_of "$last")" RUNNING
kill_daemon
start_daemon || bail "aischedd does not come back"
has_states()
{
	[ "$(state_of "$there") $(state_of "$own") $(state_of "$last")" = "$*" ]
}
ok "a restart finds those of both" wait_for has_states \
	RUNNING RUNNING RUNNING
is "as they were" "$(field "$own" restarts) $(field "$there" restarts)" "0 0"

# --- a namespace that is taken out ------------------------------------------

stop_daemon
sed -i -e 's/namespaces = {"jobs", "side"}/namespace = "jobs"/' \
	-e 's/  namespace = "side"//' "$conf"
start_daemon || bail "aischedd does not start with one namespace"
queue=side make_job late 1
new=$(aisub --parsable -q side --wrap true)
ok "new jobs run elsewhere" wait_for is_state "$new" RUNNING
is "in the other namespace" "$($k get pods -o name \
	-l "aisched.io/job-id=$new" | wc -l)" 0
ok "those that ran go on" has_states RUNNING RUNNING RUNNING
end_pods there 0
ok "and end" wait_for is_state "$there" COMPLETED
is "a Job there is no longer taken" "$(job_says late \
	'.metadata.labels.aisched\.io/job-id')" ""
aicancel "$own" "$waits"
ok "others are cancelled" wait_for is_state "$own" CANCELLED
ok "and forgotten" wait_for no_job waits
is_left()
{
	[ ! -e "$dir/state/namespaces/gpu/side" ]
}
ok "then the daemon leaves the namespace" wait_for is_left

done_testing

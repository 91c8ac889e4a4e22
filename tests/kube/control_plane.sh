# shellcheck shell=sh
# control_plane.sh - run a real Kubernetes control plane for one test
#
#	. "$top_srcdir/tests/e2e/lib.sh"
#	. "$top_srcdir/tests/kube/control_plane.sh"
#	kube_start || bail "the control plane does not start"
#	kwok_start && kube_nodes 16 gpu 8
#	kube get nodes
#
# A test that sources this file is skipped if Kubernetes is missing (make
# kube-tools).
#
# All files are in $dir/kube. The kernel kills all parts when the shell that
# started them ends, however it ends, so never start one in a subshell. Each
# shell has its own address in 127/8, made from its process id; so ports are
# constants, and any number of control planes can run side by side.
#
# The parts are etcd, apiserver, controllers, scheduler and kwok. part_kill,
# part_hang and part_wake act on one of them, and PART_start starts it again.

kube_bin=$("${top_srcdir:?}/tests/kube/tools" --find 2>/dev/null) ||
	skip_all "no Kubernetes: make kube-tools"
kube=${dir:?}/kube
kube_ip=127.$((64 + ($$ >> 16))).$((($$ >> 8) & 255)).$(($$ & 255))
kube_url=https://$kube_ip:6443

mkdir -p "$kube"
# The control plane takes longer than aischedd alone.
# shellcheck disable=SC2034 # wait_for() uses both
deadline_s=120 pause_s=0.1
# Let Go collect garbage less often: these programs do not live long.
export GOGC="${GOGC:-300}"

# [WORD]...: runs kubectl as administrator
kube()
{
	KUBERC=off GOGC=off GOMAXPROCS=1 "$kube_bin/kubectl" \
		--kubeconfig "$kube/admin.conf" \
		--cache-dir "$kube/cache" "$@"
}

# --- parts -----------------------------------------------------------------

# PART COMMAND [WORD]...: starts the command as that part; its log is
# $kube/PART.log
part_start()
{
	part_name=$1
	shift
	setpriv --pdeathsig KILL "$@" </dev/null >>"$kube/$part_name.log" 2>&1 &
	echo $! >"$kube/$part_name.pid"
}

# PART: kills it, as in a crash
part_kill()
{
	part_pid=$(cat "$kube/$1.pid" 2>/dev/null) || return 0
	kill -KILL "$part_pid" 2>/dev/null
	wait "$part_pid" 2>/dev/null
	rm -f "$kube/$1.pid"
}

# PART: suspends it, so that it keeps its connections but does not answer
part_hang()
{
	kill -STOP "$(cat "$kube/$1.pid")"
}

part_wake()
{
	kill -CONT "$(cat "$kube/$1.pid")"
}

# PART: whether it is running
part_lives()
{
	grep -qs '^State:.[^Z]' "/proc/$(cat "$kube/$1.pid")/status"
}

# --- certificates ----------------------------------------------------------

# NAME SUBJECT [OPTION]...: makes $kube/NAME.crt and $kube/NAME.key
kube_cert()
{
	cert_name=$1
	cert_subject=$2
	shift 2
	openssl req -x509 -days 2 -subj "$cert_subject" -nodes \
		-newkey ec -pkeyopt ec_paramgen_curve:P-256 \
		-keyout "$kube/$cert_name.key" \
		-out "$kube/$cert_name.crt" "$@" \
		2>"$kube/openssl.err" && return
	cat "$kube/openssl.err" >&2
	return 1
}

# NAME SUBJECT [OPTION]...: makes a certificate signed by the cluster's CA
kube_signed()
{
	kube_cert "$@" -CA "$kube/ca.crt" -CAkey "$kube/ca.key" \
		-addext basicConstraints=critical,CA:FALSE
}

# FILE USER [URL]: writes a kubeconfig; USER is JSON
kube_config()
{
	(umask 077 && cat >"$1") <<-END
		{"apiVersion": "v1", "kind": "Config",
		"current-context": "test",
		"clusters": [{"name": "test", "cluster": {"server": "${3-$kube_url}",
			"certificate-authority": "$kube/ca.crt"}}],
		"users": [{"name": "user", "user": $2}],
		"contexts": [{"name": "test",
			"context": {"cluster": "test", "user": "user"}}]}
	END
}

# NAME SUBJECT: makes $kube/NAME.conf, a kubeconfig for that user
kube_user()
{
	kube_signed "$1" "$2" &&
		kube_config "$kube/$1.conf" "{\"client-key\": \"$kube/$1.key\",
			\"client-certificate\": \"$kube/$1.crt\"}"
}

# NAMESPACE ACCOUNT FILE: writes a kubeconfig with only the rights of that
# service account
kube_account()
{
	kube_token=$(kube --namespace "$1" create token "$2") &&
		kube_config "$3" "{\"token\": \"$kube_token\"}"
}

# Makes the certificates, for the names to which the API server grants its
# built-in rights.
kube_certs()
{
	kube_cert ca /CN=ca &&
		kube_signed server /CN=server \
			-addext "subjectAltName=IP:$kube_ip" &&
		kube_cert accounts /CN=accounts &&
		kube_user admin /O=system:masters/CN=admin &&
		kube_user controllers /CN=system:kube-controller-manager &&
		kube_user scheduler /CN=system:kube-scheduler
}

# --- the control plane -----------------------------------------------------

# [OPTION]...: starts the control plane, its API server with these options, and
# returns when pods can be made. After kube_stop its objects are still there
# shellcheck disable=SC2120 # tests pass some
kube_start()
{
	[ -f "$kube/scheduler.conf" ] || kube_certs || return 1
	etcd_start
	# shellcheck disable=SC2119
	{ apiserver_start "$@" && controllers_start; } || return 1
	wait_for kube get serviceaccount default || kube_failed controllers
}

kube_stop()
{
	for part_name in kwok scheduler controllers apiserver etcd; do
		part_kill "$part_name"
	done
}

# PART: prints the end of its log
kube_failed()
{
	tail -n 5 "$kube/$1.log" | cut -c 1-500 >&2
	return 1
}

# Starts etcd without fsync: the data need not survive a crash of the machine.
etcd_start()
{
	part_start etcd "$kube_bin/etcd" --data-dir "$kube/etcd" \
		--unsafe-no-fsync --log-level warn \
		--listen-client-urls "https://$kube_ip:2379" \
		--advertise-client-urls "https://$kube_ip:2379" \
		--client-cert-auth --trusted-ca-file "$kube/ca.crt" \
		--cert-file "$kube/server.crt" --key-file "$kube/server.key" \
		--listen-peer-urls "http://$kube_ip:2380" \
		--initial-advertise-peer-urls "http://$kube_ip:2380" \
		--initial-cluster "default=http://$kube_ip:2380"
}

# [OPTION]...: starts the API server and returns when it is ready
# shellcheck disable=SC2120 # tests pass some
apiserver_start()
{
	part_start apiserver "$kube_bin/kube-apiserver" \
		--bind-address="$kube_ip" --secure-port=6443 \
		--advertise-address=192.0.2.1 --endpoint-reconciler-type=none \
		--tls-cert-file="$kube/server.crt" \
		--tls-private-key-file="$kube/server.key" \
		--client-ca-file="$kube/ca.crt" \
		--etcd-servers="https://$kube_ip:2379" \
		--etcd-cafile="$kube/ca.crt" \
		--etcd-certfile="$kube/admin.crt" \
		--etcd-keyfile="$kube/admin.key" \
		--kubelet-client-certificate="$kube/admin.crt" \
		--kubelet-client-key="$kube/admin.key" \
		--kubelet-preferred-address-types=InternalIP \
		--service-account-issuer=https://kubernetes.default.svc \
		--service-account-key-file="$kube/accounts.crt" \
		--service-account-signing-key-file="$kube/accounts.key" \
		--service-cluster-ip-range=10.96.0.0/16 \
		--authorization-mode=Node,RBAC --allow-privileged=true "$@"
	{ wait_for kube_answers && part_lives apiserver; } ||
		kube_failed apiserver
}

kube_is_ready()
{
	kube get --raw /readyz >/dev/null 2>&1
}

# Whether the API server is ready, or has ended.
kube_answers()
{
	! part_lives apiserver || kube_is_ready
}

# [OPTION]...: starts the controller manager with these options
# shellcheck disable=SC2120 # tests pass some
controllers_start()
{
	part_start controllers "$kube_bin/kube-controller-manager" \
		--kubeconfig="$kube/controllers.conf" --leader-elect=false \
		--bind-address="$kube_ip" --secure-port=10257 \
		--cert-dir="$kube/controllers" \
		--flex-volume-plugin-dir="$kube/plugins" \
		--use-service-account-credentials=true \
		--root-ca-file="$kube/ca.crt" \
		--service-account-private-key-file="$kube/accounts.key" \
		--concurrent-job-syncs=20 \
		--horizontal-pod-autoscaler-sync-period=1s \
		--kube-api-qps=1000 --kube-api-burst=2000 "$@"
}

# [OPTION]...: starts kube-scheduler, for comparisons
scheduler_start()
{
	part_start scheduler "$kube_bin/kube-scheduler" \
		--kubeconfig="$kube/scheduler.conf" --leader-elect=false \
		--bind-address="$kube_ip" --secure-port=10259 \
		--cert-dir="$kube/scheduler" "$@"
}

# --- faults ----------------------------------------------------------------

# Starts a proxy (between.c) that handles calls made with $kube/between.conf and
# breaks those that its rule selects.
between_start()
{
	[ -x "${top_builddir:?}/tests/kube/between" ] ||
		bail "there is no tests/kube/between: make check builds it"
	: >"$kube/between.rule"
	: >"$kube/between.calls"
	part_start between "$top_builddir/tests/kube/between" "$kube_ip:6080" \
		"$kube_url" "$kube" "$kube/between.rule" "$kube/between.calls"
	kube_config "$kube/between.conf" '{}' "http://$kube_ip:6080"
}

# [WORD]...: sets the rule of the proxy, or none, and starts to count calls. If
# the proxy was killing a daemon, waits until the daemon is dead.
between()
{
	echo "$*" >"$kube/between.new"
	# shellcheck disable=SC2016 # sh expands it
	flock "$kube/between.calls" sh -c ': >"$1.calls"
		mv "$1.new" "$1.rule"' sh "$kube/between"
}

# --- pods ------------------------------------------------------------------

# NAMESPACE POD NODE: binds a pod, as a scheduler does
kube_bind()
{
	kube create --raw "/api/v1/namespaces/$1/pods/$2/binding" -f - \
		>/dev/null <<-END
		{"apiVersion": "v1", "kind": "Binding",
		"metadata": {"name": "$2", "namespace": "$1"},
		"target": {"apiVersion": "v1", "kind": "Node", "name": "$3"}}
	END
}

# NAMESPACE NAME LIMITS: creates a Job for the queue "default", whose pod asks
# for these limits
kube_limited_job()
{
	kube --namespace "$1" create -f - >/dev/null <<-END
		{"apiVersion": "batch/v1", "kind": "Job",
		"metadata": {"name": "$2", "labels":
			{"aisched.io/queue": "default"}},
		"spec": {"suspend": true, "template": {
			"spec": {"restartPolicy": "Never",
			"terminationGracePeriodSeconds": 1,
			"schedulerName": "aisched",
			"containers": [{"name": "a", "image": "a",
				"resources": {"limits": {$3}}}]}}}}
	END
}

# NAMESPACE NAME: whether the Job has become a job; sets $id to its number
kube_job_id()
{
	id=$(kube --namespace "$1" get job "$2" -o \
		'jsonpath={.metadata.labels.aisched\.io/job-id}')
	[ -n "$id" ]
}

# --- simulated nodes -------------------------------------------------------

# [OPTION]...: starts kwok, which simulates pods on the nodes of kube_nodes():
# they run, print a line, and end as their annotations say (kwok.yaml)
# shellcheck disable=SC2120 # the benchmark passes some
kwok_start()
{
	echo "2026-01-01T00:00:00.000000000Z stdout F hello from kwok" \
		>"$kube/kwok.out"
	cat >"$kube/kwok-logs.yaml" <<-END
		apiVersion: kwok.x-k8s.io/v1alpha1
		kind: ClusterLogs
		metadata: {name: all}
		spec: {logs: [{logsFile: $kube/kwok.out, follow: true}]}
		---
		apiVersion: config.kwok.x-k8s.io/v1alpha1
		kind: KwokConfiguration
		options:
		  enableDebuggingHandlers: true
		  nodeLeaseParallelism: 4
		  nodePlayStageParallelism: 16
		  podPlayStageParallelism: 16
	END
	part_start kwok "$kube_bin/kwok" --kubeconfig="$kube/admin.conf" \
		--config="$top_srcdir/tests/kube/kwok.yaml" \
		--config="$kube/kwok-logs.yaml" --manage-all-nodes=false \
		--manage-nodes-with-annotation-selector="$kube_fake" \
		--node-lease-duration-seconds=40 --cidr=10.64.0.0/10 \
		--node-ip="$kube_ip" --node-name=kwok --node-port=10247 \
		--server-address="$kube_ip:10247" "$@"
}

# COUNT PREFIX GPUS [LABEL]...: makes nodes PREFIX-0 and so on, each with 64
# CPUs and 512 GiB, 16 in a rack and 64 in a zone, with $kube_taints. A LABEL is
# KEY=VALUE. If $kube_alone is set, kwok does not manage them; they stay ready
# if controllers_start was given --node-monitor-grace-period=24h.
kube_nodes()
{
	nodes=$2-@I
	nodes_count=$1
	nodes_have='"cpu": "64", "memory": "512Gi", "pods": "250"'
	[ "$3" -eq 0 ] ||
		nodes_have="$nodes_have, \"nvidia.com/gpu\": \"$3\""
	nodes_kwok="\"${kube_fake%=*}\": \"${kube_fake#*=}\""
	nodes_ready=
	if [ -n "$kube_alone" ]; then
		nodes_kwok=
		nodes_ready='{"type": "Ready", "status": "True"}'
	fi
	shift 3
	nodes_labels=
	for label; do
		nodes_labels="$nodes_labels, \"${label%%=*}\": \"${label#*=}\""
	done
	cat >"$kube/node.json" <<-END
		{"apiVersion": "v1", "kind": "Node", "metadata": {
			"name": "$nodes", "annotations": {$nodes_kwok},
			"labels": {"kubernetes.io/hostname": "$nodes",
				"kubernetes.io/os": "linux",
				"kubernetes.io/arch": "amd64",
				"topology.kubernetes.io/rack": "rack-@R",
				"topology.kubernetes.io/zone": "zone-@Z"
				$nodes_labels}},
		"spec": {"taints": [$kube_taints]},
		"status": {"conditions": [$nodes_ready],
			"capacity": {$nodes_have},
			"allocatable": {$nodes_have}}}
	END
	rm -f "$kube"/nodes.*
	tr -d '\n\t' <"$kube/node.json" | awk -v count="$nodes_count" '{
		for (i = 0; i < count; i++) {
			node = $0
			gsub(/@I/, i, node)
			gsub(/@R/, int(i / 16), node)
			gsub(/@Z/, int(i / 64), node)
			print node
		}
	}' | split -e -n r/4 - "$kube/nodes."

	# Run four of kubectl at a time, as it is slow.
	nodes_pids=
	for nodes_file in "$kube"/nodes.*; do
		kube create --validate=false -f "$nodes_file" >/dev/null &
		nodes_pids="$nodes_pids $!"
	done
	for nodes_pid in $nodes_pids; do
		wait "$nodes_pid" || return 1
	done
}

# NODE GENERATION COUNT NUMBER DEVICE...: makes or changes slice NUMBER of the
# COUNT ResourceSlices of a node, as the DRA driver gpu.test does; a DEVICE is
# NAME:NUMA:LINK[:FIELD], where FIELD is JSON
kube_slice()
{
	slice_node=$1 slice_gen=$2 slice_count=$3 slice_name=$1-$4
	shift 4
	slice_list=
	for slice_gpu; do
		slice_rest=${slice_gpu#*:}
		slice_more=${slice_rest#*:}
		slice_link=${slice_more%%:*}
		slice_field=${slice_more#"$slice_link"}
		slice_list="$slice_list${slice_list:+,}
			{\"name\": \"${slice_gpu%%:*}\", \"attributes\": {
			\"productName\": {\"string\": \"Test GPU\"},
			\"resource.kubernetes.io/numaNode\":
				{\"int\": ${slice_rest%%:*}},
			\"partition4\": {\"int\": $slice_link}}
			${slice_field:+, ${slice_field#:}}}"
	done
	kube apply -f - >/dev/null <<-END
		{"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice",
		"metadata": {"name": "$slice_name"},
		"spec": {"driver": "gpu.test", "nodeName": "$slice_node",
		"pool": {"name": "$slice_node", "generation": $slice_gen,
			"resourceSliceCount": $slice_count},
		"devices": [$slice_list]}}
	END
}

kube_fake=kwok.x-k8s.io/node=fake
kube_alone=
kube_taints='{"key": "aisched.io/dedicated", "value": "true",
	"effect": "NoSchedule"}'

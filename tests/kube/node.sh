# shellcheck shell=sh
# node.sh - run a real node in the control plane of control_plane.sh, as root
#
#	node_or_skip
#	node_start metal || bail "the node does not start"
#	node_stop
#
# A kubelet runs real containers, with Debian's containerd and runc. There are
# two images: local/box:1 for jobs, which has busybox, and local/agent:1, which
# has aisched-pod; no image is pulled. A second name after the first starts a
# second kubelet with a containerd of its own, whose pods are in the same
# network.
#
# node_drive() before node_start() gives the first node example devices, the
# driver of which is dra-example-driver, and containerd 2.
#
# node_plug() before node_start() gives the nodes two NUMA nodes and a device
# plugin with example GPUs (plugin/main.go), and has kubelets choose CPUs and
# GPUs by a policy.
#
# The node runs in namespaces of its own (node_main), so that its processes,
# mounts, containers and network end with this shell, however it ends. Its
# cgroups are removed by node_stop(), or else by the next node that starts. Pods
# can reach each other, also by name, and nothing else.

node_dir=${kube:?}/node
node_cgroup=aisched-kube-$$
node_port=10250

# Prints why a node cannot run on this machine; fails if it can.
node_lacks()
{
	is_root || {
		echo "not root"
		return
	}
	for node_tool in busybox containerd ctr ip runc socat; do
		command -v "$node_tool" >/dev/null || {
			echo "no $node_tool"
			return
		}
	done
	[ ! -x /usr/lib/cni/bridge ] && echo "no containernetworking-plugins"
}

# Skips the whole test if a node cannot run on this machine.
node_or_skip()
{
	node_missing=$(node_lacks)
	[ -z "$node_missing" ] || skip_all "no node: $node_missing"
}

# NAME [NAME]: starts one or two nodes and returns when they are ready
node_start()
{
	mkdir -p "$node_dir" && node_images && node_configure "$1" 1 &&
		{ [ -z "${2-}" ] || node_configure "$2" 2; } &&
		node_cgroups_make || return 1
	part_start node unshare --fork --kill-child --pid --mount-proc \
		"${top_srcdir:?}/tests/kube/node_main" "$node_dir" \
		"${kube_bin:?}" "${kube_ip:?}" "$@"
	for node_name; do
		wait_for node_has_registered && node_place &&
			kube wait --for=condition=Ready "node/$node_name" \
				--timeout="${deadline_s:?}s" >/dev/null &&
			continue
		tail -n 5 "$kube/node.log" "$node_dir"/*.log >&2
		return 1
	done
}

# [OPTION]...: writes options of the driver, such as --num-devices 4; it reads
# them whenever it starts
node_drive()
{
	mkdir -p "$node_dir" && echo "$*" >"$node_dir/driver.options"
}

# NUMBER POLICY: writes what the plugin and the kubelet read; the first half of
# the GPUs and of the CPUs is NUMA node 0. CPU 0 is for the system. Fails if the
# plugin cannot be built.
node_plug()
{
	mkdir -p "$node_dir" && node_go=$("$top_srcdir/tests/kube/tools" --go) &&
		(cd "$top_srcdir/tests/kube" && CGO_ENABLED=0 GOPROXY=off \
			"$node_go" build -mod=readonly -trimpath \
			-o "$node_dir/plugin" ./plugin) &&
		echo "nvidia.com/gpu $1 2" >"$node_dir/plugin.options" &&
		cat >"$node_dir/policy.yaml" <<-END
			cpuManagerPolicy: static
			reservedSystemCPUs: "0"
			topologyManagerPolicy: $2
		END
}

# SIGNAL: sends a signal to the driver; if it ends it is started again
node_driver_signal()
{
	pkill "-$1" -f "^$kube_bin/dra-example-kubeletplugin .*$node_dir/cdi "
}

# SIGNAL: sends a signal to the kubelet of the first node
node_kubelet_signal()
{
	pkill "-$1" -f "^$kube_bin/kubelet --config=$node_dir/kubelet1.yaml "
}

node_stop()
{
	part_kill node
	wait_for node_cgroups_remove
}

node_has_registered()
{
	! part_lives node || kube get node "$node_name"
}

# Set the node's address. A kubelet refuses a loopback address, but with an
# external cloud provider it takes the address from its Node object.
node_place()
{
	kube patch node "$node_name" --subresource=status --type=merge \
		--patch "{\"status\": {\"addresses\": [
			{\"type\": \"InternalIP\", \"address\": \"$kube_ip\"},
			{\"type\": \"Hostname\",
				\"address\": \"$node_name\"}]}}" &&
		kube taint node "$node_name" \
			node.cloudprovider.kubernetes.io/uninitialized-
} >/dev/null

# --- configuration ---------------------------------------------------------

# NUMBER: writes the configuration of that containerd. Its version 2 has other
# names for some parts.
node_configure_containerd()
{
	node_file=2 node_runtime=io.containerd.grpc.v1.cri
	[ ! -f "$node_dir/driver.options" ] ||
		node_file=3 node_runtime=io.containerd.cri.v1.runtime
	cat >"$node_dir/containerd$1.toml" <<-END
		version = $node_file
		root = "$node_dir/containerd$1"
		state = "$node_dir/run$1"
		[grpc]
		address = "$node_dir/containerd$1.sock"
		[plugins."io.containerd.grpc.v1.cri"]
		# The kubelet connects to this address for exec.
		stream_server_address = "$kube_ip"
		stream_server_port = "$((node_port + 100 + $1))"
	END
	if [ $node_file = 3 ]; then
		cat <<-END
			[plugins."io.containerd.cri.v1.images".pinned_images]
			sandbox = "docker.io/local/pause:1"
			[plugins."$node_runtime"]
			cdi_spec_dirs = ["$node_dir/cdi"]
		END
	else
		echo 'sandbox_image = "docker.io/local/pause:1"'
	fi >>"$node_dir/containerd$1.toml"
	cat >>"$node_dir/containerd$1.toml" <<-END
		# In some containers root may not lower oom_score_adj.
		restrict_oom_score_adj = true
		[plugins."$node_runtime".cni]
		bin_dir = "/usr/lib/cni"
		conf_dir = "$node_dir/cni"
	END
}

# NAME NUMBER: writes the files of a node; the first has number 1. Both nodes
# have the same address and different ports.
node_configure()
{
	kube_user "kubelet$2" "/O=system:nodes/CN=system:node:$1" ||
		return 1
	node_configure_containerd "$2"
	mkdir -p "$node_dir/cni"
	cat >"$node_dir/cni/pods.conflist" <<-END
		{"cniVersion": "0.4.0", "name": "pods", "plugins": [{
			"type": "bridge", "bridge": "pods", "isGateway": true,
			"ipam": {"type": "host-local",
				"dataDir": "$node_dir/ipam",
				"ranges": [[{"subnet": "10.88.0.0/16"}]]}}]}
	END
	cat >"$node_dir/Corefile" <<-END
		cluster.local {
			errors
			kubernetes cluster.local {
				kubeconfig $kube/admin.conf test
			}
		}
	END
	cat >"$node_dir/kubelet$2.yaml" <<-END
		apiVersion: kubelet.config.k8s.io/v1beta1
		kind: KubeletConfiguration
		address: $kube_ip
		port: $((node_port + $2 - 1))
		healthzPort: 0
		tlsCertFile: $kube/server.crt
		tlsPrivateKeyFile: $kube/server.key
		authentication:
		  anonymous: {enabled: false}
		  webhook: {enabled: false}
		  x509: {clientCAFile: $kube/ca.crt}
		authorization: {mode: AlwaysAllow}
		containerRuntimeEndpoint: unix://$node_dir/containerd$2.sock
		cgroupDriver: cgroupfs
		cgroupRoot: /$node_cgroup/$2
		failCgroupV1: false
		enforceNodeAllocatable: [pods]
		clusterDNS: [10.88.0.1]
		clusterDomain: cluster.local
		resolvConf: ""
		makeIPTablesUtilChains: false
		podLogsDir: $node_dir/logs$2
		volumePluginDir: $node_dir/plugins$2
		nodeStatusUpdateFrequency: 2s
	END
	[ ! -f "$node_dir/policy.yaml" ] ||
		cat "$node_dir/policy.yaml" >>"$node_dir/kubelet$2.yaml"
}

# --- images ----------------------------------------------------------------

# Makes images from busybox: one for jobs, one for the pause container, and one
# with the program for pods.
node_images()
{
	node_image box '["sh"]'
	node_image pause '["sleep", "2147483647"]'
	node_image agent '["sh"]' "${top_builddir:?}/pod/aisched-pod"
}

# NAME COMMAND [PROGRAM]: writes $node_dir/NAME.tar, as docker save would
node_image()
{
	image=$node_dir/$1
	image_root=$image/root
	if [ $# -gt 2 ]; then
		mkdir -p "$image_root/usr/libexec/aisched" &&
			cp "$3" "$image_root/usr/libexec/aisched/" || return 1
	fi
	mkdir -p "$image_root/bin" "$image_root/etc" "$image_root/root" &&
		mkdir -m 1777 "$image_root/tmp" &&
		cp "$(command -v busybox)" "$image_root/bin/busybox" || return 1
	for applet in $(busybox --list | grep -v '^busybox$'); do
		ln -s busybox "$image_root/bin/$applet"
	done
	echo root:x:0:0::/root:/bin/sh >"$image_root/etc/passwd"
	tar -C "$image_root" --owner=0 --group=0 -cf "$image/layer.tar" . ||
		return 1
	image_sum=$(sha256sum "$image/layer.tar" | cut -d ' ' -f 1)
	cat >"$image/config.json" <<-END
		{"architecture": "$(dpkg --print-architecture)", "os": "linux",
		"config": {"Cmd": $2, "Env": ["PATH=/bin"]}, "rootfs":
			{"type": "layers", "diff_ids": ["sha256:$image_sum"]}}
	END
	cat >"$image/manifest.json" <<-END
		[{"Config": "config.json", "Layers": ["layer.tar"],
		"RepoTags": ["docker.io/local/$1:1"]}]
	END
	tar -C "$image" -cf "$image.tar" \
		config.json layer.tar manifest.json && rm -r "$image"
}

# --- cgroups ---------------------------------------------------------------

# Prints the mount point of the cgroup hierarchy; in version 1 there is one for
# each controller.
node_hierarchies()
{
	awk '$3 ~ /^cgroup2?$/ && $2 ~ "^/sys/fs/cgroup" { print $2 }' \
		/proc/mounts
}

# FOLDER: gives the cgroups below it all controllers that limit something
node_cgroup_open()
{
	for cgroup_word in cpuset cpu io memory pids hugetlb; do
		[ ! -f "$1/cgroup.subtree_control" ] ||
			echo "+$cgroup_word" >"$1/cgroup.subtree_control"
	done 2>/dev/null
}

# Make the root cgroup that the kubelet needs in each hierarchy, with all
# controllers that limit something; remove those of earlier nodes.
node_cgroups_make()
{
	for cgroup in $(node_hierarchies); do
		for cgroup_old in "$cgroup"/aisched-kube-*; do
			[ -e "/proc/${cgroup_old##*-}" ] ||
				node_cgroup_remove "$cgroup_old"
		done
		node_cgroup_open "$cgroup"
		mkdir "$cgroup/$node_cgroup" || return 1
		node_cgroup_open "$cgroup/$node_cgroup"
		mkdir "$cgroup/$node_cgroup/1" "$cgroup/$node_cgroup/2" ||
			return 1
	done
}

# FOLDER: removes a cgroup; fails while processes are in it
node_cgroup_remove()
{
	[ ! -d "$1" ] || find "$1" -depth -type d -exec rmdir {} +
}

node_cgroups_remove()
{
	for cgroup in $(node_hierarchies); do
		node_cgroup_remove "$cgroup/$node_cgroup" || return 1
	done
}

# clean_up() of daemon.sh removes the folder and the processes.
trap 'node_stop; clean_up' EXIT

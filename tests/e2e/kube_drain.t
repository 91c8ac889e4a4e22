#!/bin/sh
# Nodes that aictl drains are cordoned in the cluster, and nodes that kubectl
# cordons are drained in aischedd. Neither undoes what the other has done. When
# jobs need nodes of a template, a program adds them; another gives them back.

. "$top_srcdir/tests/e2e/lib.sh"
. "$top_srcdir/tests/kube/control_plane.sh"

# NODE: whether it is cordoned
is_cordoned()
{
	[ "$(kube get node "$1" -o 'jsonpath={.spec.unschedulable}')" = true ]
}

is_open()
{
	! is_cordoned "$1"
}

# NODE: prints the reason in its annotation
note()
{
	kube get node "$1" -o \
		'jsonpath={.metadata.annotations.aisched\.io/drained}'
}

# NODE STATE: whether aiq shows that state
node_is()
{
	aiq --nodes --no-header -o name,state | grep "^$1 " | grep -qi "$2"
}

# NODE TEXT: whether aiq shows this reason
reason_is()
{
	aiq --nodes --no-header -o name,reason | grep "^$1 " | grep -q "$2"
}

ok "a control plane starts" kube_start || bail "there is no control plane"
ok "with nodes" eval "kwok_start && kube_nodes 3 gpu 4"
kube create namespace jobs >/dev/null
configure "
queue default { }
pool gpu { runner = kubernetes  kubeconfig = \"$kube/admin.conf\"
	namespace = \"jobs\"  image = \"local/box:1\"  run_as_root = yes
	drain_conditions = {\"XidError\"} }"
start_daemon || bail "aischedd does not start"
ok "its nodes are seen" wait_for node_is gpu-2 idle

aictl drain gpu-0 -r "bad fan" >/dev/null
ok "a node that is drained is cordoned" wait_for is_cordoned gpu-0
is "with the reason" "$(note gpu-0)" "bad fan"
ok "which is ours, too" wait_for reason_is gpu-0 "bad fan"

note_is()
{
	[ "$(note "$1")" = "$2" ]
}
aictl drain gpu-0 -r "worse fan" >/dev/null
ok "for another reason, that is said" wait_for note_is gpu-0 "worse fan"
kube uncordon gpu-0 >/dev/null
aictl drain gpu-0 -r "bad fan" >/dev/null
ok "also when somebody has uncordoned it" wait_for note_is gpu-0 "bad fan"
ok "with whom nobody argues" is_open gpu-0

kube cordon gpu-1 >/dev/null
ok "one that is cordoned is drained" wait_for node_is gpu-1 drain
ok "and is said to be" wait_for reason_is gpu-1 "cordoned in its cluster"
is "which is not ours to undo" "$(note gpu-1)" ""
aictl drain gpu-1 -r "new disk" >/dev/null
ok "drained by us as well, it has our reason" wait_for reason_is gpu-1 "new disk"
aictl undrain gpu-1 >/dev/null
ok "no more" wait_for reason_is gpu-1 "cordoned in its cluster"
ok "it stays cordoned" is_cordoned gpu-1
kube uncordon gpu-1 >/dev/null
ok "until it is uncordoned" wait_for node_is gpu-1 idle

kill_daemon
start_daemon || bail "aischedd does not come back"
ok "a restart changes nothing" wait_for node_is gpu-0 drain

# --- nodes that are gone ---------------------------------------------------------

# Prints the nodes that the daemon lists, and those that its database has.
nodes()
{
	aiq --nodes --no-header -o name | sort | xargs
	echo "SELECT name FROM node ORDER BY name" |
		sqlite3 "$dir/state/aisched.db" | xargs
}

nodes_are()
{
	[ "$(nodes)" = "$1
$1" ]
}

# The cluster forgets the annotation with the node.
aictl drain gpu-1 -r "new disk" >/dev/null
kube delete node gpu-1 gpu-2 >/dev/null
ok "nodes that are gone are forgotten, but not a drained one" \
	wait_for nodes_are "gpu-0 gpu-1"
kube_nodes 3 new 4
ok "others come" wait_for nodes_are "gpu-0 gpu-1 new-0 new-1 new-2"
kube delete node new-0 new-1 new-2 >/dev/null
ok "and go" wait_for nodes_are "gpu-0 gpu-1"
kube_nodes 3 gpu 4
ok "a drained one that comes back is drained" wait_for is_cordoned gpu-1
ok "for the same reason" wait_for note_is gpu-1 "new disk"
ok "and one that was not is not" wait_for node_is gpu-2 idle
aictl undrain gpu-1 >/dev/null
ok "the drain has an end" wait_for node_is gpu-1 idle
ok "and undoes nothing" wait_for reason_is gpu-0 "bad fan"
kube uncordon gpu-0 >/dev/null
aictl undrain gpu-0 >/dev/null
ok "what is used again is open" wait_for node_is gpu-0 idle
ok "here and there" wait_for is_open gpu-0
is "without a note" "$(note gpu-0)" ""

# --- conditions ---------------------------------------------------------------

# NODE TYPE STATUS MESSAGE: sets a condition, as its kubelet or a detector would
condition()
{
	kube patch node "$1" --subresource=status --type=strategic -p \
		"{\"status\": {\"conditions\": [{\"type\": \"$2\",
		\"status\": \"$3\", \"message\": \"$4\"}]}}" >/dev/null
}

id=$(aisub --parsable -w gpu-1 --wrap true)
ok "a job runs on a node" wait_for is_state "$id" RUNNING
condition gpu-1 XidError True "GPU 3 has fallen off the bus"
ok "a condition that the pool names drains it" wait_for node_is gpu-1 draining
ok "which says why" wait_for reason_is gpu-1 \
	"XidError: GPU 3 has fallen off the bus"
is "what runs there goes on" "$(state_of "$id")" RUNNING
ok "the cluster may use it as before" is_open gpu-1
waits=$(aisub --parsable -w gpu-1 --wrap true)
ok "nothing starts there" wait_for eval "[ \"\$(aiq -h -o reason $waits)\" = NodeDown ]"
like "a job is told why" "$(aiq "$waits")" "GPU 3 has fallen off the bus"
condition gpu-1 XidError False "all is well"
ok "once it is over, it does" wait_for is_state "$waits" RUNNING
aicancel --wait "$id" "$waits"
condition gpu-1 DiskPressure True "kubelet has disk pressure"
ok "pressure drains, too" wait_for reason_is gpu-1 \
	"DiskPressure: kubelet has disk pressure"
condition gpu-1 DiskPressure False "kubelet has no disk pressure"
condition gpu-1 GoodMood False "of no concern"
condition gpu-1 BadMood True "of no concern"
ok "other conditions do not" wait_for node_is gpu-1 idle

sed -i 's/XidError/Other/' "$conf"
fails "other conditions need a restart" 1 \
	"changing drain_conditions needs a restart" aictl reload

# --- the cluster cannot be reached at first ---------------------------------

aictl drain gpu-0 -r "first" >/dev/null
ok "one is drained again" wait_for is_cordoned gpu-0
part_hang apiserver
aictl drain gpu-2 -r "unheard" >/dev/null
aictl undrain gpu-0 >/dev/null
kill_daemon
part_wake apiserver
start_daemon || bail "aischedd does not come back"
ok "what was not heard is said again" wait_for is_cordoned gpu-2
ok "be it one or the other" wait_for is_open gpu-0
is "for what was said" "$(note gpu-2)" unheard

# --- nodes that are added ---------------------------------------------------

# The programs note their arguments. The file $dir/how says what resume does.
cat >"$dir/resume" <<-END
	#!/bin/sh
	echo "\$*" >>"$dir/resumed"
	case \$(cat "$dir/how") in
	fails) echo "no quota left"; exit 3 ;;
	later) echo >"$dir/read"; exit 0 ;;
	esac
	for n in \$(echo "\$1" | tr -c '0-9\n' ' '); do
		sed "s/gpu-@I/burst-\$n/g; s/@[RZ]/0/g" "$kube/node.json" |
			"$kube_bin/kubectl" --kubeconfig "$kube/admin.conf" \
			create --validate=false -f - || exit
	done
END
cat >"$dir/suspend" <<-END
	#!/bin/sh
	echo "\$*" >>"$dir/suspended"
	for n in \$(echo "\$1" | tr -c '0-9\n' ' '); do
		"$kube_bin/kubectl" --kubeconfig "$kube/admin.conf" \
			delete node "burst-\$n" --ignore-not-found || exit
	done
END
chmod 755 "$dir/resume" "$dir/suspend"

# OPTIONS: puts a template with these keys in place of the one before
template()
{
	sed -i '/^scale /d' "$conf"
	echo "scale burst { max = 2  cpus = 64  memory = \"512G\"  gpus = 4" \
		"features = {\"fast\"}  resume = \"$dir/resume\"" \
		"suspend = \"$dir/suspend\"  $*}" >>"$conf"
	aictl reload
}

# FILE TEXT: whether the last line of the file is this text
last_is()
{
	[ "$(tail -n 1 "$dir/$1" 2>/dev/null)" = "$2" ]
}

fails "a job that no node can hold is refused" 1 "" \
	aisub -C fast --nodes 2 --tasks 2 --gpus 4 --wrap true
echo fails >"$dir/how"
template "idle_for = 1s  delay = 1h"
ok "a template of nodes can be added" node_is burst-2 powered_down
id=$(aisub --parsable -C fast --nodes 2 --tasks 2 --gpus 4 --wrap 'true')
ok "then it is accepted, and all its nodes are asked for" wait_for \
	last_is resumed 'burst-[1-2]'
why_is()
{
	aiq "$id" | grep -q "$1"
}
ok "if the program fails, the job is told" wait_for why_is \
	"waits for burst-1 and 1 more node to be added; .*: no quota left"
is "with a reason" "$(aiq -h -o reason "$id")" NodesComing
ok "so is who looks at the nodes" reason_is burst-1 "no quota left"
ok "which are given back" wait_for last_is suspended 'burst-[1-2]'
ok "and are off" wait_for node_is burst-2 powered_down

echo later >"$dir/how"
template "idle_for = 1s  delay = 30m"
ok "they are asked for again" wait_for node_is burst-2 powering_up
# A program that has not read $dir/how yet would also add the nodes.
wait_for test -s "$dir/read"
kill_daemon
: >"$dir/resumed"
echo now >"$dir/how"
start_daemon || bail "aischedd does not come back"
ok "also by the daemon after it" wait_for last_is resumed 'burst-[1-2]'
ok "when they are there, the job runs" wait_for is_state "$id" RUNNING
aicancel --wait "$id"
ok "idle nodes are given back" wait_for node_is burst-1 powered_down
ok "all" wait_for node_is burst-2 powered_down
gone()
{
	! kube get node "$1" >/dev/null 2>&1
}
ok "and are gone" gone burst-1

done_testing

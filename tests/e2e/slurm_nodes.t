#!/bin/sh
# sinfo: what Slurm 22.05 prints, word for word

# shellcheck source=tests/e2e/slurm.sh
. "$top_srcdir/tests/e2e/slurm.sh"

node=$(uname -n)
slurm_daemon 'features = {"ib"}  weight = 7  tmp = "100G"'

says "the usual columns" 0 "PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST
main*        up   infinite      1   idle $node
debug        up    1:00:00      1   idle $node" "" sinfo
says "names of queues" 0 "main*
debug" "" sinfo -h -o %P
says "a summary" 0 "PARTITION AVAIL  TIMELIMIT   NODES(A/I/O/T) NODELIST
main*        up   infinite          0/1/0/1 $node" "" sinfo -s -p main
says "each node" 0 "$(printf '%-9s  NODES PARTITION STATE \n%-9s      1     main* idle  ' \
	NODELIST "$node")" "" sinfo -N -p main
says "six words" 0 "PARTITION GRES TIMELIMIT PRIO_TIER CPUS MEMORY
main* (null) infinite 1 4 4096" "" sinfo -a -o '%P %G %l %p %c %m' -p main
says "a node counts once" 0 "0/4/0/4" "" sinfo -h -o %C
says "also beside a column of the partition" 0 "0/4/0/4 1 0/1/0/1" "" \
	sinfo -h -o '%C %p %F'
says "nodes in a state that none has" 0 "main* up infinite 0 n/a " "" \
	sinfo -h -p main -t down -o '%P %a %l %D %t %N'
says "and those that are down" 0 "main* 0" "" sinfo -h -d -p main -o '%P %D'
says "no interval" 1 "" "sinfo: error: Error: invalid entry for --iterate=x" sinfo -i x
is "why nodes are down, at length" "$(sinfo -Rl | tail -n 1)" \
	"REASON               USER         TIMESTAMP           STATE  NODELIST"
says "commas" 0 "PARTITION,MEMORY
debug,4096" "" sinfo --format %P,%m --noconvert -p debug
says "counts" 0 "0/1/0/1/0/4/0/4" "" sinfo -aho %F/%C
says "by names, a line for each partition" 0 "$node|(null)|(null)|idle|
$node|(null)|(null)|idle|" "" sinfo -ahNO \
	'nodehost:|,gres:|,gresused:|,statelong:|'
says "a weight" 0 7 "" sinfo -h -p main -o %w
says "separators" 0 ";4;$node;ib" "" sinfo -ho ';%c;%n;%f'
says "letters that few ask for" 0 \
	"MAX_CPUS_PER_NODE|PRIO_JOB_FACTOR|PREEMPT_MODE|ALLOCNODES|CLUSTER|SOCKETS|CORES|THREADS|S:C:T
UNLIMITED|1|OFF|all|N/A|1|4|1|1:4:1" "" sinfo -p main -o '%B|%I|%M|%S|%V|%X|%Y|%Z|%z'
says "no such letter" 0 "%K 4" "Invalid node format specification: K" sinfo -h -p main -o '%K %c'
says "and names" 0 "COMMENT;EXTRA;STATECOMPLETE;
(null);(null);idle;" "" sinfo -p main -O 'comment:;,extra:;,statecomplete:;'
is "all letters" "$(sinfo -h -p main -o %all | tr '|' '\n' | sed -n 3p)" 4
is "in the order of Slurm" "$(sinfo -p main -o %all | head -n1)" \
	"AVAIL|ACTIVE_FEATURES|CPUS|TMP_DISK|FREE_MEM|AVAIL_FEATURES|GROUPS|OVERSUBSCRIBE|TIMELIMIT|MEMORY|HOSTNAMES|NODE_ADDR|PRIO_TIER|ROOT|JOB_SIZE|STATE|USER|VERSION|WEIGHT|S:C:T|NODES(A/I) |MAX_CPUS_PER_NODE |CPUS(A/I/O/T) |NODES |REASON |NODES(A/I/O/T) |GRES |TIMESTAMP |PRIO_JOB_FACTOR |DEFAULTTIME |PREEMPT_MODE |NODELIST |CPU_LOAD |PARTITION |PARTITION |ALLOCNODES |STATE |USER |CLUSTER |SOCKETS |CORES |THREADS "
is "-O all is the same" "$(sinfo -p main --Format=ALL)" "$(sinfo -p main -o %all)"
says "no such queue" 0 "" "" sinfo -h -p nosuch
says "no such state" 1 "" 'sinfo: error: Bad state string: "bogus"
sinfo: error: valid states: unknown,down,idle,allocated,mixed,future,drain,drained,draining,reserved,completing,fail,maint' sinfo -t bogus
says "disk for temporary files" 0 102400 "" sinfo -h -p main -o %d
id=$(sbatch --parsable -c 2 --mem 1G --tmp 20G --wrap 'exec sleep 1000')
wait_for is_state "$id" RUNNING
says "a job that asks for disk" 0 20G "" squeue -h -j "$id" -o %d
like "at length" "$(scontrol show job "$id")" "MinTmpDiskNode=20G"
says "a busy node" 0 "mixed 2/2/0/4 1024 3072" "" sinfo -h -p main \
	-O 'statelong: ,cpusstate: ,allocmem: ,freemem:.4'
says "by its state" 0 "mix" "" sinfo -h -p main -t mix -o %t
says "a partition" 0 "PartitionName=debug
   AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL
   AllocNodes=ALL Default=NO QoS=N/A
   DefaultTime=NONE DisableRootJobs=NO ExclusiveUser=NO GraceTime=2 Hidden=NO
   MaxNodes=UNLIMITED MaxTime=01:00:00 MinNodes=0 LLN=NO MaxCPUsPerNode=UNLIMITED
   Nodes=$node
   PriorityJobFactor=1 PriorityTier=1 RootOnly=NO ReqResv=NO OverSubscribe=NO
   OverTimeLimit=NONE PreemptMode=OFF
   State=UP TotalCPUs=4 TotalNodes=1 SelectTypeParameters=NONE
   JobDefaults=(null)
   DefMemPerNode=UNLIMITED MaxMemPerNode=UNLIMITED
   TRES=cpu=4,mem=4G,node=1,billing=4" "" scontrol show partition debug
is "partitions on a line each, in words that all have a value" \
	"$(scontrol show part -o | tr ' ' '\n' | grep -vcE '^[A-Za-z]+=.+$')" 0
says "no such partition" 1 "Partition nope not found" "" \
	scontrol show partition nope
like "a node" "$(scontrol show node "$node")" \
	"^   CPUAlloc=2 CPUEfctv=4 CPUTot=4 CPULoad=N/A\$"
like "what is used of it" "$(scontrol show node "$node")" \
	"^   RealMemory=4096 AllocMem=1024 FreeMem=3072 Sockets=1 Boards=1\$"
is "nodes of a list, once each, and what is none" "$(scontrol show node "nope,$node,$node" | grep -oE '^NodeName=[^ ]*|.*not found')" \
	"NodeName=$node
Node nope not found"
like "its state" "$(scontrol -o show node)" " State=MIXED .* TmpDisk=102400 .* Partitions=main,debug "
aictl drain "$node" -r "new disk" >/dev/null
says "why nodes are out" 0 "new disk             Unknown   Unknown             $node" \
	"" sinfo -h -R
says "no daemon" 1 "" \
	"slurm_load_partitions: Unable to contact slurm controller (connect failure)" \
	env AISCHED_SOCKET="$dir/none" sinfo
scancel "$id"
done_testing

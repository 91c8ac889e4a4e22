#!/bin/sh
# sbatch: what Slurm 22.05 accepts and prints, word for word
# shellcheck disable=SC2016,SC2119 # jobs expand their own variables

# shellcheck source=tests/e2e/slurm.sh
. "$top_srcdir/tests/e2e/slurm.sh"

me=$(id -un)
node=$(uname -n)
slurm_daemon 'features = {"a100", "ib"}'

# LINE...: writes job.sh with these lines behind #!/bin/sh
script()
{
	{
		echo '#!/bin/sh'
		printf '%s\n' "$@"
	} >job.sh
}

# NAME FORMAT WANT OPTION...: tests what squeue -o FORMAT prints about a held
# job with these options
asks()
{
	asks_name=$1
	asks_format=$2
	asks_want=$3
	shift 3
	run sbatch --parsable -H "$@" --wrap true
	is "$asks_name" "$out $err$(squeue -h -j "$out" -o "$asks_format")" \
		"$out $asks_want"
}

# --- the output -------------------------------------------------------------

run sbatch --wrap true
like "the id" "$out" "^Submitted batch job [0-9]+\$"
is "nothing on stderr" "$err" ""
like "--parsable" "$(sbatch --parsable --wrap true)" "^[0-9]+\$"
says "--quiet" 0 "" "" sbatch -Q --wrap true
like "-M and its own name" "$(sbatch -M test --wrap true)" \
	"^Submitted batch job [0-9]+ on cluster test\$"
like "-M, --parsable" "$(sbatch -M test --parsable --wrap true)" "^[0-9]+;test\$"
says "-M other" 1 "" "sbatch: error: No cluster 'other' known by database.
sbatch: error: 'other' can't be reached now, or it is an invalid entry for --cluster.  Use 'sacctmgr list clusters' to see available clusters." \
	sbatch -M other --wrap true
says "--wait" 7 "" "" sbatch -Q -W --wrap 'exit 7'
wait_for '[ -z "$(squeue -h)" ]'
like "--test-only" "$(sbatch --test-only -c 2 --wrap true 2>&1)" \
	"^sbatch: Job 0 to start at [-0-9T:]+ using 2 processors on nodes $node in partition main\$"

# --- --overcommit -------------------------------------------------------------

asks "-O: the CPUs of one task" "%C %c" "1 1" -O -n 9
asks "-O: which may have several" "%C %c" "2 2" -O -n 3 -c 2
asks "-O: on each node" "%C" 1 -O -N 1 --ntasks-per-node 9
asks "-O: memory for these CPUs" "%m" 10M -O -n 9 --mem-per-cpu 10M
run sbatch --parsable -H -O -n 9 --wrap true
is "-O: all tasks are shown" "$(squeue -h -j "$out" -O NumTasks:)$(scontrol show job "$out" | grep -o 'NumCPUs.* NumTasks=[0-9]*')" \
	"9NumCPUs=1 NumTasks=9"
asks "SBATCH_OVERCOMMIT" "%C" 4 -n 4
SBATCH_OVERCOMMIT=1 sbatch -Q -W -n 9 -o over.out \
	--wrap 'echo $SLURM_NTASKS $SLURM_TASKS_PER_NODE $SLURM_CPUS_ON_NODE $SLURM_OVERCOMMIT; srun -l echo'
is "-O: steps have all tasks" "$? $(head -n1 over.out) $(sed -n '2,$p' over.out | sort -n | tr -d '\n ')" \
	"0 9 9 1 1 0:1:2:3:4:5:6:7:8:"
script '#SBATCH -n9 -O' 'srun -n9 true'
says "-O in a script" 0 "" "" sbatch -Q -W job.sh
run sbatch -n 9 --wrap true
is "without -O there are too few CPUs" "$rc $out" "1 "

# --- the script ---------------------------------------------------------------

says "no file" 1 "" "sbatch: error: Unable to open file nosuch" sbatch nosuch
echo echo hi >noshebang
says "no #!" 1 "" "sbatch: error: This does not look like a batch script.  The first
sbatch: error: line must start with #! followed by the path to an interpreter.
sbatch: error: For instance: #!/bin/sh" sbatch noshebang
says "nothing in it" 1 "" "sbatch: error: Batch script is empty!" \
	sbatch /dev/null
printf ' \n\n' >blank
says "nothing to read" 1 "" "sbatch: error: Batch script contains only whitespace!" \
	sbatch blank
printf '#!/bin/sh\r\ntrue\r\n' >dos
says "DOS" 1 "" "sbatch: error: Batch script contains DOS line breaks (\\r\\n)
sbatch: error: instead of expected UNIX line breaks (\\n)." sbatch dos
says "--wrap and arguments" 1 "" \
	"sbatch: error: Script arguments not permitted with --wrap option" \
	sbatch --wrap true job.sh
# shellcheck disable=SC2016 # the job expands it
script '#SBATCH --job-name            padded' '#SBATCH -o args-%j.out' \
	'#SBATCH --no-requeue ' '#SBATCH --time=0:300' \
	'#SBATCH --signal B:USR2@30' '#SBATCH --mem 150M' 'echo "$@" $SLURM_JOB_NAME'
id=$(sbatch --parsable job.sh one two)
becomes "a script with directives runs" "$id" COMPLETED
is "with its arguments" "$(cat "args-$id.out")" "one two padded"
id=$(sbatch --parsable <job.sh)
becomes "from standard input" "$id" COMPLETED
id=$(sbatch --parsable /dev/stdin <job.sh)
becomes "by the name of that" "$id" COMPLETED
script '#SBATCH --foo=1'
says "an unknown directive" 255 "" "sbatch: unrecognized option '--foo=1'
Try \"sbatch --help\" for more information" sbatch job.sh
script '#SBATCH hello'
says "a word in a directive" 255 "" \
	"sbatch: error: Invalid directive found in batch script: hello" sbatch job.sh
script '#SBATCH hetjob'
says "hetjob" 1 "" "sbatch: error: heterogeneous jobs are not supported" \
	sbatch job.sh
script true '#SBATCH --foo=1'
run sbatch job.sh
is "after the first command nothing is read" "$rc $err" "0 "
script '#SBATCH -J script -p debug -t 5'
id=$(sbatch --parsable -H job.sh)
is "a directive" "$(squeue -h -j "$id" -o '%j %P %l')" "script debug 5:00"
id=$(SBATCH_PARTITION=main SBATCH_TIMELIMIT=7 sbatch --parsable -H job.sh)
is "a variable overrides it" "$(squeue -h -j "$id" -o '%j %P %l')" \
	"script main 7:00"
id=$(SBATCH_PARTITION=main sbatch --parsable -H -p debug job.sh)
is "an option overrides both" "$(squeue -h -j "$id" -o '%P')" debug
id=$(SBATCH_MEM_PER_NODE=100M sbatch --parsable -H --mem-per-cpu=50M job.sh)
is "also when it says the same in another way" "$(squeue -h -j "$id" -o '%m')" \
	50M

# --- whole nodes ----------------------------------------------------------------

# OPTION...: prints the resources of a job with these options, as seen in the
# job, in squeue and in sacct
has()
{
	sbatch -Q -W -o has "$@" --wrap 'echo $SLURM_CPUS_ON_NODE $SLURM_JOB_CPUS_PER_NODE $SLURM_MEM_PER_NODE
scontrol show job $SLURM_JOB_ID | grep -oE "(NumCPUs|TRES)=[^ ]*"
squeue -h -j $SLURM_JOB_ID -o "%C %m"
sinfo -h -p main -O cpusstate:,allocmem:
sacct -nX -j $SLURM_JOB_ID -P -o AllocCPUS,ReqMem,AllocTRES'
	cat has
}
is "--mem=0 has all memory of its node" "$(has --mem=0)" "1 1
NumCPUs=1
TRES=cpu=1,mem=4G,node=1,billing=1
1 0
1/3/0/44096
1|4G|billing=1,cpu=1,mem=4G,node=1"
is "--exclusive has all CPUs" "$(has --exclusive --mem=100M)" "4 4 100
NumCPUs=4
TRES=cpu=4,mem=100M,node=1,billing=4
4 100M
4/0/0/4100
4|100M|billing=4,cpu=4,mem=100M,node=1"
is "its steps, too" "$(salloc -Q --exclusive -n1 --mem=0 srun -n4 sh -c 'echo $SLURM_CPUS_ON_NODE')" \
	"4
4
4
4"
one=$(sbatch --parsable --mem=0 --wrap 'exec sleep 1000')
becomes "a job has all memory" "$one" RUNNING
other=$(sbatch --parsable --mem=1M --wrap true)
waits "another waits for some of it" "$other" Resources ""
restart || bail "aischedd does not start"
is "a daemon that comes back knows what it has" \
	"$(squeue -h -j "$one" -O tres-alloc:)" "cpu=1,mem=4G,node=1,billing=1"
scancel "$one"
becomes "until it ends" "$other" COMPLETED
is "what it had" "$(sacct -nXP -j "$one" -o AllocTRES)" "billing=1,cpu=1,mem=4G,node=1"

# --- what is chosen at submission -------------------------------------------------

is "nodes between two numbers" "$(srun -N 1-3 -n 2 sh -c 'echo $SLURM_NNODES')" "1
1"
is "the features that nodes have" \
	"$(srun -n2 -N 1-2 -C '[h100|a100]' sh -c 'squeue -h -j $SLURM_JOB_ID -o %f')" "a100
a100"
one=$(aisub --parsable -N 1-2 -n 2 -C 'ib&[h100|a100]' --mem 0 --wrap true)
becomes "the same for aisub" "$one" COMPLETED
is "what it chose" "$(field "$one" num_nodes,constraint,alloc_mem_mib | tr -s ' ')" \
	"1 ib&a100 4G"

is "tasks over nodes" \
	"$(field "$(sbatch --parsable -H -n 2 --spread-job --wrap true)" spread)" \
	"node:preferred"
is "unless nodes are counted" \
	"$(field "$(sbatch --parsable -H -n 2 --spread-job -C 'ib*1' --wrap true)" spread)" -
one=$(aisub --parsable -H -n 2 --spread node --wrap true)
like "the same for aisub" "$(aiq "$one")" "spread over +node"
says "over racks that there are not" 1 "" \
	"aisub: --spread: there is no topology level 'rack'; the configuration has none" \
	aisub -n 2 --spread rack --wrap true

# --- options --------------------------------------------------------------------

asks "a time in seconds" %l 1-00:00:00 --time=0:86400
asks "hours above 24" %l 2-00:00:00 -t 48:00:00
asks "memory in gigabytes" %m 4G --mem=4g
asks "in kilobytes" %m 4G --mem 4194304K
asks "a range of nodes" %D 1 -N 1-2
asks "a bare dependency" %E "afterany:$id(unfulfilled)" -d "$id"
id2=$id
run sbatch -W --parsable --wrap false
failed_id=$out
asks "what can never be met" %E \
	"afterok:$failed_id(failed),afterok:$id2(unfulfilled)" \
	-d "afterok:$failed_id:$id2"
is "to scontrol, too" "$(scontrol show job "$out" | grep -o 'Dependency=.*')" \
	"Dependency=afterok:$failed_id(failed),afterok:$id2(unfulfilled)"
run sbatch --parsable --kill-on-invalid-dep=yes -d "afterok:$failed_id" --wrap true
becomes "--kill-on-invalid-dep=yes" "$out" CANCELLED
is "says it was for its dependency" \
	"$(sacct -n -P -X -j "$out" -o State,Reason) $(scontrol show job "$out" | grep -o 'KillO.*')" \
	"CANCELLED|Dependency KillOInInvalidDependent=Yes"
run sbatch --parsable --kill-on-invalid-dep=no -d "afterok:$failed_id" --wrap true
is "--kill-on-invalid-dep=no" "$(squeue -h -j "$out" -o '%T %r')" \
	"PENDING DependencyNeverSatisfied"
says "--kill-on-invalid-dep and another word" 255 "" \
	"sbatch: error: Invalid --kill-on-invalid-dep specification" \
	sbatch --kill-on-invalid-dep=maybe --wrap true
asks "ids behind a comma" %E \
	"afterok:$id(unfulfilled),afterany:$id(unfulfilled)" -d "afterok:$id,$id"
asks "empty values" %f '(null)' --constraint= --reservation= --licenses= --partition=
asks "a class that is Slurm's default" %P main --qos normal
asks "options without effect" %P main -s -O -k -m block -S 0 --hint=nomultithread \
	--wckey=x --get-user-env=L --ntasks-per-core=1
asks "a mode of one letter, ids in brackets" '%P %K' "main 1-3" --open-mode=a -a '[1-3]' \
	--no-kill=off
asks "mails" %P main --mail-type=ALL,TIME_LIMIT_80 --mail-user="$me"
asks "an account" %a sci -A sci
asks "all the memory of a node" '%m %C' "0 1" --mem=0
asks "all of it for each CPU" %m 0 --mem-per-cpu=0
asks "one of two features" %f '[a100|h100]' -C '[a100|h100]'
asks "exclusive" %h NO --exclusive=user
says "no warning with -Q" 0 "" "" sbatch -Q -H -n1 -N2 --wrap true
says "no number of GPUs" 1 "" "sbatch: error: Invalid generic resource (gres) specification" \
	sbatch -G x --wrap true
asks "tasks on too many nodes" '%D %C' "sbatch: warning: can't run 1 processes on 2 nodes, setting nnodes to 11 1" -n1 -N2
asks "the queue where it starts first" %P debug -p debug,main
like "with -v they are told" "$(sbatch -v -H --hint=x --wrap true 2>&1)" \
	"^sbatch: --hint has no effect\$"
id=$(sbatch --parsable -H -a '0-9%3' --wrap true)
is "the tasks of an array" "$(squeue -h -j "$id" -o '%i %K')" "${id}_[0-9%3] 0-9%3"
id=$(A=1 B=2 sbatch --parsable --export=A,C=3 -o env --wrap env)
becomes "a job with few variables" "$id" COMPLETED
is "has these" "$(grep -E '^(A|B|C)=' env | sort | xargs)" "A=1 C=3"
is "and finds the daemon" "$(grep '^AISCHED_SOCKET=' env)" \
	"AISCHED_SOCKET=$AISCHED_SOCKET"
is "and srun" "$(grep '^PATH=' env)" "PATH=$dir/slurm/bin:/usr/local/bin:/usr/bin:/bin"
printf 'A=1\0B=x y\0' >variables
id=$(C=3 sbatch --parsable --export-file=variables -o file --wrap env)
becomes "a job with the variables of a file" "$id" COMPLETED
is "has these and no others" "$(grep -E '^(A|B|C)=' file | sort)" "A=1
B=x y"
is "and finds srun" "$(grep '^PATH=' file)" "PATH=$dir/slurm/bin:/usr/local/bin:/usr/bin:/bin"
id=$(C=3 D=4 sbatch --parsable --export-file=variables --export=C -o file --wrap env)
becomes "one with those of --export, too" "$id" COMPLETED
is "has both" "$(grep -E '^(A|B|C|D)=' file | sort | xargs)" "A=1 B=x y C=3"
id=$(sbatch --parsable --export=NONE -o none --wrap 'srun echo ran')
becomes "a job without variables" "$id" COMPLETED
is "runs steps" "$(cat none)" ran
id=$(PATH=/usr/bin:/bin "$dir/slurm/bin/sbatch" --parsable -o path --wrap 'echo $PATH; srun echo ran')
becomes "one of a sbatch that is not in PATH" "$id" COMPLETED
is "does, too" "$(cat path)" "$dir/slurm/bin:/usr/bin:/bin
ran"
id=$(sbatch --parsable --export=PATH -o own --wrap 'echo $PATH')
becomes "one with a PATH of its own" "$id" COMPLETED
is "keeps that" "$(cat own)" "$PATH"
id=$(sbatch --parsable -n 3 -o once --wrap 'echo one; env | grep ^SLURM_NTASKS=')
becomes "several tasks" "$id" COMPLETED
is "the script runs once" "$(xargs <once)" "one SLURM_NTASKS=3"
like "a signal for steps" "$(sbatch -H --signal=USR2@90 --wrap true 2>&1)" \
	"^Submitted batch job [0-9]+\$"

# --- errors ------------------------------------------------------------------------

# NAME STATUS STDERR OPTION...: tests that sbatch fails with this exit status
# and message
wrong()
{
	wrong_name=$1
	wrong_status=$2
	wrong_text=$3
	shift 3
	says "$wrong_name" "$wrong_status" "" "$wrong_text" \
		sbatch "$@" --wrap true
}

failed="sbatch: error: Batch job submission failed:"
wrong "an unknown option" 255 "sbatch: unrecognized option '--foo=1'
Try \"sbatch --help\" for more information" --foo=1
wrong "a bad time" 255 "sbatch: error: Invalid --time specification" -t abc
wrong "a bad size" 255 "sbatch: error: Invalid --mem specification" --mem=abc
wrong "a bad moment" 255 "sbatch: error: Invalid --begin specification" --begin=abc
wrong "a bad number" 1 \
	'sbatch: error: Invalid numeric value "echo" for --ntasks.' -n echo
wrong "no such queue" 1 "sbatch: error: invalid partition specified: nopart
$failed Invalid partition name specified" -p nopart
wrong "no such reservation" 1 "$failed Requested reservation is invalid" \
	--reservation=bogus
wrong "no such licence" 1 "$failed Invalid license specification" -L bogus
wrong "no such node" 1 "$failed Invalid node name specified" -w nosuch
wrong "no such class" 1 "$failed Invalid qos specification" --qos=bogus
wrong "no such job to wait for" 1 "$failed Job dependency problem" \
	-d afterok:99999999
wrong "one of several queues that is none" 1 "sbatch: error: invalid partition specified: nosuch
$failed Invalid partition name specified" -p main,nosuch
wrong "no way to be exclusive" 255 "sbatch: error: Invalid --exclusive specification" --exclusive=bogus
wrong "a signal too early" 255 "sbatch: error: Invalid --signal specification" \
	--signal=USR1@99999999
wrong "memory in two ways" 1 \
	"sbatch: fatal: --mem, --mem-per-cpu, and --mem-per-gpu are mutually exclusive." \
	--mem=1G --mem-per-cpu=1G
wrong "a deadline in the past" 1 "$failed Requested time limit is invalid (missing or exceeds some limit)" \
	--deadline=2000-01-01
wrong "no such user" 255 "sbatch: error: Invalid --uid specification" --uid=nosuchuser
wrong "no file of variables" 1 "sbatch: error: Could not open user environment file nosuch" \
	--export-file=nosuch
run sbatch -x "$node" --wrap true
like "its only node excluded" "$rc $(tail -n 1 "$dir/run.err")" \
	"^1 $failed Requested node configuration is not available\$"
says "another exit status for errors" 7 "" "sbatch: error: invalid partition specified: nopart
$failed Invalid partition name specified" env SLURM_EXIT_ERROR=7 sbatch -p nopart --wrap true
script '#SBATCH -n'
says "a directive without its value" 255 "" "sbatch: option requires an argument -- 'n'
Try \"sbatch --help\" for more information" sbatch job.sh
wrong "a bad array" 1 "$failed Invalid job array specification" -a 5-1
wrong "a range that ends below its beginning" 255 \
	"sbatch: error: Maximum node count 1 is less than minimum node count 2" -N 2-1
wrong "a range without an end" 255 \
	'sbatch: error: "bogus" is not a valid node count' -N 2-bogus
wrong "no nodes" 1 "$failed Node count specification invalid" -N 0
wrong "alternatives of which none ends" 1 "$failed Invalid feature specification" \
	-C '[a100|'
run sbatch -c 999 --wrap true
like "too much" "$rc $(tail -n 1 "$dir/run.err")" \
	"^1 $failed Requested node configuration is not available\$"
run sbatch -C nosuch --wrap true
like "no such feature" "$rc $(tail -n 1 "$dir/run.err")" \
	"^1 $failed Invalid feature specification\$"
says "no daemon" 1 "" \
	"$failed Unable to contact slurm controller (connect failure)" \
	env AISCHED_SOCKET="$dir/none" sbatch --wrap true

done_testing

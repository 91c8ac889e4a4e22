#!/bin/sh
# --json of squeue, sacct and sinfo: its format, which must not change
# shellcheck disable=SC2119 # slurm_daemon needs no options here

# shellcheck source=tests/e2e/slurm.sh
. "$top_srcdir/tests/e2e/slurm.sh"

slurm_daemon
me=$(id -un)
node=$(uname -n)
gate go
runs=$(sbatch --parsable -J one -n2 --mem=100M -t 10 --comment hi -D "$dir" -o out -A sci \
	--wrap "srun -n2 true; $(at_gate go)")
wait_for is_state "$runs" RUNNING
array=$(sbatch --parsable -H -a '0-3%2' -o /dev/null --wrap true)
failed=$(sbatch --parsable -o /dev/null --wrap 'exit 3')
killed=$(sbatch --parsable -o /dev/null --wrap 'kill -9 $$')
becomes "a job fails" "$failed" FAILED
becomes "another is killed" "$killed" FAILED
wait_for "sacct -n -P -o State -j $runs.0 | grep -q COMPLETED"

# FILTER COMMAND...: prints a part of the command's JSON in one line
json()
{
	filter=$1
	shift
	"$@" | jq -c "$filter"
}

# --- squeue ----------------------------------------------------------------------

is "the object" "$(json 'keys' squeue --json)" '["errors","jobs","last_update","meta","warnings"]'
is "its shape is told" "$(json '.meta.schema, .meta.slurm.cluster, .errors' squeue --json | xargs)" "aisched/1 test []"
is "jobs that have not ended" "$(json '[.jobs[].job_id] | sort' squeue --json)" "[$runs,$array]"
is "a job" "$(json '.jobs[0] | [.job_id, .name, .job_state, .partition, .user_name, .account, .comment, .current_working_directory, .nodes, .state_reason, .tres_alloc_str]' \
	squeue --json -j "$runs")" \
	"[$runs,\"one\",[\"RUNNING\"],\"main\",\"$me\",\"sci\",\"hi\",\"$dir\",\"$node\",\"None\",\"cpu=2,mem=100M,node=1,billing=2\"]"
is "its files" "$(json '.jobs[0] | .standard_output == .standard_error, .standard_input' squeue --json -j "$runs" | xargs)" "true "
is "what it has" "$(json '.jobs[0].job_resources' squeue --json -j "$runs")" \
	"{\"cpus\":2,\"nodes\":{\"count\":1,\"list\":\"$node\",\"whole\":false,\"allocation\":[{\"name\":\"$node\",\"cpus\":{\"count\":2,\"used\":2},\"memory\":{\"used\":100,\"allocated\":100}}]}}"
is "numbers" "$(json '.jobs[0] | .time_limit, .het_job_id, .array_task_id' squeue --json=v0.0.41 -j "$runs" | xargs)" \
	"{set:true,infinite:false,number:10} {set:true,infinite:false,number:0} {set:false,infinite:false,number:0}"
is "limits" "$(json '.jobs[0].end_time.number - .jobs[0].start_time.number' squeue --json -j "$runs")" 600
is "one that waits has nothing" "$(json '.jobs[0] | [.job_resources, .nodes, .array_task_string, .array_job_id.number, .tres_alloc_str]' \
	squeue --json -j "$array")" "[null,\"\",\"0-3%2\",$array,\"\"]"
is "tasks with --array" "$(json '[.jobs[].array_task_id.number]' squeue --json -r -j "$array")" "[0,1,2,3]"
is "states" "$(json '[.jobs[].job_state[0]]' squeue --json -t PD)" '["PENDING"]'
is "exit codes" "$(json '.jobs | sort_by(.job_id) | .[] | [.exit_code.status[0], .exit_code.return_code.number, .exit_code.signal.name]' \
	squeue --json -t F | xargs)" "[ERROR,3,] [SIGNALED,0,KILL]"
is "none" "$(json .jobs squeue --json -p nope)" "[]"

# --- sacct -----------------------------------------------------------------------

is "jobs of all times, as torchx reads them" \
	"$(json '[.jobs[] | select(.job_id != '"$array"') | [.job_id, .state.current]]' sacct --json -S1970-01-01-00:00:01)" \
	"[[$runs,\"RUNNING\"],[$failed,\"FAILED\"],[$killed,\"FAILED\"]]"
is "a job of history" "$(json '.jobs[0] | [.name, .user, .account, .cluster, .nodes, .exit_code.return_code.number, .time.limit.infinite, .required.CPUs]' \
	sacct --json -j "$failed")" "[\"wrap\",\"$me\",\"\",\"test\",\"$node\",3,true,1]"
is "times" "$(json '.jobs[0].time | .end >= .start and .start >= .submission and .elapsed == .end - .start' sacct --json -j "$failed")" true
is "steps" "$(json '[.jobs[0].steps[] | [.step.id, .step.name, .state, .tasks.count]]' sacct --json -j "$runs")" \
	"[[\"$runs.batch\",\"batch\",\"RUNNING\",1],[\"$runs.0\",\"true\",\"COMPLETED\",2]]"
is "resources" "$(json '.jobs[0].tres.allocated | map("\(.type)=\(.count)") | join(",")' sacct --json -j "$runs")" '"cpu=2,mem=100,node=1"'
is "an array that waits" "$(json '.jobs[0] | [.array.job_id, .array.task, .nodes, .steps]' sacct --json -j "$array")" \
	"[$array,\"0-3%2\",\"None assigned\",[]]"

# --- sinfo -----------------------------------------------------------------------

is "nodes" "$(json '.nodes[0] | [.name, .hostname, .state, .partitions, .cpus, .alloc_cpus, .idle_cpus, .real_memory, .alloc_memory, .free_mem.number, .gres]' \
	sinfo --json)" "[\"$node\",\"$node\",[\"MIXED\"],[\"main\",\"debug\"],4,2,2,4096,100,3996,\"\"]"
is "of another state" "$(json .nodes sinfo --json -t idle)" "[]"
aictl drain "$node" -r 'a fan'
is "one that drains" "$(json '.nodes[0] | [.state, .reason]' sinfo --json)" '[["MIXED","DRAIN"],"a fan"]'
aictl undrain "$node"
open_gate go
becomes "the job ends" "$runs" COMPLETED
done_testing

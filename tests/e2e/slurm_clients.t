#!/bin/sh
# Programs that call Slurm's commands, each with a workload of its own.
# tools/slurm-clients installs them outside the tree; without them this test is
# skipped.
# shellcheck disable=SC2016,SC2119 # conditions are for later, no options

# shellcheck source=tests/e2e/slurm.sh
. "$top_srcdir/tests/e2e/slurm.sh"

clients=$("$top_srcdir/tools/slurm-clients" --where)
python=$clients/bin/python
[ -e "$clients/installed" ] || skip_all "tools/slurm-clients has not installed the programs"
slurm_daemon
export HOME="$dir/client_home" PYTHONDONTWRITEBYTECODE=1
export PATH="$clients/bin:$PATH"
mkdir -p "$HOME"

# NAME FUNCTION: tests that the function of slurm_clients.py succeeds
check()
{
	"$python" "$top_srcdir/tests/e2e/slurm_clients.py" "$2" >"$2.out" 2>&1 </dev/null
	result $? "$1" || {
		diag "$(tail -n 30 "$2.out")"
		squeue -a -t all | sed 's/^/#   /'
	}
	# Remove the jobs of a failed test before the next.
	scancel --me
	wait_for '[ -z "$(squeue -h)" ]'
}

check "submitit: a function" submitit_job
check "submitit: an array" submitit_array
check "submitit: an exception" submitit_failure
check "submitit: tasks" submitit_tasks
check "submitit: cancel" submitit_cancel
check "submitit: checkpoint and requeue" submitit_requeue
check "simple-slurm: sbatch and srun" simple_slurm
check "simple-slurm: squeue and scancel" simple_slurm_queue
check "executorlib in an allocation" executorlib_job
check "dask: workers come and go" dask_cluster
check "Parsl: 20 apps" parsl_apps
check "Snakemake: rules, a group, a rule that fails" snakemake
if [ -e "$clients/bin/nextflow" ]; then
	check "Nextflow: a pipeline" nextflow
else
	skip "Nextflow" "tools/slurm-clients has not installed it"
fi
check "reportseff" reportseff
check "PSI/J: jobs that end in four ways" psij_jobs
check "batchspawner: a server" batchspawner
check "toil: a workflow, and one that fails" toil
done_testing

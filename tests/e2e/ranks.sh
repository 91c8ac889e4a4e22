#!/bin/sh
#SBATCH --ntasks-per-node=2 --cpus-per-task=1
# shellcheck disable=SC2016 # tasks expand their own variables
# ranks.sh - a batch script for several nodes; ranks.txt is what it prints under
# a real Slurm
#
# Lines that depend on the number of nodes begin with "node".
cd /tmp || exit
programs=ranks.$$
echo "tasks $SLURM_NTASKS"
echo "node $SLURM_NNODES $SLURM_TASKS_PER_NODE"
srun -l sh -c 'echo "$SLURM_PROCID of $SLURM_NTASKS in step $SLURM_STEP_ID"' | sort
srun -l sh -c 'echo "node $SLURM_NODEID of $SLURM_NNODES, local $SLURM_LOCALID"' | sort
srun -l -n2 sh -c 'echo "$SLURM_PROCID of $SLURM_NTASKS, of $SLURM_NPROCS"' | sort
srun -l -N2 --ntasks-per-node=1 sh -c 'echo "node $SLURM_NODEID $SLURM_TASKS_PER_NODE $SLURM_STEP_NUM_NODES"' 2>/dev/null | sort
echo hello | srun -l cat | sort
echo hello | srun -l -i 2 cat | sort
printf '0 echo first\n1,3 echo %%o of some\n* echo other %%t\n' >"$programs"
srun -l --multi-prog "$programs" | sort
rm -f "$programs"

# OPTION...: runs a step; prints its exit status and its errors, without names
status()
{
	srun "$@" 2>"$programs"
	echo "status $?"
	sed -nE 's/^(slurmstepd-)[^:]+/\1NODE/; s/^(srun: error: )[^ ]+: (task)/\1NODE: \2/; s/ job [0-9]+/ job JOB/; /error/p' "$programs"
	rm -f "$programs"
}

status sh -c 'exit $((SLURM_PROCID == 3 ? 7 : 0))'
status -n1 sh -c 'kill -9 $$'
status -n5 true
status -n1 /no/such
srun -n4 -K sh -c 'test $SLURM_PROCID != 1 || exit 9; exec sleep 1000' 2>/dev/null
echo "status $?"
srun --export=ALL,WHERE=here -n1 sh -c 'echo $WHERE $SLURM_JOB_NAME' 2>/dev/null
scontrol show hostnames | sed 's/.*/node name/'
exit 7

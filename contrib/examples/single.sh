#!/bin/sh
# A single job: what it prints goes to slurm-JOB.out, line by line.
#AISUB --job-name=single
#AISUB --cpus-per-task=0.5
#AISUB --time=5m

echo "job $AISCHED_JOB_ID of queue $AISCHED_JOB_QUEUE runs on $(uname -n)"
for step in 1 2 3; do
	echo "step $step of 3"
	sleep 1
done

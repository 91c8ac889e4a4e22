#!/bin/sh
# An array: one script, 20 tasks, at most 8 of them at once.
#AISUB --job-name=squares
#AISUB --array=0-19%8
#AISUB --cpus-per-task=0.1
#AISUB --output=square-%a.out
#AISUB --time=5m

n=$AISCHED_ARRAY_TASK_ID
sleep 1
echo "$((n * n))"

#!/bin/sh
# A gang: its tasks start together or not at all, and each knows its rank.
# This is what torchrun, torch.distributed and MPI read:
# RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT.
#AISUB --job-name=gang
#AISUB --tasks=2
#AISUB --cpus-per-task=0.5
#AISUB --time=5m

echo "rank $RANK of $WORLD_SIZE, the master is $MASTER_ADDR:$MASTER_PORT"

# The tasks meet in the folder from which they were submitted: each leaves a
# file and waits for the files of all others.
meet=gang-$AISCHED_JOB_ID
mkdir -p "$meet"
: >"$meet/$RANK"
while [ "$(find "$meet" -type f | wc -l)" -lt "$WORLD_SIZE" ]; do
	sleep 0.1
done
echo "rank $RANK has met all others"

#!/bin/sh
# A training run that may be preempted: when it is told to end, it saves what it
# has learnt, and goes on from there when it starts again.
#AISUB --job-name=train
#AISUB --gpus-per-task=1
#AISUB --cpus-per-task=2
#AISUB --mem-per-task=8G
#AISUB --time=1h

exec python3 train.py

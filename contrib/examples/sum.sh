#!/bin/sh
# A job that waits until all tasks of array.sh have succeeded:
#
#	aisub --dependency=afterok:ARRAY sum.sh
#AISUB --job-name=sum
#AISUB --cpus-per-task=0.1
#AISUB --output=sum.out
#AISUB --time=5m

sum=0
for file in square-*.out; do
	sum=$((sum + $(cat "$file")))
done
echo "the sum of 20 squares is $sum"

#!/bin/sh
# Jobs of higher priority take resources from jobs that may be preempted, and
# these are requeued.
# shellcheck disable=SC2016,SC2119 # jobs expand their own variables

. "$top_srcdir/tests/e2e/jobs.sh"

configure 'queue soft { preempt = suspend  grace = "2s" }
queue hard { preempt = requeue  grace = "60s" }
pool here { runner = local }
node "'"$(uname -n)"'" { pool = here  cpus = 4  memory = "4G" }'
aictl reload

# --- suspension ------------------------------------------------------------

low=$(submit -q soft -c 4 --mem 100M \
	--wrap 'while :; do echo tick; sleep 0.05; done')
wait_for has_line "slurm-$low.out" tick
wait_for is_state "$low" RUNNING
gate h
high=$(submit -q soft -c 4 --mem 100M --class interactive \
	--wrap "$(at_gate h)")
becomes "more important work runs" "$high" RUNNING
is "the other lends its CPUs" "$(state_of "$low")" SUSPENDED
is "which counts" "$(field "$low" preemptions)" 1
open_gate h
becomes "it ends" "$high" COMPLETED
becomes "and the other goes on by itself" "$low" RUNNING
n=$(wc -l <"slurm-$low.out")
ok "where it was" wait_for "[ \"\$(wc -l <slurm-$low.out)\" -gt $n ]"
is "without a restart" "$(field "$low" restarts)" 0
aicancel --wait "$low"

# --- requeue ---------------------------------------------------------------

gate l k
low=$(submit -q hard -c 4 --wrap "trap '$(at_gate l); exit' TERM
	echo up; while :; do sleep 0.05; done")
wait_for has_line "slurm-$low.out" up
high=$(submit -q hard -c 4 --class interactive --wrap "$(at_gate k)")
waits "who leaves, and what is held" "$high" Preempting \
	"1 job is being evicted for it .job $low.; .* is held"
kill_daemon
start_daemon
waits "also by the next daemon" "$high" Preempting \
	"1 job is being evicted for it .job $low.; .* is held"
open_gate l
becomes "then it runs" "$high" RUNNING
is "the other waits" "$(state_of "$low")" PENDING
is "and was preempted" "$(field "$low" preemptions)" 1
open_gate k
becomes "until it is its turn again" "$low" RUNNING
rm "$dir/gate.l" # the job need not wait for it, but for no grace of 60 s
aicancel --wait "$low"

low=$(sleeper -q hard -c 4)
wait_for is_state "$low" RUNNING
run aisub --test-only -q hard -c 4 --class interactive --wrap true
like "a test says who would leave" "$out" "^would evict job $low\$"
run aisub --test-only --json -q hard -c 4 --class interactive --wrap true
like "as JSON, too" "$out" "\"evicts\": *\[$low\]"
is "nobody does" "$(state_of "$low")" RUNNING
aicancel --wait "$low"

# --- jobs that may not be preempted -------------------------------------------

low=$(sleeper -q soft -c 4 --class interactive)
wait_for is_state "$low" RUNNING
high=$(sleeper -q soft -c 4 --class inference)
waits "who may not be preempted stays" "$high" Resources ".*job $low"
aicancel --wait --all

done_testing

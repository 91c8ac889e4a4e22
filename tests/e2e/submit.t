#!/bin/sh
# The input, output and exit status of aisub, and the environment of a job.
# shellcheck disable=SC2016,SC2119 # jobs expand their own variables
# shellcheck disable=SC3045 # dash, bash and others have ulimit -S and -H

. "$top_srcdir/tests/e2e/jobs.sh"

# --- output ----------------------------------------------------------------

run aisub --wrap true
is "it says the id" "$out$err" "Submitted batch job 1"
run aisub --parsable --wrap true
is "and only the id if asked" "$out$err" 2
run aisub -Q --wrap true
is "and nothing if asked" "$rc$out$err" 0
run aisub --json -H -J named --wrap true
like "the job as JSON" "$rc$err$out" '^0\{"job_id":4,.*"name":"named".*"state":"PENDING","reason":"JobHeldUser"'
is "an array has one id" "$(aisub --parsable -a 0-9 --wrap true)" 5
is "and is one object" "$(aisub --json -a 0-9 --wrap true | grep -c .)" 1

# --- sources of options ----------------------------------------------------

cat >script <<'END'
#!/bin/sh
#SBATCH --job-name=slurm --comment=slurm
#SBATCH --nice=7
#AISUB -J ours
#SBATCH --no-such-option
echo "$@"
#AISUB --hold
END
run aisub -H --parsable script
id=$out
is "#AISUB comes before #SBATCH" "$(field "$id" name)" ours
is "#SBATCH says what nothing above does" "$(field "$id" comment)" slurm
is "both are merged" "$(field "$id" priority)" 43
like "an unknown #SBATCH option is a warning" "$err" \
	"^aisub: script:5: warning: unknown option '--no-such-option', ignored$"
like "a directive after the first command is a warning" "$err" \
	"^aisub: script:7: warning:"
id=$(AISUB_JOB_NAME=env AISUB_COMMENT=env aisub --parsable -H -J cmd script \
	2>/dev/null)
is "the command line comes first" "$(field "$id" name)" cmd
is "then the environment" "$(field "$id" comment)" env
fails "an unknown #AISUB option names its line" 2 \
	"stdin:3: unknown option '--foo'" aisub - <<'END'
#!/bin/sh
#AISUB -J x
#AISUB --foo
END
aicancel --all

# --- script and arguments --------------------------------------------------

printf '#!/bin/sh\necho "$@"\n' >args
id=$(submit args one 'two  three' '$HOME')
becomes "a script with arguments" "$id" COMPLETED
is "gets them as they are" "$(cat "slurm-$id.out")" "one two  three \$HOME"
id=$(printf '#!/bin/sh\necho from stdin\n' | submit)
wait_for is_state "$id" COMPLETED
is "a script on stdin" "$(cat "slurm-$id.out")" "from stdin"
id=$(printf '#!/bin/cat\nverbatim \1\377\n' | submit)
wait_for is_state "$id" COMPLETED
is "a script need not be UTF-8" "$(tail -n 1 "slurm-$id.out" | od -An -c)" \
	"$(printf 'verbatim \1\377\n' | od -An -c)"
rm -f args

# --- environment of the job ------------------------------------------------

cat >show <<'END'
#!/bin/sh
env
END
export MARK="two
lines"
id=$(submit -J env -n 1 -c 2 -t 10 -a 7 show)
wait_for has_reason "${id}_7" None
becomes "a job that shows its environment" "${id}_7" COMPLETED
o=$(cat slurm-*_7.out)
like "its ids" "$o" "^AISCHED_ARRAY_JOB_ID=$id$"
like "its task of the array" "$o" '^AISCHED_ARRAY_TASK_ID=7$'
like "and for Slurm's users" "$o" '^SLURM_ARRAY_TASK_ID=7$'
like "its name" "$o" '^SLURM_JOB_NAME=env$'
like "its CPUs" "$o" '^SLURM_CPUS_PER_TASK=2$'
like "its tasks" "$o" '^AISCHED_NTASKS=1$'
like "its rank" "$o" '^AISCHED_PROCID=0$'
like "its folder" "$o" "^SLURM_SUBMIT_DIR=$PWD$"
like "the submitter's variables" "$o" '^MARK=two$'
like "with all their lines" "$o" '^lines$'
like "a temporary folder of its own" "$o" "^TMPDIR=$dir/tmp/aisched-"
id=$(submit --export NONE show)
wait_for is_state "$id" COMPLETED
unlike "--export NONE leaves the submitter's out" "$(cat "slurm-$id.out")" MARK
id=$(submit --export OTHER=1,PATH show)
wait_for is_state "$id" COMPLETED
like "--export with a list" "$(cat "slurm-$id.out")" '^OTHER=1$'

id=$(submit -n 2 -o 'rank.%t' --wrap 'echo "$RANK/$WORLD_SIZE $LOCAL_RANK $MASTER_ADDR:$MASTER_PORT"')
becomes "a gang of two tasks" "$id" COMPLETED
like "the first knows its rank" "$(cat rank.0)" '^0/2 0 .+:[0-9]+$'
like "the second, too" "$(cat rank.1)" '^1/2 1 .+:[0-9]+$'
is "and who is the master" "$(cut -d' ' -f3 rank.0)" "$(cut -d' ' -f3 rank.1)"
id=$(printf '#!/bin/sh\n#SBATCH -n 2\necho $SLURM_NTASKS\n' | submit)
wait_for is_state "$id" COMPLETED
is "with only #SBATCH lines it runs once" "$(cat "slurm-$id.out")" 2
id=$(printf '#!/bin/sh\n#SBATCH -n 2\necho $SLURM_NTASKS\n' |
	submit --launch tasks)
wait_for is_state "$id" COMPLETED
is "unless told otherwise" "$(cat "slurm-$id.out")" "2
2"
id=$(submit -D / --wrap pwd -o "$PWD/pwd")
wait_for is_state "$id" COMPLETED
is "it runs where it is told" "$(cat pwd)" /
id=$(umask 077 && submit --wrap umask)
wait_for is_state "$id" COMPLETED
is "with the submitter's umask" "$(cat "slurm-$id.out")" 0077

hard=$(ulimit -H -n)
id=$(ulimit -S -n 321 && submit --wrap 'ulimit -S -n; ulimit -H -n')
becomes "a job has limits" "$id" COMPLETED
is "those of its submitter" "$(cat "slurm-$id.out")" "321
$hard"
id=$(ulimit -n 123 && submit -n 2 -o 'limit.%t' --wrap 'ulimit -S -n; ulimit -H -n')
becomes "so have all tasks" "$id" COMPLETED
is "the hard ones, too" "$(cat limit.0 limit.1 | tr '\n' ' ')" "123 123 123 123 "

# --- --wait ----------------------------------------------------------------

for status in 0 1 255; do
	run aisub -Q -W --wrap "exit $status"
	is "--wait exits with the job's exit status $status" "$rc" "$status"
done
run aisub -Q -W --wrap 'kill -USR1 $$'
is "128 and the signal" "$rc" 138
run aisub -Q -W -a 0-3 --wrap 'exit $((AISCHED_ARRAY_TASK_ID * 3))'
is "the highest of an array" "$rc" 9
run aisub -W --wrap 'exit 4'
like "and says the id first" "$out" '^Submitted batch job [0-9]+$'
run aisub -Q -F --wrap 'echo one; echo two; exit 6'
is "--follow prints its output" "$out" "one
two"
is "and exits with its status" "$rc" 6

# A shell starts background commands with SIGINT ignored, so reset that.
gate w
env --default-signal=INT aisub -W --wrap "$(at_gate w)" >wait.out 2>wait.err &
waiting=$!
wait_for grep -q Submitted wait.out
id=$(sed 's/.* //' wait.out)
wait_for is_state "$id" RUNNING
# Wait until aisub handles SIGINT: it may print the id before.
wait_for grep -q "^SigCgt:.*[2367abef]$" "/proc/$waiting/status"
kill -INT "$waiting"
wait "$waiting"
is "Ctrl-C ends --wait" "$?" 130
like "it says that the job goes on, and how to end it" "$(cat wait.err)" \
	"job $id goes on without aisub; .aicancel $id. ends it"
is "and so it does" "$(state_of "$id")" RUNNING
open_gate w

# --- --test-only -----------------------------------------------------------


run aisub --test-only -n 2 --wrap true
is "it says where it would start" "$rc$out$err" "0would start now on $(uname -n)"
id=$(sleeper -c 4)
wait_for is_state "$id" RUNNING
before=$(aiq -h -a --history -o job_id; aiq -h -o job_id)
run aisub --test-only --wrap true
like "and why it would wait" "$out" '^would wait \(Resources\): .*CPU'
run aisub --test-only -H --wrap true
like "held" "$out" '^would wait \(JobHeldUser\)'
run aisub --test-only -d "afterok:$id" --wrap true
like "for another" "$out" '^would wait \(Dependency\)'
run aisub --test-only --begin now+1h --wrap true
like "for its time" "$out" '^would start at .* \(BeginTime\)'
fails "what is refused is refused" 1 "needs 99 CPUs" \
	aisub --test-only -c 99 --wrap true
is "and there is no job more" \
	"$(aiq -h -a --history -o job_id; aiq -h -o job_id)" "$before"
is "and no id less" "$(submit -H --wrap true)" $((id + 1))
aicancel --all

# --- near other jobs, and apart from them -----------------------------------

id=$(sleeper -c 1)
wait_for is_state "$id" RUNNING
run aisub --test-only --near "$id" --wrap true
like "a job starts near one that runs" "$rc$out" '^0would start now'
run aisub --test-only --apart "$id" --wrap true
like "but not apart from it on the only node" "$out" \
	'^would wait \(Affinity\): would fit, but not where --near and --apart'
held=$(submit -H --wrap true)
near=$(submit --near "$held" --wrap true)
is "a job waits for the one near which it is to run" \
	"$(field "$near" reason)" Affinity
like "and says so" "$(field "$near" reason_text)" \
	"^waits for job $held, near which it is to run, to start$"
is "what it asked for is shown" "$(field "$near" near)" "$held"
apart=$(submit --apart "$id,$held:node" --wrap true)
wait_for has_reason "$apart" Affinity
restart
is "a restart changes nothing" \
	"$(field "$near" reason) $(field "$apart" apart)" \
	"Affinity $id,$held:node"
aicancel "$id"
becomes "the end of that job lets the other one start" "$apart" COMPLETED
aictl release "$held"
becomes "its start lets the job near it start" "$near" COMPLETED
fails "a job that has ended cannot be named" 1 \
	"--near: you have no job $id that waits or runs" \
	aisub --near "$id" --wrap true
fails "nor a level that is not there" 1 \
	"there is no topology level 'rack'" aisub --near "$id:rack" --wrap true
run aisub --apart '1_[1-2]' --wrap true
like "nor a list of tasks" "$rc$err" "^2.*name one task, or the whole array"
aicancel --all

# --- options of sbatch -----------------------------------------------------

run aisub -H --parsable --mail-type=ALL --mail-user x --wckey k \
	--get-user-env -p default --ntasks=1 --mem=100M --partition=default \
	--gres=none --wrap true
is "is taken" "$rc$err" 0

done_testing

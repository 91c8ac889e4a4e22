#!/bin/sh
# The output files of jobs, and aiq --log.
# shellcheck disable=SC2016,SC2119 # jobs expand their own variables

. "$top_srcdir/tests/e2e/jobs.sh"

# OPTION...: submits a job and waits until it has ended
done_job()
{
	id=$(aisub --parsable --wait "$@")
}

done_job --wrap 'echo out; echo err >&2'
is "both streams in one file" "$(cat "slurm-$id.out")" "out
err"
done_job -e errors --wrap 'echo out; echo err >&2'
is "stderr apart" "$(cat errors)/$(cat "slurm-$id.out")" err/out
is "aiq names the file" "$(field "$id" output)" "$PWD/slurm-$id.out"
is "and that of stderr" "$(field "$id" error)" "$PWD/errors"
done_job -a 3 --wrap 'echo task'
is "of an array" "$(cat "slurm-${id}_3.out")" task
done_job -a 5 -J name -o '%x-%A-%a-%u-%N-%%-%t' --wrap 'echo pattern'
is "patterns" "$(cat "name-$id-5-$(id -un)-$(uname -n)-%-0")" pattern
done_job -o '%j/deep/er/%j.out' --wrap 'echo made'
is "folders are made" "$(cat "$id/deep/er/$id.out")" made
done_job -D "$dir/work" -o rel --wrap 'echo rel'
is "relative to the job's folder" "$(cat "$dir/work/rel")" rel
echo before >old
done_job -o old --wrap 'echo after'
is "a file of before is emptied" "$(cat old)" after
done_job -o old --open-mode append --wrap 'echo more'
is "unless it is appended to" "$(cat old)" "after
more"
done_job -n 2 -o both --wrap 'echo task'
is "tasks of one job share a file" "$(cat both)" "task
task"
done_job -o /dev/null --wrap 'echo nothing'
is "/dev/null is fine" "$(state_of "$id")" COMPLETED
mkfifo pipe
cat pipe >from_pipe &
done_job -o "$PWD/pipe" --wrap 'echo through'
wait $!
is "a pipe is fine" "$(cat from_pipe)" through
echo given >input
done_job -i input --wrap cat
is "its input" "$(cat "slurm-$id.out")" given
done_job --wrap 'cat; echo end'
is "which is empty by itself" "$(cat "slurm-$id.out")" end
done_job --wrap 'printf "no newline"'
is "no byte is added" "$(od -An -c "slurm-$id.out")" \
	"$(printf 'no newline' | od -An -c)"

# --- a job that runs again -------------------------------------------------

gate again
id=$(submit --wrap "echo \$SLURM_RESTART_COUNT-; $(at_gate again)")
wait_for has_line "slurm-$id.out" -
wait_for is_state "$id" RUNNING
aictl requeue "$id"
wait_for "[ \"\$(field $id restarts)\" = 1 ]"
open_gate again
wait_for is_state "$id" COMPLETED
is "a requeue appends" "$(grep -c -- '-$' "slurm-$id.out")" 2
like "and counts" "$(cat "slurm-$id.out")" '^1-$'
like "and says why it ended" "$(cat "slurm-$id.out")" \
	"\*\*\* JOB $id .*REQUEUE"

# --- the output says why its job ended -------------------------------------

id=$(submit --wrap 'echo up; exec sleep 1000')
wait_for has_line "slurm-$id.out" up
aicancel --wait "$id"
like "a cancelled job says so" "$(cat "slurm-$id.out")" \
	"\*\*\* JOB $id .*CANCELLED AT [0-9T:-]+ \*\*\*"
done_job -t 1s --wrap 'exec sleep 1000'
like "and one that was too slow" "$(cat "slurm-$id.out")" \
	"\*\*\* JOB $id .*CANCELLED AT [0-9T:-]+ DUE TO TIME LIMIT \*\*\*"
is "its state" "$(state_of "$id") $(field "$id" reason)" "TIMEOUT TimeLimit"

# --- aiq --log -------------------------------------------------------------

done_job --wrap 'echo one; echo two'
is "aiq --log prints it" "$(aiq --log "$id")" "one
two"
gate log
id=$(submit --wrap "echo early; $(at_gate log); echo late")
wait_for has_line "slurm-$id.out" early
aiq --log -f "$id" >followed &
pid=$!
wait_for has_line followed early
open_gate log
wait "$pid"
is "aiq --log -f follows it to its end" "$?:$(cat followed)" "0:early
go
late"
done_job -n 2 -o 'task.%t' --wrap 'echo $AISCHED_PROCID'
is "the output of one task" "$(aiq --log --task 1 "$id")" 1
fails "of one that there is not" 1 "there is no task 2 of job $id: its last is 1" \
	aiq --log --task 2 "$id"
done_job -a 0-1 --wrap 'echo $AISCHED_ARRAY_TASK_ID'
fails "of an array one task is named" 1 "is an array" aiq --log "$id"
is "like this" "$(aiq --log "${id}_1")" 1

# --- output files that are refused -----------------------------------------

touch file
fails "a folder that cannot be made is refused" 1 "$PWD/file" \
	aisub -o file/x/out --wrap true
if is_root; then
	mkdir -m 700 mine
	chmod 711 .
	run as_user nobody aisub -o "$PWD/mine/out" --wrap true
	is "a folder that cannot be written" "$rc" 1
	like "with the reason" "$err" "$PWD/mine"
	id=$(as_user nobody aisub --parsable -o "$dir/home/nobody/own" \
		--wrap 'id -un')
	wait_for is_state "$id" COMPLETED
	is "files belong to the user" \
		"$(cat "$dir/home/nobody/own") $(stat -c %U "$dir/home/nobody/own")" \
		"nobody nobody"
else
	skip "a folder that cannot be written" "not root"
fi
mkdir gone
id=$(submit -H -o gone/out --wrap true)
rm -r gone
touch gone
aictl release "$id"
becomes "it cannot be written at the start" "$id" FAILED
is "the reason" "$(field "$id" reason)" JobLaunchFailure
like "in words" "$(field "$id" reason_text)" "$PWD/gone"
is "and it is not tried again" "$(field "$id" attempt)" 1
id=$(printf '#!/no/such/shell\n' | submit)
becomes "no such interpreter" "$id" FAILED
like "in words" "$(field "$id" reason_text)" "/no/such/shell"
id=$(submit -i nothing --wrap cat)
becomes "no such input" "$id" FAILED
like "in words" "$(field "$id" reason_text)" "$PWD/nothing"
id=$(submit -D "$PWD/nowhere" -o /dev/null --wrap true)
becomes "no such folder" "$id" FAILED
like "in words" "$(field "$id" reason_text)" "$PWD/nowhere"

done_testing

#!/bin/sh
# The tasks of steps have the grace time of their job: srun gets the job's
# SIGTERM, too, but does not end its step sooner
# shellcheck disable=SC2016,SC2119 # jobs expand their own variables

# shellcheck source=tests/e2e/slurm.sh
. "$top_srcdir/tests/e2e/slurm.sh"

stop_daemon
configure "
queue default { grace = \"60s\" }
pool here { runner = local }
node \"$(uname -n)\" { pool = here  cpus = 16  memory = \"4G\" }"
start_daemon || bail "aischedd does not start"

# Tasks that take longer to save their work than srun gives a step to end.
cat >task.sh <<'END'
#!/bin/sh
trap 'trap "echo again >>\"$1.again\"" TERM; sleep 4; echo saved >>"$1.saved"; exit 0' TERM
: >"$1.ready"
while :; do sleep 0.1; done
END
chmod +x task.sh

# A script that ends on SIGTERM, and one that passes it on.
printf '#!/bin/bash\nsrun -n1 ./task.sh "$1"\n' >plain
cat >trapped <<'END'
#!/bin/bash
srun -n1 ./task.sh "$1" &
trap 'kill -TERM $!' TERM
until wait; do :; done
END

ways="cancel trapped requeue limit"
for way in $ways; do
	script=plain
	set --
	case $way in
	trapped) script=trapped ;;
	limit) set -- --time 0:15 ;;
	esac
	aisub --parsable -n 2 "$@" -o "$way.out" "$script" "$way" >"$way.id" ||
		bail "$way is not taken"
done
for way in $ways; do
	wait_for test -e "$way.ready" || bail "the task of $way does not start"
done
aicancel "$(cat cancel.id)" "$(cat trapped.id)"
scontrol requeue "$(cat requeue.id)"
for way in $ways; do
	ok "$way: the task has its time" wait_for test -e "$way.saved"
	ok "$way: and no second signal" [ ! -e "$way.again" ]
done
for way in cancel trapped; do
	ok "$way: the job ends" wait_for is_state "$(cat "$way.id")" CANCELLED
	is "$way: srun does not force it" "$(grep forcing "$way.out")" ""
done
ok "limit: the job ends" wait_for is_state "$(cat limit.id)" TIMEOUT
scancel "$(cat requeue.id)"

# --- a signal for srun only -------------------------------------------------------

printf '#!/bin/sh\ntrap "" TERM\n: >deaf.ready\nexec sleep 1000\n' >deaf.sh
chmod +x deaf.sh
printf '#!/bin/bash\nsrun -n1 ./deaf.sh &\necho $! >deaf.pid\nwait $!\necho $? >deaf.status\n' >deaf
id=$(aisub --parsable -n 1 -o deaf.out deaf)
wait_for 'test -e deaf.ready && test -s deaf.pid'
kill -TERM "$(cat deaf.pid)"
ok "a signal for srun alone ends its step" wait_for is_state "$id" COMPLETED
is "by force" "$(cat deaf.status)" 137

done_testing

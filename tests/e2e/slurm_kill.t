#!/bin/sh
# srun, the daemon and shepherds are killed in the middle of steps: no process
# is left, and no step is lost or recorded twice
# shellcheck disable=SC2016,SC2119 # jobs expand their own variables

# shellcheck source=tests/e2e/slurm.sh
. "$top_srcdir/tests/e2e/slurm.sh"

stop_daemon
configure "
queue default { grace = \"1s\" }
pool here { runner = local }
node \"$(uname -n)\" { pool = here  cpus = 8  memory = \"4G\" }"
start_daemon || bail "aischedd does not start"

# Run steps, three at a time, until there is a file "stop"; each task records
# that it began. At most two of them sleep until they are killed, so the others
# can go on.
cat >task.sh <<'END'
#!/bin/sh
echo "$SLURM_JOB_ID.$SLURM_STEP_ID" >>begun
[ "$((SLURM_STEP_ID % 5))" = 4 ] || exit 0
mkdir "first.$SLURM_JOB_ID" 2>/dev/null || mkdir "second.$SLURM_JOB_ID" 2>/dev/null ||
	exit 0
exec sleep 7777.PID
END
cat >job.sh <<'END'
#!/bin/sh
n=0
while [ ! -e stop ] && [ "$n" -lt 3000 ]; do
	srun -Q -n1 --exact ./task.sh &
	srun -Q -n1 --exact ./task.sh &
	timeout -s KILL 0.3 srun -Q -n1 --exact ./task.sh
	n=$((n + 1))
done
pkill -KILL -P $$ srun
exit 0
END
sed -i "s/7777.PID/7777.$$/" task.sh
sed -i "s,./task.sh,$PWD/task.sh," job.sh
chmod +x task.sh
: >begun

shepherd_of()
{
	sed -n 's/.*"pid":\([0-9]*\).*/\1/p' "$dir/state/run/$1.1/claim"
}

# COUNT: whether more than COUNT tasks have begun
begun()
{
	[ "$(grep -c . begun)" -gt "$1" ]
}

jobs=
for round in 1 2 3 4 5 6; do
	job=$(sbatch --parsable --no-requeue -n4 -o /dev/null job.sh)
	jobs="$jobs $job"
	n=$(grep -c . begun)
	wait_for begun "$((n + 4))" || break
	case $round in
	1 | 4)
		kill_daemon
		start_daemon || bail "aischedd does not start again"
		;;
	2 | 5)
		kill -KILL "$(shepherd_of "$job")"
		wait_for is_state "$job" NODE_FAIL
		continue
		;;
	3)
		# srun and its step are killed; the other steps continue.
		# shellcheck disable=SC2046 # words are wanted
		kill -KILL $(pgrep -f "exact $PWD/task.sh" | head -n 2) 2>/dev/null
		;;
	6)
		kill -KILL "$(shepherd_of "$job")"
		kill_daemon
		start_daemon || bail "aischedd does not start again"
		wait_for is_state "$job" NODE_FAIL
		continue
		;;
	esac
	n=$(grep -c . begun)
	wait_for begun "$((n + 4))"
	ok "steps go on after round $round" begun "$((n + 4))"
	: >stop
	scancel "$job"
	wait_for is_state "$job" CANCELLED
	rm -f stop
done
ok "nothing is left running" wait_for "! pgrep -f 'sleep 7777.$$'"
for job in $jobs; do
	sacct -n -P -j "$job" -o JobID | grep -E '\.[0-9]+$'
done >remembered
is "no step is counted twice" "$(sort remembered | uniq -d)" ""
sort remembered >sorted
is "and none is lost" "$(sort -u begun | comm -23 - sorted)" ""
restart || bail "aischedd does not start again"
for job in $jobs; do
	sacct -n -P -j "$job" -o JobID | grep -E '\.[0-9]+$'
done >again
is "nor after a restart" "$(cat again)" "$(cat remembered)"

done_testing

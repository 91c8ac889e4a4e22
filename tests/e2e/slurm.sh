# shellcheck shell=sh
# slurm.sh - shared by tests of Slurm's commands, which it adds to PATH
#
#	. "$top_srcdir/tests/e2e/slurm.sh"
#
# slurm_daemon starts a daemon with two partitions.
# says NAME STATUS STDOUT STDERR COMMAND... tests the exit status of a command
# and compares its whole output.

# shellcheck source=tests/e2e/jobs.sh
. "$top_srcdir/tests/e2e/jobs.sh"

# Copy the program, as in daemon.sh, so that other users can run it.
mkdir -p "$dir/slurm/bin"
cp "$top_builddir/slurm/slurm" "$dir/slurm/slurm" || exit 1
for link in "$top_builddir"/slurm/bin/*; do
	ln -s ../slurm "$dir/slurm/bin/${link##*/}"
done
PATH=$dir/slurm/bin:$PATH
for name in $(env | sed -nE 's/^((SQUEUE|SBATCH|SCANCEL|SLURM|SACCT|SINFO)_[A-Z0-9_]*)=.*/\1/p'); do
	unset "$name"
done

# [KEY...]: starts a daemon with partitions main and debug, and these keys for
# its node
slurm_daemon()
{
	stop_daemon
	configure "
default_queue = main
queue main { grace = \"2s\" }
queue debug { grace = \"2s\"  max_time = \"1h\" }
pool here { runner = local }
node \"$(uname -n)\" { pool = here  cpus = 4  memory = \"4G\"  $* }"
	start_daemon || bail "aischedd does not start"
}

says()
{
	says_name=$1
	says_status=$2
	says_out=$3
	says_err=$4
	shift 4
	run "$@"
	# shellcheck disable=SC2154 # run sets them
	if [ "$rc" -eq "$says_status" ] && [ "$out" = "$says_out" ] &&
		[ "$err" = "$says_err" ]; then
		result 0 "$says_name"
		return
	fi
	result 1 "$says_name"
	diag "$*"
	diag "exit status $rc, want $says_status"
	diag "stdout: $out"
	diag "want:   $says_out"
	diag "stderr: $err"
	diag "want:   $says_err"
	return 1
}

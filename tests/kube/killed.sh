# shellcheck shell=sh
# killed.sh - kill the daemon between any two of its calls to a cluster
#
#	. "$top_srcdir/tests/e2e/lib.sh"
#	. "$top_srcdir/tests/kube/control_plane.sh"
#	. "$top_srcdir/tests/kube/killed.sh"
#	between_start
#	life() { id=$(submit_armed …); reaches "a start" runs "$id" 2; }
#	each_call life
#
# $ns is the namespace of the jobs; $k is kubectl there. KILL_WHEN=after runs
# one half: calls that have been carried out but not answered.

# shellcheck disable=SC2034 # tests use it
k="kube --namespace ${ns:?}"

api=/api/v1/namespaces/$ns
batch=/apis/batch/v1/namespaces/$ns

# PATH...: kind and phase of what these lists have, a line for each. These are
# asked for again and again, and kubectl takes five times the CPU.
list()
{
	"${top_builddir:?}/tests/kube/ask" "${kube:?}/admin.conf" list "$@"
}

# Prints how many of our objects there are, a line for each kind: "Job 1".
objects()
{
	ours='?labelSelector=aisched.io/cluster=test'
	list "$batch/jobs$ours" "$api/pods$ours" "$api/secrets$ours" \
		"$api/services$ours" >"${dir:?}/objects" || return 1
	cut -d ' ' -f 1 "$dir/objects" | sort | uniq -c | awk '{ print $2, $1 }'
}

# TEXT: whether these are our objects, once the cluster has removed earlier ones
objects_are()
{
	there_are=$(objects) && [ "$(echo "$there_are" | xargs)" = "${1% }" ]
}

nothing_is_left()
{
	objects_are ""
}

# JOB COUNT: whether it has COUNT pods that have not ended, all running, in one
# Job
runs()
{
	is_state "$1" RUNNING || return 1
	its="?labelSelector=aisched.io/job-id=$1"
	list "$batch/jobs$its" "$api/pods$its" >"${dir:?}/objects" || return 1
	[ "$(grep -v Failed "$dir/objects" | sort | uniq -c | tr -d ' ' | xargs)" = \
		"1Job $2PodRunning" ]
}

# JOB FIELDS: prints them as aiq shows them
fields()
{
	aiq --no-header -o "$2" "$1" | tr -s ' '
}

has_died()
{
	! grep -qs '^State:.[^Z]' "/proc/${daemon_pid:?}/status"
}

# COMMAND [WORD]...: whether it succeeds, or the daemon is dead
so_or_dead()
{
	has_died || "$@"
}

# Kill the daemon at call $n from now on.
arm()
{
	between kill "$daemon_pid" "$when" "$n"
}

# OPTION...: submits a job that starts under arm(), and prints its id. The
# daemon may be killed by its first call before it has answered, so ask for the
# id before that.
submit_armed()
{
	its_id=$(aisub --parsable --hold "$@") || return 1
	arm
	aictl release "$its_id" >/dev/null 2>&1
	echo "$its_id"
}

# WHAT GOAL [WORD]...: WHAT, begun under arm(), reaches the goal, though the
# daemon may have to start again. Sets $more if it had to.
reaches()
{
	what=$1
	shift
	wait_for so_or_dead "$@" >"${dir:?}/waited"
	at=$(sed -n "$n{s,/.*/$ns/,,;s,?.*,,;p}" "${kube:?}/between.calls")
	# Check the goal first: a call may come after it.
	between
	if has_died; then
		more=yes
		wait_daemon 2>/dev/null
		start_daemon || bail "aischedd does not start again"
		wait_for "$@" >"${dir:?}/waited"
	else
		at="its end"
	fi
	"$@"
	result $? "$what, killed $when ${at:-call $n}" || cat "$dir/waited"
}

# COMMAND: runs it again and again, with the daemon killed at its first call, at
# its second and so on; ends the script at a failure, which the next would meet
# again, after long waits
each_call()
{
	for when in ${KILL_WHEN:-before after}; do
		n=1 more=yes
		while [ -n "$more" ]; do
			more=
			"$1"
			[ "$tests_failed" -eq 0 ] || bail "$1 fails"
			n=$((n + 1))
			[ $n -lt 30 ] || bail "there is no end of calls"
		done
	done
}


# shellcheck shell=sh
# killed.sh - repeat a test with the daemon killed between any two of its calls
# to a cluster
#
#	. "$top_srcdir/tests/e2e/lib.sh"
#	. "$top_srcdir/tests/kube/control_plane.sh"
#	. "$top_srcdir/tests/kube/killed.sh"
#	between_start
#	life() { submit_armed …; reaches "a start" runs "$new" 2; }
#	each_call life
#
# $ns is the namespace of the jobs; $k is kubectl in that namespace.
# KILL_WHEN=before runs only the half in which calls were not carried out,
# KILL_WHEN=after the half in which they were carried out but not answered.

# shellcheck disable=SC2034 # tests use it
k="kube --namespace ${ns:?}"

api=/api/v1/namespaces/$ns
batch=/apis/batch/v1/namespaces/$ns

# PATH...: prints kind and phase of each object in these lists, one per line.
# Tests repeat this often, and kubectl would take five times as much CPU.
list()
{
	"${top_builddir:?}/tests/kube/ask" "${kube:?}/admin.conf" list "$@"
}

# PATH FIELD...: prints these fields of each object in the list, one object per
# line (ask.c); tests repeat this often, too
table()
{
	"$top_builddir/tests/kube/ask" "$kube/admin.conf" table "$@"
}

# Prints how many objects of each kind aischedd has made, one line per kind:
# "Job 1".
objects()
{
	ours='?labelSelector=aisched.io/cluster=test'
	list "$batch/jobs$ours" "$api/pods$ours" "$api/secrets$ours" \
		"$api/services$ours" >"${dir:?}/objects" || return 1
	cut -d ' ' -f 1 "$dir/objects" | sort | uniq -c | awk '{ print $2, $1 }'
}

# TEXT: whether objects() prints TEXT, once the cluster has removed those that
# were deleted
objects_are()
{
	there_are=$(objects) && [ "$(echo "$there_are" | xargs)" = "${1% }" ]
}

nothing_is_left()
{
	objects_are ""
}

# JOB COUNT: whether the job has one Job, and COUNT pods that have not failed,
# all running
runs()
{
	is_state "$1" RUNNING || return 1
	its="?labelSelector=aisched.io/job-id=$1"
	list "$batch/jobs$its" "$api/pods$its" >"${dir:?}/objects" || return 1
	[ "$(grep -v Failed "$dir/objects" | sort | uniq -c | tr -d ' ' | xargs)" = \
		"1Job $2PodRunning" ]
}

# JOB FIELDS: prints these columns of aiq
fields()
{
	aiq --no-header -o "$2" "$1" | tr -s ' '
}

has_died()
{
	! grep -qs '^State:.[^Z]' "/proc/${daemon_pid:?}/status"
}

# COMMAND [WORD]...: whether the command succeeds or the daemon is dead
so_or_dead()
{
	has_died || "$@"
}

# Makes the proxy kill the daemon at call $n, counted from now on.
arm()
{
	again=
	between kill "$daemon_pid" "$when" "$n"
}

# COMMAND [WORD]...: runs the command after arm(). Notes a failure: the proxy
# may have killed the daemon before it answered. reaches() then runs the command
# again.
armed()
{
	arm
	"$@" >/dev/null 2>&1 || again=$*
}

# OPTION...: submits a job that starts after arm(), and sets $new to its id. The
# job is held until its id is known, because the proxy may kill the daemon
# before it answers.
submit_armed()
{
	new=$(aisub --parsable --hold "$@") || return 1
	armed aictl release "$new"
}

# WHAT GOAL [WORD]...: tests that the command GOAL succeeds after WHAT, which
# began after arm(). If the daemon was killed, starts it again and sets $more.
reaches()
{
	what=$1
	shift
	wait_for so_or_dead "$@" >"${dir:?}/waited"
	at=$(sed -n "$n{s,/.*/$ns/,,;s,?.*,,;p}" "${kube:?}/between.calls")
	# End the rule, so that calls after the goal do not kill the daemon.
	# This also empties between.calls, which must be read before.
	between
	if has_died; then
		more=yes
		# shellcheck disable=SC2034 # done_testing asks for it
		daemon_killed=yes
		wait_daemon 2>/dev/null
		start_daemon || bail "aischedd does not start again"
		$again >/dev/null 2>&1
		wait_for "$@" >"${dir:?}/waited"
	else
		at="its end"
	fi
	"$@"
	result $? "$what, killed $when ${at:-call $n}" || cat "$dir/waited"
}

# COMMAND: runs it repeatedly, with the daemon killed at its first call, at its
# second, and so on. Ends the script at a failure, because the later runs would
# fail in the same way, after long waits
each_call()
{
	for when in ${KILL_WHEN:-before after}; do
		n=1 more=yes
		while [ -n "$more" ]; do
			more=
			"$1"
			# shellcheck disable=SC2154 # tap.sh sets it
			[ "$tests_failed" -eq 0 ] || bail "$1 fails"
			n=$((n + 1))
			[ $n -lt 30 ] || bail "there is no end of calls"
		done
	done
}


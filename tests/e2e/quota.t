#!/bin/sh
# Where the file system of tmp_dir has project quotas, --tmp is a limit of the
# file system: a write beyond it fails, and the job goes on.
# shellcheck disable=SC2016 # jobs expand their own variables

. "$top_srcdir/tests/e2e/jobs.sh"

home=$dir/home/nobody
project=$top_builddir/tests/e2e/project
first=1000000000

# [OPTION]...: submits a job of another user, as root is not held to quotas
theirs()
{
	(cd / && as_user nobody aisub --parsable -c 0.1 --mem 10M -o 'out.%j' "$@")
}

# JOB: prints the path of its temporary folder
folder()
{
	ls -d "$dir/tmp/aisched-$1."*
}

# FOLDER: prints its project
project()
{
	lsattr -pd "$1" | sed 's/^ *\([0-9]*\) .*/\1/'
}

# FOLDER: prints how many KiB its project may use, or the file system has
size()
{
	df -Pk "$1" | sed -n '2s/^[^ ]*  *\([0-9]*\) .*/\1/p'
}

has_size()
{
	[ "$(size "$1")" = "$2" ]
}

# PROJECT FOLDER: makes the folder in tmp_dir, for files of the project
put()
{
	mkdir "$dir/tmp/$2" && chattr +P -p "$1" "$dir/tmp/$2"
}

# JOB PROJECT: whether nothing is left of the job, and its project is not
# limited
is_clean()
{
	! folder "$1" && put "$2" probe || return 1
	is_clean_size=$(size "$dir/tmp/probe")
	rmdir "$dir/tmp/probe"
	[ "$is_clean_size" -gt 100000 ]
}

disk_limits()
{
	aictl status | grep -o 'Disk: [^;]*'
}

# TYPE OPTION...: makes a file system and mounts it with the options at tmp_dir
mount_tmp()
{
	umount "$dir/tmp" 2>/dev/null
	rm -f "$dir/image"
	truncate -s 400M "$dir/image" || return 1
	case $1$2 in
	ext4) mkfs.ext4 -q "$dir/image" ;;
	ext4,*) mkfs.ext4 -q -O quota,project -E quotatype=prjquota "$dir/image" ;;
	xfs,*) mkfs.xfs -q "$dir/image" ;;
	esac
	mount -t "$1" -o "loop$2" "$dir/image" "$dir/tmp" &&
		chmod 1777 "$dir/tmp"
}

# Writes more than it may, then less; says so, and waits
cat >"$dir/fill" <<END
#!/bin/sh
LC_ALL=C head -c 8M /dev/zero >\$TMPDIR/x || echo it fails
rm \$TMPDIR/x
echo less >\$TMPDIR/x && echo it goes on
cat "\$1"
END
chmod 755 "$dir/fill"

check_write()
{
	gate a b
	id=$(theirs --tmp 4M "$dir/fill" "$dir/gate.a")
	other=$(theirs --tmp 2M --wrap "head -c 1M /dev/zero >\$TMPDIR/x && echo it is well; $(at_gate b)")
	out=$home/out.$id
	wait_for has_line "$out" "it goes on"
	like "a write beyond --tmp fails" "$(cat "$out")" \
		"(Disk quota exceeded|No space left on device)"
	is "and the program knows" "$(grep -c "it fails" "$out")" 1
	is "the job runs" "$(state_of "$id")" RUNNING
	its=$(project "$(folder "$id")")
	ok "it has a project of jobs" \
		test "$its" -ge "$first" -a "$its" -lt $((2 * first))
	is "it has what it asked for" "$(size "$(folder "$id")")" 4096
	wait_for has_line "$home/out.$other" "it is well"
	others=$(project "$(folder "$other")")
	ok "a second job has its own" test "$others" -ge "$first" \
		-a "$others" -ne "$its"
	is "with another limit" "$(size "$(folder "$other")")" 2048
	open_gate a
	open_gate b
	becomes "the first ends well" "$id" COMPLETED
	becomes "and the second" "$other" COMPLETED
	ok "the limit goes with the folder" wait_for is_clean "$id" "$its"
	ok "and that of the second" wait_for is_clean "$other" "$others"
	rm "$dir/gate.a" "$dir/gate.b"
}

check_none()
{
	id=$(theirs --wrap 'exec sleep 1000')
	wait_for is_state "$id" RUNNING
	is "a job without --tmp has no project" "$(project "$(folder "$id")")" 0
	aicancel --wait "$id"
}

# Jobs have other secrets, which nobody can guess.
check_used_id()
{
	for i in a b; do
		mkdir "$dir/tmp/$i"
	done
	is "a folder gets the project of its secret" \
		"$("$project" "$dir/tmp/a" 7)" $((first + 7))
	is "one that a folder has is not given again" \
		"$("$project" "$dir/tmp/b" 7)" $((first + 8))
	is "but another" "$(size "$dir/tmp/b")" 4096
	for i in a b; do
		"$project" "$dir/tmp/$i"
		rmdir "$dir/tmp/$i"
	done
}

check_kill()
{
	id=$(theirs --tmp 4M --wrap 'exec sleep 1000')
	wait_for is_state "$id" RUNNING
	its=$(project "$(folder "$id")")
	kill_daemon
	start_daemon
	is "the limit outlives the daemon" "$(size "$(folder "$id")")" 4096
	aicancel --wait "$id"
	ok "a later daemon's job ends as any" wait_for is_clean "$id" "$its"
	id=$(theirs --no-requeue --tmp 4M --wrap 'exec sleep 1000')
	wait_for is_state "$id" RUNNING
	its=$(project "$(folder "$id")")
	kill -KILL "$(sed -n 's/.*"pid":\([0-9]*\).*/\1/p' "$dir/state/run/$id.1/claim")"
	ok "the daemon takes the limit of a killed shepherd back" \
		wait_for is_clean "$id" "$its"
	id=$(theirs --no-requeue --tmp 4M --wrap 'exec sleep 1000')
	wait_for is_state "$id" RUNNING
	its=$(project "$(folder "$id")")
	kill_daemon
	kill -KILL "$(sed -n 's/.*"pid":\([0-9]*\).*/\1/p' "$dir/state/run/$id.1/claim")"
	start_daemon
	ok "so does the next daemon" wait_for is_clean "$id" "$its"
}

check_shapes()
{
	id=$(theirs --tmp 4M -a 0-1 -o 'out.%A_%a' \
		--wrap 'echo $AISCHED_JOB_ID; exec sleep 1000')
	wait_for [ -s "$home/out.${id}_0" ]
	wait_for [ -s "$home/out.${id}_1" ]
	for i in 0 1; do
		job=$(cat "$home/out.${id}_$i")
		project "$(folder "$job")"
	done >"$dir/projects"
	is "both elements of an array have their own" \
		"$(sort -u "$dir/projects" | grep -c '^1.........$')" 2
	aicancel --wait "$id"
	full=$(sleeper -c 2 --class interactive)
	wait_for is_state "$full" RUNNING
	id=$(theirs -c 1 -n 4 --min-tasks 1 --tmp 8M --wrap 'exec sleep 1000')
	wait_for is_state "$id" RUNNING
	its=$(project "$(folder "$id")")
	is "two tasks of an elastic job have half" "$(size "$(folder "$id")")" 4096
	aicancel --wait "$full"
	ok "more tasks have more" wait_for has_size "$(folder "$id")" 8192
	aicancel --wait "$id"
	ok "until they end" wait_for is_clean "$id" "$its"
}

# The kernel moves no folder into one of another project, and a user may change
# those of own folders.
check_removal()
{
	id=$(theirs --tmp 4M --wrap 'cd $TMPDIR && mkdir -p a/b/c &&
		chattr -p 5 a/b a/b/c && echo changed; exec sleep 1000')
	wait_for has_line "$home/out.$id" changed
	its=$(project "$(folder "$id")")
	aicancel --wait "$id"
	ok "subfolders of another project are removed" \
		wait_for is_clean "$id" "$its"
	gate c
	id=$(theirs --tmp 4M --wrap "$(at_gate c); rmdir \$TMPDIR; echo gone; exec sleep 1000")
	wait_for is_state "$id" RUNNING
	its=$(project "$(folder "$id")")
	open_gate c
	wait_for has_line "$home/out.$id" gone
	rm "$dir/gate.c"
	aicancel --wait "$id"
	ok "a limit goes without the folder" wait_for is_clean "$id" "$its"
}

# A user moves files out of the project of the job.
check_evasion()
{
	id=$(theirs --tmp 2M --wrap 'chattr -P -p 0 $TMPDIR
		head -c 8M /dev/zero >$TMPDIR/x; exec sleep 1000')
	becomes "a job that evades its limit is ended" "$id" FAILED
	is "which is told" "$(field "$id" reason)" OutOfDisk
}

# ext4 does not hold root to quotas.
check_root()
{
	id=$(submit --tmp 2M --wrap 'head -c 8M /dev/zero >$TMPDIR/x; exec sleep 1000')
	becomes "a job of root is watched, too" "$id" FAILED
	is "and its end is told" "$(field "$id" reason)" OutOfDisk
}

check_fallback()
{
	chattr +P -p 7 "$dir/tmp"
	aictl reload
	is "tmp_dir in a project is left there" "$(disk_limits)" \
		"Disk: tmp_dir has a project of its own"
	id=$(theirs --tmp 2M --wrap 'head -c 8M /dev/zero >$TMPDIR/x; exec sleep 1000')
	becomes "jobs are watched" "$id" FAILED
	is "as without quotas" "$(field "$id" reason)" OutOfDisk
	chattr -P -p 0 "$dir/tmp"
	aictl reload
}

# TYPE
check()
{
	echo "# $1"
	if ! mount_tmp "$1" ,prjquota >"$dir/mount.out" 2>&1; then
		skip "quotas of $1" "no $1 with prjquota can be mounted here"
		return 1
	fi
	aictl reload
	is "nothing is missing" "$(disk_limits)" ""
	check_write
	check_none
	check_used_id
	check_kill
	check_shapes
	check_removal
	check_evasion
	check_fallback
}

if ! is_root; then
	skip "quotas" "needs root"
	done_testing
	exit
fi
trap 'umount -l "$dir/tmp" 2>/dev/null; clean_up' EXIT
stop_daemon
configure "
queue default { grace = \"1s\" }
pool here { runner = local }
node \"$(uname -n)\" { pool = here  cpus = 4  memory = \"4G\"  tmp = \"1G\" }"
start_daemon
check ext4 && check_root
if [ -z "$(command -v mkfs.xfs)" ]; then
	skip "quotas of xfs" "there is no mkfs.xfs"
else
	check xfs
fi
if mount_tmp ext4 "" >"$dir/mount.out" 2>&1; then
	aictl reload
	is "aictl status says if there are no quotas" "$(disk_limits)" \
		"Disk: no project quotas are in force on the file system of tmp_dir"
else
	skip "a file system without quotas" "no ext4 can be mounted here"
fi
aicancel --wait --all
done_testing

# shellcheck shell=sh
# Tests of aisim, which need no daemon: its path, a folder and their results.

: "${top_srcdir:=.}" "${top_builddir:=.}"
# shellcheck disable=SC2034 # for who reads this file
aisim=$top_builddir/aisim/aisim
n=0
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT

# STATUS WHAT: a test, which passed if the status is 0
ok()
{
	n=$((n + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $n - $2"
	else
		echo "not ok $n - $2"
	fi
}
